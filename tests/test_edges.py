"""Edge lists, read by --read-as edges, give the product of the same matrix in a Matrix Market file, on 1 and 3
ranks; the Python package reads them. Also: what is refused, and at which line. test_edge_list has large lists.
limit: 300"""
import gzip

from command import equal, finish, refused, run, scratch, skip, test, verified, within
from python_package import missing, python

FAST = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1)


def product(path, *options, ranks=1, threads=1):
    y = scratch("Y.mtx")
    verified(run(*FAST[:-1], threads, "-k", 3, "-o", y, *options, path, ranks=ranks), "product", 1)
    with open(y) as f:
        return [line for line in f if not line.startswith("%")]


def mtx(n, entries):
    field = "real" if len(entries[0]) == 3 else "pattern"
    return (f"%%MatrixMarket matrix coordinate {field} general\n{n} {n} {len(entries)}\n"
            + "".join(" ".join(str(x) for x in (e[0] + 1, e[1] + 1, *e[2:])) + "\n" for e in entries))


PLAIN = [(0, 1), (3, 0), (1, 2), (4, 4)]
WEIGHTED = [(0, 1, "0.5"), (3, 0, "-2.25e3"), (1, 2, ".1"), (0, 1, "0.1"), (0, 1, "0.7"), (5, 0, "7")]
HEAD = "# Directed graph\n# Nodes: 5 Edges: 4\n"
# name: (the file, options, size, edges)
LISTS = {
    "SNAP's form": (HEAD + "# FromNodeId\tToNodeId\n0\t1\n3\t0\n1\t2\n4\t4\n", "edges", 5, PLAIN),
    "edges:0 is edges": ("0 1\n3 0\n1 2\n4 4\n", "edges:0", 5, PLAIN),
    "from 1": ("1 2\n4 1\n2 3\n5 5\n", "edges:1", 5, PLAIN),
    "comments anywhere, empty lines, blanks, CR LF, no last newline": ("\r\n% x\r\n0 1\r\n#y\r\n \t\r\n  3\t 0 \r\n # z\r\n1 2\r\n%\r\n\r\n4 4", "edges", 5, PLAIN),
    "weights, and one edge three times": (HEAD + "".join(f"{u} {v}\t{w}\n" for u, v, w in WEIGHTED), "edges", 6, WEIGHTED),
    "an edge twice without weights": ("0 1\n0 1\n1 0\n", "edges", 2, [(0, 1), (0, 1), (1, 0)]),
    "isolated vertices": ("2 9\n", "edges", 10, [(2, 9)]),
    "a vertex": ("0 0\n", "edges", 1, [(0, 0)]),
}
for name, (data, read_as, n, entries) in LISTS.items():
    with test(f"{name}: the same product as of Matrix Market text, on 1 and 3 ranks"):
        expected = product(scratch("text.mtx", mtx(n, entries)))
        for ranks in (1, 3):
            equal(product(scratch("A.txt", data), "--read-as", read_as, ranks=ranks), expected, f"{ranks} ranks")
        equal(product(scratch("A.txt.gz", gzip.compress(data.encode())), "--read-as", read_as), expected, "gzip")

with test("f32, and the report says what was read"):
    data, _, n, entries = LISTS["weights, and one edge three times"]
    equal(product(scratch("A.txt", data), "--read-as", "edges", "-p", "f32"), product(scratch("text.mtx", mtx(n, entries)), "-p", "f32"))
    within(run(*FAST, "--read-as", "edges", scratch("A.txt")).out, "6 x 6, 4 entries (real general, 6 stored)")

why = missing()
if why:
    skip("the Python package reads edge lists", why)
else:
    with test("the Python package reads edge lists"):
        path = scratch("A.txt", "".join(f"{u + 1} {v + 1} {w}\n" for u, v, w in WEIGHTED))
        done = python("-c", f"""import numpy, spmm_mpi
b = numpy.zeros((6, 6))
for u, v, w in {WEIGHTED!r}:
    b[u, v] += float(w)
a = spmm_mpi.read({path!r}, read_as="edges:1")
assert (a.toarray() == b).all() and a.dtype == numpy.float64
assert (spmm_mpi.read({path!r}, "float32", "edges").toarray()[1:, 1:] == b.astype("float32")).all()
try:
    spmm_mpi.read("A", read_as="edges:2")
except ValueError as e:
    assert "edges:2" in str(e)
try:
    spmm_mpi.read({scratch("text.mtx")!r}, read_as="edges")
except spmm_mpi.Error as e:
    assert "banner of a Matrix Market file" in str(e)
print("well")""")
        equal((done.returncode, done.stdout.strip()), (0, "well"), done.stdout)

# name: (file, option, found, expected)
REFUSED = {
    "no edges": ("# a\n\n% b\n", "edges", ":3: found no edge", "expected edges: u v, or u v weight"),
    "a comma": ("0,1\n", "edges", ':1: found "0,1"', "no commas (tr ',' ' ' < FILE > OTHER)"),
    "names of columns": ("# a\nu v w\n0 1 2\n", "edges", ':2: found "u"', "if these are column names, remove them (tail -n +2"),
    "four columns": ("0 1 2.5 99\n", "edges", ':1: found "99"', "the end of the line after the weight (awk '{print $1, $2, $3}'"),
    "a negative id": ("#\n0 1\n-1 2\n", "edges", ':3: found the vertex id "-1"', "a vertex id from 0 to 2147483646"),
    "an id below 1": ("1 2\n2 0\n", "edges:1", ':2: found the vertex id "0"', "a vertex id from 1 to 2147483647"),
    "too large an id": ("0 2147483647\n", "edges", ':1: found the vertex id "2147483647"', "from 0 to 2147483646"),
    "a word": ("0 1\nx 1\n", "edges", ':2: found "x"', "a vertex id from 0"),
    "one id": ("0 1\n7\n", "edges", ":2: found the end of the line after the first vertex id", "a vertex id"),
    "a weight too many": ("0 1\n\n1 2 3.5\n", "edges", ':3: found "3.5"', "the first edge, in line 1, has no weight"),
    "no weight": ("#\n0 1 1\n1 2\n", "edges", ":3: found the end of the line after the indices", "a weight, as the first edge, in line 2, has one"),
    "a trailing word": ("0 1 1\n0 1 1 x\n", "edges", ':2: found "x"', "the end of the line"),
    "a weight that is none": ("0 1 heavy\n", "edges", ':1: found "heavy"', "a real value"),
    "inf": ("0 1 inf\n", "edges", ':1: found "inf"', "(or --allow-nonfinite)"),
    "the first of two errors": ("0 1 1\n1 2 y\n0 x 1\n", "edges", ':2: found "y"', "a real value"),
    "Matrix Market": (mtx(3, [(0, 1)]), "edges", ":1: found the banner of a Matrix Market file", "expected an edge list: omit --read-as"),
    "an archive": (b"PK\3\4" + bytes(100), "edges", "found a zip archive", "expected text"),
    "PETSc": (b"\0\x12\x7B\x50" + bytes(60), "edges", "found a file of the format PETSc", "expected an edge list: omit --read-as"),
}
with test("what is no edge list is refused with its place"):
    for name, (data, read_as, found, expected) in REFUSED.items():
        refused(run(*FAST, "--read-as", read_as, scratch("A.txt", data), ranks=3 if name == "a comma" else 1), 3, found, expected, what=name)
    equal(run("--read-as", "edges", "--allow-nonfinite", "--dry-run", scratch("A.txt", REFUSED["inf"][0])).code, 0)

with test("two billion vertices in 20 bytes are memory that is not there, or are refused before they are taken"):
    result = run(*FAST, "--read-as", "edges", scratch("A.txt", "0 2147483646\n"), limit=120)
    if result.code != 0:
        equal(result.code, 4, result.err)
        within(result.err, "2147483647 rows, 1 entries")

with test("--convert and --cache write what --io parallel then reads"):
    data, read_as, n, entries = LISTS["weights, and one edge three times"]
    expected = product(scratch("A.txt", data), "--read-as", read_as)
    for option in ("--convert", "--cache"):
        equal(run("--read-as", read_as, option, scratch("A.npz"), scratch("A.txt")).code, 0)
        equal(product(scratch("A.npz"), "--io", "parallel", "--verify", "full", ranks=3), expected)
    equal(run("--dry-run", "--cache", scratch("S.npz"), "lap2d5:9").code, 0)
    equal(product(scratch("S.npz")), product("lap2d5:9"))
    result = run(*FAST, "--read-as", read_as, scratch("A.npz"))
    equal(result.code, 3)
    within(result.err, "found a file of the format .npz, expected an edge list: omit --read-as")
    equal(run("-q", "--read-as", read_as, "--convert", scratch("B.mtx"), scratch("A.txt")).code, 0)
    equal(product(scratch("B.mtx")), expected)

finish()
