"""Outputs of both programs: none replaces an input, the name selects the format, "-" is the standard output.
limit: 300"""
import csv
import gzip
import json
import os
import shlex
import subprocess

from command import NO_SERIES, PROGRAM, ROOT, SERIES, equal, finish, patience, run, scratch, skip, test, verified, within

FAST = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1)
HEAD = "%%MatrixMarket matrix coordinate real general\n"
ARRAY = "%%MatrixMarket matrix array real general\n"
MATRIX, VECTOR = HEAD + "3 3 3\n1 1 1\n2 2 2\n3 1 4\n", ARRAY + "3 1\n1\n2\n3\n"


def content(path):
    with open(path, "rb") as f:
        return f.read()


def names_of(path):
    """Names of the file: its own, a longer one, a symbolic link, a link to that, and a hard link."""
    base = os.path.basename(path)
    for made, how in ((f"soft-{base}", os.symlink), (f"hard-{base}", os.link)):
        if not os.path.lexists(scratch(made)):
            how(path, scratch(made))
    if not os.path.lexists(scratch(f"twice-{base}")):
        os.symlink(scratch(f"soft-{base}"), scratch(f"twice-{base}"))
    return [path, os.path.join(os.path.dirname(path), ".", base), scratch(f"soft-{base}"), scratch(f"twice-{base}"),
            scratch(f"hard-{base}")]


def kept(path, *args, **options):
    """Checks that the run is refused with one line before it begins, and that the file is unchanged."""
    before = content(path)
    result = run(*args, records=False, **options)
    equal((result.code, result.out, len(result.error_lines())), (2, "", 1), f"{args}: {result.err}")
    within(result.error_lines()[0], " name the same file, ")
    assert content(path) == before, f"{args} changed {path}"


with test("an output that names the matrix or X, by any name, is refused, and the file stays as it was"):
    matrix, vector = scratch("A.mtx", MATRIX), scratch("X.mtx", VECTOR)
    for flag in ("-o", "--cache", "--json", "--csv"):
        for name in names_of(matrix):
            kept(matrix, *FAST, "-k", 1, flag, name, matrix)
        for name in names_of(vector):
            kept(vector, *FAST, "-x", vector, flag, name, matrix)
    kept(matrix, *FAST, "-o", "A.mtx", "./A.mtx", cwd=scratch("."))

with test("the same on two ranks, with --io parallel, and with a matrix that is read by a link or is compressed"):
    packed = scratch("A.mtx.gz", gzip.compress(MATRIX.encode()))
    for ranks in (2, 3):
        kept(matrix, *FAST, "-o", matrix, matrix, ranks=ranks)
        kept(matrix, *FAST, "--io", "parallel", "-o", matrix, scratch("soft-A.mtx"), ranks=ranks)
        kept(packed, *FAST, "-o", packed, packed, ranks=ranks)
        kept(vector, *FAST, "-x", scratch("hard-X.mtx"), "--cache", vector, matrix, ranks=ranks)
    cached = scratch("A.npz")
    equal(run(*FAST, "--cache", cached, matrix).code, 0)
    kept(cached, *FAST, "--cache", cached, cached)
    kept(cached, *FAST, "-o", cached, cached)

with test("a standard stream that leads to an input is refused"):
    for name in ("/dev/stdout", "-"):
        before = content(matrix)
        with open(matrix, "ab") as stdout:
            done = subprocess.run([PROGRAM, "-q", "-d", "cpu", "-o", name, matrix], stdout=stdout,
                                  stderr=subprocess.PIPE, text=True, timeout=patience(60), check=False)
        equal((done.returncode, content(matrix)), (2, before), done.stderr)

with test("series_mpi refuses it, too"):
    if NO_SERIES:
        skip("series_mpi", NO_SERIES)
    else:
        series = scratch("series.csv", "".join(f"{i},{i * i},{i + 3},{7 - i}\n" for i in range(1, 9)))
        for flag in ("-o", "--json", "--csv"):
            for name in names_of(series):
                kept(series, "-d", "cpu", "-t", 1, "-r", 1, flag, name, series, program=SERIES)

ODD = "odd\x1b[31m\n\a\u009b.mtx"
SHOWN = "odd\\x1B[31m\\x0A\\x07\\xC2\\x9B.mtx"  # that name in lines of the report

with test("names are printed without control characters, in every line that has one"):
    odd = scratch(ODD, MATRIX)
    result = run(*FAST, "-v", "--cache", scratch(ODD + ".npz"), odd, records=False)
    equal((result.code, [c for c in result.out + result.err if c < " " and c != "\n" or "\x7f" <= c < "\xa0"]), (0, []))
    within(result.out, f'cache      "{scratch(SHOWN)}.npz" written\n')
    within(result.out, f'matrix     "{scratch(SHOWN)}", 3 x 3')
    within(run("--dry-run", odd, records=False).out, f'matrix     "{scratch(SHOWN)}", 3 x 3')
    within(run(*FAST, odd + "no", records=False).err, "\\x1B[31m")
    renamed = scratch("re\x1bnamed")
    os.symlink(PROGRAM, renamed)
    equal(run("--nothing", program=renamed, records=False).err.count('"re\\x1Bnamed"'), 3)
    if not NO_SERIES:
        series = scratch("odd\x1b.csv", "1,2,4\n2,1,7\n")
        for args in ((), ("--sum", "linear")):
            result = run("-d", "cpu", "-r", 1, *args, series, program=SERIES, records=False)
            equal((result.code, "\x1b" in result.out), (0, False), result.err)
            within(result.out, '\\x1B.csv"')

with test("the CSV has no cell that is a formula, and no control character"):
    for name, cell in (("=1+2.mtx", "'=1+2.mtx"), ("+1.mtx", "'+1.mtx"), ("-1.mtx", "'-1.mtx"), ("@a.mtx", "'@a.mtx"),
                       ("\t=1.mtx", "\\x09=1.mtx"), ("a=1.mtx", "a=1.mtx"), ("a\n\u009b.mtx", "a\\x0a\\xc2\\x9b.mtx")):
        scratch(name, MATRIX)
        equal(run("-q", *FAST, "--csv", "cells.csv", "--", name, cwd=scratch("."), records=False).code, 0)
        with open(scratch("cells.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        equal(rows[-1]["matrix.source"], cell)
        assert float(rows[-1]["apply.median"]) > 0, rows[-1]

with test("standard streams that are closed are no files of the program: exit code 4 where output is lost"):
    runs = [(PROGRAM, (*map(str, FAST), "lap2d5:9"))]
    if not NO_SERIES:
        runs.append((SERIES, ("-d", "cpu", "-t", "1", "-n", "64", "-m", "64", "-r", "1")))
    for program, words in runs:
        for closed, code in (("<&- >&- 2>&-", 4), (">&- 2>&-", 4), (">&-", 4), ("2>&-", 0), ("<&-", 0), ("<&- 2>&-", 0)):
            for more in ((), ("--json", "/dev/null"), ("--json", scratch("closed.jsonl")))[:3 if program == PROGRAM else 1]:
                command = f"{shlex.join([program, *words, *more])} {closed}"
                done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
                equal((done.returncode, "cannot write" in done.stderr), (code, closed == ">&-"), command)
        equal(subprocess.run(f"{program} --version <&- >&- 2>&-", shell=True, timeout=60, check=False).returncode, 4)
    with open(scratch("closed.jsonl"), encoding="utf-8") as file:  # the file contains nothing else
        equal(all(json.loads(line)["version"] for line in file), True)
    verified(run(*FAST, "-o", scratch("Y"), "lap2d5:9", launcher=["sh", "-c", 'exec "$@" <&- 2>&-', "sh"]), "Y", 1)

with test("by its name Y is compressed, and unpacks to what is written without"):
    plain = scratch("Y.mtx")
    verified(run(*FAST, "-k", 3, "-o", plain, ROOT / "matrices/cage9.mtx.gz"), "plain", 1)
    for suffix in (".gz", ".GZ"):
        path = scratch(f"Y.mtx{suffix}")
        result = run(*FAST, "-k", 3, "-o", path, ROOT / "matrices/cage9.mtx.gz", ranks=2)
        verified(result, suffix, 1)
        equal(gzip.decompress(content(path)) == content(plain), True, suffix)
        assert len(content(path)) < 0.6 * len(content(plain)), suffix
        if suffix != ".GZ":
            verified(run(*FAST, "-x", path, ROOT / "matrices/cage9.mtx.gz"), f"X of {suffix}", 1)

with test("names of compressed files that would not be ones are refused before the run"):
    for args, part in ((("-o", scratch("Y.lz4")), "--output "), (("-o", scratch("Y.mtx.zip")), "expected .gz or no compression"),
                       (("-o", scratch("Y.mtx.xz")), "found a name ending in .xz"),
                       (("--cache", scratch("A.npz.gz")), "--cache "), (("--json", scratch("r.jsonl.gz")), "uncompressed"),
                       (("--csv", scratch("r.csv.xz")), "--csv ")):
        result = run(*FAST, *args, "lap2d5:9", ranks=2, records=False)
        equal((result.code, result.out, len(result.error_lines())), (2, "", 1), f"{args}: {result.err}")
        within(result.error_lines()[0], part)
    equal([n for n in os.listdir(scratch(".")) if n.startswith(("Y.lz4", "Y.mtx.zip", "A.npz.gz", "r."))], [])

with test("Y as - is all of standard output, and what the program prints goes to standard error"):
    for ranks in (1, 2):
        result = run(*FAST, "-k", 3, "-o", "-", ROOT / "matrices/cage9.mtx.gz", ranks=ranks, records=False)
        equal((result.code, result.out == content(plain).decode()), (0, True), result.err[-500:])
        within(result.err, "PASS")
    result = run(*FAST, "-q", "--json", "-", "lap2d5:9", records=False)
    equal((result.code, json.loads(result.out)["error"]["passed"]), (0, True), result.err)
    equal(os.path.exists("-"), False)

with test("compressed output on a full disk is exit code 4, and leaves nothing under its name"):
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", scratch("full.gz"))
        result = run(*FAST, "-k", 8, "-o", scratch("full.gz"), "lap2d5:99", records=False)
        equal((result.code, len(result.error_lines())), (4, 1), result.err)
        within(result.error_lines()[0], "full.gz: cannot write: ")

finish()
