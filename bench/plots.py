#!/usr/bin/env python3
"""Draws docs/performance/over-k-*.svg, GFLOP/s over K in f64, from the newest CSV files of bench/records/ with generated matrices.

    plots.py [FOLDER]    draw into FOLDER instead of docs/performance

Needs matplotlib (Debian: python3-matplotlib). Series differ by marker and line, not by color alone. The same
records give the same files.
"""
import os
import re
import sys

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, StrMethodFormatter

import recorded

plt.rcParams.update({"svg.hashsalt": "spmm_mpi", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                     "grid.color": "0.85", "grid.linewidth": 0.5, "lines.color": "black",
                     "axes.prop_cycle": plt.cycler(color=["black"])})


def draw_matrix(axes, cases):
    for label, marker, line, fill, time in (("ours, auto", "o", "-", "black", lambda c: c.auto),
                                            ("the fastest library", "s", "--", "white", lambda c: c.peer)):
        points = sorted((c.k, time(c).gflops) for c in cases)
        axes.plot([k for k, _ in points], [g for _, g in points], marker=marker, linestyle=line, color="black",
                  markerfacecolor=fill, markersize=4, linewidth=1, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [k for k in recorded.columns(cases) if k & (k - 1) == 0]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_title(cases[0].matrix, fontsize=9)


def over_k(group):
    """A panel for each matrix."""
    names = list(dict.fromkeys(c.matrix for c in group.cases))
    wide = min(4, len(names))
    high = -(-len(names) // wide)
    figure, grid = plt.subplots(high, wide, figsize=(2.6 * wide, 2.2 * high + 0.6), squeeze=False,
                                layout="constrained", sharex=True, sharey=True)
    panels = list(grid.flat)
    for panel, name in zip(panels, names):
        draw_matrix(panel, [c for c in group.cases if c.matrix == name])
    for panel in panels[len(names):]:
        panel.set_axis_off()
    figure.supxlabel("columns of X, K", fontsize=9)
    figure.supylabel("GFLOP/s", fontsize=9)
    figure.suptitle(", ".join(filter(None, (group.machine, group.precision, group.libraries))), fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=2,
                  frameon=False)
    return figure


def main(folder="docs/performance"):
    os.makedirs(folder, exist_ok=True)
    for group in recorded.groups(recorded.files_in("bench/records")):
        if group.precision == "f64" and all(c.auto.gflops and not recorded.is_file(c.matrix) for c in group.cases):
            path = os.path.join(folder, "over-k-" + re.sub(r"[^a-z0-9]+", "-", f"{group.machine} f64".lower()).strip("-") + ".svg")
            over_k(group).savefig(path, bbox_inches="tight", metadata={"Date": None})
            print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
