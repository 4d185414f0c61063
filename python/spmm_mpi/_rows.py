"""Passes the arrays of a CSR matrix to libspmm, which compares them with the block of a plan
(spmm_plan_update_rows)."""
import ctypes

import numpy as np

from . import _arrays as arrays
from . import _library as c

INDEX_BYTES = {np.dtype(np.int32): 4, np.dtype(np.int64): 8}


def read(x):
    """Returns (type of an array's elements as a type of NumPy, their number, their address or None if C
    cannot read them)."""
    if isinstance(x, np.ndarray):
        flags = x.flags
        here = flags.c_contiguous and flags.aligned and x.ndim == 1
        return x.dtype, x.size, arrays.address_of(x) if here else None
    if arrays.torch_tensor(x):
        here = x.dim() == 1 and x.is_contiguous() and x.get_device() == arrays.opened_gpu()
        return arrays.torch_types().get(x.dtype), x.numel(), x.data_ptr() if here else None
    memory = getattr(x, "data", None)
    here = getattr(memory, "device_id", -1) == arrays.opened_gpu() and x.ndim == 1 and x.flags.c_contiguous
    return x.dtype, x.size, memory.ptr if here else None


def rows_of(shape, indptr, indices, data):
    """Returns the spmm_rows for the arrays of a CSR matrix of that shape, in host memory or on the GPU; None if
    C cannot read them."""
    found = [read(array) for array in (indptr, indices, data)]
    sizes = [INDEX_BYTES.get(dtype) for dtype, _, _ in found[:2]]
    irp, ja, values = (address for _, _, address in found)
    nnz = min(found[1][1], found[2][1])
    if nnz == 0:  # C refuses row starts that say otherwise
        ja = values = None
    elif ja is None or values is None:
        return None
    if None in sizes or irp is None or found[0][1] != shape[0] + 1:
        return None
    return c.Rows(irp, ja, values, *sizes, nnz=nnz)


def apply(a, x, y):
    """Calls spmm_rows_apply(). Returns whether row starts and column indices are in range and increase."""
    lib = c.loaded()
    status = lib.spmm_rows_apply(ctypes.byref(a), 1.0, ctypes.byref(x), 0.0, ctypes.byref(y), 0)
    if status and status != c.Status.USAGE:
        lib.check(status)
    return not status


def sound(shape, indptr, indices, data, dtype, space=c.CPU):
    """Whether the arrays of a CSR matrix with values of a type of libspmm can be read by C, and column indices
    are in range and increase in each row."""
    a = rows_of(shape, indptr, indices, data) if c.loaded().spmm_rows_apply is not None else None
    precision = arrays.PRECISIONS[dtype]
    with c.lock_of(space):
        return a is not None and apply(a, *(c.Multivector(rows, 0, 0, precision, space, None, 0, 0) for rows in shape[::-1]))


class Rows:
    """The arguments of a plan's comparison of arrays with its block, and its result."""

    def __init__(self, block):
        csr = block.struct.csr
        self.starts, self.nnz, self.dtype = csr.rows + 1, csr.nnz, block.dtype
        self.struct, self.same = c.Rows(), ctypes.c_int()
        self.references = ctypes.byref(self.struct), ctypes.byref(self.same)

    def hold(self, pattern, values):
        """Sets the arrays to compare. Returns whether C can compare them; False also if they are too short.

        pattern: (indptr, indices); None: the pattern is not compared. values: None: values are not
        compared."""
        irp, ja, irp_bytes, ja_bytes, address = None, None, 0, 0, None
        if pattern is not None:
            starts, columns = pattern
            dtype, size, irp = read(starts)
            irp_bytes = INDEX_BYTES.get(dtype)
            if irp is None or irp_bytes is None or size != self.starts:
                return False
            dtype, size, ja = read(columns)
            ja_bytes = INDEX_BYTES.get(dtype)
            if ja is None or ja_bytes is None or size < self.nnz:
                return False
        if values is not None:
            dtype, size, address = read(values)
            if address is None or dtype != self.dtype or size < self.nnz:
                return False
        self.struct.__init__(irp, ja, address, irp_bytes, ja_bytes)
        return True
