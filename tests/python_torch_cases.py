"""Products of the Python package that PyTorch differentiates: run by tests/test_torch.py under mpirun. On the CPU, or on
GPUs if the first argument is cuda."""
import os
import sys

import numpy as np
import scipy.sparse
import torch
from mpi4py import MPI
from torch.autograd import gradcheck, gradgradcheck
from torch.library import opcheck

import spmm_mpi.torch as layers
from python_ranks import case, comm, on_root, random_matrix, random_x, refused, run_all
from spmm_mpi import Error, Plan, matmul

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
if DEVICE == "cuda":
    torch.cuda.set_device(comm.rank % torch.cuda.device_count())


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
        refused(TypeError, "A is a ndarray, expected a plan, a pattern, a sparse tensor or an edge_index", layers.matmul, np.eye(5), torch.eye(5))
        x = torch.eye(5, device=DEVICE, requires_grad=True)
        y = layers.matmul(plan, x)  # converted
        y.sum().backward()
        assert y.dtype == torch.float64 and x.grad.dtype == torch.float32
        alike(y, torch.eye(5)), alike(x.grad, torch.ones(5, 5))
        refused(TypeError, "expected the same: W.to(torch.float32)", layers.linear, comm, torch.eye(5), torch.eye(5).double())
        refused(TypeError, "W is a ndarray", layers.linear, comm, torch.eye(5), np.eye(5))
        for kind in (torch.bfloat16, torch.float16, torch.int64):
            wrong = torch.eye(5, device=DEVICE).to(kind)
            refused(TypeError, "expected float64, float32, complex128 or complex64: ", layers.linear, comm, wrong, wrong)
            if kind is torch.bfloat16:
                refused(TypeError, "X is bfloat16, expected float64: X.to(torch.float64)", layers.matmul, plan, wrong)
            else:
                alike(layers.matmul(plan, wrong), torch.eye(5))
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                alike(layers.matmul(plan, wrong), torch.eye(5))
        refused(TypeError, "expected a communicator of mpi4py", layers.linear, None, torch.eye(5), torch.eye(5))
        refused(TypeError, "spmm_mpi.torch", plan.__matmul__, torch.eye(5, requires_grad=True))


# ---- gradients of values ----

def csr_tensor(a, gradient=False):
    a = scipy.sparse.csr_matrix(a)
    made = torch.sparse_csr_tensor(torch.tensor(a.indptr, dtype=torch.int64), torch.tensor(a.indices, dtype=torch.int64), torch.tensor(a.data), a.shape)
    return made.to(DEVICE).requires_grad_(gradient)


def edges_of(a, twice=False):
    """The edge_index of a matrix, in no order, and its values. twice: each entry is given as two."""
    a = scipy.sparse.coo_matrix(a)
    order = np.random.default_rng(5).permutation(a.nnz)
    index, values = np.stack([a.col, a.row])[:, order].astype(np.int64), a.data[order]
    if twice:
        index, values = np.concatenate([index, index], 1), np.concatenate([values / 4, values * 3 / 4])
    return torch.tensor(index, device=DEVICE), tensor(values)


@case("gradcheck: of X and of the values of patterns and plans, once and twice")
def _():
    a = random_matrix(9, 6, density=0.4)
    index, values = edges_of(a)
    repeated, parts = edges_of(a, twice=True)
    for by, v in ((layers.Pattern(index, (9, 6)), values), (layers.Pattern(repeated, (9, 6)), parts), (layers.Pattern(csr_tensor(a)), tensor(a.data))):
        for of, rows in ((by, 6), (by.T, 9)):
            for x in (tensor(random_x(rows, 3)), tensor(random_x(rows, 1)[:, 0])):
                assert gradcheck(lambda x, v, of=of: layers.matmul(of, x, v), (x, v)) and gradgradcheck(lambda x, v, of=of: layers.matmul(of, x, v), (x, v))
        alike(layers.matmul(by, tensor(np.eye(6)), v), torch.tensor(a.toarray()))
    with Plan(MPI.COMM_SELF, a, device=DEVICE) as plan:
        for of, rows in ((plan, 6), (plan.T, 9)):
            inputs = tensor(random_x(rows, 3)), tensor(a.data)
            assert gradcheck(lambda x, v, of=of: layers.matmul(of, x, v), inputs) and gradgradcheck(lambda x, v, of=of: layers.matmul(of, x, v), inputs)


@case("opcheck: of the registered operators")
def _():
    a = random_matrix(9, 6, density=0.4)
    pattern = layers.Pattern(csr_tensor(a))
    rest = pattern._number, 0, 9, 6
    with Plan(MPI.COMM_SELF, a, device=DEVICE) as plan:
        for values in (tensor(a.data), tensor(a.data, False)):
            opcheck(torch.ops.spmm_mpi.multiply.default, (values, tensor(random_x(6, 3)), *rest, 0, False))
            opcheck(torch.ops.spmm_mpi.multiply.default, (values, tensor(random_x(9, 3)), *rest, 1, False))
        opcheck(torch.ops.spmm_mpi.multiply.default, (None, tensor(random_x(6, 3)), plan._number, plan._version, 9, 6, 0, False))
        opcheck(torch.ops.spmm_mpi.values_gradient.default, (tensor(random_x(9, 3)), tensor(random_x(6, 3)), pattern._number, 9, 6, a.nnz))
        opcheck(torch.ops.spmm_mpi.linear.default, (tensor(random_x(9, 3)), tensor(random_x(3, 2)), plan._number))
        opcheck(torch.ops.spmm_mpi.weights_gradient.default, (tensor(random_x(9, 3), False), tensor(random_x(9, 2), False), plan._number))


@case("sparse tensors of each layout have the gradients of a dense one, and one pattern as long as they live")
def _():
    a, x = random_matrix(11, 7, density=0.4), random_x(7, 3)
    twice = torch.sparse_coo_tensor([[0, 0, 3], [1, 1, 2]], [1.0, 2.0, 5.0], (11, 7), dtype=torch.float64, device=DEVICE)
    for make in (csr_tensor, lambda a: csr_tensor(a).to_sparse_csc(), lambda a: csr_tensor(a).to_sparse_coo().coalesce(), lambda a: twice):
        form = make(a).detach().requires_grad_()
        dense, whole = form.detach().to_dense().requires_grad_(), tensor(x)
        (torch.tanh(dense @ whole) ** 2).sum().backward()
        mine = tensor(x)
        for product in range(3):
            of_form, of_x = torch.autograd.grad((torch.tanh(layers.matmul(form, mine)) ** 2).sum(), (form, mine))
            alike(of_x, whole.grad)
            # (places without an entry have no gradient)
            alike(of_form.to_dense(), dense.grad * (form.detach().to_dense() != 0))
        alike(layers.matmul(form.detach(), tensor(x, False)), form.detach().to_dense() @ tensor(x, False))
        assert sum(kept[0]() is form for kept in layers.kept.values()) == 1
    del form, product
    index, weights = edges_of(a)
    alike(layers.matmul(index, tensor(x), weights, shape=(11, 7)), torch.tensor(a @ x))
    index[:, 0] = index[:, 1]  # (another pattern)
    changed = scipy.sparse.coo_matrix((weights.detach().cpu().numpy(), index.flip(0).cpu().numpy()), shape=(11, 7))
    alike(layers.matmul(index, tensor(x), weights, shape=(11, 7)), torch.tensor(changed @ x))
    before = len(layers.kept)
    del index
    assert len(layers.kept) == before - 1
    ones = layers.matmul(layers.Pattern(csr_tensor(a)), tensor(x))
    alike(ones, torch.tensor((a != 0) @ x))


@case("PyTorch notices values that are changed before backward()")
def _():
    a = random_matrix(11, 7, density=0.4)
    pattern, values = layers.Pattern(csr_tensor(a)), tensor(a.data)
    late = layers.matmul(pattern, tensor(random_x(7, 2)), values).sum()
    with torch.no_grad():
        values *= 2
    refused(RuntimeError, "modified by an inplace operation", late.backward)
    alike(layers.matmul(pattern, tensor(np.eye(7)), values), torch.tensor(2 * a.toarray()))


@case("two products of a pattern with other values each have their own gradients, in any order")
def _():
    a, x = random_matrix(11, 7, density=0.4), tensor(random_x(7, 2))
    pattern = layers.Pattern(csr_tensor(a))
    values = tensor(a.data), tensor(3 * a.data)
    products = [layers.matmul(pattern, x, v) for v in values]
    for product, factor in zip(products, (1, 3)):
        gradient, = torch.autograd.grad(product.sum(), x)
        alike(gradient, torch.tensor(factor * (a.T @ np.ones((11, 2)))))


@case("the values of a sparse tensor are new ones if they change by any tensor of their memory")
def _():
    a, x = random_matrix(11, 7, density=0.4), tensor(random_x(7, 2), False)
    values = tensor(a.data, False)
    A = torch.sparse_csr_tensor(torch.tensor(a.indptr, device=DEVICE), torch.tensor(a.indices, device=DEVICE), values, size=a.shape)
    for factor in (1, 1, 3, 6):
        values.copy_(torch.tensor(factor * a.data))
        alike(layers.matmul(A, x), torch.tensor(factor * (a @ random_x(7, 2))))


@case("a batch is a wider X; the bits are the same 100 times")
def _():
    a, x = random_matrix(50, 40, density=0.3), tensor(random_x(40, 6).reshape(40, 2, 3).transpose(1, 0, 2).copy())
    pattern, values = layers.Pattern(csr_tensor(a)), tensor(a.data)
    bits, taken = set(), []
    update, Plan.update_values = Plan.update_values, lambda plan, new: taken.append(plan) or update(plan, new)
    for repetition in range(100):
        x.grad = values.grad = None
        y = layers.matmul(pattern, x, values)
        (y ** 2).sum().backward()
        bits.add(b"".join(t.detach().cpu().numpy().tobytes() for t in (y, x.grad, values.grad)))
    Plan.update_values = update
    assert len(bits) == 1
    assert len(taken) == 99, f"a product takes new values, its gradients have them: {len(taken)}"
    alike(y, torch.tensor(a.toarray()) @ x.detach().cpu())
    assert layers.matmul(pattern, x[None], values).shape == (1, 2, 50, 3)


# ---- torch.compile and torch.func ----

@case("torch.compile traces forward and backward without a graph break, and a K that changes once more")
def _():
    a = random_matrix(30, 30, density=0.3)
    pattern, index = layers.Pattern(csr_tensor(a)), edges_of(a)[0]
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    with Plan(MPI.COMM_SELF, a, device=DEVICE) as plan:
        def network(x, values):
            return torch.relu(layers.matmul(plan, layers.matmul(pattern, x, values), symmetric=False)).square().sum()
        compiled = torch.compile(network, fullgraph=True, backend=counter)
        for k in (3, 5, 8, 9):
            (x, values), (mine, own) = ((tensor(random_x(30, k)), tensor(a.data)) for _ in range(2))
            network(x, values).backward()
            compiled(mine, own).backward()
            assert torch.equal(mine.grad, x.grad) and torch.equal(own.grad, values.grad)
        assert counter.frame_count <= 2, counter.frame_count
        plan.update_values(2 * a.data)
        assert torch.equal(compiled(mine, own), network(mine, own)), "new values"
        late = compiled(mine, own)
        plan.update_values(a.data)
        refused(Error, "the plan has new values since", late.backward)
        if DEVICE == "cpu":  # compiled code calls these between its parts
            y = torch.compile(lambda z: matmul(a, z) * 2, backend="eager")(mine.detach())
            alike(y, torch.tensor(2 * (a @ mine.detach().numpy())))
            y = torch.compile(lambda z: (plan @ z) * 2, backend="eager")(mine.detach())
            alike(y, torch.tensor(2 * (a @ mine.detach().numpy())))
    for wrong in (lambda x: layers.matmul(index, x), torch.func.vmap(lambda x: layers.matmul(pattern, x))):
        refused(torch._dynamo.exc.Unsupported, "spmm_mpi.torch", torch.compile(wrong, fullgraph=True, backend="eager"), torch.ones(2, 30, 3, dtype=torch.float64, device=DEVICE))


@case("under autocast an X of 16 bits is converted, compiled or not")
def _():
    a, x, w = random_matrix(30, 30, density=0.3), tensor(random_x(30, 5).astype(np.float32)), tensor(random_x(5, 4).astype(np.float32))
    pattern, values = layers.Pattern(csr_tensor(a)), tensor(a.data.astype(np.float32))
    for run in (lambda f: f, lambda f: torch.compile(f, fullgraph=True, backend="aot_eager")):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            y = run(lambda x, w, values: layers.matmul(pattern, x @ w, values))(x, w, values)
        y.sum().backward()
        alike(y, torch.tensor(a.toarray()).float() @ (x @ w).bfloat16().float().cpu(), 0.1)


@case("torch.func: grad, vmap, jvp and jacobians of X and of values")
def _():
    a, x = random_matrix(9, 6, density=0.4), tensor(random_x(6, 3), False)
    pattern, values, dense = layers.Pattern(csr_tensor(a)), tensor(a.data, False), tensor(a.toarray(), False)
    rows, cols = (torch.tensor(part, device=DEVICE).long() for part in scipy.sparse.csr_matrix(a).nonzero())

    def of(x, values):
        return torch.tanh(layers.matmul(pattern, x, values))

    def expected(x, values):
        return torch.tanh(torch.zeros_like(dense).index_put((rows, cols), values) @ x)

    def both(transform, *inputs):
        found, right = transform(of)(*inputs), transform(expected)(*inputs)
        for one, other in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(right)):
            alike(one, other)

    both(lambda f: torch.func.grad(lambda x, v: f(x, v).sum(), (0, 1)), x, values)
    both(lambda f: lambda x, v: torch.func.jvp(f, (x, v), (2 * x, 3 * v)), x, values)
    both(lambda f: torch.func.jacrev(f, (0, 1)), x, values)
    both(lambda f: torch.func.jacfwd(f, (0, 1)), x, values)
    both(lambda f: torch.func.hessian(lambda x, v: f(x, v).sum(), (0, 1)), x, values)
    for dims in ((2, None), (None, 0), (1, 0)):
        batched = [t if dim is None else torch.stack([t, 2 * t, 3 * t], dim) for t, dim in zip((x, values), dims)]
        both(lambda f, dims=dims: torch.func.vmap(f, dims), *batched)


# ---- over ranks ----

@case("each rank has the gradient of its values, with its rows of the halo")
def _():
    for shape in ((60, 60), (50, 30)):
        for dtype, bound in ((np.float64, 1e-11), (np.float32, 1e-3)):
            a, x = random_matrix(*shape, density=0.2).astype(dtype), random_x(shape[1], 5, dtype)
            dense, whole = tensor(a.toarray()), tensor(x)
            (torch.tanh(dense @ whole) ** 2).sum().backward()
            with Plan(comm, on_root(a), device=DEVICE) as plan:
                own, block = tensor(2 * plan.block().data), plan.block().tocoo()
                mine = tensor(x[plan.x_range])
                layers.matmul(plan, mine).sum().backward()
                mine.grad = None
                (torch.tanh(layers.matmul(plan, mine, own / 2)) ** 2).sum().backward()
                alike(mine.grad, whole.grad[plan.x_range], bound)
                expected = dense.grad[plan.y_range][block.row, block.col] / 2
                alike(own.grad, expected, bound)


@case("values that are wrong on one rank are refused on all")
def _():
    a, x = random_matrix(40, 40, density=0.3), random_x(40, 3)
    with Plan(comm, on_root(a), device=DEVICE) as plan:
        mine, own = tensor(x[plan.x_range]), tensor(plan.block().data)
        wrong = own[1:] if comm.rank == comm.size - 1 else own
        refused(ValueError, "one for each entry of block()", layers.matmul, plan, mine, wrong)
        last = comm.rank == comm.size - 1
        refused(TypeError if last else Error, "X", layers.matmul, plan, mine.bfloat16() if last else mine, own)
        alike(layers.matmul(plan, mine, own), torch.tensor(a @ x)[plan.y_range])


@case("torch.distributed has the ranks of the plan; under torchrun a plan over ranks is refused")
def _():
    layers.init_process_group(comm, "gloo")
    total = torch.full((3,), float(comm.rank))
    torch.distributed.all_reduce(total)
    assert total.tolist() == [sum(range(comm.size))] * 3 and torch.distributed.get_rank() == comm.rank
    torch.distributed.destroy_process_group()
    if comm.size == 1:
        os.environ.update(TORCHELASTIC_RUN_ID="1", WORLD_SIZE="2")
        try:
            for made in (lambda: layers.init_process_group(comm, "gloo"), lambda: Plan(comm, scipy.sparse.identity(3, format="csr"))):
                refused(Error, "mpirun -np 2 python", made)
            Plan(MPI.COMM_SELF, scipy.sparse.identity(3, format="csr")).close()
        finally:
            del os.environ["TORCHELASTIC_RUN_ID"], os.environ["WORLD_SIZE"]


@case("what is no pattern is refused")
def _():
    a = random_matrix(9, 6, density=0.4)
    pattern, x = layers.Pattern(csr_tensor(a)), tensor(random_x(6, 2))
    for wrong in (torch.ones(3, 3), torch.ones(2, 3), torch.ones(3, dtype=torch.int64)):
        refused(TypeError, "the edge_index of a graph, [2, entries] of int64", layers.Pattern, wrong)
    refused(ValueError, "edge_index has a row outside 0 to 2", layers.Pattern, torch.tensor([[0, 1], [1, 3]]), (3, 3))
    refused(ValueError, "edge_index has a column outside 0 to 1", layers.Pattern, torch.tensor([[-1, 1], [1, 0]]))
    refused(TypeError, "expected one matrix", layers.Pattern, torch.ones(2, 3, 3).to_sparse_csr())
    refused(TypeError, "A.to_sparse_csr()", layers.Pattern, torch.eye(4).to_sparse_bsr((2, 2)))
    refused(ValueError, "leave shape out", layers.Pattern, csr_tensor(a), (6, 9))
    refused(ValueError, "X has the shape [5, 2], expected [6, K] or [6]", layers.matmul, pattern, x[:5])
    refused(TypeError, f"expected [{a.nnz}] of float64 or float32", layers.matmul, pattern, x, tensor(a.data[1:]))
    refused(TypeError, "X is float64, and A is float32, expected the same: X.to(torch.float32)", layers.matmul, pattern, x, tensor(a.data).float())
    refused(TypeError, "a sparse tensor, which has its own values", layers.matmul, csr_tensor(a), x, tensor(a.data))
    number, empty = pattern._number, layers.Pattern(torch.empty(2, 0, dtype=torch.int64, device=DEVICE), (9, 6))
    alike(layers.matmul(empty, x), torch.zeros(9, 2))
    values = tensor(a.data)
    none = layers.matmul(pattern, x[:, :0], values)
    none.sum().backward()
    assert none.shape == (9, 0) and not values.grad.any()
    del pattern
    refused(Error, "no longer exists", torch.ops.spmm_mpi.multiply, None, x, number, 0, 9, 6, 0, False)


run_all()
