"""The command: exit codes, messages, options, records, faults.
limit: 600"""
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import signal
import struct
import subprocess
import tarfile
import time
import zipfile

from command import LINKED, PROGRAM, PROGRAMS, ROOT, ended, equal, finish, parts, patience, refused, run, scratch, test, verified, within

listed = [line.split() for line in run("--list-kernels", records=False).out.splitlines()]
CPU_KERNELS = sum(words[1:2] == ["cpu"] for words in listed)
PADDED = sum(words[1:3] == ["cpu", "ell"] for words in listed)

HEAD = "%%MatrixMarket matrix coordinate real general\n"
CPU = ("-d", "cpu")
FAST = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)

with test("plain mpirun from any folder runs on the built-in matrix and passes"):
    result = run("-d", "cpu", ranks=4, cwd=scratch("."))
    verified(result, "default", 1)
    within(result.out, "lap3d27:32")
    equal(result.out.splitlines()[-1], "PASS", "last line")
    equal(result.records[0]["matrix"]["nnz"], 94 ** 3, "entries")

with test("help, version, kernels and devices are told without a matrix, once, from any number of ranks"):
    for option, part in (("--help", "--columns LIST"), ("-h", "Usage: mpirun"), ("--version", "spmm_mpi 0."),
                         ("--list-kernels", "\ncpu_csr "), ("--list-devices", "cpu ")):
        for ranks in (1, 2):
            result = run(option, ranks=ranks, records=False)
            equal(result.code, 0, option)
            equal(result.out.count(part), 1, option)

with test("a usage error is exit code 2, one line and a hint"):
    for args, part in ((("--no-such",), "--no-such"), (("-k", "0"), "--columns 0"), (("-d", "gpu"), "auto, cpu, cuda"),
                       (("-g", "7x1"), "use 2x1"), (("-g", "2x2"), "2x1 or 1x2"), (("--plan-ranks", "4"), "--dry-run"),
                       (("-d", "cpu", "--transport", "nccl"), "host memory"), (("--kernel", "x"), "--list-kernels"),
                       (("lap3d7:0",), "lap3d7:N"), (("a", "b"), "more than one"), (("-o", "y", "-k", "1,2"), "--output")):
        result = run(*args, ranks=2, records=False)
        refused(result, 2, part, what=args)
        within(result.err, "see spmm_mpi --help")

# arguments of options that do not accept any number
VALUES = {"device": "cpu", "format": "csr", "kernel": "auto", "grid": "1x1", "partition": "nnz", "exchange": "halo", "reproducible": "on", "plan": "quick",
          "transport": "mpi", "reduce": "tree", "precision": "f64", "exchange-precision": "f64", "values": "exact", "verify": "none", "io": "root",
          "scatter": "direct", "scatter-format": "csr", "read-as": "edges", "layout": "series", "memory": "device",
          "steps": "mean", "operator": "sum", "sum": "tree", "column-blocks": "1", "block-size": "32", "x": "ones", "bound": "0", "plan-ranks": "1", "timeout": "60", "convert": scratch("a.npz"), "cache": scratch("b.npz")}
# options that only an action uses
ONLY_FOR = {"spmm_mpi": {"plan-ranks": "--dry-run", "ranks-per-node": "--dry-run"},
            "series_mpi": {"tolerance": "--accuracy", "verbose": "--accuracy and --sum"}}
for program in PROGRAMS:
    name = os.path.basename(program)
    with test(f"{name} refuses each option that an action does not use, and each action uses those that its man page lists"):
        everything = run("--help-all", program=program, records=False, launcher=["env"]).out
        rows = re.findall(r"^  (?:-\w,|   ) --([\w-]+)(?:\[?[ =](\S+))? {2,}(.*)", everything, re.M)
        argument = {option: [f"--{option}"] + ([VALUES.get(option, scratch(option) if kind == "FILE" else "2")] if kind and kind != "FILE]" else [])
                    for option, kind, _ in rows}
        page = (ROOT / f"docs/{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
        used = {action: re.findall(r"--([\w-]+)", words) for action, words in re.findall(r"^--([\w-]+) uses (--.*)\.$", page, re.M)}
        actions = [option for option, _, text in rows if text.endswith(", and end")]
        actions += ["sum"] if "sum" in argument else []
        ignoring = {"version", "help", "help-all"}
        assert set(used) < set(actions) and ignoring < set(actions) and len(rows) > 30, (used, actions)
        file = scratch("edges.txt" if name == "spmm_mpi" else "s.csv", "0 1\n1 2\n2 0\n" if name == "spmm_mpi" else "1,2,3\n4,5,7\n")
        for action in actions:
            if action in ignoring:
                continue
            for option in argument:
                if option == action or option in used.get(action, ()) or option in ignoring:
                    continue
                result = run(*argument[action], *argument[option], program=program, records=False, launcher=["env"])
                equal((result.code, len(result.error_lines()), result.out), (2, 1, ""), f"{action} {option}: {result.err}")
                # (if the option is an action, too, either may be performed)
                assert re.search(f"--({action} does not use --{option}|{option} does not use --{action}): remove one of them", result.err), result.err
            if "read-as" not in used.get(action, ()) and action != "sum":
                within(run(*argument[action], file, program=program, records=False, launcher=["env"]).err, f"--{action} does not use a ")
        for option, action in ONLY_FOR[name].items():
            within(run(*argument[option], program=program, records=False, launcher=["env"]).err, f"--{option} has an effect only with {action}: ")
        for action, options in used.items():
            words = [word for option in options if not option.startswith("block") for word in argument[option]]
            result = run(*argument[action], *words, *([file] if "read-as" in options else []), program=program, records=False, launcher=["env"])
            equal(result.code, 0, f"{action} {words}: {result.err}")

with test("more threads than a machine bears are refused before anything starts, from an option or OMP_NUM_THREADS"):
    for args, env, part in ((("-t", 100000), {}, "--threads 100000: expected 1 to "), (("-t", 40000), {}, "--threads 40000"),
                            ((), {"OMP_NUM_THREADS": "1000000"}, "OMP_NUM_THREADS=1000000: expected 1 to "),
                            ((), {"OMP_NUM_THREADS": "two"}, "OMP_NUM_THREADS=two: expected"),
                            (("-t", 3), {"OMP_THREAD_LIMIT": "2"}, "OMP_THREAD_LIMIT")):
        for program in PROGRAMS if args or "two" not in env.values() else (PROGRAM,):
            result = run("-d", "cpu", *args, *(("lap2d5:20",) if program == PROGRAM else ("-m", 9, "-n", 9)), ranks=2, env=env,
                         records=False, program=program)
            refused(result, 2, part, what=f"{args} {env}")
    verified(run("-d", "cpu", "-t", 2, "-r", 1, "lap2d5:20", env={"OMP_NUM_THREADS": "1000000"}), "an option comes first", 1)

with test("OMP_NUM_THREADS may be a list, and OMP_THREAD_LIMIT is heeded; more threads than cores are said"):
    for env, threads in (({"OMP_NUM_THREADS": "3,2"}, 3), ({"OMP_NUM_THREADS": "9", "OMP_THREAD_LIMIT": "2"}, 2)):
        result = run("-d", "cpu", "-r", 1, "lap2d5:20", env=env)
        verified(result, env, 1)
        equal(result.records[0]["run"]["threads"], threads, env)
    for program, args in zip(PROGRAMS, (("lap2d5:20",), ("-m", 9, "-n", 9))):
        out = run("-d", "cpu", "-r", 1, "-t", 1, *args, program=program, records=False).out
        cores = int(re.search(r" on (\d+) core", out)[1])
        for threads in (cores, cores + 1):
            out = run("-d", "cpu", "-r", 1, "-t", threads, *args, program=program, records=False).out
            equal(f"oversubscribed: {threads} threads" in out, threads > cores, out)

with test("-v says that a rank's threads span NUMA nodes, and on a machine with one node nothing of it"):
    if LINKED.exists() and "topology_hwloc.o" in LINKED.read_text():
        for nodes in (1, 2):  # synthetic topologies of hwloc; this machine's cores are among 0 to 63
            machine = {"HWLOC_SYNTHETIC": "numa:1 core:64 pu:1" if nodes == 1 else "numa:64 core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
            named = [f"{name}={value}" for name, value in machine.items()]
            out = run("-u", "HWLOC_COMPONENTS", *named, PROGRAM, "-v", "-d", "cpu", "-t", 2, "lap2d5:9", program="env", records=False).out
            cores = int(re.search(r" on (\d+) core", out)[1])
            equal("1 rank has threads on cores of several NUMA nodes" in out, nodes == 2 and cores > 1, out)

with test("a nonsense value of an environment variable is a usage error, on every rank and of one of them alone"):
    for name, value, part in (("SPMM_ISA", "sse9", "generic, avx2, avx512"), ("SPMM_TILE_EDGE", "-1", "from 1 to")):
        for program in PROGRAMS:
            result = run("-d", "cpu", ranks=2, env={name: value}, records=False, program=program)
            equal((result.code, len(result.error_lines()), result.out), (2, 1, ""), f"{name}: {result.err}")
            within(result.error_lines()[0], name)
            within(result.error_lines()[0], part)
    second = f'[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && export SPMM_ISA=sse9; exec "$@"'
    refused(run("-c", second, "sh", PROGRAM, "-d", "cpu", "lap2d5:9", ranks=2, records=False, program="sh"), 2, "rank 1: SPMM_ISA=sse9")

with test("what options, build, machine and file names show to fail is refused before the matrix is read or a line is printed"):
    here = scratch("here.mtx", HEAD + "1 1 1\n1 1 2\n")
    os.symlink(here, scratch("there.mtx"))
    folder = scratch("folder.npz")
    os.mkdir(folder)
    for args, code, part in ((("--transport", "nccl"), 2, "--transport nccl: "), (("--transport", "peer"), 2, "--transport peer: "),
                             (("--transport", "staged"), 2, "host memory"), (("--reduce", "nccl"), 2, "--reduce nccl: "),
                             (("--block-size", 64), 2, "--block-size is for CUDA"), (("--subwarp", 4), 2, "--subwarp is for CUDA"),
                             (("-f", "panel"), 2, "--format panel"), (("-f", "sell", "--kernel", "all"), 2, "--format sell"),
                             (("-k", "64,1", "--column-blocks", 2), 2, "--column-blocks 2 of 1 columns"),
                             (("-o", "/no/such/y"), 4, "/no/such/y: cannot write"), (("--cache", "/no/such/c.npz"), 4, "/no/such/c.npz"),
                             (("-o", scratch(".")), 4, "found a folder"), (("--cache", folder), 4, "expected a file"),
                             (("-x", "/no/such/x"), 3, "/no/such/x: cannot be opened"),
                             (("--json", scratch("j"), "--csv", scratch("j")), 2, "--json and --csv name the same file"),
                             (("--csv", scratch("there.mtx"), here), 2, "the matrix and --csv name the same file"),
                             (("-o", scratch("y.mtx"), "--cache", scratch("y.mtx")), 2, "--cache and --output name the same file"),
                             (("--dry-run", "-g", "3x3"), 2, "add --plan-ranks 9")):
        result = run(*CPU, *args, *(() if here in args[2:3] else ("lap2d5:9",)), ranks=2, records="--csv" not in args)
        equal((result.code, result.out), (code, ""), f"{args}: {result.err}")
        equal(len(result.error_lines()), 1, f"{args}: {result.err}")
        within(result.error_lines()[0], part)
    equal(open(here).read(), HEAD + "1 1 1\n1 1 2\n", "an input that was named as an output")
    verified(run(*FAST, "--json", "/dev/null", "--csv", "/dev/null", "lap2d5:9"), "devices may be shared")
    planned = run(*CPU, "--dry-run", "-g", "3x3", "--plan-ranks", "4,9", "lap2d5:9", records=False)
    equal((planned.code, "3x3" in planned.out), (0, True), planned.err)
    planned = run(*CPU, "--dry-run", "--plan-ranks", 1000, "lap3d27:1000", records=False)
    equal((planned.code, "1999997992" in planned.out), (0, True), f"27e9 entries without memory for them: {planned.err}")

with test("the line errors holds relative errors against the machine epsilon, and counts elements beyond the bound"):
    for precision, epsilon in (("f64", 2.2204460492503131e-16), ("f32", 2.0 ** -23)):
        result = run(*FAST, "-v", "-g", "1x2", "-p", precision, "-k", 8, ROOT / "matrices/cage9.mtx.gz", ranks=2)
        verified(result, precision, 1)
        error = result.records[0]["error"]
        within(result.out, f"machine epsilon of {precision}: {epsilon:.17g}, unit round-off: half of it")
        found = re.search(r"largest relative (\S+), (\S+) times epsilon; mean (\S+), (\S+) times$", result.out, re.M)
        assert found and error["max_relative"] > 0, result.out
        for text, value in zip(found.groups(), (error["max_relative"], error["max_relative"] / epsilon,
                                                error["mean_relative"], error["mean_relative"] / epsilon)):
            assert abs(float(text) - value) <= 0.01 * value, f"{text}: {value}"
        within(result.out, f"{error['wrong']} of {error['checked']} elements; bits: differ")
    within(run(*FAST, "-v", "--verify", "none", "lap2d5:9").out, "errors     not verified; machine epsilon of f64")

with test("without a GPU only MPI is there for X to travel by"):
    result = run("--list-devices", records=False)
    words = dict(re.findall(r"^transport (\S+) +(\w+)", result.out, re.M))
    equal(set(words), {"mpi", "staged", "cuda-aware", "nccl", "peer"}, result.out)
    equal(words["mpi"], "available", result.out)
    if "cuda    none" in result.out:
        equal({words[name] for name in words if name != "mpi"}, {"missing"}, result.out)
    else:
        equal((words["staged"], words["peer"]), ("available", "available"), result.out)

with test("a matrix that is neither a file nor a generator is refused"):
    for name in ("lap3d7", "lap3d8:10", "Band:9,3,5"):
        refused(run(*FAST, name, records=False), 3, f"{name}: no such file, and no such generator: --help lists the generators", what=name)
    for name in ("lap3d7.mtx", "no/lap3d7"):
        result = run(*FAST, name, records=False)
        equal(result.code, 3, name)
        within(result.error_lines()[0], f"{name}: cannot be opened")

good = HEAD + "2 3 2\n1 1 1\n2 3 2.5\n"
wrong_inputs = {
    "no file": (None, "No such file"),
    "empty": ("", "empty"),
    "complex": (good.replace("real", "complex"), "complex"),
    "lying count": (HEAD + "2 3 4000000000000\n1 1 1\n", "of 4000000000000"),
    "column beyond": (HEAD + "2 3 2\n1 1 1\n1 4 1\n", ":4"),
    "nan": (HEAD + "2 3 1\n1 1 nan\n", "--allow-nonfinite"),
    "both triangles": (HEAD.replace("general", "symmetric") + "2 2 2\n1 2 3\n2 1 3\n", ":4"),
    "truncated gzip": (gzip.compress(good.encode() * 50)[:-30], ""),
}
with test("a wrong input is one line with file and line, on 1 and on 3 ranks, and exit code 3"):
    for name, (text, part) in wrong_inputs.items():
        path = scratch(name.replace(" ", "_") + ".mtx", text)
        for ranks in (1, 3):
            result = run(*FAST, path, ranks=ranks)
            refused(result, 3, os.path.basename(path), part, what=name)
            equal(result.records, [], name)

def packed(write):
    """The bytes that `write` writes to a file object."""
    f = io.BytesIO()
    write(f)
    return f.getvalue()


def tarred(names, mode="w:gz"):
    """A tar archive of these files, which all hold the matrix."""
    def write(f):
        with tarfile.open(fileobj=f, mode=mode, format=tarfile.USTAR_FORMAT) as t:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.size = len(good)
                t.addfile(entry, io.BytesIO(good.encode()))
    return packed(write)


def zipped(f):
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("here.mtx", good)


def npz(f):
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("indices.npy", b"")
        z.writestr("data.npy", b"")


scratch("here.mtx", good)
foreign = {           "lzma": (lzma.compress(good.encode(), lzma.FORMAT_ALONE), "found lzma data", "lzma"),
           "zip": (packed(zipped), "found a zip archive", "unzip"), "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(60), "found a 7z archive", "7z x"),
           "twice.gz": (gzip.compress(gzip.compress(good.encode())), "found gzip data inside gzip data", "gunzip -k FILE"),
           "xz.gz": (gzip.compress(lzma.compress(good.encode())), "found xz data inside gzip data", "gunzip -k FILE"),
           "h5": (b"\x89HDF\r\n\x1a\n" + bytes(600), "found HDF5 data", "h5py.File"),
           "mat": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + bytes(90), "found a MATLAB file", "loadmat"),
           "v4.mat": (struct.pack("<5i", 0, 9, 9, 0, 2) + b"A\0" + bytes(648), "found a MATLAB file", "loadmat"),
           "npz.gz": (gzip.compress(packed(npz)), "found a .npz file of SciPy", "load_npz"),
           "lfs": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 42\n", "found a Git LFS pointer", "git lfs pull"),
           "json": ('{"message": "Not Found"}\n', "found JSON", "download"),
           "swapped": (struct.pack("<4i", 1211216, 2, 2, 2) + bytes(40), "found a byte-swapped PETSc matrix", "big-endian"),
           "npy": (b"\x93NUMPY\x01\x00v\x00{'descr'", "found a NumPy array", "mmwrite"),
           "utf16": (good.encode("utf-16"), "found UTF-16 text", "iconv"), "html": ("<!DOCTYPE html>\n<html>", "found a web page", "download")}
with test("a file that is no text is named by its first bytes, with what to do, as matrix, as X and as series"):
    for name, (data, what, do) in foreign.items():
        path = scratch("matrix.mtx", data)  # its name does not matter
        ways = [(PROGRAM, (path,)), (PROGRAM, ("-x", path, "lap2d5:9")), (PROGRAM, ("--io", "parallel", path)),
                *((program, (path,)) for program in PROGRAMS[1:])]
        for program, args in ways if name in ("lzma", "xz.gz") else ways[:1]:
            result = run(*CPU, *args, ranks=2 if "--io" in args else 1, program=program)
            # --io parallel reads after the report has begun
            began = result.out if "--io" in args else ""
            equal((result.code, len(result.error_lines()), result.out), (3, 1, began), f"{name} {args}: {result.err}")
            for part in (path, what, do):
                within(result.error_lines()[0], part)

reads_xz = run(*FAST, scratch("plain.mtx", lzma.compress(good.encode()))).code == 0
with test("of a tar archive the matrix D/D.mtx is read; two are named, and damage is found"):
    for data, expected in ((tarred(["a/b_b.mtx", "a/readme", "x/b/b.mtx", "b/b_c.mtx", "bb/b.mtx"]), ""), (tarred(["long" * 30 + "/b/b.mtx"], "w"), ""),
                           (tarred(["b/b_b.mtx", "b/b.mtx"], "w:xz"), "" if reads_xz else "found xz data"),
                           (tarred(["b/b.mtx", "d/c.mtx", "c/c.mtx"]), "with b/b.mtx and c/c.mtx, expected one matrix: unpack it first (tar -xf FILE)"),
                           (tarred(["b.txt", "b.mtx", "/.mtx", ".mtx"]), "expected a matrix NAME/NAME.mtx in it: unpack it first (tar -xf FILE)"),
                           (tarred(["b/b.mtx"], "w")[:600], "damaged or cut short"), (tarred(["b/c", "b/b.mtx"], "w")[:1100], "damaged or cut short")):
        path = scratch("matrix.tar", data)
        result = run("--convert", scratch("out.mtx"), path)
        equal((result.code, len(result.error_lines())), (3, 1) if expected else (0, 0), f"{expected}: {result.err}")
        if expected:
            within(result.error_lines()[0], expected)
        else:
            run("--convert", scratch("same.mtx"), scratch("here.mtx"))
            equal(open(scratch("out.mtx")).read(), open(scratch("same.mtx")).read(), "the matrix of the archive")
    result = run(*CPU, "--io", "parallel", scratch("matrix.tar", tarred(["b/b.mtx"], "w")), ranks=2)
    equal((result.code, len(result.error_lines())), (3, 1), result.err)
    within(result.error_lines()[0], "let one rank read it (--io root)")

with test("an address and a name of the collection are told from a file that is not there"):
    for path, expected in (("https://example.org/A.mtx", "it is an address: matrices/get GROUP/NAME downloads a matrix of the SuiteSparse collection"),
                           (scratch("packed.mtx.gz", gzip.compress(good.encode()))[:-3], "(there is "),
                           ("HB/west0479", "matrices/get GROUP/NAME downloads it"), ("HB/west0479.mtx", "")):
        result = run(*CPU, path)
        refused(result, 3, expected, what=path)
        assert expected or result.error_lines()[0].endswith("No such file or directory"), result.err

with test("a kernel of GPUs is refused by a build without CUDA, with what to do"):
    if "this build was made without CUDA" in run("--list-devices", records=False).out:
        refused(run("--kernel", "csr_rows", "lap2d5:9", ranks=2), 4, "--kernel csr_rows runs on GPUs", "make CUDA=1")

with test("xz is read as matrix, as X and as series where the build has liblzma, else it is named with what to do; parts of it are not"):
    path = scratch("plain.mtx", lzma.compress(good.encode()))
    result = run(*FAST, path)
    if not reads_xz:
        within(result.err, "found xz data, which this build cannot read, expected text, plain or compressed by gzip")
        within(result.err, "unpack it first (unxz -k FILE), or build with liblzma (liblzma-dev)")
    x = scratch("x.mtx", lzma.compress(b"%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n"))
    equal(run(*FAST, "-x", x, scratch("here.mtx", good)).code, 0 if reads_xz else 3)
    for program in PROGRAMS[1:]:
        series = scratch("series.csv", lzma.compress(b"1,2,4\n2,1,7\n"))
        equal(run(*CPU, series, program=program).code, 0 if reads_xz else 3)
    result = run(*CPU, "--io", "parallel", path, ranks=2)
    refused(result, 3, "is compressed by xz, and ranks cannot read parts of it: unpack it first (unxz -k FILE)" if reads_xz else "found xz data")
    for short in (b"\xfd7zXZ", b"\xfd7zXZ\0"):
        equal(run(*FAST, scratch("short.mtx", short)).code, 3, short)
with test("bzip2 is read where the build has libbz2, else it is named with what to do"):
    result = run(*FAST, scratch("plain.mtx", bz2.compress(good.encode())))
    linked = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    equal(result.code, 0 if "libbz2" in linked else 3, result.err)
    if result.code != 0:
        within(result.err, "unpack it first (bzip2 -dk FILE), or build with libbz2 (libbz2-dev)")
with test("a file of a byte or two is looked at, too"):
    for short in (b"\x1f", b"\x1f\x8b", b"%", b"P"):
        equal(run(*FAST, scratch("short.mtx", short)).code, 3, short)

with test("a pipe is refused with the reason and what to do, as is the standard input; an empty name is shown"):
    fifo = scratch("fifo.mtx")
    os.mkfifo(fifo)
    for args in ((fifo,), ("-x", fifo, "lap2d5:9"), ("/dev/fd/63",)):
        result = run(*FAST, *args, records=False)
        refused(result, 3, "found a pipe or a device, expected a regular file, which threads read at several places",
                "write the text to a file first", what=args)
    for program in PROGRAMS:
        result = run(*CPU, "-", program=program, records=False)
        equal(result.code, 3, result.err)
        within(result.error_lines()[0], "-: no such file, and the standard input is not read")
        result = run(*CPU, "", program=program, records=False)
        equal(result.code, 3, result.err)
        within(result.error_lines()[0], 'error: "": cannot be opened')

with test("a folder is no matrix, and an unreadable or missing X is exit code 3 too"):
    for args in ((str(ROOT),), ("-x", "/no/such/x", "lap2d5:5"), ("-x", scratch("x5.mtx", good), "lap2d5:5")):
        refused(run(*FAST, *args, ranks=2), 3, what=args)

with test("duplicates are summed, and said"):
    result = run(*FAST, scratch("d.mtx", HEAD + "3 3 4\n2 2 1\n1 1 5\n2 2 2\n2 2 -7\n"), ranks=2)
    within(result.out, "2 duplicate entries were summed")
    equal(result.records[0]["matrix"]["nnz"], 2)

with test("inf and nan are taken with --allow-nonfinite, and the product agrees"):
    path = scratch("inf.mtx", HEAD + "3 3 3\n1 1 inf\n2 2 nan\n3 3 1\n")
    for kernel in (words[0] for words in listed if words[1:2] == ["cpu"] and words[3] == "yes"):
        verified(run(*FAST, "--allow-nonfinite", "--kernel", kernel, path, ranks=2), kernel, 1)

with test("inf and nan in an .npz are refused and taken as those of a text are, whoever reads it"):
    cache = scratch("inf.npz")
    run(*FAST, "--allow-nonfinite", "--cache", cache, path)
    for ranks, options in ((1, ()), (3, ()), (1, ("--io", "parallel")), (3, ("--io", "parallel")),
                           (2, ("--io", "parallel", "-g", "1x2"))):
        result = run(*FAST, *options, cache, ranks=ranks)
        refused(result, 3, 'inf.npz: found "inf" in row 1, column 1, expected a finite value (or --allow-nonfinite)', what=f"{ranks} {options}")
        verified(run(*FAST, "--allow-nonfinite", *options, cache, ranks=ranks), f"{ranks} {options}", 1)

with test("messages of a few bytes take time in proportion: 1.8 MB of X in messages that shall have 8 bytes"):
    for args in (("--exchange", "bcast"), ("--exchange", "halo"), ("-g", "1x3"), ("--exchange", "joint")):
        verified(run(*FAST, "-k", 4, "--transport", "mpi", *args, "lap2d5:240", ranks=3, limit=25,
                     env={"SPMM_CHUNK_BYTES": "8"}), args, 1)

with test("stacks of threads that are too small, or cannot be had, are exit code 2 and a line, and not a failed verification"):
    for value, part in (("16k", "expected at least 256K"), ("40", "expected at least 256K"), ("65536B", "expected at least 256K"),
                        ("100000G", "cannot start 3 threads"), (" 8 M ", ""), ("512", ""), ("odd", ""), ("", "")):
        for ranks in (1, 2):
            result = run("-d", "cpu", "-r", 1, "-t", 3, "lap2d5:30", ranks=ranks, env={"OMP_STACKSIZE": value})
            equal((result.code, len(result.error_lines())), (2, 1) if part else (0, 0), f"{value}: {result.err}")
            within("".join(result.error_lines()), part)
    within(run("-d", "cpu", "-t", 2, "lap2d5:9", env={"GOMP_STACKSIZE": "16k"}).err, "error: GOMP_STACKSIZE=16k: expected at least 256K")
    verified(run("-d", "cpu", "-r", 1, "-t", 1, "lap2d5:9", env={"OMP_STACKSIZE": "16k"}), "one thread has the process's stack", 1)

with test("ones, index and a seed make X, and X may come from a file"):
    rows = {}
    for spec in ("ones", "index", "uniform:7", "uniform:8"):
        path = scratch("y.mtx")
        verified(run(*FAST, "-k", 2, "-x", spec, "-o", path, "lap2d5:6", ranks=2), spec, 1)
        rows[spec] = open(path).read()
    equal(len(set(rows.values())), 4, "different X, different Y")
    equal(rows["ones"].splitlines()[2:5], ["2", "1", "1"], "row sums of the 5-point stencil")
    x = scratch("x.mtx", "%%MatrixMarket matrix array real general\n36 2\n" + "1\n" * 72)
    path = scratch("y2.mtx")
    verified(run(*FAST, "-x", x, "-o", path, "lap2d5:6", ranks=3), "file", 1)
    equal(open(path).read(), rows["ones"], "X of ones from a file")
    result = run(*FAST, "-k", 3, "-x", x, "lap2d5:6")
    equal(result.code, 2, "K unlike the file's")

STOPPED = "did not answer for 1 s (--timeout): stopped, or lost with its node"
with test("with --timeout a rank that is stopped ends the job, and is named, wherever it stops; without, nothing changes"):
    for stage, rank in (("read", 2), ("apply", 0), ("apply", 1), ("report", 1)):
        start = time.monotonic()
        result = run(*FAST, "--timeout", 1, "lap2d5:20", ranks=3, env={"SPMM_FAULT": f"{stage}:{rank}:stop"}, limit=20)
        ended(result, 4)
        assert time.monotonic() - start < patience(10), "took too long"
        within(result.error_lines()[0], f"rank {rank} (on ")
        within(result.error_lines()[0], STOPPED)
    verified(run(*FAST, "--timeout", 1, "lap2d5:20", ranks=3), "nothing stopped", 1)
    verified(run(*FAST, "--timeout", 1, "lap2d5:20", ranks=1), "one rank", 1)
    result = run(*FAST, "--timeout", 1, "-k", "0", "lap2d5:20", ranks=2, records=False)
    equal(result.code, 2, "a usage error beside it")

with test("ranks that compute for longer than --timeout are not taken for stopped ones"):
    took, repeat = 0, 20
    while took < 2:
        start, repeat = time.monotonic(), 2 * repeat
        result = run("-d", "cpu", "-t", 1, "-k", 64, "-r", repeat, "--timeout", 1, "lap3d27:40", ranks=2)
        took = time.monotonic() - start
        verified(result, "a long run", 1)

with test("a sample is verified instead of all, over every block"):
    result = run(*FAST, "--verify", "sample", "lap3d7:20", ranks=3)
    verified(result, "sample", 1)
    checked = result.records[0]["error"]["checked"] // 64
    assert 990 <= checked <= 1003, checked
    result = run(*FAST, "--verify", "sample", "-o", scratch("y.mtx"), "lap2d5:5", ranks=3)
    verified(result, "sample of few rows", 1)
    equal(result.records[0]["error"]["checked"], 25 * 64)
    for matrix, ranks in (("uniform:100,3", 1), ("uniform:161,3", 2), ("uniform:901,3", 1), ("uniform:1000,3", 3)):
        result = run(*FAST, "--verify", "sample", matrix, ranks=ranks)
        verified(result, f"every row of {matrix}", 1)
        equal(result.records[0]["error"]["checked"], int(matrix[8:-2]) * result.records[0]["run"]["k"], matrix)

with test("without verifying nothing claims to be verified"):
    result = run(*FAST, "--verify", "none", "lap2d5:9", ranks=2)
    equal(result.code, 0)
    assert "PASS" not in result.out and "not verified" in result.out, result.out
    equal(result.records[0]["error"]["passed"], False)
    equal(result.records[0]["error"]["max_relative"], None)

with test("one wrong element of Y fails the run: exit code 1, FAIL, the element named"):
    for ranks in (1, 3):
        result = run(*FAST, "lap2d5:9", ranks=ranks, env={"SPMM_FAULT": f"apply:{ranks - 1}:wrong"})
        equal(result.code, 1, result.err)
        equal(result.out.splitlines()[-1], "FAIL")
        within(result.out, "first wrong: Y(")
        equal((result.records[0]["error"]["wrong"], result.records[0]["error"]["passed"]), (1, False))
    result = run(*FAST, "--verify", "sample", "lap3d7:20", ranks=3, env={"SPMM_FAULT": "apply:1:wrong"})
    equal(result.code, 1, "in a sample: " + result.err)

# every stage at which spmm_mpi's ranks agree, except in functions that the program does not call; and the
# options for the stages that a run without options does not reach
UNCALLED = ("nccl_found", "block_from_rows", "diagonal", "values_gradient")
STAGES = sorted({name for file in (ROOT / "src").rglob("*.c") if file.stem not in UNCALLED and file.parent.name != "series_mpi"
                 for name in re.findall(r'sp_agree\([^,;]+,\s*"(\w+)"', file.read_text())})
LEADS_TO = {"sample": ("--verify", "sample"), "grid": ("-g", "auto"), "bandwidth": ("-v",), "probe": ("--probe",),
            "conversions": ("--check-conversions",), "reduce": ("-g", "1x3"),
            "load": ("--io", "parallel"), "watch": ("--timeout", 9)}
assert len(STAGES) >= 20 and set(LEADS_TO) <= set(STAGES), STAGES
# stages that a run on one rank does not reach
SHARED = ("exchange", "reduce", "watch")
# stages at which Y may have been written
WRITTEN = ("output", "verify", "report")


def fault(stage, rank, ranks, path, kind=""):
    """A run that writes Y and a record, and in which that rank fails at that stage."""
    return run(*CPU, *(() if stage == "conversions" else ("-r", 2, "-o", path)), *LEADS_TO.get(stage, ()),
               ROOT / "matrices/cage4.mtx" if stage == "load" else "lap2d5:9", ranks=ranks, limit=30,
               env={"SPMM_FAULT": f"{stage}:{rank}{kind}"})


with test("a rank that fails at any stage ends the job with exit code 4 and one message, and no output file"):
    for stage in STAGES:
        for ranks, bad in ((1, 0), (3, 2)):
            if ranks == 1 and stage in SHARED:
                continue
            path = scratch("fault.mtx")
            result = fault(stage, bad, ranks, path)
            refused(result, 4, f"stage {stage}", what=stage)
            assert "PASS" not in result.out, stage
            assert stage in WRITTEN or not os.path.exists(path), f"{stage} left a file"
            if os.path.exists(path):
                os.remove(path)

def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


with test("a rank that is killed at any stage ends the job at once, with a code that is not 0 and nothing half written"):
    path = scratch("killed.mtx")
    run(*FAST, "-o", path, "lap2d5:9")
    whole = open(path).read()
    for stage in STAGES:
        for bad in (0, 2):
            for old in [*parts(path), *([path] if os.path.exists(path) else [])]:
                os.remove(old)
            start = time.monotonic()
            result = fault(stage, bad, 3, path, ":kill")  # (it raises if a record is incomplete)
            assert time.monotonic() - start < patience(10), f"{stage}:{bad}"
            assert result.code != 0 and "PASS" not in result.out, f"{stage}:{bad}"
            equal(result.error_lines(), [], f"{stage}:{bad}")  # it was killed, and reported no error
            if os.path.exists(path):
                assert stage in WRITTEN and open(path).read() == whole, f"{stage}:{bad} left a file"
            # (while the other one dies, rank 0 may be writing, or creating the empty file by which it checks
            # that the folder is writable)
            left = parts(path) if stage != "ready" else [part for part in parts(path) if size_of(part)]
            assert stage == "output" or not left, f"{stage}:{bad} left {left}"

with test("a program that is killed while it writes Y leaves the older file as it was, and nothing else if it may"):
    for sent in (signal.SIGKILL, signal.SIGTERM):
        path = scratch("older.mtx", "older")
        job = subprocess.Popen([PROGRAM, *map(str, FAST), "-k", "16", "--verify", "none", "-o", path, "lap2d5:500"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # (an empty one exists for a moment, when the program checks that the folder is writable)
        while job.poll() is None and not any(size_of(part) for part in parts(path)):
            time.sleep(0.005)
        job.send_signal(sent)
        equal(job.wait(), -sent, "it had not ended")
        equal(open(path).read(), "older", "the older file")
        equal(len(parts(path)), sent == signal.SIGKILL, f"{sent.name}: what is left")
        for part in parts(path):
            os.remove(part)

with test("an output that cannot be written is exit code 4 and names the file, before the work where that can be known"):
    for option in ("--json", "--csv", "-o"):
        result = run(*FAST, option, "/dev/full", "lap2d5:50", ranks=2)
        equal(result.code, 4, f"{option} {result.err}")
        within(result.error_lines()[0], "/dev/full")
    for args in (("--json",), ("--csv",), ("-o",), ("--cache",), ("--io", "parallel", "-o")):
        path = scratch("missing/file.npz")
        # (the matrix is invalid, too, but that would be found later)
        result = run(*FAST, *args, path, scratch("broken.mtx", "no matrix"), ranks=2, records=False)
        equal(result.code, 4, f"{args} {result.err}")
        equal((len(result.error_lines()), result.out), (1, ""), f"{args} {result.err}")
        within(result.error_lines()[0], path)
    with open("/dev/full", "w") as full:
        result = subprocess.run([PROGRAM, *map(str, FAST), "lap2d5:9"], stdout=full, stderr=subprocess.PIPE, text=True,
                                timeout=patience(60))
        equal(result.returncode, 4, "stdout on a full disk: " + result.stderr)

with test("a matrix that cannot be read leaves no output, and older ones as they were"):
    names = [scratch(f"kept.{n}.mtx") for n in range(4)]
    options = [word for pair in zip(("-o", "--cache", "--json", "--csv"), names) for word in pair]
    broken = scratch("broken.mtx", "no matrix")
    equal(run(*FAST, *options, broken).code, 3)
    equal([os.path.exists(name) for name in names], [False] * 4)
    for name in names:
        scratch(os.path.basename(name), "older\n")
    equal(run(*FAST, *options, broken).code, 3)
    equal([open(name).read() for name in names], ["older\n"] * 4)

with test("a file's name that is no UTF-8 comes into records that are"):
    name = os.path.join(os.fsencode(scratch("")), b"odd\xff\xc3(\xed\xa0\x80\xc3\xbc.mtx")
    with open(name, "w") as f:
        f.write(HEAD + "1 1 1\n1 1 1\n")
    records, table = scratch("odd.jsonl"), scratch("odd.csv")
    done = subprocess.run([PROGRAM, "-q", "-d", "cpu", "-r", "1", "--json", records, "--csv", table, name], timeout=patience(60),
                          capture_output=True, check=True)
    expected = "odd\\xff\\xc3(\\xed\\xa0\\x80\u00fc.mtx"
    with open(records, encoding="utf-8") as f:
        equal(os.path.basename(json.load(f)["matrix"]["source"]), expected)
    with open(table, encoding="utf-8", newline="") as f:
        equal(os.path.basename(list(csv.DictReader(f))[0]["matrix.source"]), expected)

with test("X that no memory holds is exit code 4 with the figure, on every rank, before anything is touched"):
    for ranks in (1, 3):
        result = run("-d", "cpu", "-k", 16777216, "lap2d5:1000", ranks=ranks)
        refused(result, 4)
        assert re.search(r"cannot allocate [0-9.]+ TB for a multivector", result.error_lines()[0]), result.err

with test("padded ELLPACK beyond the limit is refused with the figure and the alternative, or left out of all"):
    result = run(*FAST, "-f", "ell", "longrows:2000,2,1,1500", ranks=2)
    equal(result.code, 4, result.err)
    within(result.error_lines()[0], "ell-nopad")
    result = run(*FAST, "--kernel", "all", "longrows:2000,2,1,1500", ranks=2)
    verified(result, "all", CPU_KERNELS - PADDED)
    within(result.out, "left out")

with test("a record has every field, numbers that fit together, and the CSV the same ones under one header"):
    table = scratch("records.csv")
    result = run("-d", "cpu", "-k", "1,8", "-r", 5, "-t", 2, "--csv", table, "lap3d7:12", ranks=2)
    verified(result, "record", 2)
    run("-d", "cpu", "-k", 4, "-r", 5, "--csv", table, "lap3d7:12", ranks=1)
    r = result.records[1]
    for group, fields in {"matrix": "source rows cols nnz field symmetry",
                          "run": "ranks grid device threads format kernel precision k partition exchange transport repeat",
                          "seconds": "read partition scatter convert exchange kernel apply gather verify total",
                          "apply": "n median mean stddev variance min max median_low median_high",
                          "error": "max_relative mean_relative wrong passed",
                          "memory": "root_peak_bytes rank_peak_bytes"}.items():
        for field in fields.split():
            assert field in r[group], f"{group}.{field}"
    equal((r["run"]["grid"], r["run"]["ranks"], r["run"]["k"], r["run"]["threads"], r["apply"]["n"]), ([2, 1], 2, 8, 2, 5))
    a = r["apply"]
    assert 0 < a["min"] <= a["median"] <= a["max"] and a["min"] <= a["mean"] <= a["max"], a
    assert abs(r["gflops"] - 2e-9 * r["matrix"]["nnz"] * 8 / a["median"]) < 1e-6 * r["gflops"], r["gflops"]
    assert 1 <= r["imbalance"] < 1.1, r["imbalance"]
    assert sum(r["seconds"][p] for p in ("read", "scatter", "gather", "verify")) <= r["seconds"]["total"], r["seconds"]
    rows = list(csv.DictReader(open(table)))
    equal([row["run.k"] for row in rows], ["1", "8", "4"], "rows of the CSV")
    equal(r["probe"], {"latency_seconds": None, "seconds_per_byte": None, "seconds_per_flop": None}, "not asked for")

with test("--probe finds what a message, a byte and an operation take"):
    for ranks in (1, 3):
        p = run("-d", "cpu", "-k", 4, "--probe", "lap3d7:12", ranks=ranks).records[0]
        assert p["copy_bytes_per_second"] > 1e8 and 1e-12 < p["probe"]["seconds_per_flop"] < 1e-6, p["probe"]
        if ranks == 1:
            equal(p["probe"]["latency_seconds"], None)
        else:
            assert 1e-9 < p["probe"]["latency_seconds"] < 1 and 1e-13 < p["probe"]["seconds_per_byte"] < 1e-3, p["probe"]
    equal(rows[1]["matrix.nnz"], str(r["matrix"]["nnz"]))
    equal(float(rows[1]["apply.median"]), a["median"])

with test("the report has one row per rank when verbose, and only the verdict when quiet"):
    result = run(*FAST, "-v", "lap2d5:9", ranks=3)
    for rank in range(3):
        within(result.out, f"\n  {rank:4d}  ")
    result = run(*FAST, "-q", "lap2d5:9", ranks=3)
    equal(result.out, "PASS\n")

with test("reading and scattering keep rank 0 within 2.2 times the CSR"):
    lines = "".join(f"{i % 100000 + 1} {(i * 7919 + i // 100000 * 31) % 100000 + 1} {i % 977 / 16}\n" for i in range(2500000))
    big = scratch("big.mtx", HEAD + "100000 100000 2500000\n" + lines)
    del lines
    idle = run(*FAST, "-k", 1, "lap2d5:2", ranks=2).records[0]["memory"]["load_peak_bytes"]
    for ranks in (1, 2):
        r = run(*FAST, "-k", 1, "--verify", "none", big, ranks=ranks).records[0]
        csr = 12 * r["matrix"]["nnz"] + 8 * (r["matrix"]["rows"] + 1)
        ratio = (r["memory"]["load_peak_bytes"] - idle) / csr
        assert 1 <= ratio <= 2.2, f"{ranks} ranks: {ratio:.2f} times the CSR of {csr} bytes"
    os.remove(big)
finish()
