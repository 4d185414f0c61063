"""Shared by the tests of the Python package: which Python and libspmm they use, and why they are skipped."""
import os
import pathlib
import re
import subprocess
import sys

from command import MPIRUN, ROOT, patience

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build/cpu")).resolve()
LIBRARY = BUILD / "libspmm.so"
ENVIRONMENT = {"SPMM_LIBRARY": str(LIBRARY), "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "2"}


def python(*args, ranks=0, limit=100, env=None, interpreter=None):
    """Runs Python with the package of this tree and the library of this build; ranks: their number under mpirun, 0: without."""
    launcher = [*MPIRUN, "-np", str(ranks)] if ranks else []
    told = {**os.environ, **ENVIRONMENT, **(env or {})}
    return subprocess.run([*launcher, interpreter or sys.executable, *map(str, args)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=patience(limit), check=False,
                          env={name: value for name, value in told.items() if value is not None})


def missing():
    """The reason why the package cannot be tested here; None: it can."""
    if re.search("asan|tsan", BUILD.name):
        return "not with sanitizers"
    if not LIBRARY.exists():
        return "there is no libspmm.so in this build"
    for module in ("numpy", "scipy.sparse", "mpi4py"):
        if python("-c", f"import {module}").returncode:
            return f"this Python has no {module}"
    done = python("-c", "import spmm_mpi; spmm_mpi.library_path()")
    if done.returncode and re.search("was built with .* and mpi4py with|libmpi|initialize", done.stdout):
        return "mpi4py was built with another MPI"
    return None


def relay(script, ranks, failed, limit=100, arguments=()):
    """Runs a script of cases and prints its lines. Returns whether a case or the script failed; failed: sentence of a FAIL
    line if only the script did."""
    try:
        done = python(script, *arguments, ranks=ranks, limit=limit)
        text, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        text, code = (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else error.stdout or "", "none: it hung"
    lines = [line for line in text.splitlines() if re.match(r"(PASS|FAIL|SKIP|  rank) ", line) or line.startswith("  rank")]
    print("\n".join(lines), flush=True)
    told = any(line.startswith("FAIL ") for line in lines)
    if (code != 0 and not told) or not any(line.startswith("PASS ") for line in lines):
        print(text[-3000:])
        print(f"FAIL {failed}: exit code {code}", flush=True)
        return True
    return told


def section(heading, number=0):
    """A program in docs/PYTHON.md: the block with index `number` below that heading."""
    text = (ROOT / "docs/PYTHON.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", text, re.S)[number]
