"""What the Python package does on a GPU, compared with SciPy: run by tests/test_gpu_python.py under mpirun."""
import gc

import numpy as np
import scipy.sparse
from mpi4py import MPI

import spmm_mpi
from python_ranks import A, Skipped, X, case, comm, module, near, on_root, random_matrix, random_x, rank, ranks, refused, run_all
from spmm_mpi import DeviceArray, Plan, axpby, dot, norms, scale, times
from spmm_mpi._library import loaded

EXPECTED = A @ X


def gpu_plan(a=A, k=4, **options):
    return Plan(comm, on_root(a), k, device="cuda", **options)


def moved(plan, values):
    """Values as a DeviceArray of X's shape."""
    x = plan.x_zeros(values.shape[1])
    x.set(values)
    return x


def cupy_or_skip():
    try:
        import cupy
    except ImportError as error:
        raise Skipped(str(error)) from None
    return cupy


class Theirs:
    """An array of an unknown library: columns of a DeviceArray, with members of __cuda_array_interface__ from `said`."""

    def __init__(self, owner, columns=slice(None), **said):
        self.owner = owner
        said = {**owner.__cuda_array_interface__, **said}
        begin, end, _ = columns.indices(owner.shape[1])
        said["data"] = (said["data"][0] + begin * owner.dtype.itemsize, said["data"][1])
        if "shape" not in said or said["shape"] == owner.shape:
            said["shape"] = (owner.shape[0], end - begin)
        self.__cuda_array_interface__ = said


@case("the first 100 products of one rank use a copy of the matrix as it is, later ones a plan")
def _():
    x = np.ascontiguousarray(X[:, :3])
    twice = scipy.sparse.coo_matrix((np.r_[A.tocoo().data, 1.0], (np.r_[A.tocoo().row, 3], np.r_[A.tocoo().col, 3])), shape=A.shape)
    # unsorted
    turned = scipy.sparse.csr_matrix((A.data[::-1], A.indices[::-1], A.nnz - A.indptr[::-1]), shape=A.shape)
    for a in (A, A.tocsc(), twice, turned):
        want = a.toarray()
        with Plan(MPI.COMM_SELF, a, device="cuda") as plan:
            for factor in (1, 2, 4):
                if factor == 2:
                    plan.update_values(plan.block() * 2)
                elif factor == 4:
                    plan.update_values(plan.block().data * 2)
                near(plan @ x, factor * want @ x)
                near(plan @ x[:, 0], factor * want @ x[:, 0])
                near(plan.T @ x, factor * want.T @ x)
                near(plan.diagonal(), factor * np.diag(want))
                near(plan.block().toarray(), factor * want)
            assert ("few products, of a matrix in GPU memory" in plan.view()) == (a is not turned)
            out = np.empty_like(x)
            plan.begin(x, out=out)
            near(plan.end(), 4 * want @ x)
            for _ in range(100):
                y = plan @ x
            near(y, 4 * want @ x)
            assert "few products" not in plan.view()
            plan.update_values(plan.block() * 0.25)
            near(plan @ x, want @ x)
            near(plan.T @ x, want.T @ x)
    refused(ValueError, "another pattern", Plan(MPI.COMM_SELF, A, device="cuda").update_values, A[::-1])
    wrong = A.copy()
    wrong.indices[4] = 999
    refused(ValueError, "outside 0 to", Plan, MPI.COMM_SELF, wrong, device="cuda")
    for m, n in ((0, 4), (5, 0), (5, 4)):
        near(Plan(MPI.COMM_SELF, scipy.sparse.csr_matrix((m, n)), device="cuda") @ np.ones((n, 2)), np.zeros((m, 2)))


@case("arrays of NumPy travel to the GPU and back")
def _():
    for dtype in (np.float64, np.float32):
        for m, n in ((60, 60), (97, 41), (41, 97)):
            a, x = random_matrix(m, n, dtype, 0.3), random_x(n, 5, dtype)
            for k in (5, None):
                with gpu_plan(a, k) as plan:
                    assert plan.device == "cuda"
                    expected = (a @ x)[plan.y_range]
                    near(plan @ x[plan.x_range], expected)
                    near(plan @ np.asfortranarray(x[plan.x_range]), expected)
                    for out in (np.ones_like(expected), np.asfortranarray(np.ones_like(expected)), np.ones((len(expected), 7), dtype)[:, 1:6]):
                        assert plan.apply(x[plan.x_range], out=out, alpha=2, beta=-1) is out
                        near(np.ascontiguousarray(out), 2 * expected - 1)
    with gpu_plan(k=1) as plan:
        near(plan @ X[plan.x_range, 2], EXPECTED[plan.y_range, 2])


@case("x_zeros and y_zeros are arrays in the GPU's memory, which are used as they are")
def _():
    with gpu_plan(k=3) as plan:
        x, y = plan.x_zeros(), plan.y_zeros()
        assert isinstance(x, DeviceArray) and x.shape == (len(X[plan.x_range]), 3) and x.dtype == np.float64
        assert not x.get().any() and "DeviceArray" in repr(x)
        x.set(X[plan.x_range, :3])
        near(x.get(), X[plan.x_range, :3])
        assert plan.apply(x, out=y) is y
        near(y.get(), EXPECTED[plan.y_range, :3])
        z = plan.x_zeros()
        plan.apply(y, out=z)
        near(z.get(), (A @ EXPECTED)[plan.y_range, :3])
        made = plan @ x
        assert isinstance(made, DeviceArray)
        near(made.get(), EXPECTED[plan.y_range, :3])
        for kind, wrong in ((ValueError, X[plan.x_range]), (TypeError, X[plan.x_range, :3].astype(np.float32)), (TypeError, None),
                            (ValueError, X[:, :3][:1].repeat(len(X[plan.x_range]) + 1, 0))):
            refused(kind, "values", x.set, wrong)
    gc.collect()


@case("a result is its owner's as long as anybody has it")
def _():
    with gpu_plan() as plan:
        x, twice = moved(plan, X[plan.x_range]), moved(plan, 2 * X[plan.x_range])
        first = plan @ x
        second = plan @ twice
        near(first.get(), EXPECTED[plan.y_range])
        part = Theirs(first)
        del first
        for _ in range(3):
            near((plan @ twice).get(), 2 * EXPECTED[plan.y_range])
        near(part.owner.get(), EXPECTED[plan.y_range])
        near(second.get(), 2 * EXPECTED[plan.y_range])
        addresses = {(plan @ x).__cuda_array_interface__["data"][0] for _ in range(5)}
        assert len(addresses) == 1, addresses
    with gpu_plan() as plan:
        kept = plan @ moved(plan, X[plan.x_range])
    near(kept.get(), EXPECTED[plan.y_range])


@case("a product on the GPU is begun and ended apart")
def _():
    with gpu_plan() as plan:
        x = plan.x_zeros()
        x.set(np.ascontiguousarray(X[plan.x_range, :4]))
        for out in (plan.y_zeros(), np.empty((len(EXPECTED[plan.y_range]), 4))):
            plan.begin(x, out=out)
            assert plan.end() is out
            near(out if isinstance(out, np.ndarray) else out.get(), EXPECTED[plan.y_range, :4])


@case("arrays of other libraries are used in place, or copied on the GPU if they are parts of others")
def _():
    with gpu_plan() as plan, gpu_plan(k=8) as wide:
        x = moved(plan, X[plan.x_range])
        near((plan @ Theirs(x)).get(), EXPECTED[plan.y_range])
        eight = np.hstack([X, 2 * X])
        near((plan @ Theirs(moved(wide, eight[plan.x_range]), slice(4, 8))).get(), 2 * EXPECTED[plan.y_range])
        out = plan.y_zeros()
        contiguous = Theirs(out, strides=None)
        assert plan.apply(Theirs(x), out=contiguous, alpha=3) is contiguous
        near(out.get(), 3 * EXPECTED[plan.y_range])
        near((plan @ Theirs(x, stream=None)).get(), EXPECTED[plan.y_range])


@case("arrays of other libraries are taken by DLPack")
def _():
    cupy = cupy_or_skip()

    class Other:
        """An array of CuPy with no interface other than DLPack."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, stream):
            return self.array.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    with gpu_plan() as plan:
        x, y = cupy.asarray(X[plan.x_range]), plan.y_zeros()
        for layout in (x, cupy.asfortranarray(x), cupy.hstack([x, x])[:, 4:]):
            near((plan @ Other(layout)).get(), EXPECTED[plan.y_range])
        near(plan.apply(Other(x), out=y).get(), EXPECTED[plan.y_range])
        refused(ValueError, "read-only", plan.apply, x, out=Other(cupy.asarray(y.get())))
        refused(TypeError, "X is float32", plan.__matmul__, Other(x.astype(np.float32)))
        refused(TypeError, "X has elements of DLPack type code 0 with 64 bits", plan.__matmul__, Other(x.astype(np.int64)))
        near((plan @ x).get(), EXPECTED[plan.y_range])


@case("what is wrong with them is refused, and leaves no rank waiting")
def _():
    with gpu_plan() as plan, gpu_plan(k=8) as wide:
        x, y, eight = moved(plan, X[plan.x_range]), plan.y_zeros(), wide.y_zeros()
        address, rows = x.__cuda_array_interface__["data"][0], x.shape[0]
        bad = [(TypeError, "X is float32", Theirs(x, typestr="<f4")), (TypeError, "masked", Theirs(x, mask=x)),
               (ValueError, "neither row-major", Theirs(x, strides=(16, 16 * rows))),
               (ValueError, "neither row-major", Theirs(x, data=(address + 4, False))),
               (ValueError, "the rows that this rank owns", Theirs(x, shape=(rows + 1, 4)))]
        for kind, part, wrong in bad:
            if rank == ranks - 1:
                refused(kind, part, plan.__matmul__, wrong)
            else:
                refused(spmm_mpi.Error, "", plan.__matmul__, x)
            comm.Barrier()
            near((plan @ x).get(), EXPECTED[plan.y_range])
        refused(ValueError, "read-only", plan.apply, x, out=Theirs(y, data=(y.__cuda_array_interface__["data"][0], True)))
        refused(ValueError, "a part of another array", plan.apply, x, out=Theirs(eight, slice(4, 8)))
        refused(ValueError, "out has the shape", plan.apply, x, out=eight)
        near((plan @ x).get(), EXPECTED[plan.y_range])


@case("a host array that says it is on the GPU is refused by libspmm")
def _():
    with gpu_plan() as plan:
        host = np.ascontiguousarray(X[plan.x_range])
        lie = Theirs(plan.x_zeros(), strides=None, data=(host.ctypes.data, False))
        try:
            plan @ lie
        except spmm_mpi.Error as error:
            assert "memory" in str(error), error
            return
        raise Skipped("this GPU reaches the host's memory, or cannot tell")


@case("the transposed matrix and new values, on the GPU")
def _():
    with gpu_plan() as plan:
        near(plan.T @ X[plan.y_range], (A.T @ X)[plan.x_range])
        y = plan.y_zeros()
        y.set(X[plan.y_range])
        near((plan.T @ y).get(), (A.T @ X)[plan.x_range])
        new = A.copy()
        new.data = -2 * A.data
        plan.update_values(on_root(new))
        near(plan @ X[plan.x_range], (new @ X)[plan.y_range])


@case("plans on the CPU and on the GPU live beside each other, and auto takes the GPU")
def _():
    with gpu_plan() as plan, Plan(comm, on_root(A), 4) as cpu, Plan(comm, on_root(A), 4, device="auto") as auto:
        assert (plan.device, cpu.device, auto.device) == ("cuda", "cpu", "cuda")
        near(cpu @ X[plan.x_range], plan @ X[plan.x_range])
        refused(TypeError, 'device="cuda"', cpu.__matmul__, plan.x_zeros())


R = random_x(4, 4, seed=5)


def operations(make, get, plan):
    """Checks every operation between products, on arrays that make() makes of NumPy's and get() copies back."""
    mine = X[plan.x_range]
    x, y = make(mine), make(2 * mine + 1)
    near(dot(comm, x, y), X.T @ (2 * X + 1))
    g = dot(comm, x)
    near(g, X.T @ X)
    assert (g == g.T).all() and len(set(comm.allgather(g.tobytes()))) == 1
    near(norms(comm, x), np.linalg.norm(X, axis=0))
    made = times(x, R)
    assert type(made) in (type(x), DeviceArray)
    near(get(made), mine @ R)
    near(get(times(x, R[:, :2])), mine @ R[:, :2])
    assert times(x, R, out=y, alpha=2, beta=-1) is y
    near(get(y), 2 * mine @ R - 2 * mine - 1)
    assert axpby(2, x, 0, y) is y and axpby(1, x, 0.5, y) is y
    near(get(y), 2 * mine)
    assert scale([1, 2, 3, 4], y) is y and scale(0.5, y) is y
    near(get(y), mine * [1, 2, 3, 4])
    assert times(y, R, out=y) is y
    near(get(y), mine * [1, 2, 3, 4] @ R)
    near(get(x), mine)


@case("inner products, norms, X R, sums and scaled columns on the GPU, in place in parts of arrays, too")
def _():
    with gpu_plan() as plan, gpu_plan(k=8) as wide:
        operations(lambda values: moved(plan, np.ascontiguousarray(values)), lambda x: x.get(), plan)
        both = np.hstack([X, 2 * X])[plan.x_range]
        eight = moved(wide, both)
        left, right = Theirs(eight, slice(0, 4)), Theirs(eight, slice(4, 8))
        near(dot(comm, left, right), 2 * X.T @ X)
        assert times(left, R, out=right, beta=1) is right
        near(eight.get(), np.hstack([both[:, :4], both[:, 4:] + both[:, :4] @ R]))
        axpby(1, right, 0, left)
        scale(2, left)
        near(eight.get(), np.hstack([2 * (both[:, 4:] + both[:, :4] @ R), both[:, 4:] + both[:, :4] @ R]))
    for k in (1, 65):
        x = random_x(90, k, np.float32)
        with gpu_plan(A.astype(np.float32), k) as plan:
            mine = moved(plan, x[plan.x_range])
            assert np.allclose(dot(comm, mine), x.astype(float).T @ x.astype(float), rtol=0, atol=1e-5)
            near(scale(2, mine).get(), 2 * x[plan.x_range])


@case("their wrong arguments are refused, and leave no rank waiting")
def _():
    with gpu_plan() as plan:
        x, host = moved(plan, X[plan.x_range]), np.ascontiguousarray(X[plan.x_range])
        rows = x.shape[0]
        for kind, part, wrong in ((ValueError, "not row-major", Theirs(x, strides=(8, 8 * rows))), (TypeError, "X is int64", Theirs(x, typestr="<i8")),
                                  (TypeError, "masked", Theirs(x, mask=x)), (ValueError, "X has 3 dimensions", Theirs(x, shape=(1, rows, 4)))):
            if rank == ranks - 1:
                refused(kind, part, dot, comm, wrong)
                refused(kind, part, norms, comm, wrong)
            else:
                refused(spmm_mpi.Error, "", dot, comm, x)
                refused(spmm_mpi.Error, "", norms, comm, x)
            refused(kind, part, times, wrong, R)
            refused(kind, part, scale, 2, wrong)
        refused(TypeError, "out is in host memory and X in GPU memory", axpby, 1, x, 1, host)
        refused(TypeError, "out is in GPU memory and X in host memory", times, host, R, out=x)
        refused(TypeError, "Y is in host memory", dot, comm, x, host)
        refused(TypeError, "R is on a GPU", times, x, x)
        refused(TypeError, "factor", scale, x, x)
        read_only = Theirs(x, data=(x.__cuda_array_interface__["data"][0], True))
        refused(ValueError, "read-only", scale, 2, read_only)
        near(x.get(), host)


@case("arrays of CuPy stay on the GPU, in place, and products wait for their stream")
def _():
    cupy = cupy_or_skip()
    with gpu_plan() as plan:
        x = cupy.asarray(X[plan.x_range])
        y = plan @ x
        assert isinstance(y, cupy.ndarray)
        near(y.get(), EXPECTED[plan.y_range])
        with cupy.cuda.Stream(non_blocking=True):
            z = x + 1
            for _ in range(100):
                z = z * 1.0
            near((plan @ z).get(), (A @ (X + 1))[plan.y_range])
        assert plan.apply(x, out=y, alpha=2, beta=1) is y
        near(y.get(), 3 * EXPECTED[plan.y_range])
        near((plan @ cupy.asfortranarray(x)).get(), EXPECTED[plan.y_range])
        own = cupy.asarray(plan.x_zeros())
        own[:] = x
        near((plan @ own).get(), EXPECTED[plan.y_range])
        if loaded().spmm_multivector_dot is not None:
            operations(cupy.asarray, lambda array: array.get(), plan)
            refused(TypeError, "R is on a GPU", times, x, cupy.asarray(R))


@case("tensors of PyTorch stay on the GPU, in place, and products wait for its current stream")
def _():
    torch = module("torch")
    if not torch.cuda.is_available():
        raise Skipped("PyTorch sees no GPU")
    with gpu_plan() as plan:
        x = torch.tensor(X[plan.x_range], device="cuda")
        y = plan @ x
        assert isinstance(y, torch.Tensor) and y.device == x.device
        near(y.cpu().numpy(), EXPECTED[plan.y_range])
        with torch.cuda.stream(torch.cuda.Stream()):
            z = torch.tensor(X[plan.x_range], device="cuda") + 1
            for _ in range(100):
                z = z * 1.0
            near((plan @ z).cpu().numpy(), (A @ (X + 1))[plan.y_range])
        assert plan.apply(x, out=y, alpha=2, beta=1) is y
        near(y.cpu().numpy(), 3 * EXPECTED[plan.y_range])
        refused(TypeError, "requires a gradient", plan.__matmul__, x.clone().requires_grad_())
        refused(TypeError, "X is bfloat16, expected float64: X.to(torch.float64)", plan.__matmul__, x.bfloat16())
        for other in (torch.float16, torch.int64, torch.float32):
            converted = x.to(other)
            alike = torch.tensor(X).to(other).to(torch.float64).numpy()
            near((plan @ converted).cpu().numpy(), (A @ alike)[plan.y_range])
        near((plan @ x.t().contiguous().t()).cpu().numpy(), EXPECTED[plan.y_range])
        host = np.empty_like(EXPECTED[plan.y_range])
        near(plan.apply(x, out=host), EXPECTED[plan.y_range])
        for kind, part, wrong in ((ValueError, "out has the shape", y[:, :3].contiguous()), (TypeError, "out is float32", y.float()),
                                  (TypeError, "out is a NoneType", None)):
            refused(kind, part, plan.apply, x, out=wrong)
        plan.begin(x, out=y)
        refused(spmm_mpi.Error, "has begun", plan.__matmul__, x)
        near(plan.end().cpu().numpy(), EXPECTED[plan.y_range])
        with gpu_plan(k=None) as any_k, gpu_plan(k=1) as one:
            near((any_k @ x).cpu().numpy(), EXPECTED[plan.y_range])
            near((one @ x[:, 1].contiguous()).cpu().numpy(), EXPECTED[plan.y_range, 1])
            near((one @ x[:, 1]).cpu().numpy(), EXPECTED[plan.y_range, 1])
        stream = torch.cuda.Stream()
        with gpu_plan(stream=stream) as queued, torch.cuda.stream(stream):
            z = x + 1
            for _ in range(100):
                z = z * 1.0
            result = (queued @ z) * 2
            stream.synchronize()
            near(result.cpu().numpy(), 2 * (A @ (X + 1))[plan.y_range])
        own = torch.as_tensor(plan.x_zeros(), device="cuda")
        own.copy_(x)
        near((plan @ own).cpu().numpy(), EXPECTED[plan.y_range])
        if loaded().spmm_multivector_dot is not None:
            operations(lambda values: torch.tensor(values, device="cuda"), lambda tensor: tensor.cpu().numpy(), plan)
            refused(TypeError, "R is on a GPU", times, x, torch.tensor(R, device="cuda"))


run_all()
