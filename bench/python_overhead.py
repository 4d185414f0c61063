"""Measures what `plan @ X` of the Python package costs in addition to spmm_apply() itself, and times A @ X of
SciPy and, if installed, of PyTorch and CuPy, on the same matrix.

    SPMM_LIBRARY=build/cpu PYTHONPATH=python python3 bench/python_overhead.py [--rows N] [--k LIST] [--seconds S] [--cuda]
    mpirun -np 2 python3 bench/python_overhead.py ...       the rows divided over the ranks (SciPy has all of them, on each)

The matrix has N rows with 5 entries each. In a round each contender runs a batch of products, one contender
after the other. Printed are microseconds of a product on rank 0: the median over the rounds of a batch's
mean. x and y are from x_zeros() and y_zeros(), X and Y from NumPy. `over C` is the difference from the line
spmm_apply() above it, which is called with prepared arguments; ctypes itself takes about one microsecond of
that line. Each result is first compared with SciPy's; exit status 1: one is wrong."""
import argparse
import ctypes
import importlib
import statistics
import sys
import time

import numpy as np
import scipy.sparse
from mpi4py import MPI

import spmm_mpi
from spmm_mpi import _library
from spmm_mpi._arrays import Memory, described


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Bench:
    def __init__(self, args, k):
        self.comm, self.args, self.k = MPI.COMM_WORLD, args, k
        n = args.rows
        offsets = [-int(n ** 0.5), -1, 0, 1, int(n ** 0.5)]
        self.a = scipy.sparse.diags([1.0, 2.0, 5.0, 3.0, 4.0], offsets, shape=(n, n), format="csr")
        self.x = np.random.default_rng(1).uniform(-1, 1, (n, k))
        self.expected = self.a @ self.x
        options = {"threads": args.threads, "device": "cuda" if args.cuda else "cpu"}
        whole = self.a if self.comm.rank == 0 else None
        self.plan = spmm_mpi.Plan(self.comm, whole, k, **options)
        self.any_k = spmm_mpi.Plan(self.comm, whole, **options)
        self.mine = np.ascontiguousarray(self.x[self.plan.x_range])
        self.kept = []  # keeps alive what the C function uses by its address

    def contenders(self):
        """Yields (name, function, function that returns its result as a NumPy array, whether the result has
        all rows)."""
        plan, own_x, own_y = self.plan, self.plan.x_zeros(), self.plan.y_zeros()
        if self.args.cuda:
            own_x.set(self.mine)
            yield "spmm_apply, x and y", self.direct(own_x, own_y), own_y.get, False
            yield "plan @ x", lambda: plan @ own_x, lambda: (plan @ own_x).get(), False
        else:
            own_x[:] = self.mine
            yield "spmm_apply, x and y", self.direct(own_x.base, own_y.base), lambda: own_y, False
            yield "plan.apply(x, out=y)", lambda: plan.apply(own_x, out=own_y), lambda: own_y, False
            yield "plan @ x", lambda: plan @ own_x, lambda: plan @ own_x, False
            theirs = np.empty_like(self.mine)
            yield "spmm_apply, X and Y", self.direct(self.mine, theirs), lambda: theirs, False
            yield "plan.apply(X, out=Y)", lambda: plan.apply(self.mine, out=theirs), lambda: theirs, False
        yield "plan @ X", lambda: plan @ self.mine, lambda: plan @ self.mine, False
        yield "plan of any K @ X", lambda: self.any_k @ self.mine, lambda: self.any_k @ self.mine, False
        yield "scipy A @ X", lambda: self.a @ self.x, lambda: self.a @ self.x, True
        yield from self.others()

    def direct(self, *operands):
        """A function that calls spmm_apply() with prepared arguments; operands: x and y, memory of libspmm or
        NumPy arrays."""
        self.kept.append(operands)
        x, y = (o.reference if isinstance(o, Memory) else ctypes.byref(described(o)) for o in operands)
        lib = _library.loaded()
        function, handle = lib.spmm_apply, next(iter(self.plan._products.values())).handle
        one, zero = ctypes.c_double(1), ctypes.c_double(0)

        def product():
            status = function(handle, one, x, zero, y)
            if status:
                lib.check(status)
        return product

    def others(self):
        torch, cupy = module("torch"), module("cupy")
        parts = (self.a.indptr, self.a.indices, self.a.data)
        if torch is not None:
            for device in ["cpu"] + ["cuda"] * bool(self.args.cuda and torch.cuda.is_available()):
                a = torch.sparse_csr_tensor(*map(torch.tensor, parts), size=self.a.shape).to(device)
                x = torch.tensor(self.x, device=device)

                def product(a=a, x=x, device=device):
                    y = a @ x
                    if device == "cuda":
                        torch.cuda.synchronize()
                    return y
                yield f"torch.sparse {device}", product, lambda product=product: product().cpu().numpy(), True
            if self.args.cuda and torch.cuda.is_available():
                tensor = torch.tensor(self.mine, device="cuda")
                yield "plan @ tensor", lambda: self.plan @ tensor, lambda: (self.plan @ tensor).cpu().numpy(), False
        if cupy is not None and self.args.cuda:
            sparse = importlib.import_module("cupyx.scipy.sparse")
            a, x, mine = sparse.csr_matrix(self.a), cupy.asarray(self.x), cupy.asarray(self.mine)

            def multiply():
                y = a @ x
                cupy.cuda.get_current_stream().synchronize()
                return y
            yield "cupy A @ X", multiply, lambda: multiply().get(), True
            yield "plan @ cupy's", lambda: self.plan @ mine, lambda: (self.plan @ mine).get(), False

    def run(self):
        """Prints a table. \\return whether all results were right"""
        names, functions, right = [], [], True
        for name, function, result, whole in self.contenders():
            function()
            expected = self.expected if whole else self.expected[self.plan.y_range]
            good = np.allclose(np.asarray(result()), expected, rtol=1e-12, atol=1e-12)
            right = self.comm.allreduce(good, MPI.LAND) and right
            names.append(name if good else name + " WRONG")
            functions.append(function)
        times, bare = self.timed(functions), 0
        if self.comm.rank == 0:
            print(f"{self.args.rows} rows, {self.a.nnz} entries, K = {self.k}, {self.comm.size} ranks, {self.plan.kernel} on {self.plan.device}")
            print(f"  {'':24} {'us':>9} {'over C':>9}")
            for name, time_ in zip(names, times):
                bare = time_ if name.startswith("spmm_apply") else bare
                over = f"{1e6 * (time_ - bare):9.2f}" if name.startswith("plan") else ""
                print(f"  {name:24} {1e6 * time_:9.2f} {over}")
        self.any_k.close()
        self.plan.close()
        self.kept.clear()
        return right

    def timed(self, functions):
        """The median over rounds of each function's seconds."""
        counts = [self.calls(function) for function in functions]
        seconds = [[] for _ in functions]
        for _ in range(self.args.rounds):
            for function, count, found in zip(functions, counts, seconds):
                function()
                self.comm.Barrier()
                start = time.perf_counter()
                for _ in range(count):
                    function()
                found.append((time.perf_counter() - start) / count)
        return [statistics.median(found) for found in seconds]

    def calls(self, function):
        """How many of a function's calls make a batch; the same on all ranks."""
        start = time.perf_counter()
        for _ in range(5):
            function()
        one = self.comm.bcast((time.perf_counter() - start) / 5)
        return max(3, int(self.args.seconds / self.args.rounds / one))


def main():
    parser = argparse.ArgumentParser(description="overhead of the Python package")
    parser.add_argument("--rows", type=int, default=1000, help="rows of the matrix (default 1000)")
    parser.add_argument("--k", default="1,8,64", help="columns of X (default 1,8,64)")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each contender (default 0.5)")
    parser.add_argument("--rounds", type=int, default=15, help="batches of each contender (default 15)")
    parser.add_argument("--threads", type=int, default=1, help="threads per rank (default 1)")
    parser.add_argument("--cuda", action="store_true", help="run on the GPU, with CuPy and PyTorch if they are installed")
    args = parser.parse_args()
    right = [Bench(args, int(k)).run() for k in args.k.split(",")]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
