"""Reads what bench_gpu, bench_cpu and bench_multigpu appended to CSV files: one Case (or Multi) per machine,
matrix, precision and K, of the newest run that contains it."""
import argparse
import csv
import glob
import math
import os
from collections import namedtuple

# the libraries of bench_cpu's bar: in each case, the time of the fastest of them is compared with ours
BAR = "kokkos,eigen,eigen-fixed,graphblas,librsb,petsc"
# the names of columns in older files
RENAMED = {"floor_share": "dram_bound_share", "still_ms": "no_exchange_ms"}
GPU_COLUMNS = {"gpu", "matrix", "precision", "k", "contender", "kernel", "layout", "median_ms", "dram_bound_share", "auto"}
MULTI_COLUMNS = {"gpu", "ranks", "matrix", "precision", "k", "contender", "transport", "overlap", "no_exchange_ms"}
CPU_COLUMNS = {"machine", "threads", "matrix", "precision", "k", "contender", "layout", "median_ms"}

# Times in ms; name: kernel, library or both, human-readable. None: was not run.
Time = namedtuple("Time", "ms name gflops")
# auto: the kernel that `auto` selects; best: our fastest kernel; peer: cuSPARSE's fastest SpMM, or the
# fastest library of summary_cpu's bar; vector: cuSPARSE's fastest SpMV; libraries: {name: Time}, on the CPU;
# flop, bytes: operations of a product, and the minimum of bytes that it moves (0: not recorded);
# copy: bytes/s of a copy in the GPU's memory
Case = namedtuple("Case", "machine matrix precision k date auto best peer vector libraries flop bytes copy")

# Times of a product on several GPUs in ms. peer: by all-gather and cuSPARSE; ours: by our plan with `auto`;
# plain: by our plan without overlap (None: not measured); exchange: our exchange alone; no_exchange: our
# product without the exchange
Multi = namedtuple("Multi", "machine ranks matrix precision k date peer ours plain exchange no_exchange way transport")


def rows_of(path, wanted=()):
    """Rows of a CSV file that has the wanted columns; lines that start with # are remarks."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(line for line in file if not line.startswith("#"))
        reader.fieldnames = [RENAMED.get(name, name) for name in reader.fieldnames or []]
        if set(wanted) <= set(reader.fieldnames):
            yield from reader


def good_rows(paths):
    """The rows of the files that are ok, and the number of those that are not."""
    every = [row for path in paths for row in rows_of(path)]
    good = [row for row in every if row["ok"] == "1"]
    return good, len(every) - len(good)


def _rows(folder, wanted):
    """The rows of all CSV files of a folder, or of one file."""
    for path in sorted(glob.glob(os.path.join(folder, "*.csv"))) if os.path.isdir(folder) else [folder]:
        yield from rows_of(path, wanted)


def _newest(rows, machine, whole=lambda rows: True):
    """{(machine, matrix, precision, k): (date, rows that are ok) of the newest run for which whole(rows) is
    true}."""
    cases = {}
    for row in rows:
        key = machine(row), row["matrix"], row["precision"], int(row["k"])
        cases.setdefault(key, {}).setdefault(row["date"], []).append(row)
    found = {}
    for key, runs in cases.items():
        dates = [d for d in runs if whole(runs[d])]
        if dates:
            found[key] = max(dates), [r for r in runs[max(dates)] if r["ok"] == "1"]
    return found


def _fastest(rows, name):
    row = min(rows, key=lambda r: float(r["median_ms"]), default=None)
    return row and Time(float(row["median_ms"]), name(row), float(row["gflops"]))


def _gpu_name(row):
    layout = "" if row["contender"] == "own" or "spmv" in row["kernel"] else ", " + row["layout"]
    return row["kernel"].replace("cusparse_", "") + layout


def _gpu_case(key, date, rows):
    own = [r for r in rows if r["contender"] == "own"]
    spmv = [r for r in rows if r["kernel"].startswith("cusparse_spmv")]
    spmm = [r for r in rows if r["contender"] != "own" and r not in spmv]
    copy = float(rows[0].get("copy_tbs") or 0) * 1e12
    seconds = float(rows[0]["median_ms"]) / 1e3
    return Case(*key, date, _fastest([r for r in own if r["auto"] == "1"], _gpu_name), _fastest(own, _gpu_name),
                _fastest(spmm, _gpu_name), _fastest(spmv, _gpu_name), {}, 2.0 * int(rows[0]["nnz"]) * key[3],
                float(rows[0]["dram_bound_share"]) * seconds * copy, copy)


def _cpu_name(row):
    return row["contender"].split(":")[-1]


def _cpu_case(key, date, rows):
    own = [r for r in rows if _is_own(r)]
    others = [r for r in rows if r not in own]
    bar = [r for r in others if r["contender"] in BAR.split(",")]
    names = dict.fromkeys(r["contender"] for r in others)
    libraries = {n: _fastest([r for r in others if r["contender"] == n], _cpu_name) for n in names}
    return Case(*key, date, _fastest([r for r in own if r["contender"].startswith("auto:")], _cpu_name),
                _fastest(own, _cpu_name), _fastest(bar, _cpu_name), None, libraries,
                2.0 * int(rows[0]["nnz"]) * key[3], 0.0, 0.0)


def gpu(folder):
    """Cases of bench_gpu."""
    found = _newest(_rows(folder, GPU_COLUMNS), lambda r: r["gpu"])
    return [_gpu_case(key, date, rows) for key, (date, rows) in found.items() if rows]


def _is_own(row):
    return row["contender"].startswith(("auto:", "own:"))


def cpu(folder):
    """Cases of bench_cpu; our threads are part of the machine's name. A library may use fewer. Runs without
    libraries, which compare our kernels with one another, are left out."""
    rows = [r for r in _rows(folder, CPU_COLUMNS) if "gpu" not in r]
    threads = {(r["machine"], r["date"]): r["threads"] for r in rows if r["contender"].startswith("auto")}
    found = _newest(rows, lambda r: f"{r['machine']}, {threads.get((r['machine'], r['date']), 0)} threads",
                    lambda rows: not all(map(_is_own, rows)))
    return [_cpu_case(key, date, rows) for key, (date, rows) in found.items() if rows]


def _multi_case(key, date, rows):
    """The first of our rows is for the transport that auto selected; later rows are from --verbose."""
    machine, ranks = key[0]
    theirs = next((float(r["median_ms"]) for r in rows if r["contender"] == "theirs"), None)
    ours = next((r for r in rows if r["contender"] == "ours" and r["overlap"] == "1"), None)
    plain = next((float(r["median_ms"]) for r in rows if r["contender"] == "ours" and r["overlap"] == "0"), None)
    if theirs is None or ours is None:
        return None
    return Multi(machine, ranks, *key[1:], date, theirs, float(ours["median_ms"]), plain, float(ours["exchange_ms"]),
                 float(ours["no_exchange_ms"]), ours["way"], ours["transport"])


def multi(folder):
    """Cases of bench_multigpu. If a case has several runs, the newest run with all contenders is used; if
    there is none, the newest run."""
    found = {}
    for row in _rows(folder, MULTI_COLUMNS):
        key = (row["gpu"], int(row["ranks"])), row["matrix"], row["precision"], int(row["k"])
        found.setdefault(key, {}).setdefault(row["date"], []).append(row)
    cases = []
    for key, runs in found.items():
        made = [_multi_case(key, date, [r for r in rows if r["ok"] == "1"]) for date, rows in runs.items()]
        made = [c for c in made if c]
        if made:
            cases.append(max(made, key=lambda c: (c.plain is not None, c.date)))
    return cases


def groups(cases):
    """[(machine, precision, its cases)] in a fixed order."""
    keys = sorted({(c.machine, c.precision) for c in cases}, key=lambda k: (k[0], k[1] != "f64"))
    return [(m, p, [c for c in cases if (c.machine, c.precision) == (m, p)]) for m, p in keys]


def matrices(cases):
    """Names in the order in which they were measured."""
    return list(dict.fromkeys(c.matrix for c in cases))


def is_file(matrix):
    """Whether the matrix is a file's, not a generator's."""
    return ":" not in matrix


def generated(cases):
    return [c for c in cases if not is_file(c.matrix)]


def files(cases):
    return [c for c in cases if is_file(c.matrix)]


def columns(cases):
    return sorted({c.k for c in cases})


def short(matrix):
    """A file's name without its folders."""
    return os.path.basename(matrix) if is_file(matrix) else matrix


def ratio(slow, fast):
    """slow / fast, of two Times; None unless both were measured."""
    return slow.ms / fast.ms if slow and fast else None


def mean(ratios):
    """Geometric mean."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def options(doc, **more):
    """--records, --doc and `more` of the command line of a program with that docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"records": "bench/records", "doc": "bench/records/TABLES.md", **more}.items():
        parser.add_argument("--" + name, default=default)
    return parser.parse_args()


def replace(path, marked, text):
    """Puts text(match) in place of each match in the file; returns how many there are."""
    with open(path, encoding="utf-8") as file:
        new, count = marked.subn(text, file.read())
    if count:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
    return count
