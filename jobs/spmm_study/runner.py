"""Runs the points of a study that are missing, one after another."""
import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from . import asked, environment, lines, records, schema
from .points import schedule
from .recorder import RecordError
from .records import SERIAL

GRACE = 1  # most seconds from a signal to a run until the same signal reaches this process
PATIENCE = 10  # seconds from SIGTERM to a run until SIGKILL
MOST_SAID = 2 ** 16  # last bytes of a run's output that are searched for an error
SHARED = "/dev/shm"  # where ranks of a node share memory
# bytes that a run needs in the temporary folder: for its record, its output, and MPI's files
ROOM = 2 ** 20


class Interrupted(Exception):
    """A signal came; args[0] is its number."""


class Signals:
    """Notes signals that end a study. They are checked between runs and while waiting for one, so that none interrupts
    the writing of a record or the start of a process."""

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
        """Waits for a signal after a run that failed without an error message. A batch system that ends a job signals all
        its processes, perhaps the run before this process; mpirun's exit code is then arbitrary, even if the program has
        written its record. That is no failure of the run."""
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            self.check()
            time.sleep(0.02)


def launcher_words(launcher, ranks, threads):
    """The words before the program."""
    return [w.replace("{ranks}", str(ranks)).replace("{threads}", str(threads)) for w in launcher.split()]


def command_of(study, settings, launcher, program, json_file):
    """The words of a run's command."""
    s, v = settings, study.values
    words = launcher_words(launcher, s["ranks"], max(1, s["threads"]))
    words += [program, "-q", "--json", json_file, "-k", str(s["k"]), "-d", s["device"], "-p", s["precision"], "-g",
              s["grid"], "-r", v["repeats"][0], "--warmup", v["warmup"][0]]
    words += ["--kernel", s["kernel"]] if s["kernel"] != "auto" else ["-f", s["format"]]
    words += ["-t", str(s["threads"])] if s["threads"] else []
    words += ["--probe"] if v["probe"] == ["yes"] else []
    words += asked.words_of(s)
    return words + ["--", study.files[s["matrix"]].path if s["matrix"] in study.files else s["matrix"]]


def _end(process):
    """Ends a run and its process group."""
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
    """The last line of a failed run's output, or of its errors of spmm_mpi; skips the ruled lines of mpirun."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    own = [line for line in lines if line.startswith("spmm_mpi: error")]
    return (own or lines or [""])[-1]


def _wait(process, seconds, signals):
    """The exit code; None: the process is still running after `seconds`."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            signals.check()
        except Interrupted:
            _end(process)
            raise
        time.sleep(0.02)
    return process.returncode


def run_one(words, json_file, timeout, signals, kind="run"):
    """(last record of spmm_mpi or {}, exit code, last line, wall seconds). Raises RecordError if the run cannot be started."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            # in a new process group: a signal to this process does not reach the run, which _end() ends
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True)
        except OSError as error:
            raise RecordError(f"{words[0]}: cannot be started: {error.strerror}") from error
        code = _wait(process, timeout, signals)
        if code is None:
            _end(process)
            return {}, 124, f"ran longer than {timeout:.0f} s", time.monotonic() - start
        wall, last = time.monotonic() - start, _said(output)
    code = 128 - code if code < 0 else code
    record, why = _record_of(json_file, kind)
    if not record:
        return {}, code or 1, why if code == 0 else last or why, wall
    return record, code, "" if code == 0 else last, wall


def _record_of(json_file, kind):
    """(the last record of a run or of counts, a text), or ({}, why there is none)."""
    record, why = {}, "it wrote no record"
    try:
        for line in lines.read(json_file):
            record = lines.parse(line)
            schema.check(record, "its record", kind)
    except (OSError, lines.RecordsError) as error:
        return {}, why if isinstance(error, OSError) else str(error)
    return record, why


def _said(file):
    file.seek(max(0, file.seek(0, os.SEEK_END) - MOST_SAID))
    return last_line(file.read().decode(errors="replace"))


def _check_room(folder):
    """Raises RecordError if a run may have failed because a temporary folder, ours or MPI's, is full: the point is not
    at fault, and nothing is recorded of it. TMPDIR is checked, too: if it is full, Python has chosen another folder."""
    for place in dict.fromkeys((folder, os.environ.get("TMPDIR") or folder, SHARED)):
        try:
            with tempfile.TemporaryFile(dir=place) as file:
                file.write(bytes(ROOM))
        except OSError as error:
            if place != SHARED or error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise RecordError(f"{place}: {error.strerror}: make room there, or set TMPDIR to another folder; the run "
                                  "that failed is not recorded, and the same command continues the study") from error


def _temporary_folder():
    try:
        return tempfile.TemporaryDirectory(prefix="spmm-study-")
    except OSError as error:
        raise RecordError(f"{error.filename or 'TMPDIR'}: no temporary folder: {error.strerror}") from error


class Progress:
    """Prints the progress of a study."""

    def __init__(self, total, walls):
        self.total, self.number, self.walls = total, 0, walls

    def left(self, rest):
        """Estimated seconds of the remaining runs: the mean of the point's earlier runs, or, if it has none, of all runs."""
        known = [w for walls in self.walls.values() for w in walls]
        if not known:
            return None
        usual = sum(known) / len(known)
        return sum(sum(self.walls[k]) / len(self.walls[k]) if k in self.walls else usual for _, k in rest)

    def say(self, round_number, settings, record, error, rest, differs=""):
        """differs: how the run differed from earlier rounds of the point; "" if it did not."""
        self.number += 1
        what = (f"{settings['matrix']} k={settings['k']} {settings['kernel']} {settings['precision']} "
                f"ranks={settings['ranks']} grid={settings['grid']} threads={settings['threads'] or 'all'}" +
                "".join(f" {n}={settings[n]}" for n in asked.NAMES if n in settings))
        if error:
            outcome = f"FAILED: {error}"
        else:
            a = record["apply"]
            outcome = f"{a['median'] * 1e3:.4g} ms ({a['min'] * 1e3:.4g} to {a['max'] * 1e3:.4g})" + \
                (f"; WARNING: another way than in an earlier round: {differs}" if differs else "")
        left = self.left(rest)
        print(f"[{self.number}/{self.total}] round {round_number + 1}: {lines.clean(f'{what}: {outcome}')}" +
              (f"; {duration(left)} left" if rest and left is not None else ""), flush=True)


def duration(seconds):
    for size, name in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"


def missing(study, found, recorder, retry_failed=False):
    """(round, key) of the runs that are missing from the records, in order."""
    runs = schedule(found, int(study.values["rounds"][0]))
    wanted = {None} | ({code for code in recorder.done.values() if code != 0} if retry_failed else set())
    return [(r, key) for r, key in runs if recorder.done.get((key, r)) in wanted]


def run(study, found, recorder, launcher, program, root, retry_failed=False, namespaces=None):
    """\\return how many runs failed. Raises Interrupted; the records are then complete lines."""
    todo = missing(study, found, recorder, retry_failed)
    surroundings = environment.describe(study.name, program, root, namespaces)
    progress, failed = Progress(len(todo), recorder.walls), 0
    signals = Signals()
    if todo and surroundings["environment"]["id"] not in recorder.environments:
        recorder.append(surroundings)
    with _temporary_folder() as folder:
        for n, (round_number, key) in enumerate(todo):
            signals.check()
            json_file = os.path.join(folder, f"{n}.json")
            words = command_of(study, found[key], launcher, program, json_file)
            started = environment.now()
            load = environment.load_average()
            record, code, error, wall = run_one(words, json_file, float(study.values["timeout"][0]), signals)
            if code != 0 and not error.startswith("spmm_mpi: error"):
                signals.await_shortly()
            if code != 0:
                _check_room(folder)
            elif record["run"]["ranks"] != found[key]["ranks"]:
                code, error = 1, (f"ran on {record['run']['ranks']} ranks, not {found[key]['ranks']}: the launcher does "
                                  "not match the program's MPI")
            elif asked.mismatch(record, found[key]):
                code, error = 1, asked.mismatch(record, found[key])
            record = record or {"schema": schema.newest()}
            # do not record the paths of the program and of the cache of matrices
            own, named = {program: os.path.basename(program)}, study.files.get(found[key]["matrix"])
            if named:
                own[named.path] = found[key]["matrix"]
                record.get("matrix", {}).update(source=named.name)
            record["study"] = {"name": study.name, "point": key, "round": round_number, "settings": found[key],
                               "command": [own.get(w, w) for w in words if w not in ("--json", json_file)],
                               "environment": surroundings["environment"]["id"], "started": started,
                               "load_average": load, "wall_seconds": round(wall, 3), "code": code, "error": error}
            recorder.append(record)
            failed += code != 0
            differs = records.differences(recorder.ways.get(key, []))
            progress.say(round_number, found[key], record, error, todo[n + 1:], differs)
    return failed


def list_points(study, found, recorder):
    """Prints the points, with the number of missing runs of each (--dry-run)."""
    todo = missing(study, found, recorder)
    rounds = {}
    for _, key in todo:
        rounds[key] = rounds.get(key, 0) + 1
    for key in found:
        print(f"{rounds.get(key, 0)} of {study.values['rounds'][0]} to run: {lines.clean(key)}")
    left = Progress(0, recorder.walls).left(todo)
    print(f"{len(found)} points, {len(todo)} runs to do" + (f", about {duration(left)}" if todo and left else ""))
    sys.stdout.flush()
