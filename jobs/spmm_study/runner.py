"""Runs the points of a study that are missing, one after another."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from . import environment
from .points import schedule

GRACE = 1  # seconds between a signal to a run and the same to us, at most
PATIENCE = 10  # seconds between SIGTERM and SIGKILL of a run


class Interrupted(Exception):
    """A signal came; args[0] is its number."""


class Signals:
    """Takes note of signals that end a study. Looked at between runs and while one is waited for, so that none strikes
    in the middle of a record or of starting a process."""

    def __init__(self):
        self.number = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, number, _frame):
        self.number = self.number or number

    def check(self):
        if self.number:
            raise Interrupted(self.number)

    def await_shortly(self):
        """After a run that ended without a word of its own: a batch system that ends a job tells all its processes, the
        run perhaps before us, and mpirun's exit code may be any then. That is no failure of the run."""
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            self.check()
            time.sleep(0.02)


def command_of(study, settings, launcher, program, json_file):
    """The words of a run."""
    s, v = settings, study.values
    words = [word.format(ranks=s["ranks"], threads=max(1, s["threads"])) for word in launcher.split()]
    words += [program, "-q", "--json", json_file, "-k", str(s["k"]), "-d", s["device"], "-p", s["precision"], "-g",
              s["grid"], "-r", v["repeats"][0], "--warmup", v["warmup"][0]]
    words += ["--kernel", s["kernel"]] if s["kernel"] != "auto" else ["-f", s["format"]]
    words += ["-t", str(s["threads"])] if s["threads"] else []
    words += ["--probe"] if v["probe"] == ["yes"] else []
    return words + v["options"] + [s["matrix"]]


def _end(process):
    """Ends a run and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(PATIENCE)
            break
        except subprocess.TimeoutExpired:
            pass
    process.wait()


def last_line(text):
    """What a failed run said last; the lines that mpirun draws around its words are none."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    own = [line for line in lines if line.startswith("spmm_mpi: error")]
    return (own or lines or [""])[-1]


def _wait(process, seconds, signals):
    """The exit code; None: it takes longer."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            signals.check()
        except Interrupted:
            _end(process)
            raise
        time.sleep(0.02)
    return process.returncode


def run_one(words, json_file, timeout, signals):
    """(record of spmm_mpi or {}, exit code, last line, wall seconds)."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            # a group of its own: a signal to us is not one to the run, which we end in order
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except OSError as error:
            return {}, 127, f"{words[0]}: {error.strerror}", 0.0
        code = _wait(process, timeout, signals)
        if code is None:
            _end(process)
            return {}, 124, f"ran longer than {timeout:.0f} s", time.monotonic() - start
        wall, last = time.monotonic() - start, _said(output)
    code = 128 - code if code < 0 else code
    try:
        with open(json_file, encoding="utf-8") as file:
            record = json.loads(file.read().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {}, code or 1, last or "it wrote no record", wall
    return record, code, "" if code == 0 else last, wall


def _said(file):
    file.seek(0)
    return last_line(file.read().decode(errors="replace"))


class Progress:
    """What is said while a study runs."""

    def __init__(self, total, walls):
        self.total, self.number, self.walls = total, 0, walls

    def left(self, rest):
        """Seconds that the rest will take: each point as long as it took before, others as long as all did."""
        known = [w for walls in self.walls.values() for w in walls]
        if not known:
            return None
        usual = sum(known) / len(known)
        return sum(sum(self.walls[k]) / len(self.walls[k]) if k in self.walls else usual for _, k in rest)

    def say(self, round_number, settings, record, error, rest):
        self.number += 1
        what = (f"{settings['matrix']} k={settings['k']} {settings['kernel']} {settings['precision']} "
                f"ranks={settings['ranks']} grid={settings['grid']} threads={settings['threads'] or 'all'}")
        if error:
            outcome = f"FAILED: {error}"
        else:
            a = record["apply"]
            outcome = f"{a['median'] * 1e3:.4g} ms ({a['min'] * 1e3:.4g} to {a['max'] * 1e3:.4g})"
        left = self.left(rest)
        print(f"[{self.number}/{self.total}] round {round_number + 1}: {what}: {outcome}" +
              (f"; {duration(left)} left" if rest and left is not None else ""), flush=True)


def duration(seconds):
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"


def missing(study, found, recorder, retry_failed=False):
    """(round, key) of the runs that the records lack, in order."""
    runs = schedule(found, int(study.values["rounds"][0]))
    wanted = {None} | ({code for code in recorder.done.values() if code != 0} if retry_failed else set())
    return [(r, key) for r, key in runs if recorder.done.get((key, r)) in wanted]


def run(study, found, recorder, launcher, program, root, retry_failed=False):
    """\\return how many runs failed. Raises Interrupted, with whole records behind it."""
    todo = missing(study, found, recorder, retry_failed)
    surroundings = environment.describe(study.name, program, root)
    progress, failed = Progress(len(todo), recorder.walls), 0
    signals = Signals()
    if todo and surroundings["environment"]["id"] not in recorder.environments:
        recorder.append(surroundings)
    with tempfile.TemporaryDirectory(prefix="spmm-study-") as folder:
        for n, (round_number, key) in enumerate(todo):
            signals.check()
            json_file = os.path.join(folder, f"{n}.json")
            words = command_of(study, found[key], launcher, program, json_file)
            started = environment.now()
            record, code, error, wall = run_one(words, json_file, float(study.values["timeout"][0]), signals)
            if code != 0 and not record and not error.startswith("spmm_mpi: error"):
                signals.await_shortly()
            record["study"] = {"name": study.name, "point": key, "round": round_number, "settings": found[key],
                               # where the program lies is nobody else's business
                               "command": [os.path.basename(w) if w == program else w for w in words
                                           if w not in ("--json", json_file)],
                               "environment": surroundings["environment"]["id"], "started": started,
                               "wall_seconds": round(wall, 3), "code": code, "error": error}
            recorder.append(record)
            failed += code != 0
            progress.say(round_number, found[key], record, error, todo[n + 1:])
    return failed


def list_points(study, found, recorder):
    """--dry-run."""
    todo = missing(study, found, recorder)
    rounds = {}
    for _, key in todo:
        rounds[key] = rounds.get(key, 0) + 1
    for key in found:
        print(f"{rounds.get(key, 0)} of {study.values['rounds'][0]} to run: {key}")
    left = Progress(0, recorder.walls).left(todo)
    print(f"{len(found)} points, {len(todo)} runs to do" + (f", about {duration(left)}" if todo and left else ""))
    sys.stdout.flush()
