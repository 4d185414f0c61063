"""Compares the times of spmm_mpi, SciPy, PyTorch (MKL on cores, cuSPARSE on a GPU) and CuPy in a Python program.

    SPMM_LIBRARY=DIR PYTHONPATH=python python3 bench/beside_python.py [--device cpu|cuda] [--k 1,8,64]
                                         [--rounds 3] [--seconds 2] [--contenders LIST] MATRIX.mtx[.gz]... > CSV
    python3 bench/beside_python.py --table CSV...        prints a table of these files in Markdown

It measures the time until the first, the tenth and the hundredth product are complete. The time of the first includes
everything that the library does with a SciPy matrix before it multiplies: conversion, planning, the copy to the GPU.
It excludes imports, and a product of another small matrix. X and Y are float64 in C order, on a GPU in its memory. Contenders:

    plan      plan = spmm_mpi.Plan(A), then plan @ X                  matmul    spmm_mpi.matmul(A, X), each time
    scipy     A @ X                                                   torch     torch.sparse_csr_tensor of A, then @
    cupy      cupyx.scipy.sparse.csr_matrix of A, then @

In each of --rounds rounds, each contender runs in a new process; a row has the medians over the rounds. After --seconds no
more products are run: the time of the hundredth is then estimated as that of the first plus 99 times the median of the others.
`ok` is 0 if a result differs from SciPy's. Exit status 1: a result differs, or a contender failed."""
import argparse
import csv
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

OURS, THEIRS = ("plan", "matmul"), ("scipy", "torch", "cupy")
COUNTS = (1, 10, 100)
COLUMNS = ("machine", "cores", "device", "contender", "version", "matrix", "entries", "k", "first_ms", "tenth_ms",
           "hundredth_ms", "product_ms", "ok")


# ---- contenders: each returns (version, to_device, make, wait): make(A) returns a function of X ----


def plan(device):
    import spmm_mpi
    to_device, wait = on_device(device)
    return spmm_mpi.__version__, to_device, lambda a: spmm_mpi.Plan(a, device=device).__matmul__, wait


def matmul(device):
    import spmm_mpi
    to_device, wait = on_device(device)
    if device == "cuda":
        import cupyx.scipy.sparse
        # (a CuPy matrix: its copy to the GPU counts as part of the first product)
        def make(a):
            on_gpu = cupyx.scipy.sparse.csr_matrix(a)
            return lambda x: spmm_mpi.matmul(on_gpu, x)
        return spmm_mpi.__version__, to_device, make, wait
    return spmm_mpi.__version__, to_device, lambda a: lambda x: spmm_mpi.matmul(a, x), wait


def scipy(device):
    import scipy as library
    return library.__version__, lambda x: x, lambda a: lambda x: a @ x, lambda: None


def torch(device):
    import torch as library
    import numpy as np

    def make(a):
        csr = library.sparse_csr_tensor(*(library.from_numpy(part) for part in (
            a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data)), size=a.shape).to(device)
        return lambda x: csr @ x
    return (library.__version__, lambda x: library.from_numpy(x).to(device), make,
            library.cuda.synchronize if device == "cuda" else lambda: None)


def cupy(device):
    import cupy as library
    import cupyx.scipy.sparse
    return (library.__version__, library.asarray, lambda a: cupyx.scipy.sparse.csr_matrix(a).__matmul__,
            library.cuda.runtime.deviceSynchronize)


def on_device(device):
    """\\return (function that copies a NumPy array to the device, function that waits for the device)"""
    if device == "cpu":
        return (lambda x: x), (lambda: None)
    import cupy as library
    return library.asarray, library.cuda.runtime.deviceSynchronize


# ---- one process: one contender, all matrices ----


def timed(make, a, x, wait, budget):
    """\\return ((seconds until the 1st, 10th and 100th product, seconds of a later product), the last Y)"""
    wait()
    begin = time.perf_counter()
    multiply = make(a)
    y = multiply(x)
    wait()
    until, each = [time.perf_counter() - begin], []
    while len(until) < COUNTS[-1] and (len(until) < COUNTS[1] or sum(each) < budget):
        start = time.perf_counter()
        y = multiply(x)
        wait()
        end = time.perf_counter()
        each.append(end - start)
        until.append(end - begin)
    one = statistics.median(each)
    last = until[-1] if len(until) == COUNTS[-1] else until[0] + (COUNTS[-1] - 1) * one
    return (until[0], until[COUNTS[1] - 1], last, one), y


def one_process(contender, device, ks, folder, names, budget):
    import numpy as np
    import scipy.sparse as sparse
    version, to_device, make, wait = globals()[contender](device)
    draw = np.random.default_rng(1)
    first = sparse.random(100, 100, 0.1, "csr", random_state=1) + sparse.identity(100, format="csr")
    make(first)(to_device(draw.standard_normal((100, 8))))
    wait()
    write = csv.writer(sys.stdout)
    for name in names:
        a = sparse.csr_matrix(sparse.load_npz(os.path.join(folder, name + ".npz")))
        for k in ks:
            x = draw.standard_normal((a.shape[1], k))
            # (a copy, because a library may keep data for a matrix that it has seen: no first product then)
            seconds, y = timed(make, a.copy(), to_device(x), wait, budget)
            y = y.get() if hasattr(y, "get") else y.cpu().numpy() if hasattr(y, "cpu") else y
            right = a @ x
            close = np.abs(y - right).max(initial=0) <= 1e-12 * (abs(a) @ np.abs(x)).max(initial=0)
            write.writerow([version, name, a.nnz, k, *(f"{1e3 * s:.4f}" for s in seconds), int(close)])
            sys.stdout.flush()


# ---- all of them ----


def machine(device):
    """The processor's name, or the GPU's."""
    if device == "cuda":
        said = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True,
                              check=True).stdout
        return said.splitlines()[0]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), platform.machine())


def run(options):
    import scipy.io
    import scipy.sparse as sparse
    found, wrong, names = {}, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for path in options.matrices:
            names.append(os.path.basename(path).partition(".")[0])
            sparse.save_npz(os.path.join(folder, names[-1]), sparse.csr_matrix(scipy.io.mmread(path), dtype=float),
                            compressed=False)
        for _ in range(options.rounds):
            for contender in options.contenders:
                done = subprocess.run([sys.executable, __file__, "--child", contender, "--device", options.device, "--k",
                                       ",".join(map(str, options.k)), "--seconds", str(options.seconds), "--folder", folder,
                                       *names],
                                      stdout=subprocess.PIPE, text=True, check=False)
                if done.returncode != 0:
                    print(f"beside_python.py: {contender} ended with {done.returncode}", file=sys.stderr)
                    wrong += 1
                for version, name, entries, k, *values in csv.reader(done.stdout.splitlines()):
                    found.setdefault((contender, version, name, entries, k), []).append(list(map(float, values)))
    write = csv.writer(sys.stdout)
    write.writerow(COLUMNS)
    here, cores = machine(options.device), len(os.sched_getaffinity(0))
    for (contender, *key), rows in found.items():
        *times, ok = zip(*rows)
        write.writerow([here, cores, options.device, contender, *key, *(f"{statistics.median(t):.4f}" for t in times),
                        int(min(ok))])
        wrong += min(ok) == 0
    return wrong > 0


def table(paths):
    """Prints their times over ours as Markdown: geometric means over the matrices, until the first, the tenth
    and the hundredth product, and of a later product; in parentheses the minimum for a later product."""
    rows = {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                place = f"{row['cores']} cores" if row["device"] == "cpu" else row["machine"]
                rows[place, row["contender"], int(row["k"]), row["matrix"]] = row
    ks = sorted({k for _, _, k, _ in rows})
    print(f"| machine | theirs over ours | {' | '.join(f'K = {k}' for k in ks)} |\n|---|---{'|---' * len(ks)}|")
    for place, theirs in dict.fromkeys((p, c) for p, c, _, _ in rows if c in THEIRS):
        for ours in OURS:
            cells = []
            for k in ks:
                pairs = [(row, rows[place, ours, k, name]) for (p, c, n, name), row in rows.items()
                         if (p, c, n) == (place, theirs, k) and (place, ours, k, name) in rows]
                over = [[float(their[column]) / float(our[column]) for their, our in pairs] for column in COLUMNS[8:12]]
                means = "/".join(f"{statistics.geometric_mean(ratios):.2f}" for ratios in over if ratios)
                cells.append(f"{means} ({min(over[-1]):.2f})" if pairs else "")
            print(f"| {place} | {theirs} over {'Plan' if ours == 'plan' else ours} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--k", type=lambda text: list(map(int, words(text))), default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--contenders", type=words)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("matrices", nargs="+")
    options = parser.parse_args()
    options.contenders = options.contenders or [*OURS, *(("scipy", "torch") if options.device == "cpu" else THEIRS[1:])]
    if options.table:
        return table(options.matrices)
    if options.child:
        return one_process(options.child, options.device, options.k, options.folder, options.matrices, options.seconds)
    return run(options)


if __name__ == "__main__":
    sys.exit(main() or 0)
