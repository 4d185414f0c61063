"""make wheel: its contents, and that it multiplies in an environment without an MPI, and on ranks with an MPICH of pip.
limit: 900"""
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

from command import ROOT, equal, finish, patience, scratch, skip, test, within

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build/cpu-one")).resolve()
CASES = ROOT / "tests/wheel_cases.py"
if not BUILD.name.endswith("-one"):
    skip("make wheel makes a wheel", "this build has an MPI (make check-one-rank)")
    finish()


def ran(*command, env=None, limit=100):
    return subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          timeout=patience(limit), check=False, env=env, cwd=ROOT)


def plain(**more):
    """An environment without variables by which libspmm or the package could be found."""
    kept = {name: value for name, value in os.environ.items() if not re.match("SPMM_|PYTHON|LD_|PKG_CONFIG", name)}
    return {**kept, "OMP_NUM_THREADS": "2", **more}


if not shutil.which(os.environ.get("MPICC_mpich", "mpicc.mpich").split()[0]):
    skip("make wheel makes a wheel", "there is no MPICH")
    finish()

with test("make wheel makes one, and says its size"):
    made = ran("make", "NO_DEPS=1", "CUDA=0", f"BUILDDIR={BUILD.parent}", f"PYTHON={sys.executable}", "wheel", limit=800)
    found = re.search(r"^(\S+\.whl): [\d.]+ MB", made.stdout, re.M)
    assert made.returncode == 0 and found, made.stdout[-2000:]
if not found:
    finish()
wheel = (ROOT / found[1]).resolve()
names = zipfile.ZipFile(wheel).namelist()
read = zipfile.ZipFile(wheel).read

with test("it has the package, libspmm for one process and for MPICH, an OpenMP runtime and the license"):
    interface = re.search(r'SPMM_VERSION "(\d+\.\d+)', (ROOT / "include/spmm_types.h").read_text())[1]
    equal({"spmm_mpi/__init__.py", f"spmm_mpi/lib/libspmm.so.{interface}", f"spmm_mpi/lib/mpich/libspmm.so.{interface}", "spmm_mpi/lib/libgomp.so.1"} - set(names), set())
    equal({n for n in names if n.endswith(".py")}, {f"spmm_mpi/{p.name}" for p in (ROOT / "python/spmm_mpi").glob("*.py")})
    assert any(n.endswith(".dist-info/LICENSE") for n in names), names

with test("RECORD has the sum and the size of every file"):
    record = next(n for n in names if n.endswith("/RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(read(record).decode()))}
    equal(set(rows), set(names))
    for name in set(names) - {record}:
        sum_ = base64.urlsafe_b64encode(hashlib.sha256(read(name)).digest()).rstrip(b"=").decode()
        equal(rows[name], [f"sha256={sum_}", str(len(read(name)))])

with test("it needs NumPy and SciPy; mpi4py is an extra"):
    text = read(next(n for n in names if n.endswith("/METADATA"))).decode()
    equal([line for line in text.splitlines() if line.startswith("Requires-Dist") and "extra" not in line], ["Requires-Dist: numpy>=1.20", "Requires-Dist: scipy>=1.6"])

folder = pathlib.Path(scratch("wheel"))
zipfile.ZipFile(wheel).extractall(folder, [n for n in names if "/lib/" in n])
its_openmp, ours, for_mpich = libraries = [folder / "spmm_mpi/lib" / n for n in ("libgomp.so.1", f"libspmm.so.{interface}", f"mpich/libspmm.so.{interface}")]

if shutil.which("readelf"):
    with test("the platform in its name is the newest glibc that its libraries need"):
        said = "".join(ran("readelf", "-V", p).stdout for p in libraries)
        newest = max(tuple(map(int, v)) for v in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said))
        within(wheel.name, f"-py3-none-manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}.whl")
    for library, more in ((ours, []), (for_mpich, ["libmpi.so.12"])):
        with test(f"libspmm{' for MPICH' * bool(more)} needs nothing but glibc, zlib and OpenMP{' and libmpi.so.12' * bool(more)}"):
            needed = re.findall(r"NEEDED.*\[(.*)\]", ran("readelf", "-d", library).stdout)
            equal([n for n in needed if not re.match(r"lib(c|m|dl|rt|pthread|z|gomp|gcc_s)\.so|ld-linux", n)], more)
else:
    skip("the platform in its name is the newest glibc that its libraries need", "no readelf")

with test("the same files make the same wheel"):
    for place in ("first", "second"):
        done = ran(sys.executable, "mk/wheel.py", "--library", ours, "--mpich", for_mpich, "--openmp", its_openmp, "--out", folder / place)
        assert done.returncode == 0, done.stdout
    equal((folder / "first" / wheel.name).read_bytes(), wheel.read_bytes())
    equal((folder / "first" / wheel.name).read_bytes(), (folder / "second" / wheel.name).read_bytes())

with test("a libspmm that needs a library which others may lack is refused"):
    spoiled = folder / f"libspmm.so.{interface}.9"
    spoiled.write_bytes(ours.read_bytes().replace(b"\0libz.so.1\0", b"\0libq.so.1\0"))
    for one, mpich, sentence in ((spoiled, for_mpich, "needs libq.so.1, expected glibc's libraries"), (ours, spoiled, "needs libq.so.1"),
                                 (for_mpich, shutil.copy(for_mpich, folder / f"libspmm.so.{interface}.7"), "needs libmpi.so.12, expected glibc's libraries"),
                                 (ours, shutil.copy(ours, folder / f"libspmm.so.{interface}.8"), "needs no libmpi.so.12, expected a build with MPICH")):
        done = ran(sys.executable, "mk/wheel.py", "--library", one, "--mpich", mpich, "--openmp", its_openmp, "--out", folder)
        assert done.returncode == 1, done.stdout
        within(done.stdout, sentence)

# ---- installed ----

venv = folder / "venv"
made = ran(sys.executable, "-m", "venv", "--system-site-packages", venv)
python = venv / "bin/python"
if made.returncode or ran(python, "-c", "import pip, numpy, scipy.sparse", env=plain()).returncode:
    skip("an environment without an MPI multiplies with it", "this Python has no venv with pip, or no SciPy")
    finish()

with test("pip installs it without an index"):
    done = ran(python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", wheel, env=plain())
    assert done.returncode == 0, done.stdout

with test("without mpi4py a plan's products are SciPy's, by the libspmm inside"):
    done = ran(python, CASES, "alone", env=plain())
    assert done.returncode == 0, done.stdout
    within(done.stdout, f"{venv}/lib")

with test("there is one OpenMP runtime of that name: the system's"):
    done = ran(python, CASES, "openmp", env=plain())
    assert done.returncode == 0 and len(done.stdout.split()) == 1, done.stdout

with test("where the system has none, it is the one inside"):
    done = ran(python, CASES, "bundled_openmp", env=plain())
    equal(done.stdout.split(), [str(next(venv.rglob("spmm_mpi/lib/libgomp.so.1")))])

with test("a forked process is told, and its parent goes on"):
    done = ran(python, CASES, "forked", env=plain())
    assert done.returncode == 0, done.stdout

with test("products of threads may be the first calls of the process"):
    for again in range(3):
        done = ran(python, CASES.parent / "first_calls.py", 16, env=plain())
        equal((done.returncode, done.stdout), (0, "right\n"))

with test("a wrong communicator is told"):
    within(ran(python, CASES, "wrong", env=plain()).stdout, "was built without MPI (make MPI=0): expected Plan(A)")

for case, sentence in (("torch_first", "PyTorch, imported before it, goes on"), ("torch_last", "so does PyTorch, imported after it")):
    if ran(python, "-c", "import torch", env=plain()).returncode:
        skip(sentence, "no PyTorch")
        continue
    with test(sentence):
        done = ran(python, CASES, case, env=plain())
        assert done.returncode == 0, done.stdout

if ran(python, "-c", "import mpi4py.MPI", env=plain()).returncode:
    skip("a communicator of mpi4py may have one rank", "no mpi4py")
else:
    with test("a communicator of mpi4py may have one rank"):
        done = ran(python, CASES, "mpi", env=plain())
        assert done.returncode == 0, done.stdout
    mpirun = shutil.which("mpirun")
    if mpirun:
        with test("on two ranks what is needed is told"):
            done = ran(mpirun, "-np", 2, python, CASES, "mpi", env=plain())
            assert done.returncode != 0, done.stdout
            within(done.stdout, "comm has 2 ranks, but ")
            within(done.stdout, "was built without MPI (make MPI=0): expected MPICH or Intel MPI (pip install mpi4py mpich), or a libspmm built with mpi4py's MPI")

# ---- on ranks ----

with_mpich = folder / "with_mpich"
python, pip = with_mpich / "bin/python", ("-m", "pip", "install", "--disable-pip-version-check", "--retries", "0", "--no-deps", "--ignore-installed")
ran(sys.executable, "-m", "venv", "--system-site-packages", with_mpich)
if ran(python, *pip, wheel, "mpi4py>=4", "mpich", env=plain(), limit=200).returncode:
    skip("four ranks multiply with an mpi4py and an MPICH of pip", "pip cannot install them here")
    finish()

for case, ranks, library in (("ranks", 4, "lib/mpich/libspmm.so"), ("ranks", 1, "lib/mpich/libspmm.so"), ("alone", 1, "lib/libspmm.so")):
    with test(f"{'without' if case == 'alone' else 'with'} mpi4py and MPICH of pip, {ranks} rank{'s' * (ranks > 1)}: {library}"):
        done = ran(with_mpich / "bin/mpiexec", "-n", ranks, python, CASES, case, env=plain(OMP_NUM_THREADS="1"))
        assert done.returncode == 0, done.stdout
        equal(done.stdout.count(library), ranks, done.stdout)

with test("mpi4py that is imported after a product is told to be imported before it"):
    done = ran(with_mpich / "bin/mpiexec", "-n", 2, python, CASES, "mpi_last", env=plain())
    assert done.returncode != 0, done.stdout
    within(done.stdout, "expected mpi4py.MPI to be imported before the first call of spmm_mpi")

with test("its self test passes on two ranks"):
    done = ran(with_mpich / "bin/mpiexec", "-n", 2, python, "-m", "spmm_mpi", env=plain(OMP_NUM_THREADS="1"))
    equal((done.returncode, done.stdout.count("PASS ")), (0, 1), done.stdout)
    within(done.stdout, ", 2 ranks")

finish()
