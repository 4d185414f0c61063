"""Cases of the installed wheel, run by tests/test_wheel.py with the Python that it is installed in: python wheel_cases.py CASE."""
import ctypes
import os
import re
import sys

import numpy as np
import scipy.sparse


def loaded_openmp():
    """The files of GCC's OpenMP runtime that are mapped in this process."""
    with open("/proc/self/maps") as maps:
        return sorted({m[1] for m in (re.search(r"(/\S*libgomp\S*)", line) for line in maps) if m})


def data():
    rng = np.random.default_rng(1)
    return scipy.sparse.random(700, 500, 0.02, format="csr", random_state=2), rng.standard_normal((500, 8)), rng.standard_normal((700, 3))


def multiply(comm=()):
    import spmm_mpi
    a, x, z = data()
    with spmm_mpi.Plan(*comm, a) as plan:
        assert np.abs(plan @ x - a @ x).max() < 1e-12
        assert np.abs(plan @ x[:, 0] - a @ x[:, 0]).max() < 1e-12
        assert np.abs(plan.T @ z - a.T @ z).max() < 1e-12
        plan.update_values(2 * a)
        assert np.abs(plan @ x - 2 * (a @ x)).max() < 1e-12
        assert plan.comm.size == 1 and np.abs(spmm_mpi.dot(plan.comm, x) - x.T @ x).max() < 1e-12
        assert "500" in plan.view()
    return spmm_mpi


def alone():
    sys.modules["mpi4py"] = None  # importing it then fails
    print(multiply().library_path())


def openmp():
    multiply()
    print(*loaded_openmp())


def bundled_openmp():
    """The wheel's own OpenMP runtime is used if the system has none."""
    opened = ctypes.CDLL

    def none_of_the_system(name, *rest, **named):
        if name == "libgomp.so.1":
            raise OSError("there is none")
        return opened(name, *rest, **named)
    ctypes.CDLL = none_of_the_system
    multiply()
    print(*loaded_openmp())


def forked():
    spmm_mpi = multiply()
    child = os.fork()
    if child == 0:
        try:
            multiply()
        except spmm_mpi.Error as error:
            os._exit(0 if error.status is spmm_mpi.Status.USAGE else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    multiply()


def torch_first():
    import torch
    before = torch.ones(300, 300) @ torch.ones(300, 300)
    multiply()
    assert bool((torch.ones(300, 300) @ torch.ones(300, 300) == before).all())


def torch_last():
    multiply()
    torch_first()


def mpi():
    from mpi4py import MPI
    multiply((MPI.COMM_WORLD,))
    multiply((None,))


def ranks():
    from mpi4py import MPI
    import spmm_mpi
    a, x, z = data()
    comm, one = MPI.COMM_WORLD, slice(None)
    for more in ({}, {"exchange": "bcast"}, {"rows": "distributed"}):
        part = slice(700 * comm.rank // comm.size, 700 * (comm.rank + 1) // comm.size) if more.get("rows") else one
        with spmm_mpi.Plan(comm, a[part] if comm.rank == 0 or part != one else None, **more) as plan:
            assert np.abs(plan @ x[plan.x_range] - (a @ x)[plan.y_range]).max() < 1e-12
            assert np.abs(plan.T @ z[plan.y_range] - (a.T @ z)[plan.x_range]).max() < 1e-12
            assert np.abs(spmm_mpi.dot(comm, x[plan.x_range]) - x.T @ x).max() < 1e-12
    assert np.abs(spmm_mpi.matmul(a, x) - a @ x).max() < 1e-12
    print(spmm_mpi.library_path() + "\n", end="", flush=True)


def mpi_last():
    import spmm_mpi
    a, x, _ = data()
    spmm_mpi.matmul(a, x)
    mpi()


def wrong():
    import spmm_mpi
    try:
        spmm_mpi.Plan(3, data()[0])
    except TypeError as error:
        print(error)


getattr(sys.modules[__name__], sys.argv[1])()
