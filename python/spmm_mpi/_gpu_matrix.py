"""Matrices of CuPy and PyTorch in GPU memory as blocks of libspmm, which reads their arrays in place.

Arrays of both libraries have the same operators; the first functions handle the differences."""
import ctypes
import sys
import weakref

import numpy as np

from . import _arrays as arrays
from . import _library as c
from . import _matrix as matrix
from . import _rows as rows


def is_on_gpu(A):
    """Whether A is a sparse matrix in the memory of a GPU."""
    if arrays.torch_tensor(A):
        return A.device.type == "cuda" and (A.is_sparse or A.layout in layouts(sys.modules["torch"]))
    return isinstance(A, GpuEntries) or type(A).__module__.startswith("cupyx.scipy.sparse")


def layouts(torch):
    return torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc


def dtype_of(array):
    """Returns the type of an array as a type of NumPy. Raises TypeError if NumPy has no such type."""
    if not arrays.torch_tensor(array):
        return np.dtype(array.dtype)
    known = arrays.torch_types().get(array.dtype)
    return arrays.numpy_type(array, "A") if known is None else known


def as_type(array, dtype, copy=False):
    """Returns the array as a contiguous array of that type. copy: always make a new array."""
    torch = arrays.torch_tensor(array)
    if torch:
        return array.to(getattr(torch, np.dtype(dtype).name), copy=copy).contiguous()
    return sys.modules["cupy"].ascontiguousarray(array.astype(dtype, copy=copy))


def like(array, values):
    """Returns values, an array of NumPy or on a GPU, as an array of the library of `array`, on its GPU."""
    torch = arrays.torch_tensor(array)
    return torch.as_tensor(values, device=array.device) if torch else sys.modules["cupy"].asarray(values)


def zeros(array, shape):
    """Returns zeros of the type of `array`, on its GPU."""
    torch = arrays.torch_tensor(array)
    if torch:
        return torch.zeros(shape, dtype=array.dtype, device=array.device)
    return sys.modules["cupy"].zeros(shape, array.dtype)


def wait(array):
    """Waits for the work on an array in the caller's stream, because libspmm uses its own streams."""
    torch = arrays.torch_tensor(array)
    if torch:
        torch.cuda.current_stream(array.device).synchronize()
    else:
        sys.modules["cupy"].cuda.get_current_stream().synchronize()


def on_host(array):
    return array.cpu().numpy() if arrays.torch_tensor(array) else array.get()


class GpuEntries:
    """A CSR matrix in GPU memory in the form that libspmm requires: row starts of int64, and column indices
    of int32 that increase strictly in each row."""
    checked = False  # whether entries() has made it

    def __init__(self, shape, indptr, indices, data):
        self.shape, self.indptr, self.indices, self.data = shape, indptr, indices, data

    @property
    def dtype(self):
        return dtype_of(self.data)

    def csr(self):
        """Returns an spmm_csr, whose arrays this object keeps alive."""
        address = [part.data_ptr() if arrays.torch_tensor(part) else part.data.ptr for part in (self.indptr, self.indices, self.data)]
        return c.Csr(self.shape[0], self.shape[1], len(self.data), matrix.PRECISIONS[self.dtype], *address)

    def same_pattern(self, other):
        """Whether another matrix, whose arrays may be longer, has the same pattern."""
        return (self.shape == other.shape and len(self.indptr) == len(other.indptr) and len(self.indices) <= len(other.indices) and
                bool((like(self.indptr, other.indptr) == self.indptr).all()) and
                bool((like(self.indices, other.indices)[:len(self.indices)] == self.indices).all()))

    def assign(self, values):
        """Sets the values of the entries from an array of NumPy or on a GPU."""
        self.data[:] = like(self.data, values)
        wait(self.data)

    def on_host(self):
        return matrix.Entries(self.shape, on_host(self.indptr), on_host(self.indices), on_host(self.data))


class Uploaded:
    """Like GpuEntries, in memory of libspmm, copied from a matrix in host memory. Raises Error with the status
    USAGE if row starts or column indices are out of range or do not increase."""

    def __init__(self, host):
        self.shape, self.dtype, self.struct = host.shape, host.dtype, c.Csr()
        lib = c.loaded()
        with c.gpu_lock:
            lib.check(lib.spmm_csr_upload(ctypes.byref(host.csr()), ctypes.byref(self.struct)))
        weakref.finalize(self, destroy, self.struct).atexit = False

    def csr(self):
        """Returns an spmm_csr, whose arrays this object keeps alive."""
        return c.Csr.from_buffer_copy(self.struct)

    def assign(self, values):
        """Sets the values of the entries from an array of NumPy."""
        values = np.ascontiguousarray(values)
        arrays.copy(words(values, c.CPU, values.ctypes.data), words(values, c.CUDA, getattr(self.struct, "as")))

    def on_host(self):
        s, parts = self.struct, []
        for member, size, dtype in (("irp", s.rows + 1, np.int64), ("ja", s.nnz, np.int32), ("as", s.nnz, self.dtype)):
            part = np.empty(size, dtype)
            arrays.copy(words(part, c.CUDA, getattr(s, member)), words(part, c.CPU, part.ctypes.data))
            parts.append(part)
        return matrix.Entries(self.shape, *parts)


def destroy(struct):
    with c.gpu_lock:
        c.loaded().spmm_csr_destroy(ctypes.byref(struct))


def words(array, space, address):
    """Describes the elements of an array, or of a copy of it, as a multivector of one row, to be copied bit by
    bit: libspmm copies no integers."""
    precision = {4: c.F32, 8: c.F64, 16: c.C128}[array.itemsize]
    return c.Multivector(1, array.size, max(array.size, 1), precision, space, address, 0, 0)


def tensor_parts(A):
    """Returns what parts() returns, for a tensor."""
    torch = arrays.torch_tensor(A)
    if A.dim() != 2:
        raise TypeError(f"A is a tensor of {A.dim()} dimensions, expected one matrix: multiply each A[i] of a batch separately")
    if A.layout is not torch.sparse_csr:
        raise TypeError(f"A is a tensor of layout {A.layout}, expected torch.sparse_csr: A.to_sparse_csr()")
    if A.requires_grad:
        raise TypeError("A is a tensor that requires a gradient, which libspmm does not compute: pass A.detach(), or for gradients "
                        "call spmm_mpi.torch.matmul(A, X)")
    return tuple(A.shape), A.crow_indices(), A.col_indices(), A.values(), A


def parts(A):
    """Returns (shape, indptr, indices, data, owner) of a matrix on a GPU, not converted. owner: an object
    that lives as long as the pattern. Raises TypeError."""
    if arrays.torch_tensor(A):
        return tensor_parts(A)
    if isinstance(A, GpuEntries):
        return A.shape, A.indptr, A.indices, A.data, A
    ours = A if A.format == "csr" else A.tocsr()
    return tuple(map(int, A.shape)), ours.indptr, ours.indices, ours.data, A.indices if ours is A else A


def entries(A, copy=True):
    """Returns a matrix on a GPU as GpuEntries, with duplicates summed. Raises TypeError, ValueError.

    copy: make new arrays for the result; else it may have those of A."""
    return entries_in_order(A, copy)[0]


def entries_in_order(A, copy):
    """Returns (what entries() returns, whether the entries have the order of A)."""
    shape, indptr, indices, data, _ = parts(A)
    if isinstance(A, GpuEntries) and A.checked:
        return made_of(shape, indptr, indices, data, copy), True
    if dtype_of(data) not in arrays.TYPES:
        raise TypeError(f"the values of A are {dtype_of(data)}, expected {arrays.EXPECTED}")
    if shape[1] > matrix.MOST_COLUMNS:
        raise ValueError(f"A has {shape[1]} columns, expected at most {matrix.MOST_COLUMNS}")
    if c.gpu_is_open and sound(shape, indptr, indices, data):
        return made_of(shape, indptr, indices, data, copy), True
    if len(indptr) != shape[0] + 1:
        raise ValueError(f"A has {len(indptr)} row starts, expected {shape[0] + 1} for {shape[0]} rows")
    nnz = int(indptr[-1])
    if not 0 <= nnz <= min(len(indices), len(data)):
        raise ValueError(f"the row starts of A end with {nnz}, but there are {len(indices)} column indices and {len(data)} values")
    indices, data = indices[:nnz], data[:nnz]
    if int(indptr[0]) != 0 or bool((indptr[1:] < indptr[:-1]).any()):
        raise ValueError("the row starts of A do not begin with 0, or decrease")
    if nnz and (int(indices.min()) < 0 or int(indices.max()) >= shape[1]):
        raise ValueError(f"A has a column index outside 0 to {shape[1] - 1}")
    if not matrix.increases_in_rows(indptr, indices):
        return entries(summed(A), copy=False), False
    return made_of(shape, indptr, indices, data, copy), True


def sound(shape, indptr, indices, data):
    """Whether all entries are used, and column indices are in range and increase in each row; False also if
    libspmm cannot read the arrays."""
    wait(data)
    return int(indptr[-1]) == len(indices) == len(data) and rows.sound(shape, indptr, indices, data, dtype_of(data), c.CUDA)


def made_of(shape, indptr, indices, data, copy):
    made = GpuEntries(shape, as_type(indptr, np.int64, copy), as_type(indices, np.int32, copy), as_type(data, dtype_of(data), copy))
    made.checked = True
    wait(made.data)
    return made


def summed(A):
    """Returns the matrix with column indices that increase in each row, and with duplicates summed."""
    if arrays.torch_tensor(A):
        return A.to_sparse_coo().coalesce().to_sparse_csr()
    if isinstance(A, GpuEntries):
        raise ValueError("the column indices of A do not increase in its rows")
    ours = A.tocsr().copy()
    ours.sum_duplicates()
    return ours
