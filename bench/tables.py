#!/usr/bin/env python3
"""Writes the tables of docs/PERFORMANCE.md from the CSV files of bench/records/.

    tables.py [--records DIR] [--doc FILE]

Each table stands between <!-- table: NAME --> and <!-- end --> and is replaced there; NAME is a function of
TABLES below. Exit status 1 when a marker names none, or the file has none.
"""
import re
import sys

import recorded

MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
RANGES = [("K = 4 .. 128", 4, 128), ("K = 1 .. 3", 1, 3), ("every K", 1, 10**9)]
NOTHING = "No record yet."
TEXT = ("where", "kernel", "by")
CLIFF_STEP = 8


def number(value):
    return "" if value is None else f"{value:.2f}"


def table(heading, rows):
    """Markdown; numbers to the right."""
    sides = "".join("---|" if i == 0 or name in TEXT else "---:|" for i, name in enumerate(heading))
    lines = ["| " + " | ".join(heading) + " |", "|" + sides]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def section(title, cases, text):
    dates = sorted({c.date[:10] for c in cases})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"**{title}** ({when})\n\n{text}\n"


def per_group(cases, make):
    """One section per machine and precision of what `make` has rows for. Cases without a peer are of runs of
    another kind, the sweep for cliffs."""
    cases, parts = [c for c in cases if c.peer or make is gpu_cliffs], []
    for machine, precision, part in recorded.groups(cases):
        heading, rows = make(part)
        if rows:
            parts.append(section(f"{machine}, {precision}", part, table(heading, rows)))
    return "\n".join(parts) or NOTHING


def by_matrix(cases, cell):
    """A matrix a row, a K a column; rows and columns without any entry are left out."""
    cells = {(c.matrix, c.k): cell(c) for c in cases}
    found = [c for c in cases if cells[c.matrix, c.k]]
    ks = recorded.columns(found)
    rows = [[recorded.short(m)] + [cells.get((m, k), "") for k in ks] for m in recorded.matrices(found)]
    return ["matrix"] + [f"K={k}" for k in ks], rows


def with_best(times, auto, best):
    """Ratio by auto, and in brackets by the best kernel where that is at least 2 % faster."""
    by_auto, by_best = recorded.ratio(times, auto), recorded.ratio(times, best)
    if by_best is None:
        return ""
    if by_auto is None:
        return f"({number(by_best)})"
    return number(by_auto) + (f" ({number(by_best)})" if by_best > 1.02 * by_auto else "")


def faster(a, b):
    return min((t for t in (a, b) if t), key=lambda t: t.ms, default=None)


def mean_row(label, cases, above, below):
    """Label, number of cases, geometric mean, worst and where; None without cases."""
    found = [(recorded.ratio(above(c), below(c)), c) for c in cases]
    found = [(r, c) for r, c in found if r is not None]
    if not found:
        return None
    worst, case = min(found, key=lambda f: f[0])
    where = f"{recorded.short(case.matrix)}, K={case.k}"
    return [label, str(len(found)), number(recorded.mean([r for r, _ in found])), number(worst), where]


MEAN_HEADING = ["times", "cases", "geometric mean", "worst", "where"]


def gpu_means(cases):
    quotients = [("cuSPARSE SpMM / auto", lambda c: c.peer, lambda c: c.auto),
                 ("cuSPARSE SpMM / our best kernel", lambda c: c.peer, lambda c: c.best),
                 ("our best kernel / auto", lambda c: c.best, lambda c: c.auto)]
    rows = []
    for label, least, most in RANGES:
        part = [c for c in cases if least <= c.k <= most]
        rows += [mean_row(f"{name}, {label}", part, above, below) for name, above, below in quotients]
    one = [c for c in cases if c.k == 1 and c.vector]
    rows.append(mean_row("cuSPARSE SpMM or SpMV / auto, K = 1", one, lambda c: faster(c.peer, c.vector),
                         lambda c: c.auto))
    return MEAN_HEADING, [row for row in rows if row]


def gpu_structures(cases):
    rows = []
    for matrix in recorded.matrices(cases):
        for label, least, most in RANGES[:2]:
            part = [c for c in cases if c.matrix == matrix and least <= c.k <= most]
            rows.append(mean_row(f"{recorded.short(matrix)}, {label}", part, lambda c: c.peer, lambda c: c.auto))
    return MEAN_HEADING, [row for row in rows if row]


def gpu_ratio(cases):
    return by_matrix(cases, lambda c: with_best(c.peer, c.auto, c.best))


def gpu_vector(cases):
    found = [c for c in cases if c.k == 1 and c.vector]
    heading = ["matrix", "auto, ms", "kernel", "SpMM, ms", "SpMV, ms", "by", "ratio to the faster"]
    return heading, [[recorded.short(c.matrix), f"{c.auto.ms:.4f}", c.auto.name, f"{c.peer.ms:.4f}",
                      f"{c.vector.ms:.4f}", c.vector.name, with_best(faster(c.peer, c.vector), c.auto, c.best)]
                     for c in found if c.auto]


def gpu_bound(cases):
    return by_matrix(cases, lambda c: number(c.bytes / c.copy / (c.best.ms / 1e3)) if c.best and c.copy else "")


def gpu_kernels(cases):
    return by_matrix(cases, lambda c: c.auto.name if c.auto else "")


def gpu_cliffs(cases):
    """K + 1 over the next multiple of 8, by auto's kernels, where a run has both."""
    rows = []
    for matrix in recorded.matrices(cases):
        by_k = {c.k: c for c in cases if c.matrix == matrix and c.auto}
        triples = [(by_k[k + 1], by_k[(k // CLIFF_STEP + 1) * CLIFF_STEP]) for k in by_k
                   if k + 1 in by_k and (k // CLIFF_STEP + 1) * CLIFF_STEP in by_k and (k + 1) % CLIFF_STEP]
        ratios = [(a.auto.ms / b.auto.ms, a) for a, b in triples if a.date == b.date]
        if ratios:
            worst, case = max(ratios, key=lambda r: r[0])
            rows.append([recorded.short(matrix), str(len(ratios)), number(worst), str(case.k), case.auto.name])
    return ["matrix", "K", "worst of K+1 / next multiple of 8", "at K+1 =", "kernel"], rows


def cpu_means(cases):
    """Each library, and the fastest of the bar in each case, over ours."""
    names = sorted({name for c in cases for name in c.libraries})
    rows = [mean_row("the fastest of the bar", cases, lambda c: c.peer, lambda c: c.auto)]
    for name in names:
        rows.append(mean_row(name, cases, lambda c, n=name: c.libraries.get(n), lambda c: c.auto))
    return ["library / ours"] + MEAN_HEADING[1:], [row for row in rows if row]


def cpu_ratio(cases):
    def cell(c):
        value = recorded.ratio(c.peer, c.auto)
        return f"{value:.2f} {c.peer.name}" if value else ""
    return by_matrix(cases, cell)


def share_hidden(c):
    """Of the exchange's time alone, the share that the product did not wait for."""
    return f"{100 * min(1, max(0, 1 - (c.ours - c.no_exchange) / c.exchange)):.0f} %" if c.exchange else ""


def most_ranks(cases):
    most = max(c.ranks for c in cases)
    return [c for c in cases if c.ranks == most], most


def multi_ratio(cases):
    """All-gather and cuSPARSE over ours, on the most GPUs; the geometric mean below."""
    part, most = most_ranks(cases)
    heading, rows = by_matrix(part, lambda c: f"{c.peer / c.ours:.2f}")
    means = [number(recorded.mean([c.peer / c.ours for c in part if f"K={c.k}" == k])) for k in heading[1:]]
    return [f"{heading[0]}, {most} GPUs"] + heading[1:], rows + [["geometric mean"] + means]


def multi_times(cases):
    part, _ = most_ranks(cases)
    rows = [[recorded.short(c.matrix), str(c.k), f"{c.peer:.3f}", f"{c.ours:.3f}", f"{c.plain:.3f}" if c.plain else "",
             f"{c.exchange:.3f}", share_hidden(c), c.way] for c in part]
    return ["matrix", "K", "theirs ms", "ours ms", "no overlap", "exchange", "hidden", "kernel"], rows


def multi_scaling(cases):
    """Ours at K = 64; a column a number of GPUs."""
    counts = sorted({c.ranks for c in cases})
    rows = []
    for matrix in recorded.matrices(cases):
        of = {c.ranks: c for c in cases if c.matrix == matrix and c.k == 64}
        if counts[0] in of and len(of) > 1:
            first, last = of[counts[0]], of[max(of)]
            efficiency = first.ours * first.ranks / (last.ours * last.ranks)
            rows.append([recorded.short(matrix)] + [f"{of[n].ours:.3f}" if n in of else "" for n in counts] +
                        [number(efficiency), share_hidden(last)])
    return ["matrix"] + [f"{n} GPU{'s' * (n > 1)}, ms" for n in counts] + ["efficiency", "hidden"], rows


TABLES = {"gpu-means": gpu_means, "gpu-structures": gpu_structures, "gpu-ratio": gpu_ratio,
          "gpu-vector": gpu_vector, "gpu-bound": gpu_bound, "gpu-kernels": gpu_kernels, "gpu-cliffs": gpu_cliffs,
          "cpu-means": cpu_means, "cpu-ratio": cpu_ratio,
          "multi-ratio": multi_ratio, "multi-times": multi_times, "multi-scaling": multi_scaling}


def main():
    options = recorded.options(__doc__)
    cases = {"gpu": recorded.gpu(options.records), "cpu": recorded.cpu(options.records),
             "mul": recorded.multi(options.records)}
    unknown = []

    def made(marked):
        name = marked[2]
        if name not in TABLES:
            unknown.append(name)
            return marked[0]
        return marked[1] + per_group(cases[name[:3]], TABLES[name]).rstrip("\n") + "\n" + marked[4]
    count = recorded.replace(options.doc, MARKED, made)
    if unknown or not count:
        print(f"tables.py: {options.doc}: " + (f"no table {unknown[0]}" if unknown else "no markers"), file=sys.stderr)
        return 1
    print(f"{options.doc}: {count} tables from {len(cases['gpu'])} GPU and {len(cases['cpu'])} CPU cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
