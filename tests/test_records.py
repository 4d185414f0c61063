"""Input of jobs/: invalid records and study files are refused in one line with FILE:LINE, what was found and what was
expected. test_record_schema.py tests the records that the programs write.
limit: 300"""
import copy
import json
import os
import resource
import subprocess
import sys

from command import PROGRAM, ROOT, equal, finish, patience, scratch, test, within
import fuzz_jobs
import made_records as made
import made_steps
from study_tools import start
from spmm_study import points, records

BIG = "1" + "0" * 400


def refused(text, expected, line=2):
    """Checks that the records are refused at that line, with a message that contains `expected`."""
    path = scratch("odd.jsonl", text)
    try:
        records.read([path])
    except records.RecordsError as error:
        within(str(error), f"{path}:{line}: ")
        within(str(error), expected)
        assert "\n" not in str(error) and len(str(error)) < 500, str(error)
        return
    raise AssertionError(f"taken: {str(text)[:300]}")


def changed(record, path, value):
    record = copy.deepcopy(record)
    *groups, name = path.split(".")
    inner = record
    for group in groups:
        inner = inner[group]
    inner[name] = value
    return record


with test("a value of another kind is refused with the line, the field, what was found and what was expected"):
    for path, value, expected in (
            ("run.host", True, "run.host is true, expected a text"), ("run.gpu", [], "run.gpu is []"),
            ("study.command", 1.5, "study.command is 1.5, expected a list"), ("study.command", [1], "study.command[0] is 1, expected a text"),
            ("study.settings", {"ranks": [1]}, "study.settings.ranks is [1], expected a text, a number"),
            ("study.code", True, "study.code is true, expected a whole number"), ("error", "1", 'error is "1", expected an object'),
            ("error.passed", 1, "expected true or false"), ("apply.median", -1.0, "apply.median is -1.0, expected 0 or a number from 1e-12"),
            ("apply.max", 1e-9, "apply.median_high is 1.01, expected at most apply.max"), ("run.k", 0, "run.k is 0, expected a whole number from 1"),
            ("run.grid", [], "run.grid is [], expected a list of 2"),
            ("run.grid", [1, 2], "expected two numbers whose product is run.ranks"), ("run.ranks", None, "run.ranks is null"),
            ("run.precision", "f16", "expected f64 or f32"), ("matrix.source", "a" * 5000, "at most 4096 characters"),
            ("copy_bytes_per_second", 0, "copy_bytes_per_second"), ("schema", 2.0, "schema is 2.0")):
        refused(made.lines([made.environment(), changed(made.run(1.0), path, value)]), expected)
    for path, value in (("seconds.sequential", "4"), ("run.block", 1.5), ("check.wrong", -1), ("check.passed", None),
                        ("roofline.bytes", 1e-300), ("series.layout", None), ("step", None), ("pearson.q50", "")):
        if path != "check.passed":  # null: not checked
            refused(made.lines([made.environment(), changed(made_steps.step(1.0), path, value)]), path)
    for path, value in (("id", {}), ("cpu", 3), ("slurm", [1]), ("slurm", {"nodes": []}), ("gpus", [3]), ("variables", {"A": 1})):
        refused(made.lines([made.run(1.0), made.environment(**{path: value})]), f"not an environment: environment.{path}")

with test("what is missing is named; a null, and a name that nobody knows, are no fault"):
    for group, name in (("apply", "median"), ("run", "grid"), ("matrix", "rows")):
        odd = made.run(1.0)
        del odd[group][name]
        refused(made.lines([made.run(1.0), odd]), f"{group}.{name} is missing")
    refused(made.lines([made.run(1.0), {"a": 1}]), "not a run of spmm_mpi: matrix is missing, expected an object")
    refused(made.lines([made.run(1.0), {"environment": {}}]), "environment.id is missing")
    record = made.run(1.0)
    for name in ("error", "moved", "seconds", "memory", "probe", "copy_bytes_per_second", "imbalance", "study"):
        record[name] = None
    record.update(unknown=[{}], run={**record["run"], "new": {"a": []}, "gpu": None, "host": None})
    equal(len(records.read([scratch("few.jsonl", made.lines([record]))]).points), 1)

with test("what is no JSON, or none of ours, is refused with its line: NaN, numbers without end, doubled names, depth, bytes"):
    good, line = made.lines([made.run(1.0)]), json.dumps(made.run(1.0))
    for number, expected in (("NaN", "found NaN"), ("-Infinity", "found -Infinity"), ("1e999", "double precision"),
                             (BIG, "64 bits"), ("9" * 100000, "64 bits"), ("1" * 19 + ".5e400", "double precision")):
        refused(good + line.replace('"imbalance": 1.01', f'"imbalance": {number}') + "\n", expected)
    refused(good + line[:-1] + ', "run": {}}\n', 'found a second "run"')
    refused(good + '{"a":' * 20 + "1" + "}" * 20 + "\n", "within one another")
    refused(good + "[" * 100000 + "\n", "within one another")
    refused(good + "\x00" * 50 + "\n", "not JSON")
    refused(good + line[:-30] + "\n" + good, "not JSON: column")
    for text in ("[]", "1", "null", '"a"'):
        refused(f"{good}{text}\n", "expected an object")
    refused(good + '{"a": "' + "b" * 2 ** 25 + '"}\n', "a line of more than")
    refused("\x89PNG\r\n", "not JSON", line=1)
    refused("not a record", "not JSON", line=1)

with test("a line that does not end is not read to its end"):
    path = scratch("endless.jsonl", "")
    with open(path, "wb") as file:
        file.truncate(2 ** 40)  # a sparse file: a line of 2^40 zeros
    try:
        records.read([path])
        raise AssertionError("taken")
    except records.RecordsError as error:
        within(str(error), f"{path}:1: found a line of more than")

with test("a byte order mark, CRLF, blank lines and bytes of another character set are no fault; an empty file is said to be one"):
    source = "m\udcff\ud800\x01.mtx"
    data = made.lines([made.environment(), made.run(1.0, matrix=source)]).encode().replace(b"\\udcff", b"\xff")
    found = records.read([scratch("windows.jsonl", b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n"))])
    equal([p.source for p in found.points], ["m\\xff\\ud800\\x01.mtx"])
    done = start("scaling", scratch("windows.jsonl"), env={"PYTHONIOENCODING": "ascii"})
    equal(done.returncode, 0, done.stderr)
    path = scratch("empty.jsonl", "")
    equal(records.read([path]).remarks, [f"{path}: no records"])
    equal((start("scaling", path).returncode, start("report", path, "-o", scratch("empty.html")).returncode), (0, 0))

with test("jobs/scaling and jobs/report end with 3 and one line; numbers on their command lines are looked at, too"):
    path = scratch("odd.jsonl", made.lines([made.run(1.0), changed(made.run(1.0), "error.max_relative", "")]))
    for words in (("scaling", path), ("report", path, "-o", scratch("odd.html"))):
        done = start(*words)
        equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        within(done.stderr, f"{words[0]}: error: {path}:2: not a run of spmm_mpi: error.max_relative is \"\"")
    for option, value in (("--predict", "²"), ("--predict", "9" * 5000), ("--predict", "0"), ("--peak", "nan"), ("--peak", "1e300")):
        done = start("scaling", path, option, value)
        equal((done.returncode, "Traceback" in done.stderr), (2, False), done.stderr)

with test("records of older versions are read"):
    for folder in ("docs/studies", "bench/records"):
        for name in sorted(os.listdir(ROOT / folder)):
            if name.endswith(".jsonl") and "bench-read" not in name and "conversions" not in name:
                assert records.read([str(ROOT / folder / name)]).runs > 5

# ---- study files ----

def study_refused(text, expected, line=None):
    path = scratch("odd.study", text)
    try:
        points.points(points.read(path), fuzz_jobs.KERNELS)
    except points.StudyError as error:
        within(str(error), expected)
        within(str(error), f"{path}:{line}: " if line else path)
        return
    raise AssertionError(f"taken: {text[:300]}")


with test("numbers of a study file are numbers, within bounds, and their line is named"):
    for word in ("²", "٣", "-1", "1e3", "0x2", "1_0", "+1", BIG, "0", "1001"):
        study_refused(f"matrices = lap2d5:9\nrounds = {word}\n", "expected a whole number of at least 1 and at most 1000", 2)
    for key in ("columns", "ranks", "threads", "repeats", "warmup", "timeout"):
        study_refused(f"matrices = lap2d5:9\n{key} = 99999999999\n", f"{key} = 99999999999: expected a whole number", 2)
    study_refused("matrices = lap2d5:9\ngrids = ٣x1\n", "expected Px1, 1xQ", 2)
    study_refused("matrices = lap2d5:9\ngrids = 99999999999x1\n", "expected Px1, 1xQ", 2)
    study_refused("matrices = lap2d5:9\nname = a\x00b\n", "no control characters", 2)
    study_refused(b"matrices = lap2d5:9\nname = \xff\n", "no UTF-8", 2)
    study_refused("matrices = " + "a" * 2 ** 20 + "\n", "expected a study file")
    study_refused("matrices = " + "a" * 5000 + "\n", "found 5000 characters", 1)
    many = " ".join(map(str, range(1, 400)))
    study_refused(f"matrices = lap2d5:9\ncolumns = {many}\nranks = {many}\nthreads = {many}\n", "runs, expected at most 1000000")

with test("generators' arithmetic stays within 64 bits, and ends"):
    for text, expected in (("9**9**9", "beyond 64 bits"), ("2**64", "beyond 64 bits"), ("10**400", "beyond 64 bits"),
                           ("ranks**ranks**ranks**ranks", "beyond 64 bits"), ("2**62*2*2", "beyond 64 bits"),
                           ("1e999", "beyond 64 bits"), ("9" * 190, "beyond 64 bits"), ("1/(ranks-8)", "a division by 0"),
                           ("(1-ranks)**0.5", "expected one that is a number"), ("sqrt(1-ranks)", "a root of -7"),
                           ("cbrt(1-ranks)", "a root of -7"), ("log2(0)", "a logarithm of 0"), ("True", "expected numbers"),
                           ("2j", "expected numbers"), ("'a'*9", "expected numbers"), ("1<<99", "expected numbers"),
                           ("sqrt(x=4)", "expected numbers"), ("(" * 90 + "1", "expected an expression"), ("", "expression"),
                           ("1+" * 120 + "1", "found 241 characters"), ("²", "expected an expression")):
        study_refused("ranks = 8\nmatrices = m:{" + text + "}\n", expected, 2)
    for text in ("{", "}", "{{2}}", "{2", "2}"):
        study_refused(f"ranks = 8\nmatrices = m:{text}\n", "bracket", 2)
    equal([points.expand("m:{%s}" % text, 8, 3) for text in ("2**62", "1**(10**18)", "3**39", "2**0.5", "ranks**threads/2")],
          ["m:4611686018427387904", "m:1", "m:4052555153018976267", "m:1", "m:256"])
    path = scratch("endless.study", "matrices = lap3d7:{9**9**9}\n")
    done = start("study", "--dry-run", "--program", PROGRAM, "--records", scratch("none.jsonl"), path)
    equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
    within(done.stderr, f"{path}:1: matrix lap3d7:{{9**9**9}}: {{9**9**9}}: found a number beyond 64 bits")

# ---- errors while jobs/study runs ----

ONE = "matrices = lap2d5:9\ndevices = cpu\nrounds = 1\nrepeats = 1\nthreads = 1\n"


def study(records_file, *options, text=ONE, launcher="", **more):
    words = [sys.executable, str(ROOT / "jobs/study"), "--program", PROGRAM, "--launcher", launcher, "--records", records_file,
             *options, scratch("one.study", text)]
    return subprocess.run(words, capture_output=True, text=True, timeout=patience(60), check=False, **more)


def runs_in(path):
    with open(path, encoding="utf-8") as file:
        return [r["study"] for r in map(json.loads, file) if "study" in r]


with test("records that no study wrote end it with 3, FILE and line, and stay as they are"):
    for text in ("notes of my own", made.lines([made.run(1.0)]) + '{"study": {"point": 3}}\n', '{"a": 1}', "x\n" * 3,
                 made.lines([changed(made.run(1.0), "study.round", [0])])):
        path = scratch("mine.jsonl", text)
        done = study(path)
        equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        within(done.stderr, f"{path}:")
        equal(open(path, encoding="utf-8").read(), text, "after it")
    done = study(scratch("no/such/folder.jsonl"))
    equal((done.returncode, "No such file" in done.stderr, len(done.stderr.splitlines())), (4, True, 1), done.stderr)

with test("a launcher that cannot be started is no failure of a point: nothing is recorded, and the same command goes on"):
    path = scratch("launcher.jsonl")
    for launcher in ("/no/such/mpirun -np {ranks}", "{ranks.real} {nothing} {"):
        done = study(path, launcher=launcher)
        equal((done.returncode, runs_in(path), len(done.stderr.splitlines())), (4, [], 1), done.stderr)
        within(done.stderr, "cannot be started")
    equal(study(path).returncode, 0)
    equal([s["code"] for s in runs_in(path)], [0])

with test("where the temporary folder is full a failed run is none of the point's; elsewhere it is"):
    fails = "sh " + scratch("fails.sh", "echo the last line; exit 1\n")
    path = scratch("full.jsonl")
    done = study(path, launcher=fails, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000)))
    equal((done.returncode, runs_in(path), len(done.stderr.splitlines())), (4, [], 1), done.stderr)
    within(done.stderr, "is not recorded, and the same command continues")
    for folder in ("/no/such", "/proc"):  # Python itself would choose another folder
        done = study(path, env={**os.environ, "TMPDIR": folder}, launcher=fails)
        equal((done.returncode, runs_in(path), len(done.stderr.splitlines())), (4, [], 1), done.stderr)
        within(done.stderr, f"study: {folder}: ")
    done = study(path, launcher=fails)
    equal((done.returncode, [(s["code"], s["error"]) for s in runs_in(path)]), (1, [(1, "the last line")]), done.stderr)
    equal(study(path, "--retry-failed").returncode, 0)

with test("ranks that do not find one another are a failed run that says so"):
    path = scratch("alone.jsonl")
    done = study(path, text=ONE + "ranks = 2\ngrids = auto\n")  # without a launcher there is one rank
    equal((done.returncode, [(s["code"], s["error"]) for s in runs_in(path)]),
          (1, [(1, "ran on 1 ranks, not 2: the launcher does not match the program's MPI")]), done.stderr)

with test("a program that writes no record of its own, or one that is none, is a failed run"):
    for text, expected in (("exit 0", "it wrote no record"), ("echo '[1]' >$3", "found [1], expected an object"),
                           ("echo '{\"run\": 3}' >$3", "its record: not a run of spmm_mpi: matrix is missing"), ("echo NaN >$3", "found NaN")):
        path, odd = scratch("odd.jsonl", ""), scratch("odd.sh", f"#!/bin/sh\n[ $1 = -q ] || exec {PROGRAM} \"$@\"\n{text}\n")
        os.chmod(odd, 0o755)
        done = study(path, "--program", odd, launcher="env A=B")
        equal((done.returncode, [s["code"] for s in runs_in(path)]), (1, [1]), done.stderr)
        within(runs_in(path)[0]["error"], expected)

with test("records of conversions that are none end with 3, FILE and line; a line that a kill cut off is made again"):
    path = scratch("conversions.jsonl", '{"conversions": {"matrix": 3}}\n')
    words = ("--program", PROGRAM, "--launcher", "", "--rounds", "1", "--records", path, "--out", scratch("c"), "lap2d5:9")
    done = start("conversions", *words)
    equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
    within(done.stderr, f"{path}:1: not of jobs/conversions: conversions.rows is missing, expected a whole number")
    scratch("conversions.jsonl", '{"conversions": {"mat')
    for _ in "12":
        equal(start("conversions", *words).returncode, 0)
        equal(len(open(path, encoding="utf-8").readlines()), 1)

with test("thousands of mutations of records and study files are read, or refused with FILE and a reason"):
    executions, found = fuzz_jobs.fuzz(iterations=3600, seed=20261122)
    equal((executions, found), (3600, []))

finish()
