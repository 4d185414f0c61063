"""--partition auto and layout: when rows are renumbered, how many rows of X then move, and that Y keeps its bits. limit: 480"""
import itertools
import os
import random

from command import ROOT, equal, finish, refused, run, scratch, test, verified, within

SENDS = ("-d", "cpu", "-t", 1, "-r", 1, "--warmup", 0, "--transport", "mpi")
MANY = ("--products", 100000)  # so many that any renumbering pays off, on any machine


def matrix(name, rows, entries, cols=None):
    """A file with entries at (row, column), from 0, whose values make Y's bits depend on the order of summation."""
    rng = random.Random(name)
    lines = [f"{i + 1} {j + 1} {rng.uniform(-1, 1)!r}\n" for i, j in sorted(set(entries))]
    return scratch(name, f"%%MatrixMarket matrix coordinate real general\n{rows} {cols or rows} {len(lines)}\n" + "".join(lines))


def grid(*sides, seed=1):
    """(rows, entries) of a grid whose points are numbered at random."""
    points = list(itertools.product(*map(range, sides)))
    numbers = list(range(len(points)))
    random.Random(seed).shuffle(numbers)
    number = dict(zip(points, numbers))
    entries = [(i, i) for i in numbers]
    for point in points:
        for axis in range(len(sides)):
            other = number.get(point[:axis] + (point[axis] + 1,) + point[axis + 1:])
            if other is not None:
                entries += [(number[point], other), (other, number[point])]
    return len(points), entries


def y_of(path, *options, ranks, x="uniform"):
    """(record, output, text of Y) of a run; checks that Y has the bits of the serial product."""
    out = scratch("y.mtx")
    result = run(*SENDS, "-k", 3, "-x", x, *options, "-o", out, path, ranks=ranks)
    verified(result, f"{path} {options} {ranks}", 1)
    equal(result.records[0]["error"]["different"], 0, f"{path} {options}")
    with open(out) as file:
        text = file.read()
    os.remove(out)
    return result.records[0], result.out, text


def renumbered(path, least, ranks, *options, x="uniform"):
    """Checks that --partition auto renumbers, that it moves at most 1 / least of the rows that --partition
    nnz moves, and that its Y is that of one rank and of nnz."""
    serial, by_rows = y_of(path, ranks=1, x=x), y_of(path, "--partition", "nnz", "--exchange", "halo", ranks=ranks, x=x)
    record, out, text = y_of(path, *MANY, *options, ranks=ranks, x=x)
    assert record["run"]["partition"] in ("layout", "graph"), record["run"]
    equal((record["asked"]["partition"], by_rows[0]["moved"]["nnz_rows"]), ("auto", None))
    equal(record["moved"]["nnz_rows"], by_rows[0]["moved"]["all_rows"])
    assert record["moved"]["all_rows"] * least <= record["moved"]["nnz_rows"], record["moved"]
    within(out, "partition  auto: by entries moves ")
    within(" ".join(out.split()), "renumbered by ")
    assert text == by_rows[2] == serial[2], path
    return record


def kept(path, ranks, why, *options):
    """Checks that auto keeps the cut by entries, and that -v gives the reason."""
    result = run(*SENDS, "-v", "-k", 2, *options, path, ranks=ranks)
    verified(result, f"{path} {options}")
    equal(result.records[0]["run"]["partition"], "nnz")
    within(" ".join(result.out.split()), why)


PLANE, SPACE = matrix("plane.mtx", *grid(60, 60)), matrix("space.mtx", *grid(15, 15, 15))

with test("grids numbered at random are renumbered: few rows move, and Y has the bits of one rank and of nnz"):
    for path, least in ((PLANE, 10), (SPACE, 3)):
        for ranks in (3, 4):
            renumbered(path, least, ranks)

with test("X from a file, f32, other formats, ways of the scatter and samples: with renumbered rows as well"):
    x = scratch("x.mtx", "%%MatrixMarket matrix array real general\n3600 3\n" + "".join(f"{(i * 7) % 31 / 9}\n" for i in range(10800)))
    renumbered(PLANE, 10, 3, x=x)
    for options in (("-f", "ell"), ("-f", "ell-nopad"), ("-f", "ell", "--scatter-format", "ell"), ("--scatter", "two-stage"),
                    ("--no-overlap",), ("--kernel", "cpu_segmented"), ("--verify", "sample")):
        renumbered(PLANE, 10, 3, *options)
    verified(run(*SENDS, *MANY, "-p", "f32", "-k", "1,5", PLANE, ranks=4), "f32", 2)

with test("asymmetric patterns, several components, and empty rows are renumbered"):
    rows, entries = grid(50, 50)
    renumbered(matrix("lower.mtx", rows, [(i, j) for i, j in entries if i >= j]), 5, 3)
    one, other = grid(40, 40, seed=2), grid(30, 30, seed=3)
    mixed = list(range(one[0] + other[0] + 100))  # including 100 rows and columns without entries
    random.Random(4).shuffle(mixed)
    both = one[1] + [(i + one[0], j + one[0]) for i, j in other[1]]
    renumbered(matrix("apart.mtx", len(mixed), [(mixed[i], mixed[j]) for i, j in both]), 5, 4)

with test("a small cut by entries, few products, and other grids keep it, and the report says so"):
    kept("band:6000,8,60", 3, "by entries moves", *MANY)
    kept("uniform:3000,20", 4, "; not renumbered", *MANY)
    kept(PLANE, 3, "renumbering would not repay in 1 products", "--products", 1)
    kept(PLANE, 4, "as -g is given", *MANY, "-g", "4x1")
    kept(matrix("wide.mtx", 40, [(i, 7 * i % 90) for i in range(40)], 90), 3, "as A is not square", *MANY)
    kept(PLANE, 3, "as --io parallel reads the blocks", *MANY, "--io", "parallel")
    kept(PLANE, 3, "as exchange bcast moves all of X", *MANY, "--exchange", "bcast")
    kept(PLANE, 3, "as the ranks share X in memory", *MANY, "--transport", "shared")
    kept(PLANE, 2, "as kernels of other libraries need increasing columns", *MANY, "--kernel", "all")
    result = run(*SENDS, "-v", PLANE)
    verified(result, "one rank", 1)
    assert "partition  auto" not in result.out, result.out

with test("--partition layout on any number of ranks, with long rows, on P x Q, by the joint exchange, by all kernels"):
    for path in (PLANE, str(ROOT / "matrices/bcsstk16.mtx.gz"), "longrows:2000,6,3,900"):
        serial = y_of(path, ranks=1)[2]
        for ranks in (1, 2, 4):
            record, _, text = y_of(path, "--partition", "layout", ranks=ranks)
            equal((record["run"]["partition"], record["asked"]["partition"]), ("layout", "layout"))
            assert text == serial, f"{path} {ranks}"
    verified(run(*SENDS, "--partition", "layout", "-g", "2x2", PLANE, ranks=4), "2x2", 1)
    verified(run(*SENDS, "--partition", "layout", "--exchange", "joint", "--reproducible", "off", PLANE, ranks=3), "joint", 1)
    verified(run(*SENDS, "--partition", "layout", "-k", 4, "--kernel", "all", PLANE, ranks=2), "all kernels")
    verified(run("-d", "cpu", "-t", 1, "-r", 1, "--partition", "layout", PLANE, ranks=3), "transport auto", 1)

with test("--partition layout is refused where rows cannot be renumbered"):
    for args in (("--io", "parallel", PLANE), ("--dry-run", "lap2d5:9"), (matrix("tall.mtx", 3, [(0, 0)], 2),)):
        refused(run("-d", "cpu", "--partition", "layout", *args, ranks=2), 2, what=args)
finish()
