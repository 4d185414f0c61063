"""The largest eigenvalues of a symmetric matrix by SciPy's LOBPCG, with the products on all MPI ranks by libspmm.

    mpirun -np 4 python lobpcg_scipy.py [MATRIX.mtx[.gz] [EIGENVALUES [TOLERANCE]]]

It needs the package spmm_mpi (docs/PYTHON.md). SciPy's solver runs on rank 0 with a LinearOperator, whose matmat() scatters
the rows of X to the ranks and gathers the rows of Y; the other ranks only multiply. K changes during the run as columns converge,
so the plan is made without k. Rank 0 compares the result with that of SciPy's solver with SciPy's products. Exit status: 0 if
both agree, 1 if not."""
import pathlib
import sys

import numpy as np
import scipy.io
import scipy.sparse
from mpi4py import MPI
from scipy.sparse.linalg import LinearOperator, lobpcg

import spmm_mpi

MATRIX = pathlib.Path(__file__).resolve().parent.parent / "matrices/bcsstk16.mtx.gz"


class Products:
    """A, distributed: multiply() on rank 0 is served by serve() on the others."""

    def __init__(self, comm, a):
        self.comm, self.plan = comm, spmm_mpi.Plan(comm, a)
        self.x_rows = comm.gather(self.plan.x_range.stop - self.plan.x_range.start)
        self.y_rows = comm.gather(self.plan.y_range.stop - self.plan.y_range.start)
        self.count = 0

    def distributed(self, k, x=None):
        """One product of K columns. Collective; x and the result are those of rank 0."""
        mine = np.empty((self.plan.x_range.stop - self.plan.x_range.start, k))
        here = self.comm.rank == 0
        self.comm.Scatterv([x, [k * rows for rows in self.x_rows]] if here else None, mine)
        part = self.plan @ mine
        y = np.empty((self.plan.shape[0], k)) if here else None
        self.comm.Gatherv(part, [y, [k * rows for rows in self.y_rows]] if here else None)
        return y

    def multiply(self, x):
        """On rank 0: returns A X; X is [n, K] or a vector."""
        x2 = np.ascontiguousarray(x.reshape(len(x), -1), np.float64)
        self.count += 1
        self.comm.bcast(x2.shape[1])
        return self.distributed(x2.shape[1], x2).reshape(x.shape)

    def serve(self):
        """On the other ranks: multiplies until rank 0 calls stop()."""
        while True:
            k = self.comm.bcast(None)
            if k is None:
                return
            self.distributed(k)

    def stop(self):
        self.comm.bcast(None)


def main():
    comm = MPI.COMM_WORLD
    path = sys.argv[1] if len(sys.argv) > 1 else str(MATRIX)
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-6
    a = scipy.sparse.csr_matrix(scipy.io.mmread(path)).astype(np.float64) if comm.rank == 0 else None
    products = Products(comm, a)
    agree = True
    if comm.rank == 0:
        try:
            agree = solve(a, products, wanted, tolerance)
        finally:
            products.stop()
    else:
        products.serve()
    agree = comm.bcast(agree)
    products.plan.close()
    return 0 if agree else 1


def solve(a, products, wanted, tolerance):
    """On rank 0: solves with the ranks' products and with SciPy's own. Returns whether both find the same eigenvalues."""
    start = np.random.default_rng(1).standard_normal((a.shape[0], wanted))
    scale = abs(a).sum(axis=1).max()  # no eigenvalue is larger
    operator = LinearOperator(a.shape, matvec=products.multiply, matmat=products.multiply, dtype=a.dtype)
    found = [lobpcg(by, start.copy(), tol=tolerance * scale, maxiter=500, largest=True) for by in (operator, a)]
    print(f"{a.shape[0]} x {a.shape[1]}, {a.nnz} entries, {products.comm.size} ranks, {products.count} products "
          f"of K = {', '.join(map(str, sorted(products.plan.kernels)))}")
    for ours, scipys in zip(found[0][0], found[1][0]):
        print(f"  {ours:.10e}  SciPy alone {scipys:.10e}")
    residual = np.linalg.norm(a @ found[0][1] - found[0][1] * found[0][0], axis=0).max()
    apart = abs(found[0][0] - found[1][0]).max()
    print(f"largest residual {residual:.1e}, eigenvalues apart by {apart:.1e}, with tolerance {tolerance * scale:.1e}")
    good = residual <= 2 * tolerance * scale and apart <= tolerance * scale
    print("both agree" if good else "they do NOT agree")
    return good


if __name__ == "__main__":
    sys.exit(main())
