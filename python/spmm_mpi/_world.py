"""Communicators for callers that pass none, and for a libspmm that was built without MPI (make MPI=0, the
wheel)."""
import os
import sys

from . import _library as c


class OneRank:
    """A communicator of one rank, for a process without MPI. It has the methods of mpi4py's that this package
    calls."""
    rank, size = 0, 1

    def Dup(self):
        return self

    def Free(self):
        pass

    def Barrier(self):
        pass

    def allgather(self, value):
        return [value]

    def allreduce(self, value, op=None):
        return value

    def bcast(self, value, root=0):
        return value

    def Allreduce(self, mine, everyones, op=None):
        everyones[...] = mine


def world():
    """Returns MPI.COMM_WORLD of mpi4py; a OneRank if libspmm has no MPI. Raises Error."""
    if c.without_mpi():
        return OneRank()
    from mpi4py import MPI
    return MPI.COMM_WORLD


def own():
    """Returns a communicator of this process alone. Raises Error."""
    if c.without_mpi():
        return OneRank()
    from mpi4py import MPI
    return MPI.COMM_SELF


def maximum():
    """Returns MPI.MAX of mpi4py; None if libspmm has no MPI."""
    if c.without_mpi():
        return None
    from mpi4py import MPI
    return MPI.MAX


def one_rank(comm):
    """Returns the OneRank that replaces comm if libspmm has no MPI. A communicator of mpi4py must have one
    rank. Raises TypeError, Error."""
    if comm is None or isinstance(comm, OneRank):
        return OneRank()
    MPI = sys.modules.get("mpi4py.MPI")
    if MPI is None or not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm is a {type(comm).__name__}, and {c.library_path()} was built without MPI (make MPI=0): expected Plan(A) or "
                        f"Plan(A, k=..), or None as comm")
    if comm.size != 1:
        expected = f"a libspmm built with mpi4py's MPI, {c.HOW}"
        if os.path.dirname(c.library_path()) == c.BUNDLED:
            expected = ("mpi4py.MPI to be imported before the first call of spmm_mpi" if c.has_mpich() else
                        f"MPICH or Intel MPI (pip install mpi4py mpich), or {expected}")
        raise c.Error(f"comm has {comm.size} ranks, but {c.library_path()} was built without MPI (make MPI=0): expected {expected}", c.Status.USAGE)
    return OneRank()
