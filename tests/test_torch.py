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


def trained(ranks, *arguments, example="gcn_training.py"):
    """The line with the hash of the final weights that the example prints."""
    done = python(ROOT / "examples" / example, *arguments, ranks=ranks)
    equal(done.returncode, 0, done.stdout[-2000:])
    return [line for line in done.stdout.splitlines() if line.startswith("weights ")][-1]


with test("the example learns the classes on 1, 2 and 4 ranks, and ends in the same bits each time, compiled or not"):
    for ranks in (1, 2, 4):
        equal(trained(ranks, 800, 60, "cpu", "none"), trained(ranks, 800, 60, "cpu", "aot_eager"))
with test("(which are others after another number of epochs)"):
    equal(trained(2, 800, 60, "cpu", "none") == trained(2, 800, 61, "cpu", "none"), False)
with test("the example of learnt edge weights ends in the same bits each time, compiled or not"):
    equal(trained(1, 1000, 60, "cpu", "none", example="edge_weights.py"), trained(1, 1000, 60, "cpu", "aot_eager", example="edge_weights.py"))
with test("the program of docs/PYTHON.md has all gradients, of compiled code"):
    done = python(scratch("program.py", section("Training") + 'print("done", X.grad.shape, W.grad.shape, weights.grad)\n'), ranks=1)
    equal(done.returncode, 0, done.stdout[-2000:])
    within(done.stdout, "done torch.Size([3, 8]) torch.Size([8, 4]) tensor([")
finish()
