"""Binary files of PETSc: matrices read by one rank and by all, dense matrices and vectors as X, what is refused. The files are
written here in the layout that PETSc documents, and by PETSc if it is installed.
limit: 300"""
import gzip
import os
import random
import shlex
import shutil
import struct
import subprocess

from command import SCRATCH, equal, finish, run, scratch, skip, test, verified, within

FAST = ("-d", "cpu", "-r", 1, "--warmup", 0, "-t", 1)
MAT, VEC = 1211216, 1211214
RANDOM = random.Random(1)


def packed(kind, numbers):
    return struct.pack(f">{len(numbers)}{kind}", *numbers)


def aij(size, cols, rows, value="d", entries=None):
    """The bytes of a sparse matrix; rows: lists of (column, value); indices have `size` bytes."""
    index = {4: "i", 8: "q"}[size]
    flat = [entry for row in rows for entry in row]
    return (packed(index, [MAT, len(rows), cols, len(flat) if entries is None else entries, *map(len, rows), *(j for j, _ in flat)])
            + packed(value, [v for _, v in flat]))


def dense(size, rows, value="d"):
    return packed({4: "i", 8: "q"}[size], [MAT, len(rows), len(rows[0]), -1]) + packed(value, [v for row in rows for v in row])


def vec(size, values, value="d"):
    return packed({4: "i", 8: "q"}[size], [VEC, len(values)]) + packed(value, values)


def text_of(rows):
    """The text of a Matrix Market array file with these rows of numbers."""
    return (f"%%MatrixMarket matrix array real general\n{len(rows)} {len(rows[0])}\n"
            + "".join(f"{row[j]!r}\n" for j in range(len(rows[0])) for row in rows))


def array(path):
    """The rows of numbers in an array file."""
    with open(path) as f:
        lines = [line for line in f.read().splitlines() if not line.startswith("%")]
    rows, cols = map(int, lines[0].split())
    return [[float(lines[1 + j * rows + i]) for j in range(cols)] for i in range(rows)]


def unit(n):
    return [[float(i == j) for j in range(n)] for i in range(n)]


def as_dense(rows, cols):
    """The rows as a dense matrix. Duplicates, if any, are small integers: their sum does not depend on the order."""
    full = [[0.0] * cols for _ in rows]
    for i, row in enumerate(rows):
        for j, v in row:
            full[i][j] += v
    return full


def sparse(rows, cols, most=6):
    """Random rows, some of them empty, with values of 53 bits and columns in any order."""
    return [[(j, RANDOM.uniform(-1, 1) * 10.0 ** RANDOM.randint(-9, 9)) for j in RANDOM.sample(range(cols), RANDOM.randint(0, most))]
            for _ in range(rows)]


def product(matrix, x, *options, ranks=1):
    """(Y, report) of a run."""
    out = scratch("Y.mtx")
    result = run(*FAST, "-x", x, "-o", out, *options, matrix, ranks=ranks)
    verified(result, f"{matrix} {options} {ranks} ranks", 1)
    return array(out), result.out


def refused(message, matrix, *options, ranks=1, code=None):
    result = run(*FAST, *options, matrix, ranks=ranks, records=False)
    assert result.code not in (0, None), f"{matrix} was accepted"
    lines = result.error_lines()
    equal(len(lines), 1, f"{matrix}: lines of {result.err}")
    within(lines[0], message)


COLS = 23
SHAPES = {"unsorted": sparse(57, COLS), "narrow": [[(j, 1.5 + j)] if j % 2 else [] for j in range(COLS)],
          "duplicates": [[(RANDOM.randrange(COLS), float(RANDOM.randrange(1, 9))) for _ in range(RANDOM.randrange(12))]
                         for _ in range(90)],
          "one row": [[(j, 0.1 * j) for j in range(COLS)]], "no entries": [[], [], []]}
UNIT = scratch("unit.mtx", text_of(unit(COLS)))

with test("an AIJ matrix, with indices of 32 and of 64 bits, has its entries on 1 and 3 ranks, whole and by --io parallel"):
    for name, rows in SHAPES.items():
        for size in (4, 8):
            path = scratch(f"{name.replace(' ', '-')}-{size}.petsc", aij(size, COLS, rows))
            entries = sum(map(len, rows))
            summed = entries - sum(len({j for j, _ in row}) for row in rows)
            for ranks, options in ((1, ()), (3, ()), (1, ("--io", "parallel")), (3, ("--io", "parallel")),
                                   (3, ("--io", "parallel", "-g", "1x3")), (3, ("--io", "parallel", "--partition", "rows"))):
                y, report = product(path, UNIT, *options, ranks=ranks)
                equal(y, as_dense(rows, COLS), f"{name} {size} {ranks} {options}")
                lengths = [len({j for j, _ in row}) for row in rows]
                within(report, f"{len(rows)} x {COLS}, {entries - summed} entries")
                within(report, f"longest {max(lengths)}; empty rows: {lengths.count(0)}\n")
                equal(f" {summed} duplicate entries were summed" in report, summed > 0, report)

with test("values of 32 bits are widened; values of 64 bits are rounded with --precision f32"):
    rows = [[(j, float(RANDOM.randrange(1000)) / 8) for j in range(i % 5)] for i in range(40)]
    path = scratch("f32.petsc", aij(4, COLS, rows, "f"))
    for ranks in (1, 3):
        equal(product(path, UNIT, ranks=ranks)[0], as_dense(rows, COLS))
        equal(product(scratch("f64.petsc", aij(8, COLS, rows)), UNIT, "-p", "f32", "--io", "parallel", ranks=ranks)[0],
              as_dense(rows, COLS))

with test("objects that follow the first one are left alone"):
    rows = sparse(30, COLS)
    for size in (4, 8):
        path = scratch("several.petsc", aij(size, COLS, rows) + vec(size, [1.0, 2.0]) + aij(size, 2, [[(0, 1.0)]]))
        equal(product(path, UNIT)[0], as_dense(rows, COLS))

with test("X is read from a dense matrix and from a vector"):
    matrix = scratch("A.petsc", aij(4, COLS, sparse(31, COLS)))
    for k in (1, 3, 8):
        x = [[RANDOM.uniform(-1, 1) for _ in range(k)] for _ in range(COLS)]
        expected = product(matrix, scratch("X.mtx", text_of(x)))[0]
        for size in (4, 8):
            equal(product(matrix, scratch("X.petsc", dense(size, x)), ranks=3)[0], expected, f"K = {k}")
            if k == 1:
                equal(product(matrix, scratch("X.vec", vec(size, [row[0] for row in x])))[0], expected, "a vector")
    rows = sparse(COLS, 5, 4)
    equal(product(matrix, scratch("X.petsc", aij(8, 5, rows)), ranks=3)[0],
          product(matrix, scratch("X.mtx", text_of(as_dense(rows, 5))))[0], "a sparse matrix as X")
    halves = [[float(j) / 4, 1.0] for j in range(COLS)]
    equal(product(matrix, scratch("X.petsc", dense(4, halves, "f")))[0], product(matrix, scratch("X.mtx", text_of(halves)))[0])

GOOD = aij(4, 3, [[(0, 1.0), (2, 2.0)], [(1, 3.0)]])
with test("what is damaged or of another kind is refused by one line that names the file, the place, what was found and expected"):
    for message, content in {
            "A.petsc: found 59 bytes, expected 60 by its header: it is cut short": GOOD[:-1],
            "A.petsc: found 61 bytes, expected 60 by its header: bytes were appended": GOOD + b"x",
            "A.petsc: found complex values, expected real ones, or a complex type (--precision c128)": aij(4, 3, [[(0, 1.0), (2, 2.0)], [(1, 3.0)]]) + bytes(24),
            "row 2: found a length of -1 entries, expected 0 to 1": GOOD[:20] + packed("i", [-1]) + GOOD[24:],
            "row 1: found a length of 9 entries, expected 0 to 3": GOOD[:16] + packed("i", [9]) + GOOD[20:],
            "found 2 entries in all rows, expected 3": GOOD[:20] + packed("i", [0]) + GOOD[24:],
            "entry 2 has a column index outside of 1 to 3": GOOD[:28] + packed("i", [3]) + GOOD[32:],
            "entry 1 has a column index outside of 1 to ": aij(8, 3, [[(2 ** 32, 1.0)]]),
            'found "nan" in row 1, column 3': aij(4, 3, [[(0, 1.0), (2, float("nan"))], [(1, 3.0)]]),
            "found a PETSc matrix of -5 rows": packed("i", [MAT, -5, 3, 0]),
            "found 3000000000 rows": packed("q", [MAT, 3000000000, 3, 0]),
            "found a dense matrix of PETSc, expected a sparse matrix (AIJ)": dense(4, [[1.0]]),
            "found a vector of PETSc": vec(8, [1.0]),
            "found a PETSc object of class 1211218": packed("i", [1211218, 1, 1]),
            f"found 32 bytes, expected {20 + 12 * 666666666} by its header": packed("i", [MAT, 1, 3, 666666666, 1, 0]) + bytes(8),
            "ends at byte 12": GOOD[:12]}.items():
        path = scratch("A.petsc", content)
        for ranks, options in ((1, ()), (3, ("--io", "parallel"))):
            refused(message, path, *options, ranks=ranks)
    good = scratch("A.petsc", GOOD)
    refused("X has 2 rows, expected as many as the 3 columns of A", good, "-x", scratch("X.petsc", vec(4, [1.0, 2.0])))
    refused('X.petsc: found "inf" in row 2, column 1', good, "-x", scratch("X.petsc", vec(4, [1.0, float("inf"), 3.0])))
    refused("X.petsc: found 35 bytes", good, "-x", scratch("X.petsc", vec(8, [1.0, 2.0, 3.0])[:35]))
    refused("found a PETSc matrix inside gzip data, expected it plain: unpack it first (gunzip -k FILE)",
            scratch("A.petsc.gz", gzip.compress(GOOD)))

with test("a value that is not finite is taken with --allow-nonfinite"):
    path = scratch("A.petsc", aij(8, 3, [[(0, 1.0), (2, float("inf"))], [(1, 3.0)]]))
    equal(run("--allow-nonfinite", "--dry-run", path).code, 0)

PROGRAM = """
#include <petscmat.h>
int main(int argc, char **argv)
{
    Mat a, dense;
    Vec v;
    PetscViewer file;
    PetscCall(PetscInitialize(&argc, &argv, 0, 0));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 40, 23, 9, 0, 9, 0, &a));
    for (PetscInt i = 0; i < 40; i++)
        for (PetscInt j = i % 3; j < 23; j += 3 + i % 5)
            if (i % 7 != 3) PetscCall(MatSetValue(a, i, j, (i + 1) / (j + 3.0), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 23, 4, 0, &dense));
    PetscCall(MatCreateVecs(a, &v, 0));
    for (PetscInt i = 0; i < 23; i++) {
        for (PetscInt j = 0; j < 4; j++) PetscCall(MatSetValue(dense, i, j, i / 7.0 - j, INSERT_VALUES));
        PetscCall(VecSetValue(v, i, 1 / (i + 1.0), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(dense, MAT_FINAL_ASSEMBLY));
    PetscCall(VecAssemblyBegin(v));
    PetscCall(VecAssemblyEnd(v));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "a.petsc", FILE_MODE_WRITE, &file));
    PetscCall(MatView(a, file));
    PetscCall(PetscViewerDestroy(&file));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "x.petsc", FILE_MODE_WRITE, &file));
    PetscCall(MatView(dense, file)); /* as AIJ */
    PetscCall(PetscViewerDestroy(&file));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "native.petsc", FILE_MODE_WRITE, &file));
    PetscCall(PetscViewerPushFormat(file, PETSC_VIEWER_NATIVE));
    PetscCall(MatView(dense, file));
    PetscCall(PetscViewerDestroy(&file));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "v.petsc", FILE_MODE_WRITE, &file));
    PetscCall(VecView(v, file));
    PetscCall(PetscViewerDestroy(&file));
    return PetscFinalize();
}
"""


def petsc():
    """Compiles and runs PROGRAM; returns the reason if that is not possible, or None. PETSc with complex scalars does not
    count: it writes other files."""
    flags = None
    for name in ("PETSc", "petsc"):
        if flags is None and shutil.which("pkg-config"):
            found = subprocess.run(["pkg-config", "--cflags", "--libs", name], capture_output=True, text=True, check=False)
            flags = shlex.split(found.stdout) if found.returncode == 0 else None
    if flags is None:
        return "no PETSc"
    source = scratch("write.c", "#include <petscsys.h>\n#if defined(PETSC_USE_COMPLEX) || !defined(PetscCall)\n#error\n#endif\n" + PROGRAM)
    built = subprocess.run([*shlex.split(os.environ.get("MPICC", "mpicc")), source, "-o", scratch("write"), *flags],
                           capture_output=True, check=False)
    if built.returncode:
        return "no PETSc of real scalars that this MPI's compiler builds with"
    ran = run(program=scratch("write"), ranks=2, cwd=SCRATCH.name, records=False)
    return None if ran.code == 0 else "no PETSc of this MPI"


SENTENCE = "what PETSc writes on two ranks is read: a matrix, a dense one and a vector"
WHY = petsc()
if WHY:
    skip(SENTENCE, WHY)
else:
    with test(SENTENCE):
        rows = [[(j, (i + 1) / (j + 3.0)) for j in range(i % 3, 23, 3 + i % 5)] if i % 7 != 3 else [] for i in range(40)]
        x = [[i / 7.0 - j for j in range(4)] for i in range(23)]
        written = scratch("a.petsc")
        for ranks, options in ((1, ()), (3, ()), (3, ("--io", "parallel"))):
            equal(product(written, UNIT, *options, ranks=ranks)[0], as_dense(rows, 23), f"{ranks} ranks {options}")
        expected = product(written, scratch("X.mtx", text_of(x)))[0]
        equal(product(written, scratch("x.petsc"))[0], expected, "a dense matrix written as AIJ")
        equal(product(written, scratch("native.petsc"))[0], expected, "a dense matrix")
        column = [[1 / (i + 1.0)] for i in range(23)]
        equal(product(written, scratch("v.petsc"))[0], product(written, scratch("X.mtx", text_of(column)))[0], "a vector")

finish()
