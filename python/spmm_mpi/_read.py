"""Reads files into matrices of SciPy, with libspmm's readers."""
import ctypes
import os

import numpy as np

from . import _library as c
from ._matrix import PRECISIONS


def copied(address, n, dtype):
    """Returns a copy of n numbers in libspmm's memory."""
    if n == 0:
        return np.empty(0, dtype)
    return np.frombuffer((ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(address), dtype).copy()


EDGES = {"edges": 0, "edges:0": 0, "edges:1": 1}  # a value of read_as -> the smallest possible vertex id


def read(path, dtype=np.float64, read_as=None):
    """Returns the matrix of a file as a csr_array of SciPy (csr_matrix if SciPy is too old), read by all
    cores. Local.

    path: a file in a format that spmm_mpi reads (docs/READING.md); its first bytes determine the format. The
    result has both triangles of a symmetric matrix, sorted rows and no duplicates: they are summed. dtype:
    float64 or float32.
    read_as: "edges" or "edges:0" if the file is an edge list (a line `u v` or `u v weight` for each edge)
    whose vertices are numbered from 0, "edges:1" if from 1; None: the file has another format.
    Raises Error, whose message contains the file, the position, and what was found and expected; TypeError
    for another dtype; ValueError for another read_as."""
    import scipy.sparse
    dtype = np.dtype(dtype)
    if dtype not in PRECISIONS:
        raise TypeError(f"dtype is {dtype}, expected float64 or float32")
    if read_as is not None and read_as not in EDGES:
        raise ValueError(f"read_as is {read_as!r}, expected None, 'edges', 'edges:0' or 'edges:1'")
    c.check_fork()
    lib, a = c.loaded(), c.Csr()
    place = (PRECISIONS[dtype], ctypes.byref(a))
    if read_as is None:
        lib.check(lib.spmm_csr_read(os.fsencode(path), *place))
    else:
        lib.check(lib.spmm_csr_read_edges(os.fsencode(path), EDGES[read_as], *place))
    try:
        index = np.int32 if a.nnz < 2 ** 31 else np.int64  # SciPy requires one type for irp and ja
        arrays = (copied(getattr(a, "as"), a.nnz, dtype), copied(a.ja, a.nnz, np.int32).astype(index, copy=False),
                  copied(a.irp, a.rows + 1, np.int64).astype(index))
        shape = (a.rows, a.cols)
    finally:
        lib.spmm_csr_destroy(ctypes.byref(a))
    return getattr(scipy.sparse, "csr_array", scipy.sparse.csr_matrix)(arrays, shape=shape)
