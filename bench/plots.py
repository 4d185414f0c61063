#!/usr/bin/env python3
"""Draws docs/performance/*.svg from the CSV files of bench/records/, and names them in bench/records/TABLES.md.

    plots.py [--records DIR] [--out DIR] [--doc FILE]

Needs matplotlib (Debian: python3-matplotlib). Series differ by marker and line, not by color alone. The same
records give the same files. In the document the names replace the lines between <!-- plots --> and <!-- end plots -->.
"""
import os
import re
import sys

import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, StrMethodFormatter

import recorded

MARKED = re.compile(r"(<!-- plots -->\n)(.*?)(<!-- end plots -->)", re.DOTALL)
MARKERS = "os^vD<>pPX*hd"
# published peaks of the plain floating-point units (no tensor cores), TFLOP/s: NVIDIA's data sheets
PEAKS = {"H200": {"f64": 34, "f32": 67}, "H100": {"f64": 34, "f32": 67}, "A100": {"f64": 9.7, "f32": 19.5}}
ROOFLINE_K = (1, 4, 16, 64, 256)

plt.rcParams.update({"svg.hashsalt": "spmm_mpi", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                     "grid.color": "0.85", "grid.linewidth": 0.5, "lines.color": "black",
                     "axes.prop_cycle": plt.cycler(color=["black"])})


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def save(figure, folder, name, made, caption):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".svg")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    made.append((path, caption))


def plain_ticks(axes):
    """A logarithmic y axis marked 1, 2, 5, 10, 20 ... in plain numbers."""
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


# ---- GFLOP/s over K, a panel per matrix ----

def draw_over_k(axes, cases, peer_name):
    series = [("ours, auto", "o", "-", "black", lambda c: c.auto), (peer_name, "s", "--", "white", lambda c: c.peer)]
    for label, marker, line, fill, time in series:
        points = sorted((c.k, time(c).gflops) for c in cases if time(c))
        axes.plot([k for k, _ in points], [g for _, g in points], marker=marker, linestyle=line, color="black",
                  markerfacecolor=fill, markersize=4, linewidth=1, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [k for k in recorded.columns(cases) if k & (k - 1) == 0]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    plain_ticks(axes)
    axes.set_title(recorded.short(cases[0].matrix), fontsize=9)


def over_k(machine, precision, cases, peer_name):
    cases = [c for c in cases if c.peer]  # those without a peer are of other runs: the sweep for cliffs
    names = recorded.matrices(cases)
    if not names:
        return None
    wide = min(4, len(names))
    high = -(-len(names) // wide)
    figure, grid = plt.subplots(high, wide, figsize=(2.6 * wide, 2.2 * high + 0.6), squeeze=False,
                                layout="constrained", sharex=True, sharey=True)
    panels = list(grid.flat)
    for panel, name in zip(panels, names):
        draw_over_k(panel, [c for c in cases if c.matrix == name], peer_name)
    for panel in panels[len(names):]:
        panel.set_axis_off()
    figure.supxlabel("columns of X, K", fontsize=9)
    figure.supylabel("GFLOP/s", fontsize=9)
    figure.suptitle(f"{machine}, {precision}", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="upper center", bbox_to_anchor=(0.5, 0), ncol=2,
                  frameon=False)
    return figure


# ---- roofline ----

def peak_of(machine, precision):
    """The peak in GFLOP/s; None if it is unknown."""
    return next((peaks[precision] * 1e3 for name, peaks in PEAKS.items() if name in machine), None)


def draw_ceilings(axes, copy, peak, low, high):
    """Draws the copy's bandwidth, up to the peak if that is known, and the peak."""
    knee = min(max(peak * 1e9 / copy, low), high) if peak else high
    lines = axes.plot([low, knee], [low * copy / 1e9, knee * copy / 1e9], "-", linewidth=1.5,
                      label=f"copy, {copy / 1e12:.2f} TB/s, measured")
    if peak:
        lines += axes.plot([low, high], [peak, peak], "--", linewidth=1.5, label=f"{peak / 1e3:g} TFLOP/s, published")
    return lines


def draw_points(axes, cases, names):
    for c in cases:
        marker, x = MARKERS[names.index(c.matrix) % len(MARKERS)], c.flop / c.bytes
        if c.peer:
            axes.plot([x], [c.peer.gflops], marker, color="0.45", markerfacecolor="white", markersize=5)
        axes.plot([x], [c.auto.gflops], marker, color="black", markersize=5)


def roofline(machine, precision, cases):
    cases = [c for c in cases if c.auto and c.peer and c.bytes > 0 and c.k in ROOFLINE_K]
    if not cases:
        return None
    names, copy = recorded.matrices(cases), max(c.copy for c in cases)
    intensity = [c.flop / c.bytes for c in cases]
    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    ceilings = draw_ceilings(axes, copy, peak_of(machine, precision), min(intensity) / 1.5, max(intensity) * 1.5)
    draw_points(axes, cases, names)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    plain_ticks(axes)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlabel("FLOP per byte of the least traffic")
    axes.set_ylabel("GFLOP/s")
    axes.set_title(f"{machine}, {precision}, K = " + ", ".join(map(str, ROOFLINE_K)), fontsize=10)
    keys = [Line2D([], [], color="black", marker=MARKERS[i % len(MARKERS)], linestyle="", label=recorded.short(n))
            for i, n in enumerate(names)]
    keys += [Line2D([], [], color="black", marker="o", linestyle="", label="black: ours, auto"),
             Line2D([], [], color="0.45", marker="o", linestyle="", markerfacecolor="white", label="hollow: cuSPARSE")]
    axes.legend(handles=keys + ceilings, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


# ---- all ----

def draw_all(folder, out):
    made = []
    for machine, precision, cases in recorded.groups(recorded.generated(recorded.gpu(folder))):
        name, label = f"{slug(machine)}-{precision}", f"{machine}, {precision}"
        for kind, figure, caption in [
                ("over-k", over_k(machine, precision, cases, "cuSPARSE SpMM, best"), "GFLOP/s over K"),
                ("roofline", roofline(machine, precision, cases), "roofline at the least traffic")]:
            if figure:
                save(figure, out, f"{kind}-{name}", made, f"{caption}: {label}")
    for machine, precision, cases in recorded.groups(recorded.generated(recorded.cpu(folder))):
        figure = over_k(machine, precision, cases, "the fastest library")
        if figure:
            save(figure, out, f"over-k-{slug(machine)}-{precision}", made, f"GFLOP/s over K: {machine}, {precision}")
    return made


def main():
    options = recorded.options(__doc__, out="docs/performance")
    made = draw_all(options.records, options.out)
    for path, _ in made:
        print(path)
    folder = os.path.dirname(options.doc) or "."
    images = [f"![{caption}]({os.path.relpath(path, folder)})\n" for path, caption in made]
    inside = "\n".join(images) or "No record yet.\n"
    if recorded.replace(options.doc, MARKED, lambda m: m[1] + inside + m[3]):
        return 0
    print(f"plots.py: {options.doc} has no <!-- plots -->", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
