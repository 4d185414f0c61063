"""Shared by the cases of the Python package, under mpirun: a case runs on all ranks, and passes if it does on all."""
import importlib
import os
import sys
import threading
import traceback

import numpy as np
import scipy.sparse
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
cases = []


class Skipped(Exception):
    pass


def case(sentence):
    def add(function):
        cases.append((sentence, function))
        return function
    return add


def run_all():
    """Runs the cases in their order, prints a line for each, and ends the program."""
    failed = False
    for sentence, function in cases:
        why = ""
        try:
            function()
        except Skipped as skipped:
            why = f"SKIP {skipped}"
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)
            line = [frame.lineno for frame in where if os.path.abspath(frame.filename) == os.path.abspath(sys.argv[0])][-1]
            why = f"rank {rank}, line {line}: {type(error).__name__}: {error}"
        said = comm.gather(why)
        if rank == 0:
            wrong = [text for text in said if text]
            if wrong and wrong[0].startswith("SKIP"):
                print(f"SKIP {sentence}: {wrong[0][5:]}", flush=True)
                continue
            for text in wrong:
                print(f"  {text}", flush=True)
            print("FAIL" if wrong else "PASS", f"{sentence} ({ranks} rank{'s' * (ranks > 1)})", flush=True)
            failed = failed or bool(wrong)
    sys.exit(failed)


def module(name):
    """The imported module; the case is skipped if this Python has none of that name."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skipped(str(error)) from None


def in_threads(function, numbers, times=1):
    """Calls function(i) `times` times for each i of numbers, in a thread for each, and raises the exception of one of them."""
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        raise Skipped("mpi4py has no MPI_THREAD_MULTIPLE")
    raised = []

    def work(i):
        try:
            for _ in range(times):
                function(i)
        except BaseException as error:
            raised.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def refused(kind, part, call, *arguments, **keywords):
    """Checks that the call raises exactly that kind of exception, with that part in its text. Returns it."""
    try:
        call(*arguments, **keywords)
    except Exception as error:
        assert type(error) is kind, f"{type(error).__name__}: {error}, expected {kind.__name__}"
        assert part in str(error), f"{str(error)!r} is without {part!r}"
        return error
    raise AssertionError(f"not refused: expected {kind.__name__} with {part!r}")


def random_matrix(rows, cols, dtype=np.float64, density=0.1, seed=1):
    a = scipy.sparse.random(rows, cols, density, format="csr", random_state=seed, dtype=np.float64)
    a.data -= 0.5
    return a.astype(dtype)


def random_x(rows, k, dtype=np.float64, seed=2):
    return np.random.default_rng(seed).uniform(-1, 1, (rows, k)).astype(dtype)


def on_root(a):
    return a if rank == 0 else None


def rows_of(n, part=None):
    part = rank if part is None else part
    return slice(n * part // ranks, n * (part + 1) // ranks)


def near(found, expected, what=""):
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, expected {expected.dtype}"
    bound = 1e-12 if expected.dtype == np.float64 else 1e-4
    worst = abs(found - expected).max(initial=0)
    assert worst <= bound, f"{what}: off by {worst}"


A = random_matrix(90, 90)
X = random_x(90, 4)
