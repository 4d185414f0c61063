"""The Python package on a GPU: tests/python_gpu_cases.py on 1 and 2 ranks.
limit: 400"""
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
finish()
