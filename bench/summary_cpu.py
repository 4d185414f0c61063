#!/usr/bin/env python3
"""Summarizes bench_cpu's CSV files: for each case (matrix, K, precision) the fastest library and the ratio of its time
to ours, and geometric means of these ratios. Above 1 we are faster.

    summary_cpu.py FILE... [--precision f64] [--bar NAMES]

A sweep is the rows of one date. Ours is the kernel that `auto` selects. Exit status 1: a row is not ok.
"""
import argparse
import sys
from collections import defaultdict

from recorded import BAR, good_rows, mean

TARGET, FLOOR, TARGET_MKL = 2.0, 0.95, 1.2


def sweeps_of(rows, precision):
    """{sweep: {(matrix, k): {contender: (median, min)}}}, of a contender's faster layout."""
    sweeps = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row["precision"] == precision:
            case = sweeps[row["date"]][row["matrix"], int(row["k"])]
            name = "ours" if row["contender"].startswith("auto:") else row["contender"]
            times = float(row["median_ms"]), float(row["min_ms"])
            case[name] = min(case.get(name, times), times)
    return {date: dict(cases) for date, cases in sorted(sweeps.items())}


def ratios(cases, names, which=0):
    """{case: (time of the fastest of names over ours, its name)} for cases that have both."""
    result = {}
    for key, case in cases.items():
        there = [(case[n][which], n) for n in names if n in case]
        if there and "ours" in case:
            time, name = min(there)
            result[key] = time / case["ours"][which], name
    return result


def by(label, found, key):
    groups = defaultdict(list)
    for case, (ratio, _) in found.items():
        groups[key(case)].append(ratio)
    print(f"  {label}: " + ", ".join(f"{g} {mean(r):.2f}" for g, r in groups.items()))


def show_sweep(date, cases, bar):
    found = ratios(cases, bar)
    print(f"\nsweep of {date}: the fastest library / ours, median times")
    columns = sorted({k for _, k in cases})
    print(f"  {'':26}" + "".join(f"{'K=' + str(k):>18}" for k in columns))
    for matrix in dict.fromkeys(m for m, _ in cases):
        cells = (found.get((matrix, k)) for k in columns)
        print(f"  {matrix[:26]:26}" + "".join(f"{c[0]:6.2f} {c[1]:11}" if c else f"{'-':>18}" for c in cells))
    by("by K", found, lambda case: case[1])
    by("by structure", found, lambda case: case[0].split(":")[0].rsplit("/", 1)[-1])


def judge(label, sweeps, names, target=None, floor=None):
    """Prints one line for all sweeps together. A case counts for `worst` by its best sweep."""
    found = [ratios(cases, names) for cases in sweeps.values()]
    least = [r for cases in sweeps.values() for r, _ in ratios(cases, names, 1).values()]
    every = [r for one in found for r, _ in one.values()]
    if not every:
        return
    best = {key: max(one[key][0] for one in found if key in one) for one in found for key in one}
    worst = min(best, key=best.get)
    line = f"  {label:32} {mean(every):6.2f} {mean(least):8.2f}   {best[worst]:5.2f}  {worst[0]}, K = {worst[1]}"
    if target:
        low = [key for key, ratio in best.items() if floor and ratio < floor]
        reached = mean(every) >= target and not low
        line += f"   bar {target}" + (f", none under {floor} in every sweep" if floor else "")
        line += ": " + ("reached" if reached else f"not reached ({len(low)} under {floor})" if low else "not reached")
    print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--precision", help="f64, f32, c128 or c64 (default: all)")
    parser.add_argument("--bar", default=BAR, help=f"libraries to beat (default {BAR})")
    options = parser.parse_args()
    bar = options.bar.split(",")
    rows, bad = good_rows(options.files)
    for precision in [options.precision] if options.precision else ["f64", "f32", "c128", "c64"]:
        sweeps = sweeps_of(rows, precision)
        if not sweeps:
            continue
        print(f"\n== {precision}")
        for date, cases in sweeps.items():
            show_sweep(date, cases, bar)
        names = sorted({n for cases in sweeps.values() for case in cases.values() for n in case} - {"ours"})
        if not names:
            print("\nno library was timed")
            continue
        print(f"\n{len(sweeps)} sweep{'s' if len(sweeps) > 1 else ''}: library / ours; the worst case by its better sweep")
        print(f"  {'':32} {'median':>6} {'by min':>8}   worst")
        judge("the fastest of the bar", sweeps, bar, TARGET, FLOOR)
        for name in names:
            judge(name if name in bar else f"{name} (not in the bar)", sweeps, [name],
                  TARGET_MKL if name == "mkl" else None)
    if bad:
        print(f"\n{bad} rows are wrong or failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
