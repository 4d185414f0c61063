"""Compares the conversions of COO to CSR and ELLPACK on several matrices, several times each: records (JSON Lines), a
table, and a plot if matplotlib is installed. If it is started again, it runs only what is missing.

    jobs/conversions [MATRIX...] [--rounds N] [--records FILE] [--out NAME]

Exit codes: 0; 1 a result differed or a run failed; 2 usage; 3 FILE has other or invalid records; 4 output.
"""
import json
import os

from . import conversions, lines, output, pythons, schema
from .commands import Parser
from .recorder import RecordError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
MATRICES = [os.path.join(ROOT, "matrices", name) for name in ("bcsstk16.mtx.gz", "cage9.mtx.gz", "wiki-Vote.mtx.gz")]


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("matrices", metavar="MATRIX", nargs="*", default=MATRICES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", default="conversions.jsonl")
    parser.add_argument("--out", default="conversions", help="the plot's name, without .svg and .png")
    parser.add_argument("--program", default=os.environ.get("SPMM_MPI", os.path.join(ROOT, "spmm_mpi")))
    parser.add_argument("--launcher", default=os.environ.get("SPMM_LAUNCHER", "mpirun --bind-to none -np {ranks}"))
    return parser.parse_args()


def measure(o):
    """\\return all records, those of earlier starts included"""
    records = conversions.read(o.records)
    fd = output.open_lines(o.records)
    try:
        for n in range(o.rounds):
            for matrix in o.matrices:
                if sum(r["matrix"] == matrix for r in records) > n:
                    continue
                record = conversions.measure(o.program, o.launcher, matrix)
                output.append(fd, json.dumps({"schema": schema.newest(), "conversions": record}).encode() + b"\n")
                records.append(record)
                print(f"round {n + 1} of {o.rounds}: {lines.clean(os.path.basename(matrix))}", flush=True)
    finally:
        os.close(fd)
    return records


def main():
    o = options()
    plots_of = [("--out:", o.out + ending) for ending in (".svg", ".png")]
    output.keep(o.matrices, [("--records", o.records), *plots_of])
    pythons.can_draw()
    try:
        records = measure(o)
    except OSError as error:
        raise RecordError(f"{o.records}: {error.strerror}") from error
    print(conversions.table(records))
    try:
        from . import plots
    except ImportError:
        print(f"no plot: none of {pythons.tried()} has matplotlib (python3-matplotlib in Debian and Ubuntu)")
    else:
        print("plot: " + ", ".join(map(lines.clean, plots.save(conversions.figure(records), o.out))))
    return 0 if all(same for *_, same in conversions.combined(records)) else 1
