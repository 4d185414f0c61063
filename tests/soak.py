"""Runs random combinations of options of spmm_mpi with known outcomes, and random products of the library.

    tests/soak.py [-n COUNT] [--library SECONDS] [--seed SEED] [--only I] [--jobs N] [--limit SECONDS] [--keep DIR]

Combination I of a seed is always the same (soak_products.py). It is valid and must pass. Y of -o is compared with SciPy's
product, records with the options; a run that exceeds the limit fails. A combination that fails is printed as a command to paste, and its files are
kept. The library's part (soak_differential.py) takes --library SECONDS, matmul of Python (soak_matmul.py) a tenth of it. The last line,
of all parts, is
`N passed, N failed, N skipped`."""
import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import python_package
import soak_differential
from command import MPIRUN, PROGRAM, ROOT, equal, patience

try:
    import numpy as np
    import soak_products
    from soak_products import Product
    MISSING = None
except ImportError as error:
    MISSING = str(error)

GROUPS = ("version", "matrix", "run", "seconds", "apply", "gflops", "imbalance", "error", "memory", "moved")


class Known:
    """What this build contains: CPU kernels with their format, and METIS or not."""

    def __init__(self):
        listed = subprocess.run([PROGRAM, "--list-kernels"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.kernels = {w[0]: (w[2], w[3]) for w in map(str.split, re.findall(r"^\w+ +cpu .*", listed, re.M))}
        graph = subprocess.run([*MPIRUN, "-np", "1", PROGRAM, "-q", "-r", "1", "--partition", "graph", "lap2d5:3"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
        self.metis = graph.returncode == 0


def draw(seed, index, folder, known):
    """The runs of a combination; makes their files in the folder."""
    return soak_products.draw(random.Random(f"{seed}:{index}"), folder, known.kernels, known.metis)


# ---- running ----

def command_of(run, json_path):
    return [*MPIRUN, "-np", str(run.ranks), PROGRAM, "--json", json_path, *run.args]


def pasteable(run, folder):
    words = [f"{name}={shlex.quote(value)}" for name, value in run.env.items()]
    return f"cd {ROOT} && . tests/env.sh && cd {folder} && {' '.join(words)} {shlex.join(command_of(run, 'again.jsonl'))}"


def start(run, folder, limit):
    """Runs a combination: (exit code, output, errors). Ends all its processes at the limit."""
    path = os.path.join(folder, "r.jsonl")
    for name in ("r.jsonl", "r.csv", "y.mtx"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    # (a separate TMPDIR: Open MPI's mpirun removes a folder there that another mpirun may be about to use)
    process = subprocess.Popen(command_of(run, path), cwd=folder, env={**os.environ, **run.env, "TMPDIR": folder},
                               text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=patience(limit))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise AssertionError(f"ran longer than {limit} s") from None
    return process.returncode, out, err


# ---- checking ----

def lines_of(path):
    return open(path).read().splitlines() if os.path.exists(path) else []


def matrix_of(path):
    """The matrix of a Matrix Market array file, read without SciPy."""
    lines = [line for line in lines_of(path) if not line.startswith("%")]
    rows, cols = map(int, lines[0].split())
    return np.array(lines[1:], dtype=np.float64).reshape(cols, rows).T


def agrees(found, expected, what):
    for name, value in expected.items():
        if isinstance(value, dict):
            agrees(found[name], value, f"{what}.{name}")
        else:
            equal(found[name], value, f"{what}.{name}")


def finite(value):
    """Are all numbers finite? (JSON has no nan; null: not measured.)"""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    return not isinstance(value, float) or math.isfinite(value)


def check_records(run, folder):
    records = [json.loads(line) for line in lines_of(os.path.join(folder, "r.jsonl"))]
    equal(len(records), len(run.runs), "records")
    for record, (k, kernels) in zip(records, run.runs):
        for group in GROUPS:
            assert group in record, f"the record has no {group}: {record}"
        assert finite(record), record
        agrees(record, run.record, "record")
        equal(record["run"]["k"], k, "K")
        assert record["run"]["kernel"] in kernels, f"kernel {record['run']['kernel']}, expected one of {kernels}"
        equal(record["run"]["format"], run.known[record["run"]["kernel"]][0], "format")
    if run.csv:
        table = lines_of(os.path.join(folder, run.csv))
        equal(len(table), 1 + len(records), "lines of the CSV file")
        assert table[0].startswith("version,"), table[0]


def check(run, folder, limit):
    code, out, err = start(run, folder, limit)
    told = [line for line in err.splitlines() if re.match(r"spmm_mpi: (error|warning): ", line)]
    equal(code, 0, f"exit code; {' '.join(told) or err[-600:]}")
    equal(told, [], "errors and warnings")
    equal(out.splitlines()[0 if run.quiet else -1], run.last, "the last line")
    equal(run.quiet and len(out.splitlines()) > 1, False, "more than a line in spite of -q")
    check_records(run, folder)
    if run.expected:
        single = "f32" in (run.precision, run.written_in)
        Product(run.matrix, run.expected, 2.0 ** -24 if single else 2.0 ** -53).compare(matrix_of(os.path.join(folder, run.output)))


def combination(seed, index, known, parent, limit):
    """Runs a combination. Returns None, or a text on what went wrong."""
    folder = os.path.join(parent, f"{seed}-{index}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run = None
    try:
        for run in draw(seed, index, folder, known):
            check(run, folder, limit)
    except Exception as error: # any error is reported, and the soak goes on
        text = f"combination {index} of seed {seed} (--seed {seed} --only {index}): "
        text += f"{type(error).__name__}: {str(error)[:1500]}"
        return text + (f"\n    {pasteable(run, folder)}" if run else "")
    shutil.rmtree(folder)
    return None


def soak(seed, indices, jobs, limit=60, parent=None, tell=print):
    """Runs the combinations with these numbers. \return (passed, failed): numbers, and what went wrong"""
    known, failed = Known(), []
    parent = parent or tempfile.mkdtemp(prefix="spmm-soak.")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        jobs = {pool.submit(combination, seed, i, known, parent, limit): i for i in indices}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            if job.result():
                failed.append(job.result())
                tell(f"FAIL {job.result()}")
            if done % 100 == 0 and done < len(jobs):
                tell(f"{done} of {len(jobs)}, {len(failed)} failed")
    if not failed:
        shutil.rmtree(parent, ignore_errors=True)
    return len(jobs) - len(failed), failed


def matmul(seconds, seed, tell=print):
    """Runs products by matmul of the Python package. \return (passed, failed): numbers, and what went wrong"""
    done = python_package.python(ROOT / "tests/soak_matmul.py", "--seed", seed, "--seconds", seconds, limit=seconds + 60)
    tell(done.stdout.rstrip())
    cases = re.search(r"^(\d+) cases, (\d+) failed$", done.stdout, re.M)
    failed = re.findall("^FAIL .*", done.stdout, re.M) if cases else [f"soak_matmul.py of seed {seed}: exit code {done.returncode}"]
    return int(cases[1]) - len(failed) if cases else 0, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--count", type=int, default=2000)
    parser.add_argument("--library", type=float, default=0, metavar="SECONDS", help="time for random products of the library")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="I", help="run only combination I")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=60, metavar="SECONDS", help="after which a run counts as failed (default 60)")
    parser.add_argument("--keep", metavar="DIR", help="folder for files; those of failed combinations are kept")
    options = parser.parse_args()
    indices = range(options.count) if options.only is None else [options.only]
    keep = options.keep and os.path.abspath(options.keep)

    def tell(text):
        print(text, flush=True)

    passed, failed, skipped = 0, [], 0
    if MISSING:
        tell(MISSING)
        skipped = len(indices)
    elif indices:
        passed, failed = soak(options.seed, indices, options.jobs, options.limit, keep, tell)
    if options.library > 0 and options.only is None:
        tell(f"{passed} combinations passed, {len(failed)} failed; products by the library for {options.library:.0f} s:")
        more, wrong = soak_differential.soak(options.library, options.seed, tell)
        passed, failed = passed + more, failed + wrong
    if options.library > 0 and options.only is None and not python_package.missing():
        more, wrong = matmul(options.library / 10, options.seed, tell)
        passed, failed = passed + more, failed + wrong
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
