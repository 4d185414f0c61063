#!/usr/bin/env python3
"""Compares predictions of jobs/predict with measured times, on this machine's cores or GPUs.

    bench/predict.py --csv bench/records/DATE-predict-cpu.csv        # the matrices of make bench-cpu
    bench/predict.py --ranks 1,2 --rounds 7 -k 8,64 fem3:30 A.mtx
    bench/predict.py -d cuda --ranks 1 --program build/cuda/spmm_mpi lap3d27:90 rmat:20,20

In each round, for each number of ranks, that many ranks probe the machine and write a machine file. Then, for each matrix and K,
one rank is run; times are predicted from its kernel and the counts of --dry-run; and the plan with the best prediction is run.
Thus prediction and measurement meet the same load of the machine. The table has medians over the rounds. If there are more ranks
than cores, source tests/env.sh first.
"""
import argparse
import csv
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# the default matrices of bench/cpu/bench_cpu.c
MATRICES = ("lap2d5:700", "lap3d7:80", "lap3d27:56", "fem3:30", "band:500000,12,2000", "uniform:400000,12", "rmat:19,10",
            "longrows:400000,8,20,50000")
FIELDS = ("matrix", "k", "ranks", "grid", "exchange", "predicted_s", "measured_s", "error", "measured_low_s",
          "measured_high_s", "predicted_kernel_s", "measured_kernel_s", "predicted_exchange_s", "measured_exchange_s")


def numbers(text):
    return [int(word) for word in text.split(",")]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", metavar="MATRIX", nargs="*", default=MATRICES)
    parser.add_argument("-k", type=numbers, default=[1, 8, 64], help="columns of X (default 1,8,64)")
    parser.add_argument("--ranks", type=numbers, default=[1, 2], help="numbers of ranks (default 1,2)")
    parser.add_argument("-d", choices=("cpu", "cuda"), default="cpu", dest="device", help="device (default cpu)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--program", default=f"{ROOT}/build/cpu/spmm_mpi")
    parser.add_argument("--mpirun", default="mpirun", help="with its options, as one argument")
    parser.add_argument("--csv", metavar="FILE")
    return parser.parse_args()


def record_of(command, path):
    """The last record that the command appends."""
    done = subprocess.run([*command, "--json", path], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    with open(path, encoding="utf-8") as file:
        return json.loads(file.readlines()[-1])


def case(o, folder, matrix, k, ranks):
    """(prediction, record) of one round."""
    machine, one, counts, predicted = (os.path.join(folder, name) for name in ("a.machine", "one.jsonl", "counts.jsonl", "p.jsonl"))
    for path in (one, counts, predicted):
        if os.path.exists(path):
            os.remove(path)
    options = [o.program, "-d", o.device, "-t", "1", "-k", str(k)]
    run = [*shlex.split(o.mpirun), "-np", str(ranks), *options, "--verify", "none"]
    if not os.path.exists(machine):
        subprocess.run([*run, "-q", "-r", "1", f"--probe={machine}", "lap2d5:20"], capture_output=True, check=True)
    record_of([*options, "--verify", "none", "-v", "-r", "15", matrix], one)
    record_of([*options, "--dry-run", "-g", "auto", "--plan-ranks", str(ranks), "--ranks-per-node", str(ranks), matrix], counts)
    foreseen = record_of([sys.executable, f"{ROOT}/jobs/predict", machine, counts, one], predicted)["prediction"]
    plan = ["-g", "x".join(map(str, foreseen["grid"]))]
    if foreseen["exchange"] != "none":
        plan += ["--exchange", foreseen["exchange"]]
    return foreseen, record_of([*run, "-r", "15", *plan, matrix], os.path.join(folder, "a.jsonl"))


def summary(matrix, k, ranks, rounds):
    """A row of the table: medians over the rounds."""
    def median(values):
        return statistics.median(values)
    predicted, measured = [p["seconds"] for p, _ in rounds], [r["apply"]["median"] for _, r in rounds]
    p = rounds[-1][0]
    return {"matrix": matrix, "k": k, "ranks": ranks, "grid": "x".join(map(str, p["grid"])), "exchange": p["exchange"],
            "predicted_s": median(predicted), "measured_s": median(measured),
            "error": median(predicted) / median(measured) - 1, "measured_low_s": min(measured), "measured_high_s": max(measured),
            "predicted_kernel_s": median([p["kernel_seconds"] for p, _ in rounds]),
            "measured_kernel_s": median([r["seconds"]["kernel"] for _, r in rounds]),
            "predicted_exchange_s": median([p["exchange_seconds"] for p, _ in rounds]),
            "measured_exchange_s": median([r["seconds"]["exchange"] for _, r in rounds])}


def print_row(row):
    print("{matrix:28} {k:4} {ranks:5} {grid:>6} {exchange:>8} {:12.3f} {:12.3f} {:+7.1f} %".format(
        1e3 * row["predicted_s"], 1e3 * row["measured_s"], 100 * row["error"], **row), flush=True)


def print_errors(rows):
    errors = [abs(row["error"]) for row in rows]
    print(f"{len(rows)} cases: median error {100 * statistics.median(errors):.1f} %, greatest {100 * max(errors):.1f} %, "
          f"{sum(e <= 0.25 for e in errors)} within 25 %")


def main():
    o = options()
    cases = [(matrix, k, ranks) for ranks in o.ranks for matrix in o.matrices for k in o.k]
    found = {one: [] for one in cases}
    for number in range(o.rounds):
        for ranks in o.ranks:
            with tempfile.TemporaryDirectory() as folder:
                for one in cases:
                    if one[2] == ranks:
                        found[one].append(case(o, folder, *one))
        print(f"round {number + 1} of {o.rounds}", file=sys.stderr)
    rows = [summary(*one, rounds) for one, rounds in found.items()]
    print(f"{'matrix':28} {'K':>4} {'ranks':>5} {'grid':>6} {'exchange':>8} {'predicted ms':>12} {'measured ms':>12}    error")
    for row in rows:
        print_row(row)
    for ranks in o.ranks:
        print(f"{ranks} ranks: ", end="")
        print_errors([row for row in rows if row["ranks"] == ranks])
    print_errors(rows)
    if o.csv:
        with open(o.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
