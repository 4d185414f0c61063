"""Files of the formats that people have: read by the Python package, the same CSR; by three ranks, the same Y.
limit: 300"""
import os

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
MATRIX, VECTOR = 1211216, 1211214
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

finish()
