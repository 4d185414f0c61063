"""The Python package: its copy of the headers' declarations, how it finds libspmm, how it is installed, and
tests/python_cases.py on 1 to 4 ranks.
limit: 400"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import command
from command import MATRICES, ROOT, equal, finish, scratch, skip, test, within
from python_package import BUILD, LIBRARY, missing, python, relay

why = missing()
if why:
    skip("the Python package multiplies as SciPy does", why)
    finish()
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True
os.environ["SPMM_LIBRARY"] = str(LIBRARY)
from spmm_mpi import _library  # noqa: E402 (from the tree, not installed)

HEADERS = (ROOT / "include/spmm_types.h").read_text() + "".join(
    (ROOT / "include" / name).read_text() for name in ("spmm.h", "spmm_extended.h"))

# ---- the copy of the headers' declarations ----

STRUCTURES = {"spmm_csr": _library.Csr, "spmm_multivector": _library.Multivector, "spmm_block": _library.Block,
              "spmm_plan_options": _library.Options, "spmm_plan_study": _library.Study, "spmm_rows": _library.Rows,
              "spmm_cut": _library.Cut}
PREFIX = {"device": "SPMM_", "format": "SPMM_", "exchange": "SPMM_EXCHANGE_", "transport": "SPMM_TRANSPORT_", "reduce": "SPMM_REDUCE_",
          "cut": "SPMM_CUT_"}


def constants():
    """{C's name of an enumerator: its number in the package}"""
    found = {"SPMM_F64": _library.F64, "SPMM_F32": _library.F32}
    for option, prefix in PREFIX.items():
        for word, number in _library.WORDS[option].items():
            name = "FORMAT_AUTO" if (option, word) == ("format", "auto") else word.upper().replace("-", "_")
            found[prefix + name] = number
    for status in _library.Status:
        found["SPMM_OK" if status == 0 else f"SPMM_ERR_{status.name}"] = int(status)
    return found


def compiled(lines):
    """The lines that a C program with those statements prints, compiled with the headers of this tree."""
    source = scratch("mirror.c", "#include <stdio.h>\n#include <stddef.h>\n#include <spmm_extended.h>\nint main(void)\n{\n"
                     + "\n".join(lines) + "\nreturn 0;\n}\n")
    program = scratch("mirror")
    subprocess.run([*os.environ.get("MPICC", "mpicc").split(), "-std=c11", "-DSPMM_NO_MPI_CHECK", f"-I{ROOT / 'include'}", source, "-o", program], check=True)
    return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def members(structure):
    """The names of a structure's members, in the header's order."""
    body = re.search(rf"typedef struct {structure} \{{(.*?)\}} {structure};", without_comments(HEADERS), re.S)[1]
    return [name for names in re.findall(r"^\s*[\w ]+?[ *]+(\w+(?:, \*?\w+)*)(?:\[\d+\])?;", body, re.M) for name in re.split(r", \*?", names)]


with test("structures have the members, sizes and offsets that the C compiler gives them"):
    expected, lines = [], []
    for name, mirror in STRUCTURES.items():
        equal([field for field, _ in mirror._fields_], members(name), name)
        expected.append(str(_library.ctypes.sizeof(mirror)))
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        for field, kind in mirror._fields_:
            expected.append(f"{getattr(mirror, field).offset} {_library.ctypes.sizeof(kind)}")
            lines.append(f'printf("%zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    equal(compiled(lines), expected)

with test("words and statuses have the numbers of the enumerations, and none is missing"):
    numbers = constants()
    equal(compiled(f'printf("%d\\n", (int){name});' for name in numbers), [str(n) for n in numbers.values()])
    equal(compiled(f'printf("%d\\n", (int){name});' for name in ("SPMM_STATUS_COUNT", "SPMM_FORMAT_COUNT")),
          [str(len(_library.Status)), str(len(_library.WORDS["format"]))])
    for option in ("exchange", "transport", "reduce"):
        declared = re.search(rf"typedef enum spmm_{option} \{{(.*?)\}}", without_comments(HEADERS), re.S)[1]
        equal(len(re.findall(r"SPMM_\w+ *=", re.sub(r"=\s+", "= ", declared))), len(_library.WORDS[option]), option)

with test("functions have the arguments of the header"):
    def kinds(declaration):
        for argument in declaration.split(","):
            kind = re.sub(r"\bconst\b|\w+$", "", argument.strip()).strip()
            yield "pointer" if "*" in argument else {"MPI_Comm": "comm", "int64_t": "c_long", "double": "c_double", "spmm_complex": "Complex"}.get(kind, "c_int")

    def mirrored(argument):
        name = getattr(argument, "__name__", "")
        return "pointer" if name.startswith("LP_") or name in ("c_void_p", "c_char_p") else name
    comm = type("comm", (), {})
    for name, (_, arguments) in {**_library.prototypes(comm), **_library.newer(comm)}.items():
        declared = re.search(rf"\b{name}\(([^)]*)\);", without_comments(HEADERS))
        if declared is None and name in _library.newer(comm):
            continue
        equal([mirrored(a) for a in arguments], [] if declared[1] == "void" else list(kinds(declared[1])), name)

with test("the package has the version of the library"):
    within(HEADERS, f'#define SPMM_VERSION "{_library.VERSION}"')

# ---- finding libspmm ----


def found(code="import spmm_mpi; print(spmm_mpi.library_path())", **env):
    done = python("-c", code, env={"SPMM_LIBRARY": None, "LD_LIBRARY_PATH": None, "PKG_CONFIG_PATH": None, **env})
    return done.stdout.strip()


with test("libspmm is found by SPMM_LIBRARY, a file or a folder, by pkg-config, and where the loader looks"):
    equal(found(SPMM_LIBRARY=str(LIBRARY)), str(LIBRARY))
    equal(os.path.realpath(found(SPMM_LIBRARY=str(BUILD))), str(LIBRARY.resolve()))
    equal(found(LD_LIBRARY_PATH=str(BUILD)), _library.SONAME)
    if shutil.which("pkg-config"):
        scratch("spmm.pc", f"libdir={BUILD}\nName: spmm\nDescription: a test's\nVersion: 0\n")
        equal(found(PKG_CONFIG_PATH=command.SCRATCH.name), str(BUILD / _library.SONAME))

with test("a libspmm that is not there, is none, or has another interface is an error that says what to do"):
    for path, part in ((scratch("nothing.so"), "there is no"), (scratch("libspmm.so", b"no library"), "was not found"),
                       (command.SCRATCH.name, "was not found")):
        text = found(SPMM_LIBRARY=path)
        within(text, "spmm_mpi._library.Error: ")
        within(text, part)
        within(text, "make install PREFIX=DIR")
    other = scratch("libspmm.so.0.1")
    shutil.copy(LIBRARY, other)
    within(found(SPMM_LIBRARY=other), f"has interface 0.1, and the package spmm_mpi {_library.VERSION} needs interface {_library.INTERFACE}")
    source = scratch("newer.c", "const char *spmm_version(int *a, int *b, int *c) { *a = 7; *b = 1; *c = 2; return \"7.1.2\"; }\n")
    newer = scratch("libnewer.so")
    subprocess.run([*os.environ.get("MPICC", "mpicc").split(), "-shared", "-fPIC", source, "-o", newer], check=True)
    within(found(SPMM_LIBRARY=newer), f"is libspmm 7.1.2, and the package spmm_mpi {_library.VERSION} needs {_library.INTERFACE}")
    if not found().startswith(("/", "libspmm")):
        within(found(), "libspmm was not found")

with test("every rank has that exception, if one alone does not find it"):
    script = scratch("alone.py", """
import os
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    os.environ["SPMM_LIBRARY"] = "/nowhere"
import scipy.sparse, spmm_mpi
try:
    spmm_mpi.Plan(MPI.COMM_WORLD, scipy.sparse.eye(9, format="csr") if MPI.COMM_WORLD.rank == 0 else None, 1)
except spmm_mpi.Error as error:
    print(f"told {error}")
""")
    equal(python(script, ranks=3).stdout.count("told rank 1: SPMM_LIBRARY=/nowhere: "), 3)

with test("a libspmm of another MPI is refused before it is called"):
    text = found("""
import ctypes
from spmm_mpi import _library
class Function:
    def __call__(self, text, length):
        text.value = b"MPICH Version: 4.0"
class Other:
    MPI_Get_library_version = Function()
_library.check_mpi(Other, "libspmm.so")
""", SPMM_LIBRARY=str(LIBRARY))
    within(text, "libspmm.so was built with MPICH Version: 4.0, and mpi4py with ")

# ---- the end of a program ----

END = """
import sys
from mpi4py import MPI
import numpy, scipy.sparse, spmm_mpi
comm = MPI.COMM_WORLD
plan = spmm_mpi.Plan(comm, scipy.sparse.eye(40, format="csr") if comm.rank == 0 else None, 3)
x, y = plan.x_zeros(), plan.y_zeros()
x[:] = 1
plan.apply(x, out=y)
print("right" if (y == 1).all() else "wrong", flush=True)
"""
for what, code in (("that never closes its plan", ""), ("that leaves a circle of references to it", "plan.itself = plan"),
                   ("that closes it after MPI_Finalize", "MPI.Finalize(); plan.close()"),
                   ("that closes it after a product by the transpose and MPI_Finalize", "plan.T @ y; MPI.Finalize(); plan.close()"),
                   ("that closes it and keeps its arrays", "plan.close()"), ("that calls sys.exit", "sys.exit(0)")):
    with test(f"a program {what} ends well"):
        done = python("-W", "ignore::ResourceWarning", scratch("end.py", END + code + "\n"), ranks=3, limit=60)
        equal((done.returncode, done.stdout.count("right")), (0, 3), done.stdout[-1500:])
with test("a program that loses plans of several ranks names them at its end"):
    done = python("-W", "ignore::ResourceWarning", scratch("lost.py", END + "plan.itself = plan\ndel plan\n"), ranks=2, limit=60)
    equal((done.returncode, done.stdout.count("1 plan of several ranks was not closed")), (0, 1), done.stdout[-1500:])
with test("a product after MPI_Finalize is refused"):
    done = python(scratch("end.py", END + "MPI.Finalize()\ntry:\n    plan @ x\nexcept spmm_mpi.Error as error:\n    print(error)\n"),
                  ranks=2, limit=60)
    equal((done.returncode, done.stdout.count("spmm_apply: MPI is not running")), (0, 2), done.stdout[-1500:])

with test("a process that is forked, by multiprocessing too, is refused everything but to free the plan"):
    script = scratch("fork.py", END + """
import multiprocessing, os, signal
z = numpy.ones((3, 2))
calls = [lambda: plan @ x, lambda: plan.apply(x, out=y), lambda: plan.T @ y, plan.x_zeros, plan.block, lambda: plan.prepare(3), plan.view,
         lambda: plan.update_values(None), lambda: spmm_mpi.Plan(comm, None), lambda: spmm_mpi.dot(comm, x), lambda: spmm_mpi.norms(comm, x),
         lambda: spmm_mpi.times(z, z[:2]), lambda: spmm_mpi.axpby(1, z, 0, z), lambda: spmm_mpi.scale(2, z), lambda: spmm_mpi.device_open(comm)]
def refused():
    signal.alarm(50)
    said = []
    for call in calls:
        try:
            call()
        except spmm_mpi.Error as error:
            said.append("was forked from one that uses libspmm" in str(error) and error.status == spmm_mpi.Status.USAGE)
    plan.close()
    os._exit(0 if said == [True] * len(calls) else 1)
child = multiprocessing.get_context("fork").Process(target=refused)
child.start()
child.join()
other = os.fork()
if other == 0:
    with plan._lock:
        refused()
print("told" if (child.exitcode, os.waitpid(other, 0)[1]) == (0, 0) else f"not told {child.exitcode}", flush=True)
plan.apply(x, out=y)
print("right" if (y == 1).all() else "wrong", flush=True)
plan.close()
""")
    done = python(script, ranks=2, limit=110)
    equal((done.returncode, done.stdout.count("right"), done.stdout.count("told"), done.stdout.count("not")), (0, 4, 2, 0), done.stdout[-1500:])

with test("a process that is forked while a thread loads libspmm is refused, too, without waiting for that thread"):
    script = scratch("fork_loading.py", """
import os, signal, threading
from spmm_mpi import Error, _library
open_library, inside, forked = _library.open_library, threading.Event(), threading.Event()
def slowly():
    inside.set()
    forked.wait()
    return open_library()
_library.open_library = slowly
thread = threading.Thread(target=_library.library_path)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        _library.library_path()
    except Error as error:
        os._exit("was forked" not in str(error))
    os._exit(2)
code = os.waitpid(child, 0)[1]
forked.set()
thread.join()
print(code, _library.library_path())
""")
    done = python(script)
    equal(done.stdout, f"0 {LIBRARY}\n")

# ---- installing it ----


WHY_NOT = "no venv, pip, wheel or setuptools from version 61"


def installed():
    """A function that runs the Python of a new virtual environment, in which pip can install the package without a
    network; None if that is not possible here."""
    place = scratch("venv")
    needs = [("-m", "venv", "--system-site-packages", place), ("-c", "import wheel, setuptools; assert int(setuptools.__version__.split('.')[0]) > 60")]
    if any(python(*args, env={"PYTHONPATH": None}).returncode for args in needs):
        return None
    interpreter = os.path.join(place, "bin", "python")
    # (a virtual environment made in another one does not see the packages of the latter)
    seen = {"PYTHONPATH": python("-c", "import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))").stdout.strip()}
    if python("-m", "pip", "--version", interpreter=interpreter, env=seen).returncode:
        return None
    return lambda *args: python(*args, interpreter=interpreter, env=seen)


environment = installed()
sentence = "pip installs it, and it is found there with the version of the library"
if environment is None:
    skip(sentence, WHY_NOT)
else:
    with test(sentence):
        tree = shutil.copytree(ROOT / "python", scratch("python"), ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        before = set(pathlib.Path(tree).rglob("*"))
        done = environment("-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", scratch("python"))
        equal(done.returncode, 0, done.stdout[-3000:])
        done = environment("-c", "import spmm_mpi; print(spmm_mpi.__file__, spmm_mpi.__version__, spmm_mpi.library_path())")
        within(done.stdout, command.SCRATCH.name)
        within(done.stdout, f"{_library.VERSION} {LIBRARY}")
    with test("and leaves no file in the tree"):
        equal(sorted(map(str, set(pathlib.Path(tree).rglob("*")) - before)), [])

with test("the example with SciPy's LOBPCG finds the eigenvalues that SciPy finds alone"):
    for ranks, arguments in ((1, ()), (3, (MATRICES[0].parent / "bcsstk16.mtx.gz", 3, 1e-5))):
        done = python(ROOT / "examples/lobpcg_scipy.py", *arguments, ranks=ranks)
        equal(done.returncode, 0, done.stdout[-2000:])
        within(done.stdout, "both agree")

with test("the bench of its overhead runs, and every contender has the same product"):
    done = python(ROOT / "bench/python_overhead.py", "--seconds", 0.01, "--rows", 400, ranks=1)
    equal(done.returncode, 0, done.stdout[-2000:])
    within(done.stdout, "plan @ X")

# ---- what it computes and refuses ----

worst = 0
for ranks in (1, 2, 3, 4):
    worst |= relay(ROOT / "tests/python_cases.py", ranks, f"the cases run on {ranks} ranks to their end")
    worst |= relay(ROOT / "tests/python_multivector_cases.py", ranks, f"those of multivectors run on {ranks} ranks to their end")
command.failed |= worst
finish()
