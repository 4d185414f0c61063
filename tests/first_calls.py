"""python3 first_calls.py THREADS: that many threads multiply different matrices, as the first calls of this process. Prints
"right", or what went wrong."""
import sys
import threading

import numpy as np
import scipy.sparse as sp

from spmm_mpi import _library, matmul

threads = int(sys.argv[1])
A = [sp.random(40 + t, 40 + t, .1, format="csr", random_state=t) for t in range(threads)]
gate, wrong, opened = threading.Barrier(threads), [], []
open_library = _library.open_library


def counted():
    """Opens the library in a moment in which other threads come to their first calls, too."""
    opened.append(1)
    threading.Event().wait(0.01)
    return open_library()


def work(t):
    x = np.ones(len(A[t].indptr) - 1)
    try:
        gate.wait()
        if not np.allclose(matmul(A[t], x), A[t] @ x):
            wrong.append(f"the product of thread {t}")
    except Exception as error:  # any exception is reported
        wrong.append(repr(error))


_library.open_library = counted
sys.setswitchinterval(1e-6)
all_ = [threading.Thread(target=work, args=(t,)) for t in range(threads)]
for thread in all_:
    thread.start()
for thread in all_:
    thread.join()
if len(opened) != 1:
    wrong.append(f"libspmm was opened {len(opened)} times")
print("; ".join(wrong) or "right")
