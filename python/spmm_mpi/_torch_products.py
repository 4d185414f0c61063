"""What the operators of PyTorch compute: products whose A is a plan, or a pattern with the values of a tensor."""
import threading
import weakref

import numpy as np
import scipy.sparse
import torch

from . import _gpu_matrix as gpu_matrix
from . import _matrix as matrix
from . import _plan as plans
from . import _rows as rows
from . import _world as world
from ._library import Error
from ._plan import CONJUGATE_TRANSPOSE, NO_TRANSPOSE, STAGES, TRANSPOSE, Plan

CONJUGATE = 3  # beside the operations of spmm_operation: the conjugate of A


def source(of):
    """Returns the Plan or Pattern of a number."""
    found = plans.numbered.get(int(of))
    if found is None:
        raise Error("the plan or pattern of this product no longer exists: keep it as long as its products are differentiated")
    return found


def plain(x):
    """Returns a contiguous tensor without a gradient, whose numbers are those in its memory."""
    return x.detach().resolve_conj().resolve_neg().contiguous()


def by_plan(plan, operation, x):
    """Returns op(A) x for a tensor that plain() returned."""
    if operation == CONJUGATE:
        conjugated = by_plan(plan, NO_TRANSPOSE, x.conj_physical())
        return conjugated.conj_physical()
    by = plan if operation == NO_TRANSPOSE else plan.T if operation == TRANSPOSE else plan.H
    # (a plan examines a tensor in host memory for longer than an array of NumPy)
    return torch.from_numpy(by @ x.numpy()) if x.device.type == "cpu" and x.dtype is not torch.bfloat16 else by @ x


SAVED = -1  # in place of a version: PyTorch has saved the values, and has checked that they are as before


class Taken:
    """The values that a plan has, of a tensor whose memory this object keeps."""

    def __init__(self, values):
        self.tensor, self.memory, self.version = weakref.ref(values), values.detach(), version_of(values)

    def are(self, values, version):
        """Whether a tensor has the same values."""
        if self.version is None or self.version != version_of(values):
            return False
        if version == SAVED:  # PyTorch may have saved another tensor of the same memory
            return self.memory.data_ptr() == values.data_ptr() and self.memory.stride() == values.stride()
        # (gradcheck() changes values that require a gradient behind PyTorch's back, between products)
        return self.tensor() is values and not values.requires_grad


def take(plan, values, version, in_order):
    """Gives the plan the values of a tensor, unless it has them. in_order(values): as the plan has its entries.
    Collective."""
    same = plan._taken is not None and plan._taken.are(values, version)
    if plan.comm.size > 1:
        same = min(plan.comm.allgather(same))
    if not same:
        new = in_order(plain(values))
        plan.update_values(new.numpy() if new.device.type == "cpu" else new)
        plan._taken = Taken(values)


def version_of(values):
    """Returns the number with which PyTorch counts changes of a tensor; None if it does not count them."""
    return None if values.is_inference() else values._version


def plan_multiply(plan, values, version, operation, x):
    """Returns op(A) x with the values of a tensor or, if values is None, those of the plan, of this version."""
    with plan._lock:  # another thread may give it other values
        if values is not None:
            # (a matrix that was in host memory takes its values from there)
            take(plan, values, version, lambda new: new if plan._block.on_gpu and not plan._uploaded else new.cpu())
        elif plan._version != version:  # as on all ranks: new values are collective
            raise Error("the plan has new values since the product that is differentiated: call backward() "
                        "before update_values(), or repeat the product")
        return by_plan(plan, operation, x)


def plan_gradient(plan, g, x):
    """Returns the gradient of the plan's values, for tensors that plain() returned."""
    if x.device.type != "cpu":
        return plan._values_gradient(g, x)
    if plan.device == "cuda":
        return plan._values_gradient(g.cuda(), x.cuda()).cpu()
    return torch.from_numpy(plan._values_gradient(g.numpy(), x.numpy()))


class Pattern:
    """The places of the entries of a sparse matrix A [m, n] whose values are a tensor [entries], for products in
    this process. Local.

    A: a tensor of layout sparse_csr, sparse_csc or sparse_coo, whose values are not read; or the edge_index of a
        graph, int64 [2, entries]: entry e is in column edge_index[0, e] and row edge_index[1, e], so that A X sums
        over the edges that end at a vertex, as PyTorch Geometric does. Entries may be in any order, and several
        may have the same place.
    shape: (m, n) for an edge_index; None: square, up to the greatest vertex.

    The products are on the device of the indices. The indices are copied. A pattern keeps a plan for each of
    float64 and float32 that was used; their memory is freed with the pattern. Raises TypeError or ValueError."""

    _version = 0  # PyTorch has the versions of the values

    def __init__(self, A, shape=None):
        rows, cols, self.shape = places(A, shape)
        self.device, self.entries = rows.device, len(rows)
        self._indptr, self._indices, self._order, self._place, self._lengths = ordered(rows, cols, self.shape)
        self._plans, self._ones, self._rows = {}, {}, {}  # of each type of values
        self._lock = threading.RLock()
        self._number, (self._y_size, self._x_size) = next(plans.numbers), self.shape
        plans.numbered[self._number] = self

    @property
    def T(self):
        """The pattern of A^T. Its products read the same values."""
        return TransposedPattern(self)

    def __repr__(self):
        return f"<spmm_mpi.torch.Pattern of {self.shape[0]} x {self.shape[1]}, {self.entries} entries on {self.device}>"

    def __deepcopy__(self, memo):
        return self  # it does not change

    def multiply(self, values, version, operation, x):
        if self.entries == 0:
            return x.new_zeros((self.shape[0 if operation in (NO_TRANSPOSE, CONJUGATE) else 1], *x.shape[1:]))
        values = self.ones(x) if values is None else values
        with self._lock:
            done = self.compared(values, x) if operation == NO_TRANSPOSE and version != SAVED else None
            return by_plan(self.plan_with(values, version), operation, x) if done is None else done

    def compared(self, values, x):
        """Returns A x by a plan that compares its values with these, and takes them only if they differ, because
        a sparse tensor has a new object for the same values each time; None if this is impossible or needless."""
        plan = self._plans.get(values.dtype)
        if plan is None or values.requires_grad or plan._taken is not None and plan._taken.are(values, 0):
            return None
        new, on_host = self.in_order(plain(values)), x.device.type == "cpu"
        compared = self._rows.get(values.dtype) or self._rows.setdefault(values.dtype, rows.Rows(plan._block))
        if not compared.hold(None, new.numpy() if on_host else new):
            return None
        y = plan._apply_rows(compared, x.numpy() if on_host else x, None)
        if y is not None:
            plan._taken = Taken(values)
        return torch.from_numpy(y) if on_host and y is not None else y

    def ones(self, x):
        """Returns values for a pattern without values, the same tensor for each x of a type."""
        if x.dtype not in self._ones:
            self._ones[x.dtype] = x.new_ones(self.entries)
        return self._ones[x.dtype]

    def gradient(self, g, x):
        if self.entries == 0:
            return x.new_zeros(0)
        with self._lock:
            plan = self._plans.get(x.dtype) or self.plan_with(self.ones(x), SAVED)
            found = plan_gradient(plan, g, x)
        return found if self._place is None else found[self._place]

    def plan_with(self, values, version):
        """Returns the Plan that has these values. The caller holds the lock."""
        plan = self._plans.get(values.dtype)
        if plan is not None:
            take(plan, values, version, self.in_order)
            return plan
        data = self.in_order(plain(values))
        if self.device.type == "cpu":
            a, options = matrix.Entries(self.shape, self._indptr.numpy(), self._indices.numpy(), data.numpy()), {}
        else:
            a, options = gpu_matrix.GpuEntries(self.shape, self._indptr, self._indices, data), {"device": "cuda"}
            a.checked = True
            # a plan that is made again for more products would have other bits
            if values.dtype == torch.float32:
                options["products"] = STAGES[1]
        plan = self._plans[values.dtype] = Plan(world.own(), a, rows="distributed", **options)
        plan._taken = Taken(values)
        return plan

    def in_order(self, values):
        """Returns the values as the plans have their entries, with duplicates summed."""
        if self._order is None:
            return values
        values = values[self._order]
        return values if self._lengths is None else torch.segment_reduce(values, "sum", lengths=self._lengths)


class TransposedPattern:
    def __init__(self, pattern):
        self.T = pattern


def places(A, shape):
    """Returns (row numbers, column numbers, shape) of the entries. Raises TypeError, ValueError."""
    if not isinstance(A, torch.Tensor):
        raise TypeError(f"A is a {type(A).__name__}, expected a sparse tensor of PyTorch or an edge_index")
    if A.layout is torch.strided:
        return edges(A, shape)
    if A.layout not in COMPRESSED and A.layout is not torch.sparse_coo:
        raise TypeError(f"A is a tensor of layout {A.layout}, expected sparse_csr, sparse_csc or sparse_coo: A.to_sparse_csr()")
    if A.dim() != 2 or A.dense_dim():
        raise TypeError(f"A is a tensor of {A.dim()} dimensions, {A.dense_dim()} of them dense, expected 2, neither of them dense: make a Pattern for each matrix of a batch")
    if shape is not None and tuple(shape) != tuple(A.shape):
        raise ValueError(f"shape is {tuple(shape)}, but A is {A.shape[0]} x {A.shape[1]}: leave shape out")
    if A.layout is torch.sparse_coo:
        rows, cols = A.detach()._indices()
    else:
        starts, others = (getattr(A.detach(), name)() for name in COMPRESSED[A.layout])
        lines = torch.repeat_interleave(torch.arange(len(starts) - 1, device=A.device), starts.diff())
        rows, cols = (lines, others) if A.layout is torch.sparse_csr else (others, lines)
    return rows.long(), cols.long(), tuple(A.shape)


COMPRESSED = {torch.sparse_csr: ("crow_indices", "col_indices"), torch.sparse_csc: ("ccol_indices", "row_indices")}


def edges(A, shape):
    if A.dim() != 2 or A.shape[0] != 2 or A.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"A is a dense tensor {list(A.shape)} of {str(A.dtype).partition('.')[2]}, expected a sparse one, A.to_sparse_csr(), or "
                        f"the edge_index of a graph, [2, entries] of int64")
    cols, rows = A.detach().long()
    most = A.max().item() + 1 if A.numel() else 0
    m, n = (most, most) if shape is None else shape
    for numbers, size, name in ((rows, m, "row"), (cols, n, "column")):
        if len(numbers) and not 0 <= numbers.min().item() <= numbers.max().item() < size:
            raise ValueError(f"edge_index has a {name} outside 0 to {size - 1}: pass shape=(rows, columns)")
    return rows, cols, (int(m), int(n))


def ordered(rows, cols, shape):
    """Returns (row starts, column indices, order, place, lengths) of the CSR matrix with entries at these places. Its
    values are values[order], of which `lengths` succeeding ones are summed. The given entry e is its entry
    place[e]. order: None if the entries have this order and are unique; lengths: None if they are unique."""
    if shape[1] > matrix.MOST_COLUMNS:
        raise ValueError(f"A has {shape[1]} columns, expected at most {matrix.MOST_COLUMNS}")
    back = (rows[1:] < rows[:-1]) | (rows[1:] == rows[:-1]) & (cols[1:] <= cols[:-1])
    if not bool(back.any()):
        return starts_of(rows, shape), cols.to(torch.int32), None, None, None
    if rows.device.type == "cpu":  # SciPy's conversion is faster than sorting, but sums duplicates
        made = scipy.sparse.coo_matrix((np.arange(len(rows)), (rows.numpy(), cols.numpy())), shape).tocsr()
        if made.nnz == len(rows):
            made.sort_indices()
            starts, cols, order = (torch.from_numpy(part) for part in (made.indptr, made.indices, made.data))
            place = torch.empty_like(order)
            place[order] = torch.arange(len(order))
            return starts.long(), cols.to(torch.int32), order, place, None
    order = torch.argsort(cols, stable=True)
    order = order[torch.argsort(rows[order], stable=True)]
    rows, cols = rows[order], cols[order]
    new = torch.ones(len(rows), dtype=torch.bool, device=rows.device)
    new[1:] = (rows[1:] != rows[:-1]) | (cols[1:] != cols[:-1])
    place = torch.empty_like(order)
    place[order] = torch.cumsum(new, 0) - 1
    first = torch.nonzero(new)[:, 0]
    lengths = torch.diff(first, append=first.new_tensor([len(rows)])) if len(first) < len(rows) else None
    return starts_of(rows[first], shape), cols[first].to(torch.int32), order, place, lengths


def starts_of(rows, shape):
    return torch.searchsorted(rows, torch.arange(shape[0] + 1, device=rows.device))
