"""Reads the CSV files of bench_gpu, bench_cpu and bench_multigpu."""
import csv
import glob
import gzip
import math
import os
from collections import namedtuple

# the libraries of bench_cpu's bar: in each case, the time of the fastest of them is compared with ours
BAR = "kokkos,eigen,eigen-fixed,graphblas,librsb,petsc"
GPU_COLUMNS = {"gpu", "matrix", "precision", "k", "contender", "kernel", "layout", "median_ms", "gflops", "auto"}
MULTI_COLUMNS = {"gpu", "ranks", "matrix", "precision", "k", "contender", "median_ms", "overlap", "way"}
CPU_COLUMNS = {"machine", "threads", "matrix", "precision", "k", "contender", "layout", "median_ms", "gflops"}

# name: kernel or library, human-readable; gflops, share (of the DRAM bound): 0 if not recorded
Time = namedtuple("Time", "ms name gflops share")
# auto: the kernel that `auto` selects (None: not timed); best: our fastest kernel; peer: the fastest library
Case = namedtuple("Case", "machine matrix precision k auto best peer")
# path: the newest record of these cases; commit: of its newest run; libraries: with versions, if recorded
Group = namedtuple("Group", "machine precision path commit libraries cases")


def _opened(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, newline="", encoding="utf-8")


def rows_of(path):
    """Rows of a CSV file; lines that start with # are remarks."""
    with _opened(path) as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def good_rows(paths):
    """The rows of the files that are ok, and the number of those that are not."""
    every = [row for path in paths for row in rows_of(path)]
    good = [row for row in every if row["ok"] == "1"]
    return good, len(every) - len(good)


def _fastest(rows, name):
    row = min(rows, key=lambda r: float(r["median_ms"]), default=None)
    return row and Time(float(row["median_ms"]), name(row), float(row.get("gflops") or 0), float(row.get("dram_bound_share") or 0))


def _gpu_name(row):
    layout = "" if row["contender"] == "own" or "spmv" in row["kernel"] else ", " + row["layout"]
    return row["kernel"].replace("cusparse_", "") + layout


def _gpu_times(rows):
    own = [r for r in rows if r["contender"] == "own"]
    peers = [r for r in rows if r["contender"] != "own" and "transposed" not in r["kernel"]]
    return _fastest([r for r in own if r["auto"] == "1"], _gpu_name), _fastest(own, _gpu_name), _fastest(peers, _gpu_name)


def _cpu_times(rows):
    def name(row):
        return row["contender"].split(":")[-1]
    own = [r for r in rows if r["contender"].startswith(("auto:", "own:"))]
    peers = [r for r in rows if r not in own]
    return _fastest([r for r in own if r["contender"].startswith("auto:")], name), _fastest(own, name), _fastest(peers, name)


def _multi_times(rows):
    """Ours with the transport that auto selected, which is the first one with overlap; all-gather and cuSPARSE."""
    ours = [r for r in rows if r["contender"] == "ours" and r["overlap"] == "1"][:1]
    auto = _fastest(ours, lambda r: r["way"])
    return auto, auto, _fastest([r for r in rows if r["contender"] == "theirs"], lambda r: r["way"])


def _cases(rows):
    """The cases of one file, each of its newest run: [] if no bench of products wrote it."""
    columns = set(rows[0]) if rows else set()
    if MULTI_COLUMNS <= columns:
        rows = [r for r in rows if r["ranks"] != "1"]
        times, machine = _multi_times, lambda r: f"{r['ranks']} x {r['gpu']}"
    elif GPU_COLUMNS <= columns:
        times, machine = _gpu_times, lambda r: r["gpu"]
    elif CPU_COLUMNS <= columns:
        threads = {r["date"]: r["threads"] for r in rows if r["contender"].startswith("auto")}
        times, machine = _cpu_times, lambda r: f"{r['machine']}, {threads.get(r['date'], 0)} threads"
    else:
        return []
    runs = {}
    for row in rows:
        key = machine(row), row["matrix"], row["precision"], int(row["k"])
        runs.setdefault(key, {}).setdefault(row["date"], []).append(row)
    found = [Case(*key, *times([r for r in of[max(of)] if r["ok"] == "1"])) for key, of in runs.items()]
    return [c for c in found if c.best]


def groups(paths):
    """A Group for each machine, precision and kind of matrices, generated ones or files, in a fixed order. Its cases are those of
    the newest day's largest record that compares with a library."""
    found = {}
    for path in sorted(paths):
        rows = list(rows_of(path))
        parts = {}
        for case in _cases(rows):
            if case.peer and case.auto:
                parts.setdefault((is_file(case.matrix), case.machine, case.precision), []).append(case)
        newest = max(rows, key=lambda r: r.get("date") or "", default={})
        libraries = ", ".join(sorted({r["peer"] for r in rows if r.get("peer")}))
        for key, cases in parts.items():
            found.setdefault(key, []).append((newest["date"][:10], len(cases), Group(*key[1:], path, newest["commit"], libraries, cases)))
    return [max(found[key], key=lambda f: f[:2])[2] for key in sorted(found, key=lambda k: (not k[0], k[1], "f64 f32 c128 c64".find(k[2])))]


def files_in(folder):
    return glob.glob(os.path.join(folder, "*.csv")) + glob.glob(os.path.join(folder, "*.csv.gz"))


def is_file(matrix):
    """Whether the matrix is a file's, not a generator's."""
    return ":" not in matrix


def columns(cases):
    return sorted({c.k for c in cases})


def short(matrix):
    """A file's name without folders and suffixes."""
    return os.path.basename(matrix).split(".mtx")[0].split(".npz")[0] if is_file(matrix) else matrix


def mean(ratios):
    """Geometric mean."""
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
