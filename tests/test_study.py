"""jobs/study: what it makes of a study file, what it records, and how it goes on after an interruption.
limit: 180"""
import json
import os
import signal
import subprocess
import sys
import time

from command import PROGRAM, ROOT, equal, finish, scratch, test, within

sys.path.insert(0, str(ROOT / "jobs"))
from spmm_study import points  # noqa: E402

LAUNCHER = os.environ.get("MPIRUN", "mpirun") + " -np {ranks}"
SMALL = "repeats = 6\nwarmup = 0\nrounds = 2\n"


def study_file(text, name="small.study"):
    return scratch(name, text)


def study(text, *options, records=None, program=PROGRAM, launcher=LAUNCHER, name="small.study"):
    """(exit code, output, errors) of jobs/study."""
    words = [sys.executable, str(ROOT / "jobs/study"), "--program", str(program), "--launcher", launcher, *options,
             study_file(text, name)]
    result = subprocess.run(words + (["--records", records] if records else []), capture_output=True, text=True,
                            timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def records_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def runs_of(path):
    return [r for r in records_of(path) if "study" in r]


with test("a study runs every combination, every round of all before the next, each with a record"):
    path = scratch("all.jsonl")
    text = SMALL + "matrices = lap2d5:20 lap3d7:8\ncolumns = 1 5\nranks = 1 2\nthreads = 1\ndevices = cpu\n"
    code, out, err = study(text, records=path)
    equal((code, err), (0, ""))
    runs = runs_of(path)
    equal(len(runs), 16)
    equal([r["study"]["round"] for r in runs], [0] * 8 + [1] * 8)
    first, second = ([r["study"]["point"] for r in runs[i:i + 8]] for i in (0, 8))
    assert sorted(first) == sorted(second) and first != second and len(set(first)) == 8, "another one begins"
    for r in runs:
        s = r["study"]["settings"]
        equal((r["run"]["k"], r["run"]["ranks"], r["matrix"]["source"]), (s["k"], s["ranks"], s["matrix"]))
        equal((r["study"]["code"], r["study"]["error"], r["apply"]["n"]), (0, "", 6))
    within(out.splitlines()[0], "[1/16] round 1: lap2d5:20 k=1")
    within(out.splitlines()[3], " left")
    environment = records_of(path)[0]["environment"]
    equal({r["study"]["environment"] for r in runs}, {environment["id"]})
    assert environment["cores"] >= 1 and environment["cpu"] and "spmm_mpi" in environment["program"], environment

with test("started again it runs nothing, and with more ranks only those"):
    code, out, err = study(text, records=path)
    equal((code, err, len(out.splitlines())), (0, "", 1))
    code, out, err = study(text.replace("ranks = 1 2", "ranks = 1 2 3"), records=path)
    equal((code, len(runs_of(path))), (0, 24))
    equal([line for line in out.splitlines() if "ranks=1 " in line], [])

with test("--dry-run lists points and what is missing, and runs and writes nothing"):
    before = open(path, encoding="utf-8").read()
    code, out, err = study(text.replace("5\n", "5 7\n"), "--dry-run", records=path)
    equal(code, 0, err)
    equal((len([x for x in out.splitlines() if x.startswith("2 of 2")]),
           len([x for x in out.splitlines() if x.startswith("0 of 2")])), (4, 8), out)
    within(out.splitlines()[-1], "12 points, 8 runs to do, about")
    equal(open(path, encoding="utf-8").read(), before)
    nowhere = scratch("nowhere.jsonl")
    equal(study(text, "--dry-run", records=nowhere)[0], 0)
    assert not os.path.exists(nowhere)

with test("machines: predictions come before the runs, of each matrix, K and the numbers of ranks; one that fails is told"):
    machine = scratch("a.machine", "name = one\ndevice = cpu\nnodes = 1\nranks_per_node = 2\ncopy_rate = 1e10\nnode_copy_rate = 2e10\n"
                      "inside_rate = 1e9\ninside_latency = 1e-6\nefficiency = 0.5\n")
    foreseen = scratch("foreseen.jsonl")
    text = SMALL + f"matrices = lap2d5:20\nthreads = 1\ndevices = cpu\ncolumns = 1 8\nranks = 1 2\nmachines = {machine} /no/such.machine\n"
    for _ in range(2):
        code, out, err = study(text, records=foreseen)
        equal((code, err), (0, ""))
    made = [r["prediction"] for r in records_of(foreseen) if "prediction" in r]
    equal([(p["k"], p["ranks"]) for p in made], [(1, 1), (1, 2), (8, 1), (8, 2)], "once")
    out = study(text.replace("2\nmach", "2 3\nmach"), records=foreseen)[1]
    within(out, "3 ranks are planned, and the machine has 1 nodes of 2")
    within(out, "predicted by /no/such.machine: lap2d5:20: FAILED: spmm_mpi: error: /no/such.machine")

with test("--only takes the points with a value"):
    some = scratch("some.jsonl")
    equal(study(text, "--only", "ranks=2", "--only", "k=1,3", records=some)[0], 0)
    equal({(r["study"]["settings"]["ranks"], r["study"]["settings"]["k"]) for r in runs_of(some)}, {(2, 1)})
    within(study(text, "--only", "ranks=9")[2], "no point")
    within(study(text, "--only", "nodes=2")[2], "expected NAME=VALUE")

with test("a point that fails is recorded with its exit code and last line, and the others go on"):
    failing = scratch("failing.jsonl")
    text = SMALL + "matrices = lap2d5:20 none.mtx\nthreads = 1\ndevices = cpu\n"
    code, out, err = study(text, records=failing)
    equal(code, 1, err)
    bad = [r for r in runs_of(failing) if r["study"]["code"] != 0]
    equal((len(runs_of(failing)), len(bad), {r["study"]["code"] for r in bad}), (4, 2, {3}))
    within(bad[0]["study"]["error"], "none.mtx")
    within(out, "FAILED: spmm_mpi: error")
    equal(study(text, records=failing)[1].count("FAILED"), 0, "failed ones are not missing")
    equal(study(text, "--retry-failed", records=failing)[1].count("FAILED"), 2)

with test("a run that takes too long is ended, and counts as failed"):
    slow = scratch("slow.jsonl")
    code, out, err = study("matrices = lap2d5:30\nrepeats = 100000000\nrounds = 1\nthreads = 1\ndevices = cpu\ntimeout = 1\n",
                           records=slow)
    equal((code, runs_of(slow)[0]["study"]["code"]), (1, 124), err)
    within(runs_of(slow)[0]["study"]["error"], "longer than 1 s")

with test("SIGTERM ends it with whole records and its run with it, and the same command goes on"):
    stopped = scratch("stopped.jsonl")
    text = ("matrices = lap3d7:30\ncolumns = 1 2 3 4 5 6 7 8\nrounds = 2\nrepeats = 200\nthreads = 1\ndevices = cpu\n"
            "ranks = 2\n")
    words = [sys.executable, str(ROOT / "jobs/study"), "--program", str(PROGRAM), "--launcher", LAUNCHER, "--records",
             stopped, study_file(text)]
    for number in (signal.SIGTERM, signal.SIGINT):
        job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2):
            job.stdout.readline()
        time.sleep(0.1)
        job.send_signal(number)
        out, err = job.communicate(timeout=30)
        equal(job.returncode, 128 + number)
        within(err, "the same command goes on")
    partial = runs_of(stopped)
    assert 4 <= len(partial) < 16, len(partial)
    equal(subprocess.run(words, capture_output=True, check=False, timeout=120).returncode, 0)
    points_run = [(r["study"]["point"], r["study"]["round"]) for r in runs_of(stopped)]
    equal((len(points_run), len(set(points_run))), (16, 16), "each once")

with test("a run that SIGTERM ends just before the study, as a batch system may, is no failed run, with a record or without"):
    for number, before in enumerate(("", '"$@"; ')):
        both, ended = scratch(f"both-{number}.jsonl"), scratch(f"ended-{number}")
        script = scratch(f"ended-{number}.sh", f"{before}echo mpirun: Forwarding signal 18 to job; : >{ended}; exit 1\n")
        command = [sys.executable, str(ROOT / "jobs/study"), "--program", str(PROGRAM), "--records", both,
                   "--launcher", "sh " + script, study_file("matrices = lap2d5:30\ndevices = cpu\nrounds = 1\n")]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(ended):
            time.sleep(0.02)
        time.sleep(0.3)
        job.send_signal(signal.SIGTERM)
        out, err = job.communicate(timeout=30)
        equal((job.returncode, runs_of(both)), (143, []), err)

with test("what a kill left of a line is cut off, and the run is made again"):
    with open(stopped, "rb+") as file:
        data = file.read()
        file.truncate(len(data) - 20)
    equal(subprocess.run(words, capture_output=True, check=False, timeout=120).returncode, 0)
    equal(len(runs_of(stopped)), 16)

with test("two studies do not write into one file at the same time"):
    import fcntl
    with open(stopped, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, _, err = study(text, records=stopped)
    equal(code, 4)
    within(err, "another study is writing")

with test("a full disk leaves whole lines and a clear error"):
    full = scratch("full.jsonl")
    child = ("import resource, signal, sys; sys.path.insert(0, sys.argv[1])\n"
             "from spmm_study.recorder import Recorder, RecordError\n"
             "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
             "r = Recorder(sys.argv[2])\n"
             "try:\n"
             "    for n in range(100): r.append({'study': {'point': 'p' * 50, 'round': n, 'code': 0, 'wall_seconds': 1}})\n"
             "except RecordError as e: print(n, e)\n")
    done = subprocess.run([sys.executable, "-c", child, str(ROOT / "jobs"), full], capture_output=True, text=True,
                          check=True, timeout=30)
    written, _, message = done.stdout.partition(" ")
    within(message, full)
    assert 5 < int(written) < 100 and len(runs_of(full)) == int(written), done.stdout
    code, _, err = study(SMALL + "matrices = lap2d5:9\ndevices = cpu\n", records="/dev/full")
    equal((code, err), (4, "study: /dev/full: not a regular file\n"))

with test("errors of a study file name file, line and what was expected"):
    for text, message in (("matrices = lap2d5:9\ncolumn = 3\n", "small.study:2: found \"column = 3\""),
                          ("matrices = lap2d5:9\ncolumns = 0\n", "small.study:2: columns = 0: expected a whole number"),
                          ("columns = 3\n", "no line `matrices"),
                          ("matrices = lap2d5:{2*}\n", "lap2d5:{2*}"),
                          ("matrices = lap2d5:9\nkernels = csr_fast\n", "no such kernel"),
                          ("matrices = lap2d5:9\nranks = 2\ngrids = 3x3\n", "no grid fits"),
                          ("matrices = lap2d5:9\ngrids = 3\n", "expected Px1"),
                          ("matrices = lap2d5:9\nranks = 1\nranks = 2\n", "a second line"),
                          ("matrices = lap2d5:9\nserial = maybe\n", "expected yes or no"),
                          ("matricse = lap2d5:9\n", "did you mean matrices?"),
                          ("matrices = lap2d5:9\nkernels = cpu_crs\n", "did you mean cpu_csr?"),
                          ("matrices = lap2d5:9\nformats = csr crs\n", ":2: formats = crs: expected auto or csr or ell or"),
                          ("matrices = lap2d5:9\nformats = ELL\n", "did you mean ell?"),
                          ("matrices = lap2d5:9\ndevices = gpu0\n", "devices = gpu0: expected auto or cpu or cuda"),
                          ("matrices = lap2d5:9\nprecisions = f46\n", "did you mean f64?")):
        code, _, err = study(text)
        equal((code, len(err.splitlines())), (3, 1), err)
        within(err, message)
    for option, message in (("--only=rank=4", "did you mean ranks?"), ("--set=matricse=a", "did you mean matrices?"),
                            ("--set=formats=crs", "--set formats=crs: formats = crs: expected auto or csr")):
        code, _, err = study("matrices = lap2d5:9\n", option)
        equal((code, len(err.splitlines())), (3, 1), err)
        within(err, message)
    code, _, err = study("matrices = lap2d5:9\n", program="/no/such")
    equal(code, 4)
    within(err, "make builds it")

with test("generators grow with the ranks; grids fit them; the serial product is there once"):
    equal([points.expand("lap3d7:{64*cbrt(ranks)}", r, 1) for r in (1, 2, 8)], ["lap3d7:64", "lap3d7:81", "lap3d7:128"])
    equal(points.expand("uniform:{1000*ranks},{8+threads}", 3, 4), "uniform:3000,12")
    equal([points.grid_of(w, 12) for w in ("Px1", "1xQ", "square", "auto", "3x4", "2x2", "Px3", "5xQ")],
          ["12x1", "1x12", "4x3", "auto", "3x4", None, "4x3", None])
    study_of = points.read(study_file("matrices = lap3d7:{8*ranks}\nranks = 1 2\nserial = yes\n"))
    found = points.points(study_of, [points.Kernel("cpu_serial", "cpu", "csr")])
    equal([(s["matrix"], s["kernel"], s["ranks"]) for s in found.values()],
          [("lap3d7:8", "cpu_serial", 1), ("lap3d7:16", "cpu_serial", 1), ("lap3d7:8", "auto", 1), ("lap3d7:16", "auto", 2)])
    equal([s.get("weak") for s in found.values()], [None, None, "lap3d7:{8*ranks}", "lap3d7:{8*ranks}"])

with test("kernels = all are those of the device, each in its own format"):
    path = scratch("kernels.jsonl")
    code, _, err = study(SMALL + "matrices = lap2d5:20\nkernels = all\ndevices = cpu\nthreads = 1\n", "--dry-run",
                         records=path)
    equal(code, 0, err)
    study_of = points.read(study_file("matrices = lap2d5:20\nkernels = all\ndevices = cpu\n"))
    have = [points.Kernel("a", "cpu", "csr"), points.Kernel("b", "cpu", "ell"), points.Kernel("c", "cuda", "csr")]
    equal([(s["kernel"], s["format"]) for s in points.points(study_of, have).values()], [("a", "csr"), ("b", "ell")])

with test("jobs/conversions times the conversions of several matrices, some rounds of each, and goes on"):
    path = scratch("conversions.jsonl")
    words = [sys.executable, str(ROOT / "jobs/conversions"), "--program", str(PROGRAM), "--launcher", LAUNCHER, "--rounds",
             "2", "--records", path, "--out", scratch("conversions"), str(ROOT / "matrices/cage4.mtx"), "lap2d5:9"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    equal(done.returncode, 0, done.stderr)
    lines = [line for line in done.stdout.splitlines() if "COO to" in line]
    equal((len(lines), {line[-4:].strip() for line in lines}), (18, {"yes"}), done.stdout)
    within(lines[7], "COO to ELL, no padding  coo_to_ell_nopad_single_pass")
    equal(len(records_of(path)), 4)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"conversions": {"mat')  # a kill, or a full disk
    again = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    equal((len(records_of(path)), "round" in again), (4, False))
    bad = subprocess.run(words[:-2] + ["none.mtx"], capture_output=True, text=True, check=False, timeout=60)
    equal((bad.returncode, len(bad.stderr.splitlines())), (1, 1), bad.stderr)
    within(bad.stderr, "none.mtx: exit code 3: spmm_mpi: error")

finish()
