"""Runs random combinations of options of spmm_mpi and series_mpi with known outcomes, and random products of the library.

    tests/soak.py [-n COUNT] [--library SECONDS] [--seed SEED] [--only I] [--jobs N] [--limit SECONDS] [--keep DIR]

Combination I of a seed is always the same (soak_products.py, soak_series.py). It is valid and must pass, or it is invalid in
one way, with known exit code and message. Y of -o is compared with SciPy's product, coefficients with numpy's, records with
the options; a run that exceeds the limit fails. A combination that fails is printed as a command to paste, and its files are
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
from command import MPIRUN, NO_SERIES, PROGRAM, ROOT, SERIES, equal, patience, within

try:
    import numpy as np
    import soak_products
    import soak_series
    from soak_products import Product, Run
    MISSING = None
except ImportError as error:
    MISSING = str(error)

GROUPS = {"spmm_mpi": ("version", "matrix", "run", "seconds", "apply", "gflops", "imbalance", "error", "memory", "moved"),
          "series_mpi": ("version", "series", "run", "step", "kernel", "seconds", "roofline", "check", "pearson")}


class Known:
    """What this build contains: CPU kernels with their format or step, and METIS or not."""

    def __init__(self):
        def listed(program):
            out = subprocess.run([program, "--list-kernels"], stdout=subprocess.PIPE, text=True, check=True).stdout
            return out, [line.split() for line in out.splitlines() if re.match(r"\w+ +cpu ", line)]
        self.kernels = {w[0]: (w[2], w[3]) for w in listed(PROGRAM)[1]}
        out, rows = ("", []) if NO_SERIES else listed(SERIES)
        self.series = {w[0]: (w[2], w[3]) for w in rows if f"\n{w[0]}: " not in out}
        graph = subprocess.run([*MPIRUN, "-np", "1", PROGRAM, "-q", "-r", "1", "--partition", "graph", "lap2d5:3"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=False)
        self.metis = graph.returncode == 0


def refused_series(rng):
    words, code, message = rng.choice((
        (["--layout", "index", "--kernel", "cpu_sum"], 2, "cpu_sum requires --layout series"),
        (["-o", "r.mtx", "--steps", "mean"], 2, "--output"), (["--epsilon", "101"], 2, "--epsilon 101"),
        (["--steps", "mean", "--kernel", "cpu_dots"], 2, "--steps leaves out"), (["-m", "3", "file"], 2, "--series"),
        (["no/such.csv"], 3, "no/such.csv")))
    return Run(rng.randint(1, 4), ["-d", "cpu", *words], program="series_mpi").refused(code, message)


def accuracy(rng):
    """A run of --accuracy: a table, and a record for each of two precisions and four algorithms."""
    words = ["-m", rng.randint(1, 60), "-n", rng.choice((1, 2, 33, rng.randint(1, 500)))]
    words += ["--tolerance", rng.choice(("0.1", "0,1e-6", "0.5,0.25,1"))] if rng.random() < 0.5 else []
    run = Run(rng.randint(1, 4), ["-d", "cpu", "--accuracy", *words], program="series_mpi")
    run.accuracy = 8
    return run


def draw_series(rng, folder, known):
    kind = rng.random()
    if kind < 0.06:
        return [refused_series(rng)]
    if kind < 0.12:
        return [accuracy(rng)]
    ranks, args, facts, kernels, output, data, tolerance = soak_series.draw(rng, folder, known.series)
    quiet, verified = rng.random() < 0.3, "none" not in args
    run = Run(ranks, ["-d", "cpu", *(["-q"] if quiet else []), *args], program="series_mpi")
    run.last, run.quiet = "PASS" if verified else "DONE, not verified", quiet
    run.record = {"series": facts, "run": {"ranks": ranks, "device": "cpu"}, "check": {"wrong": 0, "passed": verified}}
    run.runs = kernels
    run.output, run.expected = output, (data, tolerance) if tolerance else None
    return [run]


def draw(seed, index, folder, known):
    """The runs of a combination; makes their files in the folder."""
    rng = random.Random(f"{seed}:{index}")
    if rng.random() < 0.15 and known.series:
        return draw_series(rng, folder, known)
    return soak_products.draw(rng, folder, known.kernels, known.metis)


# ---- running ----

def command_of(run, json_path):
    program = {"spmm_mpi": PROGRAM, "series_mpi": SERIES}[run.program]
    recorded = not {"--scatter-only", "--check-conversions", "--convert"}.intersection(run.args)
    return [*MPIRUN, "-np", str(run.ranks), program, *(["--json", json_path] if recorded else []), *run.args]


def pasteable(run, folder):
    words = [f"{name}={shlex.quote(value)}" for name, value in run.env.items()]
    return f"cd {ROOT} && . tests/env.sh && cd {folder} && {' '.join(words)} {shlex.join(command_of(run, 'again.jsonl'))}"


def start(run, folder, limit):
    """Runs a combination: (exit code, output, errors). Ends all its processes at the limit."""
    path = os.path.join(folder, "r.jsonl")
    for name in ("r.jsonl", "r.csv", "y.mtx", "r.mtx"):
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
    equal(len(records), run.accuracy or len(run.runs), "records")
    if run.accuracy:
        equal(sorted(r["precision"] for r in records), ["f32"] * 4 + ["f64"] * 4, "precisions")
        assert all(0 <= r["worst_relative"] < (1e-4 if r["precision"] == "f32" else 1e-12) for r in records), records
        return
    for record, (first, kernel) in zip(records, run.runs):
        for group in GROUPS[run.program]:
            assert group in record, f"the record has no {group}: {record}"
        assert finite(record), record
        agrees(record, run.record, "record")
        if run.program == "spmm_mpi":
            equal(record["run"]["k"], first, "K")
            assert record["run"]["kernel"] in kernel, f"kernel {record['run']['kernel']}, expected one of {kernel}"
            equal(record["run"]["format"], run.known[record["run"]["kernel"]][0], "format")
        else:
            equal((record["step"], record["kernel"]), (first, kernel), "step and kernel")
    if run.csv:
        table = lines_of(os.path.join(folder, run.csv))
        equal(len(table), 1 + len(records), "lines of the CSV file")
        assert table[0].startswith("version,"), table[0]


def check_tables(run, out):
    """Checks the output of runs that end without a product."""
    if run.scattered is not None:
        rows = re.findall(r"^ +(\d+)  \(\d+, \d+\) +\S+ +\d+ +\d+ +\d+ +\d+ +(\d+) +\S+ \S+B? ", out, re.M)
        equal([int(r) for r, _ in rows], list(range(run.ranks)), "ranks of the table")
        equal(sum(int(n) for _, n in rows), run.scattered, "entries of all ranks")
    for ranks, entries in run.planned or ():
        lines = re.findall(rf"^ +{ranks} +(\d+)x(\d+) +(\d+) +[\d.]+ ", out, re.M)
        assert any(int(p) * int(q) == ranks and int(n) * ranks >= entries >= int(n) for p, q, n in lines), (ranks, out)
    if run.converted:
        equal(len(re.findall(r" yes$", out, re.M)), 9, f"conversions that are the same: {out}")


def check(run, folder, limit):
    code, out, err = start(run, folder, limit)
    told = [line for line in err.splitlines() if re.match(r"(spmm|series)_mpi: (error|warning): ", line)]
    equal(code, run.code, f"exit code; {' '.join(told) or err[-600:]}")
    if run.message:
        told = [line for line in told if ": warning: " not in line]
        equal(len(told), 1, f"lines about the error: {told}")
        within(told[0], run.message)
        equal(lines_of(os.path.join(folder, "r.jsonl")), [], "records of a run that was refused")
        return
    equal(told, [], "errors and warnings")
    check_tables(run, out)
    if run.last:
        equal(out.splitlines()[0 if run.quiet else -1], run.last, "the last line")
        equal(run.quiet and len(out.splitlines()) > 1, False, "more than a line in spite of -q")
    if run.record or run.accuracy:
        check_records(run, folder)
    if run.output and run.expected:
        found = matrix_of(os.path.join(folder, run.output))
        if run.program == "series_mpi":
            data, tolerance = run.expected
            expected = soak_series.coefficients(data)
            equal(found.shape, expected.shape, "coefficients")
            far = np.abs(found - expected).max(initial=0)
            assert far <= tolerance, f"a coefficient differs from numpy's by {far}"
        else:
            x, k = run.expected
            single = "f32" in (run.precision, getattr(run, "written_in", None))
            Product(run.matrix, x, k, 2.0 ** -24 if single else 2.0 ** -53).compare(found)


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
