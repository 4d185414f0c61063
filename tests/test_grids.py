"""Grids, exchanges, reductions, partitions and planning, through the program. limit: 480"""
import re

from command import ROOT, equal, finish, refused, run, scratch, test, verified

QUICK = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1)
REAL = str(ROOT / "matrices/bcsstk16.mtx.gz")


def grids(ranks):
    return [(ranks // q, q) for q in range(1, ranks + 1) if ranks % q == 0]


with test("a sample is verified on every grid"):
    for p, q in grids(4):
        for exchange in ("halo", "bcast"):
            result = run(*QUICK, "-k", 4, "--verify", "sample", "-g", f"{p}x{q}", "--exchange", exchange, "lap3d7:16",
                         ranks=4)
            verified(result, f"{p}x{q}", 1)
            assert 3900 < result.records[0]["error"]["checked"] < 4100, result.records

with test("a halo moves what a stencil needs, a broadcast everything, and auto the less"):
    r = run(*QUICK, "lap3d7:12", ranks=4).records[0]
    equal((r["run"]["exchange"], r["run"]["transport"]), ("halo", "shared"))
    equal(r["message_rows"], 0, "on one node")
    equal((r["moved"]["rows"], r["moved"]["all_rows"], r["moved"]["neighbours"]), (2 * 144, 6 * 144, 2))
    equal(r["moved"]["bcast_rows"], 3 * 1728)
    r = run(*QUICK, "--transport", "mpi", "lap3d7:12", ranks=4).records[0]
    equal((r["run"]["transport"], r["message_rows"]), ("mpi", 6 * 144))
    assert 0.45 < r["moved"]["interior_share"] < 0.55 and 0 <= r["moved"]["hidden"] <= 1, r["moved"]
    r = run(*QUICK, "--exchange", "bcast", "lap3d7:12", ranks=4).records[0]
    equal((r["run"]["exchange"], r["moved"]["all_rows"]), ("bcast", 3 * 1728))
    r = run(*QUICK, "uniform:300,200", ranks=4).records[0]
    equal(r["run"]["exchange"], "bcast", "where all is needed")
    r = run(*QUICK, "lap3d7:12").records[0]
    equal((r["run"]["exchange"], r["run"]["transport"], r["moved"]["all_rows"]), ("none", "none", 0))


def planned(ranks, *options):
    """The row of --dry-run for that number of ranks: grid, entries, owned rows, received rows, those of all ranks, neighbors."""
    out = run("--dry-run", "--plan-ranks", ranks, *options, records=False).out
    line = re.search(rf"^ *{ranks} +(\d+)x(\d+) +(\d+) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+) ", out, re.M)
    assert line, out
    return [float(v) if "." in v else int(v) for v in line.groups()]


with test("what --dry-run counts on one rank is what the ranks then have and move"):
    for matrix in ("lap3d7:10", "rmat:9,6", REAL):
        for ranks in (1, 4, 6):
            for p, q in grids(ranks):
                plan = planned(ranks, "-g", f"{p}x{q}", matrix)
                result = run(*QUICK, "-g", f"{p}x{q}", "--exchange", "halo", "-v", matrix, ranks=ranks)
                r = result.records[0]
                equal(plan[:2], [p, q], matrix)
                equal(plan[5:], [r["moved"]["rows"], r["moved"]["all_rows"], r["moved"]["neighbours"]], (matrix, p, q))
                assert abs(plan[3] - r["imbalance"]) < 0.001, (plan, r["imbalance"])
    lines = re.findall(r"^ +(\d+) +\1x1 ", run("--dry-run", "--plan-ranks", "2,64,1000", "lap2d5:30",
                                               records=False).out, re.M)
    equal(lines, ["2", "64", "1000"], "a line each")

with test("--scatter-only prints what each rank holds, and multiplies nothing"):
    result = run("-d", "cpu", "--scatter-only", "lap3d7:12", ranks=3)
    equal((result.code, result.records), (0, []), result.err)
    rows = re.findall(r"^ +(\d+)  \(\d+, 0\) +\S+ +(\d+) +(\d+) +0 +1728 +(\d+) +\S+ \S+ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ",
                      result.out, re.M)
    equal([(row[0], row[5], row[6], row[8]) for row in rows],
          [("0", "144", "1", "1"), ("1", "288", "2", "2"), ("2", "144", "1", "1")], result.out)
    equal(sum(int(row[2]) for row in rows), 1728, "rows")

with test("--grid auto prints the candidates and takes a grid of the least cost; the result is verified"):
    for matrix in ("lap3d7:12", "uniform:2000,3"):
        result = run(*QUICK, "-v", "-g", "auto", matrix, ranks=4)
        verified(result, matrix, 1)
        for grid in ("4x1", "2x2", "1x4"):
            assert re.search(rf"^ +4 +{grid} ", result.out, re.M), result.out
    equal(run(*QUICK, "-g", "auto", "lap3d7:12", ranks=4).records[0]["run"]["grid"], [4, 1], "a stencil")

with test("a matrix written by --cache is the same matrix, and a damaged one is exit code 3"):
    cache, direct, cached = scratch("m.npz"), scratch("a.mtx"), scratch("b.mtx")
    verified(run(*QUICK, "-k", 3, "--cache", cache, "-o", direct, REAL), "write", 1)
    result = run(*QUICK, "-k", 3, "-o", cached, cache, ranks=3)
    verified(result, "read", 1)
    assert open(direct).read() == open(cached).read(), "Y"
    equal((result.records[0]["matrix"]["symmetry"], result.records[0]["matrix"]["nnz"]), ("general", 290378))
    data = bytearray(open(cache, "rb").read())
    data[len(data) // 2] ^= 1
    refused(run(*QUICK, scratch("bad.npz", bytes(data)), ranks=2), 3, "bad.npz")
    refused(run(*QUICK, "--cache", "/no/such/folder/m.npz", "lap2d5:5", ranks=2), 4)

graph = run(*QUICK, "--partition", "graph", "lap2d5:5", ranks=2)
if graph.code == 2 and "METIS" in graph.err:
    print("SKIP --partition graph: this build has no METIS")
else:
    with test("--partition graph moves less, says how much, and Y comes in the order of the file"):
        for ranks in (1, 2, 4):
            natural, renumbered = scratch("n.mtx"), scratch("g.mtx")
            for x in ("index", scratch("x4884.mtx", "%%MatrixMarket matrix array real general\n4884 2\n" +
                                       "".join(f"{i % 13 - 6}\n" for i in range(2 * 4884)))):
                k = ("-k", 2)
                verified(run(*QUICK, *k, "-x", x, "-o", natural, REAL, ranks=ranks), "natural", 1)
                result = run(*QUICK, *k, "-x", x, "--partition", "graph", "-o", renumbered, REAL, ranks=ranks)
                verified(result, "renumbered", 1)
                a = [float(v) for v in open(natural).read().split("\n")[2:-1]]
                b = [float(v) for v in open(renumbered).read().split("\n")[2:-1]]
                equal(len(a), len(b))
                most = max(map(abs, a))
                assert max(abs(u - v) for u, v in zip(a, b)) <= 1e-12 * most, "Y"
        counts = re.search(r"(\d+) edges cut; .*: (\d+) before, (\d+) after",
                           run(*QUICK, "--partition", "graph", "rmat:10,4", ranks=4).out)
        assert counts and int(counts[3]) < int(counts[2]), counts
        verified(run(*QUICK, "--partition", "graph", "--verify", "sample", "lap3d7:14", ranks=4), "a sample", 1)
    with test("--partition graph of a rectangle is exit code 2, on every rank"):
        path = scratch("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n")
        refused(run(*QUICK, "--partition", "graph", path, ranks=3), 2)
finish()
