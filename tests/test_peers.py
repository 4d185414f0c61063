"""Kernels of other libraries: those with an adaptor in this build, and the mechanism, with an adaptor made here.
limit: 240"""
import os
import pathlib
import re
import shutil
import subprocess

from command import PROGRAM, ROOT, equal, finish, refused, run, scratch, skip, test, verified, within

HEAD = "%%MatrixMarket matrix coordinate real general\n"
FAST = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)
NAMES = ("eigen", "mkl")  # the libraries for CPUs in kernels/peers/peers.def

listing = run("--list-kernels", records=False).out
others = listing.split("other libraries", 1)[1]
here = [name for name in NAMES if re.search(rf"^{name} +cpu +csr +no ", others, re.M)]


def text(name, rows, cols, entries):
    """Writes a matrix to a Matrix Market file."""
    lines = "".join(f"{i} {j} {v}\n" for i, j, v in entries)
    return scratch(name, f"{HEAD}{rows} {cols} {len(entries)}\n{lines}")


# TOP: entries only in every other row of the first of three row blocks; NONE: no entries; TINY: fewer rows
# than ranks
TOP = text("top.mtx", 90, 70, [(i, (7 * i + 11 * j) % 70 + 1, i - j / 3) for i in range(1, 31, 2) for j in range(1, 6)])
NONE = text("none.mtx", 9, 9, [])
TINY = text("tiny.mtx", 2, 3, [(1, 2, 0.1), (2, 1, -3), (2, 3, 7)])

with test("--list-kernels names the other libraries, each with its version or with what is missing"):
    for name in (*NAMES, "cusparse"):
        line = next(line for line in others.splitlines() if line.startswith(f"{name} "))
        assert re.search(r"\(\S.*\)$|not available: /.*peer_\w+\.so not found$|cannot be used here: ", line), line

for name in NAMES:
    if name not in here:
        skip(f"products by {name} are right", f"no {name} in this build")
        continue
    with test(f"products by {name} are right: K, precisions, ranks, grids, empty rows and blocks"):
        for args, ranks, count in (
                (("-k", "1,3,64", ROOT / "matrices/lp_e226.mtx"), 1, 3),
                (("-k", "1,3,64", "-p", "f32", "-t", 2, "rmat:9,6"), 1, 3),
                (("-k", "1,2,33", "lap3d7:9"), 2, 3),
                (("-k", "1,3", "-p", "f32", ROOT / "matrices/west0479.mtx"), 3, 2),
                (("-k", "3,8", "--no-overlap", "longrows:300,3,1,290"), 3, 2),
                (("-k", "1,5", "-g", "2x2", "rmat:8,5"), 4, 2),
                (("-k", "64", "--column-blocks", 4, "lap2d5:20"), 2, 1),
                (("-k", "1,3", "--partition", "rows", TOP), 3, 2),
                (("-k", "1,3", NONE), 2, 2), (("-k", "1,3", TINY), 3, 2)):
            verified(run(*FAST, "--kernel", name, *args, ranks=ranks), f"{name} {args}", count)
    with test(f"the report and the record of {name} say which version, and by which function"):
        r = run(*FAST, "--kernel", name, "-k", 3, "lap2d5:9")
        of = r.records[0]["library"]
        assert of["version"].lower().startswith(name) and re.search(r"\d\.\d", of["version"]) and of["way"], of
        within(r.out, f"theirs: {of['version']}: {of['way']}; set-up ")
        equal(r.records[0]["run"]["kernel"], name)
        assert r.records[0]["seconds"]["convert"] > 0, r.records[0]["seconds"]

with test("a kernel of ours has no library in its record"):
    equal(run(*FAST, "-k", 3, "lap2d5:9").records[0]["library"], {"version": "", "way": ""})

if here:
    with test("--kernel all has them in its tables, marked as theirs"):
        result = run(*FAST, "--kernel", "all", "-k", "3", "lap2d5:20", ranks=2)
        verified(result, "all", sum(line.split()[1:2] == ["cpu"] for line in listing.splitlines()))
        for name in here:
            of = next(r["library"] for r in result.records if r["run"]["kernel"] == name)
            assert re.search(rf"^ +3  {name} .* PASS  theirs: {re.escape(of['way'])}$", result.out, re.M), result.out
            within(result.out.replace("\n" + 11 * " ", " "), f" {name}: {of['version']}")
        equal(len(re.findall(r"  theirs: ", result.out)), len(here), result.out)
    with test("auto and --autotune never take one"):
        for args in ((), ("--autotune",)):
            result = run(*FAST, *args, "-k", "1,4", "rmat:9,6")
            verified(result, args, 2)
            assert not {r["run"]["kernel"] for r in result.records} & set(NAMES), result.out
            assert not re.search(rf"^ +({'|'.join(NAMES)}) ", result.out, re.M), result.out
else:
    skip("--kernel all has them in its tables, marked as theirs", "this build has none")
    skip("auto and --autotune never take one", "this build has none")

# ---- a program with an adaptor that is made here, under the name of a library
COPY = pathlib.Path(scratch("bin"))
(COPY / "peers").mkdir(parents=True)
SPMM = shutil.copy(PROGRAM, COPY / "spmm_mpi")
ADAPTOR = COPY / "peers/peer_eigen.so"


def made(forms):
    subprocess.run([*os.environ.get("MPICC", "mpicc").split(), "-std=c11", "-shared", "-fPIC", "-O1", f"-I{ROOT}",
                    '-DPACKAGE="eigen"', f"-DFORMS={forms}", str(ROOT / "tests/bench_peer.c"), "-o", str(ADAPTOR)], check=True)


with test("a library without an adaptor is refused before the matrix is read, with what to do, and is no part of all"):
    for ranks in (1, 2):
        refused(run("--kernel", "eigen", "missing.mtx", ranks=ranks, program=SPMM), 2, "no adaptor for Eigen",
                "peers/peer_eigen.so", "install Eigen, then make")
    result = run(*FAST, "--kernel", "all", "-k", 2, "lap2d5:9", program=SPMM)
    equal(result.code, 0, result.err)
    assert "eigen" not in result.out and "theirs" not in result.out, result.out
    within(run("--list-kernels", records=False, program=SPMM).out, "not available: /")

with test("an adaptor that cannot be loaded is one line: an error by name, left out of all"):
    for content in (b"", b"no library"):
        ADAPTOR.write_bytes(content)
        refused(run("--kernel", "eigen", "missing.mtx", ranks=2, program=SPMM), 4, "eigen cannot be used here: ")
    result = run(*FAST, "--kernel", "all", "-k", 2, "lap2d5:9", ranks=2, program=SPMM)
    equal(result.code, 0, result.err)
    equal(len(re.findall(r"^left out   eigen cannot be used here:", result.out, re.M)), 1, result.out)
    within(run("--list-kernels", records=False, program=SPMM).out, "eigen cannot be used here: ")

with test("an adaptor beside the program is found, and of its ways one that fits is taken"):
    made('{"loops", PEER_ROW, 1, 0, 1, 0}, {"loops", PEER_COLUMN, 1, 0, 1, 0}, {"f32", PEER_ROW, 0, 1, 1, 0}')
    for ranks in (1, 3):
        result = run(*FAST, "--kernel", "eigen", "-k", "1,3", "--verify", "full", "rmat:8,5", ranks=ranks, program=SPMM)
        equal([r["error"]["passed"] for r in result.records], [True, True], result.err)
        equal(result.records[0]["library"], {"version": "v", "way": "loops"})

with test("a precision or K that it has no product for is refused, and left out of all"):
    made('{"vector", PEER_COLUMN, 1, 0, 1, 0}')
    for args in (("-k", 3), ("-p", "f32", "-k", 1)):
        refused(run(*FAST, "--kernel", "eigen", *args, "lap2d5:9", program=SPMM), 4, "eigen: the library has no product for these options")
    result = run(*FAST, "--kernel", "all", *args, "lap2d5:9", ranks=2, program=SPMM)
    equal(result.code, 0, result.err)
    within(result.out, "left out   eigen: the library has no product for these options")

with test("a library whose set-up fails says so, and one whose Y is wrong fails the run"):
    refused(run(*FAST, "--kernel", "eigen", "-k", 1, "lap2d5:9", ranks=2, program=SPMM, env={"BROKEN": "1"}), 4,
            "eigen: it is broken")
    result = run(*FAST, "--kernel", "eigen", "-k", 1, "lap2d5:9", program=SPMM, env={"WRONG": "1"})
    equal(result.code, 1, result.err)
    equal((result.records[0]["error"]["passed"], result.records[0]["error"]["wrong"]), (False, 1))

finish()
