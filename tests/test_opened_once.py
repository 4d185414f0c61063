"""The file of a matrix is opened once by rank 0, which reads its header and its body through one descriptor."""
import ctypes
import gzip
import os
import struct
import time

from command import MATRICES, equal, finish, run, scratch, test

OPEN, ACCESS, CLOSE = 0x20, 0x01, 0x10  # events of inotify(7), which merges equal ones in a row
LIBC = ctypes.CDLL(None, use_errno=True)
SOURCE = next(path for path in MATRICES if path.name.endswith(".mtx"))


def opens(path, *args, ranks=1):
    """The number of times that a run with those arguments opens the file."""
    watch = LIBC.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0 and LIBC.inotify_add_watch(watch, os.fsencode(path), OPEN | ACCESS | CLOSE) >= 0
    try:
        result = run(path, "--columns", 2, *args, ranks=ranks)
        equal(result.code, 0, result.err)
        time.sleep(0.1)
        data = os.read(watch, 1 << 20)
    finally:
        os.close(watch)
    return sum(bool(struct.unpack_from("iIII", data, at)[1] & OPEN) for at in range(0, len(data), 16))


text, packed, binary = scratch("a.mtx", SOURCE.read_bytes()), scratch("a.mtx.gz"), scratch("a.npz")
with gzip.open(packed, "wb") as f:
    f.write(SOURCE.read_bytes())
equal(run(text, "--cache", binary, "--columns", 1).code, 0)

for path in (text, packed, binary):
    with test(f"one rank opens {os.path.basename(path)} once, whatever it is read for"):
        equal([opens(path), opens(path, "--dry-run"), opens(path, "--scatter-only")], [1, 1, 1])

with test("of two ranks, only the one that reads opens it"):
    equal([opens(path, ranks=2) for path in (text, packed, binary)], [1, 1, 1])

finish()
