"""SciPy's matrices as blocks of libspmm."""
import collections
import ctypes

import numpy as np

from . import _arrays as arrays
from . import _library as c
from . import _rows as rows

PRECISIONS = arrays.PRECISIONS
MOST_COLUMNS = 2 ** 31 - 1


class Entries:
    """A CSR matrix in the form that libspmm requires: row starts of int64, and column indices of int32 that
    increase strictly in each row."""

    def __init__(self, shape, indptr, indices, data):
        self.shape, self.indptr, self.indices, self.data = shape, indptr, indices, data

    @property
    def dtype(self):
        return self.data.dtype

    def csr(self):
        """Returns an spmm_csr, whose arrays this object keeps alive."""
        return c.Csr(self.shape[0], self.shape[1], len(self.data), PRECISIONS[self.dtype], self.indptr.ctypes.data,
                     self.indices.ctypes.data, self.data.ctypes.data)

    def same_pattern(self, other):
        return (self.shape == other.shape and np.array_equal(self.indptr, other.indptr) and
                np.array_equal(self.indices, other.indices))


def check_indices(a):
    """Refuses a matrix with indices outside its shape: loops of SciPy or libspmm would access memory out of
    bounds."""
    for index, size, name in (((a.row, a.shape[0], "row"), (a.col, a.shape[1], "column")) if a.format == "coo" else ()):
        if len(index) and (index.min() < 0 or index.max() >= size):
            raise ValueError(f"A has a {name} index outside 0 to {size - 1}")
    if a.format == "csr":
        check_csr(a.shape, a.indptr, a.indices, a.data)
    if a.format in ("csc", "bsr"):
        a.check_format(full_check=True)


def check_csr(shape, indptr, indices, data):
    if indptr.ndim != 1 or len(indptr) != shape[0] + 1:
        raise ValueError(f"A.indptr has {indptr.size} row starts, expected {shape[0] + 1} for {shape[0]} rows")
    if indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise ValueError("A.indptr does not begin with 0, or decreases")
    if indptr[-1] > min(len(indices), len(data)):
        raise ValueError(f"A.indptr ends with {indptr[-1]}, but there are {len(indices)} column indices and {len(data)} values")
    used = indices[:indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= shape[1]):
        raise ValueError(f"A has a column index outside 0 to {shape[1] - 1}")


def increases_in_rows(indptr, indices):
    """Whether the column indices of each row increase strictly. (SciPy's flags can be wrong, because callers
    can set them.)"""
    back = indices[1:] <= indices[:-1]
    starts = indptr[1:-1]
    back[starts[(starts > 0) & (starts < len(indices))] - 1] = False
    return not back.any()


def entries(a, copy, check=True):
    """Returns the Entries of a, a matrix of SciPy or Entries, with duplicates summed. Raises TypeError,
    ValueError.

    copy: make new arrays for the result; else it may have those of a. check: False: the caller finds out
    whether the indices of a CSR matrix are in range and increase; the arrays have the right sizes."""
    if isinstance(a, Entries):
        nnz = len(a.data)
        return Entries(a.shape, own_array(a.indptr, np.int64, copy), own_array(a.indices[:nnz], np.int32, copy), own_array(a.data, a.dtype, copy))
    import scipy.sparse
    if arrays.torch_tensor(a):
        a = of_torch(a)
    if not scipy.sparse.issparse(a):
        raise TypeError(f"A is a {type(a).__name__}, expected a SciPy sparse matrix or array (scipy.sparse.csr_array)")
    if len(a.shape) != 2:
        raise ValueError(f"A has {len(a.shape)} dimensions, expected 2")
    if a.dtype.kind in "biu":
        a, copy = as_f64(a), False
    if a.dtype not in PRECISIONS:
        wide = "complex128" if a.dtype.kind == "c" else "float64"
        raise TypeError(f"the values of A are {a.dtype}, expected {arrays.EXPECTED}: A.astype(numpy.{wide})")
    if a.shape[1] > MOST_COLUMNS:
        raise ValueError(f"A has {a.shape[1]} columns, expected at most {MOST_COLUMNS}")
    ours, sound = a, a.format == "csr" and (sized(a) if not check else rows.sound(a.shape, a.indptr, a.indices, a.data, a.dtype))
    if not sound:
        check_indices(a)
    if a.format != "csr":
        ours = a.tocsr()
    nnz = int(ours.indptr[-1])
    if not sound and not increases_in_rows(ours.indptr, ours.indices[:nnz]):
        ours = scipy.sparse.csr_matrix((ours.data[:nnz].copy(), ours.indices[:nnz].copy(), ours.indptr.copy()), shape=a.shape)
        ours.sum_duplicates()
        nnz = int(ours.indptr[-1])
    own = copy and ours is a
    return Entries(tuple(map(int, a.shape)), np.array(ours.indptr, np.int64, copy=True),
                   own_array(ours.indices[:nnz], np.int32, own), own_array(ours.data[:nnz], a.dtype, own))


def of_torch(a):
    """Returns a sparse tensor in host memory as a matrix of SciPy, of the same memory where that is possible."""
    import scipy.sparse
    torch = arrays.torch_tensor(a)
    if a.requires_grad:
        raise TypeError("A is a tensor that requires a gradient, which libspmm does not compute: pass A.detach(), or for gradients "
                        "call spmm_mpi.torch.matmul(A, X)")
    if a.dim() != 2 or a.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        raise TypeError(f"A is a tensor of {a.dim()} dimensions and layout {a.layout}, expected 2 and layout torch.sparse_csr: A.to_sparse_csr()")
    if a.layout is torch.sparse_coo:
        a = a.coalesce()
        return scipy.sparse.coo_matrix((a.values().numpy(), a.indices().numpy()), shape=tuple(a.shape))
    if a.layout is torch.sparse_csr:
        return scipy.sparse.csr_matrix((a.values().numpy(), a.col_indices().numpy(), a.crow_indices().numpy()), shape=tuple(a.shape))
    return scipy.sparse.csc_matrix((a.values().numpy(), a.row_indices().numpy(), a.ccol_indices().numpy()), shape=tuple(a.shape))


def as_f64(a):
    """Returns a matrix of whole numbers or bool with values of float64. Raises ValueError for numbers that
    float64 cannot represent."""
    values = a.tocsr().data if a.format in ("dok", "lil") else a.data
    if a.dtype.itemsize == 8 and values.size and max(-int(values.min()), int(values.max())) > 2 ** 53:
        raise ValueError("A has whole numbers beyond 2^53, which float64 cannot represent exactly: use spmm_mpi.matmul(A, X), which multiplies whole numbers exactly")
    return of_type(a, np.float64)


def of_type(A, dtype):
    """Returns a matrix of SciPy with values of that type. For CSC, BSR and COO, astype() is not called: it
    would sum duplicates before the conversion, and in the caller's matrix."""
    if A.format in ("csc", "bsr"):
        return type(A)((A.data.astype(dtype), A.indices, A.indptr), shape=A.shape)
    if A.format == "coo":
        return type(A)((A.data.astype(dtype), (A.row, A.col)), shape=A.shape)
    return A.astype(dtype)


def sized(a):
    """Whether the arrays of a CSR matrix have the sizes that its row starts say."""
    return len(a.indptr) == a.shape[0] + 1 and a.indptr[0] == 0 and 0 <= a.indptr[-1] <= min(len(a.indices), len(a.data))


def own_array(array, dtype, copy):
    """Returns the array as a contiguous, aligned array of that type. copy: always make a new array."""
    return np.array(array, dtype, order="C") if copy else np.require(array, dtype, ["C", "A"])


def even_ranges(n, parts):
    """Returns the boundaries [parts + 1] of n rows in equal parts, of which the first ones may be a row
    longer."""
    part = np.arange(parts + 1)
    return part * (n // parts) + np.minimum(part, n % parts)


Cut = collections.namedtuple("Cut", "by moved moved_by_entries seconds why")
Cut.__doc__ = """A plan's cut. by: the cut that was used; moved, moved_by_entries: the rows of X that a product moves between
ranks with this cut, and with a cut by entries; seconds: the time to make the cut on rank 0; why: one line with the reason for the
choice with cut="auto", otherwise empty."""


def copied(address, count):
    """Returns a copy of a C array of int64."""
    numbers = np.empty(count, np.int64)
    ctypes.memmove(numbers.ctypes.data, address, numbers.nbytes)
    return numbers


class RankCut:
    """A cut of the matrix on rank 0: an spmm_cut, and the caller's numbers of this rank's rows."""

    def __init__(self):
        self.struct, self.rows, self.facts = c.Cut(), None, None
        self.number = None  # on rank 0, if the rows are renumbered: the new number of each row

    def create(self, comm, whole, by, k, options):
        """Makes the cut. Collective; raises the same Error on every rank."""
        lib = c.loaded()
        create = lib.need("spmm_cut_create")
        csr = None if whole is None else ctypes.byref(whole.csr())
        lib.check(create(c.comm_handle(comm), 0, csr, by, k, ctypes.byref(options), ctypes.byref(self.struct)))

    def take(self):
        """Copies the results of create(). Local; raises MemoryError."""
        s = self.struct
        self.rows = copied(s.row, s.row_count)
        self.number = copied(s.number, s.rows) if s.number else None
        words = {number: word for word, number in c.WORDS["cut"].items()}
        self.facts = Cut(words[s.by], s.moved, s.moved_by_entries, s.seconds, s.why.decode())

    def release(self):
        if self.struct.begin:
            c.loaded().spmm_cut_destroy(ctypes.byref(self.struct))


class RankBlock:
    """This rank's block of A: an spmm_block, and the owner of its arrays."""

    def __init__(self):
        self.struct = c.Block()
        self.held = None  # Entries or GpuEntries whose arrays the struct points to; None: libspmm's arrays

    @classmethod
    def scattered(cls, comm, whole, grid, cut=None):
        """Makes the block from a matrix on rank 0, on a grid of ranks or by a RankCut. Collective; raises the
        same Error on every rank."""
        block, lib = cls(), c.loaded()
        csr = None if whole is None else ctypes.byref(whole.csr())
        if cut is not None:
            lib.check(lib.spmm_cut_scatter(c.comm_handle(comm), 0, csr, ctypes.byref(cut.struct), ctypes.byref(block.struct)))
            return block
        lib.check(lib.spmm_csr_scatter(c.comm_handle(comm), 0, csr, grid[0], grid[1], ctypes.byref(block.struct)))
        return block

    @classmethod
    def of_rows(cls, comm, mine, rows):
        """Makes the block from this rank's rows of a matrix. rows: the number of rows of each rank. Local."""
        block = cls()
        block.held = mine
        m, n, ranks, rank = sum(rows), mine.shape[1], comm.size, comm.rank
        if ranks == 1:
            block.struct = c.Block(mine.csr(), m, n, 0, 0, 0, n, 1, 1, 0)
            return block
        row = np.concatenate([[0], np.cumsum(rows)])
        x = row if m == n else even_ranges(n, ranks)
        block.struct = c.Block(mine.csr(), m, n, int(row[rank]), 0, int(x[rank]), int(x[rank + 1] - x[rank]), ranks, 1, 0)
        return block

    def array(self, member, dtype, size):
        """Returns one of the arrays of csr, without a copy."""
        address = getattr(self.struct.csr, member)
        if not size or not address:
            return np.empty(0, dtype)
        memory = (ctypes.c_char * (size * np.dtype(dtype).itemsize)).from_address(address)
        return np.frombuffer(memory, dtype)

    @property
    def dtype(self):
        return arrays.TYPES[self.struct.csr.precision]

    @property
    def values(self):
        """The values [nnz] of the block, not a copy: valid until release()."""
        return self.array("as", self.dtype, self.struct.csr.nnz)

    def assign(self, values):
        """Sets the values of the entries."""
        if self.on_gpu:
            self.held.assign(values)
        else:
            self.values[:] = values

    @property
    def on_gpu(self):
        """Whether the arrays are in the memory of a GPU."""
        return self.held is not None and not isinstance(self.held, Entries)

    def on_host(self):
        """Returns the block's entries in host memory: a copy, or valid until release()."""
        return self.held.on_host() if self.on_gpu else self.entries()

    def entries(self):
        """Returns the block's entries without a copy: valid until release()."""
        if self.on_gpu:
            return self.held
        csr = self.struct.csr
        return Entries((csr.rows, csr.cols), self.array("irp", np.int64, csr.rows + 1), self.array("ja", np.int32, csr.nnz),
                       self.values)

    def release(self):
        """Frees what libspmm allocated. Local."""
        if self.held is None:
            c.loaded().spmm_block_destroy(ctypes.byref(self.struct))
        self.held = None
        self.struct = c.Block()
