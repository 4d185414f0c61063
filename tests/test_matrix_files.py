"""Files of the formats that people have, written by SciPy, by PETSc, and by this test: the same CSR, and the same Y on three ranks.
limit: 300"""
import os
import subprocess

from command import equal, finish, run, scratch, skip, test
from python_package import missing, python

why = missing()
if why:
    skip("matrix files are read as SciPy has them", why)
    finish()

import numpy as np
import scipy.io
import scipy.sparse

ROWS = COLS = 120
MATRIX, VECTOR, DENSE = 1211216, 1211214, -1
RNG = np.random.default_rng(7)


def matrix(rows=ROWS, cols=COLS, density=0.08, kind="real"):
    """A matrix with an empty row, an empty column and a stored zero; kind: real, integer or pattern."""
    a = scipy.sparse.random(rows, cols, density, "csr", random_state=np.random.RandomState(len(kind) + rows))
    a.data = {"real": RNG.standard_normal, "integer": lambda n: RNG.integers(-9, 10, n), "pattern": np.ones}[kind](a.nnz).astype(float)
    a = scipy.sparse.csr_matrix(scipy.sparse.diags((np.arange(rows) != 5).astype(float)) @ a)
    if kind == "real":
        a.data[3] = 0.0
    a.sort_indices()
    return a


def with_duplicates(a):
    """(row, column, value) in any order, some entries in two halves, whose sum is exact."""
    a = a.tocoo()
    half = RNG.random(a.nnz) < 0.3
    row, col = np.r_[a.row, a.row[half]], np.r_[a.col, a.col[half]]
    data = np.r_[np.where(half, a.data / 2, a.data), a.data[half] / 2]
    order = RNG.permutation(len(row))
    return row[order], col[order], data[order]


def compressed(row, col, data, rows):
    """Row lengths, columns and values of triplets, whose order is kept within the rows."""
    order = np.argsort(row, kind="stable")
    return np.bincount(row, minlength=rows), col[order], data[order]


def petsc(path, shape, lengths, columns, values, index=">i4", value=">f8", behind=b""):
    with open(path, "wb") as f:
        for part, dtype in (([MATRIX, *shape, len(columns)], index), (lengths, index), (columns, index), (values, value)):
            f.write(np.asarray(part).astype(dtype).tobytes())
        f.write(behind)
    return path


def triplets(a):
    return np.diff(a.indptr), a.indices, a.data


FILES = []  # (file, matrix, whether all ranks can read it)
SHAPES = {"square": (ROWS, COLS), "wide": (40, 300), "tall": (300, 40), "column": (90, 1), "row": (1, 90)}


def petsc_files():
    for name, shape in SHAPES.items():
        a = matrix(*shape)
        for index in (">i4", ">i8"):
            yield petsc(scratch(f"{name}{index[1:]}.petsc"), shape, *triplets(a), index), a
    a = matrix()
    yield petsc(scratch("two-objects.petsc"), a.shape, *triplets(a), behind=np.array([VECTOR, 3, 0, 0], ">i4").tobytes() + bytes(16)), a
    yield petsc(scratch("disordered.petsc"), a.shape, *compressed(*with_duplicates(a), ROWS)), a
    single = a.astype(np.float32)
    yield petsc(scratch("single.petsc"), a.shape, *triplets(single), value=">f4"), single.astype(float)
    empty = scipy.sparse.csr_matrix((7, 5))
    yield petsc(scratch("empty.petsc"), empty.shape, *triplets(empty)), empty


for path, a in petsc_files():
    FILES.append((path, a, True))

READ = """
import sys
import numpy as np
import spmm_mpi
for path in sys.argv[1:]:
    for dtype in (np.float64, np.float32):
        a = spmm_mpi.read(path, dtype)
        np.savez(f"{path}.{np.dtype(dtype).name}.seen.npz", shape=a.shape, indptr=a.indptr, indices=a.indices, data=a.data)
"""
done = python("-c", READ, *[path for path, _, _ in FILES])
equal(done.returncode, 0, done.stdout)


def same_csr(path, a):
    for dtype in (np.float64, np.float32):
        seen = np.load(f"{path}.{np.dtype(dtype).name}.seen.npz")
        assert tuple(seen["shape"]) == a.shape, (path, seen["shape"], a.shape)
        np.testing.assert_array_equal(seen["indptr"], a.indptr, path)
        np.testing.assert_array_equal(seen["indices"], a.indices, path)
        equal(seen["data"].tobytes(), a.data.astype(dtype).tobytes(), path)


def same_product(path, a, parallel):
    """Y on three ranks has the bits of Y on one rank from a Matrix Market file."""
    text, one, three = scratch("same.mtx"), scratch("one.mtx"), scratch("three.mtx")
    scipy.io.mmwrite(text, a, precision=17)
    for name, ranks, out, more in ((text, 1, one, ()), (path, 3, three, ("--io", "parallel") if parallel else ())):
        done = run("-q", "-d", "cpu", "-k", 3, "-r", 1, "-o", out, *more, name, ranks=ranks)
        equal(done.code, 0, f"{path}: {done.err}")
    equal(open(one, "rb").read(), open(three, "rb").read(), path)


for kind in sorted({os.path.splitext(path)[1] for path, _, _ in FILES}):
    of_kind = [file for file in FILES if file[0].endswith(kind)]
    with test(f"{len(of_kind)} files {kind} are read as the CSR that they were made of, in f64 and f32"):
        for path, a, _ in of_kind:
            same_csr(path, a)
    with test(f"their products on three ranks, which read them together where they can, have the bits of one rank's"):
        for path, a, parallel in of_kind:
            if a.nnz:
                same_product(path, a, parallel)

A = matrix()
GOOD = petsc(scratch("good.petsc"), A.shape, *triplets(A))


def refused(path, message, code=3, args=()):
    for ranks, more in ((1, ()), (3, ("--io", "parallel"))):
        if args and ranks == 3:
            continue
        done = run("-q", "-d", "cpu", *more, *args, path, ranks=ranks)
        equal(done.code, code, f"{path}: {done.out} {done.err}")
        assert any(message in line for line in done.error_lines()), f"{path}: {done.err}"


def changed(at, text):
    whole = bytearray(open(GOOD, "rb").read())
    whole[at:at + len(text)] = text
    return scratch("changed.petsc", bytes(whole))


with test("a matrix of PETSc that is cut short, damaged, complex or dense is refused with what was found and expected"):
    whole = open(GOOD, "rb").read()
    for length in (9, 16, 100, 16 + 4 * ROWS + 5, len(whole) - 1):
        refused(scratch("cut.petsc", whole[:length]), "it is cut short")
    refused(changed(4, b"\xff\xff\xff\xfe"), "found a PETSc matrix of -2 rows, 120 columns")
    refused(changed(12, b"\x7f\xff\xff\xff"), "it is cut short")
    refused(changed(16, b"\xff\xff\xff\xff"), "row 1: found a length of -1 entries, expected 0 to")
    refused(changed(16 + 4 * ROWS, b"\x00\x00\x00\x78"), "found a column beyond the last one")
    refused(petsc(scratch("complex.petsc"), A.shape, *triplets(A), value=">c16"), "found complex values of PETSc")
    refused(petsc(scratch("nan.petsc"), A.shape, np.diff(A.indptr), A.indices, np.full(A.nnz, np.nan)), 'found "nan" in row')
    dense = scratch("dense.petsc", np.array([MATRIX, 3, 2, DENSE], ">i4").tobytes() + bytes(48))
    refused(dense, "found a dense matrix of PETSc, expected a sparse matrix")
    refused(scratch("vector.petsc", np.array([VECTOR, 3], ">i4").tobytes() + bytes(24)), "found a vector of PETSc")

with test("--x takes a dense matrix and a vector of PETSc, with both sizes of indices"):
    for index in (">i4", ">i8"):
        for k in (1, 5):
            x = RNG.standard_normal((COLS, k))
            scipy.io.mmwrite(scratch("x.mtx"), x, precision=17)
            files = [scratch("x.petsc", np.array([MATRIX, COLS, k, DENSE], index).tobytes() + x.astype(">f8").tobytes())]
            if k == 1:
                files.append(scratch("v.petsc", np.array([VECTOR, COLS], index).tobytes() + x.astype(">f8").tobytes()))
            results = []
            for name in (scratch("x.mtx"), *files):
                done = run("-q", "-d", "cpu", "--x", name, "-o", scratch("y.mtx"), GOOD, ranks=2)
                equal(done.code, 0, f"{name}: {done.err}")
                results.append(open(scratch("y.mtx"), "rb").read())
            assert all(y == results[0] for y in results), (index, k)
    refused(GOOD, "found a sparse matrix of PETSc, expected a dense one or a vector", args=("--x", GOOD))

WRITE = r"""
#include <petscmat.h>
int main(int argc, char **argv)
{
    Mat a;
    PetscViewer file;
    PetscInt n = 50;
    if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
    if (MatCreateSeqAIJ(PETSC_COMM_SELF, n, n + 1, 3, NULL, &a)) return 1;
    for (PetscInt i = 0; i < n; i++)
        for (PetscInt j = i; j < i + 2; j++)
            if (MatSetValue(a, i, j, 1.0 / (PetscReal)(1 + i + 7 * j), INSERT_VALUES)) return 1;
    if (MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY) || MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY)) return 1;
    if (PetscViewerBinaryOpen(PETSC_COMM_SELF, argv[1], FILE_MODE_WRITE, &file) || MatView(a, file)) return 1;
    return PetscViewerDestroy(&file) || MatDestroy(&a) || PetscFinalize();
}
"""
NAME = "a file that PETSc wrote is read as its matrix"
flags = next((done.stdout.split() for name in ("petsc", "PETSc") for done in [subprocess.run(["pkg-config", "--cflags", "--libs", name],
              capture_output=True, text=True, check=False)] if done.returncode == 0), None)
program = scratch("write")
if flags is None:
    skip(NAME, "there is no PETSc")
elif subprocess.run([os.environ.get("MPICC", "mpicc"), "-x", "c", scratch("write.c", WRITE), "-x", "none", "-o", program, *flags],
                    capture_output=True, check=False).returncode:
    skip(NAME, "PETSc does not compile with this MPI")
else:
    with test(NAME):
        path = scratch("by-petsc.petsc")
        done = subprocess.run([program, path], capture_output=True, text=True, check=False)
        equal(done.returncode, 0, done.stderr)
        i = np.repeat(np.arange(50), 2)
        j = i + np.tile([0, 1], 50)
        equal(python("-c", READ, path).returncode, 0)
        same_csr(path, scipy.sparse.csr_matrix((1.0 / (1 + i + 7 * j), (i, j)), shape=(50, 51)))
finish()
