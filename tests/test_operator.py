"""Plans as operators of SciPy's solvers: tests/python_operator_cases.py on 1 to 4 ranks, and the program of docs/PYTHON.md.
limit: 300"""
import command
from command import MATRICES, ROOT, equal, finish, scratch, skip, test, within
from python_package import missing, python, relay, section

why = missing()
if why:
    skip("SciPy's solvers multiply by a plan on all ranks", why)
    finish()

for ranks in (1, 2, 4):
    command.failed |= relay(ROOT / "tests/python_operator_cases.py", ranks, f"the cases run on {ranks} ranks to their end")

with test("the program of docs/PYTHON.md has the eigenvalues on 3 ranks"):
    program = scratch("program.py", section("SciPy's solvers").replace('"A.mtx"', f'"{MATRICES[0].parent / "nos4.mtx"}"'))
    done = python(program, ranks=3)
    equal(done.returncode, 0, done.stdout[-2000:])
    within(done.stdout, "0.849")  # the largest eigenvalue of nos4 is 0.84913861
finish()
