"""matmul of the Python package, compared with SciPy: run by tests/test_matmul.py, on each rank by itself."""
import gc
import os
import unittest.mock
import warnings

import numpy as np
import scipy.sparse
from mpi4py import MPI

import soak_matmul
import spmm_mpi
from python_ranks import case, in_threads, module, random_matrix, random_x, refused, run_all
from spmm_mpi import _library as c
from spmm_mpi import _matmul, matmul

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)


def known():
    return len(_matmul.cache.all)


def counted(made=[]):
    """The number of plans made since the first call of counted()."""
    if not made:
        made.append(0)
        before = _matmul.Plan

        def count(*arguments, **named):
            made[0] += 1
            return before(*arguments, **named)
        _matmul.Plan = count
    return made[0]


counted()

AT_ONCE, _matmul.AT_ONCE = _matmul.AT_ONCE, 0  # most cases are about plans


def without_plans(most=1 << 30):
    """Products are computed at once while the context manager is open."""
    return unittest.mock.patch.object(_matmul, "AT_ONCE", most)


def as_scipy(a, x, **named):
    """Checks that the product is SciPy's: equal shape and type, for whole numbers exactly equal values. Returns it."""
    expected, found = a @ x, matmul(a, x, **named)
    what = f"{a.format} {a.dtype} @ {x.dtype} {x.shape}"
    assert type(found) is np.ndarray and found.shape == expected.shape and found.dtype == expected.dtype, f"{what}: {found.dtype} {found.shape}"
    if expected.dtype.kind in "biu":
        assert (found == expected).all(), what
    else:
        tolerance = (1e-12 if expected.dtype == np.float64 else 1e-4) * max(1, abs(expected).max(initial=0))
        assert (abs(found - expected) <= tolerance).all(), f"{what}: off by {abs(found - expected).max()}"
    with without_plans():
        assert matmul(a, x, **named).tobytes() == found.tobytes(), f"{what}: other bits at once"
    return found


@case("all formats of SciPy, matrices and arrays, multiply as SciPy does")
def _():
    for array in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        a = array(random_matrix(40, 30, density=0.3))
        for form in FORMATS:
            for x in (random_x(30, 4), random_x(30, 1), random_x(30, 1)[:, 0], random_x(30, 0), random_x(30, 8)[:, ::2], random_x(30, 3)[::-1],
                      np.asfortranarray(random_x(30, 5))):
                as_scipy(a.asformat(form), x)


@case("entries stored more than once are summed, before and after their values change")
def _():
    for dtype in (np.float64, np.int8, np.int64):
        a = scipy.sparse.csr_matrix((np.array([100, 100, 3, 4, 5], dtype), [3, 3, 0, 2, 1], [0, 3, 3, 5]), shape=(3, 5))
        for x in (np.arange(5).astype(np.int64), np.eye(5, dtype=dtype)):
            as_scipy(a, x)
            as_scipy(a.tocoo(), x)
            as_scipy(a, x, key="twice")
            a.data[1] = 7
            as_scipy(a, x, key="twice")
            as_scipy(a, x)


@case("duplicates are summed in the type that Y is computed in, uint64 among them")
def _():
    big = 2 ** 63 + 1
    for first, columns in ((big, [1, 0]), (big, [0, 0]), (2 ** 64 - 1, [0, 0])):
        starts, data = np.array([0, 2]), np.array([first, 5], np.uint64)
        for a in (scipy.sparse.csr_matrix((data, columns, starts), shape=(1, 2)),
                  scipy.sparse.bsr_matrix((data[:, None, None], columns, starts), shape=(1, 2))):
            assert matmul(a, np.ones(2, np.uint64)).tolist() == [(first + 5) % 2 ** 64]
    a = scipy.sparse.csr_matrix((np.array([1, 1e-8], np.float32), [0, 0], [0, 2]), shape=(1, 2))
    assert matmul(a, np.ones(2)) == 1 + float(np.float32(1e-8)) and matmul(a, np.ones(2, np.float32)) == 1


@case("random products of all types and formats, with duplicates in any order, have the exact sums")
def _():
    wrong = []
    ran, failed = soak_matmul.soak(1 + MPI.COMM_WORLD.rank, range(300), tell=wrong.append)
    assert (ran, failed) == (300, 0), wrong[:3]


@case("int64 and int32 indices are taken alike")
def _():
    a = random_matrix(40, 30)
    wide = a.copy()
    wide.indices, wide.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
    as_scipy(wide, random_x(30, 2))
    before = counted()
    as_scipy(a, random_x(30, 2))
    assert counted() == before


@case("new values are multiplied by the plan of the pattern, which is made once")
def _():
    a, x = random_matrix(60, 60), random_x(60, 3)
    first, before = as_scipy(a, x), counted()
    a.data *= 2
    assert (as_scipy(a, x) == 2 * first).all()
    a.data[:] = -0.0
    assert np.signbit(matmul(a, x)).sum() == np.signbit(a @ x).sum()
    a.data[0] = np.nan
    assert np.isnan(matmul(a, x)).any()
    a.data = np.ones(a.nnz)
    as_scipy(a, x)
    as_scipy(a.copy() * 3, x)
    as_scipy(a.tocsc(), x)
    as_scipy(a.tocsc(), x[:, :2])
    assert counted() == before, "a copy has the same pattern"


@case("another pattern in the same arrays is seen")
def _():
    a, x = scipy.sparse.csr_matrix(np.eye(6)[::-1] + 2 * np.eye(6)), random_x(6, 2)
    as_scipy(a, x)
    a.indices[:2] = [2, 4]
    as_scipy(a, x)
    a.indices[:2] = a.indices[1::-1].copy()
    as_scipy(a, x)
    a.indptr[1] = 1
    as_scipy(a, x)
    a.indices[3] = 6
    refused(ValueError, "A has a column index outside 0 to 5", matmul, a, x)
    a.indices[3], a.indptr[2] = 0, 60
    refused(ValueError, "A.indptr", matmul, a, x)


def wide(a):
    """The matrix with indices of int64, which SciPy's constructors would make int32."""
    a = a.copy()
    a.indices, a.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
    return a


def large(shape=(300, 300)):
    """A matrix with more entries than a thread compares at once."""
    return random_matrix(*shape, density=0.6)


def sharing(a, shape):
    """A matrix of that shape with the first rows of `a`. It shares the arrays of column indices and values
    with `a`."""
    b = scipy.sparse.csr_matrix(shape)
    b.data, b.indices, b.indptr = a.data, a.indices, a.indptr[:shape[0] + 1]
    return b


def by_plan(a, x):
    """Checks that matmul() returns the same bits as a plan made from the matrix."""
    with spmm_mpi.Plan(MPI.COMM_SELF, a) as plan:
        assert matmul(a, x).tobytes() == (plan @ x).tobytes()


@case("what changes in an array is seen wherever it is, with int32 and int64 indices, in f64 and f32")
def _():
    for of in (lambda a: a, wide):
        for dtype in (np.float64, np.float32):
            a, x = of(large().astype(dtype)), random_x(300, 2).astype(dtype)
            by_plan(a, x)
            before = counted()
            for at in (0, a.nnz // 2, a.nnz - 1):
                a.data[at] += 1
                by_plan(a, x)
                # different bits of equal numbers, and a NaN, which equals none
                for value in (0.0, -0.0, np.nan, np.inf, 1.0):
                    a.data[at] = value
                    by_plan(a, x)
            assert counted() == before, "values make no plan"
            for at in (0, a.nnz // 2, a.nnz - 1):
                row = np.searchsorted(a.indptr, at, "right") - 1
                there = np.setdiff1d(np.arange(300), a.indices[a.indptr[row]:a.indptr[row + 1]])
                a.indices[at] = there[-1]
                as_scipy(a, x)
            assert counted() > before
            row = np.flatnonzero(np.diff(a.indptr) > 1)[0]
            a.indptr[row + 1] -= 1
            as_scipy(a, x)


@case("arrays that are longer, shorter, read-only, or not in order in memory are taken or refused as before")
def _():
    a, x = large(), random_x(300, 1)[:, 0]
    by_plan(a, x)
    before, whole = counted(), (a.data, a.indices, a.indptr)
    a.data, a.indices = np.append(a.data, 7), np.append(a.indices, 10 ** 6).astype(np.int32)
    assert (matmul(a, x) == matmul(scipy.sparse.csr_matrix(whole, a.shape), x)).all()
    for name, index in (("data", 0), ("indices", 1), ("indptr", 2)):
        apart = np.repeat(whole[index], 2)[::2]
        assert not apart.flags.c_contiguous
        setattr(a, name, apart)
        by_plan(a, x)
        apart = whole[index].copy()
        apart.flags.writeable = False
        setattr(a, name, apart)
        by_plan(a, x)
        setattr(a, name, np.frombuffer(b"x" + whole[index].tobytes(), whole[index].dtype, offset=1))
        by_plan(a, x)
        setattr(a, name, whole[index])
    assert counted() == before
    for name, index in (("data", 0), ("indices", 1), ("indptr", 2)):
        setattr(a, name, whole[index][:-1])
        refused(ValueError, "A.indptr", matmul, a, x)
        setattr(a, name, whole[index])
    a.data = whole[0].astype(np.float32)
    as_scipy(a, x)
    as_scipy(a, x.astype(np.float32))
    by_plan(scipy.sparse.csr_matrix(whole, a.shape), x)


@case("matrices of other shapes may share their indices, and an older libspmm compares nothing")
def _():
    a = large((200, 150))
    for n in range(2):
        # the column indices are valid for each shape
        for shape in ((200, 150), (200, 180), (200, 150)):
            by_plan(sharing(a, shape), random_x(shape[1], 2))
        as_scipy(sharing(a, (100, 150)), random_x(150, 2))
        a.data[7] = np.nan
        by_plan(a, random_x(150, 2))
        a.data[7] = n
    lib, x = c.loaded(), random_x(150, 2)
    newer, lib.spmm_plan_update_rows = lib.spmm_plan_update_rows, None
    try:
        for value in (1.0, -0.0, 0.0):
            a.data[7:9] = value
            by_plan(a, x)
        a.indices[0] = np.setdiff1d(np.arange(150), a.indices[:a.indptr[1]])[0]
        as_scipy(a, x)
        as_scipy(a, x, key="older")
        a.data *= 2
        as_scipy(a, x, key="older")
    finally:
        lib.spmm_plan_update_rows = newer


@case("the first products of a matrix need no plan, read its values and pattern in each call, and have the bits of a plan's")
def _():
    a, x = large((200, 150)), random_x(150, 3)
    expected, before = matmul(a, x), counted()
    with without_plans(AT_ONCE):
        for n in range(3):
            new = a.copy()
            for _ in range(AT_ONCE):
                assert matmul(new, x).tobytes() == expected.tobytes()
        assert counted() == before and matmul(new, x).tobytes() == expected.tobytes()
        plan = _matmul.cache.owned[id(new.indices), np.dtype(np.float64), ()][0].plan
        assert plan._options.products in _matmul.STAGES
        new = a.copy()
        new.data[3] = 1e6
        as_scipy(new, x)
        new.data[3], new.indices[0] = 2, np.setdiff1d(np.arange(150), new.indices[:new.indptr[1]])[0]
        as_scipy(new, x)
        wide = scipy.sparse.csr_matrix(a)
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        assert matmul(wide, x).tobytes() == expected.tobytes()
        for out in (np.ones((200, 3)), np.ones((200, 3), order="F"), np.ones((200, 6))[:, ::2]):
            assert matmul(a.copy(), x, out=out) is out and (out == expected).all()
        bad = a.copy()
        bad.indices[5] = 150
        refused(ValueError, "A has a column index outside 0 to 149", matmul, bad, x)
        twice = a.copy()
        twice.indices[1] = twice.indices[0]
        as_scipy(twice, x)
        in_threads(lambda i: [as_scipy(a * (i + n), x) for n in range(20)], range(2))
        gc.collect()
        assert id(new.indices) in _matmul.cache.early.counts
        place = id(new.indices)
        del new
        gc.collect()
        assert place not in _matmul.cache.early.counts


@case("a plan is made anew as its products become more, and keeps the bits; not where its kernel or their number is given")
def _():
    a, x = large((200, 200)), random_x(200, 3)
    first = matmul(a, x)
    plan = _matmul.cache.owned[id(a.indices), np.dtype(np.float64), ()][0].plan
    before, seen = counted(), []
    for n in range(sum(_matmul.STAGES[:2]) + 2):
        seen.append(plan._options.products)
        assert matmul(a, x).tobytes() == first.tobytes()
        matmul(a, x[:, :1]) if n == 30 else None
    assert sorted(set(seen)) == list(_matmul.STAGES) and seen == sorted(seen)
    assert seen.count(_matmul.STAGES[0]) == _matmul.STAGES[0]
    assert counted() == before and plan.kernels[1]
    for options, expected in (({"products": 7}, 7), ({"kernel": "cpu_csr"}, 0), ({"k": 3}, _matmul.STAGES[0])):
        for _ in range(_matmul.STAGES[0] + 5):
            matmul(a, x, **options)
        plan = _matmul.cache.owned[id(a.indices), np.dtype(np.float64), tuple(options.items())][0].plan
        assert plan._options.products == expected


@case("only the plan that was used last keeps the memory of its large results")
def _():
    a, b, x = large((200, 200)), large((200, 200)).T.tocsr(), random_x(200, 100)
    one = matmul(a, x)
    kept = _matmul.cache.results
    assert len(kept.kept) == 1 and one.base is kept.kept[0]
    assert np.allclose(matmul(b, x), b @ x, rtol=0, atol=1e-12)
    assert not kept.kept and len(_matmul.cache.results.kept) == 1
    assert np.allclose(one, a @ x, rtol=0, atol=1e-12)


@case("threads that change the values of one matrix in turn have the product of theirs")
def _():
    a, x = large((150, 150)), random_x(150, 2)
    expected = a @ x

    def work(i):
        mine = sharing(a, a.shape)
        mine.data = a.data.copy()
        for n in range(60):
            mine.data[:] = a.data * (i * 100 + n)
            assert abs(matmul(mine, x) - (i * 100 + n) * expected).max() <= 1e-9 * (i * 100 + n + 1)
    in_threads(work, range(2))


@case("a plan goes with the last matrix of its pattern")
def _():
    gc.collect()
    there = known()
    a, x = random_matrix(61, 61), random_x(61, 3)
    twin = a.copy()
    matmul(a, x), matmul(twin, x), matmul(a.tocsc(), x)
    assert known() == there + 1
    plan = _matmul.cache.owned[id(a.indices), np.dtype(np.float64), ()][0].plan
    del a
    assert known() == there + 1
    matmul(twin, x.astype(np.float32))
    del twin
    assert known() == there and plan._closed
    most, bytes_of_all = _matmul.MOST, _matmul.MOST_BYTES
    for limit in ("MOST", "MOST_BYTES"):
        keep = []
        for i in range(12):
            keep.append(random_matrix(20, 20 + i))
            matmul(keep[-1], random_x(20 + i, 1))
            if i == 6:
                size = sum(each.bytes for each in _matmul.cache.all.values())
                setattr(_matmul, limit, 7 if limit == "MOST" else size)
        assert 4 <= known() <= 8, known()
        as_scipy(keep[0], random_x(20, 1))
        _matmul.MOST, _matmul.MOST_BYTES = most, bytes_of_all
        del keep
        gc.collect()
    gc.collect()
    assert known() == there and not _matmul.cache.owned, known()
    assert not any(len(table) > there for table in (_matmul.cache.alike, _matmul.cache.keyed))


@case("a key stands for the pattern")
def _():
    a, x = random_matrix(62, 62), random_x(62, 3)
    matmul(a, x, key=("mesh", 7))
    before = counted()
    a.data *= 3
    as_scipy(a, x, key=("mesh", 7))
    as_scipy(a.copy(), x, key=("mesh", 7))
    assert counted() == before
    as_scipy(a, x.astype(np.float32), key=("mesh", 7))
    more = random_matrix(62, 62, density=0.2)
    backward = scipy.sparse.csr_matrix((more.data[::-1].copy(), more.indices[::-1].copy(), more.nnz - more.indptr[::-1]), (62, 62))
    for other in (scipy.sparse.csr_matrix((62, 62)), more, backward, more.tocsc()):
        refused(ValueError, f"A has {other.nnz} entries, but key ('mesh', 7) was used for a matrix with {a.nnz}, expected the same pattern",
                matmul, other, x, key=("mesh", 7))
        as_scipy(other, x)
    longer = a.copy()
    longer.data, longer.indices = np.append(a.data, 7), np.append(a.indices, 0).astype(np.int32)
    assert (matmul(longer, x, key=("mesh", 7)) == matmul(a, x)).all()
    assert counted() == before + 3, "one for each other pattern"


@case("out is written in place, whatever its layout, and may overlap X")
def _():
    for dtype in (np.float64, np.float32, np.int32, bool):
        a, x = (random_matrix(30, 30) * 9).astype(dtype), (random_x(30, 3) * 9).astype(dtype)
        for out in (np.ones((30, 3), dtype), np.ones((30, 3), dtype, "F"), np.ones((30, 6), dtype)[:, ::2], x.copy()):
            given = out if out.flags.c_contiguous and (out == x).all() else x
            expected = matmul(a, given)
            assert matmul(a, given, out=out) is out and (out == expected).all()
        refused(TypeError, "out is", matmul, a, x, np.empty((30, 3), np.int64))
        refused(ValueError, "out has the shape [3, 30], expected [30, 3]", matmul, a, x, np.empty((3, 30), dtype))
    out.flags.writeable = False
    refused(ValueError, "out is read-only", matmul, a, x, out)
    refused(TypeError, "out is a list", matmul, a, x, [])


@case("matrices and X without rows, columns or entries multiply")
def _():
    for m, n in ((0, 5), (5, 0), (0, 0), (5, 5)):
        for dtype in (np.float64, np.int16):
            for form in ("csr", "csc", "coo"):
                a = scipy.sparse.csr_matrix((m, n), dtype=dtype).asformat(form)
                for shape in ((n, 2), (n, 0), (n,)):
                    as_scipy(a, np.ones(shape, dtype))


@case("what cannot be multiplied is refused with what to do")
def _():
    a, x = random_matrix(20, 20), random_x(20, 2)
    refused(TypeError, "A is complex256, expected float64, float32, complex128 or complex64: A.astype(numpy.complex128)", matmul,
            a.astype(np.clongdouble), x)
    refused(TypeError, "X is float128, expected float64, float32, complex128 or complex64: X.astype(numpy.float64)", matmul, a, x.astype(np.longdouble))
    refused(TypeError, "A is float128", matmul, a.astype(np.longdouble), x)
    refused(TypeError, "X is object", matmul, a, x.astype(object))
    refused(ValueError, "X has the shape [19, 2], expected [20, K] or [20]", matmul, a, x[1:])
    refused(ValueError, "X has the shape [20, 2, 1]", matmul, a, x[:, :, None])
    refused(ValueError, "X has the shape []", matmul, a, 3)
    refused(TypeError, "X is a sparse csr_matrix, expected a dense array: pass X.toarray(), or use SciPy's A @ X", matmul, a, a)
    refused(TypeError, "A is a ndarray, expected a SciPy sparse matrix or array", matmul, x, x)
    refused(TypeError, "X is a masked array", matmul, a, np.ma.masked_array(x))
    refused(ValueError, "threads", matmul, a, x, threads=-1)
    assert matmul(a, x.tolist()).shape == (20, 2)
    as_scipy(a, np.asarray(np.asmatrix(x)), threads=1, kernel="cpu_csr")


@case("threads multiply at the same time")
def _():
    shared = random_matrix(70, 70)

    def work(i):
        for n in range(30):
            as_scipy(shared, random_x(70, 1 + n % 3))
            own = random_matrix(70, 70 + n % 7, seed=i)
            own.data += n
            as_scipy(own, random_x(70 + n % 7, 2))
    in_threads(work, range(4))


@case("tensors of PyTorch in CSR multiply, and give tensors for tensors")
def _():
    torch = module("torch")
    warnings.simplefilter("ignore", UserWarning)  # PyTorch warns that CSR tensors are "in beta state"
    for dtype, of_x in ((torch.float64, torch.float64), (torch.float32, torch.float32), (torch.int32, torch.int64), (torch.bool, torch.bool)):
        a = (random_matrix(30, 20, density=0.3) * 9).astype(str(dtype)[6:])
        for index in (torch.int32, torch.int64):
            theirs = torch.sparse_csr_tensor(torch.tensor(a.indptr, dtype=index), torch.tensor(a.indices, dtype=index), torch.tensor(a.data), a.shape)
            for x in (torch.tensor(random_x(20, 3) * 9).to(of_x), torch.tensor(random_x(20, 1)[:, 0] * 9).to(of_x)):
                y = matmul(theirs, x)
                expected = as_scipy(a, x.numpy())
                assert isinstance(y, torch.Tensor) and (y.numpy() == expected).all() and y.numpy().dtype == expected.dtype
                assert (matmul(theirs, x.numpy()) == expected).all() and (matmul(a, x).numpy() == expected).all()
                out = torch.empty_like(y)
                assert matmul(theirs, x, out=out) is out and (out == y).all()
            if dtype.is_floating_point:
                theirs.values()[:] *= 2
                assert (matmul(theirs, x).numpy() == 2 * expected).all()
    refused(TypeError, "expected torch.sparse_csr: A.to_sparse_csr()", matmul, torch.eye(3).to_sparse(), torch.eye(3))
    for batch in (torch.ones(2, 3, 3).to_sparse(), torch.ones(2, 3, 3).to_sparse_csr()):
        refused(TypeError, "A is a tensor of 3 dimensions, expected one matrix: multiply each A[i]", matmul, batch, torch.eye(3))
    csr = torch.eye(3).to_sparse_csr()
    refused(TypeError, "A is bfloat16, expected float64, float32, complex128 or complex64: A.to(torch.float64)", matmul, csr.to(torch.bfloat16), torch.eye(3))
    refused(TypeError, "X is bfloat16, expected float64, float32, complex128 or complex64: X.to(torch.float64)", matmul, csr, torch.eye(3).to(torch.bfloat16))
    assert matmul(csr, torch.eye(3).to(torch.complex64).conj()).dtype == torch.complex64
    refused(ValueError, "X has the shape [2, 3, 3], expected [3, K] or [3]", matmul, csr, torch.ones(2, 3, 3))
    assert matmul(csr, torch.eye(3).half()).dtype == torch.float32
    refused(TypeError, "X is a sparse Tensor", matmul, scipy.sparse.eye(3), torch.eye(3).to_sparse())
    eye = torch.eye(3).to_sparse_csr()
    refused(TypeError, "spmm_mpi.torch", matmul, eye.requires_grad_(), torch.eye(3))
    refused(TypeError, "requires a gradient", matmul, eye.detach(), torch.eye(3, requires_grad=True))
    refused(TypeError, "out is a ndarray, expected a PyTorch tensor in host memory, as X is", matmul, eye.detach(), torch.eye(3), np.empty((3, 3), np.float32))


@case("a forked process is refused, and frees what it has")
def _():
    a = random_matrix(20, 20)
    matmul(a, random_x(20, 1))
    child = os.fork()
    if child == 0:
        told = 1
        try:
            matmul(a, random_x(20, 1))
        except spmm_mpi.Error as error:
            del a
            gc.collect()
            told = "forked" not in str(error)
        os._exit(told)
    assert os.waitpid(child, 0)[1] == 0


run_all()
