"""The lowest energies of an electron on a disordered square lattice in a magnetic field (tight binding): eigenvalues of a Hermitian
matrix by SciPy's eigsh, with the products on all MPI ranks by libspmm.

    mpirun -np 4 python tight_binding.py [SIDE [FLUX [EIGENVALUES]]]

It needs the package spmm_mpi (docs/PYTHON.md). The matrix has an entry -1 for each step to a neighbor along y, and
-exp(+-2 pi i FLUX y) for one along x; FLUX is the number of flux quanta per cell. The diagonal is random, from -2 to 2. Rank 0
compares the energies with those of SciPy's own products. Exit status: 0 if both agree, 1 if not."""
import sys

import numpy as np
import scipy.sparse
from mpi4py import MPI
from scipy.sparse.linalg import eigsh

import spmm_mpi


def hamiltonian(side, flux):
    """The matrix [side^2, side^2] of an open lattice; point (x, y) has the number x * side + y."""
    step = scipy.sparse.eye_array(side, k=1) if hasattr(scipy.sparse, "eye_array") else scipy.sparse.eye(side, k=1)
    along_y = scipy.sparse.kron(scipy.sparse.eye(side), step)
    along_x = scipy.sparse.kron(step, scipy.sparse.diags(np.exp(2j * np.pi * flux * np.arange(side))))
    forward = along_x + along_y
    disorder = scipy.sparse.diags(np.random.default_rng(1).uniform(-2, 2, side * side))
    return (disorder - forward - forward.conj().T).tocsr()


def main():
    comm = MPI.COMM_WORLD
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    flux = float(sys.argv[2]) if len(sys.argv) > 2 else 1 / 8
    wanted = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    h = hamiltonian(side, flux) if comm.rank == 0 else None
    agree = True
    with spmm_mpi.Plan(comm, h) as plan, plan.operator() as op:
        if op is not None:  # rank 0; the others multiply
            start = np.random.default_rng(0).random(h.shape[0]) + 0j
            energies, states = eigsh(op, wanted, which="SA", v0=start)
            expected = eigsh(h, wanted, which="SA", v0=start, return_eigenvectors=False)
            error = abs(np.sort(energies) - np.sort(expected)).max()
            residual = np.linalg.norm(h @ states - states * energies, axis=0).max()
            agree = bool(error < 1e-9 and residual < 1e-7)
            print(f"{side} x {side} points, flux {flux:g}, {plan.dtype} on {comm.size} ranks: energies "
                  f"{' '.join(f'{energy:.9f}' for energy in np.sort(energies))}; SciPy's differ by {error:.1e}, residual {residual:.1e}")
    return 0 if comm.bcast(agree) else 1


sys.exit(main())
