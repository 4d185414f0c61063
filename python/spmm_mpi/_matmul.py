"""matmul: products in this process alone, with matrices whose values may have changed since their last
product.

The first products of a matrix in host memory need no plan: they are computed with the arrays of the matrix.
The plan of a pattern is kept as an Analysis, and found again by the contents of the index arrays: a matrix
that was used before is compared with its last plan first, any other matrix with the plans of the same
fingerprint. An Analysis lives as long as any of the matrices that it was used for."""
import collections
import os
import sys
import threading
import weakref

import numpy as np

from . import _arrays as arrays
from . import _gpu_matrix as gpu_matrix
from . import _library as c
from . import _matrix as matrix
from . import _rows as rows
from . import _world as world
from ._plan import STAGES, Plan
from ._product import usual_on_gpu

F64, F32, C128, C64 = arrays.TYPES
EXACT = 2 ** 53  # f64 represents all whole numbers up to this one
# number of products of a matrix before a plan is made. On a GPU each of them checks the matrix, and a plan
# for 100 products is made fast
AT_ONCE, AT_ONCE_ON_GPU = STAGES[0], 3
# maximum number of plans that are kept, and of their bytes; the least recently used plan is closed first.
# (MPICH has 2048 communicators, of which a plan takes four.)
MOST = 256
MOST_BYTES = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8

MOST_ON_GPU = 8 << 30
COPIES = 3  # of the matrix in a plan: its block, the converted matrix, and the kernel's lists


# ---- what is computed ----

def types_of(a, x):
    """Returns (the type of the result by the rules of NumPy and SciPy, the type in which it is computed) for
    an A of type a and an X of type x. Raises TypeError."""
    if a == x and a in arrays.TYPES:
        return a, a
    for name, dtype in (("A", a), ("X", x)):
        wide = C128 if dtype.kind == "c" else F64
        if dtype.kind in "fc" and dtype.itemsize > wide.itemsize:
            raise TypeError(f"{name} is {dtype}, expected {arrays.EXPECTED}: {name}.astype(numpy.{wide})")
        if dtype.kind not in "biufc":
            raise TypeError(f"{name} is {dtype}, expected numbers: {name}.astype(numpy.float64)")
    both = np.result_type(a, x)
    result = F32 if both == np.float16 else both  # SciPy has no sparse matrices of float16
    if result.kind == "c" and a.kind != "c":  # a real A multiplies the parts of X
        return result, F32 if result == C64 else F64
    return result, result if result in arrays.TYPES else F64


def magnitude(values):
    """Returns the largest absolute value of whole numbers, as an int of Python."""
    return max(-int(values.min()), int(values.max())) if values.size else 0


def exact(source, x):
    """Whether no sum in a product of whole numbers, and no partial sum, can exceed 2^53."""
    return int(np.diff(source.indptr).max(initial=0)) * magnitude(source.data) * magnitude(x) < EXACT


def limbs(values, bits):
    """Splits whole numbers modulo 2^64 into parts of `bits` bits, as f64: the sum of parts[i] * 2^(i * bits)
    is the number."""
    given = values.astype(np.uint64 if values.dtype == np.uint64 else np.int64).view(np.uint64)
    mask = np.uint64(2 ** bits - 1)
    return np.array([(given >> np.uint64(shift)) & mask for shift in range(0, 64, bits)], F64)


def modulo(values, x, longest, multiply):
    """Returns the product of whole numbers modulo 2^64, as uint64. Multiplies parts of A and X (see limbs())
    that are so short that a sum of `longest` products of parts is exact in f64. longest: the number of
    entries in the longest row of A. multiply(values, X): returns the product in f64 with these values of
    A."""
    bits = (53 - int(longest).bit_length()) // 2
    parts = limbs(x.reshape(len(x), -1), bits)
    count, rows, k = parts.shape
    side_by_side = np.ascontiguousarray(parts.transpose(1, 0, 2)).reshape(rows, count * k)
    y = 0
    for i, part in enumerate(limbs(values, bits)):
        found = multiply(part, np.ascontiguousarray(side_by_side[:, :(count - i) * k])).astype(np.uint64)
        for j in range(count - i):
            y = y + (found[:, j * k:(j + 1) * k] << np.uint64((i + j) * bits))
    return y.reshape(len(y), *x.shape[1:])


def as_type(y, dtype):
    """Converts numbers of f64, or whole numbers, to the type of the result: whole numbers modulo the range of
    the type; bool is whether the number is not 0."""
    if y.dtype == dtype:
        return y
    if dtype.kind == "b":
        return y != 0
    return y.astype(np.int64).astype(dtype) if dtype.kind in "iu" and y.dtype == F64 else y.astype(dtype, copy=False)


# ---- A ----

class Source:
    """A CSR matrix in host memory: shape and arrays. owner: an object that lives as long as the pattern; a
    new pattern has a new owner. sums: the type in which duplicates are summed."""

    def __init__(self, shape, indptr, indices, data, owner, sums):
        self.shape, self.indptr, self.indices, self.data, self.owner = tuple(map(int, shape)), indptr, indices, data, owner
        self.dtype, self.sums = data.dtype, sums

    @property
    def nnz(self):
        return int(self.indptr[-1]) if len(self.indptr) else 0

    def checked(self):
        """Returns itself if column indices increase in each row; else a Source with sorted rows and with
        duplicates summed. Raises ValueError."""
        matrix.check_csr(self.shape, self.indptr, self.indices, self.data)
        nnz = self.nnz
        indices = self.indices[:nnz]
        if matrix.increases_in_rows(self.indptr, indices):
            return self
        return Source(self.shape, *summed(self.indptr, indices, self.data[:nnz].astype(self.sums)), self.owner, self.sums)

    def entries(self, dtype):
        """Returns the Entries that a plan is made of. Only for a Source that checked() returned."""
        nnz = self.nnz
        return matrix.Entries(self.shape, self.indptr, self.indices[:nnz], self.data[:nnz].astype(dtype))

    def same(self, held):
        """Whether the matrix has the pattern of these Entries."""
        return (held.shape == self.shape and np.array_equal(held.indptr, self.indptr) and
                np.array_equal(held.indices, self.indices[:len(held.indices)]))

    def wait(self):
        """Waits for work that was queued for the arrays: none, in host memory."""

    def fingerprint(self):
        """Returns a key, made of a few of the indices, that is the same for equal patterns."""
        used = self.indices[:self.nnz]
        return self.shape, len(used), *(part[::max(len(part) // 64, 1)].astype(np.int64).tobytes() for part in (self.indptr, used))


class NoEntries(Exception):
    """A matrix in GPU memory has no entries."""


class GpuSource(gpu_matrix.GpuEntries):
    """Like Source, for a CSR matrix in GPU memory."""
    dtype = None  # replaces the property of GpuEntries, which would take longer

    def __init__(self, A):
        shape, indptr, indices, data, self.owner = gpu_matrix.parts(A)
        self.dtype = gpu_matrix.dtype_of(data)
        self.given, self.made = A, None
        super().__init__(shape, indptr, indices, data)

    @property
    def nnz(self):
        """The number of entries; before checked() that of the arrays' elements, because reading the row
        starts would wait for the GPU."""
        return len((self.made or self).data)

    def wait(self):
        gpu_matrix.wait(self.data)

    def checked(self):
        """Returns itself if column indices increase in each row; else a GpuSource with sorted rows and with
        duplicates summed. Raises ValueError, NoEntries."""
        self.made, in_order = gpu_matrix.entries_in_order(self.given, copy=False)
        if len(self.made.data) == 0:
            raise NoEntries
        if in_order:
            return self
        ordered = GpuSource(self.made)
        ordered.made, ordered.owner = self.made, self.owner
        return ordered

    def entries(self, dtype):
        """Returns the GpuEntries that a plan is made of. Only for a GpuSource that checked() returned. dtype:
        must be the type of this GpuSource."""
        return self.made

    def same(self, held):
        return held.same_pattern(self)

    def fingerprint(self):
        return self.shape, len(self.made.data)


def summed(indptr, indices, data):
    """Returns the arrays of a CSR matrix with column indices that increase in each row, and with duplicates
    summed."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((indices, rows))
    rows, cols = rows[order], indices[order]
    first = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])]))
    return np.searchsorted(first, indptr), cols[first], np.add.reduceat(data[order], first)


def sums_of(result, computed):
    """Returns the type in which duplicates are summed, given the types that types_of() returned: for whole
    numbers one of 64 bits, because sums of smaller types would be modulo their range."""
    return result if result == np.uint64 else np.dtype(np.int64) if result.kind in "iu" else computed


OWNERS = {"csr": "indices", "csc": "indices", "bsr": "indices", "coo": "col", "dia": "offsets", "lil": "rows"}


def source_of(A, x):
    """Returns (A as a Source, type of the result, type in which it is computed) for a product with an X of
    type x: see types_of(). Raises TypeError, ValueError."""
    if arrays.torch_tensor(A):
        return of_torch(A, x)
    sparse = sys.modules.get("scipy.sparse")  # if scipy.sparse was never imported, A is none of its matrices
    if sparse is None or not sparse.issparse(A):
        raise TypeError(f"A is a {type(A).__name__}, expected a SciPy sparse matrix or array (scipy.sparse.csr_array) or a tensor of "
                        f"layout torch.sparse_csr")
    if len(A.shape) != 2:
        raise ValueError(f"A has {len(A.shape)} dimensions, expected 2")
    result, computed = types_of(A.dtype, x)
    owner = getattr(A, OWNERS.get(A.format, ""), A)
    if A.format != "csr":
        matrix.check_indices(A)
        A = matrix.of_type(A, sums_of(result, computed)).tocsr()  # tocsr() may sum duplicates
    return Source(A.shape, A.indptr, A.indices, A.data, owner, sums_of(result, computed)), result, computed


def of_torch(A, x):
    shape, indptr, indices, data, owner = gpu_matrix.tensor_parts(A)
    data = arrays.host_tensor(data, "A")
    result, computed = types_of(data.dtype, x)
    return Source(shape, indptr.numpy(), indices.numpy(), data, owner, sums_of(result, computed)), result, computed


# ---- products without a plan ----

class Early:
    """Counts the products of matrices that have no plan yet."""

    def __init__(self):
        self.counts = {}  # id of the owner of a pattern -> [number of products, weak reference to the owner]
        self.results = arrays.Results()

    def counted(self, owner, most):
        """Counts a product. Returns whether it is one of the first `most`."""
        place = id(owner)
        count = self.counts.get(place)
        if count is None or count[1]() is not owner:
            try:
                count = self.counts[place] = [0, weakref.ref(owner, lambda _: self.counts.pop(place, None))]
            except TypeError:  # without weak references, another matrix could be taken for this one
                return False
        count[0] += 1
        return count[0] <= most


def at_once(source, x, computed, target):
    """Returns the product without a plan. None: the arrays need a copy, or are wrong, which checked() says.
    target: an array into which the product is written, or None."""
    values = source.data if source.data.dtype == computed else source.data.astype(computed)
    x = np.ascontiguousarray(x, computed)
    shape = source.shape[:1] + x.shape[1:]
    y = target if target is not None and target.flags.c_contiguous and target.flags.aligned else cache.early.results.empty(shape, computed)
    a = rows.rows_of(source.shape, source.indptr, source.indices, values) if c.loaded().spmm_rows_apply is not None else None
    return y if a is not None and rows.apply(a, arrays.described(columns(x)), arrays.described(columns(y))) else None


on_gpu = {}  # type of an array on a GPU -> its Torch or Cupy; None for any other type


def at_once_on_gpu(source, X, out, shape):
    """Like at_once(), on the GPU. None also if X or out is no contiguous array of PyTorch or CuPy, of float64."""
    found = type(X)
    if found not in on_gpu:
        usual = usual_on_gpu(found)
        on_gpu[found] = usual and usual(F64)
    usual, gpu = on_gpu[found], opened_gpu()
    if usual is None or c.loaded().spmm_rows_apply is None or out is not None and type(out) is not found:
        return None
    y = usual.empty(shape, X) if out is None else out
    addresses = [usual.address(array, (size,), gpu) for array, size in ((X, tuple(X.shape)), (y, shape))]
    a = rows.rows_of(source.shape, source.indptr, source.indices, source.data)
    if a is None or None in addresses:
        return None
    k = shape[1] if len(shape) == 2 else 1
    x_and_y = [c.Multivector(size, k, k, c.F64, c.CUDA, address, 0, 0) for size, address in zip(source.shape[::-1], addresses)]
    source.wait()
    usual.wait(gpu)
    with c.gpu_lock:
        return y if rows.apply(a, *x_and_y) else None


def opened_gpu():
    """Returns the number of the GPU that libspmm has opened; opens one if none is open."""
    if not c.gpu_is_open:
        c.device_open(world.own())
    return arrays.opened_gpu()


def columns(x):
    """Returns a vector as an array of one column."""
    return x[:, None] if x.ndim == 1 else x


# ---- plans of patterns ----

class Analysis:
    """The plan of a pattern.

    owners: its keys in Cache.owned, one for each matrix that it was used for. places: its other entries in
    the Cache, (table, key). in_order: whether matrices with its key have their values in the plan's order.
    lock: held while the plan is used; the plan may have been closed (None) before the lock was acquired."""

    def __init__(self, source, dtype, options, later):
        """later: whether AT_ONCE products of the matrix have been computed without a plan."""
        # a plan that is not made again (see Plan) is made for few products
        if dtype == F32 and options.get("device", "cpu") != "cpu" or options.keys() & {"k", "stream"}:
            options = {"products": STAGES[0], **options}
        self.plan = Plan(world.own(), source.entries(dtype), rows="distributed", **options)
        if later and self.plan._at_once:
            self.plan._next_stage()
        self.lock, self.in_order, self.owners, self.places = threading.Lock(), True, set(), []
        self.left_over = False  # whether the last owner was freed while the plan was in use
        self.rows, self.shape = rows.Rows(self.plan._block), source.shape
        self.bytes = COPIES * (8 * (self.shape[0] + 1) + self.rows.nnz * (4 + dtype.itemsize))

    def same(self, source):
        return source.same(self.plan._block.entries())

    def begin(self, source, dtype):
        """Acquires the lock for a product. Returns False, without the lock, if the plan has been closed, or
        if source is not None and has another pattern."""
        self.lock.acquire()
        good = False
        try:
            good = self.plan is not None and (source is None or self.take(source, dtype))
        finally:
            if not good:
                self.lock.release()
        return good

    def take(self, source, dtype):
        """Whether the plan has the pattern of a matrix. If so, and if the matrix's values have the type
        dtype, which is the plan's, the plan takes these values."""
        if source.shape != self.shape or len(source.data) < self.rows.nnz:
            return False
        if not self.plan._options.stream:
            source.wait()
        same, values = None, source.data if source.dtype == dtype else None
        if self.rows.hold((source.indptr, source.indices), values):
            same = self.plan._update_rows(self.rows)
        if same is None:
            same = self.same(source)
            if same and values is not None:
                self.set(values)
        return same

    def multiply(self, values, x, out=None):
        """Returns the product with these values; None: with the plan's current values."""
        if values is not None:
            self.set(values)
        if cache.results is not self.plan._results:  # only the plan used last keeps memory of results
            cache.results.kept, cache.results = [], self.plan._results
        return self.plan @ x if out is None else self.plan.apply(x, out=out)

    def set(self, values):
        """Sets the plan's values, if any bit differs from the current ones. (Comparing numbers would be
        wrong: NaN is not equal to NaN, and -0 is equal to 0.)"""
        plan, nnz, dtype = self.plan, self.rows.nnz, self.rows.dtype
        if not plan._block.on_gpu:
            values = np.ascontiguousarray(values[:nnz], dtype)
        elif not plan._options.stream:
            gpu_matrix.wait(values)
        if self.rows.hold(None, values) and plan._update_rows(self.rows):
            return
        values, bits = values[:nnz], np.int32 if dtype == F32 else np.int64
        if plan._block.on_gpu or not np.array_equal(plan._block.values.view(bits), values.view(bits)):
            plan.update_values(values)

    def close(self):
        plan, self.plan = self.plan, None
        plan.close()


class Cache:
    """Finds an Analysis by owner, by fingerprint or by key."""

    def __init__(self):
        self.lock, self.gone = threading.Lock(), collections.deque()
        self.clear()

    def clear(self):
        self.early = Early()
        self.owned, self.alike, self.keyed, self.results = {}, {}, {}, arrays.Results()
        self.again = {}  # id of a matrix on the GPU -> its Again
        self.all = collections.OrderedDict()  # in the order of their last use

    # A matrix can be freed, and freed() called, within any statement of this thread: freed() must not wait
    # for a lock.

    def freed(self, owner):
        self.gone.append(owner)
        self.sweep()

    def sweep(self):
        """Forgets owners that were freed, and closes plans that have no owner left, unless another call is
        doing so."""
        while self.gone and self.lock.acquire(blocking=False):
            try:
                while self.gone:
                    self.forget(self.gone.popleft())
            finally:
                self.lock.release()

    def forget(self, owner):
        analysis, _ = self.owned.pop(owner, (None, None))
        if analysis is not None:
            analysis.owners.discard(owner)
            self.leave(analysis)

    def leave(self, analysis):
        """Closes the plan if it has no owner left; if a call is using the plan, that call will close it. The
        caller holds the lock of the Cache."""
        if not analysis.owners:
            analysis.left_over = True
            if analysis.plan is not None and analysis.lock.acquire(blocking=False):
                try:
                    self.remove(analysis)
                finally:
                    analysis.lock.release()

    def end(self, analysis):
        """Ends a product."""
        analysis.lock.release()
        if analysis.left_over:
            with self.lock:
                self.leave(analysis)
        self.sweep()

    def remove(self, analysis):
        """Closes a plan. The caller holds both locks."""
        for owner in analysis.owners:
            self.owned.pop(owner)[1].detach()
        for table, place in analysis.places:
            table[place].remove(analysis)
            if not table[place]:
                del table[place]
        self.all.pop(id(analysis), None)
        analysis.close()

    def find(self, source, dtype, key, options):
        """Returns (the Analysis for a matrix, made if necessary, with its lock held; the matrix, with its
        values in the plan's order; whether the plan already has these values)."""
        named = tuple(sorted(options.items())) if options else ()
        owned = id(source.owner), dtype, named
        keyed = None if key is None else (key, isinstance(source, GpuSource), source.shape, dtype, named)
        while True:
            with self.lock:
                analysis = self.seen(owned) if keyed is None else self.named(source, owned, keyed)
            if analysis is not None and analysis.begin(source if keyed is None else None, dtype):
                return analysis, source, keyed is None and source.dtype == dtype
            if analysis is None or analysis.plan is not None:  # else another thread has closed it: retry
                there = source.checked()
                analysis = self.made(there, dtype, options, owned, keyed, there is source)
                if analysis.begin(None, dtype):
                    return analysis, there, False

    def quick(self, source, X, out, dtype):
        """Returns the product with a matrix on the GPU that was used before, of the same pattern, by one call of
        libspmm; else None."""
        with self.lock:
            analysis = self.seen((id(source.owner), dtype, (("device", "cuda"),)))
        if analysis is None or source.shape != analysis.shape:
            return None
        again = Again(source, analysis)
        y = again.product(source.given, X, out) if again.ready else None
        if y is not None:
            self.again[id(source.given)] = again
        return y

    def seen(self, owned):
        """Returns the Analysis that a matrix was used with before, or None. The pattern of the matrix may
        have changed since."""
        analysis, end = self.owned.get(owned, (None, None))
        if analysis is None or not end.alive:
            return None
        self.all.move_to_end(id(analysis))
        return analysis

    def named(self, source, owned, keyed):
        """Returns the Analysis of a key, without comparing patterns; None if the key has none, if the number
        of entries differs, or if matrices of the key may have their values in another order than the plan."""
        analysis = next(iter(self.keyed.get(keyed, ())), None)
        if analysis is None or not analysis.in_order or source.nnz != analysis.rows.nnz:
            return None
        self.own(analysis, owned, source.owner)
        self.all.move_to_end(id(analysis))
        return analysis

    def made(self, source, dtype, options, owned, keyed, in_order):
        """Returns the Analysis of a matrix with increasing column indices: that of its key, one of the same
        pattern, or a new one."""
        place = (*source.fingerprint(), dtype, *owned[2:])
        with self.lock:
            analysis = self.matching(place, source, keyed)
            if analysis is not None:
                self.adopt(analysis, source, owned, keyed, in_order)
        if analysis is None:
            analysis = Analysis(source, dtype, options, AT_ONCE > 0 and keyed is None)
            with self.lock:
                self.add(analysis, self.alike, place)
                self.adopt(analysis, source, owned, keyed, in_order)
        self.sweep()
        return analysis

    def matching(self, place, source, keyed):
        for analysis in self.keyed.get(keyed, ()):
            if source.nnz != analysis.rows.nnz:
                raise ValueError(f"A has {source.nnz} entries, but key {keyed[0]!r} was used for a matrix with {analysis.rows.nnz}, expected "
                                 f"the same pattern: pass another key, or none")
            return analysis
        for analysis in self.alike.get(place, ()):
            if analysis.same(source):
                return analysis
        return None

    def adopt(self, analysis, source, owned, keyed, in_order):
        """Registers an open Analysis under this matrix and its key, and closes the least recently used plans
        beyond the limits."""
        self.own(analysis, owned, source.owner)
        if keyed is not None:
            analysis.in_order = analysis.in_order and in_order
            if keyed not in self.keyed:
                self.add(analysis, self.keyed, keyed)
        self.all[id(analysis)] = analysis
        self.all.move_to_end(id(analysis))
        most = min(MOST_BYTES, MOST_ON_GPU) if analysis.plan is not None and analysis.plan._block.on_gpu else MOST_BYTES
        size = sum(each.bytes for each in self.all.values())
        for old in list(self.all.values())[:-1]:
            if size <= most and len(self.all) <= MOST:
                break
            size -= old.bytes
            if old.lock.acquire(blocking=False):
                try:
                    self.remove(old)
                finally:
                    old.lock.release()

    @staticmethod
    def add(analysis, table, place):
        table.setdefault(place, []).append(analysis)
        analysis.places.append((table, place))

    def own(self, analysis, place, owner):
        """Keeps the Analysis alive as long as the owner. The owner no longer keeps its former Analysis
        alive."""
        before = self.owned.get(place)
        if before and before[0] is analysis and before[1].alive:
            return
        if before:
            before[1].detach()
            self.forget(place)
        try:
            self.owned[place] = analysis, weakref.finalize(owner, self.freed, place)
            analysis.owners.add(place)
        except TypeError:  # the owner has no weak references: only the limits close the plan
            pass


class Again:
    """A matrix on the GPU that was multiplied before, and its Analysis: most of its products need no more than
    one call of libspmm, which compares its arrays with the plan's."""

    def __init__(self, source, analysis):
        self.analysis, self.table = analysis, cache.again
        self.torch = arrays.torch_tensor(source.given) is not None
        self.rows = rows.Rows(analysis.plan._block) if analysis.plan is not None else None
        self.ready = self.rows is not None and self.rows.hold((source.indptr, source.indices), source.data)
        self.matrix = weakref.ref(source.given, self.forget)
        self.place, self.arrays = id(source.given), self.arrays_of(source.given)

    def forget(self, _):
        self.table.pop(self.place, None)

    def arrays_of(self, A):
        """Returns the addresses and sizes of the matrix's arrays, which can change."""
        if self.torch:
            return A.crow_indices().data_ptr(), A.col_indices().data_ptr(), A.values().data_ptr(), A._nnz(), A.requires_grad
        return A.indptr.data.ptr, A.indices.data.ptr, A.data.data.ptr, A.indptr.size, A.indices.size, A.data.size, A.shape

    def product(self, A, X, out):
        """Returns A X; None if more must be done."""
        if self.matrix() is not A or self.arrays_of(A) != self.arrays:
            return None
        analysis = self.analysis
        if not analysis.begin(None, None):
            self.forget(None)
            return None
        try:
            with cache.lock:  # other threads may go through the table
                cache.all.move_to_end(id(analysis))
            return analysis.plan._apply_rows(self.rows, X, out)
        finally:
            cache.end(analysis)


cache = Cache()


# ---- the product ----

def matmul(A, X, out=None, *, key=None, **options):
    """Returns Y = A X, computed by this process alone: A and X are whole. Local.

    A: a sparse matrix [m, n] of SciPy in any format (CSR is not converted), or a tensor of layout
    torch.sparse_csr in host memory.
    X: [n, K] or a vector [n]: anything that numpy.asarray accepts, or a tensor in host memory. Any layout is
    accepted, and K, m and n may be 0. Y: [m, K] or [m], an array of NumPy, or a tensor if X is one.
    On a GPU: A is a matrix of cupyx.scipy.sparse or of layout torch.sparse_csr in GPU memory, of a type of
    libspmm, and X an array in GPU memory, of A's type or, unless that is float32, of one that NumPy converts
    to it. The product is computed there, and Y is there, in the stream as described for Plan. The matrix is
    copied to host memory once, when the values of a plan for many products first change; new values stay on
    the GPU.
    out: an array of Y's shape and type, which is written and returned in place of a new array.

    The type of Y follows the rules of NumPy and SciPy. A Y of float32 is computed in float32, a Y of float64
    in float64, a complex Y in its type, or if A is real, with the parts of X. If A and X are whole numbers or bool, Y has their common type, with sums modulo its range. It
    is exact: it is computed in float64, and if a sum could exceed 2^53, by several products of parts of the
    numbers.

    The first 20 products of a matrix in host memory, and the first 3 on a GPU in float64, are computed with
    its arrays, without a plan (spmm_rows_apply), unless a key or other keywords are given. Then matmul()
    makes a Plan for the pattern of A, and keeps it as long as there is a matrix of that pattern that matmul()
    was called with; it keeps at most 256 plans, of at most an eighth of the host's memory (on a GPU 8 GiB). A
    plan is made again as its products become more, as described for Plan. The plan used last keeps the memory
    of large results, as described for `plan @ X`. The values of A are read in each call. To find the plan of
    a pattern, matmul() compares indptr and indices. With a `key`, any hashable object, matrices of the same
    key, shape and type are assumed to have the same pattern; only their numbers of entries are compared. The
    caller is responsible for the rest.
    The other keywords are those of Plan (threads, kernel, format, products, ..).

    Raises TypeError for a wrong type or kind of an argument (also for long double),
    ValueError for wrong shapes, indices or values, Error if libspmm fails or is not found."""
    if c.forked:
        c.check_fork()
    if key is None and not options:
        again = cache.again.get(id(A))
        y = None if again is None else again.product(A, X, out)
        if y is not None:
            return y
    if gpu_matrix.is_on_gpu(A):
        return product_on_gpu(A, X, out, key, {"device": "cuda", **options})
    kind, x = operand(X, "X")
    source, result, computed = source_of(A, x.dtype)
    if x.ndim not in (1, 2) or x.shape[0] != source.shape[1]:
        raise ValueError(f"X has the shape {list(x.shape)}, expected [{source.shape[1]}, K] or [{source.shape[1]}] for A of "
                         f"{source.shape[0]} x {source.shape[1]}")
    shape = source.shape[:1] + x.shape[1:]
    target = None if out is None else target_of(out, kind, shape, result)
    if result.kind == "c" and computed.kind != "c":
        reals = np.ascontiguousarray(x, result).reshape(len(x), -1).view(computed)
        y = product(source, reals, (shape[0], reals.shape[1]), computed, computed, None, key, options).view(result).reshape(shape)
    else:
        y = product(source, x, shape, result, computed, target, key, options)
    if target is not None and y is not target:
        target[...] = y
    if out is not None:
        return out
    return y if kind == arrays.NUMPY else sys.modules["torch"].from_numpy(y)


def operand(X, name):
    """Returns (the kind of an array in host memory, the array as an array of NumPy). Raises TypeError."""
    if type(X) is np.ndarray:
        return arrays.NUMPY, X
    if hasattr(X, "tocsr") or hasattr(X, "to_dense") and getattr(X, "is_sparse", False):
        raise TypeError(f"{name} is a sparse {type(X).__name__}, expected a dense array: pass {name}.toarray(), or use SciPy's A @ {name}")
    known = isinstance(X, np.ndarray) or arrays.torch_tensor(X) or hasattr(X, "__cuda_array_interface__") or hasattr(X, "__dlpack__")
    kind, x = arrays.kind_of(X if known else np.asarray(X), name)
    if kind >= arrays.CUPY:
        raise TypeError(f"{name} is in GPU memory and A in host memory, expected both in host memory: pass {name}.get() or {name}.cpu(), or use "
                        f"spmm_mpi.Plan(..., device=\"cuda\")")
    return kind, x


def target_of(out, kind, shape, dtype):
    """Returns `out` as an array of NumPy. Raises TypeError, ValueError."""
    if not isinstance(out, np.ndarray) and not arrays.torch_tensor(out):
        raise TypeError(f"out is a {type(out).__name__}, expected an array to write into: numpy.empty({shape}, numpy.{dtype})")
    found, target = arrays.kind_of(out, "out")
    if found != kind:
        place = " on a GPU" if found >= arrays.CUPY else ""
        expected = "a NumPy array" if kind == arrays.NUMPY else "a PyTorch tensor in host memory"
        raise TypeError(f"out is a {type(out).__name__}{place}, expected {expected}, as X is")
    if target.dtype != dtype:
        raise TypeError(arrays.wrong_type("out", target.dtype, dtype, kind))
    if target.shape != shape:
        raise ValueError(f"out has the shape {list(target.shape)}, expected {list(shape)}")
    if not target.flags.writeable:
        raise ValueError("out is read-only")
    return target


def product_on_gpu(A, X, out, key, options):
    """Returns the product with a matrix in GPU memory."""
    cupy = sys.modules.get("cupy")
    # reading the interface of an array of CuPy would take longer than everything else here
    kind = arrays.CUPY if cupy is not None and type(X) is cupy.ndarray else arrays.kind_of(X, "X")[0]
    if kind < arrays.CUPY:
        raise TypeError("X is in host memory and A in GPU memory, expected both in GPU memory: pass cupy.asarray(X) or X.cuda()")
    source = GpuSource(A)
    dtype = source.dtype
    if dtype not in arrays.TYPES:
        raise TypeError(f"A is {dtype}, expected {arrays.EXPECTED} on a GPU")
    if len(X.shape) not in (1, 2) or X.shape[0] != source.shape[1]:
        raise ValueError(f"X has the shape {list(X.shape)}, expected [{source.shape[1]}, K] or [{source.shape[1]}] for A of "
                         f"{source.shape[0]} x {source.shape[1]}")
    shape = source.shape[:1] + tuple(X.shape[1:])
    if key is None and len(options) == 1 and dtype == F64 and 0 not in shape and X.shape[0] > 0:
        y = at_once_on_gpu(source, X, out, shape) if cache.early.counted(source.owner, AT_ONCE_ON_GPU) else cache.quick(source, X, out, dtype)
        if y is not None:
            return y
    try:
        if 0 in shape or X.shape[0] == 0:
            raise NoEntries
        analysis, there, fresh = cache.find(source, dtype, key, options)
    except NoEntries:
        y = gpu_matrix.zeros(source.data if kind == arrays.TORCH or out is None else out, shape)
        if out is not None:
            out[...] = y
        return y if out is None else out
    try:
        return analysis.multiply(None if fresh else there.data, X, out)
    finally:
        cache.end(analysis)


def product(source, x, shape, result, computed, target, key, options):
    """Returns the product of arrays of NumPy. target: an array into which the product is written directly if
    that is possible; or None."""
    if 0 in shape or x.shape[0] == 0:
        return np.zeros(shape, result)
    in_place = target is not None and result == computed and not np.may_share_memory(target, x)
    of_parts = result.kind in "iu" and not exact(source, x)
    if key is None and not options and not of_parts and cache.early.counted(source.owner, AT_ONCE):
        y = at_once(source, x, computed, target if in_place else None)
        if y is not None:
            return as_type(y, result)
    analysis, there, fresh = cache.find(source, computed, key, options)
    try:
        if of_parts:
            longest = np.diff(there.indptr).max()
            return as_type(modulo(there.data[:there.indptr[-1]], x, longest, analysis.multiply), result)
        values = None if fresh else there.data
        return as_type(analysis.multiply(values, np.asarray(x, computed), target if in_place else None), result)
    finally:
        cache.end(analysis)
