"""python -m spmm_mpi: what is installed here, whether products are right, and how long they take.

    mpirun -np 4 python -m spmm_mpi

All ranks take part, rank 0 prints. Exit code 0: all products are right; 1: a product is wrong; 2: libspmm was
not found, or failed."""
import ctypes
import importlib
import os
import platform
import re
import statistics
import sys
import textwrap
import time
import warnings

import numpy as np
import scipy.sparse

from . import Error, Plan, __version__, device_open, matmul
from . import _library as c
from . import _world as world
from ._agreement import agree, attempt

TYPES = ("float64", "float32", "complex128", "complex64")
COLUMNS = 1, 3, 8, 33           # K of the checked products
MOST = 100                      # the greatest error of a right product, in units of the type's rounding
TIMED = 1, 8, 64                # K of the timed ones
SECONDS, MOST_TIMES = 0.25, 200  # for each time
SIDE = 50


class Report:
    """What rank 0 prints: lines of at most 100 columns, with a label each."""

    def __init__(self, rank):
        self.silent = rank != 0

    def say(self, label, text):
        if not self.silent:
            print("\n".join(textwrap.wrap(text, 99, initial_indent=f"{label:<15}", subsequent_indent=15 * " ", break_on_hyphens=False)), flush=True)

    def row(self, label, cells):
        self.say(label, "".join(f"{cell:>16}" for cell in cells))


def reason(error):
    """Returns why a module cannot be imported."""
    return "not installed" if isinstance(error, ModuleNotFoundError) else " ".join(str(error).split())


def module(name):
    """Returns a module, and its version or why it cannot be used."""
    try:
        found = importlib.import_module(name)
        return found, found.__version__
    except Exception as error:  # a broken package may raise anything
        return None, reason(error)


def file_of(name):
    """Returns the path of a library that the loader found by its name."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        paths = [line.split(maxsplit=5)[-1].strip() for line in maps if os.path.basename(name) in line]
    return name if os.sep in name or not paths else paths[0]


def tell_versions(report, mpi, why, comm):
    """Reports everything that products do not depend on, except the GPU."""
    lib = c.loaded()
    version = ctypes.CDLL(lib.file).spmm_version
    version.restype, version.argtypes = ctypes.c_char_p, [ctypes.c_void_p] * 3
    report.say("spmm_mpi", f"{__version__}, Python {platform.python_version()}, {platform.machine()}")
    report.say("libspmm", f"{version(None, None, None).decode()}, interface {c.INTERFACE}: {file_of(lib.file)}")
    report.say("packages", ", ".join(f"{title} {module(name)[1]}" for title, name in
                                     (("NumPy", "numpy"), ("SciPy", "scipy"), ("mpi4py", "mpi4py"), ("PyTorch", "torch"), ("CuPy", "cupy"))))
    its = " ".join(mpi.Get_library_version().rstrip("\0").splitlines()[0].split(",")[0].split()) if mpi else ""
    ranks = mpi.COMM_WORLD.size if mpi else 1
    if lib.world is None:
        report.say("MPI", f"{its}, {ranks} rank{'s' * (ranks > 1)}")
    elif ranks > 1:
        report.say("MPI", f"one process: this libspmm has no MPI, so that only rank 0 of {ranks} ranks of {its} is tested. To test all ranks, {c.HOW}")
    else:
        report.say("MPI", f"one process: this libspmm has no MPI (mpi4py: {its or why})")
    with Plan(comm, scipy.sparse.eye(2000, format="csr") if comm.rank == 0 else None, 1) as plan:
        threads = re.search(r"(\d+) threads?", plan.view() or "1 thread")[1]
    report.say("cores", f"{len(os.sched_getaffinity(0))} for rank 0, of {os.cpu_count()}; {threads} thread{'s' * (threads != '1')} per rank")


def tell_gpu(report, comm):
    """Reports the GPU of rank 0. Returns whether there is one on each rank."""
    try:
        device_open(comm)
    except Error as error:
        why = re.search(r"no usable GPU on \S+: (.*?)(;|$)", str(error))
        report.say("GPU", f"skipped: {why[1] if why else error}")
        return False
    try:
        driver, name, version = ctypes.CDLL("libcuda.so.1"), ctypes.create_string_buffer(256), ctypes.c_int()
        driver.cuDeviceGetName(name, len(name), 0)
        driver.cuDriverGetVersion(ctypes.byref(version))
        report.say("GPU", f"{name.value.decode()}, its driver has CUDA {version.value // 1000}.{version.value % 1000 // 10}")
    except OSError as error:  # a test's GPU has no driver
        report.say("GPU", f"its name: skipped: {error}")
    return True


# ---- products ----


def random_numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    made = rng.uniform(-1, 1, shape)
    return (made + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)


def matrix(dtype):
    a = scipy.sparse.random(700, 500, 0.02, format="csr", random_state=1)
    a.data = random_numbers(a.nnz, dtype, 2)
    return a


def off(found, a, x, rows=slice(None)):
    """Returns the greatest difference from SciPy's product in double precision, relative to |A| |X| in each
    element; infinity if there are NaNs."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    right, size = (a.astype(wide) @ x.astype(wide))[rows], (abs(a) @ abs(x)).astype(np.float64)[rows]
    worst = (abs(found - right) / np.maximum(size, np.finfo(np.float64).tiny)).max(initial=0)
    return float(worst) if worst == worst else np.inf


def plan_errors(comm, a, device):
    """Returns the errors of plan @ X and plan.T @ X."""
    error = [0, 0]
    with Plan(comm, a if comm.rank == 0 else None, device=device) as plan:
        for k in COLUMNS:
            x, z = random_numbers((a.shape[1], k), a.dtype, k), random_numbers((a.shape[0], k), a.dtype, k)
            error[0] = max(error[0], off(plan @ x[plan.x_range], a, x, plan.y_range))
            error[1] = max(error[1], off(plan.T @ z[plan.y_range], a.T.tocsr(), z, plan.x_range))
    return error


def matmul_errors(a, torch=None):
    """Returns the errors of matmul for A and A^T; torch: on the GPU."""
    error = []
    for turned in (a, a.T.tocsr()):
        for_gpu = torch and torch.sparse_csr_tensor(turned.indptr, turned.indices, turned.data, turned.shape, device="cuda")
        worst = 0
        for k in COLUMNS:
            x = random_numbers((turned.shape[1], k), a.dtype, k)
            y = matmul(for_gpu, torch.as_tensor(x, device="cuda")).cpu().numpy() if torch else matmul(turned, x)
            worst = max(worst, off(y, turned, x))
        error.append(worst)
    return error


def check(report, comm, device, torch):
    """Compares products with SciPy's on all ranks; torch: with matmul() on the GPU. Returns how many kinds of
    products are wrong."""
    wrong, gpu = 0, device == "cuda"
    for dtype in TYPES:
        a = matrix(dtype)
        errors = plan_errors(comm, a, device)
        if not gpu or torch and a.dtype.kind == "f":
            errors += matmul_errors(a, torch)
        worst = np.max(comm.allgather(errors), axis=0).tolist()
        bad = [error > MOST * float(np.finfo(dtype).eps) for error in worst]
        wrong += sum(bad)
        report.row(dtype + " GPU" * gpu, [f"{'WRONG ' * b}{error:.1e}" for b, error in zip(bad, worst)])
    return wrong


# ---- times ----


def milliseconds(multiply, comm, wait):
    """Returns the median time of a product."""
    def seconds():
        comm.Barrier()
        begin = time.perf_counter()
        multiply()
        wait()
        return time.perf_counter() - begin
    seconds()
    times = comm.bcast(min(max(int(SECONDS / seconds()), 3), MOST_TIMES))
    return 1e3 * statistics.median(seconds() for _ in range(times))


def tell_times(report, comm, device, torch):
    """Reports times of products with one matrix; on the GPU with tensors of PyTorch."""
    n, band, gpu = SIDE ** 3, (-SIDE * SIDE, -SIDE, -1, 0, 1, SIDE, SIDE * SIDE), device == "cuda"
    a = scipy.sparse.diags([1.0] * len(band), band, shape=(n, n), format="csr")

    def ones(rows):
        made = {k: np.ones((rows, k)) for k in TIMED}
        return {k: torch.as_tensor(made[k], device=device) for k in TIMED} if gpu else made

    def row(name, comm, multiply):
        wait = torch.cuda.synchronize if gpu else lambda: None
        report.row(name + " GPU" * gpu, [f"{milliseconds(lambda: multiply(k), comm, wait):.3f}" for k in TIMED])

    with Plan(comm, a if comm.rank == 0 else None, list(TIMED), device=device, products=1000) as plan:
        x = ones(plan.x_range.stop - plan.x_range.start)
        row("plan @ X", comm, lambda k: plan @ x[k])
        kernels = plan.kernels
    if comm.rank == 0:
        whole, alone = ones(n), world.OneRank()
        if torch:
            tensor = torch.sparse_csr_tensor(a.indptr, a.indices, a.data, a.shape, device=device)
            dense = {k: torch.as_tensor(whole[k]) for k in TIMED}
        row("matmul(A, X)", alone, lambda k: matmul(tensor if gpu else a, whole[k]))
        if not gpu:
            row("SciPy", alone, lambda k: a @ whole[k])
        if torch:
            row("PyTorch", alone, lambda k: tensor @ dense[k])
    comm.Barrier()
    report.row("kernel" + " GPU" * gpu, [kernels[k] for k in TIMED])
    return a


def test(report, mpi, why, comm):
    """Tests and reports everything. Returns how many kinds of products are wrong."""
    tell_versions(report, mpi, why, comm)
    gpu, (torch, why) = tell_gpu(report, comm), module("torch")
    torch_on_gpu = torch if gpu and torch and torch.cuda.is_available() else None
    report.say("", "")
    report.row("products", ("plan @ X", "plan.T @ X", "matmul(A, X)", "matmul(A.T, X)"))
    wrong = check(report, comm, "cpu", None) + (check(report, comm, "cuda", torch_on_gpu) if gpu else 0)
    report.say("", f"the greatest differences from SciPy, relative to |A| |X|, for K = {', '.join(map(str, COLUMNS))}")
    report.say("", "")
    report.row("ms per product", [f"K = {k}" for k in TIMED])
    a = tell_times(report, comm, "cpu", torch)
    if torch_on_gpu:
        tell_times(report, comm, "cuda", torch)
    report.say("", f"A has {a.shape[0]} rows and {a.nnz} entries of float64{'; on rank 0 alone, except plan @ X' * (comm.size > 1)}")
    if not torch:
        report.say("PyTorch", f"skipped: {why}")
    elif gpu and not torch_on_gpu:
        report.say("PyTorch GPU", "skipped: this PyTorch has no CUDA")
    return wrong


def main():
    warnings.simplefilter("ignore", UserWarning)  # PyTorch's sparse tensors are in beta state
    mpi, why = None, ""
    try:
        from mpi4py import MPI as mpi
    except Exception as error:  # it may lack its MPI
        why = reason(error)
    everyone = mpi.COMM_WORLD if mpi else world.OneRank()
    report = Report(everyone.rank)
    try:
        agree(everyone, attempt(c.loaded)[1])
        comm = world.world()
        wrong = test(report, mpi, why, comm) if everyone.rank < comm.size else 0
    except Error as error:
        if everyone.rank == 0:
            print(f"spmm_mpi: {error}", file=sys.stderr)
        return 2
    report.say("", "")
    report.say("FAIL" if wrong else "PASS", f"{wrong} of the products above are wrong" if wrong else "all products are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
