"""The comparison of conversion algorithms (--check-conversions), repeated, as records, a table and a plot."""
import os
import re
import subprocess
from statistics import median

from . import lines
from .recorder import own
from .runner import last_line, launcher_words

SHORTEST = 5e-7  # seconds, in place of 0: the program prints six decimals

TITLE = re.compile(r"Conversions of a (\d+) x (\d+) matrix with (\d+) entries, (\w+), (\d+) threads")
# LINE of src/spmm_mpi/check_conversions.c: conversion (in the first of its lines only) and algorithm in fixed
# columns, seconds (~: an estimate), sorting, speed-up, result
LINE = re.compile(r"^(.{22}) (.{30,}?)\s+(~?)(\d+\.\d+)\s+(-|\d+\.\d+)\s+~?[\d.]+\s+(.*)$")


class ConversionError(Exception):
    """A run failed; the text says which and how."""


def parse(text):
    """Parses the output of --check-conversions: {rows, cols, nnz, precision, threads, times: [{...}]}."""
    found = TITLE.search(text)
    if not found:
        raise ConversionError("the program printed no table of conversions")
    rows, cols, nnz, precision, threads = found.groups()
    times, conversion = [], ""
    for line in text[found.end():].splitlines():
        match = LINE.match(line)
        if match:
            name, algorithm, estimate, seconds, sorting, result = match.groups()
            conversion = name.strip() or conversion
            times.append({"conversion": conversion, "algorithm": algorithm.strip(), "seconds": float(seconds),
                          "estimate": bool(estimate), "sorting": None if sorting == "-" else float(sorting),
                          "same": result == "yes"})
    return {"rows": int(rows), "cols": int(cols), "nnz": int(nnz), "precision": precision, "threads": int(threads),
            "times": times}


def measure(program, launcher, matrix):
    words = launcher_words(launcher, 1, 1) + [program, "--check-conversions", "--", matrix]
    try:
        result = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ConversionError(f"{words[0]}: cannot be started: {error.strerror}") from error
    if result.returncode != 0:
        raise ConversionError(f"{matrix}: exit code {result.returncode}: {last_line(result.stdout + result.stderr)}")
    return {"matrix": matrix, **parse(result.stdout)}


def read(path):
    """The records of earlier starts. Raises RecordsError, OSError."""
    found = own(path, lambda _: "conversions") if os.path.exists(path) else []
    return [record["conversions"] for record, _ in found]


def combined(records):
    """[(matrix, conversion, algorithm, [seconds], estimate, same)] in the order of the records."""
    found = {}
    for record in records:
        for t in record["times"]:
            key = tuple(map(lines.clean, (os.path.basename(record["matrix"]), t["conversion"], t["algorithm"])))
            entry = found.setdefault(key, [[], False, True])
            entry[0].append(max(SHORTEST, t["seconds"]))
            entry[1] |= t["estimate"]
            entry[2] &= t["same"] or t["estimate"]
    return [(*key, *value) for key, value in found.items()]


def table(records):
    rows = combined(records)
    first = {}
    lines = [f"{'matrix':<22} {'conversion':<23} {'algorithm':<34} {'median ms':>11} {'min':>10} {'max':>10} {'n':>3} "
             f"{'speed-up':>9}  same result"]
    for matrix, conversion, algorithm, seconds, estimate, same in rows:
        middle = median(seconds)
        reference = first.setdefault((matrix, conversion), middle)
        mark = "~" if estimate else ""
        lines.append(f"{matrix:<22} {conversion:<23} {algorithm:<34} {mark + format(middle * 1e3, '.3f'):>11} "
                     f"{min(seconds) * 1e3:>10.3f} {max(seconds) * 1e3:>10.3f} {len(seconds):>3} "
                     f"{reference / middle:>9.1f}  {'yes' if same else 'NO'}")
    return "\n".join(lines + ["~: longer than a minute, estimated from some of its rows; speed-up over the first"])


def figure(records):
    """A panel per conversion: bars of each algorithm, a group per matrix, logarithmic."""
    from . import plots  # matplotlib

    @plots.styled
    def draw():
        rows = combined(records)
        conversions = list(dict.fromkeys(r[1] for r in rows))
        matrices = list(dict.fromkeys(r[0] for r in rows))
        drawn, panels = plots.new_figure(3.2 * len(conversions), 1.2 + 0.45 * len(matrices), len(conversions))
        for axes, conversion in zip(panels, conversions):
            algorithms = list(dict.fromkeys(r[2] for r in rows if r[1] == conversion))
            high = 0.8 / len(algorithms)
            for n, algorithm in enumerate(algorithms):
                mine = [r for r in rows if r[1] == conversion and r[2] == algorithm]
                places = [matrices.index(r[0]) + (n - (len(algorithms) - 1) / 2) * high for r in mine]
                middle = [median(r[3]) * 1e3 for r in mine]
                errors = [[m - min(r[3]) * 1e3 for m, r in zip(middle, mine)],
                          [max(r[3]) * 1e3 - m for m, r in zip(middle, mine)]]
                axes.barh(places, middle, height=high, xerr=errors, color=plots.GREYS[n], hatch=plots.HATCHES[n],
                          edgecolor="black", linewidth=0.6, label=("scan", "single pass", "counting sort (ours)")[n]
                          if len(algorithms) == 3 else algorithm, error_kw={"linewidth": 0.8})
            axes.set_xscale("log")
            axes.set_yticks(range(len(matrices)), matrices if axes is panels[0] else [""] * len(matrices))
            axes.set_ylim(len(matrices) - 0.5, -0.5)
            axes.set_xlim(0.7 * min(min(r[3]) for r in rows) * 1e3, 1.4 * max(max(r[3]) for r in rows) * 1e3)
            axes.set_xlabel("ms")
            axes.set_title(conversion)
        handles, labels = panels[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncol=3)
        return drawn
    return draw()
