"""Communicators where callers name none, and where libspmm has no MPI (make MPI=0, the wheel)."""
import sys

from . import _library as c


class OneRank:
    """The communicator of a process that has no MPI: what the package calls of mpi4py's, on one rank."""
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
    """MPI.COMM_WORLD of mpi4py; OneRank where libspmm has no MPI. Raises Error."""
    if c.without_mpi():
        return OneRank()
    from mpi4py import MPI
    return MPI.COMM_WORLD


def own():
    """A communicator of this process alone. Raises Error."""
    if c.without_mpi():
        return OneRank()
    from mpi4py import MPI
    return MPI.COMM_SELF


def maximum():
    """MPI.MAX of mpi4py; None where libspmm has no MPI."""
    if c.without_mpi():
        return None
    from mpi4py import MPI
    return MPI.MAX


def one_rank(comm):
    """What stands for a communicator where libspmm has no MPI; one of mpi4py may have one rank. TypeError, Error."""
    if comm is None or isinstance(comm, OneRank):
        return OneRank()
    MPI = sys.modules.get("mpi4py.MPI")
    if MPI is None or not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm is a {type(comm).__name__}, and {c.library_path()} is for one process without an MPI: expected Plan(A), or "
                        f"None in place of comm")
    if comm.size != 1:
        raise c.Error(f"comm has {comm.size} ranks, and {c.library_path()} is for one process (make MPI=0): expected a libspmm of mpi4py's "
                      f"MPI, {c.HOW}", c.Status.USAGE)
    return OneRank()
