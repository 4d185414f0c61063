#!/usr/bin/env python3
"""Writes the tables of bench/records/TABLES.md from the CSV files of bench/records/.

    tables.py [--records DIR] [--doc FILE]
    tables.py --print NAME,... --records DIR_OR_FILE

Replaces the lines between each <!-- table: NAME --> and <!-- end --> by table NAME, a key of TABLES in tables.py. With --print
it prints tables instead. Tables with `collection` in their name are of matrices from files, all others of generated matrices.
Exit status 1: there is no such table, or no marker.
"""
import re
import sys

import recorded

MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
RANGES = [("K = 4 .. 128", 4, 128), ("K = 1 .. 3", 1, 3), ("every K", 1, 10**9)]
NOTHING = "No record yet."
TEXT = ("where", "kernel", "best kernel", "by")
CLIFF_STEP = 8
NEAR = 1.10                # `auto` is near our best kernel up to this ratio of their times
NOBODYS = "kokkos-blocks"  # not a way in which a user calls that library


def number(value):
    return "" if value is None else f"{value:.2f}"


def table(heading, rows):
    """A Markdown table; numbers are right-aligned."""
    sides = "".join("---|" if i == 0 or name in TEXT else "---:|" for i, name in enumerate(heading))
    lines = ["| " + " | ".join(heading) + " |", "|" + sides]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def section(title, cases, text):
    dates = sorted({c.date[:10] for c in cases})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"**{title}** ({when})\n\n{text}\n"


def per_group(cases, make):
    """One section per machine and precision for which `make` returns rows. Cases without a peer, such as
    those of the sweep for cliffs, are only for tables of our own kernels."""
    cases, parts = [c for c in cases if c.peer or make in (gpu_cliffs, collection_auto)], []
    for machine, precision, part in recorded.groups(cases):
        heading, rows = make(part)
        if rows:
            parts.append(section(f"{machine}, {precision}", part, table(heading, rows)))
    return "\n".join(parts) or NOTHING


def by_matrix(cases, cell):
    """A row per matrix, a column per K; rows and columns without any entry are left out."""
    cells = {(c.matrix, c.k): cell(c) for c in cases}
    found = [c for c in cases if cells[c.matrix, c.k]]
    ks = recorded.columns(found)
    rows = [[recorded.short(m)] + [cells.get((m, k), "") for k in ks] for m in recorded.matrices(found)]
    return ["matrix"] + [f"K={k}" for k in ks], rows


def with_best(times, auto, best):
    """The ratio for auto, and in parentheses that for our best kernel if it is more than 2 % faster."""
    by_auto, by_best = recorded.ratio(times, auto), recorded.ratio(times, best)
    if by_best is None:
        return ""
    if by_auto is None:
        return f"({number(by_best)})"
    return number(by_auto) + (f" ({number(by_best)})" if by_best > 1.02 * by_auto else "")


def faster(*times):
    return min(filter(None, times), key=lambda t: t.ms, default=None)


def any_peer(c):
    """cuSPARSE's faster one of SpMM and SpMV, or the fastest library."""
    return faster(c.peer, c.vector, *(time for name, time in c.libraries.items() if name != NOBODYS))


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
    """The time for K + 1 over that for the next multiple of 8, with auto's kernels, if a run contains
    both."""
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


# ---- a collection: files' matrices, on the GPU or the CPU ----

def collection_cases(cases):
    """Case by case, the losses of `auto` first."""
    rows = []
    for c in cases:
        peer = any_peer(c)
        ratios = [recorded.ratio(peer, ours) for ours in (c.auto, c.best)]
        times = [cell for t in (peer, c.auto, c.best) for cell in ((f"{t.ms:.4f}", t.name) if t else ("", ""))]
        if c.best:
            rows.append((ratios[0] or 0, [recorded.short(c.matrix), str(c.k), *map(number, ratios), *times]))
    heading = ["matrix", "K", "peer / auto", "peer / our best", "peer, ms", "by", "auto, ms", "kernel", "our best, ms",
               "best kernel"]
    return heading, [row for _, row in sorted(rows, key=lambda r: r[0])]


def per_k(heading, cases, row):
    """A row for each K and one for all, of the cases that were timed with auto's kernel."""
    cases = [c for c in cases if c.auto]
    parts = [(str(k), [c for c in cases if c.k == k]) for k in recorded.columns(cases)] + [("all", cases)]
    return ["K"] + heading, [[label] + row(part) for label, part in parts if part]


def collection_means(cases):
    """The peer's fastest way over `auto`, and over our best kernel."""
    def over(part, ours):
        _, count, mean, worst, where = mean_row("", part, any_peer, ours)
        behind = sum(any_peer(c).ms < ours(c).ms for c in part)
        return count, [mean, str(behind), worst, where]

    def row(part):
        (count, auto), (_, best) = over(part, lambda c: c.auto), over(part, lambda c: c.best)
        return [count] + auto + best
    heading = ["below 1", "worst", "where"]
    return per_k(["cases", "peer / auto", *heading, "peer / our best", *heading], cases, row)


def collection_auto(cases):
    """How much longer `auto` takes than our best kernel."""
    def row(part):
        times = [recorded.ratio(c.auto, c.best) for c in part]
        worst, case = max(zip(times, part), key=lambda pair: pair[0])
        near = sum(t <= NEAR for t in times) / len(times)
        return [str(len(times)), number(recorded.mean(times)), f"{100 * near:.0f} %", number(worst),
                f"{recorded.short(case.matrix)}, K={case.k}", case.auto.name, case.best.name]
    return per_k(["cases", "auto / our best", f"within {NEAR:.2f}", "worst", "where", "kernel", "best kernel"], cases, row)


# ---- several GPUs ----

def share_hidden(c):
    """The share of the time of an exchange alone for which the product did not wait."""
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


def multi_collection_means(cases):
    """All-gather and cuSPARSE over ours, on the most GPUs; a row for each K and one for all."""
    part, most = most_ranks(cases)
    rows = []
    for label, some in [(str(k), [c for c in part if c.k == k]) for k in recorded.columns(part)] + [("all", part)]:
        ratios = [c.peer / c.ours for c in some]
        worst, case = min(zip(ratios, some), key=lambda pair: pair[0])
        rows.append([label, str(len(some)), number(recorded.mean(ratios)), str(sum(r < 1 for r in ratios)), number(worst),
                     f"{recorded.short(case.matrix)}, K={case.k}"])
    return [f"K, {most} GPUs", "cases", "theirs / ours", "below 1", "worst", "where"], rows


def multi_collection_cases(cases):
    """Case by case, the losses first."""
    part, _ = most_ranks(cases)
    return multi_times(sorted(part, key=lambda c: c.peer / c.ours))


def multi_scaling(cases):
    """Our times at K = 64; a column per number of GPUs."""
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
          "gpu-collection-means": collection_means, "gpu-collection-auto": collection_auto,
          "gpu-collection-cases": collection_cases,
          "cpu-means": cpu_means, "cpu-ratio": cpu_ratio,
          "cpu-collection-means": collection_means, "cpu-collection-auto": collection_auto,
          "cpu-collection-cases": collection_cases,
          "multi-collection-means": multi_collection_means, "multi-collection-cases": multi_collection_cases,
          "multi-ratio": multi_ratio, "multi-times": multi_times, "multi-scaling": multi_scaling}


def failed(message):
    print(f"tables.py: {message}", file=sys.stderr)
    return 1


def main():
    options = recorded.options(__doc__, print="")
    gpu, cpu, multi = (read(options.records) for read in (recorded.gpu, recorded.cpu, recorded.multi))
    cases = {"gpu": recorded.generated(gpu), "gpu-collection": recorded.files(gpu),
             "cpu": recorded.generated(cpu), "cpu-collection": recorded.files(cpu),
             "multi": recorded.generated(multi), "multi-collection": recorded.files(multi)}
    printed, unknown = options.print.split(",") if options.print else [], []

    def made(name):
        if name in TABLES:
            return per_group(cases[name.rpartition("-")[0]], TABLES[name]).rstrip("\n") + "\n"
        unknown.append(name)
        return ""
    if printed:
        print("\n".join(map(made, printed)), end="")
        return failed(f"no table {unknown[0]}") if unknown else 0
    count = recorded.replace(options.doc, MARKED, lambda m: m[1] + (made(m[2]) or m[3]) + m[4])
    if unknown or not count:
        return failed(f"{options.doc}: " + (f"no table {unknown[0]}" if unknown else "no markers"))
    print(f"{options.doc}: {count} tables from {len(gpu)} GPU and {len(cpu)} CPU cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
