"""The self test of the Python package, python -m spmm_mpi: its report and its exit codes.
limit: 300"""
import re

from command import equal, finish, scratch, skip, test, within
from python_package import LIBRARY, missing, python

why = missing()
if why:
    skip("the self test reports what is installed", why)
    finish()

# as python -m spmm_mpi, after other statements
RUN = "\nimport runpy\nrunpy.run_module('spmm_mpi', run_name='__main__', alter_sys=True)\n"
# a libspmm whose products of plans are wrong in an element of the last rank
WRONG = """
from spmm_mpi import Plan
right = Plan.__matmul__
def wrong(plan, x):
    y = right(plan, x)
    if plan.comm.rank == plan.comm.size - 1:
        y[-1] *= 1 + 1e-3
    return y
Plan.__matmul__ = wrong
"""


for ranks in (1, 2):
    with test(f"it reports versions, the library, right products and their times once ({ranks} rank{'s' * (ranks > 1)})"):
        done = python("-m", "spmm_mpi", ranks=ranks)
        equal(done.returncode, 0, done.stdout)
        lines = done.stdout.splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 100, done.stdout
        for part in (f"{LIBRARY}", "NumPy ", "SciPy ", "mpi4py ", f", {ranks} rank", "per rank"):
            within(done.stdout, part)
        for row in ("GPU", "products", "float64", "float32", "complex128", "complex64", "SciPy", "kernel", "PASS"):
            equal(len(re.findall(rf"^{row} ", done.stdout, re.M)), 1, row)
        assert "WRONG" not in done.stdout, done.stdout

    with test(f"a wrong product of a rank has exit code 1 ({ranks} rank{'s' * (ranks > 1)})"):
        done = python(scratch("wrong.py", WRONG + RUN), ranks=ranks)
        equal((done.returncode, done.stdout.count("WRONG")), (1, 4), done.stdout)
        within(done.stdout, "FAIL           4 of the products above are wrong\n")

    with test(f"without libspmm it says what to do, with exit code 2 ({ranks} rank{'s' * (ranks > 1)})"):
        done = python("-m", "spmm_mpi", ranks=ranks, env={"SPMM_LIBRARY": "/nowhere"})
        equal((done.returncode, done.stdout.count("SPMM_LIBRARY=/nowhere: there is no /nowhere; build libspmm by `make`")), (2, 1), done.stdout)
        assert "Traceback" not in done.stdout, done.stdout

with test("what is not there is skipped, with the reason"):
    done = python(scratch("without.py", "import sys\nsys.modules['torch'] = None\n" + RUN))
    equal(done.returncode, 0, done.stdout)
    within(done.stdout, "PyTorch not installed, ")
    within(done.stdout, "\nPyTorch        skipped: not installed\n")
    assert re.search(r"^GPU +(skipped: |NVIDIA)", done.stdout, re.M), done.stdout
finish()
