"""Reads files into matrices of SciPy, with libspmm's readers."""
import weakref

import numpy as np

from . import _arrays as arrays
from . import _library as c
from ._matrix import PRECISIONS


class Matrix:
    """A spmm_csr that libspmm allocated. It is freed when nothing refers to this object any more."""

    def __init__(self):
        self.struct = c.Csr()
        weakref.finalize(self, c.loaded().spmm_csr_destroy, self.struct).atexit = False


class Part:
    """One of its arrays. numpy.asarray() returns a view, which keeps the matrix."""

    def __init__(self, matrix, address, n, dtype):
        self.matrix = matrix
        self.__array_interface__ = {"shape": (n,), "typestr": np.dtype(dtype).str, "data": (address or 0, False), "version": 3}


def narrowed(wide):
    """Converts an array of int64 to int32 in the same memory, and returns a view. A new array would need
    memory that was not asked for."""
    narrow, piece = wide.view(np.int32)[:len(wide)], 1 << 16
    for begin in range(0, len(wide), piece):
        narrow[begin:begin + piece] = wide[begin:begin + piece].copy()
    return narrow


def widened(narrow):
    """Returns an array of int32 as int64, in memory that libspmm allocates: it refuses what does not fit."""
    wide = arrays.allocated(lambda struct: c.loaded().spmm_multivector_create(len(narrow), 1, c.F64, c.CPU, struct), c.CPU)
    found = wide.array().reshape(-1).view(np.int64)
    found[:] = narrow
    return found


EDGES = {"edges": 0, "edges:0": 0, "edges:1": 1}  # a value of read_as -> the smallest possible vertex id


def read(path, dtype=np.float64, read_as=None):
    """Returns the matrix of a file as a csr_array of SciPy (csr_matrix if SciPy is too old), read by all
    cores. Local.

    path: a file in a format that spmm_mpi reads (docs/READING.md); its first bytes determine the format. The
    result has both triangles of a symmetric matrix, sorted rows and no duplicates: they are summed. dtype:
    float64, float32, complex128 or complex64; a file of complex values requires a complex one. The arrays of the result are libspmm's memory, not a copy.
    read_as: "edges" or "edges:0" if the file is an edge list (a line `u v` or `u v weight` for each edge)
    whose vertices are numbered from 0, "edges:1" if from 1; None: the file has another format.
    Raises Error, whose message contains the file, the position, and what was found and expected; TypeError
    for another dtype; ValueError for another read_as, or a path with a NUL byte."""
    import scipy.sparse
    dtype = np.dtype(dtype)
    if dtype not in PRECISIONS:
        raise TypeError(f"dtype is {dtype}, expected {arrays.EXPECTED}")
    if read_as is not None and read_as not in EDGES:
        raise ValueError(f"read_as is {read_as!r}, expected None, 'edges', 'edges:0' or 'edges:1'")
    c.check_fork()
    name, lib = c.text("path", path), c.loaded()
    whole = Matrix()
    a = whole.struct
    if read_as is None:
        lib.check(lib.spmm_csr_read(name, PRECISIONS[dtype], a))
    else:
        lib.check(lib.spmm_csr_read_edges(name, EDGES[read_as], PRECISIONS[dtype], a))
    starts = np.asarray(Part(whole, a.irp, a.rows + 1, np.int64))
    columns = np.asarray(Part(whole, a.ja, a.nnz, np.int32))
    values = np.asarray(Part(whole, getattr(a, "as"), a.nnz, dtype))
    if a.nnz < 2 ** 31:  # SciPy requires one type for both
        starts = narrowed(starts)
    else:
        columns = widened(columns)
    return getattr(scipy.sparse, "csr_array", scipy.sparse.csr_matrix)((values, columns, starts), shape=(a.rows, a.cols))
