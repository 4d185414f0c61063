"""Products that PyTorch differentiates: layers of networks whose vertices are distributed over ranks.

    import spmm_mpi.torch as layers

    H = layers.matmul(plan, layers.linear(comm, X, W))  # A X W; X: this rank's rows, W: on all ranks

Tensors are this rank's rows, in host memory or, with device="cuda", on the GPU. matmul() is collective, and
so are the gradients of both functions: all ranks must call backward() for the same graph, in which the same
tensors require gradients. A gradient that is not needed is not computed."""
import numpy as np
import torch
from torch.autograd.function import once_differentiable

from . import _arrays as arrays
from . import _multivectors as multivectors
from ._arguments import check_comm
from ._library import Error
from ._plan import Plan, Transposed

__all__ = ["linear", "matmul"]


def plan_of(by):
    return by.T if isinstance(by, Transposed) else by


class Product(torch.autograd.Function):
    """A X. The gradient of X is A^T times the gradient of the result; it can be differentiated in turn."""

    @staticmethod
    def forward(ctx, x, by, back):
        ctx.by, ctx.back, ctx.version = by, back, plan_of(by)._version
        return by @ x.detach()

    @staticmethod
    def backward(ctx, gradient):
        if plan_of(ctx.by)._version != ctx.version:  # as on all ranks: new values are collective
            raise Error("the plan has new values since the product that is differentiated, expected those of the product: backward() "
                        "before update_values(), or the product again")
        return Product.apply(gradient.contiguous(), ctx.back, ctx.by), None, None


def matmul(plan, X, *, symmetric=False):
    """Returns A X, this rank's rows [y rows, K] or [y rows], with a gradient for X: A^T G, where G is the
    gradient of the result.

    plan: a Plan, or plan.T for a product with A^T. X: a tensor, this rank's rows, as for `plan @ X`; one
    of another floating-point type than the plan's float64 is converted, and its gradient has its type.
    symmetric: asserts that A is symmetric, without a check. The gradient is then computed as A G: this needs
    no transposed matrix, which takes as much memory as the plan, and its bits do not depend on the number of
    ranks. The values of A have no gradient. backward() raises Error if the plan has had new values since.
    Collective, as is backward(); errors as for `plan @ X`. Raises TypeError if X is not a tensor, or plan not
    a plan."""
    if not isinstance(plan, (Plan, Transposed)):
        raise TypeError(f"plan is a {type(plan).__name__}, expected a spmm_mpi.Plan, or plan.T")
    if not isinstance(X, torch.Tensor):
        raise TypeError(f"X is a {type(X).__name__}, expected a tensor of PyTorch")
    if X.is_floating_point() and plan.dtype == np.float64:
        X = X.double()
    return Product.apply(X, plan, plan if symmetric else plan.T)


class Linear(torch.autograd.Function):
    """X W. The gradient of X is G W^T; the gradient of W is X^T G, summed over the rows of all ranks."""

    @staticmethod
    def forward(ctx, x, w, comm):
        ctx.comm = comm
        ctx.save_for_backward(x, w)
        return multivectors.times(x.detach(), in_host_memory(w))

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        of_x = of_w = None
        gradient = gradient.contiguous()
        if ctx.needs_input_grad[1]:
            of_w = torch.from_numpy(multivectors.dot(ctx.comm, x.detach(), gradient)).to(w)
        if ctx.needs_input_grad[0]:
            of_x = multivectors.times(gradient, in_host_memory(w).T)
        return of_x, of_w, None


def in_host_memory(w):
    return arrays.kind_of(w.detach().cpu(), "W")[1]


def linear(comm, X, W):
    """Returns X W, this rank's rows [rows, L], with gradients for X and for W.

    comm: the mpi4py communicator of the ranks that have the rows. X: a tensor [rows, K] of float64 or
    float32. W: a tensor [K, L] of X's dtype, the same on every rank. The gradient of W is summed over the
    rows of all ranks, in float64, in an order that depends only on the ranks' numbers of rows. It has the
    same bits on every rank and in every run, so that weights stay equal without communication.
    The product is local, backward() is collective over comm. Raises TypeError or ValueError if an argument is
    wrong.
    There is no second derivative."""
    check_comm(comm)
    for name, tensor in (("X", X), ("W", W)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}, expected a tensor of PyTorch")
    if X.dtype != W.dtype:
        raise TypeError(f"X is {X.dtype} and W {W.dtype}, expected the same: W.to({X.dtype})")
    return Linear.apply(X, W, comm)
