"""Scattering A and X from rank 0: --scatter, --scatter-format, and the table of ranks. limit: 240"""
import re

from command import ROOT, equal, finish, run, scratch, test, verified

QUICK = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1, "-k", 3)
REAL = str(ROOT / "matrices/bcsstk16.mtx.gz")
GRIDS = ((1, 1), (4, 1), (1, 4), (2, 2), (3, 2), (2, 3))
WAYS = [(way, form) for way in ("direct", "two-stage") for form in ("csr", "ell")]


def options(way, form):
    return ("--scatter", way, "--scatter-format", form, "-f", "ell", "--ell-limit", 1000)


def ranks_of(out):
    """The rows of the table of ranks: (rank, p, q, first row, rows, first column, columns, entries)."""
    found = re.findall(r"^ +(\d+)  \((\d+), (\d+)\) +\S+ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ", out, re.M)
    return [tuple(map(int, row)) for row in found]


with test("every way of distributing gives the same blocks and the same Y, and the record says the way and its seconds"):
    x = scratch("x.mtx", "%%MatrixMarket matrix array real general\n4884 3\n" + "".join(f"{i % 17 - 8}\n" for i in range(3 * 4884)))
    for p, q in GRIDS:
        y, blocks = None, None
        for way, form in WAYS:
            what, path = f"{p}x{q} {way} {form}", scratch("y.mtx")
            result = run(*QUICK, *options(way, form), "-g", f"{p}x{q}", "-x", x, "--reduce", "linear", "-v", "-o", path, REAL,
                         ranks=p * q)
            verified(result, what, 1)
            y, blocks = y or open(path).read(), blocks or ranks_of(result.out)
            assert open(path).read() == y, f"{what}: another Y"
            equal(ranks_of(result.out), blocks, what)
            equal(len(blocks), p * q, result.out)
            r = result.records[0]
            equal((r["scatter"]["way"], r["scatter"]["format"], r["run"]["format"]), (way, form, "ell"), what)
            two = way == "two-stage" and p > 1 and q > 1
            assert (r["scatter"]["bands_seconds"] is not None) == two, r["scatter"]
            assert not two or 0 < r["scatter"]["bands_seconds"] <= r["seconds"]["scatter"], r
            for key in ("pad_seconds", "unpad_seconds"):
                assert (r["scatter"][key] is not None) == (form == "ell"), r["scatter"]
            equal("of which sending bands to the first process column" in result.out, two, what)
            equal("as ELLPACK (conversion" in result.out, form == "ell", what)

with test("renumbered rows, a consumed matrix, f32 and every exchange go with every way"):
    for way, form in WAYS:
        for more in (("--verify", "sample"), ("-p", "f32", "--exchange", "bcast"), ("--exchange", "joint"), ("--transport", "mpi"),
                     ("--no-overlap",), ("--kernel", "all")):
            result = run(*QUICK, *options(way, form), "-g", "2x2", *more, "rmat:9,6", ranks=4)
            verified(result, f"{way} {form} {more}")
            assert result.records, f"{way} {form} {more}"

with test("the coordinates and the columns of each rank's block are in the table of ranks"):
    result = run("-d", "cpu", "--scatter-only", "-g", "2x3", "lap3d7:6", ranks=6)
    rows = ranks_of(result.out)
    equal([row[:3] for row in rows], [(r, r // 3, r % 3) for r in range(6)], result.out)
    for r in rows:
        assert r[6] == 216 - r[5] if r[2] == 2 else r[5] + r[6] == rows[r[0] + 1][5], rows
    equal(sum(row[7] for row in rows), 1296, "entries: 7 * 216 without the neighbors beyond 6 sides of 36")

with test("ELLPACK beyond --ell-limit is refused before it is sent, with the figure, rank and limit"):
    for way in ("direct", "two-stage"):
        for grid in ("4x1", "2x2"):
            result = run(*QUICK, "-f", "ell", "--scatter", way, "--scatter-format", "ell", "-g", grid, "longrows:400,3,1,300", ranks=4)
            equal(result.code, 4, result.err)
            assert re.search(r"the slice of rank \d: padded ELLPACK would take .*, [\d.]+ times the CSR \(longest row \d+ entries, "
                             r"mean [\d.]+; limit 3\): use --format csr or ell-nopad, or raise --ell-limit", result.err), result.err

finish()
