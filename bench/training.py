"""Compares the training of graph networks by spmm_mpi.torch with that by torch.sparse: the gradient of the values of A,
and steps of a graph convolution network.

    SPMM_LIBRARY=DIR PYTHONPATH=python python3 bench/training.py [--device cpu|cuda] [--k 64] [--rounds 15] [MATRIX.mtx[.gz]...] > CSV

gradient: the inner products of rows of G and X at the entries of each MATRIX, in float32 and float64. Contenders: the gradient of
a Pattern; torch.sparse.sampled_addmm; on a GPU also cuSPARSE's SDDMM with its buffer and preprocessing kept (the library in
CUSPARSE_HOME/lib, or the loader's). first, later, step: two layers (64 features, 64 hidden, 16 classes) on made-up graphs, in
float32. `first`: from A in host memory until the tenth step (forward, backward, Adam) is complete; `later`: forward and
backward of a later step; `step`: all of it. Contenders: `pattern`, layers.matmul of a Pattern and a tensor of values; `tensor`,
of a sparse tensor; `plan`, of a Plan; `csr` and `coo`, torch.sparse.mm.
queued: the same as gradient, a tenth of the time of ten calls without a wait between them (on a GPU).
Contenders take turns. A time in milliseconds is from an idle device until it is idle again: median and quartiles of the rounds.
over_ours: the median over that of the first contender. Exit status 1: results differ."""
import argparse
import ctypes
import os
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse as sparse
import torch

import spmm_mpi
import spmm_mpi.torch as layers

FEATURES, HIDDEN, CLASSES, STEPS = 64, 64, 16, 10
ROW = 2  # CUSPARSE_ORDER_ROW
GRAPHS = (3000, 24000), (50000, 400000)


def tensor_of(a, device):
    return torch.sparse_csr_tensor(*(torch.from_numpy(part) for part in (a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data)),
                                   size=a.shape).to(device)


class Cusparse:
    """cuSPARSE's SDDMM: C := G X^T at the places of C's entries."""

    def __init__(self):
        self.library = ctypes.CDLL(os.path.join(os.environ["CUSPARSE_HOME"], "lib", "libcusparse.so.12") if "CUSPARSE_HOME" in os.environ
                                   else "libcusparse.so.12")
        self.handle, version = ctypes.c_void_p(), ctypes.c_int()
        self.call("cusparseCreate", ctypes.byref(self.handle))
        self.call("cusparseGetVersion", self.handle, ctypes.byref(version))
        self.name = f"cusparse {version.value}"

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            raise SystemExit(f"{function}: status {status}")

    def sddmm(self, A, G, X):
        """Returns a function that computes the values of C, and these values."""
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        kind, index = (1 if X.dtype == torch.float64 else 0), 2  # CUDA_R_64F, CUDA_R_32F; CUSPARSE_INDEX_32I
        values, (m, n), k = torch.zeros_like(A.values()), A.shape, X.shape[1]
        c, g, x = pointer(), pointer(), pointer()
        starts, columns = A.crow_indices(), A.col_indices()
        self.call("cusparseCreateCsr", ctypes.byref(c), size(m), size(n), size(A._nnz()), pointer(starts.data_ptr()), pointer(columns.data_ptr()),
                  pointer(values.data_ptr()), index, index, 0, kind)
        self.call("cusparseCreateDnMat", ctypes.byref(g), size(m), size(k), size(k), pointer(G.data_ptr()), kind, ROW)
        self.call("cusparseCreateDnMat", ctypes.byref(x), size(n), size(k), size(k), pointer(X.data_ptr()), kind, ROW)
        number = ctypes.c_double if kind else ctypes.c_float
        one, zero, wanted = number(1), number(0), ctypes.c_size_t()
        common = self.handle, 0, 1, ctypes.byref(one), g, x, ctypes.byref(zero), c, kind, 0
        self.call("cusparseSDDMM_bufferSize", *common, ctypes.byref(wanted))
        buffer = torch.empty(max(wanted.value, 1), dtype=torch.uint8, device="cuda")
        self.call("cusparseSDDMM_preprocess", *common, pointer(buffer.data_ptr()))

        def run(kept=(starts, columns, G, X, one, zero)):
            self.call("cusparseSDDMM", *common, pointer(buffer.data_ptr()))
            return values
        return run


class Table:
    def __init__(self, device, rounds):
        self.device, self.rounds, self.wrong = device, rounds, False
        print("what,matrix,entries,k,type,contender,median_ms,low_ms,high_ms,over_ours", flush=True)

    def rest(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def seconds(self, call):
        self.rest()
        start = time.perf_counter()
        call()
        self.rest()
        return time.perf_counter() - start

    def row(self, what, a, name, k, dtype, times):
        """times: contender -> seconds."""
        ours = np.median(next(iter(times.values())))
        for contender, found in times.items():
            low, middle, high = np.percentile(found, [25, 50, 75]) * 1e3
            print(f'{what},"{name}",{a.nnz},{k},{dtype},{contender},{middle:.4f},{low:.4f},{high:.4f},{middle * 1e-3 / ours:.2f}', flush=True)

    def check(self, found, expected, what, bound=1e-4):
        if float((found - expected).abs().max()) > bound * max(float(expected.abs().max()), 1):
            print(f"{what}: results differ", file=sys.stderr)
            self.wrong = True


def gradient(table, name, a, k, cusparse):
    for dtype in (np.float32, np.float64):
        A = tensor_of(a.astype(dtype), table.device)
        torch.manual_seed(1)
        G, X = (torch.randn(rows, k, dtype=A.dtype, device=table.device) for rows in a.shape)
        pattern, zero = layers.Pattern(A), torch.zeros_like(A.values())
        C = torch.sparse_csr_tensor(A.crow_indices(), A.col_indices(), zero, size=A.shape)
        calls = {"pattern": lambda: pattern.gradient(G, X), "sampled_addmm": lambda: torch.sparse.sampled_addmm(C, G, X.T, beta=0).values()}
        if cusparse:
            calls[cusparse.name] = cusparse.sddmm(A, G, X)
        expected = calls["pattern"]()
        for contender, call in calls.items():
            table.check(call(), expected, f"{name}, {np.dtype(dtype)}: {contender}")
        for what, calls_each in (("gradient", 1), ("queued", 10)) if cusparse else (("gradient", 1),):
            times = {contender: [] for contender in calls}
            for _ in range(table.rounds):
                for contender, call in calls.items():
                    call()
                    times[contender].append(table.seconds(lambda: [call() for _ in range(calls_each)]) / calls_each)
            table.row(what, a, name, k, np.dtype(dtype), times)


def graph(vertices, entries):
    """The normalized adjacency matrix of a graph with edges between any vertices, with these entries in both directions."""
    ends = np.random.default_rng(1).integers(vertices, size=(2, entries // 2))
    ones = sparse.coo_matrix((np.ones(entries), np.concatenate([ends, ends[::-1]], 1)), shape=(vertices, vertices)).tocsr() > 0
    scale = sparse.diags(1 / np.sqrt(np.maximum(np.asarray(ones.sum(1)).ravel(), 1)))
    return (scale @ ones @ scale).astype(np.float32).tocsr()


def product_of(contender, a, device):
    if contender == "plan":
        plan = spmm_mpi.Plan(a, device=device)
        return lambda x: layers.matmul(plan, x)
    A = tensor_of(a, device)
    if contender == "pattern":
        pattern, values = layers.Pattern(A), A.values()
        return lambda x: layers.matmul(pattern, x, values)
    if contender == "tensor":
        return lambda x: layers.matmul(A, x)
    A = A.to_sparse_coo().coalesce() if contender == "coo" else A
    return lambda x: torch.sparse.mm(A, x)


def trained(table, contender, a, steps):
    """Returns (seconds of the first steps, those of forward and backward of each later one, of each whole one, the loss)."""
    torch.manual_seed(1)
    x, classes = torch.randn(a.shape[0], FEATURES).to(table.device), torch.randint(CLASSES, a.shape[:1]).to(table.device)
    weights = [(torch.randn(*shape) / 8).to(table.device).requires_grad_() for shape in ((FEATURES, HIDDEN), (HIDDEN, CLASSES))]
    optimizer, held = torch.optim.Adam(weights, lr=0.01), []

    def passes():
        product = held[0]
        loss = torch.nn.functional.cross_entropy(product(torch.relu(product(x @ weights[0])) @ weights[1]), classes)
        loss.backward()
        return loss

    def step():
        optimizer.zero_grad()
        loss = passes()
        optimizer.step()
        return loss

    def timed_passes():
        found = table.seconds(passes)
        optimizer.zero_grad()
        return found

    def begin():
        held.append(product_of(contender, a, table.device))
        for _ in range(STEPS):
            step()
    first = table.seconds(begin)
    optimizer.zero_grad()
    later = [timed_passes() for _ in range(steps)]
    return first, later, [table.seconds(step) for _ in range(steps)], step().detach()


def training(table, vertices, entries):
    a, contenders = graph(vertices, entries), ("pattern", "tensor", "plan", "csr", "coo")
    for contender in contenders:
        trained(table, contender, graph(100, 400), 1)
    first, later, whole, losses = ({contender: [] for contender in contenders} for _ in range(4))
    for _ in range(max(table.rounds // 5, 1)):
        for contender in contenders:
            begin, passes, steps, losses[contender] = trained(table, contender, a, 100)
            first[contender].append(begin)
            later[contender] += passes
            whole[contender] += steps
    for contender in contenders:  # Adam enlarges rounding errors
        table.check(losses[contender], losses["coo"], f"{vertices} vertices: {contender}", 1e-2)
    name = f"graph of {vertices} vertices"
    table.row("first", a, name, HIDDEN, "float32", first)
    table.row("later", a, name, HIDDEN, "float32", later)
    table.row("step", a, name, HIDDEN, "float32", whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("matrices", nargs="*", metavar="MATRIX")
    given = parser.parse_args()
    table = Table(given.device, given.rounds)
    cusparse = Cusparse() if given.device == "cuda" else None
    for file in given.matrices:
        gradient(table, os.path.basename(file), sparse.csr_matrix(scipy.io.mmread(file)), given.k, cusparse)
    for size in GRAPHS:
        training(table, *size)
    return 1 if table.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
