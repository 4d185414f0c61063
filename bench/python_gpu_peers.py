"""Times this library's products with the transpose and its small dense products on a GPU, and for comparison
the same products by cuSPARSE and cuBLAS, called through CuPy.

    SPMM_LIBRARY=build/cuda PYTHONPATH=python python3 bench/python_gpu_peers.py [MATRIX.mtx[.gz]...] > CSV

On one rank, in float64. `transposed`: A^T Y by spmm_apply_transposed(); by cuSPARSE's SpMM of A with the
transposed operation; and by cuSPARSE's SpMM of A^T stored as a separate CSR, each in both layouts. X^T Y, X^T
X and X R: also by cuBLAS. cuBLAS leaves X^T Y on the GPU; this library copies it to the host. The contenders
take turns, each call after an untimed one. A time in milliseconds is from an idle GPU until it is idle again;
printed are the median and the quartiles of 15. Exit status 1: results differ; 2: no GPU or CuPy."""
import ctypes
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse as sparse
from mpi4py import MPI

import spmm_mpi
from spmm_mpi import _library

ROUNDS = 15


def stencil(points, wide):
    """The matrix of a stencil on a cubic grid: 7 entries per row or, if `wide`, 27."""
    line = sparse.diags([1.0, 2.0, 3.0], [-1, 0, 1], shape=(points, points))
    one = sparse.identity(points)
    if wide:
        return sparse.kron(sparse.kron(line, line), line).tocsr()
    return (sparse.kron(sparse.kron(line, one), one) + sparse.kron(sparse.kron(one, line), one) +
            sparse.kron(sparse.kron(one, one), line)).tocsr()


def skewed(scale, per_row, draw):
    """R-MAT (Chakrabarti et al., 2004); the quadrants have probabilities 0.57, 0.19, 0.19 and 0.05."""
    n, entries = 1 << scale, per_row << scale
    row, col = np.zeros(entries, np.int64), np.zeros(entries, np.int64)
    for bit in range(scale):
        quadrant = np.searchsorted([0.57, 0.76, 0.95], draw.random(entries))
        row |= (quadrant // 2) << bit
        col |= (quadrant % 2) << bit
    return sparse.coo_matrix((draw.uniform(-1, 1, entries), (row, col)), shape=(n, n)).tocsr()


def matrices(files):
    draw = np.random.default_rng(3)
    yield "7 points, 100^3", stencil(100, False)
    yield "27 points, 60^3", stencil(60, True)
    yield "uniform, 500 000 x 16", sparse.random(500000, 500000, 16 / 500000, "csr", random_state=draw)
    yield "R-MAT, 2^18 x 16", skewed(18, 16, draw)
    for file in files:
        yield file.rpartition("/")[2], sparse.csr_matrix(scipy.io.mmread(file), dtype=np.float64)


class Table:
    def __init__(self, cupy):
        self.cupy, self.wrong = cupy, False
        print("what,matrix,k,contender,median_ms,low_ms,high_ms,over_ours", flush=True)

    def row(self, what, name, k, calls, result=None):
        """calls: contender -> function whose return value result() converts to an array; our contender is the
        first."""
        result = result or self.cupy.asarray
        expected = result(next(iter(calls.values()))())
        for contender, call in calls.items():
            if float(abs(result(call()) - expected).max()) > 1e-10 * max(float(abs(expected).max()), 1):
                print(f"{what}, {name}, K = {k}: {contender} differs", file=sys.stderr)
                self.wrong = True
        seconds = {contender: [] for contender in calls}
        for _ in range(ROUNDS):
            for contender, call in calls.items():
                call()
                self.rest()
                start = time.perf_counter()
                call()
                self.rest()
                seconds[contender].append(time.perf_counter() - start)
        ours = np.median(next(iter(seconds.values())))
        for contender, found in seconds.items():
            low, middle, high = np.percentile(found, [25, 50, 75]) * 1e3
            print(f'{what},"{name}",{k},{contender},{middle:.4f},{low:.4f},{high:.4f},{middle * 1e-3 / ours:.2f}', flush=True)

    def rest(self):
        self.cupy.cuda.Device().synchronize()


def transposed(table, name, a, k):
    cupy = table.cupy
    import cupyx.scipy.sparse
    from cupyx import cusparse
    theirs, turned = cupyx.scipy.sparse.csr_matrix(a), cupyx.scipy.sparse.csr_matrix(a.T.tocsr())
    with spmm_mpi.Plan(MPI.COMM_WORLD, a, k, device="cuda", format="auto") as plan:
        host = np.random.default_rng(1).uniform(-1, 1, (a.shape[0], k))
        y, x = plan.y_zeros(), plan.x_zeros()
        y.set(host)
        rows, columns = cupy.asarray(host), cupy.asarray(host, order="F")
        plan.T @ y  # the transpose is made at the first call
        function = _library.loaded().spmm_apply_transposed
        handle = next(iter(plan._products.values())).handle
        one, zero = ctypes.c_double(1), ctypes.c_double(0)

        def ours():
            if function(handle, one, y.reference, zero, x.reference):
                raise SystemExit("spmm_apply_transposed failed")
            return x

        def spmm(matrix, transa, by_rows):
            def call():
                return cusparse.spmm(matrix, rows if by_rows else columns, transa=transa)
            try:
                call()
            except Exception:  # that layout is not offered
                return None
            return call
        calls = {"spmm_mpi": ours,
                 "cusparse A^T by columns": spmm(theirs, True, False), "cusparse A^T by rows": spmm(theirs, True, True),
                 "cusparse stored A^T by columns": spmm(turned, False, False), "cusparse stored A^T by rows": spmm(turned, False, True)}
        calls = {contender: call for contender, call in calls.items() if call}
        table.row("transposed", name, k, calls, lambda found: cupy.asarray(found.get() if found is x else found))


def dense(table, rows, k):
    cupy = table.cupy
    draw = cupy.random.default_rng(1)
    x, y, r = draw.random((rows, k)), draw.random((rows, k)), np.random.default_rng(1).random((k, k))
    out, r_gpu = cupy.empty_like(x), cupy.asarray(r)
    comm = MPI.COMM_WORLD
    table.row("X^T Y", f"{rows} rows", k, {"spmm_mpi": lambda: spmm_mpi.dot(comm, x, y), "cublas": lambda: x.T @ y})
    table.row("X^T X", f"{rows} rows", k, {"spmm_mpi": lambda: spmm_mpi.dot(comm, x), "cublas": lambda: x.T @ x})

    def times():
        spmm_mpi.times(x, r, out=out)
        return out
    table.row("X R", f"{rows} rows", k, {"spmm_mpi": times, "cublas": lambda: cupy.matmul(x, r_gpu)})


def main():
    try:
        import cupy
        cupy.cuda.Device().compute_capability
    except Exception as error:
        print(f"python_gpu_peers.py: no GPU that CuPy can use: {error}", file=sys.stderr)
        return 2
    spmm_mpi.device_open(MPI.COMM_WORLD)
    table = Table(cupy)
    for k in (8, 32, 64):
        dense(table, 1000000, k)
    for name, a in matrices(sys.argv[1:]):
        for k in (8, 64):
            transposed(table, name, a, k)
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
