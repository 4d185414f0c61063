"""Distributed sparse-matrix x multivector products Y := alpha A X + beta Y by libspmm, on mpi4py's
communicators.

    from mpi4py import MPI
    import spmm_mpi

    with spmm_mpi.Plan(MPI.COMM_WORLD, A if rank == 0 else None, k=8) as plan:
        Y = plan @ X[plan.x_range]          # this rank's rows of X and of Y

With a libspmm that was built without MPI (make MPI=0), Plan(A, k=8) is a plan of this process alone, and
mpi4py is not needed. The wheel uses such a libspmm, unless the program imports mpi4py.MPI of MPICH or Intel
MPI before the first call.

A is a sparse matrix [m, n] of SciPy, whole on rank 0 or by rows on all ranks. X [n, K] and Y [m, K] are
distributed by rows; a rank passes and receives its owned rows, as arrays of NumPy or, with device="cuda", of
CuPy or PyTorch. Errors are spmm_mpi.Error, TypeError and ValueError. help(Plan) has the details.
docs/PYTHON.md in the sources has the costs.

matmul(A, X) is a product in this process alone. plan.operator() makes a SciPy LinearOperator whose products
all ranks compute. spmm_mpi.torch has products that PyTorch differentiates.

read(path) returns the matrix of a file. Block solvers need more operations between products, on the same
arrays: dot(comm, X, Y), norms(comm, X), times(X, R), axpby(alpha, X, beta, out), scale(factor, X),
scale_rows(d, X).
"""
from ._arrays import DeviceArray
from ._library import Error, Status, device_open, library_path
from ._matmul import matmul
from ._multivectors import axpby, dot, norms, scale, scale_rows, times
from ._plan import Plan
from ._read import read
from ._version import VERSION as __version__

__all__ = ["DeviceArray", "Error", "Plan", "Status", "__version__", "axpby", "device_open", "dot", "library_path", "matmul", "norms", "read", "scale",
           "scale_rows", "times"]
