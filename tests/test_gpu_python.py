"""The Python package on a GPU: tests/python_gpu_cases.py and, with PyTorch, tests/python_torch_cases.py on 1 and 2 ranks.
limit: 600"""
import command
from command import finish, scratch, skip
from python_package import missing, python, relay

sentence = "the Python package multiplies on a GPU as SciPy does"
why = missing()
if why is None:
    done = python(scratch("open.py", "from mpi4py import MPI\nimport spmm_mpi\nspmm_mpi.device_open(MPI.COMM_WORLD)\n"), ranks=1)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.startswith("spmm_mpi._library.Error")]
        why = lines[0].partition(": ")[2] if lines else done.stdout[-300:]
if why:
    skip(sentence, why)
    finish()
for ranks in (1, 2):
    command.failed |= relay(command.ROOT / "tests/python_gpu_cases.py", ranks, f"the cases run on {ranks} ranks to their end", limit=180)
if python("-c", "import torch\nassert torch.cuda.is_available()").returncode:
    skip("PyTorch differentiates products on a GPU", "this Python has no torch with a GPU")
    finish()
for ranks in (1, 2):
    command.failed |= relay(command.ROOT / "tests/python_torch_cases.py", ranks, f"the cases of PyTorch run on {ranks} ranks to their end", 180, ["cuda"])
finish()
