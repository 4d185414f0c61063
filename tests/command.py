"""Runs spmm_mpi for the tests: one place for mpirun, time limits, records and PASS lines."""
import glob
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("SPMM_MPI", str(ROOT / "spmm_mpi"))
SERIES = os.path.join(os.path.dirname(PROGRAM), "series_mpi")
NO_SERIES = None if os.path.exists(SERIES) else "the build is without series_mpi (SERIES=0)"
LINKED = pathlib.Path(os.environ.get("BUILD", os.path.dirname(PROGRAM)), "link-flags")
PROGRAMS = (PROGRAM,) if NO_SERIES else (PROGRAM, SERIES)
MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
MATRICES = sorted(p for p in (ROOT / "matrices").iterdir() if ".mtx" in p.name)
SCRATCH = tempfile.TemporaryDirectory(prefix="spmm-command.")
failed = 0


class Result:
    def __init__(self, code, out, err, records):
        self.code, self.out, self.err, self.records = code, out, err, records

    def error_lines(self):
        """Lines that the program, not mpirun, printed about an error."""
        return [line for line in self.err.splitlines() if line.startswith(("spmm_mpi: error: ", "series_mpi: error: "))]


def scratch(name, text=None):
    """The path of a file in this test's temporary folder; with text, the file is written."""
    path = os.path.join(SCRATCH.name, name)
    if text is not None:
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
    return path


def parts(path):
    """The temporary files of an output that is being written, or was left incomplete."""
    return glob.glob(glob.escape(path) + ".part*")


def patience(seconds):
    """A time limit, which is extended on a busy machine (tests/patience); for all that may hang or wait."""
    if time.monotonic() - patience.asked > 5:
        patience.asked = time.monotonic()
        patience.factor = float(subprocess.run([ROOT / "tests/patience"], capture_output=True, text=True, check=True).stdout)
    return seconds * patience.factor


patience.asked, patience.factor = -math.inf, 1


def run(*args, ranks=1, env=None, cwd=None, limit=60, stdout=subprocess.PIPE, records=True, launcher=None,
        program=PROGRAM):
    """mpirun -np ranks program args; launcher: instead of mpirun -np ranks. A run beyond its limit (see patience())
    raises: nothing may hang."""
    path = scratch("records.jsonl")
    if os.path.exists(path):
        os.remove(path)
    command = [*(launcher or [*MPIRUN, "-np", str(ranks)]), program, *map(str, args)]
    if records and not {"--json", "--convert", "--scatter-only", "--check-conversions"}.intersection(args):
        command += ["--json", path]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          timeout=patience(limit), cwd=cwd, env={**os.environ, **(env or {})})
    lines = open(path).read().splitlines() if os.path.exists(path) else []
    return Result(done.returncode, done.stdout or "", done.stderr, [json.loads(line) for line in lines])


class test:
    """with test("a sentence"): it passes if no assertion inside fails."""

    def __init__(self, sentence):
        self.sentence = sentence

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        global failed
        if error is None:
            print("PASS", self.sentence, flush=True)
            return True
        if not issubclass(kind, Exception):
            return False
        failed = 1
        where = trace
        while where.tb_next and where.tb_frame.f_code.co_filename != sys.modules["__main__"].__file__:
            where = where.tb_next
        text = f"{error}"
        if isinstance(error, subprocess.TimeoutExpired):
            text = f"ran longer than {error.timeout} s: {' '.join(error.cmd)}"
        print(f"  line {where.tb_lineno}: {kind.__name__}: {text[:2000]}")
        print("FAIL", self.sentence, flush=True)
        return True


def skip(sentence, why):
    print(f"SKIP {sentence}: {why}", flush=True)


def equal(found, expected, what=""):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


def ended(result, code):
    """Checks the exit code of a job that one rank aborted. MPICH's launcher combines it from the codes of all ranks and the
    signals that ended them: any code other than 0 is then accepted."""
    hydra = "HYDRA" in subprocess.run([MPIRUN[0], "--version"], capture_output=True, text=True, check=False).stdout
    assert result.code == code or hydra and result.code, f"exit code {result.code}, expected {code}: {result.err}"


def within(text, part):
    assert part in text, f"{part!r} is not in {text!r}"


def refused(result, code, *parts, what=""):
    """Checks the exit code, and that the program printed one line about an error, with these parts."""
    equal((result.code, len(result.error_lines())), (code, 1), f"{what}: {result.err}")
    for part in parts:
        within(result.error_lines()[0], part)


def exactness():
    """{kernel: yes, no, f64 or to}: the column `exact` of --list-kernels."""
    if not exactness.known:
        for line in run("--list-kernels", records=False).out.splitlines():
            words = line.split()
            if len(words) > 4 and words[1] in ("cpu", "cuda"):
                exactness.known[words[0]] = words[3]
    return exactness.known


exactness.known = {}


def verified(result, what, count=None):
    """Checks exit code 0, and that every record passed, with the bits of the serial product if its kernel promises them
    and no row is summed by several ranks."""
    equal(result.code, 0, f"{what}: exit code; {result.err[-500:]}")
    if count is not None:
        equal(len(result.records), count, f"{what}: records")
    for r in result.records:
        e = r["error"]
        exact = exactness()[r["run"]["kernel"]]
        whole = r["run"]["grid"][1] == 1 and r["run"]["exchange"] != "joint"
        promised = exact in ("yes", r["run"]["precision"]) and whole
        assert e["passed"] and e["wrong"] == 0, f"{what}: {r['run']} {e}"
        assert e["different"] == 0 or not promised, f"{what}: {r['run']} {e}"


def sweep(device, ranks, kernels, extra=()):
    """Runs every matrix of matrices/ x precision x kernels of the device x K on that many ranks."""
    columns = "1,2,3,4,7,8,16,33,64"
    for matrix in MATRICES:
        for precision in ("f64", "f32"):
            result = run("-d", device, "--kernel", "all", "-k", columns, "-p", precision, "-r", 1, "--warmup", 0,
                         "--ell-limit", 1e6, "-q", *extra, matrix, ranks=ranks)
            verified(result, f"{matrix.name} {precision} {ranks} ranks", 9 * kernels)


def finish():
    SCRATCH.cleanup()
    sys.exit(failed)
