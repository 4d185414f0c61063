"""What the Python package computes between products, compared with NumPy: run by tests/test_python.py under mpirun."""
import numpy as np
from mpi4py import MPI

import spmm_mpi
from python_ranks import A, case, comm, module, near, on_root, random_x, rank, ranks, refused, rows_of, run_all
from spmm_mpi import axpby, dot, norms, scale, scale_rows, times
from spmm_mpi._library import loaded

NAMES = [f"spmm_multivector_{name}" for name in ("dot", "norms", "times", "axpby", "scale", "scale_rows")]
N = 203


def close(found, expected, dtype=np.float64):
    """Checks values that were computed in dtype."""
    assert found.shape == expected.shape, f"{found.shape}, expected {expected.shape}"
    assert np.allclose(found, expected, rtol=0, atol=1e-11 if dtype == np.float64 else 2e-5), abs(found - expected).max()


def layouts(x):
    """Arrays with the same elements, in layouts that are used in place and in layouts that are copied."""
    wide = np.full((x.shape[0], x.shape[1] + 3), np.nan, x.dtype)
    wide[:, 1:-2] = x
    odd = np.ndarray(x.shape, x.dtype, buffer=np.zeros(x.nbytes + 1, np.uint8), offset=1)
    odd[:] = x
    return [x.copy(), wide[:, 1:-2], np.asfortranarray(x), odd, x[::-1].copy()[::-1], np.repeat(x, 2, 1)[:, ::2]]


@case("inner products and norms are NumPy's over the rows of all ranks, in every layout, and the same bits on every rank")
def _():
    for dtype in (np.float64, np.float32):
        for kx, ky in ((1, 1), (4, 4), (8, 3), (65, 2)):
            x, y = random_x(N, kx, dtype, 3), random_x(N, ky, dtype, 4)
            exact = x.astype(np.float64).T @ y.astype(np.float64)
            for mine in layouts(x[rows_of(N)]):
                for other in layouts(y[rows_of(N)])[:3]:
                    g = dot(comm, mine, other)
                    assert g.dtype == np.float64
                    close(g, exact)
                    assert len(set(comm.allgather(g.tobytes()))) == 1
                g = dot(comm, mine)
                close(g, x.astype(np.float64).T @ x)
                assert (g == g.T).all() and (g == dot(comm, mine, mine)).all()
                found = norms(comm, mine)
                assert found.dtype == np.float64 and len(set(comm.allgather(found.tobytes()))) == 1
                close(found, np.linalg.norm(x.astype(np.float64), axis=0))


@case("a vector counts as one column, and ranks may have no rows")
def _():
    v = random_x(N, 1)[:, 0]
    mine = v[rows_of(N)].copy()
    close(dot(comm, mine, mine), np.array([[v @ v]]))
    close(norms(comm, mine), np.array([np.linalg.norm(v)]))
    close(times(mine, [[2.0, 3.0]]), np.outer(mine, [2, 3]))
    close(scale(2, mine.copy()), 2 * mine)
    close(axpby(1, mine, 2, mine.copy()), 3 * mine)
    last = v[:, None] if rank == ranks - 1 else np.empty((0, 1))
    close(dot(comm, last), np.array([[v @ v]]))
    close(norms(comm, last), np.array([np.linalg.norm(v)]))
    assert times(last, np.ones((1, 2))).shape == (len(last), 2)
    assert axpby(1, last, 1, last.copy()).shape == last.shape
    scale([1.0], last.copy())


@case("X R, sums and scaled columns are NumPy's, in every layout of X and out, and touch nothing beside it")
def _():
    r = random_x(4, 3, seed=9)
    for dtype in (np.float64, np.float32):
        x, before = random_x(31, 4, dtype, 3), random_x(31, 3, dtype, 4)
        for mine in layouts(x):
            made = times(mine, r)
            assert type(made) is np.ndarray and made.dtype == dtype
            close(made, x @ r, dtype)
            close(times(mine, r[::-1, ::-1], alpha=2), 2 * x @ r[::-1, ::-1], dtype)
            for i, out in enumerate(layouts(before)):
                whole = out.base if i == 1 else None
                assert times(mine, r, out=out, alpha=-1.5, beta=0.5) is out
                close(out, -1.5 * x @ r + 0.5 * before, dtype)
                assert whole is None or (np.isnan(whole[:, :1]).all() and np.isnan(whole[:, -2:]).all())
            for out in layouts(x):
                assert axpby(2, mine, -0.5, out) is out
                close(out, 1.5 * x, dtype)
                assert scale([1, 2, 3, 4], out) is out
                close(out, 1.5 * x * [1, 2, 3, 4], dtype)
                assert scale(np.float32(-2), out) is out
                close(out, -3 * x * [1, 2, 3, 4], dtype)
        close(times(x, np.eye(4, dtype=int)), x, dtype)
    nan = np.full((31, 3), np.nan)
    close(times(random_x(31, 4), r, out=nan), random_x(31, 4) @ r)
    nan[:] = np.nan
    close(axpby(1, random_x(31, 3), 0, nan), random_x(31, 3))


@case("rows are scaled as NumPy does it, in every layout of X and d, and nothing beside them is touched")
def _():
    for dtype in (np.float64, np.float32):
        x, d = random_x(31, 4, dtype, 3), random_x(31, 1, dtype, 5)
        for factors in [*layouts(d), d[:, 0], np.repeat(d[:, 0], 2)[::2]]:
            for i, mine in enumerate(layouts(x)):
                whole = mine.base if i == 1 else None
                assert scale_rows(factors, mine) is mine
                assert (mine == x * d).all()
                assert whole is None or (np.isnan(whole[:, :1]).all() and np.isnan(whole[:, -2:]).all())
        refused(ValueError, "d has 30 rows, expected 31", scale_rows, d[1:], x)
        refused(ValueError, "d has 4 columns, expected 1", scale_rows, x.copy(), x)
        refused(spmm_mpi.Error, "overlap", scale_rows, x[:, 0], x)
    refused(TypeError, "d is float32, expected float64", scale_rows, np.ones(31, np.float32), random_x(31, 4))
    refused(TypeError, "d is a list", scale_rows, [1.0] * 31, random_x(31, 4))
    frozen = random_x(31, 4)
    frozen.flags.writeable = False
    refused(ValueError, "X is read-only", scale_rows, np.ones(31), frozen)


@case("out may be X, or other columns of the same array")
def _():
    x, r = random_x(50, 8), random_x(4, 4, seed=9)
    whole = x.copy()
    times(whole[:, :4], r, out=whole[:, :4])
    close(whole, np.hstack([x[:, :4] @ r, x[:, 4:]]))
    whole = x.copy()
    times(whole[:, :4], r, out=whole[:, 4:], beta=1)
    close(whole, np.hstack([x[:, :4], x[:, 4:] + x[:, :4] @ r]))
    axpby(1, whole[:, :4], 0, whole[:, 4:])
    close(whole, np.hstack([x[:, :4], x[:, :4]]))
    close(axpby(1, whole, 1, whole), np.hstack([x[:, :4], x[:, :4]]) * 2)
    refused(spmm_mpi.Error, "overlap", axpby, 1, whole[:-1], 1, whole[1:])


@case("multivectors of plans are used as they are")
def _():
    x = random_x(90, 3)
    with spmm_mpi.Plan(comm, on_root(A), 3) as plan:
        X, Y = plan.x_zeros(), plan.y_zeros()
        X[:] = x[plan.x_range]
        plan.apply(X, out=Y)
        close(dot(comm, X, Y), x.T @ (A @ x))
        axpby(-2, X, 1, Y)
        near(np.array(Y), (A @ x - 2 * x)[plan.y_range])
        scale(1 / norms(comm, Y), Y)
        close(norms(comm, Y), np.ones(3))
        times(X, np.linalg.inv(np.linalg.cholesky(dot(comm, X)).T), out=X)
        close(dot(plan.comm, X), np.eye(3))


@case("complex rows: X^H Y, norms, X R, sums and scaled columns and rows")
def _():
    for dtype, bound in ((np.complex128, 1e-11), (np.complex64, 1e-4)):
        x = (np.arange(80).reshape(20, 4) % 7 - 3 + 1j * (np.arange(80).reshape(20, 4) % 5)).astype(dtype) + rank
        y = x[:, :3] * dtype(1 - 2j) + 1
        whole_x, whole_y = (np.concatenate(comm.allgather(part)) for part in (x, y))
        g = dot(comm, x, y)
        assert g.dtype == complex and np.allclose(g, whole_x.conj().T @ whole_y, rtol=bound)
        assert (dot(comm, x) == dot(comm, x).conj().T).all()
        assert np.allclose(norms(comm, x), np.linalg.norm(whole_x, axis=0), rtol=bound)
        r = np.arange(12).reshape(4, 3) - 2j
        found = times(x, r, alpha=1j)
        assert found.dtype == dtype and np.allclose(found, 1j * (x @ r), rtol=bound)
        assert np.allclose(times(x, r, out=y.copy(), alpha=2, beta=1 - 1j), 2 * (x @ r) + (1 - 1j) * y, rtol=bound)
        assert np.allclose(axpby(1j, x, 2, x.copy()), (2 + 1j) * x, rtol=bound)
        assert np.allclose(scale(1j, x.copy()), 1j * x, rtol=bound)
        assert np.allclose(scale_rows(x[:, 0].copy(), y.copy()), x[:, :1] * y, rtol=bound)
        refused(TypeError, "R is complex128", times, x.real.copy(), r)


def bad_rows(name, rows=None):
    """(exception, part of its message, array): arrays that are refused as rows of a multivector."""
    good = np.ones((5, 4))
    wrong = [(TypeError, f"{name} is int64, expected float64, float32, complex128 or complex64" if rows is None else f"{name} is int64, expected float64",
              good.astype(np.int64)), (TypeError, f"{name} is object", good.astype(object)), (TypeError, f"{name} is a list", good.tolist()),
             (TypeError, f"{name} is a NoneType", None), (TypeError, "masked", np.ma.array(good)), (TypeError, f"{name} is a float", 1.0),
             (ValueError, f"{name} has 3 dimensions", good[None]), (ValueError, f"{name} has no columns", good[:, :0])]
    if rows is not None:
        wrong += [(TypeError, f"{name} is complex128, expected float64", good.astype(complex)), (TypeError, f"{name} is float32, expected float64", good.astype(np.float32)),
                  (ValueError, f"{name} has 6 rows, expected 5, as X has", np.ones((6, 4)))]
    return wrong


class OnGpu:
    __cuda_array_interface__ = {"shape": (5, 4), "typestr": "<f8", "data": (8, False), "version": 3}


@case("a wrong X or Y of one rank is its TypeError or ValueError, and an Error on the others: no rank waits")
def _():
    good = np.ones((5, 4))
    for bad in {0, ranks - 1}:
        for at, list_ in ((0, bad_rows("X")), (1, bad_rows("Y", 5)[:3] + bad_rows("Y", 5)[4:])):
            for kind, part, wrong in list_:
                arguments = [good, good]
                if rank == bad:
                    arguments[at] = wrong
                    refused(kind, part, dot, comm, *arguments)
                    refused(kind, part, norms, comm, wrong) if at == 0 else None
                else:
                    refused(spmm_mpi.Error, "", dot, comm, *arguments)
                    refused(spmm_mpi.Error, "", norms, comm, good) if at == 0 else None
        close(dot(comm, good), np.full((4, 4), 5.0 * ranks))
    if ranks > 1:
        refused(spmm_mpi.Error, "x.k", dot, comm, np.ones((5, 4 + (rank > 0))))
        refused(spmm_mpi.Error, "precision", norms, comm, good.astype(np.float32 if rank else np.float64))
    for wrong, kind in ((None, TypeError), (0, TypeError), (MPI.COMM_NULL, ValueError)):
        refused(kind, "comm is", dot, wrong, good)
        refused(kind, "comm is", norms, wrong, good)


@case("every wrong argument of what is local is refused")
def _():
    good, r = np.ones((5, 4)), np.ones((4, 3))
    fixed = good.copy()
    fixed.flags.writeable = False
    for kind, part, wrong in bad_rows("X"):
        refused(kind, part, times, wrong, r)
        refused(kind, part, axpby, 1, wrong, 1, good)
        refused(kind, part, scale, 2, wrong)
    for kind, part, wrong in bad_rows("out", 5):
        refused(kind, part, axpby, 1, good, 1, wrong)
        if wrong is not None:
            refused(kind, part, times, good, np.ones((4, 4)), out=wrong)
    for kind, part, wrong in ((TypeError, "R is complex128", r * 1j), (TypeError, "R is object", [[None] * 3] * 4), (TypeError, "R is", "R"),
                              (TypeError, "R is on a GPU", OnGpu()), (ValueError, "R has the shape [3, 3], expected [4, any]", r[1:]),
                              (ValueError, "R has the shape [4]", r[:, 0]), (ValueError, "R has the shape [4, 0]", r[:, :0]),
                              (TypeError, "R is", None), (TypeError, "R is", [[1, 2], [1]]), (TypeError, "R is bool", r > 0)):
        refused(kind, part, times, good, wrong)
    for wrong in ("1", 1j, None, [1], 10 ** 400):
        refused(TypeError, "alpha is", times, good, r, alpha=wrong)
        refused(TypeError, "beta is", times, good, r, out=np.ones((5, 3)), beta=wrong)
        refused(TypeError, "alpha is", axpby, wrong, good, 1, good.copy())
        refused(TypeError, "beta is", axpby, 1, good, wrong, good.copy())
    refused(ValueError, "there is no out", times, good, r, beta=1)
    refused(ValueError, "out has 4 columns, expected 3", times, good, r, out=good.copy())
    refused(ValueError, "out has 3 columns, expected 4", axpby, 1, good, 1, np.ones((5, 3)))
    refused(ValueError, "out is read-only", times, good, np.ones((4, 4)), out=fixed)
    refused(ValueError, "out is read-only", axpby, 1, good, 1, fixed)
    refused(ValueError, "X is read-only", scale, 2, fixed)
    for kind, wrong in ((TypeError, "1"), (TypeError, 1j), (TypeError, None), (TypeError, ["a"] * 4), (ValueError, [1, 2, 3]), (ValueError, np.ones((4, 1))),
                        (TypeError, OnGpu()), (ValueError, [])):
        refused(kind, "factor", scale, wrong, good.copy())
    assert (good == 1).all() and (fixed == 1).all()


@case("arrays in two memories, or on a GPU where none is open, are refused")
def _():
    good = np.ones((5, 4))
    refused(TypeError, "out is in host memory and X in GPU memory" if spmm_mpi._library.gpu_is_open else "", both, good)
    refused(TypeError, "Y is in GPU memory and X in host memory", dot, comm, good, OnGpu())
    refused(TypeError, "out is in GPU memory and X in host memory", axpby, 1, good, 1, OnGpu())
    for call in (lambda: dot(comm, OnGpu()), lambda: norms(comm, OnGpu()), lambda: scale(2, OnGpu()), lambda: times(OnGpu(), np.ones((4, 4)))):
        assert refused(spmm_mpi.Error, "", call).status is spmm_mpi.Status.NO_DEVICE


def both(good):
    try:
        axpby(1, OnGpu(), 1, good)
    except spmm_mpi.Error as error:  # for X: no GPU is open
        raise TypeError(str(error)) from None


@case("a libspmm without them says so")
def _():
    good = np.ones((5, 4))
    held = {name: getattr(loaded(), name) for name in NAMES}
    try:
        for name in NAMES:
            setattr(loaded(), name, None)
        for name, call in zip(NAMES, (lambda: dot(comm, good), lambda: norms(comm, good), lambda: times(good, np.eye(4)),
                                      lambda: axpby(1, good, 1, good), lambda: scale(2, good))):
            refused(spmm_mpi.Error, f"no function {name}", call)
    finally:
        for name, function in held.items():
            setattr(loaded(), name, function)


@case("CPU tensors of PyTorch are taken, and give tensors")
def _():
    torch = module("torch")
    x = random_x(31, 4)
    tensor = torch.tensor(x)
    close(dot(comm, tensor), ranks * x.T @ x)
    made = times(tensor, torch.eye(4) * 2)
    assert isinstance(made, torch.Tensor)
    close(made.numpy(), 2 * x)
    assert scale(2, made) is made and axpby(1, tensor, 1, made) is made
    close(made.numpy(), 5 * x)
    refused(TypeError, "requires a gradient", norms, comm, tensor.clone().requires_grad_())
    refused(TypeError, "X is bfloat16, expected float64, float32, complex128 or complex64: X.to(torch.float64)", scale, 2, tensor.to(torch.bfloat16))


run_all()
