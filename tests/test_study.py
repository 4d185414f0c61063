"""jobs/study: what it makes of a study file, what it records, and how it goes on after an interruption.
limit: 300"""
import json
import os
import signal
import subprocess
import sys
import time

from command import PROGRAM, ROOT, equal, finish, patience, scratch, test, within

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
                            timeout=patience(120), check=False)
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

with test("--only takes the points with a value"):
    some = scratch("some.jsonl")
    equal(study(text, "--only", "ranks=2", "--only", "k=1,3", records=some)[0], 0)
    equal({(r["study"]["settings"]["ranks"], r["study"]["settings"]["k"]) for r in runs_of(some)}, {(2, 1)})
    within(study(text, "--only", "ranks=9")[2], "no point")
    within(study(text, "--only", "nodes=2")[2], "expected NAME=VALUE")

with test("a point that fails is recorded with its exit code and last line, and the others go on"):
    failing = scratch("failing.jsonl")
    text = SMALL + f"matrices = lap2d5:20 {scratch('none.mtx', 'no matrix')}\nthreads = 1\ndevices = cpu\n"
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
        out, err = job.communicate(timeout=patience(30))
        equal(job.returncode, 128 + number)
        within(err, "the same command continues")
    partial = runs_of(stopped)
    assert 4 <= len(partial) < 16, len(partial)
    equal(subprocess.run(words, capture_output=True, check=False, timeout=patience(120)).returncode, 0)
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
        out, err = job.communicate(timeout=patience(30))
        equal((job.returncode, runs_of(both)), (143, []), err)

with test("what a kill left of a line is cut off, and the run is made again"):
    with open(stopped, "rb+") as file:
        data = file.read()
        file.truncate(len(data) - 20)
    equal(subprocess.run(words, capture_output=True, check=False, timeout=patience(120)).returncode, 0)
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
                          check=True, timeout=patience(30))
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
                          ("matrices = lap2d5:9\nformats = csr crs\n", ":2: formats = crs: expected auto or csr or ell or"),
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
    within(err, "build it by make")

with test("generators grow with the ranks; grids fit them; the serial product is there once"):
    equal([points.expand("lap3d7:{64*cbrt(ranks)}", r, 1) for r in (1, 2, 8)], ["lap3d7:64", "lap3d7:81", "lap3d7:128"])
    equal(points.expand("uniform:{1000*ranks},{8+threads}", 3, 4), "uniform:3000,12")
    equal([points.grid_of(w, 12) for w in ("Px1", "1xQ", "square", "auto", "3x4", "2x2", "Px3", "5xQ")],
          ["12x1", "1x12", "4x3", "auto", "3x4", None, "4x3", None])
    study_of = points.read(study_file("matrices = lap3d7:{8*ranks}\nranks = 1 2\nserial = yes\n"))
    found = points.points(study_of, [points.Kernel("cpu_serial", "cpu", "csr")])
    equal([(s["matrix"], s["kernel"], s["ranks"]) for s in found.values()],
          [("lap3d7:8", "cpu_serial", 1), ("lap3d7:8", "auto", 1), ("lap3d7:16", "auto", 2)])
    equal([s.get("weak") for s in found.values()], [None, "lap3d7:{8*ranks}", "lap3d7:{8*ranks}"])

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
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=patience(60))
    equal(done.returncode, 0, done.stderr)
    lines = [line for line in done.stdout.splitlines() if "COO to" in line]
    equal((len(lines), {line[-4:].strip() for line in lines}), (18, {"yes"}), done.stdout)
    within(lines[7], "COO to ELL, no padding  coo_to_ell_nopad_single_pass")
    equal(len(records_of(path)), 4)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"conversions": {"mat')  # as a kill or a full disk leaves it
    again = subprocess.run(words, capture_output=True, text=True, check=True, timeout=patience(60)).stdout
    equal((len(records_of(path)), "round" in again), (4, False))
    bad = subprocess.run(words[:-2] + ["none.mtx"], capture_output=True, text=True, check=False, timeout=patience(60))
    equal((bad.returncode, len(bad.stderr.splitlines())), (1, 1), bad.stderr)
    within(bad.stderr, "none.mtx: exit code 3: spmm_mpi: error")

ASKED = SMALL.replace("rounds = 2", "rounds = 1") + "matrices = lap2d5:20\nthreads = 1\ndevices = cpu\nranks = 2\ngrids = 1xQ\n"


def without(record, *names):
    return {n: v for n, v in record.items() if n not in names}


with test("what changes how a product is computed is part of the point, by a line of its own or by options"):
    path = scratch("asked.jsonl")
    code, out, err = study(ASKED + "reductions = linear tree butterfly\n", records=path)
    equal((code, err), (0, ""))
    within(out, "threads=1 reduce=tree:")
    asked_for = [(r["study"]["settings"]["reduce"], r["asked"]["reduce"], r["moved"]["reduce"]) for r in runs_of(path)]
    equal(asked_for, [(word,) * 3 for word in ("linear", "tree", "butterfly")])
    equal(len({r["study"]["point"] for r in runs_of(path)}), 3)
    # (lines of the study, how many runs are missing)
    for lines, missing in (("reductions = tree", 0), ("options = --reduce tree", 0), ("options = --reduce=tree", 0), ("", 1),
                           ("reductions = auto", 1), ("options = --reduce mpi", 1), ("options = --reduce tree --no-overlap", 1),
                           ("transports = mpi shared", 2), ("exchanges = halo bcast joint", 3), ("partitions = nnz rows", 2),
                           ("options = --verify none", 1), ("options = -x ones", 1), ("options = --column-blocks 2", 1),
                           ("options = --plan quick", 1), ("options = --products 5", 1), ("options = --autotune", 1),
                           ("options = --reproducible off", 1), ("options = --io parallel", 1), ("options = --ell-limit 2", 1),
                           ("devices = cuda\nblock_sizes = 0 64 128\nsubwarps = 0 2 4 8", 12),
                           ("devices = cpu cuda\nsubwarps = 0 2 4", 4)):
        text = ASKED.replace("devices = cpu\n", "") if "devices" in lines else ASKED
        code, out, err = study(f"{text}{lines}\n", "--dry-run", records=path)
        equal((code, err), (0, ""), lines)
        within(out.splitlines()[-1], f", {missing} runs to do")
    equal(study(ASKED + "reductions = linear tree butterfly\n", "--only", "reduce=tree", "--dry-run", records=path)[1].count("to run:"), 1)
    for name, value, missing in (("SPMM_ISA", "generic", 1), ("SPMM_EXCHANGE_BACKEND", "direct", 1), ("SPMM_MEMORY_CHECK", "1", 0)):
        os.environ[name] = value
        within(study(ASKED + "reductions = tree\n", "--dry-run", records=path)[1], f", {missing} runs to do")
        del os.environ[name]

with test("the order of options does not matter, nor one that has its default; what is given twice is refused"):
    path = scratch("order.jsonl")
    equal(study(ASKED + "options = --verify none -x ones --timeout 9 --plan timed\n", records=path)[0], 0)
    record = runs_of(path)[0]
    equal((record["study"]["settings"]["x"], record["study"]["settings"]["options"]), ("ones", "--timeout 9 --verify none"))
    equal((record["run"]["x"], record["run"]["verify"]), ("ones", "none"))
    for options in ("--timeout 9 --x=ones --verify none", "-xones --verify none --timeout 9 --reduce auto --x ones"):
        within(study(ASKED + f"options = {options}\n", "--dry-run", records=path)[1], "0 of 1 to run")
    for line, key in (("options = --reduce tree\nreductions = linear", "reductions"), ("options = -t 2", "threads"),
                      ("options = --rep", ""), ("options = --grid=2x1", "grids"),
                      ("options = --verify none --json=x", "json")):
        code, _, err = study(ASKED + line + "\n", records=path)
        if key:
            equal((code, len(err.splitlines())), (3, 1), err)
            within(err, f"small.study:{(ASKED + line[:line.index('options')]).count(chr(10)) + 1}: options = has ")
            within(err, key)
    within(study(ASKED + "options = --kernel cpu_ell -k 1,3\n", "--dry-run")[1], "k=3 device=cpu kernel=cpu_ell format=ell")

with test("a run that was asked for something else than its point says has failed"):
    path = scratch("else.jsonl")
    code, out, err = study(ASKED + "options = --redu tree\n", records=path)
    equal((code, runs_of(path)[0]["study"]["code"]), (1, 1), err)
    within(out, "FAILED: ran with reduce = tree, not auto")
    within(study(ASKED + "options = -qk3\n", records=scratch("else-k.jsonl"))[1], "ran with k = 3, not 64")

with test("records of older versions mean the defaults, and what their commands say: such a study goes on"):
    path, older = scratch("newer.jsonl"), scratch("older.jsonl")
    equal(study(ASKED + "reductions = auto tree\noptions = --verify none\nserial = yes\n", records=path)[0], 0)
    with open(older, "w", encoding="utf-8") as file:
        for record in records_of(path):
            if "study" in record:
                record = without(record, "asked", "launch")
                of = record["study"]
                of["settings"] = without(of["settings"], "reduce", "options")
                of["point"] = " ".join(f"{n}={of['settings'][n]}" for n in points.SETTINGS)
                of["command"] = [w for w in of["command"] if w != "--"]
                if "cpu_serial" in of["command"]:
                    of["command"][-1:] = ["--reduce", "tree", of["command"][-1]]
            file.write(json.dumps(record) + "\n")
    for lines, missing in (("reductions = auto tree\noptions = --verify none\nserial = yes", 0), ("reductions = tree linear\noptions = --verify none", 1),
                           ("reductions = tree", 1)):
        within(study(f"{ASKED}{lines}\n", "--dry-run", records=older)[1], f", {missing} runs to do")
    done = subprocess.run([sys.executable, str(ROOT / "jobs/scaling"), older], capture_output=True, text=True, check=True, timeout=patience(60))
    for table, said in (("Points", "options=--verify none, reduce=tree"), ("Phases", "options=--verify none, reduce=tree"),
                        ("GFLOP/s over K", ", options=--verify none\n"), ("GFLOP/s over K", "1 thr., reduce=tree ")):
        within(done.stdout.split(f"== {table} ==")[1].split("==")[0], said)

with test("rounds of one point that took different ways get a warning"):
    path, mark = scratch("ways.jsonl"), scratch("ways-mark")
    script = scratch("ways.sh", 'json=; before=; for w in "$@"; do [ "$before" != --json ] || json=$w; before=$w; done\n"$@" || exit\n'
                     f'[ -e {mark} ] && sed -i \'s/"transport":"none"/"transport":"mpi"/\' "$json"; : >{mark}\n')
    text = SMALL + "matrices = lap2d5:20\nthreads = 1\ndevices = cpu\ncolumns = 1\n"
    code, out, err = study(text, records=path, launcher=f"sh {script}")
    equal((code, err), (0, ""))
    within(out.splitlines()[1], "WARNING: another way than in an earlier round: transport none and mpi")
    assert "WARNING" not in out.splitlines()[0], out
    within(out.splitlines()[-1], "2 runs; WARNING: rounds of 1 point ran differently")
    done = subprocess.run([sys.executable, str(ROOT / "jobs/scaling"), path], capture_output=True, text=True, check=True, timeout=patience(60))
    within(done.stderr, "rounds of 1 point ran differently: lap2d5:20 K=1 auto f64 1 ranks: transport none and mpi")
    within(done.stdout, "2 x 6")

with test("--set matrices=A,B are two; a comma before a number is a generator's; a matrix that is not there is refused before any run"):
    here = {name: scratch(name, (ROOT / "matrices/cage4.mtx").read_text()) for name in ("a.mtx", "b.mtx", "c,1.mtx", "d,9")}
    for words, names in (("{a.mtx},{b.mtx}", ["{a.mtx}", "{b.mtx}"]), ("{a.mtx},lap3d7:4,{b.mtx}", ["{a.mtx}", "lap3d7:4", "{b.mtx}"]),
                         ("uniform:300,5", ["uniform:300,5"]), ("uniform:300,5,band:99,3,7,lap2d5:9", ["uniform:300,5", "band:99,3,7", "lap2d5:9"]),
                         ("uniform:{300*ranks},{5+threads},lap2d5:9", ["uniform:300,5", "lap2d5:9"]), ("{a.mtx} {b.mtx}", ["{a.mtx}", "{b.mtx}"]),
                         ("{c,1.mtx}", ["{c,1.mtx}"]), ("{d,9}", ["{d,9}"])):
        for name, place in here.items():
            words, names = words.replace("{" + name + "}", place), [n.replace("{" + name + "}", place) for n in names]
        code, out, err = study("matrices = lap2d5:3\ncolumns = 1\n", "--set", f"matrices={words}", "--dry-run")
        equal((code, err), (0, ""), words)
        equal([line.split("matrix=")[1].split(" k=")[0] for line in out.splitlines()[:-1]], names, words)
    only = study(f"matrices = {here['a.mtx']} {here['b.mtx']} uniform:300,5\n", "--only", f"matrix={here['a.mtx']},uniform:300,5", "--dry-run")
    equal(only[1].count("to run:"), 2, only)
    path, gone = scratch("missing.jsonl"), scratch("gone.mtx", (ROOT / "matrices/cage4.mtx").read_text())
    text = "repeats = 2\nrounds = 1\nthreads = 1\ndevices = cpu\n# matrices\nmatrices = lap2d5:9 {}\n"
    equal(study(text.format(gone), records=path)[0], 0)
    os.unlink(gone)
    equal(study(text.format(gone), records=path)[0], 0, "nothing is missing of it")
    for word, hint in ((gone + "2", ""), ("no-such-{ranks}.mtx", "no-such-1.mtx"), ("Janna/ML_Laplace", "name:Janna/ML_Laplace is a matrix of"),
                       ("./a:b.mtx", ""), ("no/a.mtx,no/b.mtx", "by blanks")):
        path = scratch("missing-2.jsonl")
        code, out, err = study(text.format(word), records=path)
        equal((code, out, len(err.splitlines()), os.path.exists(path)), (3, "", 1, False), err)
        within(err, "small.study:6: matrices = ")
        within(err, "no such file")
        within(err, hint)

with test("a word of a study file that begins with - does not become an option"):
    victim = scratch("victim.mtx", "mine\n")
    for line in (f"matrices = -o{victim}", f"matrices = lap2d5:9 --cache={victim}", "matrices = -", "matrices = {0-5}", "kernels = -o",
                 "devices = -d", "formats = --csv=x", "grids = -g", "columns = -1", "ranks = -np", "name = -x",
                 "reductions = -o", "exchanges = --cache=x", "transports = -v", "partitions = -x", "block_sizes = -1", "subwarps = -2"):
        text = line + "\n" + ("" if "matrices" in line else "matrices = lap2d5:9\n")
        code, out, err = study(text, records=scratch("dash.jsonl"))
        equal((code, out, len(err.splitlines())), (3, "", 1), err)
        within(err, "small.study:1: ")
    code, _, err = study("matrices = lap2d5:9\n", f"--set=matrices=-o{victim}")
    equal((code, len(err.splitlines())), (3, 1), err)
    for odd in ("\n", "\x1b", "\x7f"):
        code, _, err = study("matrices = lap2d5:9\n", f"--set=matrices=a{odd}b")
        equal((code, len(err.splitlines()), odd in err[:-1]), (3, 1, False), err)
    equal(open(victim, encoding="utf-8").read(), "mine\n")
    equal(study("repeats = 2\nrounds = 1\nthreads = 1\ndevices = cpu\nmatrices = lap2d5:9\n", records=scratch("dashes.jsonl"))[0], 0)
    equal(runs_of(scratch("dashes.jsonl"))[0]["study"]["command"][-2:], ["--", "lap2d5:9"])

with test("an output that is an input by any name is refused with exit code 2, and nothing is lost"):
    sample = scratch("inputs.jsonl")
    equal(study("repeats = 6\nrounds = 1\nthreads = 1\ndevices = cpu\nmatrices = lap2d5:9\ncolumns = 1 2\n", records=sample)[0], 0)
    matrix = scratch("input.mtx", (ROOT / "matrices/cage4.mtx").read_text())
    of_study = scratch("input.study", f"matrices = {matrix} lap2d5:9\nthreads = 1\ndevices = cpu\nrounds = 1\n")
    writes = scratch("writes.study", f"matrices = lap2d5:9\noptions = -o {scratch('writes.study')}\ndevices = cpu\n")
    folder = os.path.dirname(sample)
    free = scratch("free.out")

    def names_of(path):
        """Other names of the file."""
        soft, hard = (scratch(f"{kind}-{os.path.basename(path)}") for kind in ("soft", "hard"))
        for link, make in ((soft, os.symlink), (hard, os.link)):
            if not os.path.lexists(link):
                make(path, link)
        return [path, os.path.join(folder, ".", "..", os.path.basename(folder), os.path.basename(path)), soft, hard]

    commands = [("report", sample, "-o", sample), ("scaling", sample, "--csv", sample), ("compare", sample, free, "--page", sample),
                ("compare", free, sample, "--csv", sample), ("study", of_study, "--records", of_study), ("study", of_study, "--records", matrix),
                ("conversions", matrix, "--records", matrix)]
    tried = [(*command[:-1], name) for command in commands for name in names_of(command[-1])]
    tried += [("study", writes, "--records", free), ("compare", sample, sample, "--page", free, "--csv", free)]
    before = {path: open(path, encoding="utf-8").read() for path in (sample, matrix, of_study, writes)}
    for command in tried:
        done = subprocess.run([sys.executable, str(ROOT / "jobs" / command[0]), *command[1:]], capture_output=True, text=True,
                              cwd=folder, timeout=patience(60), check=False, env={**os.environ, "SPMM_MPI": str(PROGRAM)})
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), f"{command} {done.stderr}")
        within(done.stderr, "expected another")
        equal({path: open(path, encoding="utf-8").read() for path in before}, before, str(command))
        assert not os.path.exists(free), command

finish()
