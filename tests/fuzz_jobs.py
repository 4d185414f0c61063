#!/usr/bin/env python3
"""Mutates valid records and study files, and has the code of jobs/ read them. Each must be accepted, or refused with FILE
and what was expected, in a short time and without a traceback.

    tests/fuzz_jobs.py [--seconds N | --iterations N] [--seed N] [--keep DIR]

Exit code 0 if no input failed; otherwise 1, and the inputs that failed are in DIR. The last line is `N executions`. The
same seed and number of iterations give the same inputs.
"""
import argparse
import copy
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "jobs")]
import made_records as made  # noqa: E402
import made_steps  # noqa: E402
from spmm_study import analysis, compare, compare_command, compare_page, conversions  # noqa: E402
from spmm_study import lines, page, points, records  # noqa: E402
from spmm_study.recorder import Recorder, RecordError  # noqa: E402

try:
    from spmm_study import plots
except ImportError:
    plots = None

SLOW = 20  # CPU seconds after which an execution counts as a hang
DRAWN = 400  # one of so many executions draws figures, too

KERNELS = [points.Kernel(f"{device}_{n}", device, form) for device in ("cpu", "cuda") for n, form in
           enumerate(("csr", "ell", "ell-nopad", "sell"))] + [points.Kernel("cpu_serial", "cpu", "csr")]

# values that are put into fields
VALUES = [None, True, False, 0, 1, -1, 2, 3, 7, 2 ** 31 - 1, 2 ** 31, 2 ** 53 + 1, 2 ** 63 - 1, -2 ** 63, 0.0, -0.0, 0.5,
          1.5, -1.5, 1e-300, 5e-324, 1e-12, 1e-9, 1e9, 1e18, 1e30, 1e300, 1.7e308, "", "0", "1", "²", "f32", "f64", "cpu",
          "cuda", "auto", "all", "none", "linear", "tree", "\ud800", "\x00\x1b[31m", "<script>alert(1)</script>", "$\\frac",
          "a" * 3000, "ä中😀", [], [[]], [0, 0], [1, 1], [2, 2], [1, None], {}, {"": {}}, {"id": 1}]
# texts in place of a value: no JSON, or numbers beyond a double or 64 bits
RAW = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400, "-" + "9" * 5000, "1e-400", "0x10", "01", "+1",
       "'a'", "[" * 2000, "[" * 30 + "]" * 30, '{"a":' * 500 + "1" + "}" * 500, '"\\ud800"', '"\\u0000"', '"' + "b" * 70000 + '"',
       "nul", "", "truefalse", "1,2", '{"a":1,"a":2}']
# words for study files
WORDS = ["²", "٣", "9" * 5000, "-1", "0", "1", "2", "16777216", "16777217", "4294967296", "1e3", "1_0", "Px1", "1xQ", "PxQ",
         "0x0", "0xQ", "square", "auto", "all", "cpu", "cuda", "cpu_serial", "csr", "yes", "no", "{", "}", "{}", "{{2}}",
         "m:{9**9**9}", "m:{10**400}", "m:{2**(ranks*1e9)}", "m:{1/(ranks-1)}", "m:{cbrt(0-ranks)}", "m:{" + "(" * 90 + "1" +
         ")" * 90 + "}", "m:{True}", "m:{1j}", "m:{'a'*9**9}", "m:{ranks**ranks**ranks}", "m:{log2(0)}", "m:{2or 3}",
         "m:{round(2)}", "m:{[1][0]}", "m:{64*cbrt(ranks)},{threads}", "name:", "name:HB/one", "name:../x", "name:{2}",
         "name:" + "a" * 300, "list:", "list:fem", "list:nix", "list:/", "list:/dev/null", "list:" + "b" * 4000, "a" * 5000, "\x00", "\x1b", "ä中😀", "=", "#", "\ufeff",
         " ".join(str(n) for n in range(1, 400))]


class Hang(Exception):
    """An execution that does not end."""


def _alarm(_number, _frame):
    raise Hang(f"longer than {SLOW} s")


# ---- valid inputs ----

def _asked():
    """Records with their requested settings: in the group `asked`, in the command, and in the study's settings."""
    found = [made.run(1e-3, number=number, settings={"reduce": "tree", "options": "--verify none"}) for number in range(2)]
    found[0].update(asked={"reduce": "tree", "block_size": 64, "ell_limit": 3, "isa": "", "overlap": "off"},
                    launch={"block_size": 64, "subwarp": None, "registers": 40}, plan={"backend": "direct"})
    found[1]["study"]["command"] = ["mpirun", "spmm_mpi", "-q", "-k", "8", "--reduce", "tree", "--verify", "none", "-xones", "--", "m"]
    return found


def _good_records():
    every, steps = made.everything(), made_steps.everything()
    steps += [made_steps.array_sum(1e-3 / p, how, p) for how in ("linear", "butterfly") for p in (1, 4)]
    groups = [every[:6], every[60:70] + every[-9:], steps[:9] + steps[13:16],
              [made.environment(slurm={"SLURM_JOB_NUM_NODES": "4"}), made.run(1.0), made.run(0.5, ranks=2, weak="m:{ranks}"),
               made.run(0.4, ranks=4, grid=(2, 2), probe=(1e-6, 1e-9, 1e-9)), made.failed(1, "no"), made_steps.step(1.0)],
              [{"program": "series_mpi --accuracy", "kernel": "a", "ranks": 1}, made_steps.step(1.0, wrong=3)]]
    groups.append([made.environment(variables={"SPMM_ISA": "generic"}), *_asked()])
    folder = os.path.join(ROOT, "docs", "studies")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                groups.append([json.loads(line) for line, _ in zip(file, range(6))])
    return groups


def _good_conversions():
    line = {"conversion": "COO to CSR", "algorithm": "a", "seconds": 0.5, "estimate": False, "sorting": 0.25, "same": True}
    return [[{"conversions": {"matrix": "m.mtx", "rows": 9, "cols": 9, "nnz": 9, "precision": "f64", "threads": 1,
                              "times": [line, {**line, "algorithm": "b", "seconds": 0, "sorting": None}]}}] * 2]


def _good_studies():
    found, folder = [], os.path.join(ROOT, "jobs", "studies")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found.append(file.read())
    return found + [b"matrices = m:{64*cbrt(ranks)} a.mtx\nranks = 1 2 8\ngrids = Px1 1xQ square auto 2x2\nserial = yes\n"
                    b"kernels = all cpu_1 auto\nformats = csr ell\noptions = -x ones\nname = n\ntimeout = 3\n",
                    b"matrices = m:1,2 a.mtx\nreductions = linear tree\nexchanges = halo bcast\ntransports = mpi peer\n"
                    b"block_sizes = 0 64\nsubwarps = 0 4\npartitions = nnz rows\ndevices = cpu cuda\n"
                    b"options = -k 1,8 --no-overlap --ell-limit=2.5 -xuniform:3 -o y.mtx --probe --verify none\n"]


# ---- mutations ----

def _places(value, path=()):
    """Yields the paths of all values in a record."""
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, name)
        yield from _places(inner, (*path, name))


def _at(record, path):
    for name in path:
        record = record[name]
    return record


def _scaled(value, rng):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return rng.choice((-value, value * 10 ** rng.randrange(1, 19), value / 10 ** rng.randrange(1, 40), value + 1, -1 - value))
    return str(value) * 2


def _stretch(record, rng):
    """Changes numbers to valid ones, far from those of other records."""
    for name in ("apply", "seconds", "moved", "probe", "roofline"):
        if name in record and rng.random() < 0.5:
            factor, of = 10 ** rng.uniform(-9, 12), record[name]
            of.update({n: v * factor for n, v in of.items() if isinstance(v, float)})
    for path in list(_places(record)):
        value = _at(record, path)
        if type(value) is int and rng.random() < 0.1:
            _at(record, path[:-1])[path[-1]] = rng.choice((0, 1, rng.randrange(1, 99), 2 ** rng.randrange(62)))
    if "matrix" in record and rng.random() < 0.7:
        p, q = (2 ** rng.randrange(rng.choice((3, 15))) for _ in "PQ")
        record["run"].update(grid=[p, q], ranks=p * q)
    if rng.random() < 0.3:
        record.pop(rng.choice(list(record)))


def _mutate_record(record, rng):
    """The text of the record, with one or more values changed."""
    if rng.random() < 0.5:
        _stretch(record, rng)
        return json.dumps(record)
    path = rng.choice(list(_places(record)))
    inner, name = _at(record, path[:-1]), path[-1]
    kind = rng.randrange(7)
    if kind == 0:
        inner[name] = copy.deepcopy(rng.choice(VALUES))
    elif kind == 1:
        inner[name] = _scaled(inner[name], rng)
    elif kind == 2:
        del inner[name]
    elif kind == 3:
        inner[name] = rng.choice(([inner[name]], {"a": inner[name]}, str(inner[name])))
    elif kind == 4:
        other = rng.choice(list(_places(record)))
        inner[name] = copy.deepcopy(_at(record, other))
    elif kind == 5:
        inner[name] = "@RAW@"
        return json.dumps(record).replace('"@RAW@"', rng.choice(RAW), 1)
    elif isinstance(inner, dict):
        inner["@TWICE@"] = copy.deepcopy(rng.choice(VALUES))
        return json.dumps(record).replace('"@TWICE@"', json.dumps(name), 1)
    return json.dumps(record)


def _mutate_bytes(data, rng):
    """Changes bytes, whatever they mean."""
    place = rng.randrange(len(data) + 1)
    kind = rng.randrange(8)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([rng.randrange(256)]) + data[place + 1:]
    if kind == 2:
        return data[:place] + data[place + rng.randrange(1, 40):]
    if kind == 3:
        return data[:place] + data[rng.randrange(len(data) + 1):][:60] + data[place:]
    if kind == 4:
        return data.replace(b"\n", rng.choice((b"\r\n", b"", b"\r", b"\n\n", b"\x00\n")))
    if kind == 5:
        return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\n", b"[]\n", b"{}\n", b"null\n", b"1\n")) + data
    if kind == 6:
        return data[:place] + rng.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x1b[2J", b"\x00" * 9)) + data[place:]
    return rng.choice((b"", b" ", b"\n", b"{", b"}", b"\x89PNG\r\n\x1a\n", bytes(3000)))


def mutated_records(groups, rng):
    found = copy.deepcopy(rng.choice(groups))
    texts = [json.dumps(r) for r in found]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        n = rng.randrange(len(found))
        texts[n] = _mutate_record(copy.deepcopy(found[n]), rng)
    data = "".join(text + "\n" for text in texts).encode()
    return _mutate_bytes(data, rng) if rng.random() < 0.2 else data


def mutated_study(studies, rng):
    data = rng.choice(studies)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rows = data.split(b"\n")
        n = rng.randrange(len(rows))
        words = rows[n].split(b" ")
        word = rng.choice(WORDS).encode()
        kind = rng.randrange(5)
        if kind == 0:
            words[rng.randrange(len(words))] = word
        elif kind == 1:
            words.append(word)
        elif kind == 2:
            words = [rng.choice(list(points.DEFAULTS)).encode(), b"=", word]
        elif kind == 3:
            words = words * 2
        rows[n] = b" ".join(words)
        data = b"\n".join(rows) if kind < 4 else _mutate_bytes(data, rng)
    return data


# ---- executions: exceptions that jobs/ does not handle are findings ----

def _located(message, path):
    """Checks that the message is one short line that begins with the file."""
    assert re.match(re.escape(path) + r"(:\d+)?: \S", message), f"no FILE:LINE: {message[:200]}"
    assert len(message) < 2000 and "\n" not in message, f"not one short line: {message[:200]}"


COMPARED = os.path.join(ROOT, "docs", "studies", "small-2-cores.jsonl")


def read_records(path, draw):
    """Processes records as jobs/scaling and jobs/report do."""
    try:
        study = analysis.Analysis(records.read([path]))
    except lines.RecordsError as error:
        _located(str(error), path)
        return
    "\n".join(study.text() + study.records.remarks).encode()
    study.write_csv(path + ".csv")
    html = page.report(study, page.title_of(study), plots if draw else None)
    html.encode()
    assert html.count("<script") == 1, "a script of the records in the page"


def compare_records(path, draw):
    """Compares records as jobs/compare does: with other records, and with themselves."""
    try:
        found, good = records.read([path]), records.read([COMPARED])
        for old, new in ((good, found), (found, good), (found, found)):
            made = compare.Comparison(old, new, fail_over=0.05 if draw else None)
            compare_command.text(made).encode()
            compare_command.csv_text(made)
            html = compare_page.html(made, (path, COMPARED), compare_command.environment_table(made), compare_command.table(made),
                                     compare_command.lists(made), compare_command.summary(made))
            assert html.count("<script") == 1, "a script of the records in the page"
    except lines.RecordsError as error:
        if "no point in common" not in str(error):
            _located(str(error), path)


def read_own(path, _draw):
    """Reads records as jobs/study does before it continues."""
    try:
        Recorder(path, write=False).close()
    except (lines.RecordsError, RecordError) as error:
        _located(str(error), path)


def read_conversions(path, draw):
    try:
        found = conversions.read(path)
    except lines.RecordsError as error:
        _located(str(error), path)
        return
    conversions.table(found).encode()
    if draw and any(r["times"] for r in found):
        conversions.figure(found)


def read_study(path, _draw):
    try:
        study = points.read(path)
        found = points.points(study, KERNELS)
    except points.StudyError as error:
        _located(str(error), path)
        return
    for settings in found.values():
        assert settings["ranks"] > 0 and settings["k"] > 0 and len(settings["matrix"]) < 6000, settings
    points.select(found, ["ranks=1,2"])
    sum(1 for _ in zip(points.schedule(found, int(study.values["rounds"][0])), range(1000)))


def targets():
    """[(name, function that processes a file, function that makes its bytes from a random number generator)]"""
    good, good_conversions, studies = _good_records(), _good_conversions(), _good_studies()
    return [("records", read_records, lambda rng: mutated_records(good, rng)),
            ("study", read_study, lambda rng: mutated_study(studies, rng)),
            ("compare", compare_records, lambda rng: mutated_records(good, rng)),
            ("own", read_own, lambda rng: mutated_records(good, rng)),
            ("records", read_records, lambda rng: mutated_records(good, rng)),
            ("conversions", read_conversions, lambda rng: mutated_records(good_conversions, rng))]


def fuzz(iterations=None, seconds=None, seed=1, keep="", drawn=DRAWN):
    """Runs until one of the limits. Returns (executions, [finding]). keep: folder for the inputs of findings."""
    found, kinds, every, n = [], set(), targets(), 0
    end = time.monotonic() + seconds if seconds else None
    folder = tempfile.mkdtemp(prefix="spmm-fuzz-jobs.")
    signal.signal(signal.SIGPROF, _alarm)
    try:
        while (iterations is None or n < iterations) and (end is None or time.monotonic() < end):
            name, execute, make = every[n % len(every)]
            path = os.path.join(folder, f"{name}.in")
            with open(path, "wb") as file:
                file.write(make(random.Random(f"{seed} {n}")))
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            try:
                execute(path, plots is not None and n % drawn < len(every))
            except Exception:  # pylint: disable=broad-except
                last = traceback.format_exc().splitlines()
                kind = re.sub(r"\d+", "N", last[-3] + last[-1][:60])
                if kind not in kinds:
                    kinds.add(kind)
                    found.append(f"{name} {n}: " + " | ".join(line.strip() for line in last[-5:])[:600])
                    if keep:
                        os.makedirs(keep, exist_ok=True)
                        shutil.copy(path, os.path.join(keep, f"{name}-{seed}-{n}"))
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            n += 1
    finally:
        shutil.rmtree(folder)
    return n, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", default="build/fuzz/jobs", help="folder for inputs that failed "
                                                                                 "(default: %(default)s)")
    o = parser.parse_args()
    executions, found = fuzz(o.iterations if o.iterations or o.seconds else 5000, o.seconds, o.seed, o.keep)
    for line in found:
        print(line)
    print(f"{executions} executions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
