"""Products that PyTorch differentiates, the example that trains a network, and the program of docs/PYTHON.md.
limit: 400"""
import command
from command import ROOT, equal, finish, scratch, skip, test, within
from python_package import ENVIRONMENT, missing, python, relay, section

# threads of PyTorch and of libspmm would compete for few cores
ENVIRONMENT["OMP_NUM_THREADS"] = "1"
why = missing()
if why is None and python("-c", "import torch").returncode:
    why = "this Python has no torch"
if why:
    skip("PyTorch differentiates products", why)
    finish()

for ranks in (1, 2, 4):
    command.failed |= relay(ROOT / "tests/python_torch_cases.py", ranks, f"the cases run on {ranks} ranks to their end")


def trained(ranks, *arguments):
    """The line with the hash of the final weights that the example prints."""
    done = python(ROOT / "examples/gcn_training.py", *arguments, ranks=ranks)
    equal(done.returncode, 0, done.stdout[-2000:])
    return [line for line in done.stdout.splitlines() if line.startswith("weights ")][-1]


with test("the example learns the classes on 1, 2 and 4 ranks, and ends in the same bits each time"):
    for ranks in (1, 2, 4):
        equal(trained(ranks, 800, 60), trained(ranks, 800, 60))
with test("(which are others after another number of epochs)"):
    equal(trained(2, 800, 60) == trained(2, 800, 61), False)
with test("the program of docs/PYTHON.md has both gradients on 3 ranks"):
    done = python(scratch("program.py", section("Training") + 'print("done", W.grad.shape, plan.shape)\n'), ranks=3)
    equal(done.returncode, 0, done.stdout[-2000:])
    within(done.stdout, "done torch.Size([8, 4]) (1000, 1000)")
finish()
