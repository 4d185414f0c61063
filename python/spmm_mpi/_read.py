"""Files of matrices as matrices of SciPy, by libspmm's readers."""
import ctypes
import os

import numpy as np

from . import _library as c
from ._matrix import PRECISIONS


def copied(address, n, dtype):
    """A copy of n numbers in libspmm's memory."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer((ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(address), dtype).copy()


def read(path, dtype=np.float64):
    """Returns the matrix of a file as a csr_array of SciPy (csr_matrix where SciPy has none), read by all cores. Local.

    path: a file of a format that spmm_mpi reads (docs/READING.md), which its first bytes tell. Both triangles of a symmetric matrix are there,
    the rows are sorted, and duplicates are summed. dtype: float64 or float32. Raises Error, whose message has the file, the place,
    and what was found and expected; TypeError for another dtype."""
    import scipy.sparse
    dtype = np.dtype(dtype)
    if dtype not in PRECISIONS:
        raise TypeError(f"dtype is {dtype}, expected float64 or float32")
    c.check_fork()
    lib, a = c.loaded(), c.Csr()
    lib.check(lib.spmm_csr_read(os.fsencode(path), PRECISIONS[dtype], ctypes.byref(a)))
    try:
        index = np.int32 if a.nnz < 2 ** 31 else np.int64  # SciPy wants one type for both
        arrays = (copied(getattr(a, "as"), a.nnz, dtype), copied(a.ja, a.nnz, np.int32).astype(index, copy=False),
                  copied(a.irp, a.rows + 1, np.int64).astype(index))
        shape = (a.rows, a.cols)
    finally:
        lib.spmm_csr_destroy(ctypes.byref(a))
    return getattr(scipy.sparse, "csr_array", scipy.sparse.csr_matrix)(arrays, shape=shape)
