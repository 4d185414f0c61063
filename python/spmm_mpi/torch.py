"""Products that PyTorch differentiates: layers of networks on graphs, in one process or over ranks.

    import spmm_mpi.torch as layers

    H = layers.matmul(A, X)                             # A: a sparse tensor, whose values may require a gradient
    H = layers.matmul(pattern, X, weights)              # pattern = layers.Pattern(edge_index); can be compiled
    H = layers.matmul(plan, layers.linear(comm, X, W))  # A X W over ranks; X: this rank's rows, W: on all ranks

Products with a plan are collective, and so are the gradients of these and of linear(): all ranks must call
backward() for the same graph, in which the same tensors require gradients. A gradient that is not needed is not
computed. Results and gradients have the same bits in every run.

Tensors are in host memory or on the GPU that the plan or pattern computes on. Needs PyTorch 2.5 or newer."""
import socket
import weakref

import torch

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5):
    raise ImportError(f"spmm_mpi.torch needs PyTorch 2.5 or newer, found {torch.__version__}: pip install -U torch")

from . import _arrays as arrays
from . import _torch_operators as operators
from ._arguments import check_comm
from ._plan import NO_TRANSPOSE, TRANSPOSE, Plan, Transposed
from ._torch_products import COMPRESSED, Pattern, TransposedPattern

__all__ = ["Pattern", "init_process_group", "linear", "matmul"]


def matmul(A, X, values=None, *, symmetric=False, shape=None):
    """Returns A X, with gradients for X and for the values of A: A^T G, and for each entry (i, j) of A the
    inner product of rows G[i] and X[j], where G is the gradient of the result.

    A: one of
        - a Plan, or plan.T for a product with A^T: X has this rank's rows, as for `plan @ X`. Collective, as is
          backward(). values: a tensor [entries of this rank] in the order of plan.block().data, of the plan's
          dtype, which replaces the plan's values; None: the values of the plan, without a gradient. backward()
          raises Error if the plan has had new values since.
        - a Pattern, or pattern.T: X is whole. values: a tensor [entries] in the order of its entries; None: ones.
        - a sparse tensor of layout sparse_csr, sparse_csc or sparse_coo, whose values are used and receive a
          gradient if A requires one. Its Pattern is kept as long as the tensor. Not in compiled code, because
          torch.compile accepts no sparse tensors.
        - an edge_index, with the weights of the edges as values: see Pattern, also for `shape`. Its Pattern is
          kept as long as the tensor, and made again when its numbers change.
    X: a tensor [rows, K], [rows], or a batch [.., rows, K], which is multiplied as one X of more columns. It has
    the type of the values, float64 or float32. (The values of a plan may be complex.) With a plan of float64, an
    X of a type that NumPy converts to it is converted, and its gradient has its type. Under torch.autocast, an X of
    16 bits is converted to the type of A.
    symmetric: asserts that A is symmetric, without a check. The gradient of X is then computed as A G: this needs
    no transposed matrix, which takes as much memory as the plan, and its bits do not depend on the number of
    ranks.

    PyTorch notices changes of values and X between a product and its gradient. Changes that its versions miss
    (values.data, an array of NumPy of the same memory) are not noticed here, either. Raises TypeError, ValueError;
    and Error as `plan @ X` does."""
    by, operation = of_transposed(A)
    if not isinstance(X, torch.Tensor):
        raise TypeError(f"X is a {type(X).__name__}, expected a tensor of PyTorch")
    if isinstance(by, torch.Tensor):
        by, values = of_tensor(by, values, shape)
    if isinstance(by, Pattern):
        X = checked(by, operation, X, values)
    elif isinstance(by, Plan):
        X = of_type(TYPES[by._type], X)
    else:
        raise TypeError(f"A is a {type(A).__name__}, expected a plan, a pattern, a sparse tensor or an edge_index")
    given = X
    if X.dim() > 2:  # a batch: more columns
        X = X.movedim(-2, 0)
        X = X.reshape(X.shape[0], -1)
    Y = operators.product(values, X, by._number, by._version, by._y_size, by._x_size, operation, symmetric)
    return Y if given.dim() <= 2 else Y.reshape(Y.shape[0], *given.shape[:-2], given.shape[-1]).movedim(0, -2)


def of_transposed(A):
    """Returns (the plan or pattern that A is a view of, the operation); (A, NO_TRANSPOSE) for anything else."""
    if isinstance(A, Transposed):
        return A._plan, A._operation
    return (A.T, TRANSPOSE) if isinstance(A, TransposedPattern) else (A, NO_TRANSPOSE)


REAL = torch.float64, torch.float32
TYPES = {dtype.name: getattr(torch, dtype.name) for dtype in arrays.TYPES}


def name_of(dtype):
    return str(dtype).partition(".")[2]


def of_type(dtype, X):
    """Returns X for a plan, converted as for `plan @ X`. What the plan refuses is not refused here, because it
    tells all ranks."""
    if X.dtype is dtype or dtype is not torch.float64 or X.dtype is torch.bfloat16 or X.is_complex():
        return by_autocast(X, dtype)
    return X.to(dtype)


def by_autocast(X, dtype):
    return X.to(dtype) if X.dtype in (torch.float16, torch.bfloat16) and torch.is_autocast_enabled(X.device.type) else X


def checked(pattern, operation, X, values):
    """Returns X for a pattern. Raises TypeError, ValueError."""
    rows = pattern._x_size if operation == NO_TRANSPOSE else pattern._y_size
    if values is not None and (values.dtype not in REAL or values.shape != (pattern.entries,)):
        raise TypeError(f"values are {list(values.shape)} of {name_of(values.dtype)}, expected [{pattern.entries}] of float64 or float32, one "
                        f"for each entry of the pattern")
    if values is not None and values.device != pattern.device:
        raise TypeError(f"values are on {values.device}, and the pattern is on {pattern.device}, expected the same: values.to(pattern.device)")
    if X.dim() == 0 or X.shape[-2 if X.dim() > 1 else 0] != rows:
        raise ValueError(f"X has the shape {list(X.shape)}, expected [{rows}, K] or [{rows}]")
    expected = values.dtype if values is not None else X.dtype if X.dtype in REAL else torch.float32
    X = by_autocast(X, expected)
    if X.dtype is not expected:
        raise TypeError(f"X is {name_of(X.dtype)}, and A is {name_of(expected)}, expected the same: X.to({expected})")
    return X


kept = {}  # id of a tensor -> (weak reference to it, what its pattern was made of, its Pattern)


def of_tensor(A, values, shape):
    """Returns (the Pattern of a sparse tensor or of an edge_index, its values)."""
    if torch.compiler.is_compiling():
        raise TypeError("A is a tensor in a compiled call, expected a pattern that was made before the call: spmm_mpi.torch.Pattern(A)")
    sparse = A.layout is not torch.strided
    if sparse and values is not None:
        raise TypeError("A is a sparse tensor, which has its own values, but other values are passed: pass spmm_mpi.torch.Pattern(A) as A")
    unique = A.coalesce() if A.layout is torch.sparse_coo and A.requires_grad and not A.is_coalesced() else A
    place, made_of = id(A), (shape, *identity(A))
    found, former, pattern = kept.get(place, (None, None, None))
    if pattern is None or found() is not A or former != made_of:
        pattern = Pattern(unique, shape)
        kept[place] = weakref.ref(A, lambda _: kept.pop(place, None)), made_of, pattern
    if sparse:
        values = unique.values() if unique.layout in COMPRESSED or A.requires_grad else A._values()
    return pattern, values


def identity(A):
    """Returns what differs if the indices of a tensor are others than before."""
    if A.layout is torch.strided:
        return A.data_ptr(), A._version
    if A.layout is torch.sparse_coo:
        return A._indices().data_ptr(), A._nnz()
    return *(getattr(A, name)().data_ptr() for name in COMPRESSED.get(A.layout, ())), A._nnz()


def linear(by, X, W):
    """Returns X W, this rank's rows [rows, L], with gradients for X and for W.

    by: the ranks that have the rows: a Plan, or a communicator of mpi4py, which compiled code cannot take. X: a
    tensor [rows, K] of float64 or float32. W: a tensor [K, L] of X's dtype, the same on every rank. The gradient
    of W is summed over the rows of all ranks, in float64, in an order that depends only on the ranks' numbers of
    rows. It has the same bits on every rank and in every run, so that weights stay equal without communication.
    The product is local, backward() is collective over the ranks. There is no second derivative. Raises TypeError
    or ValueError if an argument is wrong."""
    for name, tensor in (("X", X), ("W", W)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}, expected a tensor of PyTorch")
    if X.dtype != W.dtype:
        raise TypeError(f"X is {X.dtype} and W {W.dtype}, expected the same: W.to({X.dtype})")
    if isinstance(by, Plan):
        return operators.linear(X, W, by._number)
    check_comm(by)
    return operators.Linear.apply(X, W, by)


def init_process_group(comm, backend=None, **options):
    """Initializes torch.distributed with the ranks of comm, a communicator of mpi4py, so that it has the ranks of
    plans on comm. backend, options: as for torch.distributed.init_process_group. Collective. Raises Error under
    torchrun, whose processes are no ranks of one MPI program."""
    check_comm(comm)
    from mpi4py import MPI
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    alone = comm.allreduce(node.size) == comm.size ** 2
    node.Free()
    host = comm.bcast("127.0.0.1" if alone else socket.gethostname())
    if comm.rank == 0:
        store = torch.distributed.TCPStore(host, 0, comm.size, is_master=True, wait_for_workers=False)
    port = comm.bcast(store.port if comm.rank == 0 else None)
    if comm.rank != 0:
        store = torch.distributed.TCPStore(host, port, comm.size, is_master=False)
    torch.distributed.init_process_group(backend, store=store, rank=comm.rank, world_size=comm.size, **options)
