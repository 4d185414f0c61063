"""Block MINRES: (A - SHIFT) X = B for K right-hand sides and a symmetric A, definite or not, on any MPI ranks.

    mpirun -np 4 python block_minres.py [MATRIX.mtx[.gz] or lap2d:N [K [TOLERANCE [SHIFT [ROUNDS]]]]]

It needs the package spmm_mpi (docs/PYTHON.md), and block_cg.py in the same folder. Exit status: 0 if |b - (A - SHIFT) x| <= TOLERANCE |b| for
each column, computed from X; 1 if not. The method (O'Leary, Linear Algebra Appl. 29, 1980; Gutknecht and Schmelzer, Appl. Numer. Math. 58,
2008) minimizes the residuals over the Krylov spaces of all columns together. Here block Lanczos makes an orthonormal basis Q of A times
these spaces, and the same recurrence makes P = A^-1 Q. A step is then X += P Q^T R. This gives the iterates of MINRES without a
factorization of the block tridiagonal matrix. Dependent columns are dropped, so that blocks become narrower. When R is small, or Q has no
columns left, the method restarts from the true residual. In the comments, A stands for A - SHIFT."""
import sys

import numpy as np

import spmm_mpi
from block_cg import comm, dot, factors, read, right_hand_sides, small


def orthonormalize(V, U):
    """(Q, P, S): V = Q S, where Q has as many columns as V has independent ones; if Q = V T, then P = U T."""
    S = np.eye(V.shape[1])
    for _ in range(2):  # the second pass removes the rounding errors of the first
        T, more = small(factors, dot(V)) if V.shape[1] else (S, S)
        S = more @ S
        V, U = (spmm_mpi.times(V, T), spmm_mpi.times(U, T)) if T.size else (V[:, :0], U[:, :0])
    return V, U, S


def solve(multiply, B, tolerance, rounds):
    """(X, rounds that were used, the largest ratio of the norms of columns of the residual to those of B); multiply(X): A X."""
    X, Q, norms = np.zeros_like(B), B[:, :0], spmm_mpi.norms(comm, B)
    norms[norms == 0] = 1
    for used in range(rounds + 1):
        if not Q.shape[1]:  # start, or restart, from the true residual
            R = B - multiply(X)
            residual = (spmm_mpi.norms(comm, R) / norms).max()
            if residual <= tolerance or used == rounds:
                break
            Q, P, S = orthonormalize(multiply(R), R)
            if not Q.shape[1]:  # A R is 0: no X has a smaller residual
                break
            before = None
        G = dot(Q, R)
        X += P @ G
        R -= Q @ G
        W, U = multiply(Q), Q
        G = dot(Q, W)
        W, U = W - Q @ G, U - P @ G  # A U = W, orthogonal to all Q so far
        if before is not None:
            W, U = W - before[0] @ S.T, U - before[1] @ S.T
        before = Q, P
        Q, P, S = orthonormalize(W, U)
        if (spmm_mpi.norms(comm, R) / norms).max() <= tolerance or used == rounds - 1:
            Q = Q[:, :0]
    return X, used, residual


def main():
    name, k, tolerance, shift, rounds = (sys.argv[1:] + ["lap2d:30", "8", "1e-10", "1", "1000"][len(sys.argv) - 1:])[:5]
    with spmm_mpi.Plan(comm, read(name)) as plan:
        if plan.shape[0] != plan.shape[1]:
            raise SystemExit(f"the matrix is {plan.shape[0]} x {plan.shape[1]}, expected a square one")
        B = right_hand_sides(plan.x_range, int(k))
        X, used, residual = solve(lambda X: plan @ X - float(shift) * X, B, float(tolerance), int(rounds))
        good = residual <= float(tolerance)
        if comm.rank == 0:
            print(f"{name}, shift {shift}, K = {k}: {'' if good else 'NOT '}converged in {used} rounds, residual {residual:.2e}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
