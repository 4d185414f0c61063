"""matmul of the Python package: tests/python_matmul_cases.py, on one rank and on several independent ranks, and the program of
docs/PYTHON.md.
limit: 300"""
import command
from command import ROOT, equal, finish, scratch, skip, test
from python_package import missing, python, relay, section

why = missing()
if why:
    skip("matmul multiplies as SciPy does", why)
    finish()

for ranks in (1, 2):
    command.failed |= relay(ROOT / "tests/python_matmul_cases.py", ranks, f"the cases run on {ranks} ranks to their end")

with test("products of threads may be the first calls of the process"):
    for again in range(3):
        done = python(ROOT / "tests/first_calls.py", 16)
        equal((done.returncode, done.stdout), (0, "right\n"))

with test("the program of docs/PYTHON.md has SciPy's product, before and after the values change"):
    done = python(scratch("program.py", section("A product without ranks") + "assert abs(Y - A @ X).max() < 1e-12 and abs(Y).max() > 1\n"))
    equal(done.returncode, 0, done.stdout[-2000:])
finish()
