#!/usr/bin/env python3
"""Compares the kernel that `auto` selects with our fastest one. Each of several processes times all kernels and `auto`.

    bench/auto.py [--program ./spmm_mpi] [--processes 5] [-k 1,4,16,64] [--csv FILE] MATRIX ... -- OPTION ...

OPTIONs are those of spmm_mpi, such as -d cpu -t 2. Each process is a run with --kernel all, whose line `auto` names the kernel
that a plan selects after its trial. A kernel's time is the median over the processes of its medians; kernels of other libraries
and those that reproduce course reports are not compared. Prints a line per matrix and K, then the geometric mean of the ratios
and how many are within 1.10 and 1.25.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

REGISTRY = pathlib.Path(__file__).resolve().parent.parent / "kernels/baseline.def"
BASELINE = re.findall(r"^KERNEL\( *(\w+)", REGISTRY.read_text(encoding="utf-8"), re.M)
PEERS = {"eigen", "mkl", "cusparse"}
COLUMNS = ["matrix", "k", "precision", "taken", "best", "ratio", "taken_ms", "best_ms"]


def run(program, matrix, columns, options):
    """\\return ({(k, kernel): seconds}, {k: kernel that auto selects}, precision) of one process"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.jsonl")
        command = [program, *options, "-k", columns, "--kernel", "all", "--json", path, matrix]
        done = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"auto.py: {' '.join(command)} ended with {done.returncode}")
        with open(path, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file]
    times = {(r["run"]["k"], r["run"]["kernel"]): r["apply"]["median"] for r in runs
             if r["run"]["kernel"] not in PEERS and r["run"]["kernel"] not in BASELINE}
    said = done.stdout.split("\nauto ")[1].split("\n\n")[0]
    ks = [int(k) for k in columns.split(",")]
    taken = {int(k): name for k, name in re.findall(r"K = (\d+): (\w+) on ", said)}
    if not taken:  # spmm_mpi prints one line if the text is the same for all K
        taken = dict.fromkeys(ks, re.match(r" *(\w+) on ", said).group(1))
    return times, taken, runs[0]["run"]["precision"]


def judge(matrix, processes):
    """Yields a row of COLUMNS for each K. Its kernel `taken` has the median cost among the kernels that the
    processes took."""
    for k in sorted({k for times, _, _ in processes for k, _ in times}):
        names = {name for times, _, _ in processes for kk, name in times if kk == k}
        median = {n: statistics.median(times[k, n] for times, _, _ in processes if (k, n) in times) for n in names}
        best = min(median, key=median.get)
        costs = sorted((median[taken[k]], taken[k]) for _, taken, _ in processes)
        cost, name = costs[len(costs) // 2]
        yield [os.path.basename(matrix), k, processes[0][2], name, best, round(cost / median[best], 4), round(1e3 * cost, 5),
               round(1e3 * median[best], 5)]


def main():
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="./spmm_mpi")
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("-k", dest="columns", default="1,4,16,64")
    parser.add_argument("--csv")
    parser.add_argument("matrices", nargs="+", metavar="MATRIX")
    given = parser.parse_args(words[:cut])
    rows = []
    for matrix in given.matrices:
        made = [run(given.program, matrix, given.columns, words[cut + 1:]) for _ in range(given.processes)]
        for row in judge(matrix, made):
            print("{:<32} K = {:<4} {} took {:<14} best {:<14} {:.3f}".format(*row[:6]), flush=True)
            rows.append(row)
    if given.csv:
        with open(given.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
    ratios = [row[5] for row in rows]
    print(f"{len(rows)} cases: mean {math.exp(statistics.mean(map(math.log, ratios))):.3f}, within 1.10 "
          f"{sum(r <= 1.1 for r in ratios) / len(ratios):.0%}, within 1.25 {sum(r <= 1.25 for r in ratios) / len(ratios):.0%}, "
          f"worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
