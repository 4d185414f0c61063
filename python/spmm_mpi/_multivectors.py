"""What block solvers compute between products: X^H Y, norms of columns, X R, sums, scaled columns and scaled
rows of multivectors.

These functions operate on arrays and need no plan. X, Y and out are this rank's rows [rows, K] of float64,
float32, complex128 or complex64, or vectors [rows], which count as one column: arrays of NumPy, multivectors of plan.x_zeros() and
y_zeros(), or, if a GPU is open (by device_open() or a plan with device="cuda"), arrays of CuPy and PyTorch.
All arrays of a call must be in the same memory, the host's or the GPU's."""
import ctypes

import numpy as np

from . import _arrays as arrays
from . import _library as c
from ._arguments import check_comm, complex_number, real_number


# ---- operands ----

class Rows:
    """An array as an spmm_multivector. If libspmm cannot use the array in place, a copy replaces it, and
    finish() copies the result back."""

    def __init__(self, x, name, like=None, k=None, written=False, read=True):
        """like: the Rows whose memory, dtype and number of rows x must have, too; k: the number of columns
        that x must have; written, read: whether libspmm writes and reads x. Raises TypeError, ValueError."""
        self.operand = o = arrays.examine_rows(x, name, *((like.rows, like.dtype) if like else (None, None)))
        self.rows, self.k, self.dtype = o.rows, o.k, o.dtype
        self.on_gpu = o.kind >= arrays.CUPY
        self.check(name, like, k, written)
        self.copy = None
        address, ld = o.address, max(o.ld, o.k)
        if self.on_gpu:
            arrays.wait_for(o)
            arrays.check_gpu(o, name)
        elif not o.direct:
            self.copy = np.empty((o.rows, o.k), o.dtype)
            if read:
                np.copyto(self.copy, o.matrix())
            address, ld = self.copy.ctypes.data, o.k
        self.struct = c.Multivector(o.rows, o.k, ld, arrays.PRECISIONS[o.dtype], c.CUDA if self.on_gpu else c.CPU,
                                    address, 0, 0)
        self.reference = ctypes.byref(self.struct)

    def check(self, name, like, k, written):
        if like and self.on_gpu != like.on_gpu:
            places = ("host", "GPU")
            raise TypeError(f"{name} is in {places[self.on_gpu]} memory and X in {places[like.on_gpu]} memory, expected both in the same memory")
        if k is not None and self.k != k:
            raise ValueError(f"{name} has {self.k} column{'s' * (self.k != 1)}, expected {k}")
        if self.on_gpu:
            arrays.check_rows_on_gpu(self.operand, name, False)
        if written and not self.operand.writable:
            raise ValueError(f"{name} is read-only")

    @property
    def complex(self):
        return self.dtype.kind == "c"

    def number(self, name, value):
        """Returns a factor as an argument for libspmm. Raises TypeError."""
        if not self.complex:
            return real_number(name, value)
        found = complex_number(name, value)
        return c.Complex(found.real, found.imag)

    def function(self, name):
        """Returns the function of libspmm for the type of the rows."""
        return c.loaded().need(name + "_complex" * self.complex)

    def call(self, function, *arguments):
        """Calls a function of libspmm on these rows. Raises Error."""
        with c.lock_of(self.struct.space):
            c.loaded().check(function(*arguments))

    def finish(self):
        if self.copy is not None:
            np.copyto(self.operand.matrix(), self.copy)


def small_matrix(name, value, shape, complex):
    """Returns a small matrix or vector, which must be in host memory, as an array of float64 or complex128.
    shape: its expected shape, with None for any size. Raises TypeError, ValueError."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__cuda_array_interface__"):
        raise TypeError(f"{name} is on a GPU, expected an array in host memory: {name}.get(), {name}.cpu()")
    try:
        found = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} is not an array of real numbers: {error}") from None
    if found.dtype.kind not in ("fiuc" if complex else "fiu"):
        raise TypeError(f"{name} is {found.dtype}, expected an array of {'numbers' if complex else 'real numbers'}")
    if found.ndim != len(shape) or any(n is not None and n != here for n, here in zip(shape, found.shape)) or 0 in found.shape:
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} has the shape {list(found.shape)}, expected [{expected}]")
    return np.ascontiguousarray(found, np.complex128 if complex else np.float64)


# ---- over all ranks ----

def dot(comm, X, Y=None):
    """Returns G = X^H Y [kx, ky], summed over the rows of all ranks: an array of NumPy, of float64 or
    complex128, with the same bits on every rank.

    comm: a communicator of mpi4py. X: this rank's rows [rows, kx]. Y: [rows, ky] of the same dtype; None: Y
    is X, which takes half the time. Products are summed in float64, also for float32, in an order that
    depends only on the ranks' numbers of rows.
    Collective. Raises TypeError or ValueError if an argument of this rank is wrong; the other ranks then
        raise Error. Raises Error if libspmm fails, if kx or dtype differ between ranks, or if no GPU is
        open."""
    comm = check_comm(comm)
    function, handle = c.loaded().need("spmm_multivector_dot"), c.comm_handle(comm)
    try:
        x = Rows(X, "X")
        y = x if Y is None or Y is X else Rows(Y, "Y", like=x)
        g = np.empty((x.k, y.k), np.complex128 if x.complex else np.float64)
        function = x.function("spmm_multivector_dot")
    except BaseException:
        function(handle, None, None, None, 0)  # so that no other rank waits forever
        raise
    x.call(function, handle, x.reference, y.reference, g.ctypes.data, y.k)
    return g


def norms(comm, X):
    """Returns the Euclidean norms [k] of the columns of X, over the rows of all ranks: a float64 array of
    NumPy with the same bits on every rank.

    comm: a communicator of mpi4py. X: this rank's rows [rows, k]. Collective; errors as for dot()."""
    comm = check_comm(comm)
    lib = c.loaded()
    function, handle = lib.need("spmm_multivector_norms"), c.comm_handle(comm)
    try:
        x = Rows(X, "X")
        found = np.empty(x.k)
    except BaseException:
        function(handle, None, None)
        raise
    x.call(function, handle, x.reference, found.ctypes.data)
    return found


# ---- of one rank ----

def times(X, R, *, out=None, alpha=1.0, beta=0.0):
    """Computes out := alpha X R + beta out, and returns out.

    X: rows [rows, K]. R: a small matrix [K, L] in host memory; usually all ranks pass the same R, for one
    distributed result. out: [rows, L] of X's dtype; it may be X itself, or other columns of the same array.
    None: a new array of the kind of X; beta must then be 0. With beta = 0, out is not read; with alpha = 0, X
    and R are not read. Computed in X's dtype, to which R, alpha and beta are rounded.
    Local. Raises TypeError or ValueError if an argument is wrong, Error if libspmm fails, if X and out
    overlap in any other way, or if no GPU is open."""
    x = Rows(X, "X")
    function = x.function("spmm_multivector_times")
    r = small_matrix("R", R, (x.k, None), x.complex)
    a, b = x.number("alpha", alpha), x.number("beta", beta)
    if out is None:
        if beta != 0:
            raise ValueError(f"beta is {beta}, but there is no out to multiply by it: pass out")
        out = made(x, r.shape[1])
    y = Rows(out, "out", like=x, k=r.shape[1], written=True, read=beta != 0)
    x.call(function, a, x.reference, r.ctypes.data, r.shape[1], b, y.reference)
    y.finish()
    return out


def made(x, k):
    """Returns a new array [rows, k] of the kind of X; if X is on a GPU but not of CuPy or PyTorch, a
    DeviceArray."""
    def create():
        lib = c.loaded()
        return arrays.allocated(lambda struct: lib.spmm_multivector_create(x.rows, k, x.struct.precision, c.CUDA, struct), c.CUDA)
    return arrays.empty(x.operand, (x.rows, k), x.dtype, create)


def axpby(alpha, X, beta, out):
    """Computes out := alpha X + beta out, and returns out.

    alpha, beta: numbers, real ones if X is; with beta = 0, out is not read; with alpha = 0, X is not read. X, out: [rows,
    K] of the same dtype; out may be X itself, or other columns of the same array. Local; errors as for
    times()."""
    x = Rows(X, "X")
    a, b = x.number("alpha", alpha), x.number("beta", beta)
    y = Rows(out, "out", like=x, k=x.k, written=True, read=beta != 0)
    x.call(x.function("spmm_multivector_axpby"), a, x.reference, b, y.reference)
    y.finish()
    return out


def scale(factor, X):
    """Multiplies column j of X by factor[j], in place, and returns X.

    factor: an array [K] in host memory, or one number for all columns, real if X is, rounded to X's dtype. X: [rows,
    K]. Local; errors as for times()."""
    x = Rows(X, "X", written=True)
    if np.ndim(factor) == 0:
        factor = np.full(x.k, (complex_number if x.complex else real_number)("factor", factor))
    factor = small_matrix("factor", factor, (x.k,), x.complex)
    x.call(x.function("spmm_multivector_scale"), factor.ctypes.data, x.reference)
    x.finish()
    return X


def scale_rows(d, X):
    """Multiplies row i of X by d[i], in place, and returns X. With d = 1 / plan.diagonal() this is the
    diagonal preconditioner.

    d: an array [rows] or [rows, 1] of X's dtype, in the same memory as X (host or GPU). X: [rows, K]; must
    not overlap d. Local; errors as for times()."""
    lib = c.loaded()
    function = lib.need("spmm_multivector_scale_rows")
    x = Rows(X, "X", written=True)
    factors = Rows(d, "d", like=x, k=1)
    x.call(function, factors.reference, x.reference)
    x.finish()
    return X
