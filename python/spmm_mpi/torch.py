"""Products that PyTorch differentiates: layers of networks whose vertices are distributed over ranks.

    import spmm_mpi.torch as layers

    H = layers.matmul(plan, layers.linear(comm, X, W))      # A X W; X: this rank's rows, W: the same on every rank

Tensors are this rank's rows, in host memory or, with device="cuda", on the GPU. Both functions are collective, and so are their gradients: all
ranks call backward() with the same graph behind it, where the same tensors require gradients. A gradient that is not needed is not computed."""
import torch
from torch.autograd.function import once_differentiable

from . import _multivectors as multivectors
from ._arguments import check_comm
from ._plan import Plan, Transposed

__all__ = ["linear", "matmul"]


class Product(torch.autograd.Function):
    """A X, of which the gradient is A^T times that of the result, and so on."""

    @staticmethod
    def forward(ctx, x, by, back):
        ctx.by, ctx.back = by, back
        return by @ x.detach()

    @staticmethod
    def backward(ctx, gradient):
        return Product.apply(gradient.contiguous(), ctx.back, ctx.by), None, None


def matmul(plan, X, *, symmetric=False):
    """Returns A X, this rank's rows [y rows, K] or [y rows], with a gradient for X: A^T G, where G is that of the result.

    plan: a Plan, or plan.T for the product by A^T. X: a tensor, this rank's rows of the plan's dtype, as for `plan @ X`.
    symmetric: A is symmetric, which is not checked: then its gradient is A G. That saves the transposed matrix, which takes as much memory as
    the plan, and has bits that do not depend on the number of ranks. The values of A have no gradient.
    Collective, as is backward(); errors as of `plan @ X`. TypeError: X is no tensor, or plan none."""
    if not isinstance(plan, (Plan, Transposed)):
        raise TypeError(f"plan is a {type(plan).__name__}, expected a spmm_mpi.Plan, or plan.T")
    if not isinstance(X, torch.Tensor):
        raise TypeError(f"X is a {type(X).__name__}, expected a tensor of PyTorch")
    return Product.apply(X, plan, plan if symmetric else plan.T)


class Linear(torch.autograd.Function):
    """X W, of which the gradients are G W^T and, over the rows of all ranks, X^T G."""

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
    return w.detach().cpu().numpy()


def linear(comm, X, W):
    """Returns X W, this rank's rows [rows, L], with gradients for X and for W.

    comm: a communicator of mpi4py, whose ranks have the rows. X: a tensor [rows, K] of float64 or float32. W: a tensor [K, L] of X's dtype, the
    same on every rank. Its gradient is summed over the rows of all ranks, in an order that depends on the numbers of rows alone: every rank has
    the same bits of it, in every run, so that weights stay alike without being sent. Sums are in float64.
    The product is local, backward() is collective over comm. TypeError, ValueError: an argument is wrong. There is no second derivative."""
    check_comm(comm)
    for name, tensor in (("X", X), ("W", W)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}, expected a tensor of PyTorch")
    if X.dtype != W.dtype:
        raise TypeError(f"X is {X.dtype} and W {W.dtype}, expected the same: W.to({X.dtype})")
    return Linear.apply(X, W, comm)
