"""Matrices of CuPy and PyTorch in GPU memory: tests/python_gpu_matmul_cases.py in one process, with this build's libspmm, or, if
mpi4py is missing, with that of `make CUDA=1 MPI=0`.
limit: 300"""
import subprocess

import command
from command import ROOT, finish, skip
from python_package import LIBRARY, missing, python

SENTENCE = "matrices in the memory of a GPU are multiplied there"
ONE_RANK = ROOT / "build/cuda-one/libspmm.so"

why = missing()
library = LIBRARY if why is None else ONE_RANK
if why and not ONE_RANK.exists():
    skip(SENTENCE, f"{why}, and there is no {ONE_RANK.relative_to(ROOT)}")
    finish()
told = {"SPMM_LIBRARY": str(library)}
done = python("-c", "import spmm_mpi._world as world\nimport spmm_mpi\nspmm_mpi.device_open(world.own())\n", env=told)
if done.returncode:
    skip(SENTENCE, done.stdout.strip().splitlines()[-1])
    finish()
try:
    done = python(ROOT / "tests/python_gpu_matmul_cases.py", env=told, limit=200)
    print(done.stdout, end="", flush=True)
    if done.returncode and "FAIL " not in done.stdout:
        print(f"FAIL the cases run to their end: exit code {done.returncode}")
    command.failed |= done.returncode != 0
except subprocess.TimeoutExpired:
    print("FAIL the cases run to their end: they hung")
    command.failed = True
finish()
