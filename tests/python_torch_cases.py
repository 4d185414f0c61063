"""Products of the Python package that PyTorch differentiates: run by tests/test_torch.py under mpirun. On the CPU, or on
GPUs if the first argument is cuda."""
import sys

import numpy as np
import scipy.sparse
import torch
from mpi4py import MPI
from torch.autograd import gradcheck, gradgradcheck

import spmm_mpi.torch as layers
from python_ranks import case, comm, on_root, random_matrix, random_x, refused, run_all
from spmm_mpi import Error, Plan

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"


def tensor(values, gradient=True):
    return torch.tensor(values, device=DEVICE, requires_grad=gradient)


def alike(found, expected, bound=1e-12):
    found, expected = found.detach().cpu().double().numpy(), expected.detach().cpu().double().numpy()
    assert found.shape == expected.shape and abs(found - expected).max(initial=0) <= bound, abs(found - expected).max(initial=0)


@case("gradcheck: of A X and A^T X, once and twice, of matrices and vectors")
def _():
    a = random_matrix(11, 7, density=0.4)
    for k in (None, 3):
        with Plan(MPI.COMM_SELF, a, k, device=DEVICE) as plan:
            for by, rows in ((plan, 7), (plan.T, 11)):
                x = tensor(random_x(rows, 3))
                assert gradcheck(lambda x, by=by: layers.matmul(by, x), (x,)) and gradgradcheck(lambda x, by=by: layers.matmul(by, x), (x,))
    with Plan(MPI.COMM_SELF, a, device=DEVICE) as plan:
        assert gradcheck(lambda x: layers.matmul(plan, x), (tensor(random_x(7, 1)[:, 0]),))
        assert gradcheck(lambda x: layers.matmul(plan, x.T), (tensor(random_x(3, 7)),)), "another layout"
        assert gradcheck(lambda x: layers.matmul(plan, x).sum(), (tensor(random_x(7, 2)),)), "a gradient whose elements are one"


@case("gradcheck: of X W by both")
def _():
    assert gradcheck(lambda x, w: layers.linear(MPI.COMM_SELF, x, w), (tensor(random_x(9, 4)), tensor(random_x(4, 3))))
    assert gradcheck(lambda w: layers.linear(MPI.COMM_SELF, tensor(random_x(9, 4), False), w), (tensor(random_x(4, 3)),))


@case("a network on all ranks has the gradients of the dense one")
def _():
    a = random_matrix(60, 60, density=0.2)
    for matrix, symmetric in ((a, False), (a + a.T, True)):
        for dtype, bound in ((np.float64, 1e-11), (np.float32, 1e-3)):
            m, x, w = matrix.astype(dtype), random_x(60, 5, dtype), random_x(5, 4, dtype, seed=3)
            whole, weights = tensor(x), tensor(w)
            dense = tensor(m.toarray(), False)
            expected = torch.tanh(dense @ torch.tanh(dense @ whole @ weights))
            (expected ** 2).sum().backward()
            with Plan(comm, on_root(m), device=DEVICE) as plan:
                mine, own = tensor(x[plan.x_range]), tensor(w)
                inner = torch.tanh(layers.matmul(plan, layers.linear(comm, mine, own), symmetric=symmetric))
                found = torch.tanh(layers.matmul(plan, inner, symmetric=symmetric))
                (found ** 2).sum().backward()
                alike(found, expected[plan.y_range], bound)
                alike(mine.grad, whole.grad[plan.x_range], bound)
                alike(own.grad, weights.grad, bound)
                bits = comm.allgather(own.grad.cpu().numpy().tobytes())
                assert len(set(bits)) == 1, "every rank has the same bits"
                assert own.grad.dtype == own.dtype and found.dtype == own.dtype


@case("gradients by A^T of a matrix that is not square")
def _():
    a, x = random_matrix(50, 30, density=0.3), random_x(30, 4)
    with Plan(comm, on_root(a), 4, device=DEVICE) as plan:
        mine = tensor(x[plan.x_range])
        layers.matmul(plan, mine).pow(2).sum().backward()
        alike(mine.grad, torch.tensor(2 * (a.T @ (a @ x)))[plan.x_range], 1e-11)


@case("a gradient of values that the plan no longer has is refused on all ranks")
def _():
    a, x = random_matrix(40, 40, density=0.3), random_x(40, 3)
    with Plan(comm, on_root(a), device=DEVICE) as plan:
        for by in (plan, plan.T):
            for symmetric in (False, True):
                mine = tensor(x[plan.x_range])
                late = layers.matmul(by, mine, symmetric=symmetric).sum()
                plan.update_values(on_root(2 * a))
                refused(Error, "the plan has new values since the product that is differentiated", late.backward)
                assert mine.grad is None
        first = layers.matmul(plan, mine)
        layers.matmul(plan, first).sum().backward()
        ones = np.ones((40, 3))
        alike(mine.grad, torch.tensor(4 * (a.T @ (a.T @ ones)))[plan.x_range], 1e-11)


@case("a sparse tensor of each layout in host memory is the matrix of a plan")
def _():
    a, x = random_matrix(11, 7, density=0.4), torch.tensor(random_x(7, 3), device=DEVICE)
    csr = torch.sparse_csr_tensor(torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape)
    twice = torch.sparse_coo_tensor([[0, 0, 3], [1, 1, 2]], [1.0, 2.0, 5.0], (4, 7), dtype=torch.float64)
    for form in (csr, csr.to_sparse_csc(), csr.to_sparse_coo(), twice):
        with Plan(MPI.COMM_SELF, form, device=DEVICE) as plan:
            alike(plan @ x, form.to_dense() @ x.cpu())
    with Plan(MPI.COMM_SELF, csr, device=DEVICE) as plan:
        alike(x.T.contiguous() @ plan.T, (csr.to_dense() @ x.cpu()).T)
        alike(plan @ x.float(), csr.to_dense() @ x.float().double().cpu())
    refused(TypeError, "layout", Plan, MPI.COMM_SELF, csr.to_sparse_bsr((1, 1)))


@case("what is no tensor, plan or communicator is refused")
def _():
    with Plan(MPI.COMM_SELF, scipy.sparse.identity(5, format="csr"), device=DEVICE) as plan:
        refused(TypeError, "X is a ndarray, expected a tensor of PyTorch", layers.matmul, plan, np.eye(5))
        refused(TypeError, "plan is a ndarray, expected a spmm_mpi.Plan, or plan.T", layers.matmul, np.eye(5), torch.eye(5))
        x = torch.eye(5, device=DEVICE, requires_grad=True)
        y = layers.matmul(plan, x)  # converted
        y.sum().backward()
        assert y.dtype == torch.float64 and x.grad.dtype == torch.float32
        alike(y, torch.eye(5)), alike(x.grad, torch.ones(5, 5))
        refused(TypeError, "expected the same: W.to(torch.float32)", layers.linear, comm, torch.eye(5), torch.eye(5).double())
        refused(TypeError, "W is a ndarray", layers.linear, comm, torch.eye(5), np.eye(5))
        for kind in (torch.bfloat16, torch.float16, torch.int64):
            wrong = torch.eye(5, device=DEVICE).to(kind)
            alike(layers.matmul(plan, wrong), torch.eye(5))
            refused(TypeError, "expected float64, float32, complex128 or complex64: ", layers.linear, comm, wrong, wrong)
        refused(ValueError, "X has 3 dimensions", layers.matmul, plan, torch.ones(2, 5, 3, device=DEVICE).double())
        refused(TypeError, "expected a communicator of mpi4py", layers.linear, None, torch.eye(5), torch.eye(5))
        refused(TypeError, "spmm_mpi.torch", plan.__matmul__, torch.eye(5, requires_grad=True))


run_all()
