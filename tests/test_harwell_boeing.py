"""Harwell-Boeing and Rutherford-Boeing files, written by SciPy and by hand, on 1 and 3 ranks: the product is that of the same
matrix as a Matrix Market file; what is refused, and at which line.
limit: 300"""
import gzip

from command import equal, finish, refused, run, scratch, skip, test, verified

FAST = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1)


def card(*fields):
    return "".join(fields).rstrip() + "\n"


def hb(kind, rows, cols, formats, starts, indices, values=(), right="", rb=False):
    """The text of a file; starts, indices and values are lists of lines."""
    counts = [len(starts) + len(indices) + len(values), len(starts), len(indices), len(values)] + ([] if rb else [1 if right else 0])
    entries = formats[3]
    return (card(f"{'A title':72}", f"{'KEY':8}") + card(*(f"{c:14}" for c in counts))
            + card(f"{kind:14}", *(f"{c:14}" for c in (rows, cols, entries, 0)))
            + card(f"{formats[0]:16}", f"{formats[1]:16}", f"{formats[2]:20}", "" if rb else f"{'(5E16.8)' if right else '':20}")
            + (card(f"{'F':14}", f"{1:14}", f"{0:14}") if right else "") + "".join(line + "\n" for line in (*starts, *indices, *values))
            + right)


def mtx(field, symmetry, rows, cols, entries):
    return (f"%%MatrixMarket matrix coordinate {field} {symmetry}\n{rows} {cols} {len(entries)}\n"
            + "".join(" ".join(str(x) for x in e) + "\n" for e in entries))


def product(path, ranks=1):
    y = scratch("Y.mtx")
    verified(run(*FAST, "-k", 3, "-o", y, path, ranks=ranks), "product", 1)
    with open(y) as f:
        return [line for line in f if not line.startswith("%")]


# name: (the file, the same matrix as text)
BY_HAND = {
    "real": (hb("RUA", 3, 3, ("(4I3)", "(4I3)", "(4E10.3)", 4), ["  1  3  4  5"], ["  1  3  2  3"], [" 1.500E+00-2.250E+00 4.000E-01 1.250E+02"]),
             mtx("real", "general", 3, 3, [(1, 1, 1.5), (3, 1, -2.25), (2, 2, 0.4), (3, 3, 125.0)])),
    "no blanks, two lines of starts": (hb("RUA", 3, 3, ("(2I2)", "(4I1)", "(2F4.2)", 4), [" 1 3", " 4 5"], ["1323"], ["1.50-2.2", "10.42.50"]),
                                       mtx("real", "general", 3, 3, [(1, 1, 1.5), (3, 1, -2.2), (2, 2, 10.4), (3, 3, 2.5)])),
    "D exponents and 1P": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(1P,2D12.4)", 2), ["    1    2    3"], ["    2    1"], ["  1.2500D+02 -5.0000D-01"]),
                           mtx("real", "general", 2, 2, [(2, 1, 125.0), (1, 2, -0.5)])),
    "1P divides what has no exponent": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(1P2F10.3)", 2), ["    1    2    3"], ["    2    1"], ["    12.500     7.5+0"]),
                                        mtx("real", "general", 2, 2, [(2, 1, 1.25), (1, 2, 7.5)])),
    "no point": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(2F6.2)", 2), ["    1    2    3"], ["    2    1"], ["   125  -350"]),
                 mtx("real", "general", 2, 2, [(2, 1, 1.25), (1, 2, -3.5)])),
    "exponents far beyond those of a double": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(2E22.2)", 2), ["    1    2    3"], ["    2    1"],
                                                  [f"{'1E-4294967297':>22}{'0E4294967296':>22}"]),
                                               mtx("real", "general", 2, 2, [(2, 1, 0), (1, 2, 0)])),
    "integer": (hb("iua", 2, 3, ("(4i3)", "(4i3)", "(4I4)", 3), ["  1  2  3  4"], ["  2  1  2"], ["   7  -3  11"]),
                mtx("integer", "general", 2, 3, [(2, 1, 7), (1, 2, -3), (2, 3, 11)])),
    "pattern": (hb("PRA", 3, 2, ("(4I3)", "(4I3)", "", 3), ["  1  3  4"], ["  1  3  2"]), mtx("pattern", "general", 3, 2, [(1, 1), (3, 1), (2, 2)])),
    "symmetric": (hb("RSA", 3, 3, ("(4I3)", "(4I3)", "(4E10.3)", 4), ["  1  3  4  5"], ["  1  3  2  3"], [" 1.500E+00-2.250E+00 4.000E-01 1.250E+02"]),
                  mtx("real", "symmetric", 3, 3, [(1, 1, 1.5), (3, 1, -2.25), (2, 2, 0.4), (3, 3, 125.0)])),
    "symmetric pattern": (hb("PSA", 3, 3, ("(4I3)", "(4I3)", "", 3), ["  1  3  4  4"], ["  1  3  2"], rb=True),
                          mtx("pattern", "symmetric", 3, 3, [(1, 1), (3, 1), (2, 2)])),
    "skew": (hb("RZA", 3, 3, ("(4I3)", "(4I3)", "(4E10.3)", 2), ["  1  3  3  3"], ["  2  3"], [" 1.500E+00-2.250E+00"]),
             mtx("real", "skew-symmetric", 3, 3, [(2, 1, 1.5), (3, 1, -2.25)])),
    "right-hand sides": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(2F6.2)", 2), ["    1    2    3"], ["    2    1"], ["  1.25 -3.50"], " 1.0E0 2.0E0\n"),
                         mtx("real", "general", 2, 2, [(2, 1, 1.25), (1, 2, -3.5)])),
    "Rutherford-Boeing": (hb("rra", 2, 3, ("(4I3)", "(4I3)", "(3E9.1)", 3), ["  1  2  3  4"], ["  2  1  2"], ["  1.5E+00 -2.5E+00  4.0E-01"], rb=True),
                          mtx("real", "general", 2, 3, [(2, 1, 1.5), (1, 2, -2.5), (2, 3, 0.4)])),
    "a number of the card from column 73 on": (hb("RUA", 2, 2, ("(3I5)", "(2I5)", "(2F6.2)", 2), [f"{'    1    2    3':72}00000001"], ["    2    1"], ["  1.25 -3.50 text"]),
                                               mtx("real", "general", 2, 2, [(2, 1, 1.25), (1, 2, -3.5)])),
    "row indices in any order, and one twice": (hb("RUA", 3, 2, ("(4I3)", "(4I3)", "(4F5.1)", 4), ["  1  4  5"], ["  3  1  3  2"], ["  1.0  2.0  4.0  8.0"]),
                                                mtx("real", "general", 3, 2, [(3, 1, 1.0), (1, 1, 2.0), (3, 1, 4.0), (2, 2, 8.0)])),
}
for name, (data, text) in BY_HAND.items():
    with test(f"by hand: {name}, on 1 and 3 ranks"):
        expected = product(scratch("text.mtx", text))
        for ranks in (1, 3):
            equal(product(scratch("A.rb", data), ranks), expected, f"{ranks} ranks")

with test("compressed by gzip"):
    data, text = BY_HAND["symmetric"]
    equal(product(scratch("A.rb.gz", gzip.compress(data.encode()))), product(scratch("text.mtx", text)))

try:
    import numpy
    import scipy.io
    import scipy.sparse
except ImportError:
    skip("files of SciPy are read as Matrix Market text of it", "no SciPy")
else:
    with test("files of SciPy are read as Matrix Market text of it"):
        for seed in range(6):
            a = scipy.sparse.random(40 + seed, 30 + 7 * seed, 0.1, "csc", random_state=seed)
            a.data = a.data - 0.5
            path = scratch("scipy.hb", "")
            scipy.io.hb_write(path, a)
            scipy.io.mmwrite(scratch("scipy.mtx"), scipy.io.hb_read(path), precision=17)
            expected = product(scratch("scipy.mtx"))
            for ranks in (1, 3):
                equal(product(path, ranks), expected, f"matrix {seed}, {ranks} ranks")

GOOD = BY_HAND["real"][0]
REFUSED = {
    "complex": (GOOD.replace("RUA", "CUA"), 3, ":3: found complex values", "--precision c128"),
    "elemental": (GOOD.replace("RUA", "RUE"), 3, ":3: found \"RUE\"", "finite elements"),
    "a format": (GOOD.replace("(4E10.3)", "(2(E10.3))"), 3, ":4: found \"(2(E10.3))\"", "a format of numbers"),
    "a row index": (GOOD.replace("  1  3  2  3", "  1  4  2  3"), 3, ":6: found \"4\"", "a row index"),
    "more numbers than the format states": (GOOD.replace("(4E10.3)", "(3E10.3)"), 3, ":7: found \"1.250E+02\"",
                                            "the end of the line after 3 numbers of 10 characters, which the format in line 4 states"),
    "a start": (GOOD.replace("  1  3  4  5", "  1  3  2  5"), 3, ":5: found \"2\"", "a start of a column"),
    "the last start": (GOOD.replace("  1  3  4  5", "  1  3  4  4"), 3, ":5: found 4", "expected 5"),
    "a value": (GOOD.replace("4.000E-01", "4.0x0E-01"), 3, ":7: found \"4.0x0E-01\"", "a number"),
    **{f"the exponent {power}": (GOOD.replace("(4E10.3)", "(4E30.3)").replace("-2.250E+00", f" 1E{power}"), 3, f":7: found \"1E{power}\"", "a finite value")
       for power in ("2147483648", "4294967296", "+18446744073709551616")},
    "a zero byte in a value": (GOOD.replace("4.000E-01", "4.0\0E-01"), 3, ":7: found \"4.0\\x00E-01\"", "a number"),
    "a zero byte in a format": (GOOD.replace("(4E10.3)", "(4E10.3)\0"), 3, ":4: found \"(4E10.3)\\x00\"", "a format of numbers"),
    "cut short": (GOOD[:GOOD.rindex(" 1.500E")], 3, ":7: found the end of the file", "cut short"),
    "huge": (GOOD.replace(f"{3:14}{3:14}{4:14}", f"{3:14}{2000000000:14}{4:14}"), 3, ":3: found 2000000000 columns", "cut short"),
    "both triangles": (BY_HAND["symmetric"][0].replace("  1  3  2  3", "  1  3  1  3"), 3, ":6: found entries of both triangles", "one triangle"),
    "a diagonal in a skew matrix": (BY_HAND["skew"][0].replace("  2  3\n", "  1  3\n"), 3, ":7: found an entry of the diagonal", "none but zeros"),
}
with test("what is not read is refused with its place, on 1 and 3 ranks"):
    for name, (data, code, found, expected) in REFUSED.items():
        for ranks in (1, 3):
            refused(run(*FAST, scratch("A.rb", data), ranks=ranks), code, found, expected, what=name)

with test("ranks cannot read parts of it"):
    refused(run(*FAST, "--io", "parallel", scratch("A.rb", GOOD), ranks=2), 3, "without --io parallel")

finish()
