#!/usr/bin/env python3
"""Computes strong scaling from bench_multigpu's CSV files of runs with several numbers of ranks.

    scaling.py FILE...

Prints for each matrix, precision, K and contender the time with each number of ranks, the speed-up over the fewest ranks, and
the efficiency (the speed-up divided by the ratio of the numbers of ranks); at the end, geometric means of the efficiencies. If a
case has several times, the shortest is used. Exit status 1: a row is not ok; 2: there is nothing to compare.
"""
import sys
from collections import defaultdict

from recorded import good_rows, mean


def main(paths):
    if not paths or "--help" in paths:
        print(__doc__.strip())
        return 0 if paths else 2
    cases = defaultdict(dict)  # {(matrix, precision, k, contender): {ranks: ms}}
    rows, bad = good_rows(paths)
    for row in rows:
        case = cases[row["matrix"], row["precision"], int(row["k"]), row["contender"]]
        ranks, ms = int(row["ranks"]), float(row["median_ms"])
        case[ranks] = min(case.get(ranks, ms), ms)
    every = sorted({ranks for times in cases.values() for ranks in times})
    efficiencies = defaultdict(list)
    heading = "".join(f" | {f'{ranks} ranks: ms':>13} {'x':>6} {'eff.':>5}" for ranks in every)
    print(f"{'matrix':30} {'':3} {'K':>4} {'':7}" + heading)
    for (matrix, precision, k, contender), times in cases.items():
        fewest = min(times)
        line = f"{matrix[:30]:30} {precision:3} {k:4} {contender:7}"
        for ranks in every:
            if ranks not in times:
                line += f" | {'-':>13} {'':6} {'':5}"
                continue
            speedup = times[fewest] / times[ranks]
            efficiency = speedup * fewest / ranks
            line += f" | {times[ranks]:13.3f} {speedup:6.2f} {efficiency:5.2f}"
            if ranks > fewest:
                efficiencies[contender, fewest, ranks].append(efficiency)
        print(line)
    for (contender, fewest, ranks), found in sorted(efficiencies.items()):
        print(f"{contender}: efficiency from {fewest} to {ranks} ranks, geometric mean of {len(found)}: {mean(found):.2f}")
    if bad:
        print(f"{bad} rows are not ok")
        return 1
    return 0 if efficiencies else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
