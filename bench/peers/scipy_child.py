"""The Python half of peer_scipy.so: reads commands from descriptor 3, answers on 4, and exchanges arrays
through file 5.

    load TYPE ROWS COLS NNZ   the file contains values, row starts, columns
    begin ID K C|F            the file contains X in that order
    run ID                    answers "ok SECONDS"
    fetch ID                  puts Y of the last run into the file, in X's order
    end ID / unload
"""
import os
import sys
import time

try:
    import numpy as np
    import scipy
    import scipy.sparse as sp
except ImportError as error:
    os.write(4, f"{error}\n".encode())
    sys.exit(0)


def shared(dtype, count, offset=0):
    """A copy in private memory: shared pages are not huge pages."""
    return np.memmap("/proc/self/fd/5", dtype, "r", offset, (count,)).copy() if count else np.empty(0, dtype)


class Session:
    def __init__(self):
        self.a = None
        self.x, self.y = {}, {}

    def load(self, dtype, rows, cols, nnz):
        dtype = np.dtype(dtype)
        rows, cols, nnz = int(rows), int(cols), int(nnz)
        values = shared(dtype, nnz)
        starts = shared(np.int32, rows + 1, nnz * dtype.itemsize)
        columns = shared(np.int32, nnz, nnz * dtype.itemsize + 4 * (rows + 1))
        self.a = sp.csr_matrix((values, columns, starts), shape=(rows, cols))
        self.a.has_sorted_indices = True

    def begin(self, key, k, order):
        k, cols = int(k), self.a.shape[1]
        values = shared(self.a.dtype, cols * k)
        self.x[key] = values.reshape((cols, k), order=order)

    def run(self, key):
        x = self.x[key]
        self.y.pop(key, None)  # frees the last result outside of the time
        start = time.perf_counter()
        y = self.a @ x
        seconds = time.perf_counter() - start
        self.y[key] = y
        return repr(seconds)

    def fetch(self, key):
        y, order = self.y[key], "F" if self.x[key].flags.f_contiguous else "C"
        os.ftruncate(5, max(y.nbytes, 1))
        out = np.memmap("/proc/self/fd/5", y.dtype, "r+", 0, (y.size,))
        out[:] = y.ravel(order=order)

    def end(self, key):
        self.x.pop(key, None)
        self.y.pop(key, None)
        os.ftruncate(5, 0)

    def unload(self):
        self.__init__()


def main():
    session = Session()
    with os.fdopen(3, "r") as commands, os.fdopen(4, "w") as answers:
        print(f"ok SciPy {scipy.__version__}, NumPy {np.__version__}", file=answers, flush=True)
        for line in commands:
            verb, *arguments = line.split()
            try:
                answer = f"ok {getattr(session, verb)(*arguments) or ''}"
            except Exception as error:  # bench_cpu shows the answer
                answer = f"{verb}: {type(error).__name__}: {error}".replace("\n", " ")[:200]
            print(answer, file=answers, flush=True)


main()
