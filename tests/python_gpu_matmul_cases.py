"""Plans and matmul() with CuPy's and PyTorch's matrices in GPU memory, compared with SciPy: run by tests/test_gpu_matmul.py."""
import gc
import sys
import traceback

import numpy as np
import scipy.sparse as sparse

import spmm_mpi
from spmm_mpi._matmul import cache

DRAW = np.random.default_rng(5)


class Cupy:
    name = "CuPy"

    def __init__(self):
        import cupy
        import cupyx.scipy.sparse
        self.module, self.sparse = cupy, cupyx.scipy.sparse

    def matrix(self, a, wide=False):
        return self.sparse.csr_matrix(a)

    def dense(self, x):
        return self.module.asarray(x)

    def host(self, y):
        return y.get()

    def values(self, A):
        return A.data

    def columns(self, A):
        return A.indices

    def is_ours(self, y):
        return isinstance(y, self.module.ndarray)

    def others(self, a):
        """The same matrix in other formats, and with column indices in another order."""
        yield "csc", self.sparse.csc_matrix(a)
        yield "coo", self.sparse.coo_matrix(a)
        turned = self.sparse.csr_matrix(a)
        for row in range(a.shape[0]):
            here = slice(a.indptr[row], a.indptr[row + 1])
            turned.indices[here], turned.data[here] = turned.indices[here][::-1].copy(), turned.data[here][::-1].copy()
        yield "decreasing columns", turned


class Torch(Cupy):
    name = "PyTorch"

    def __init__(self):
        import torch
        self.module = torch
        if not torch.cuda.is_available():
            raise ImportError("torch has no GPU")

    def matrix(self, a, wide=False):
        kind = np.int64 if wide else np.int32
        parts = (self.module.from_numpy(part).cuda() for part in (a.indptr.astype(kind), a.indices.astype(kind), a.data))
        return self.module.sparse_csr_tensor(*parts, size=a.shape)

    def dense(self, x):
        return self.module.from_numpy(np.ascontiguousarray(x)).cuda()

    def host(self, y):
        return y.cpu().numpy()

    def values(self, A):
        return A.values()

    def columns(self, A):
        return A.col_indices()

    def is_ours(self, y):
        return isinstance(y, self.module.Tensor) and y.device.type == "cuda"

    def others(self, a):
        return ()


def random(m, n, dtype, density=0.2):
    a = sparse.random(m, n, density, "csr", dtype, random_state=DRAW)
    a.sort_indices()
    return a


def near(found, expected, what=""):
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    limit = 1e-5 if expected.dtype == np.float32 else 1e-13
    assert found.dtype == expected.dtype and np.abs(found - expected).max(initial=0) <= limit * (1 + np.abs(expected).max(initial=0)), what


def refused(kind, part, function, *args, **options):
    try:
        function(*args, **options)
    except kind as error:
        assert part in str(error), error
    else:
        raise AssertionError(f"nothing was raised, expected {kind.__name__}: {part}")


def products(on):
    for dtype in (np.float64, np.float32):
        for m, n in ((60, 60), (97, 41), (41, 97), (1, 5)):
            for wide in (False, True):
                a = random(m, n, dtype)
                A = on.matrix(a, wide)
                for shape in ((n, 5), (n, 1), (n,), (n, 0), (n, 40)):
                    x = DRAW.standard_normal(shape).astype(dtype)
                    Y = spmm_mpi.matmul(A, on.dense(x))
                    assert on.is_ours(Y), type(Y)
                    near(on.host(Y), a @ x, (m, n, shape))
                    out = on.dense(np.ones(Y.shape, dtype))
                    assert spmm_mpi.matmul(A, on.dense(x), out=out) is out
                    near(on.host(out), a @ x, (m, n, shape, "out"))


def new_values(on):
    a = random(80, 80, np.float64)
    x = DRAW.standard_normal((80, 6))
    A, X = on.matrix(a), on.dense(x)
    near(on.host(spmm_mpi.matmul(A, X)), a @ x)
    on.values(A)[:] *= 2
    near(on.host(spmm_mpi.matmul(A, X)), 2 * (a @ x), "values in place")
    B = on.matrix(3 * a)
    before = len(cache.all)
    near(on.host(spmm_mpi.matmul(B, X)), 3 * (a @ x), "another matrix of the pattern")
    assert len(cache.all) == before, "it has the plan of the pattern"
    for key in ("k", "k"):
        near(on.host(spmm_mpi.matmul(B, X, key=key)), 3 * (a @ x), key)
    for value in (0.0, -0.0, np.nan, 1.0):
        on.values(A)[a.nnz - 1:] = value
        a.data[:] = on.host(on.values(A))
        assert on.host(spmm_mpi.matmul(A, X)).tobytes() == on.host(spmm_mpi.matmul(on.matrix(a), X)).tobytes(), value
    row = np.flatnonzero(np.diff(a.indptr))[-1]
    other = np.setdiff1d(np.arange(80), a.indices[a.indptr[row]:])[-1]
    on.columns(A)[a.nnz - 1:] = int(other)
    a.indices[-1] = other
    near(on.host(spmm_mpi.matmul(A, X)), a @ x, "another pattern with as many entries")
    del A, B
    gc.collect()


def every_index_type(on):
    """Checks a matrix whose indices and row starts are int32 or int64, before and after its values change."""
    a = random(300, 200, np.float64)
    x = DRAW.standard_normal((200, 3))
    for wide in (False, True):
        A, X = on.matrix(a, wide), on.dense(x)
        for factor in (1, 2, 2):
            on.values(A)[:] = on.dense(factor * a.data)
            for _ in range(2):
                near(on.host(spmm_mpi.matmul(A, X)), factor * (a @ x), (wide, factor))


def formats(on):
    a = random(50, 70, np.float64)
    x = DRAW.standard_normal((70, 3))
    for what, A in on.others(a):
        for _ in range(2):
            near(on.host(spmm_mpi.matmul(A, on.dense(x))), a @ x, what)


def plans(on):
    a = random(90, 90, np.float64)
    x = DRAW.standard_normal((90, 4))
    A, X = on.matrix(a), on.dense(x)
    with spmm_mpi.Plan(A, device="cuda") as plan:
        near(on.host(plan @ X), a @ x)
        near(on.host(plan.T @ X), a.T @ x, "transposed")
        near(on.host(plan @ X[:, :1]), a @ x[:, :1], "one column")
        on.values(A)[:] *= 2
        near(on.host(plan @ X), a @ x, "the plan has its values")
        for values in (A, on.values(A), 2 * a.data):
            plan.update_values(values)
            near(on.host(plan @ X), 2 * (a @ x), "new values")
        near(on.host(plan @ X[:, :2]), 2 * (a @ x[:, :2]), "for fewer columns")
        near(on.host(plan.T @ X), 2 * (a.T @ x), "and transposed")
        assert abs(plan.block() - 2 * a).max() < 1e-15
        refused(ValueError, "pattern", plan.update_values, on.matrix(random(90, 90, np.float64)))
        refused(ValueError, "values have the shape", plan.update_values, np.ones(3))
        refused(TypeError, "float32", plan.update_values, on.values(on.matrix(a.astype(np.float32))))


def mistakes(on):
    a = random(20, 20, np.float64)
    A, X = on.matrix(a), on.dense(np.ones((20, 2)))
    refused(TypeError, "device=\"cuda\"", spmm_mpi.Plan, A)
    refused(TypeError, "host memory", spmm_mpi.matmul, A, np.ones((20, 2)))
    refused(TypeError, "X is in GPU memory and A in host memory", spmm_mpi.matmul, a, X)
    refused(ValueError, "shape", spmm_mpi.matmul, A, X[:7])
    near(on.host(spmm_mpi.matmul(A, on.dense(np.ones((20, 2), np.float32)))), a @ np.ones((20, 2)))
    refused(TypeError, "float64", spmm_mpi.matmul, on.matrix(a.astype(np.float32)), X)
    empty = on.matrix(sparse.csr_matrix((20, 20)))
    near(on.host(spmm_mpi.matmul(empty, X)), np.zeros((20, 2)))


failed = 0
for library in (Cupy, Torch):
    try:
        on = library()
    except ImportError as error:
        print(f"SKIP {library.name}'s matrices on a GPU: {error}")
        continue
    for case, sentence in ((products, "products are SciPy's, of every shape, with int32 and int64 indices, into out"),
                           (new_values, "values are read at each call, and a pattern has one plan"),
                           (every_index_type, "new values come with int32 and int64 indices"),
                           (formats, "other formats, and columns in another order, are converted"),
                           (plans, "a plan multiplies, transposes and takes new values"),
                           (mistakes, "what does not go together is refused with the way that works")):
        try:
            case(on)
            print(f"PASS {library.name}: {sentence}", flush=True)
        except Exception:
            failed += 1
            print(f"  {traceback.format_exc()}FAIL {library.name}: {sentence}", flush=True)
sys.exit(failed > 0)
