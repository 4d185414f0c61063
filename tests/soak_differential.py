"""The part of a soak that calls the library: random products by tests/test_differential.c, on several numbers
of ranks in turn.

That program compares, and reports differences. Here it is started repeatedly until the time is up, each time
with the next cases, and the results of cases are counted, hangs and crashes included. A case that fails is
printed with the command that runs it alone.

Once per round, a fresh process has several threads whose first calls coincide (first_calls.py), with this
build's libspmm and, if there is one, with that of MPI=0."""
import math
import os
import random
import re
import shlex
import subprocess
import tempfile
import time

import python_package
from command import MPIRUN, PROGRAM, ROOT, patience

TESTER = os.path.join(os.path.dirname(os.path.realpath(PROGRAM)), "tests", "test_differential")
RANKS = (1, 2, 3, 4, 6, 1, 2, 4, 5, 8)
FIRST = 0 # in place of a number of ranks: first calls of threads
SHOWN = 3 # most lines about differences that are shown for a case


def alone(ranks, seed, case):
    words = [*MPIRUN, "-np", str(ranks), TESTER, "--seed", str(seed), "--from", str(case)]
    return f"cd {shlex.quote(str(ROOT))} && . tests/env.sh && {shlex.join(words)}"


def outcome(ranks, seed, first, code, out, err):
    """Evaluates the output of a run of the cases from `first` on.
    \\return (number of cases that were run, list with one text per failed case)"""
    failed = []

    def fail(case, what):
        failed.append(f"case {case} of seed {seed} on {ranks} ranks: {what}\n    {alone(ranks, seed, case)}")

    for case in re.findall(rf"^FAIL case (\d+) of seed {seed}:", out, re.M):
        lines = re.findall(rf"^ *(DIFFERENT: case {case} of .*)$", err, re.M)
        fail(case, "\n    ".join(lines[:SHOWN]) or "it differs")
    counted = re.search(r"^\d+ ranks: (\d+) cases, (\d+) failed; ", out, re.M)
    if counted:
        return int(counted[1]), failed
    last = re.search(rf"^((?:HANG|CRASH): case (\d+) of seed {seed}, .*)$", err, re.M)
    if last:
        fail(last[2], last[1])
        return int(last[2]) - first + 1, failed
    failed.append(f"cases from {first} of seed {seed} on {ranks} ranks: exit code {code} without a count: "
                  f"{err[-600:]}\n"
                  f"    {alone(ranks, seed, first)} --cases 1000")
    return len(failed), failed


def run(ranks, seed, first, limits, environment=None, more=()):
    """Runs cases from `first` on. \\param limits  options that limit their number, such as --cases 20"""
    with tempfile.NamedTemporaryFile(mode="r", errors="replace") as words:
        command = [*MPIRUN, "-np", str(ranks), TESTER, "--seed", str(seed), "--from", str(first), "--words",
                   words.name, "--limit", str(math.ceil(patience(60))), *map(str, limits), *more]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **(environment or {})}, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        # words: the ranks' last lines, which mpirun may lose if a rank crashes
        return outcome(ranks, seed, first, done.returncode, done.stdout, done.stderr + words.read())


def first_calls(rng):
    """Runs first_calls.py with each library. \\return (number of runs, list with one text per failed run)"""
    built, failed, threads = python_package.BUILD, [], rng.randint(2, 16)
    libraries = [file for file in (built / "libspmm.so", built.with_name(built.name + "-one") / "libspmm.so") if file.exists()]
    for library in libraries:
        try:
            done = python_package.python(ROOT / "tests/first_calls.py", threads, env={"SPMM_LIBRARY": str(library)})
            text = "" if (done.returncode, done.stdout) == (0, "right\n") else f"exit code {done.returncode}: {done.stdout[-600:]}"
        except subprocess.TimeoutExpired:
            text = "it hung"
        if text:
            failed.append(f"{text}\n    SPMM_LIBRARY={library} PYTHONPATH={ROOT}/python python3 {ROOT}/tests/first_calls.py {threads}")
    return len(libraries), failed


def soak(seconds, seed, tell=print):
    """Runs cases for `seconds`. \\return (passed, failed): numbers, and what went wrong"""
    end, turn = time.monotonic() + seconds, max(1, min(20, int(seconds / len(RANKS))))
    following, cases, failed = dict.fromkeys(RANKS, 0), 0, []
    told, rng, without = time.monotonic(), random.Random(seed), python_package.missing()
    if without:
        tell(f"no first calls of threads: {without}")
    while True:
        for ranks in [*RANKS, *(() if without else (FIRST,))]:
            left = int(end - time.monotonic())
            if left < 1 and cases > 0:
                return cases - len(failed), failed
            if ranks == FIRST:
                ran, wrong = first_calls(rng)
            else:
                ran, wrong = run(ranks, seed, following[ranks], ("--seconds", max(1, min(turn, left))))
                following[ranks] += ran
            cases += ran
            failed += wrong
            for text in wrong:
                tell(f"FAIL {text}")
            if time.monotonic() - told > 60:
                told = time.monotonic()
                tell(f"{cases} cases of the library, {len(failed)} failed")
