"""Predicts the time of a product on a machine from the counts of `spmm_mpi --dry-run --json`. Prints a table for each matrix
and K, and writes records.

    ./spmm_mpi --dry-run --plan-ranks 56,5600 --ranks-per-node 56 --json counts.jsonl -k 64 lap3d7:60
    jobs/predict docs/machines/frontier-cpu.machine counts.jsonl [RUNS...] [--json predicted.jsonl]

If a machine file has no efficiency, that of the fastest run of the same matrix, K, precision and device is used. RUNS are
records of `spmm_mpi --json`, preferably with -v, which measures the copy rate. If there are counts of several grids for a
number of ranks, only the grid with the shortest time is printed. docs/SCALING.md, "Predictions", describes the model.

Exit codes: 0; 2 usage; 3 a machine file or records that cannot be read, or do not match; 4 output.
"""
import json
import os
from types import SimpleNamespace

from . import machine, output, predict, records, series, tables
from .commands import Parser


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("machine", metavar="MACHINE", help="a machine file")
    parser.add_argument("records", metavar="RECORDS", nargs="+", help="counts and runs, JSON Lines")
    parser.add_argument("--json", metavar="FILE", help="append the predictions, for jobs/scaling and jobs/report")
    return parser.parse_args()


def main():
    o = options()
    output.keep([o.machine, *o.records], [("--json", o.json)])
    of, found = machine.read(o.machine), records.read(o.records)
    if not found.counts:
        raise records.RecordsError(f"{o.records[0]}: found no counts, expected those of spmm_mpi --dry-run --json")
    made = predict.best(found.counts, of, found.points)
    if o.json:
        fd = output.open_lines(o.json)
        for one in made:
            output.append(fd, json.dumps(one, separators=(",", ":")).encode() + b"\n")
        os.close(fd)
    several = [records.Prediction(one["matrix"]["source"], one["prediction"]) for one in made]
    for problem, group in series.by_key(several, lambda one: one.problem).items():
        points = [p for p in found.points if (p.source, p.k, p.precision, p.device) == problem]
        title = f"{records.short_name(problem[0])}, K = {problem[1]}, {problem[2]}"
        print(tables.text(tables.without_empty(tables.predictions_table(SimpleNamespace(
            series=[SimpleNamespace(points=points)], predictions=group, title=title)))))
    return 0
