#!/usr/bin/env python3
"""Measures the product on this machine: on 1, 2, 4, .. cores, on ranks x threads, on its GPUs, and by other libraries.

    make bench-all [MATRICES="FILE.."] [RECORDS=DIR]
    bench/all.py [--program ./spmm_mpi] [--mpirun COMMAND] [-k 1,8,64] [--rounds 3] [--csv FILE] MATRIX...
    bench/all.py --table FILE...      prints tables of these files in Markdown

Each of --rounds rounds runs these layouts: one rank with 1, 2, 4, .. threads; R = 2, 4, .. ranks whose threads use all cores;
and 1, 2, 4, .. ranks with a GPU each. Each layout is run with the kernel that a plan chooses; one rank on all cores, and one on
one GPU, are also run with every kernel, including those of other libraries in the build. A sample of rows of every result is
verified. After each run, its rows are appended to FILE (default all.csv): one for each matrix, K and kernel."""
import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import tempfile
from statistics import geometric_mean, median

from auto import BASELINE, PEERS
from beside_python import machine

COLUMNS = ("version", "machine", "cores", "device", "ranks", "threads", "matrix", "entries", "k", "asked", "kernel", "median_ms",
           "gflops", "ok")


def powers(most):
    """1, 2, 4, .. below `most`, and `most`."""
    return [2 ** i for i in range(most.bit_length()) if 2 ** i < most] + [most]


def layouts(cores, gpus):
    """(device, ranks, threads, kernels) of the runs of a round."""
    yield from (("cpu", 1, threads, "auto") for threads in powers(cores))
    yield from (("cpu", ranks, cores // ranks, "auto") for ranks in powers(cores)[1:])
    yield "cpu", 1, cores, "all"
    if gpus:
        yield from (("cuda", ranks, 0, "auto") for ranks in powers(gpus))
        yield "cuda", 1, 0, "all"


def gpus_here():
    try:
        said = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    except FileNotFoundError:
        return 0
    return sum(line.startswith("GPU ") for line in said.splitlines())


def run(options, layout, matrix, here):
    """Yields a row of COLUMNS for each record of one run; nothing if it wrote none."""
    device, ranks, threads, kernels = layout
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.jsonl")
        command = [*shlex.split(options.mpirun), "-np", str(ranks), options.program, matrix, "-d", device, "-k", options.k,
                   "--kernel", kernels, "--verify", "sample", "-r", "25", "-q", "--json", path]
        done = subprocess.run(command + (["-t", str(threads)] if threads else []), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            print(f"all.py: {' '.join(command)} ended with {done.returncode}", file=sys.stderr)
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
    for r in runs:
        machine = r["run"]["gpu"] if device == "cuda" else here[0]
        yield [r["version"], machine, here[1], device, ranks, threads, os.path.basename(matrix), r["matrix"]["nnz"], r["run"]["k"],
               kernels, r["run"]["kernel"], f"{1e3 * r['apply']['median']:.5f}", f"{r['gflops']:.3f}",
               int(bool(r["error"]["passed"]))]


def measure(options):
    here = machine("cpu"), len(os.sched_getaffinity(0))
    new, wrong = not os.path.exists(options.csv) or os.path.getsize(options.csv) == 0, 0
    with open(options.csv, "a", newline="", encoding="utf-8") as file:
        write = csv.writer(file)
        if new:
            write.writerow(COLUMNS)
        for _ in range(options.rounds):
            for matrix in options.matrices:
                for layout in layouts(here[1], gpus_here()):
                    rows = list(run(options, layout, matrix, here))
                    write.writerows(rows)
                    file.flush()
                    wrong += not rows or any(row[-1] == 0 for row in rows)
    return wrong > 0


def ratios(times, mine, theirs, k):
    """The ratios theirs / mine for the matrices that were run with both. A key of `times` is (.., matrix,
    k)."""
    return [times[(*theirs, matrix, k)] / times[(*mine, matrix, k)]
            for matrix in sorted({key[-2] for key in times if key[:-2] == mine}) if (*theirs, matrix, k) in times
            and (*mine, matrix, k) in times]


def print_table(head, lines):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def table(paths):
    """Prints a table of layouts and one of libraries per machine: geometric means over the matrices, and in
    parentheses the minimum."""
    runs, best = {}, {}
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(line for line in file if not line.startswith("#")):
                place = row["machine"], int(row["cores"]), row["device"]
                where = int(row["ranks"]), int(row["threads"]), row["asked"] if row["asked"] == "auto" else row["kernel"]
                key = (*place, *where, row["matrix"], int(row["k"]))
                runs.setdefault(key, []).append(float(row["median_ms"]))
    times = {key: median(found) for key, found in runs.items()}
    for key, time in times.items():
        if key[5] == "auto":
            at = (*key[:3], *key[-2:])
            best[at] = min(time, best.get(at, time))
    ks = sorted({key[-1] for key in times})
    for place in dict.fromkeys(key[:3] for key in times):
        all_of = (*place, 1, place[1] if place[2] == "cpu" else 0, "auto")
        count = len({key[-2] for key in times if key[:3] == place})
        print(f"{place[0]}, {place[1]} cores, {place[2]}, {count} matrices\n")
        lines = []
        for where in dict.fromkeys(key[:6] for key in times if key[:3] == place and key[5] == "auto"):
            cells = []
            for k in ks:
                one = ratios(times, where, (*place, 1, 1 if place[2] == "cpu" else 0, "auto"), k)
                share = [best[(*place, key[-2], k)] / time for key, time in times.items() if key[:6] == where and key[-1] == k]
                cells.append(f"{geometric_mean(one):.2f} ({min(one):.2f}), {geometric_mean(share):.2f} ({min(share):.2f})")
            lines.append([f"{where[3]} x {where[4]}" if place[2] == "cpu" else f"{where[3]}", *cells])
        print_table(["ranks x threads" if place[2] == "cpu" else "GPUs",
                     *(f"K = {k}: over one, share of the best" for k in ks)], lines)
        kernels = dict.fromkeys(key[5] for key in times if key[:5] == all_of[:5] and key[5] != "auto")
        lines = []
        for kernel in sorted(kernels, key=lambda name: (name not in PEERS, bool(BASELINE.match(name)), name)):
            found = [ratios(times, all_of, (*all_of[:5], kernel), k) for k in ks]
            lines.append([kernel, *(f"{geometric_mean(r):.2f} ({min(r):.2f}) of {len(r)}" if r else "" for r in found)])
        print_table(["time over that of the chosen kernel", *(f"K = {k}" for k in ks)], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="./spmm_mpi")
    parser.add_argument("--mpirun", default=os.environ.get("MPIRUN", "mpirun --bind-to none"))
    parser.add_argument("-k", default="1,8,64")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--csv", default="all.csv")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("matrices", nargs="+", metavar="MATRIX")
    options = parser.parse_args()
    return table(options.matrices) if options.table else measure(options)


if __name__ == "__main__":
    sys.exit(main())
