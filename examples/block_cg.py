"""Block conjugate gradients: A X = B for K right-hand sides and a symmetric positive definite A, on any MPI ranks.

    mpirun -np 4 python block_cg.py [MATRIX.mtx[.gz] or lap2d:N [K [TOLERANCE [ROUNDS]]]]

It needs the package spmm_mpi (docs/PYTHON.md). Exit status: 0 if |b - A x| <= TOLERANCE |b| for each column, computed from X; 1 if not,
because A is not definite or ROUNDS is too small. The method (O'Leary, Linear Algebra Appl. 29, 1980) minimizes over the Krylov spaces of all
columns together. Residuals are kept as Q C with orthonormal Q (Dubrulle, ETNA 12, 2001), from which dependent columns are dropped. Blocks
thus become narrower; the plan accepts any number of columns. To show this, the last right-hand side equals the first. When Q C is small, or
Q has no columns left, the method restarts from the true residual."""
import sys

import numpy as np
import scipy.io
import scipy.sparse
from mpi4py import MPI

import spmm_mpi

comm = MPI.COMM_WORLD


def dot(X, Y=None):
    G = spmm_mpi.dot(comm, X, Y)  # with the same bits on every rank, so all ranks decide alike:
    if not np.isfinite(G).all():
        raise ArithmeticError("infinite or undefined numbers: A or B contains some, or its numbers are too large")
    return G


def small(function, *matrices):
    """function(*matrices), computed on rank 0 alone, because LAPACK's last bits may depend on the core that it runs on."""
    return comm.bcast(function(*matrices) if comm.rank == 0 else None)


def read(name):
    """Returns the matrix on rank 0, and None on the other ranks."""
    if comm.rank:
        return None
    if name.startswith("lap2d:"):
        n = int(name[6:])
        line = scipy.sparse.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))
        return scipy.sparse.csr_matrix(scipy.sparse.kronsum(line, line))
    return scipy.sparse.csr_matrix(scipy.io.mmread(name)).astype(np.float64)


def right_hand_sides(rows, k):
    """Returns these rows of B, which are the same on any number of ranks."""
    columns = np.append(np.arange(1, k), 1)
    return np.sin(1.7 * np.outer(np.arange(rows.start, rows.stop) + 1, columns))


def factors(G):
    """(T, S): V T is orthonormal and V = V T S, up to 1e-7 of the columns' lengths, for a V with the Gram matrix G."""
    length = np.sqrt(np.diag(G))
    length[length == 0] = 1
    values, vectors = np.linalg.eigh(G / np.outer(length, length))
    keep = values > 1e-14 * len(G)
    root = np.sqrt(values[keep])
    return vectors[:, keep] / root / length[:, None], (vectors[:, keep] * root).T * length


def orthonormalize(V):
    """(Q, S): V = Q S, where Q has as many columns as V has independent ones."""
    S = np.eye(V.shape[1])
    for _ in range(2):  # the second pass removes the rounding errors of the first
        T, more = small(factors, dot(V)) if V.shape[1] else (S, S)
        S = more @ S
        V = spmm_mpi.times(V, T) if T.size else V[:, :0]
    return V, S


def inverse(G):
    """The inverse of a symmetric matrix; None if the matrix is not positive definite."""
    values, vectors = np.linalg.eigh(G)
    return (vectors / values) @ vectors.T if values[0] > 0 else None


def solve(plan, B, tolerance, rounds):
    """(X, rounds that were used, the largest ratio of the norms of columns of the residual to those of B)."""
    X, Q, norms = np.zeros_like(B), B[:, :0], spmm_mpi.norms(comm, B)
    norms[norms == 0] = 1
    for used in range(rounds + 1):
        if not Q.shape[1]:  # start, or restart, from the true residual
            R = B - plan @ X
            residual = (spmm_mpi.norms(comm, R) / norms).max()
            if residual <= tolerance or used == rounds:
                break
            Q, C = orthonormalize(R)
            P = Q
        AP = plan @ P
        G = small(inverse, dot(P, AP))
        if G is None:
            break
        X += P @ (G @ C)
        Q, S = orthonormalize(Q - AP @ G)
        P = Q + P @ S.T
        C = S @ C
        if (np.linalg.norm(C, axis=0) / norms).max() <= tolerance or used == rounds - 1:
            Q = Q[:, :0]
    return X, used, (spmm_mpi.norms(comm, B - plan @ X) / norms).max()


def main():
    name, k, tolerance, rounds = (sys.argv[1:] + ["lap2d:40", "8", "1e-10", "1000"][len(sys.argv) - 1:])[:4]
    with spmm_mpi.Plan(comm, read(name)) as plan:
        if plan.shape[0] != plan.shape[1]:
            raise SystemExit(f"the matrix is {plan.shape[0]} x {plan.shape[1]}, expected a square one")
        B = right_hand_sides(plan.x_range, int(k))
        X, used, residual = solve(plan, B, float(tolerance), int(rounds))
        good = residual <= float(tolerance)
        if comm.rank == 0:
            print(f"{name}, K = {k}: {'' if good else 'NOT '}converged in {used} rounds, residual {residual:.2e}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
