"""What the Python package computes and refuses, compared with SciPy: run by tests/test_python.py under mpirun."""
import gc
import pickle
import threading
import unittest.mock
import warnings

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from mpi4py import MPI

import spmm_mpi
from python_ranks import A, Skipped, X, case, comm, in_threads, module, near, on_root, random_matrix, random_x, rank, ranks, refused, rows_of, run_all
from spmm_mpi import Plan, _gpu_matrix as gpu_matrix
from spmm_mpi._library import comm_type, loaded, newer
from spmm_mpi._matrix import RankCut
from spmm_mpi import _plan
from spmm_mpi._plan import STAGES

# ---- threads ----

THREADS, TURNS = (1, 2, 3), 40


@case("threads that share a plan take turns: all of their products are right")
def _():
    a, x = random_matrix(150, 150, np.float64, 0.1), random_x(150, 8, np.float64)
    ax, atx = a @ x, a.T @ x

    def out_of(plan, i):
        out = np.empty((150, 8))
        return plan.apply(i * x, out=out)

    def other_k(plan, i):
        near(plan @ (i * x[:, :i + 3]), i * ax[:, :i + 3], "another K")
        return plan @ (i * x)

    def everything(plan, i):
        plan.update_values(a)
        assert plan.view() and plan.kernels and plan.block().nnz == a.nnz and plan.x_zeros(8).shape == x.shape
        y = plan.y_zeros(8)
        plan.apply(i * x, out=y)
        return y
    ways = [lambda plan, i: plan @ (i * x), lambda plan, i: plan @ np.asfortranarray(i * x), out_of, everything,
            lambda plan, i: plan @ np.repeat(i * x, 2, axis=1)[:, ::2]]
    for k in (8, None):
        for way in ways + [other_k] * (k is None):
            with Plan(MPI.COMM_SELF, a, k) as plan:
                if k is None:
                    plan.prepare(8)
                in_threads(lambda i: near(way(plan, i), i * ax, "A X"), THREADS, TURNS)
        with Plan(MPI.COMM_SELF, a, k) as plan:
            in_threads(lambda i: near(plan.T @ (i * x), i * atx, "A^T X"), THREADS, TURNS)


@case("threads compute by plans of their own and between products at a time")
def _():
    a, x = random_matrix(150, 150, np.float64, 0.1), random_x(150, 8, np.float64)
    comms = [MPI.COMM_SELF.Dup() for _ in range(4)]

    def turn(i):
        with Plan(comms[i], a, 8) as plan:
            y = plan @ (i * x)
        near(y, i * (a @ x), "A X")
        near(spmm_mpi.dot(comms[i], y), y.T @ y, "a Gram matrix")
        near(spmm_mpi.norms(comms[i], y), np.linalg.norm(y, axis=0), "norms")
        near(spmm_mpi.times(y, np.eye(8), alpha=2), 2 * y, "X R")
    in_threads(turn, THREADS, TURNS)
    for one in comms:
        one.Free()


# ---- products ----

SHAPES = [(60, 60), (97, 41), (41, 97), (1, 1), (5, 1), (1, 5), (3, 200)]


def products(rows, dtype):
    for m, n in SHAPES:
        a = random_matrix(m, n, dtype, 0.3)
        mine = on_root(a) if rows == "root" else a[rows_of(m)]
        for k in (1, 3, 8):
            x = random_x(n, k, dtype)
            with Plan(comm, mine, k, rows=rows) as plan:
                assert plan.shape == (m, n) and plan.dtype == dtype
                near(plan @ x[plan.x_range], (a @ x)[plan.y_range], f"{m} x {n}, {k}")
                covered = comm.allgather((plan.x_range, plan.y_range))
                assert [r.start for r, _ in covered] == [0] + [r.stop for r, _ in covered][:-1] and covered[-1][0].stop == n
                assert [r.start for _, r in covered] == [0] + [r.stop for _, r in covered][:-1] and covered[-1][1].stop == m
                if m == n:
                    assert plan.x_range == plan.y_range
                if rows == "distributed":
                    assert plan.y_range == rows_of(m)


@case("a product has SciPy's elements, of a matrix on rank 0")
def _():
    for dtype in (np.float64, np.float32):
        products("root", dtype)


@case("and of a matrix that is distributed by rows")
def _():
    for dtype in (np.float64, np.float32):
        products("distributed", dtype)


@case("ranks may have no rows, and matrices no entries")
def _():
    empty = scipy.sparse.csr_matrix((7, 7))
    with Plan(comm, on_root(empty), 2) as plan:
        near(plan @ np.ones((7, 2))[plan.x_range], np.zeros((7, 2))[plan.y_range])
    last = A if rank == ranks - 1 else scipy.sparse.csr_matrix((0, 90))
    with Plan(comm, last, 4, rows="distributed") as plan:
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
        assert plan.x_zeros().shape == (90 if rank == ranks - 1 else 0, 4)
        near(plan.apply(plan.x_zeros(), out=plan.y_zeros()), plan.y_zeros())


def fails_once(place, name, text, on=0):
    """A context in which the first call of a function raises a MemoryError on rank `on`."""
    real, left = getattr(place, name), [rank == on]

    def function(*arguments, **named):
        if left and left.pop():
            raise MemoryError(text)
        return real(*arguments, **named)
    return unittest.mock.patch.object(place, name, function)


@case("a matrix is cut and renumbered in every way, with X and Y of the rows row_numbers, and the bits stay")
def _():
    n = 400
    line = scipy.sparse.diags([0.3, 2.7, -1.1], [-1, 0, 1], shape=(n, n), format="csr")
    order = np.random.default_rng(5).permutation(n)
    a, x = line[order][:, order], random_x(n, 4)
    with Plan(comm, on_root(a), 4, reproducible="exact") as plan:
        assert plan.cut is None and (plan.row_numbers == np.arange(n)[plan.x_range]).all()
        whole = np.concatenate(comm.allgather(plan @ x[plan.x_range]))
    for by in ("auto", "entries", "rows", "layout"):
        with Plan(comm, on_root(a), 4, cut=by, reproducible="exact") as plan:
            mine = plan.row_numbers
            assert sorted(np.concatenate(comm.allgather(mine))) == list(range(n))
            assert (plan @ x[mine] == whole[mine]).all(), by
            near(plan.T @ x[mine], (a.T @ x)[mine], by)
            near(plan.diagonal(), a.diagonal()[mine], by)
            if plan.cut.by == "layout":
                refused(spmm_mpi.Error, "x_range: the plan's cut has renumbered the rows: plan.row_numbers", lambda: plan.x_range)
                refused(spmm_mpi.Error, "y_range: the plan's cut has", lambda: plan.y_range)
                block = plan.block()
                assert (np.sort(block.data) == np.sort(a[mine].data)).all()
            else:
                assert (mine == np.arange(n)[plan.x_range]).all() and plan.x_range == plan.y_range
            assert plan.cut.by == ("entries" if by == "auto" else by) and bool(plan.cut.why) == (by == "auto")
            assert by != "layout" or ranks == 1 or 20 * plan.cut.moved < plan.cut.moved_by_entries, plan.cut
            plan.update_values(on_root(2 * a))
            assert (plan @ x[mine] == 2 * whole[mine]).all(), by
            with plan.operator() as op:
                if op is not None:
                    near(op @ x, 2 * (a @ x), by)
                    near(op.rmatmat(x), 2 * (a.T @ x), by)
                    if by == "layout":
                        with fails_once(np, "empty", "no room for x"):
                            refused(MemoryError, "no room for x", op.matmat, x)
                        near(op @ x, 2 * (a @ x), "after a MemoryError, for which no rank waits")
            if ranks == 1:
                near(plan.matmat(x), 2 * (a @ x), by)
                near(plan.rmatmat(x + 1j * x), 2 * (1 + 1j) * (a.T @ x), by)
                refused(ValueError, f"expected {n}", plan.matmat, x[1:])
    for side, call in ((0, "matvec"), (1, "rmatvec")):
        with Plan(MPI.COMM_SELF, a, 1, cut="layout") as plan:
            assert (plan.row_numbers != np.arange(n)).any()
            near(getattr(plan, call)(x[:, 0]), (a.T if side else a) @ x[:, 0], call)
            near(getattr(plan, call)(x[:, :1]), (a.T if side else a) @ x[:, :1], call)
            near(getattr(scipy.sparse.linalg.aslinearoperator(plan), call)(x[:, 2]), (a.T if side else a) @ x[:, 2], call)
    with fails_once(RankCut, "take", "no room for rows", on=ranks - 1):
        refused(MemoryError, "no room for rows", Plan, comm, on_root(a), 4, cut="layout")
    # a plan of one rank whose matrix is on a GPU ignores a valid cut
    with unittest.mock.patch.object(gpu_matrix, "is_on_gpu", lambda A: True):
        refused(TypeError, "the plan computes on the CPU", Plan, MPI.COMM_SELF, a, 4, cut="layout")
        refused(ValueError, "cut is 'nothing'", Plan, MPI.COMM_SELF, a, 4, cut="nothing")
    with Plan(comm, on_root(a), cut="auto", transport="mpi", products=10 ** 9) as plan:
        assert plan.cut.by == ("entries" if ranks == 1 else "layout") or ranks > 1 and plan.cut.by == "graph", plan.cut
        near(plan @ x[plan.row_numbers], (a @ x)[plan.row_numbers])
    refused(ValueError, "cut is 'nothing', expected auto", Plan, comm, on_root(a), 4, cut="nothing")
    refused(ValueError, "cut is 'auto', expected None", Plan, comm, a if rank == 0 else a[:0], 4, cut="auto", rows="distributed")
    refused(spmm_mpi.Error, "expected a square matrix", Plan, comm, on_root(a[:9]), 4, cut="layout")
    if ranks > 1:
        refused(ValueError, "cut is 'auto', expected None", Plan, comm, on_root(a), 4, cut="auto", grid=(1, ranks))
        refused(ValueError, "cut is ", Plan, comm, on_root(a), 4, cut="layout" if rank else None)


@case("a vector is a multivector of one column, whose result is a vector")
def _():
    with Plan(comm, on_root(A), 1) as plan:
        near(plan @ X[plan.x_range, 0], (A @ X[:, 0])[plan.y_range])
        near(plan @ X[plan.x_range, :1], (A @ X[:, :1])[plan.y_range])
        out = np.empty(len(plan.y_zeros()))
        near(plan.apply(X[plan.x_range, 1], out=out, alpha=2), 2 * (A @ X[:, 1])[plan.y_range])


@case("every layout of X is taken: columns first, parts, backward, repeated, not aligned, read-only, matrix")
def _():
    wide = random_x(90, 9)
    with Plan(comm, on_root(A), 4) as plan:
        mine = np.ascontiguousarray(X[plan.x_range])
        expected = (A @ X)[plan.y_range]
        bytes_ = np.zeros(mine.nbytes + 1, np.uint8)
        odd = np.ndarray(mine.shape, mine.dtype, buffer=bytes_, offset=1)
        odd[:] = mine
        for layout in (mine, np.asfortranarray(mine), odd, np.asmatrix(mine), mine.view(np.recarray)):
            near(np.asarray(plan @ layout), expected, str(layout.strides))
        mine.flags.writeable = False
        near(plan @ mine, expected)
        part = wide[plan.x_range]
        for columns in (slice(0, 4), slice(5, 9), slice(0, 8, 2), slice(8, 4, -1)):
            near(plan @ part[:, columns], (A @ wide[:, columns])[plan.y_range], str(columns))
        near(plan @ wide[::-1][::-1][plan.x_range, 2:6], (A @ wide[:, 2:6])[plan.y_range])
        same = np.broadcast_to(np.arange(4.0), (90, 4))
        near(plan @ same[plan.x_range], (A @ same)[plan.y_range])
        owned = plan.x_zeros()
        owned[:] = mine
        near(plan @ owned, expected)
        near(plan @ owned[:], expected)
        column = np.ascontiguousarray(wide[plan.x_range])
    with Plan(comm, on_root(A), 1) as plan:
        near(plan @ column[:, 8], (A @ wide[:, 8])[plan.y_range])
        near(plan @ column[:, 3], (A @ wide[:, 3])[plan.y_range])


@case("arrays in Fortran's order are libspmm's to convert, and parts of them, too")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        whole = np.asfortranarray(random_x(90, 9))
        for columns in (slice(0, 4), slice(5, 9), slice(0, 8, 2)):
            X_part, expected = whole[plan.x_range, columns], (A @ whole[:, columns])[plan.y_range]
            near(plan @ X_part, expected, str(columns))
            out = np.full((len(expected) + 3, 4), 7.0, order="F")
            plan.apply(X_part, out=out[:-3], alpha=2, beta=0)
            near(out, np.vstack([2 * expected, np.full((3, 4), 7.0)]), str(columns))
        assert len(plan.y_zeros()) < 2 or not plan._products[4].spares, plan._products[4].spares


@case("a stream is for GPUs, and of PyTorch, CuPy or a number")
def _():
    refused(spmm_mpi.Error, "options.stream is given, expected NULL with options.device SPMM_CPU", Plan, comm, on_root(A), 4, stream=5)
    for wrong in ("main", 1.5, [1]):
        refused(TypeError, "expected a stream of PyTorch or CuPy", Plan, comm, on_root(A), 4, stream=wrong)
    refused(ValueError, "stream is -1", Plan, comm, on_root(A), 4, stream=-1)


@case("every layout of out is written, and nothing beside it")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        mine, rows = X[plan.x_range], len(plan.y_zeros())
        before = random_x(90, 9)[plan.y_range]
        product = (A @ X)[plan.y_range]
        for alpha, beta in ((1, 0), (2.5, 0), (1, 1), (-1, 0.5), (0, 2), (np.float32(0.5), np.int64(3))):
            for make in (lambda: before[:, :4].copy(), lambda: np.asfortranarray(before[:, :4])):
                out = make()
                assert plan.apply(mine, out=out, alpha=alpha, beta=beta) is out
                near(out, float(alpha) * product + float(beta) * before[:, :4], f"{alpha} {beta}")
            for columns in (slice(0, 4), slice(5, 9), slice(0, 8, 2), slice(8, 4, -1)):
                whole = before.copy()
                plan.apply(mine, out=whole[:, columns], alpha=alpha, beta=beta)
                expected = before.copy()
                expected[:, columns] = float(alpha) * product + float(beta) * before[:, columns]
                near(whole, expected, f"{columns} {alpha} {beta}")
        out = np.full((rows, 4), np.nan)
        near(plan.apply(mine, out=out), product, "NaN is not read with beta = 0")


@case("x_zeros and y_zeros are multivectors of libspmm, with its leading dimension, that outlive their plan and change places")
def _():
    plan = Plan(comm, on_root(A), 3)
    x, y = plan.x_zeros(), plan.y_zeros()
    assert x.shape == y.shape == (len(x), 3) and not x.any() and not y.any()
    assert len(x) < 2 or x.strides == (32, 8)
    x[:] = X[plan.x_range, :3]
    assert plan.apply(x, out=y) is y
    near(np.array(y), (A @ X[:, :3])[plan.y_range])
    z = plan.x_zeros()
    plan.apply(x, out=z)
    plan.apply(z, out=x)
    near(np.array(x), (A @ (A @ X[:, :3]))[plan.y_range])
    rows = plan.y_range
    plan.close()
    gc.collect()
    near(np.array(x), (A @ (A @ X[:, :3]))[rows])
    with Plan(comm, on_root(A), 3) as plan:
        near(plan @ x, (A @ (A @ (A @ X[:, :3])))[plan.y_range])
    del x, y, z
    gc.collect()


@case("a plan without k takes any K, and keeps what it made for it")
def _():
    with Plan(comm, on_root(A)) as plan:
        assert plan.kernel is None and plan.kernels == {}
        for k in (4, 1, 3, 4):
            near(plan @ X[plan.x_range, :k], (A @ X[:, :k])[plan.y_range])
        assert sorted(plan.kernels) == [1, 3, 4]
        near(plan @ X[plan.x_range, 0], (A @ X[:, 0])[plan.y_range])
        plan.prepare(2)
        assert plan.x_zeros(2).shape == (len(X[plan.x_range]), 2)
        out = plan.y_zeros(2)
        near(np.array(plan.apply(X[plan.x_range, 1:3], out=out)), (A @ X[:, 1:3])[plan.y_range])
        assert plan.kernel == plan.kernels[2]
        refused(ValueError, "call prepare(k) first", plan.x_zeros, 7)
        refused(ValueError, "pass one of these k", plan.y_zeros)
    with Plan(comm, on_root(A), [2, 4]) as plan:
        assert sorted(plan.kernels) == [2, 4] and len(plan._made_for) == 1
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])


@case("a plan of one rank for an unknown number of products is made again as they become more, and keeps the bits")
def _():
    a, x = random_matrix(300, 300, np.float64, 0.1), random_x(300, 8)
    out, y = np.empty_like(x), a @ x
    with Plan(MPI.COMM_SELF, a) as plan:
        first, seen, made = plan @ x, [plan._options.products], plan._made_for[0]
        zeros = plan.x_zeros(8)
        zeros[:] = x
        for n in range(1, sum(STAGES[:2]) + 1):
            if n == STAGES[0] - 1:
                plan.begin(x, out=out)
                assert plan.end().tobytes() == first.tobytes()
                assert made.handle is None and plan._made_for[0].handle, "begin() needs a plan"
                made = plan._made_for[0]
            elif n == STAGES[0]:
                near(plan.T @ x, a.T @ x, "the product that makes the plan again")
                assert plan._made_for[0] is not made
            else:
                ways = (lambda: plan @ x, lambda: plan.apply(x, out=out), lambda: plan.apply(zeros, out=out), lambda: plan @ np.asfortranarray(x))
                assert ways[n % 4]().tobytes() == first.tobytes()
            seen.append(plan._options.products)
        assert seen == [STAGES[0]] * STAGES[0] + [STAGES[1]] * STAGES[1] + [STAGES[2]] and plan.kernel
        plan.update_values(2 * a)
        near(plan @ x, 2 * y)
    for first, later in ((2, 8), (8, 2)):
        with Plan(MPI.COMM_SELF, a) as plan:
            near(plan @ x[:, :first], y[:, :first])
            plan.begin(x[:, :first], out=out[:, :first])
            refused(spmm_mpi.Error, "has begun: call end() first", plan.prepare, later)
            near(plan.end(), y[:, :first])
            plan.prepare(later)
            assert plan._options.products == STAGES[2] and not plan._stages
            near(plan @ x[:, :later], y[:, :later])
    with Plan(MPI.COMM_SELF, a, format="ell") as plan:
        near(plan @ x, y)
        assert plan.kernel == "cpu_ell"
    for given in ({"k": 8}, {"k": [2, 8]}, {"products": 30}, {"kernel": "cpu_csr"}, {"plan": "quick"}):
        with Plan(MPI.COMM_SELF, a, **given) as plan:
            near(plan @ x, y)
            assert not plan._stages and plan._options.products == given.get("products", 0), given
    with Plan(MPI.COMM_SELF, a) as plan:
        first = plan @ x
        with unittest.mock.patch.object(loaded(), "spmm_plan_create_extended", lambda *of: int(spmm_mpi.Status.MEMORY)):
            for _ in range(STAGES[0] + 1):
                assert (plan @ x).tobytes() == first.tobytes()
        assert not plan._stages


@case("the memory of a large result is used again only if no array, view or buffer refers to it")
def _():
    a, x = random_matrix(300, 300, np.float64, 0.1), random_x(300, 64)
    y = a @ x
    with Plan(MPI.COMM_SELF, a) as plan:
        kept = [plan @ (i * x) for i in range(4)] + [plan @ np.asfortranarray(4 * x)]
        assert len({one.ctypes.data for one in kept}) == len(kept)
        for i, one in enumerate(kept):
            near(one, i * y)
        address, view, buffer = kept[4].ctypes.data, kept[4][7:9, 1:3], memoryview(kept[3])
        del kept, one
        for _ in range(3):
            plan @ x
        near(view, 4 * y[7:9, 1:3])
        near(np.asarray(buffer), 3 * y)
        del view
        again = plan @ x
        assert again.ctypes.data == address and again.flags.c_contiguous
        again.flags.writeable, again.shape = False, (64, 300)
        del again
        near(plan @ x, y)
        chain = x
        for _ in range(3):
            chain = plan @ chain
        near(chain, a @ (a @ y), "A A A X")
        tall = plan @ np.repeat(x, 3, axis=1)
        near(tall, np.repeat(y, 3, axis=1))
    near(tall, np.repeat(y, 3, axis=1), "after the end of the plan")


@case("one plan of libspmm serves all K, and a greater K makes it anew")
def _():
    with Plan(comm, on_root(A)) as plan:
        wide = random_x(90, 40)
        for k, most in ((3, 3), (1, 3), (5, 8), (8, 8), (2, 8), (33, 64), (40, 64), (3, 64)):
            near(plan @ wide[plan.x_range, :k], (A @ wide[:, :k])[plan.y_range], str(k))
            near(plan.T @ wide[plan.y_range, :k], (A.T @ wide[:, :k])[plan.x_range], str(k))
            assert [made.most for made in plan._made_for] == [most], [made.most for made in plan._made_for]
        x = plan.x_zeros(3)
        x[:] = wide[plan.x_range, :3]
        near(plan @ x, (A @ wide[:, :3])[plan.y_range])
        near(plan @ wide[plan.x_range, :2], (A @ wide[:, :2])[plan.y_range])
        near(plan @ x, (A @ wide[:, :3])[plan.y_range])


@case("X without columns gives Y without columns")
def _():
    with Plan(comm, on_root(A)) as plan:
        none = X[plan.x_range, :0]
        rows = len(X[plan.y_range])
        for _ in range(2):
            assert (plan @ none).shape == (rows, 0)
            assert (plan.T @ X[plan.y_range, :0]).shape == (len(none), 0)
            near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
            assert plan.apply(none, out=np.empty((rows, 0)), alpha=2.0, beta=3.0).shape == (rows, 0)
            assert (plan @ np.empty((len(none), 0), order="F")).shape == (rows, 0)


# ---- matrices ----

@case("matrices of other formats, with unsorted indices and duplicates are converted, and stay as they are")
def _():
    for name in ("csc", "coo", "lil", "dok", "dia", "bsr"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
            other = A.asformat(name)
        with Plan(comm, on_root(other), 4) as plan:
            near(plan @ X[plan.x_range], (A @ X)[plan.y_range], name)
    with Plan(comm, on_root(scipy.sparse.csr_array(A)) if hasattr(scipy.sparse, "csr_array") else on_root(A), 4) as plan:
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
    indices = np.array([2, 0, 2, 1, 0, 1], np.int64)
    odd = scipy.sparse.csr_matrix((np.arange(1.0, 7), indices, np.array([0, 4, 6, 6])), shape=(3, 3))
    dense = odd.toarray()
    x = random_x(3, 2)
    with Plan(comm, on_root(odd), 2) as plan:
        near(plan @ x[plan.x_range], (dense @ x)[plan.y_range])
    assert (odd.indices == indices).all() and odd.nnz == 6
    odd.has_sorted_indices = odd.has_canonical_format = True  # set wrongly: neither is true
    with Plan(comm, odd[rows_of(3)] if ranks > 1 else odd, 2, rows="distributed") as plan:
        near(plan @ x[plan.x_range], (dense @ x)[plan.y_range])


@case("the plan has a copy: what becomes of A does not matter")
def _():
    a = A.copy()
    mine = a[rows_of(90)]
    with Plan(comm, mine, 4, rows="distributed", format="csr") as plan:
        mine.data[:] = np.nan
        mine.indices[:] = 10 ** 6
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
    with Plan(comm, on_root(a), 4, format="csr") as plan:
        a.data[:] = np.nan
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])


def damaged(what):
    a = A.copy()
    if what == "index":
        a.indices[5] = 90
    elif what == "negative":
        a.indices[5] = -1
    elif what == "start":
        a.indptr[0] = 1
    elif what == "decreasing":
        a.indptr[3] = a.indptr[5] + 1
    elif what == "end":
        a.indptr[-1] += 7
    elif what == "starts":
        a.indptr = a.indptr[:-1]
    return a


BAD = [(TypeError, "expected a SciPy sparse matrix", lambda: A.toarray()), (TypeError, "expected a SciPy sparse matrix", lambda: "A.mtx"),
       (ValueError, "beyond 2^53", lambda: (A != 0).astype(np.int64) * (2 ** 53 + 1)),
       (TypeError, "expected float64, float32, complex128 or complex64: A.astype(numpy.float64)", lambda: A.astype(np.longdouble)),
       (TypeError, "complex64: A.astype(numpy.complex128)", lambda: A.astype(np.clongdouble)),
       (ValueError, "outside 0 to 89", lambda: damaged("index")), (ValueError, "outside 0 to 89", lambda: damaged("negative")),
       (ValueError, "begin with 0, or decreases", lambda: damaged("start")),
       (ValueError, "begin with 0, or decreases", lambda: damaged("decreasing")),
       (ValueError, "A.indptr ends with", lambda: damaged("end")), (ValueError, "90 row starts", lambda: damaged("starts")),
       (ValueError, "expected at most 2147483647", lambda: scipy.sparse.csr_matrix((1, 2 ** 31), dtype=np.float64))]


@case("a bad matrix of one rank is the same exception on every rank")
def _():
    for kind, part, make in BAD:
        error = refused(kind, part, Plan, comm, on_root(make() if rank == 0 else None), 4)
        assert len(set(comm.allgather(str(error)))) == 1
        bad = ranks - 1
        error = refused(kind, part, Plan, comm, make() if rank == bad else A, 4, rows="distributed")
        assert len(set(comm.allgather(str(error)))) == 1
        assert ranks == 1 or f"rank {bad}: " in str(error)
    coo = A.copy().tocoo()
    coo.col = coo.col.copy()
    coo.col[3] = 1000
    refused(ValueError, "column index outside 0 to 89", Plan, comm, on_root(coo), 4)
    csc = A.tocsc()
    csc.indices[3] = 1000
    refused(ValueError, "", Plan, comm, on_root(csc), 4)


@case("None where the matrix should be, and a matrix where None should be, are refused on every rank")
def _():
    refused(TypeError, "A is a NoneType", Plan, comm, None, 4)
    refused(TypeError, "A is a NoneType", Plan, comm, A if rank else None, 4, rows="distributed")
    if ranks > 1:
        refused(TypeError, "rank 1: A is a csr_matrix, expected None", Plan, comm, A, 4)


@case("what differs between ranks is refused on every rank")
def _():
    if ranks == 1:
        return
    last = rank == ranks - 1
    refused(ValueError, f"k is ((3,), True) on rank 0 and ((4,), True) on rank {ranks - 1}", Plan, comm, on_root(A), 4 if last else 3)
    refused(ValueError, "rows is 'distributed' on rank 0", Plan, comm, None if last else A, 4, rows="root" if last else "distributed")
    refused(ValueError, "A.dtype is 'float64' on rank 0", Plan, comm, A.astype(np.float32) if last else A, 4, rows="distributed")
    refused(ValueError, "the number of columns of A is 90 on rank 0 and 89", Plan, comm, A[:, :89] if last else A, 4,
            rows="distributed")
    refused(spmm_mpi.Error, "options.exchange", Plan, comm, on_root(A), 4, exchange="halo" if last else "bcast")
    refused(ValueError, "device is 'cpu' on rank 0", Plan, comm, on_root(A), 4, device="auto" if last else "cpu")


# ---- arguments of the constructor ----

@case("a wrong communicator is refused")
def _():
    refused(TypeError, "comm is a NoneType", Plan, None, A, 4)
    refused(TypeError, "comm is a int", Plan, 0, A, 4)
    refused(ValueError, "MPI.COMM_NULL", Plan, MPI.COMM_NULL, A, 4)
    if ranks > 1:
        half = comm.Split(rank % 2)
        inter = half.Create_intercomm(0, comm, 1 - rank % 2)
        refused(TypeError, "an inter-communicator", Plan, inter, A, 4)
        inter.Free()
        half.Free()


@case("parts of the ranks have plans of their own")
def _():
    half = comm.Split(rank % 2, -rank)
    with Plan(half, A if half.rank == 0 else None, 4) as plan:
        half.Free()
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])


@case("every option is taken by the program's words, and anything else is refused with what there is")
def _():
    words = {"device": "cpu", "format": "csr ell ell-nopad auto", "exchange": "auto halo bcast joint", "transport": "auto mpi shared",
             "reduce": "auto linear tree butterfly mpi", "reproducible": "on off exact", "plan": "timed quick", "kernel": "auto cpu_csr", "exchange_precision": "f64"}
    for name, list_ in words.items():
        for one in list_.split():
            if name == "transport" and one == "shared" and ranks == 1:
                continue
            extra = {"ell_limit": 1e6, name: one}
            with Plan(comm, on_root(A), 4, **extra) as plan:
                near(plan @ X[plan.x_range], (A @ X)[plan.y_range], str(extra))
        for wrong in ("nothing", 3, None, b"auto", ""):
            if name == "kernel":
                continue
            refused(ValueError, f"{name} is {wrong!r}, expected ", Plan, comm, on_root(A), 4, **{name: wrong})
    with Plan(comm, on_root(A), 4, threads=1, no_overlap=True, column_blocks=1, products=5, block_size=0, subwarp=0) as plan:
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
        assert plan.device == "cpu" and plan.kernel.startswith("cpu_")
    with Plan(comm, on_root(A), 4, exchange_precision="f32") as plan:
        arrived = X.astype(np.float32).astype(np.float64)
        arrived[plan.x_range] = X[plan.x_range]
        near(plan @ X[plan.x_range], (A @ arrived)[plan.y_range], "exchange_precision")
    refused(spmm_mpi.Error, "options.exact", Plan, comm, on_root(A), 4, exchange_precision="f32", reproducible="exact")
    with Plan(comm, on_root(A), 4, format="csr", kernel="cpu_csr") as plan:
        assert plan.kernel == "cpu_csr" and plan.kernels == {4: "cpu_csr"}
    refused(spmm_mpi.Error, "no kernel multiplies f64 values in this format", Plan, comm, on_root(A), 4, format="sell")
    for k in (4, None):
        refused(spmm_mpi.Error, "no kernel cpu_crs: see --list-kernels", Plan, comm, on_root(A), k, kernel="cpu_crs")
        refused(spmm_mpi.Error, "options.threads = 99999: expected 1 to ", Plan, comm, on_root(A), k, threads=99999)
        refused(spmm_mpi.Error, "is for another device or format", Plan, comm, on_root(A), k, kernel="csr_rows")
    refused(TypeError, "kernel is 3", Plan, comm, on_root(A), 4, kernel=3)
    refused(spmm_mpi.Error, "cpu_nothing", Plan, comm, on_root(A), 4, kernel="cpu_nothing")
    refused(ValueError, "rows is 'columns', expected root or distributed", Plan, comm, on_root(A), 4, rows="columns")
    refused(spmm_mpi.Error, "ell_limit", Plan, comm, on_root(A), 4, ell_limit=float("nan"))
    refused(TypeError, "ell_limit", Plan, comm, on_root(A), 4, ell_limit="3")


@case("numbers that are no whole numbers, too small or too large for C are refused")
def _():
    for name in ("threads", "block_size", "subwarp", "column_blocks", "products"):
        for wrong in (1.0, "1", None, True, [1]):
            refused(TypeError, f"{name} is {wrong!r}, expected a whole number", Plan, comm, on_root(A), 4, **{name: wrong})
        for wrong in (-1, 2 ** 63, 10 ** 30):
            refused(ValueError, f"{name} is {wrong}, expected 0 to", Plan, comm, on_root(A), 4, **{name: wrong})
    refused(ValueError, "threads is 4294967297", Plan, comm, on_root(A), 4, threads=2 ** 32 + 1)
    error = refused(spmm_mpi.Error, "threads", Plan, comm, on_root(A), 4, threads=2 ** 31 - 1)
    assert error.status is spmm_mpi.Status.USAGE
    refused(spmm_mpi.Error, "column", Plan, comm, on_root(A), 4, column_blocks=3)
    for wrong in (0, -1, 2 ** 32 + 4, 2 ** 64 + 4):
        refused(ValueError, f"k is {wrong}, expected 1 to", Plan, comm, on_root(A), wrong)
        refused(ValueError, f"k is {wrong}, expected 1 to", Plan, comm, on_root(A), [4, wrong])
    for wrong in (4.0, "4", True):
        refused(TypeError, f"k is {wrong!r}, expected a whole number", Plan, comm, on_root(A), wrong)
    refused(TypeError, "grid is 4", Plan, comm, on_root(A), 4, grid=4)
    refused(ValueError, f"expected P x Q = {ranks}", Plan, comm, on_root(A), 4, grid=(ranks, 2))
    refused(ValueError, "P is 0", Plan, comm, on_root(A), 4, grid=(0, 0))
    if ranks > 1:
        refused(ValueError, 'with rows="distributed"', Plan, comm, A, 4, rows="distributed", grid=(1, ranks))


@case("a wrong option of one rank is the same exception on every rank")
def _():
    bad = rank == ranks - 1
    error = refused(ValueError, "format is 'nothing'", Plan, comm, on_root(A), 4, format="nothing" if bad else "csr")
    assert len(set(comm.allgather(str(error)))) == 1
    error = refused(spmm_mpi.Error, "threads", Plan, comm, on_root(A), 4, threads=10 ** 6 if bad else 1)
    assert len(set(comm.allgather(str(error)))) == 1


# ---- arguments of a product ----

def bad_x(plan):
    good = np.ascontiguousarray(X[plan.x_range])
    rows = len(good)
    wide = np.concatenate([good, good[:, :1]], axis=1)
    return [(TypeError, "X is complex256", good.astype(np.clongdouble)),
            (TypeError, "X is object", good.astype(object)), (TypeError, "X is a list", good.tolist()),
            (TypeError, "X is a NoneType", None), (TypeError, "X is a csr_matrix", scipy.sparse.csr_matrix(good)),
            (TypeError, "masked", np.ma.array(good)), (TypeError, "X is a float", 1.0),
            (ValueError, f"expected {rows}, the rows that this rank owns", np.vstack([good, np.ones((1, 4))])),
            (ValueError, "X has 3 dimensions", good[None]), (ValueError, "X has 0 dimensions", np.ones(())),
            (ValueError, "columns", wide), (ValueError, "1 column", good[:, 0])]


def near_again(plan):
    comm.Barrier()
    near(plan @ X[plan.x_range], (A @ X)[plan.y_range], "the product after a refused one")


@case("every wrong X is refused, and the next product is right")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        for kind, part, wrong in bad_x(plan):
            refused(kind, part, plan.__matmul__, wrong)
            refused(kind, part, plan.apply, wrong, out=plan.y_zeros())
        near_again(plan)


@case("a wrong X of one rank leaves no other rank waiting")
def _():
    for bad in {0, ranks - 1}:
        with Plan(comm, on_root(A), 4) as plan:
            for kind, part, wrong in bad_x(plan):
                if rank == bad:
                    refused(kind, part, plan.__matmul__, wrong)
                else:
                    refused(spmm_mpi.Error, "", plan.__matmul__, X[plan.x_range])
                near_again(plan)


@case("if any K is taken, a wrong X of one rank is an exception on every rank, and so are different K")
def _():
    with Plan(comm, on_root(A)) as plan:
        for kind, part, wrong in bad_x(plan)[:-2]:
            if rank == ranks - 1:
                refused(kind, part, plan.__matmul__, wrong)
            else:
                refused(spmm_mpi.Error, "another rank", plan.__matmul__, X[plan.x_range])
        assert plan.kernels == {}
        if ranks > 1:
            refused(ValueError, "expected the same number on all ranks", plan.__matmul__, X[plan.x_range, :1 + (rank > 0)])
            refused(ValueError, "k is 1 on rank 0 and 2 on rank 1", plan.prepare, 1 + (rank > 0))
        refused(TypeError, "whole number", plan.prepare, 1.5 if rank == 0 else 1)
        near_again(plan)
    with Plan(comm, on_root(A), 4) as plan:
        refused(ValueError, "made for k = 4", plan.prepare, 3)
        plan.prepare(4)


@case("every wrong out, alpha and beta is refused, and the next product is right")
def _():
    for k in (4, None):
        with Plan(comm, on_root(A), k) as plan:
            mine = np.ascontiguousarray(X[plan.x_range])
            good = np.zeros((plan.y_range.stop - plan.y_range.start, 4))
            fixed = good.copy()
            fixed.flags.writeable = False
            if k is None:
                plan.prepare(4)
            made = plan.y_zeros()
            made.flags.writeable = False
            for kind, part, out in ((ValueError, "read-only", fixed), (ValueError, "read-only", made), (TypeError, "out is float32", good.astype(np.float32)),
                                    (TypeError, "out is a list", []), (TypeError, "out is a NoneType", None),
                                    (ValueError, "out has the shape", good[:, :3]), (ValueError, "out has the shape", good[:, 0]),
                                    (ValueError, "out has", np.zeros((len(good) + 1, 4))), (ValueError, "dimensions", good[None])):
                refused(kind, part, plan.apply, mine, out=out)
            refused(ValueError, "read-only", plan.begin, mine, out=made)
            refused(ValueError, "read-only", plan.apply_transposed, good, out=made)
            assert not made.any()
            for wrong in ("1", 1j, None, [1], np.ones(2), 10 ** 400, b"1"):
                refused(TypeError, "alpha is", plan.apply, mine, out=good, alpha=wrong)
                refused(TypeError, "beta is", plan.apply, mine, out=good, beta=wrong)
            if len(mine) and len(good):
                refused(spmm_mpi.Error, "overlap", plan.apply, mine, out=mine) if A.shape[0] == A.shape[1] else None
            refused(TypeError, "out", plan.apply, mine)
            near_again(plan)


def hinted(call, *arguments, **keywords):
    """The text after the last colon of the call's TypeError."""
    return str(refused(TypeError, ": ", call, *arguments, **keywords)).rpartition(": ")[2]


def parts_of(hint, **names):
    """The two arrays that a hint such as "pass its parts one after the other, X.real and X.imag" names."""
    assert "parts" in hint and hint.count(" and ") == 1, hint
    real, imaginary = hint.rpartition(", ")[2].split(" and ")
    return tuple(eval(part, {"numpy": np, **names}) for part in (real, imaginary))


@case("what is said of a complex X, a wide A and of an out of another type is a way that works")
def _():
    product = A @ X
    with Plan(comm, on_root(A), 4) as plan:
        mine, expected = np.ascontiguousarray(X[plan.x_range]), product[plan.y_range]
        for dtype in (complex, np.complex64, np.clongdouble):
            x = (mine * (1 - 2j)).astype(dtype)
            real, imaginary = parts_of(hinted(plan.__matmul__, x), X=x)
            found = plan @ real + 1j * (plan @ imaginary)
            assert np.allclose(found, expected * (1 - 2j), rtol=0, atol=1e-12 if dtype is complex else 1e-4)
        for wrong in (np.empty(expected.shape, np.float32), np.empty(expected.shape, complex), np.empty(expected.shape, int, order="F")):
            hint = hinted(plan.apply, mine, out=wrong)
            assert hint.startswith("out="), hint
            out = eval(hint[len("out="):], {"numpy": np, "out": wrong})
            assert plan.apply(mine, out=out) is out
            near(out, expected, hint)
        assert "numpy.empty" in str(refused(TypeError, "out is a list", plan.apply, mine, out=[]))
        masked = np.ma.array(np.zeros(expected.shape), mask=False)
        out = eval(hinted(plan.apply, mine, out=masked), {"out": masked})
        near(plan.apply(mine, out=out), expected)
        near(np.asarray(masked.data), expected)
    with Plan(comm, on_root(A.astype(np.float32)), 4) as plan:
        x = X[plan.x_range] * 1j
        real, imaginary = parts_of(hinted(plan.__matmul__, x), X=x)
        near(plan @ imaginary, product[plan.y_range].astype(np.float32))
        assert not (plan @ real).any()
    a = (A * (2 + 3j)).astype(np.clongdouble)
    with Plan(comm, on_root(eval(hinted(Plan, comm, on_root(a), 4), {"A": a, "numpy": np})), 4) as plan:
        found = plan @ X[plan.x_range].astype(complex)
        assert np.allclose(found, product[plan.y_range] * (2 + 3j), rtol=0, atol=1e-12)


def complex_of(matrix_, dtype):
    """A matrix with the pattern of another, and complex values."""
    found = matrix_.astype(dtype)
    found.data = found.data * np.exp(1j * np.arange(found.nnz)).astype(dtype)
    return found


@case("a complex plan multiplies as SciPy does, with A, A^T and A^H and complex factors; a real one multiplies a complex X")
def _():
    for dtype, bound in ((np.complex128, 1e-11), (np.complex64, 1e-4)):
        a = complex_of(A, dtype)
        real = dtype(0).real.dtype
        for shape in ((A.shape[1],), (A.shape[1], 1), (A.shape[1], 3), (A.shape[1], 33)):
            x = (np.arange(np.prod(shape)).reshape(shape) % 7 - 3 + 1j).astype(dtype)
            y = (np.arange(A.shape[0] * np.prod(shape[1:], dtype=int)).reshape(A.shape[0], *shape[1:]) % 5 - 2j).astype(dtype)
            with Plan(comm, on_root(a)) as plan, Plan(comm, on_root(A.astype(real))) as of_real:
                assert plan.dtype == dtype
                for _ in range(2):
                    assert np.allclose(plan @ x[plan.x_range], (a @ x)[plan.y_range], rtol=bound, atol=bound)
                    assert np.allclose(plan.T @ y[plan.y_range], (a.T @ y)[plan.x_range], rtol=bound, atol=bound)
                    assert np.allclose(plan.H @ y[plan.y_range], (a.conj().T @ y)[plan.x_range], rtol=bound, atol=bound)
                out = np.ones_like(y[plan.y_range])
                assert plan.apply(x[plan.x_range], out=out, alpha=2 - 1j, beta=3j) is out
                assert np.allclose(out, ((2 - 1j) * (a @ x) + 3j)[plan.y_range], rtol=bound, atol=bound)
                out = np.ones_like(x[plan.x_range])
                plan.H.apply(y[plan.y_range], out=out, alpha=1j, beta=-1)
                assert np.allclose(out, (1j * (a.conj().T @ y) - 1)[plan.x_range], rtol=bound, atol=bound)
                found = of_real @ x[plan.x_range]
                assert found.dtype == dtype and np.allclose(found, (A.astype(real) @ x)[plan.y_range], rtol=bound, atol=bound)
                found = of_real @ np.asfortranarray(x)[plan.x_range]
                assert np.allclose(found, (A.astype(real) @ x)[plan.y_range], rtol=bound, atol=bound)
                found = of_real.H @ y[plan.y_range]
                assert np.allclose(found, (A.astype(real).T @ y)[plan.x_range], rtol=bound, atol=bound)
                wide = np.complex64 if dtype == np.complex128 else np.complex128
                refused(TypeError, "X is complex", of_real.__matmul__, x[plan.x_range].astype(wide))
                if dtype == np.complex64:
                    refused(TypeError, "X is complex128, expected complex64: X.astype(numpy.complex64)", plan.__matmul__,
                            x[plan.x_range].astype(np.complex128))
                refused(TypeError, "the conjugate of A alone", lambda: plan.T.H)
                with plan.operator() as op:
                    if op is not None:
                        assert np.allclose(op.rmatvec(y.reshape(len(y), -1)[:, 0]), a.conj().T @ y.reshape(len(y), -1)[:, 0], rtol=bound, atol=bound)


@case("an X of f32, of whole numbers or in the other byte order is converted to the f64 of the plan")
def _():
    with Plan(comm, on_root(A)) as plan:
        for dtype in (np.float32, np.float16, np.int64, np.uint8, bool, ">f8"):
            x = np.abs(X * 3).astype(dtype)
            near(plan @ x[plan.x_range], (A @ x.astype(np.float64))[plan.y_range])
            near(plan.T @ x[plan.y_range], (A.T @ x.astype(np.float64))[plan.x_range])
    with Plan(comm, on_root(A.astype(np.float32))) as plan:
        refused(TypeError, "X is float64", plan.__matmul__, X[plan.x_range])


@case("a matrix of whole numbers or bool is one of f64")
def _():
    for dtype in (np.int64, np.int8, bool):
        for form in ("csr", "csc", "coo", "bsr", "dok", "lil", "dia"):
            a = (A * 5).astype(dtype).asformat(form)
            with Plan(comm, on_root(a)) as plan:
                assert plan.dtype == np.float64
                near(plan @ X[plan.x_range], (a.astype(np.float64) @ X)[plan.y_range])


@case("X @ plan is the product with the transpose")
def _():
    for k in (4, None):
        with Plan(comm, on_root(A), k) as plan:
            near(np.ascontiguousarray(X[plan.y_range].T @ plan), (X.T @ A)[:, plan.x_range])
            near(np.ascontiguousarray(X[plan.x_range].T @ plan.T), (A @ X).T[:, plan.y_range])
            if k is None:
                near(X[plan.y_range, 0] @ plan, (X[:, 0] @ A)[plan.x_range])


@case("plan * X is refused, and a plan is neither copied nor pickled")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        for wrong in (lambda: plan * X, lambda: X * plan):
            refused(TypeError, "", wrong)
        for wrong in (X.tolist(), None):
            refused(TypeError, "X is a", lambda: wrong @ plan)
            refused(TypeError, "X is a", lambda: wrong @ plan.T)
        refused(TypeError, "cannot be copied or pickled", pickle.dumps, plan)


@case("a closed plan is refused, and closing it again does nothing")
def _():
    plan = Plan(comm, on_root(A), 4)
    assert "90 x 90 float64" in repr(plan)
    x = X[plan.x_range]
    plan.close()
    plan.close()
    assert "closed" in repr(plan)
    out = np.empty_like(x)
    for call in (lambda: plan @ x, lambda: plan.apply(x, out=out), lambda: plan.T @ x, lambda: plan.apply_transposed(x, out=out),
                 plan.x_zeros, plan.y_zeros, lambda: plan.prepare(4), plan.block, plan.view, lambda: plan.update_values(None)):
        refused(ValueError, "the plan is closed", call)
    refused(ZeroDivisionError, "", leaves_by_an_exception)


def leaves_by_an_exception():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Plan(comm, on_root(A), 4):
            raise ZeroDivisionError


@case("a plan that is forgotten is closed on one rank, and warned of on several")
def _():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        plan = Plan(comm, on_root(A), 4)
        del plan
        gc.collect()
    warned = any(w.category is ResourceWarning and "not closed" in str(w.message) for w in found)
    assert warned == (comm.size > 1) and bool(_plan.lost) == (comm.size > 1 and comm.rank == 0), found
    _plan.lost.clear()


@case("a plan of one rank is closed by del, by the collector, in another thread, and while a product is between begin and end")
def _():
    a, x = random_matrix(40, 40, np.float64, 0.2), random_x(40, 2)
    closed = []

    def dropped_by(way):
        plan = Plan(MPI.COMM_SELF, a, **({"k": 2} if way == "begun" else {}))
        near(plan @ x, a @ x)
        block = plan._block
        if way == "circle":
            plan.itself = plan
        if way == "begun":
            plan.begin(x, out=np.empty_like(x))
        closed.append(block)
    for way in ("del", "circle", "begun") * 20:
        dropped_by(way)
    gc.collect()
    thread = threading.Thread(target=dropped_by, args=("circle",))
    thread.start()
    thread.join()
    thread = threading.Thread(target=gc.collect)
    thread.start()
    thread.join()
    with Plan(MPI.COMM_SELF, a) as plan:  # closes what another thread could not
        near(plan @ x, a @ x)
    assert len(closed) == 61 and not any(block.struct.csr.irp or block.held for block in closed) and not _plan.dropped


# ---- functions of newer versions of libspmm ----

@case("the transposed matrix has SciPy's elements")
def _():
    for m, n in ((60, 60), (97, 41), (41, 97)):
        for dtype in (np.float64, np.float32):
            a = random_matrix(m, n, dtype, 0.3)
            y = random_x(m, 4, dtype)
            for k in (4, None):
                with Plan(comm, on_root(a), k) as plan:
                    transposed = plan.T
                    assert transposed.shape == (n, m) and transposed.dtype == dtype and transposed.T is plan
                    expected = (a.T @ y)[plan.x_range]
                    near(transposed @ y[plan.y_range], expected)
                    out = np.ones_like(expected)
                    near(plan.apply_transposed(y[plan.y_range], out=out, alpha=2, beta=-1), 2 * expected - 1)
                    near(transposed.apply(np.asfortranarray(y[plan.y_range]), out=np.asfortranarray(out)), expected)
                    if k:
                        near(np.array(plan.apply_transposed(plan.y_zeros(), out=plan.x_zeros())), np.zeros_like(expected))


@case("its wrong arguments are refused, and leave no rank waiting")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        y = np.ascontiguousarray(X[plan.y_range])
        for kind, part, wrong in bad_x(plan):
            refused(kind, part, plan.T.__matmul__, wrong)
        refused(TypeError, "out is a NoneType", plan.apply_transposed, y, out=None)
        refused(TypeError, "alpha is", plan.apply_transposed, y, out=y.copy(), alpha="1")
        near(plan.T @ y, (A.T @ X)[plan.x_range])


@case("a product that is begun and ended apart is the product, and others wait for its end")
def _():
    for k, grid in ((4, None), ([1, 4], None), (4, (1, ranks))):
        with Plan(comm, on_root(A), k, grid=grid) as plan:
            expected = (A @ X)[plan.y_range]
            assert grid is None or rank == 0 or len(expected) == 0, "sums go to the first of a process row"
            for x in (np.ascontiguousarray(X[plan.x_range]), np.asfortranarray(X[plan.x_range]), np.repeat(X, 2, axis=1)[plan.x_range, ::2]):
                for out in (np.ones_like(expected), np.asfortranarray(np.ones_like(expected)), np.ones((len(expected), 8))[:, ::2]):
                    assert plan.begin(x, out=out, alpha=2, beta=-1) is None
                    assert plan.end() is out
                    near(out, 2 * expected - 1, f"{k} {grid}")
            out = np.empty_like(expected)
            plan.begin(X[plan.x_range], out=out)
            for call in (lambda: plan @ X[plan.x_range], lambda: plan.T @ expected, lambda: plan.update_values(None),
                         lambda: plan.begin(X[plan.x_range], out=out), lambda: plan.apply(X[plan.x_range], out=out)):
                assert refused(spmm_mpi.Error, "has begun: call end() first", call).status is spmm_mpi.Status.USAGE
            near(plan.end(), expected)
            refused(spmm_mpi.Error, "no product of the plan has begun", plan.end)
            near(plan @ X[plan.x_range], expected)
    for apart in (1, 2):  # (with 2, X and out are not contiguous, and are copied)
        plan = Plan(comm, on_root(A), 4)
        plan.begin(np.repeat(X, apart, axis=1)[plan.x_range, ::apart], out=np.empty((len(X[plan.y_range]), 4 * apart))[:, ::apart])
        gc.collect()
        plan.close()  # ends the product that has begun


@case("a begin with wrong arguments leaves no rank waiting")
def _():
    for k in (4, [1, 4]):
        with Plan(comm, on_root(A), k) as plan:
            out = np.empty_like(X[plan.y_range])
            for kind, part, wrong in bad_x(plan):
                refused(kind, "", plan.begin, wrong, out=out)  # (some fail because out has too few columns)
            refused(TypeError, "out is a NoneType", plan.begin, X[plan.x_range], out=None)
            bad = rank == ranks - 1
            if k == 4:  # fails at once on this rank, and at end() on its neighbors
                if bad:
                    refused(TypeError, "alpha is", plan.begin, X[plan.x_range], out=out, alpha="1")
                else:
                    plan.begin(X[plan.x_range], out=out)
                    try:
                        plan.end()
                    except spmm_mpi.Error as error:
                        assert error.status is spmm_mpi.Status.MPI, error
            near(plan @ X[plan.x_range], (A @ X)[plan.y_range])


@case("arrays of other packages are taken by DLPack")
def _():
    class Other:
        """An array with no interface other than DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    class Elsewhere(Other):
        def __dlpack_device__(self):
            return (7, 0)  # kDLVulkan

    if not hasattr(np, "from_dlpack"):
        raise Skipped("this NumPy has no from_dlpack")
    with Plan(comm, on_root(A), 4) as plan:
        x, y = np.array(X[plan.x_range]), np.empty((len(X[plan.y_range]), 4))
        near(plan @ Other(x), (A @ X)[plan.y_range])
        near(plan.apply(Other(x), out=y), (A @ X)[plan.y_range])
        refused(TypeError, "X is float32", plan.__matmul__, Other(x.astype(np.float32)))
        refused(TypeError, "X is on a device of DLPack type 7", plan.__matmul__, Elsewhere(x))
        near(plan @ x, (A @ X)[plan.y_range])


@case("values are updated by a matrix of the same pattern, or by each rank's own")
def _():
    new = A.copy()
    new.data = np.random.default_rng(5).uniform(-1, 1, len(new.data))
    for format_ in ("csr", "ell-nopad", "auto"):
        for k in (4, [1, 4]):
            for rows in ("root", "distributed"):
                mine = (lambda a: on_root(a)) if rows == "root" else (lambda a: a[rows_of(90)])
                with Plan(comm, mine(A), k, rows=rows, format=format_) as plan:
                    plan.update_values(mine(new))
                    near(plan @ X[plan.x_range], (new @ X)[plan.y_range], f"{format_} {rows}")
                    plan.update_values(2 * plan.block().data)
                    near(plan @ X[plan.x_range], 2 * (new @ X)[plan.y_range], f"{format_} {rows}")
                    assert abs(plan.block() - 2 * new[plan.y_range]).nnz == 0


@case("wrong new values are the same exception on every rank, and change nothing")
def _():
    other = random_matrix(90, 90, seed=9)
    bad = rank == ranks - 1
    for rows in ("root", "distributed"):
        mine = (lambda a: on_root(a)) if rows == "root" else (lambda a: a[rows_of(90)])
        with Plan(comm, mine(A), 4, rows=rows) as plan:
            right = plan.block().data
            for kind, part, values in ((ValueError, "another pattern", mine(other)), (ValueError, "another pattern", mine(A.astype(bool).astype(int)[::-1])),
                                       (ValueError, "", mine(A.astype(np.float32))),
                                       (ValueError, "values have the shape", right[1:] if bad else right),
                                       (TypeError, "values is float32", right.astype(np.float32) if bad else right),
                                       (TypeError, "expected", 3 if bad else mine(A))):
                error = refused(kind, part, plan.update_values, values)
                assert len(set(comm.allgather(str(error)))) == 1, comm.allgather(str(error))
            if ranks > 1 and rows == "root":
                refused(ValueError, "an array on some ranks", plan.update_values, right if bad else mine(A))
            near_again(plan)


@case("view() is a text")
def _():
    with Plan(comm, on_root(A), 4) as plan:
        text = plan.view()
        assert "matrix      90 x 90, " in text if rank == 0 else text == "", text
    with Plan(comm, on_root(A)) as plan:
        refused(spmm_mpi.Error, "no product", plan.view)


@case("diagonal() is SciPy's, of new values, too")
def _():
    for dtype in (np.float64, np.float32):
        a = A.astype(dtype)
        for grid in {(ranks, 1), (1, ranks)}:
            with Plan(comm, on_root(a), 4, grid=grid) as plan:
                found = plan.diagonal()
                assert found.dtype == dtype and (found == a.diagonal()[plan.y_range]).all()
                assert np.count_nonzero(a.diagonal()) > 0
                plan.update_values(on_root(a * 3))
                assert (plan.diagonal() == (a * 3).diagonal()[plan.y_range]).all()
    with Plan(comm, on_root(A)) as plan:
        refused(spmm_mpi.Error, "no product", plan.diagonal)
    with Plan(comm, on_root(A[:50]), 4) as plan:
        refused(spmm_mpi.Error, "expected a square one", plan.diagonal)


@case("a libspmm without them says so")
def _():
    held = {name: getattr(loaded(), name) for name in newer(comm_type())}
    with Plan(comm, on_root(A), 4) as plan:
        x = X[plan.x_range]
        try:
            for name in held:
                setattr(loaded(), name, None)
            refused(spmm_mpi.Error, "no function spmm_apply_transposed", plan.T.__matmul__, x)
            refused(spmm_mpi.Error, "no function spmm_apply_transposed", plan.apply_transposed, x, out=x.copy())
            refused(spmm_mpi.Error, "no function spmm_plan_update_values", plan.update_values, None)
            refused(spmm_mpi.Error, "no function spmm_plan_view_text", plan.view)
        finally:
            for name, function in held.items():
                setattr(loaded(), name, function)
        near_again(plan)


@case('device="cuda" without a GPU is an Error on every rank, and "auto" takes the CPU')
def _():
    with Plan(comm, on_root(A), 4, device="auto") as plan:
        if plan.device == "cuda":
            raise Skipped("there is a GPU")
        near(plan @ X[plan.x_range], (A @ X)[plan.y_range])
    error = refused(spmm_mpi.Error, "", Plan, comm, on_root(A), 4, device="cuda")
    assert error.status is spmm_mpi.Status.NO_DEVICE and str(error)


@case("CPU tensors of PyTorch are taken, and give tensors")
def _():
    torch = module("torch")
    with Plan(comm, on_root(A), 4) as plan:
        x = torch.tensor(X[plan.x_range])
        y = plan @ x
        assert isinstance(y, torch.Tensor)
        near(y.numpy(), (A @ X)[plan.y_range])
        assert plan.apply(x, out=y, alpha=2) is y
        near(y.numpy(), 2 * (A @ X)[plan.y_range])
        refused(TypeError, "requires a gradient", plan.__matmul__, x.clone().requires_grad_())
        for kind in ("float32", "bfloat16", "float16", "int64", "bool"):
            other = x.to(getattr(torch, kind))
            if kind == "bfloat16":  # which NumPy does not have
                refused(TypeError, f"X is {kind}, expected float64: X.to(torch.float64)", plan.__matmul__, other)
            else:
                assert torch.equal(plan @ other, plan @ other.double())
            refused(TypeError, f"out is {kind}, expected float64: out=torch.empty_like", plan.apply, x, out=y.to(getattr(torch, kind)))
        pairs = torch.complex(x, x)
        with Plan(comm, on_root(A)) as any_k:
            near((any_k @ pairs.conj()).numpy(), (A @ X)[plan.y_range] * (1 - 1j))
        refused(TypeError, "X.resolve_neg()", plan.__matmul__, pairs.conj().imag)
        near((plan @ pairs.conj().imag.resolve_neg()).numpy(), -(A @ X)[plan.y_range])
        refused(ValueError, "X has 3 dimensions", plan.__matmul__, x[None])


@case("an array on a GPU is refused by a plan on the CPU")
def _():
    class OnGpu:
        __cuda_array_interface__ = {"shape": (1, 1), "typestr": "<f8", "data": (0, False), "version": 3}
    with Plan(comm, on_root(A), 4) as plan:
        refused(TypeError, 'device="cuda"', plan.__matmul__, OnGpu())


run_all()
