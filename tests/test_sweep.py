"""The whole command on the real matrices: every CPU kernel and format, K, precision, 1, 3 and 4 ranks (or SWEEP_RANKS="1 2 5").
limit: 600"""
import os

from command import MATRICES, finish, run, sweep, test

KERNELS = sum(" cpu " in line for line in run("--list-kernels", records=False).out.splitlines())

with test("matrices/ has the real matrices that the sweep is about"):
    assert len(MATRICES) >= 8, MATRICES
    assert KERNELS >= 3, KERNELS

for ranks in map(int, os.environ.get("SWEEP_RANKS", "1 3 4").split()):
    with test(f"every matrix, CPU kernel, K and precision is the serial product bit for bit on {ranks} ranks"):
        sweep("cpu", ranks, KERNELS, ("-t", 2 if ranks < 3 else 1))
finish()
