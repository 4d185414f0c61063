"""--exchange-precision f32 and --values f32 through the program. limit: 200"""
import random
import struct

from command import equal, finish, refused, run, scratch, test, verified, within

QUICK = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)
ROWS, K = 600, 3
MATRIX = f"uniform:{ROWS},9"


def x_file(name, element):
    """A file with an X whose elements are made by element()."""
    path = scratch(name)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix array real general\n{ROWS} {K}\n")
        file.writelines(f"{element()!r}\n" for _ in range(ROWS * K))
    return path


def passes(*options, ranks):
    """The result of a run with the option, which must pass. (Y has other bits than the serial product.)"""
    result = run(*QUICK, "-x", REAL, "--exchange-precision", "f32", *options, MATRIX, ranks=ranks)
    equal((result.code, result.records[0]["error"]["passed"], result.out.splitlines()[-1]), (0, True, "PASS"), f"{ranks} ranks, {options} {result.err}")
    return result


random.seed(7)
REAL = x_file("real.mtx", lambda: random.uniform(-1, 1))
HUGE = x_file("huge.mtx", lambda: random.uniform(1e38, 1e39))

with test("ghost rows are rounded: report, record and bound say so, on every grid and by every exchange"):
    for ranks, options in ((2, ()), (3, ("--exchange", "halo")), (3, ("--exchange", "bcast", "--verify", "sample")), (4, ("-g", "2x2")),
                           (3, ("--exchange", "joint")), (3, ("--partition", "layout", "--column-blocks", 1)), (2, ("--no-overlap", "-v"))):
        result = passes(*options, ranks=ranks)
        within(result.out, "rows of X traveled as f32: the error of Y is at most 0.")
        within(result.out, "2 gamma_n sum|a||x| + 2^-24 sum|a||x| of entries in columns of other ranks")
        within(" ".join(result.out.split()), "transport mpi, rows of X as f32")
        record = result.records[0]
        rounding, error = record["rounding"], record["error"]
        equal((record["asked"]["exchange_precision"], rounding["exchange_precision"], record["run"]["transport"]), ("f32", "f32", "mpi"))
        # the 9 entries of a row are below 1, and some rows of X are received and rounded
        assert 2.0 ** -30 < rounding["max_bound"] < 9 * 2.0 ** -24 * 1.001 and 0.01 < rounding["of_bound"] <= 1, rounding
        assert error["different"] > ROWS and error["wrong"] == 0, error

with test("without the option nothing is rounded, nor on one rank, nor of f32"):
    for ranks, options in ((2, ()), (2, ("--exchange-precision", "f64")), (1, ("--exchange-precision", "f32")),
                           (2, ("-p", "f32", "--exchange-precision", "f32", "--reproducible", "exact"))):
        result = run(*QUICK, "-x", REAL, *options, MATRIX, ranks=ranks)
        verified(result, f"{ranks} ranks, {options}")
        record = result.records[0]
        equal(record["rounding"], {"exchange_precision": record["run"]["precision"], "max_bound": None, "of_bound": None})
        equal((record["error"]["different"], "traveled" in result.out, "as f32" in result.out), (0, False, False))

with test("what is not verified is not called so; what is beyond f32 fails"):
    result = run(*QUICK, "-x", REAL, "--exchange-precision", "f32", "--verify", "none", MATRIX, ranks=2)
    equal((result.code, result.records[0]["rounding"]["of_bound"]), (0, None), result.err)
    within(result.out, "rows of X traveled as f32: the error of Y may be\n")
    result = run(*QUICK, "-x", HUGE, "--exchange-precision", "f32", MATRIX, ranks=2)
    within(result.out, "travel as infinity")
    equal((result.code, result.records[0]["error"]["passed"]), (1, False), result.err)

VALUES = [0.1, 1 / 3, -1e-30, 1e38, 3.0, 1e-50, 123456789.123, -2.0 / 3]


def diagonal(name, values):
    text = f"%%MatrixMarket matrix coordinate real general\n{len(values)} {len(values)} {len(values)}\n"
    return scratch(name, text + "".join(f"{i} {i} {value!r}\n" for i, value in enumerate(values, 1)))


def y_of(*options, ranks):
    """Y of the diagonal matrix of VALUES times ones."""
    path = scratch("y.mtx")
    verified(run(*QUICK, "-x", "ones", "-k", 1, "-o", path, *options, diagonal("values.mtx", VALUES), ranks=ranks), f"{ranks} ranks, {options}")
    with open(path, encoding="ascii") as file:
        return [float(x) for line in file if line[0] != "%" for x in line.split()][2:]


with test("--values f32 rounds A, as each way of reading and distributing has it; without it, A is exact"):
    rounded = [struct.unpack("f", struct.pack("f", value))[0] for value in VALUES]
    for ranks, options in ((1, ()), (3, ("--io", "parallel")), (4, ("-g", "2x2")), (2, ("--scatter-format", "ell", "-f", "ell"))):
        equal(y_of("--values", "f32", *options, ranks=ranks), rounded, f"{ranks} ranks, {options}")
        equal(y_of(*options, ranks=ranks), VALUES, f"{ranks} ranks, {options}")

with test("a value beyond f32 is refused on every rank; in f32 the option changes nothing"):
    big = diagonal("big.mtx", [1.0, 1e39, 2.0])
    for ranks, options in ((1, ()), (3, ("--io", "parallel"))):
        refused(run(*QUICK, "--values", "f32", *options, big, ranks=ranks, records=False), 2, "1e+39")
    verified(run(*QUICK, "-p", "f32", "--values", "f32", diagonal("values.mtx", VALUES)), "f32")

finish()
