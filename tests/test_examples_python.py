"""The examples in Python, on 1, 2 and 4 ranks.
limit: 300"""
import command
from command import MATRICES, ROOT, equal, finish, skip, test, within
from python_package import missing, python

why = missing()
if why:
    skip("the examples in Python run", why)
    finish()
MATRIX = MATRICES[0].parent


def ended(status, sentence, example, *arguments, ranks=2):
    """Checks the example's exit status, and that its output contains the sentence."""
    done = python(ROOT / "examples" / example, *arguments, ranks=ranks)
    equal(done.returncode, status, done.stdout[-2000:])
    within(done.stdout, sentence)


with test("block CG solves for 8 right-hand sides, of which one depends on the others, on 1, 2 and 4 ranks"):
    for ranks in (1, 2, 4):
        ended(0, "K = 8: converged", "block_cg.py", ranks=ranks)
with test("for one, for more than the matrix has rows, and with a real stiffness matrix"):
    for arguments in (("lap2d:9", 1), ("lap2d:3", 16), (MATRIX / "bcsstk16.mtx.gz", 8, 1e-8, 3000)):
        ended(0, ": converged", "block_cg.py", *arguments)
with test("too few rounds and a matrix that is not definite are exit status 1"):
    ended(1, "NOT converged in 9 rounds", "block_cg.py", "lap2d:40", 8, 1e-10, 9)
    ended(1, "NOT converged", "block_cg.py", MATRIX / "G51.mtx", 8, 1e-3)
with test("block MINRES solves an indefinite system for 8 right-hand sides, of which one depends on the others, on 1, 2 and 4 ranks"):
    for ranks in (1, 2, 4):
        ended(0, "K = 8: converged", "block_minres.py", ranks=ranks)
with test("for one, for more than the matrix has rows, and with a matrix that block CG does not take"):
    for arguments in (("lap2d:9", 1), ("lap2d:3", 16), (MATRIX / "G51.mtx", 8, 1e-3, 0.5)):
        ended(0, ": converged", "block_minres.py", *arguments)
with test("energies of a Hermitian matrix are those with SciPy's products, on 1, 2 and 3 ranks"):
    for ranks in (1, 2, 3):
        ended(0, f"complex128 on {ranks} ranks: energies ", "tight_binding.py", 24, ranks=ranks)
with test("too few of its rounds are exit status 1, and so is a matrix that is not square"):
    ended(1, "NOT converged in 9 rounds", "block_minres.py", "lap2d:40", 8, 1e-10, 1, 9)
    ended(1, "expected a square one", "block_minres.py", MATRIX / "lp_e226.mtx")
finish()
