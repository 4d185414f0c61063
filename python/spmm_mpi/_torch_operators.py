"""The operators of PyTorch, and their gradients.

    spmm_mpi::multiply(values, x, of, version, m, n, operation, symmetric)     op(A) x
    spmm_mpi::values_gradient(g, x, of, m, n, entries)                         g[i, :] . x[j, :] for each entry (i, j)
    spmm_mpi::linear(x, w, of)                                                 x w; w is the same on all ranks
    spmm_mpi::weights_gradient(x, g, of)                                       x^T g, summed over the rows of all ranks

`of` is the number of a Plan or Pattern in _plan.numbered; m, n and entries are those of this rank. values: None for
those of a plan, whose version is then compared with its present one; else version is 0 or SAVED. Each of the first
two operators is the derivative of the other, so their gradients can be differentiated any number of times.

torch.compile and torch.func need operators that are registered. A call of one takes 20 to 50 microseconds longer
than a call of an autograd.Function (2 cores, PyTorch 2.15), which all other products use."""
import torch
from torch.autograd.function import once_differentiable

from . import _arrays as arrays
from . import _multivectors as multivectors
from ._plan import CONJUGATE_TRANSPOSE, NO_TRANSPOSE, TRANSPOSE
from ._torch_products import CONJUGATE, SAVED, Pattern, plain, plan_gradient, plan_multiply, source

ADJOINT = {NO_TRANSPOSE: CONJUGATE_TRANSPOSE, TRANSPOSE: CONJUGATE, CONJUGATE_TRANSPOSE: NO_TRANSPOSE, CONJUGATE: TRANSPOSE}
OF_ROWS = NO_TRANSPOSE, CONJUGATE  # the result has the rows of A
OF_SYMMETRIC = {TRANSPOSE: NO_TRANSPOSE, CONJUGATE_TRANSPOSE: CONJUGATE}  # without a transposed matrix


# ---- the products ----

def multiply(values, x, of, version, m, n, operation, symmetric):
    by = source(of)
    if isinstance(by, Pattern):
        return by.multiply(values, version, operation, plain(x))
    return plan_multiply(by, values, version, operation, plain(x))


def values_gradient(g, x, of, m, n, entries):
    by = source(of)
    return by.gradient(plain(g), plain(x)) if isinstance(by, Pattern) else plan_gradient(by, plain(g), plain(x))


# ---- their gradients ----

def setup(ctx, inputs, output=None):
    """Saves each of the first two tensors if the gradient of the other needs it."""
    a, b, *ctx.rest = inputs
    of_a, of_b = ctx.needs_input_grad[:2]
    ctx.size = a.shape[0] if of_a else None
    ctx.save_for_backward(a if of_b else None, b if of_a else None)


def multiply_backward(ctx, g, call):
    (values, x), (of, version, m, n, operation, symmetric) = ctx.saved_tensors, ctx.rest
    of_values, of_x = ctx.needs_input_grad[:2]
    back = ADJOINT[operation]
    if symmetric:
        back = OF_SYMMETRIC.get(back, back)
    dx = call.multiply(values, g, of, version if values is None else SAVED, m, n, back, symmetric) if of_x else None
    pair = (g, x) if operation in OF_ROWS else (x, g)
    dv = call.values_gradient(*pair, of, m, n, ctx.size) if of_values else None
    return dv, dx, None, None, None, None, None, None


def gradient_backward(ctx, u, call):
    (g, x), (of, m, n, entries) = ctx.saved_tensors, ctx.rest
    of_g, of_x = ctx.needs_input_grad[:2]
    dg = call.multiply(u, x, of, 0, m, n, NO_TRANSPOSE, False) if of_g else None
    dx = call.multiply(u, g, of, 0, m, n, TRANSPOSE, False) if of_x else None
    return dg, dx, None, None, None, None


def times(x, w):
    return multivectors.times(plain(x), arrays.kind_of(plain(w).cpu(), "W")[1])


def summed(comm, x, g):
    """Returns x^T g, summed over the rows of all ranks of comm, like x. Collective."""
    return torch.from_numpy(multivectors.dot(comm, plain(x), plain(g))).to(x)


# ---- functions of autograd ----

def each(info, dims, tensors, call):
    """Returns the results for each element of a batch, stacked."""
    parts = ([t if dim is None else t.select(dim, i) for t, dim in zip(tensors, dims)] for i in range(info.batch_size))
    return torch.stack([call(*part) for part in parts]), 0


def tangent(call, ctx, da, db):
    """Returns the tangent of a function that is linear in each of its tensors."""
    a, b = ctx.saved_tensors  # those of save_for_forward()
    of_b = None if db is None else call(a, db, *ctx.rest)
    if da is None:
        return of_b
    of_a = call(da, b, *ctx.rest)
    return of_a if of_b is None else of_a + of_b


class Bilinear(torch.autograd.Function):
    """A function that is linear in each of its first two inputs, which are tensors."""

    @staticmethod
    def setup_context(ctx, inputs, output):
        setup(ctx, inputs)
        ctx.save_for_forward(*inputs[:2])


class Multiply(Bilinear):
    forward = staticmethod(multiply)

    @staticmethod
    def backward(ctx, g):
        return multiply_backward(ctx, g, Function)

    @staticmethod
    def jvp(ctx, dv, dx, *_):
        return tangent(Function.multiply, ctx, dv, dx)

    @staticmethod
    def vmap(info, dims, values, x, *rest):
        if dims[0] is not None:
            return each(info, dims, (values, x), lambda values, x: Function.multiply(values, x, *rest))
        x = x.movedim(dims[1], 1)  # more columns
        y = Function.multiply(values, x.reshape(x.shape[0], -1), *rest)
        return y.reshape(y.shape[0], *x.shape[1:]), 1


class ValuesGradient(Bilinear):
    forward = staticmethod(values_gradient)

    @staticmethod
    def backward(ctx, u):
        return gradient_backward(ctx, u, Function)

    @staticmethod
    def jvp(ctx, dg, dx, *_):
        return tangent(Function.values_gradient, ctx, dg, dx)

    @staticmethod
    def vmap(info, dims, g, x, *rest):
        return each(info, dims, (g, x), lambda g, x: Function.values_gradient(g, x, *rest))


class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, comm):
        ctx.comm = comm
        ctx.save_for_backward(x, w)
        return times(x, w)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        of_x, of_w = ctx.needs_input_grad[:2]
        dw = summed(ctx.comm, x, g) if of_w else None
        return times(g, w.T) if of_x else None, dw, None


def quick(function):
    """Returns function.apply without its examination of default arguments, which takes 20 microseconds."""
    apply = super(torch.autograd.Function, function).apply

    def call(*inputs):
        return function.apply(*inputs) if transforms_are_active() else apply(*inputs)
    return call


transforms_are_active = torch._C._are_functorch_transforms_active  # as autograd.Function asks


class Function:
    multiply, values_gradient = map(staticmethod, map(quick, (Multiply, ValuesGradient)))


# ---- registered operators ----

library = torch.library.Library("spmm_mpi", "DEF")
library.define("multiply(Tensor? values, Tensor x, SymInt of, SymInt version, SymInt m, SymInt n, SymInt operation, bool symmetric) -> Tensor",
               tags=torch.Tag.pt2_compliant_tag)
library.define("values_gradient(Tensor g, Tensor x, SymInt of, SymInt m, SymInt n, SymInt entries) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
library.define("linear(Tensor x, Tensor w, SymInt of) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
library.define("weights_gradient(Tensor x, Tensor g, SymInt of) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
for key in ("CPU", "CUDA"):
    library.impl("multiply", multiply, key)
    library.impl("values_gradient", values_gradient, key)
    library.impl("linear", lambda x, w, of: times(x, w), key)
    library.impl("weights_gradient", lambda x, g, of: summed(source(of).comm, x, g), key)


class Registered:
    multiply, values_gradient = torch.ops.spmm_mpi.multiply.default, torch.ops.spmm_mpi.values_gradient.default


@torch.library.register_fake("spmm_mpi::multiply")
def _(values, x, of, version, m, n, operation, symmetric):
    return x.new_empty((m if operation in OF_ROWS else n, *x.shape[1:]))


@torch.library.register_fake("spmm_mpi::values_gradient")
def _(g, x, of, m, n, entries):
    return x.new_empty((entries,))


@torch.library.register_fake("spmm_mpi::linear")
def _(x, w, of):
    return x.new_empty((x.shape[0], w.shape[1]))


@torch.library.register_fake("spmm_mpi::weights_gradient")
def _(x, g, of):
    return x.new_empty((x.shape[1], g.shape[1]))


def linear_backward(ctx, g):
    (x, w), (of,) = ctx.saved_tensors, ctx.rest
    dw = None if x is None else torch.ops.spmm_mpi.weights_gradient(x, g, of)
    return None if w is None else torch.ops.spmm_mpi.linear(g, w.T, of), dw, None


for name, backward in (("linear", linear_backward), ("multiply", lambda ctx, g: multiply_backward(ctx, g, Registered)),
                       ("values_gradient", lambda ctx, u: gradient_backward(ctx, u, Registered))):
    torch.library.register_autograd(f"spmm_mpi::{name}", backward, setup_context=setup)


# ---- what spmm_mpi.torch calls ----

def product(*inputs):
    """Returns op(A) x."""
    return chosen().multiply(*inputs)


def chosen():
    if not torch.compiler.is_compiling():
        return Function
    if transforms_are_active():  # jvp would have zeros as tangents
        raise TypeError("spmm_mpi.torch supports transforms of torch.func only in code that is not compiled")
    return Registered


def linear(x, w, of):
    """Returns x w, for the ranks of a plan."""
    return torch.ops.spmm_mpi.linear.default(x, w, of) if chosen() is Registered else Linear.apply(x, w, source(of).comm)
