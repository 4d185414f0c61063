"""Plans as operators of SciPy, compared with SciPy alone: run by tests/test_operator.py under mpirun."""
import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh, lobpcg, svds

from python_ranks import Skipped, case, comm, near, on_root, random_matrix, random_x, rank, ranks, refused, run_all
from spmm_mpi import Error, Plan

N = 200
LAPLACIAN = scipy.sparse.diags([-1, 2.1, -1], [-1, 0, 1], shape=(N, N), format="csr")
LARGEST = eigsh(LAPLACIAN, 3, return_eigenvectors=False)


def rank_0(function, *plans, **named):
    """Calls function(operator, ..) on rank 0, and returns its result on all ranks."""
    found = None
    with plans[0].operator(*plans[1:]) as operators:
        assert operators is None or isinstance(operators, tuple) or (rank == 0 and isinstance(operators, LinearOperator))
        if rank == 0:
            found = function(*(operators if plans[1:] else (operators,)), **named)
    return comm.bcast(found)


def within(found, expected, bound):
    assert abs(np.sort(found) - np.sort(expected)).max() <= bound, (found, expected)


@case("an operator's products by A and A^T are SciPy's, on every grid and by every way of summing")
def _():
    a = random_matrix(97, 41, density=0.3)
    x, y = random_x(97, 5), random_x(41, 5)

    def products(op):
        assert op.shape == (97, 41) and op.dtype == np.float64
        return op @ y, op @ y[:, 0], op @ y[:, :1], op.H @ x, op.rmatvec(x[:, 2]), op.T @ x, op @ y[:, :0], op @ np.asfortranarray(y), op @ (y + 2j * y)
    expected = (a @ y, a @ y[:, 0], a @ y[:, :1], a.T @ x, a.T @ x[:, 2], a.T @ x, a @ y[:, :0], a @ y, a @ (y + 2j * y))
    for grid in ((p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0):
        for reduce in ("auto", "linear", "tree", "butterfly", "mpi"):
            with Plan(comm, on_root(a), grid=grid, reduce=reduce) as plan:
                for found, right in zip(rank_0(products, plan), expected):
                    assert found.dtype == right.dtype and found.shape == right.shape
                    assert abs(found - right).max(initial=0) <= 1e-12, (grid, reduce)
    with Plan(comm, a[rank * 97 // ranks:(rank + 1) * 97 // ranks].astype(np.float32), 5, rows="distributed") as plan:
        near(rank_0(lambda op: op @ y, plan), (a @ y).astype(np.float32))


@case("eigsh, svds, lobpcg and cg find what SciPy finds alone")
def _():
    a = random_matrix(80, 50, density=0.3)
    start = random_x(N, 3)
    with Plan(comm, on_root(LAPLACIAN)) as plan, Plan(comm, on_root(a)) as other:
        within(rank_0(lambda op: eigsh(op, 3)[0], plan), LARGEST, 1e-10)
        within(rank_0(lambda op: lobpcg(op, start.copy(), tol=1e-6, maxiter=400)[0], plan), LARGEST, 1e-6)
        x, info = rank_0(lambda op: cg(op, start[:, 0]), plan)
        assert info == 0 and np.linalg.norm(LAPLACIAN @ x - start[:, 0]) <= 1e-4 * np.linalg.norm(start[:, 0])
        within(rank_0(lambda op: svds(op, 4, return_singular_vectors=False), other), svds(a, 4, return_singular_vectors=False), 1e-10)


@case("operators of several plans are used at the same time")
def _():
    mass = scipy.sparse.diags([1 / 6, 4 / 6, 1 / 6], [-1, 0, 1], shape=(N, N), format="csr")
    with Plan(comm, on_root(LAPLACIAN)) as plan, Plan(comm, on_root(mass)) as other:
        def solved(op, of_mass):
            return lobpcg(op, random_x(N, 3), B=of_mass, tol=1e-7, maxiter=400)[0]
        within(rank_0(solved, plan, other), eigsh(LAPLACIAN, 3, mass, return_eigenvectors=False), 1e-6)
        refused(TypeError, "operator: found a csr_matrix among the other plans, expected a Plan", plan.operator, mass.tocsr())


@case("an exception of rank 0 releases the others, which say so")
def _():
    with Plan(comm, on_root(LAPLACIAN)) as plan:
        def wrong(op):
            op @ np.ones(N)
            raise KeyError("mine")
        refused(*((KeyError, "mine") if rank == 0 else (Error, "rank 0 left the operator by an exception: KeyError: 'mine'")), rank_0, wrong, plan)
        kinds = (ValueError, "") if rank == 0 else (Error, "rank 0 left the operator by an exception: ValueError")
        refused(*kinds, rank_0, lambda op: op @ np.ones(3), plan)
        left = []
        rank_0(left.append, plan)
        if rank == 0:
            refused(Error, "the other ranks no longer serve this operator", left[0].matvec, np.ones(N))
        near(rank_0(lambda op: op @ np.ones(N), plan), LAPLACIAN @ np.ones(N))


@case("an exception of a rank that serves is raised on all ranks, and ends the operator")
def _():
    class Unlucky(Plan):
        def __matmul__(self, X):
            found = super().__matmul__(X)
            if rank == ranks - 1:
                raise MemoryError("bad luck")
            return found
    with Unlucky(comm, on_root(LAPLACIAN)) as plan:
        def twice(op):
            refused(MemoryError, "bad luck", op.matvec, np.ones(N))
            op.matvec(np.ones(N))
        where = f"rank {ranks - 1}: " * (ranks > 1)
        refused(*((Error, "no longer serve") if rank == 0 else (MemoryError, where + "bad luck")), rank_0, twice, plan)
    with Plan(comm, on_root(LAPLACIAN), 4) as plan:
        refused(ValueError, "X has 3 columns, and the plan was made for k = 4", rank_0, lambda op: op @ np.ones((N, 3)), plan)


@case("aslinearoperator takes a plan on one rank")
def _():
    if ranks > 1:
        with Plan(comm, on_root(LAPLACIAN)) as plan:
            for call in (plan.matvec, plan.matmat, plan.rmatvec, plan.rmatmat):
                refused(Error, f"the plan has {ranks} ranks, but this call is for plans of one rank: use plan.operator()", call, np.ones(N))
        raise Skipped("there are several")
    a, x = random_matrix(97, 41, density=0.3), random_x(41, 5)
    with Plan(comm, a) as plan:
        op = aslinearoperator(plan)
        assert op.shape == (97, 41) and op.dtype == np.float64
        for found, right in ((op @ x, a @ x), (op @ x[:, 0], a @ x[:, 0]), (op.H @ (a @ x), a.T @ (a @ x)), (op @ (1j * x), a @ (1j * x)),
                             (plan.matmat(x), a @ x), (plan.rmatmat(a @ x), a.T @ (a @ x)), (op @ np.ones(41, int), a @ np.ones(41))):
            assert found.shape == right.shape and abs(found - right).max() <= 1e-12
        within(svds(op, 4, return_singular_vectors=False), svds(a, 4, return_singular_vectors=False), 1e-10)


run_all()
