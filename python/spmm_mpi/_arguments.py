"""Checks numbers and communicators that callers pass."""
import operator
import os

import numpy as np

from . import _library as c
from . import _world

INT_MAX, INT64_MAX = 2 ** 31 - 1, 2 ** 63 - 1


def whole_number(name, value, least, most):
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, expected a whole number")
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}, expected {least} to {most}")
    return number


def real_number(name, value):
    if type(value) in (float, int) and -INT64_MAX < value < INT64_MAX:
        return float(value)
    if isinstance(value, (str, bytes, complex, np.complexfloating)) or np.ndim(value):
        raise TypeError(f"{name} is {value!r}, expected a real number")
    try:
        return float(value)
    except OverflowError:
        raise TypeError(f"{name} is beyond the range of float64") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, expected a real number") from None


def is_complex(value):
    return isinstance(value, (complex, np.complexfloating))


def complex_number(name, value):
    """Returns a float, or a complex number."""
    return complex(value) if is_complex(value) else real_number(name, value)


ABSENT = object()  # the value of an argument that was not passed


def comm_and_matrix(comm, A):
    """Returns (communicator, A) for Plan(comm, A), or for Plan(A), whose communicator is the world."""
    return (check_comm(_world.world()), comm) if A is ABSENT else (check_comm(comm), A)


def check_comm(comm):
    """Returns the communicator. If it is wrong, only this rank raises an error: without it, no other rank can
    be notified."""
    c.check_fork()
    if c.without_mpi():
        return _world.one_rank(comm)
    from mpi4py import MPI
    if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
        raise ValueError("comm is MPI.COMM_NULL, expected a communicator that this rank is in")
    if not isinstance(comm, MPI.Intracomm):
        what = "an inter-communicator" if isinstance(comm, MPI.Intercomm) else f"a {type(comm).__name__}"
        way = " (to make a plan of this matrix, call Plan(A, k=..))" if hasattr(comm, "shape") else ""
        raise TypeError(f"comm is {what}, expected a communicator of mpi4py such as MPI.COMM_WORLD{way}")
    if MPI.Is_finalized():
        raise ValueError("MPI has been finalized")
    processes = os.environ.get("WORLD_SIZE", "1")
    if "TORCHELASTIC_RUN_ID" in os.environ and comm == MPI.COMM_WORLD and processes != str(comm.size):
        raise c.Error(f"torchrun has started {processes} processes, each with its own MPI: comm has {comm.size} rank{'s' * (comm.size > 1)}, "
                      f"expected {processes}; start with mpirun -np {processes} python .., or pass MPI.COMM_SELF for a plan of this process alone", c.Status.USAGE)
    return comm
