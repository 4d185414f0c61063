"""Figures of scaling, kernels, phases and the roofline, readable in black and white: series differ by marker, dash and
hatch. Each function takes data and returns a matplotlib Figure; save() and svg() write one.

Needs matplotlib (Debian, Ubuntu: python3-matplotlib).
"""
import io
import math
import re
import textwrap

import matplotlib
import matplotlib.transforms
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from . import laws, output, series, tables

MARKERS = "os^vD<>pPX*hd"
DASHES = ["-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))]
FILLS = ["black", "white", "0.6"]
HATCHES = ["", "///", "...", "\\\\\\", "xxx", "---", "|||", "ooo"]
GREYS = ["0.15", "0.92", "0.75", "0.55", "0.97", "0.65", "0.85", "0.45"]
STYLE = {"svg.hashsalt": "spmm_mpi", "svg.fonttype": "path", "font.size": 9, "axes.titlesize": 9, "axes.grid": True,
         "axes.axisbelow": True, "grid.color": "0.88", "grid.linewidth": 0.5, "hatch.linewidth": 0.6,
         "legend.fontsize": 8, "legend.frameon": False, "legend.handlelength": 3, "axes.spines.top": False,
         "axes.spines.right": False}
MOST_TITLE = 76
MOST_BARS = 16
MOST_NAMED = 12
if "text.parse_math" in matplotlib.rcParams:
    STYLE["text.parse_math"] = False  # a $ in a name is a $
FAR = 20
LONGEST_BAR = 2
APART, MOST_APART = 1.018, 1.1
# of the numbers beside points, in points of the page: high and wide, distance, half a marker
TEXT_HIGH, TEXT_WIDE, TEXT_OFF, MARKED = 8, 4.5, 6, 3


# ---- common to all ----

def styled(draw):
    """Whatever the user's matplotlibrc says, the figures look alike."""
    def drawn(*args, **named):
        with matplotlib.rc_context(STYLE):
            return draw(*args, **named)
    drawn.__doc__, drawn.__name__ = draw.__doc__, draw.__name__
    return drawn


def new_figure(wide, high, columns=1):
    figure = Figure(figsize=(wide, high), layout="constrained")
    return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def drawable(text):
    """Of characters that a font has."""
    return "".join(c if c.isprintable() else "?" for c in text)


def cut(text, most=MOST_TITLE):
    text = drawable(text)
    return text if len(text) <= most else text[:most - 1] + "…"


def wrapped(text, wide=MOST_TITLE):
    """On two lines at most."""
    lines = textwrap.wrap(drawable(text), wide) or [""]
    return "\n".join(lines[:1] + [cut(" ".join(lines[1:]), wide)] * (len(lines) > 1))


def look(number):
    """Marker, dash and filling of the n-th series; no two of the first hundred are alike."""
    return {"marker": MARKERS[number % len(MARKERS)], "linestyle": DASHES[number % len(DASHES)], "color": "black",
            "markerfacecolor": FILLS[number % len(FILLS)], "markersize": 5, "linewidth": 1.1,
            "markeredgewidth": 0.9}


def plain(value, _position=None):
    return f"{value:,.0f}" if value >= 1e4 else f"{value:g}"


def log_axis(axis, low, high):
    """Plain numbers at 1, 2, 5 over few decades, at powers of ten over many."""
    decades = high / low if low > 0 else 1
    subs = (1, 1.5, 2, 3, 5, 7) if decades < 12 else (1, 2, 5) if decades < 300 else (1,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def count_axis(axes, counts):
    """Numbers of ranks or of columns: those that were run, by powers of two; crowded ones are not all named."""
    axes.set_xscale("log", base=2)
    shown = []
    for c in sorted(counts):
        if not shown or c / shown[-1] >= 1.2:
            shown.append(c)
    while len(shown) > 11:
        shown = shown[::2]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    low, high = min(counts), max(counts)
    margin = (high / low) ** 0.04 if high > low else 1.5
    axes.set_xlim(low / margin / 1.03, high * margin * 1.03)


def value_limits(axes, values, room=1.25):
    """A logarithmic y axis around the values, (value, low, high) or numbers: never so narrow that noise fills it, and
    not so wide that a few long error bars flatten everything: those are cut."""
    triples = [v if isinstance(v, tuple) else (v, v, v) for v in values]
    least, most = min(v for v, _, _ in triples), max(v for v, _, _ in triples)
    low = max(min(a for _, a, _ in triples), least / LONGEST_BAR) / room
    high = min(max(b for _, _, b in triples), most * LONGEST_BAR) * room
    if high / low < 4:
        widen = (4 / (high / low)) ** 0.5
        low, high = low / widen, high * widen
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    log_axis(axes.yaxis, low, high)


def doubling_limits(axes, values):
    """The same for a speed-up: marked at powers of two, as the ranks are."""
    value_limits(axes, values, 1.15)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(plain))
    axes.yaxis.set_minor_locator(NullLocator())


def bars_of(values):
    """matplotlib's two lists of distances from (value, low, high)."""
    return [[max(0.0, v - low) for v, low, _ in values], [max(0.0, high - v) for v, _, high in values]]


def draw_with_errors(axes, x, values, label, place):
    """place: (number, count) of the series. Those of one x stand a little apart, or their bars would be one."""
    number, count = place
    aside = min(APART, MOST_APART ** (1 / count)) ** (number - (count - 1) / 2)
    axes.errorbar([aside * v for v in x], [v for v, _, _ in values], yerr=bars_of(values), capsize=2.5, elinewidth=0.8,
                  label=label, **look(number))


def times_of(points):
    """(median, low, high) in milliseconds."""
    return [(1e3 * p.spread.median, *(1e3 * b for b in p.spread.bounds())) for p in points]


def ratio_of(reference, point, factor=1.0):
    """Of a speed-up: the quotient of the medians, and how far both their intervals let it be."""
    (a, a_low, a_high), (b, b_low, b_high) = ((s.median, *s.bounds()) for s in (reference.spread, point.spread))
    return factor * a / b, factor * a_low / b_high, factor * a_high / b_low


def error_note(points):
    every = all(p.spread.low is not None for p in points)
    return "bars: 95 % interval of the median" if every else "bars: least to greatest"


def series_first(axes):
    """Handles and labels of a legend: what was measured before the lines that it is held against."""
    pairs = sorted(zip(*axes.get_legend_handles_labels()), key=lambda pair: isinstance(pair[0], Line2D))
    return [handle for handle, _ in pairs], [label for _, label in pairs]


def legend_below(figure, axes, count, notes=""):
    """All entries under the plots, where they cover nothing."""
    handles, labels = series_first(axes)
    if notes:
        handles.append(Line2D([], [], linestyle=""))
        labels.append(notes)
    wide = max(1, int(16 * figure.get_size_inches()[0] / (8 + max(len(text) for text in labels))))
    place = {"loc": "outside lower center"} if _outside() else {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    figure.legend(handles, [cut(text) for text in labels], ncol=min(count, wide), **place)


def _outside():
    """Has this matplotlib legends that make room for themselves (3.7)?"""
    return tuple(int(n) for n in matplotlib.__version__.split(".")[:2]) >= (3, 7)


# ---- strong scaling ----

def _dense(low, high, count=60):
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


def draw_ideal(axes, low, high, value, label="ideal"):
    axes.plot([low, high], [value(low), value(high)], color="0.5", linewidth=1, linestyle=(0, (8, 3)), label=label)


def _strong_counts(group, predict):
    return sorted({one.size(p) for one in group.series for p in one.points} | set(predict))


def draw_strong_times(axes, group, predict):
    counts = _strong_counts(group, predict)
    values = []
    for number, one in enumerate(group.series):
        times = times_of(one.points)
        values += times
        draw_with_errors(axes, [one.size(p) for p in one.points], times, one.label, (number, len(group.series)))
        if one.fit:
            x = _dense(1, max(counts))
            y = [1e3 * one.fit.seconds(p) for p in x]
            values += y
            axes.plot(x, y, color="black", linewidth=0.6, linestyle=(0, (1, 2.5)),
                      label="Amdahl with overhead, fitted" if number == 0 else None)
    first = next((one.first for one in group.series if one.first), None)
    if first:
        draw_ideal(axes, 1, max(counts), lambda p: 1e3 * first.spread.median / p,
                   f"ideal: one {group.over[:-1]}'s time / p")
        values.append(1e3 * first.spread.median / max(one.most for one in group.series))
    serial = group.series[0].serial
    if serial:
        axes.axhline(1e3 * serial.spread.median, color="0.3", linewidth=1, linestyle=(0, (3, 1, 1, 1, 1, 1)),
                     label=group.serial_label)
        values.append(1e3 * serial.spread.median)
    count_axis(axes, counts)
    value_limits(axes, values)
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"time of {group.timed}, ms")


def draw_speedups(axes, group, predict):
    counts = _strong_counts(group, predict)
    values = [1.0]
    for number, one in enumerate(group.series):
        if not one.first:
            continue
        ratios = [ratio_of(one.first, p) if one.size(p) > 1 else (1.0, 1.0, 1.0) for p in one.points]
        values += ratios
        draw_with_errors(axes, [one.size(p) for p in one.points], ratios, one.label, (number, len(group.series)))
        if one.fit:
            x = _dense(1, max(counts))
            axes.plot(x, [one.fit.speedup(p) for p in x], color="black", linewidth=0.6, linestyle=(0, (1, 2.5)))
            values += [one.fit.speedup(p) for p in x]
    draw_ideal(axes, 1, max(counts), lambda p: p)
    count_axis(axes, counts)
    doubling_limits(axes, values + [max(counts)])
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"speed-up over one {group.over[:-1]}")


@styled
def strong(group, predict=()):
    """Time and relative speed-up over ranks, with the fits drawn on to the predicted ranks."""
    related = any(one.first for one in group.series)
    figure, axes = new_figure(7.2 if related else 4.4, 3.1, 2 if related else 1)
    draw_strong_times(axes[0], group, predict)
    if related:
        draw_speedups(axes[1], group, predict)
    figure.suptitle(wrapped(group.title), fontsize=10)
    legend_below(figure, axes[0], 3, error_note([p for one in group.series for p in one.points]))
    return figure


def draw_efficiencies(axes, group, what, reference):
    values, counts = [1.0], sorted({one.size(p) for one in group.series for p in one.points})
    for number, one in enumerate(group.series):
        base = reference(one)
        if not base:
            continue
        ratios = [(1.0, 1.0, 1.0) if p is base else ratio_of(base, p, 1 / one.size(p)) for p in one.points]
        values += [min(high, LONGEST_BAR * value) for value, _, high in ratios]
        draw_with_errors(axes, [one.size(p) for p in one.points], ratios, one.label, (number, len(group.series)))
    axes.axhline(1, color="0.5", linewidth=1, linestyle=(0, (8, 3)), label="ideal")
    count_axis(axes, counts)
    axes.set_ylim(0, 1.08 * max(values))
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"efficiency over {what}")


@styled
def efficiency(group):
    """Speed-up by p over ranks, over one rank and over the serial product; None where neither was run."""
    panels = [(f"one {group.over[:-1]}", lambda one: one.first), (group.serially, lambda one: one.serial)]
    panels = [(what, of) for what, of in panels if any(of(one) for one in group.series)]
    if not panels:
        return None
    figure, axes = new_figure(7.2 if len(panels) > 1 else 4.4, 3.1, len(panels))
    for panel, (what, reference) in zip(axes, panels):
        draw_efficiencies(panel, group, what, reference)
    figure.suptitle(wrapped(group.title), fontsize=10)
    legend_below(figure, axes[0], 3, error_note([p for one in group.series for p in one.points]))
    return figure


# ---- weak scaling ----

def draw_weak_times(axes, group):
    values, counts = [], sorted({p.ranks for one in group.series for p in one.points})
    for number, one in enumerate(group.series):
        times = times_of(one.points)
        values += times
        draw_with_errors(axes, [p.ranks for p in one.points], times, one.label, (number, len(group.series)))
    first = next((one.first for one in group.series if one.first), None)
    if first:
        draw_ideal(axes, counts[0], counts[-1], lambda p: 1e3 * first.spread.median)
    count_axis(axes, counts)
    value_limits(axes, values)
    axes.set_xlabel("ranks, p")
    axes.set_ylabel("time of a product, ms")


def draw_scaled(axes, group):
    values, counts = [1.0], sorted({p.ranks for one in group.series for p in one.points})
    for number, one in enumerate(group.series):
        if not one.first:
            continue
        ratios = [ratio_of(one.first, p, one.work_ratio(p)) if p.ranks > 1 else (1.0, 1.0, 1.0) for p in one.points]
        values += ratios
        draw_with_errors(axes, [p.ranks for p in one.points], ratios, one.label, (number, len(group.series)))
        if one.share is not None:
            x = _dense(1, counts[-1])
            axes.plot(x, [laws.gustafson(one.share, p) for p in x], color="black", linewidth=0.6,
                      linestyle=(0, (1, 2.5)), label="Gustafson's law, fitted" if number == 0 else None)
    draw_ideal(axes, counts[0], counts[-1], lambda p: p)
    count_axis(axes, counts)
    doubling_limits(axes, values + [counts[-1]])
    axes.set_xlabel("ranks, p")
    axes.set_ylabel("scaled speed-up")


@styled
def weak(group):
    """Time and scaled speed-up of a problem that grows with the ranks."""
    related = any(one.first for one in group.series)
    figure, axes = new_figure(7.2 if related else 4.4, 3.1, 2 if related else 1)
    draw_weak_times(axes[0], group)
    if related:
        draw_scaled(axes[1], group)
    figure.suptitle(wrapped(group.title), fontsize=10)
    legend_below(figure, axes[-1], 3, error_note([p for one in group.series for p in one.points]))
    return figure


# ---- distributions and cost models ----

MODELS = [("notes_probe", "model, T_calc of the probe", (0, (1, 1.2))),
          ("notes_one_rank", "model, T_calc of one rank", (0, (5, 2))),
          ("complete", "that with X, latency, imbalance", "-")]


def _distributions(group):
    """{distribution: its fastest series on the most ranks}."""
    best = {}
    for one in group.series:
        last = one.points[-1]
        rank = (-last.ranks, last.spread.median)
        if last.distribution not in best or rank < best[last.distribution][0]:
            best[last.distribution] = rank, one
    return {kind: one for kind, (_, one) in sorted(best.items(), key=lambda item: series.ORDER[item[0]])}


def draw_models(axes, one, points):
    """Measured times and the models' lines. Returns all values, in milliseconds."""
    ranks = [p.ranks for p in one.points]
    values = times_of(one.points)
    axes.errorbar(ranks, [v for v, _, _ in values], yerr=bars_of(values), capsize=2.5, elinewidth=0.8, linestyle="",
                  marker="o", color="black", markersize=5, label="measured")
    made = [series.models(one, p, points) for p in one.points]
    for name, label, dash in MODELS:
        y = [getattr(m, name) for m in made]
        if all(v is not None for v in y):
            y = [1e3 * v for v in y]
            values += y
            axes.plot(ranks, y, color="0.35", linewidth=1.1, linestyle=dash, label=label)
    return values


@styled
def models(group, points):
    """A panel a distribution, each with its fastest series; None where no model could be evaluated."""
    shown = _distributions(group)
    if not any(any(vars(series.models(one, p, points)).values()) for one in shown.values() for p in one.points):
        return None
    figure, axes = new_figure(2.5 + 2.4 * len(shown) - 0.2, 2.9, len(shown))
    values = [draw_models(panel, one, points) for panel, one in zip(axes, shown.values())]
    for panel, one in zip(axes, shown.values()):
        count_axis(panel, [p.ranks for p in one.points])
        value_limits(panel, [v for some in values for v in some])
        panel.set_title(cut(one.label, 34))
        panel.set_xlabel("ranks, p")
    axes[0].set_ylabel("time of a product, ms")
    figure.suptitle(wrapped(group.title, 34 * len(shown)), fontsize=10)
    legend_below(figure, axes[0], 2, error_note([p for one in shown.values() for p in one.points]))
    return figure


# ---- kernels over K ----

@styled
def kernels(sweep):
    """GFLOP/s over K, a line a kernel, the fastest at the top of the legend; None with a single K."""
    columns = sweep.columns
    if len(columns) < 2:
        return None
    lines = sorted(sweep.lines.items(), key=lambda line: -max(p.gflops for p in line[1]))
    figure, (axes,) = new_figure(7.2, max(3.3, 0.19 * len(lines) + 1))
    values = []
    for number, (label, points) in enumerate(lines):
        rates = [(p.gflops, *(p.flop / 1e9 / b for b in reversed(p.spread.bounds()))) for p in points]
        values += rates
        draw_with_errors(axes, [p.k for p in points], rates, label, (number, len(lines)))
    count_axis(axes, columns)
    value_limits(axes, values)
    axes.set_xlabel("columns of X, K")
    axes.set_ylabel("GFLOP/s")
    axes.set_title(wrapped(sweep.title) + "\n" + error_note([p for _, points in lines for p in points]))
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


# ---- phases ----

def _stack(axes, labels, names, parts):
    """Horizontal bars, the first on top; parts [bar][phase] in milliseconds."""
    places = range(len(labels))
    left = [0.0] * len(labels)
    for n, name in enumerate(names):
        widths = [bar[n] for bar in parts]
        axes.barh(places, widths, left=left, height=0.7, color=GREYS[n], edgecolor="black", linewidth=0.6,
                  hatch=HATCHES[n], label=name)
        left = [a + w for a, w in zip(left, widths)]
    axes.set_yticks(list(places), [cut(text, 48) for text in labels])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("ms")


def _bar_labels(points):
    """What differs between the bars; what is common stands in the title."""
    parts = [[p.name, f"K={p.k}", p.precision, p.kernel, f"{p.ranks} rank{'s' * (p.ranks != 1)}", tables.grid(p),
              f"{p.threads} thr.", p.extras] for p in points]
    # ranks stay: a bar without any word is of nothing
    differing = [i for i in range(len(parts[0])) if i == 4 or len({part[i] for part in parts}) > 1]
    common = [parts[0][i] for i in range(len(parts[0])) if i not in differing and parts[0][i]]
    return [" ".join(part[i] for i in differing if part[i]) for part in parts], ", ".join(common)


def _bar_panels(count):
    """A figure of two panels whose height, in inches, is that of the bars; names stand outside, saving makes room."""
    wide, high, bars = 7.2, 0.24 * count + 0.15, 2.9
    figure = Figure(figsize=(wide, high))
    return figure, [figure.add_axes([left / wide, 0, bars / wide, 1]) for left in (0, bars + 0.3)]


def _legend_under(figure, axes, columns):
    """At a fixed distance below the axis, however high the bars are."""
    down = matplotlib.transforms.ScaledTranslation(0, -0.45, figure.dpi_scale_trans)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=axes.transAxes + down, ncol=columns,
                columnspacing=1, handletextpad=0.5, handlelength=2, borderaxespad=0)


@styled
def phases(points, machine):
    """Stacked bars: one product's parts, and the phases around the products. None where nothing was recorded."""
    found = [p for p in points if p.middle("seconds", "kernel") is not None][:MOST_BARS]
    if not found:
        return None
    labels, common = _bar_labels(found)
    figure, axes = _bar_panels(len(found))
    product = [[1e3 * s for s in tables.product_phases(p)] for p in found]
    setup = [[1e3 * s for s in tables.setup_phases(p)] for p in found]
    _stack(axes[0], labels, tables.PRODUCT_PHASES, product)
    _stack(axes[1], [""] * len(labels), ["X" if n == "x" else n for n in tables.SETUP_PHASES], setup)
    for panel, title, columns in zip(axes, ("one product", "around the products, once"), (1, 3)):
        panel.set_title(title)
        panel.xaxis.set_major_locator(MaxNLocator(5))
        _legend_under(figure, panel, columns)
    figure.text(0.5, 1, wrapped(f"{common}, {machine}" if common else machine), fontsize=10, ha="center", va="bottom",
                transform=figure.transFigure + matplotlib.transforms.ScaledTranslation(0, 0.3, figure.dpi_scale_trans))
    return figure


# ---- roofline ----

def draw_ceilings(axes, copy, peak, low, high, name=None):
    """Lines, as far as they are seen: where the two meet far beyond the points, the peak bounds nothing here. name: of
    the flat line, if that is not the peak that was given."""
    knee = min(max(peak / copy, low), high) if peak and copy else high
    lines = []
    if copy:
        lines += axes.plot([low, knee], [low * copy / 1e9, knee * copy / 1e9], "-", color="black", linewidth=1.5,
                           label=f"copy, {copy / 1e9:.4g} GB/s, measured")
    if peak and not (copy and knee == high):
        lines += axes.plot([knee if copy else low, high], [peak / 1e9] * 2, "--", color="black", linewidth=1.5,
                           label=name or f"peak, {peak / 1e9:g} GFLOP/s, as given")
    return lines


def draw_roofline_points(axes, points, names, kernels_drawn):
    """A marker a matrix, a filling a kernel."""
    for p in points:
        axes.plot([laws.intensity(p.flop, series.traffic(p))], [p.gflops / series.devices(p)], linestyle="",
                  marker=MARKERS[names.index(p.name) % len(MARKERS)], color="black", markersize=5.5,
                  markeredgewidth=0.9, markerfacecolor=FILLS[kernels_drawn.index(p.kernel) % len(FILLS)], zorder=3)


def name_columns(axes, points):
    """K beside the highest point of each problem, while there are few."""
    best = {}
    for p in points:
        rate = p.gflops / series.devices(p)
        if rate > best.get((p.name, p.k), (0, None))[0]:
            best[p.name, p.k] = rate, p
    if len(best) <= MOST_NAMED and len({name for name, _ in best}) <= 2:
        for rate, p in best.values():
            axes.annotate(f"K={p.k}", (laws.intensity(p.flop, series.traffic(p)), rate), xytext=(-4, 4),
                          textcoords="offset points", ha="right", fontsize=7)


def roofline_limits(axes, low, high, values):
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    log_axis(axes.xaxis, low, high)
    value_limits(axes, values)


def _rate_label(points):
    return "GFLOP/s" + (" of each GPU" if any(series.devices(p) > 1 for p in points) else "")


def _roofline_keys(names, kernels_drawn):
    keys = [Line2D([], [], color="black", marker=MARKERS[i % len(MARKERS)], linestyle="", label=cut(n, 28),
                   markerfacecolor="none") for i, n in enumerate(names)]
    if 1 < len(kernels_drawn) <= len(FILLS):
        keys += [Patch(facecolor=FILLS[i], edgecolor="black", label=k) for i, k in enumerate(kernels_drawn)]
    return keys


def fastest_per_problem(points):
    """Of the same matrix, K and ranks the fastest kernel: a roofline of all of them is a column of dots."""
    best = {}
    for p in points:
        key = p.source, p.k, p.ranks
        if key not in best or p.spread.median < best[key].spread.median:
            best[key] = p
    return list(best.values())


@styled
def roofline(machine, precision, points, peak=None):
    """GFLOP/s over flop per byte of the least traffic, under the copy's bandwidth and the peak (flop/s). The fastest
    kernel of each matrix, K and number of ranks."""
    points, copy = fastest_per_problem(points), series.device_bandwidth(points)
    names = list(dict.fromkeys(p.name for p in points))
    drawn = list(dict.fromkeys(p.kernel for p in points))
    intensities = [laws.intensity(p.flop, series.traffic(p)) for p in points]
    low, high = min(intensities) / 1.6, max(intensities) * 1.6
    if peak and copy and high < 2 * peak / copy < FAR * high:
        high = 2 * peak / copy
    figure, (axes,) = new_figure(7.2, 3.6)
    lines = draw_ceilings(axes, copy, peak, low, high)
    draw_roofline_points(axes, points, names, drawn)
    name_columns(axes, points)
    rates = [p.gflops / series.devices(p) for p in points]
    tops = [laws.ceiling(i, copy, peak) / 1e9 for i in intensities] if copy else []
    roofline_limits(axes, low, high, rates + tops + ([peak / 1e9] if len(lines) > 1 or not copy and lines else []))
    axes.set_xlabel("flop per byte of the least DRAM traffic")
    axes.set_ylabel(_rate_label(points))
    axes.set_title(wrapped(f"{machine}, {precision}: the fastest kernel of each matrix, K and ranks"))
    axes.legend(handles=lines + _roofline_keys(names, drawn), loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


# ---- steps of series ----

def _crosses(box, other):
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _text_places(points, words):
    """Offsets (x, y) of a text beside each point, all in points of the page: at its right or left, as near to its
    height as the texts before it and the markers leave room."""
    taken = [(x - MARKED, y - MARKED, x + MARKED, y + MARKED) for x, y in points]
    places, steps_away = [], [up * TEXT_HIGH / 2 for up in range(2 * len(points) + 1)]
    for (x, y), word in zip(points, words):
        wide = TEXT_WIDE * len(word)
        tries = [(left, y + up * sign) for up in steps_away for left in (x + TEXT_OFF, x - TEXT_OFF - wide)
                 for sign in (1, -1)]
        left, middle = next(((a, b) for a, b in tries if not any(
            _crosses((a, b - TEXT_HIGH / 2, a + wide, b + TEXT_HIGH / 2), box) for box in taken)), tries[0])
        taken.append((left, middle - TEXT_HIGH / 2, left + wide, middle + TEXT_HIGH / 2))
        places.append((left - x, middle - y))
    return places


def _heaps(points):
    """(first, last) of points, in points of the page, that follow one another and lie on top of each other."""
    heaps = []
    for n, (x, y) in enumerate(points):
        there = points[heaps[-1][0]] if heaps else (-math.inf, -math.inf)
        if abs(x - there[0]) < MARKED and abs(y - there[1]) < TEXT_HIGH / 2:
            heaps[-1][1] = n
        else:
            heaps.append([n, n])
    return heaps


def number_points(axes, places):
    """A number beside each of the points, or from which to which beside several on top of each other; with a line
    where it stands higher or lower."""
    axes.figure.draw_without_rendering()
    on_page = [tuple(axes.transData.transform(place) * 72 / axes.figure.dpi) for place in places]
    heaps = _heaps(on_page)
    words = [str(a + 1) if a == b else f"{a + 1}-{b + 1}" for a, b in heaps]
    middles = [tuple((v + w) / 2 for v, w in zip(on_page[a], on_page[b])) for a, b in heaps]
    for word, (a, b), (aside, up) in zip(words, heaps, _text_places(middles, words)):
        line = {"arrowstyle": "-", "linewidth": 0.4, "color": "0.4", "shrinkA": 0, "shrinkB": 2}
        middle = [math.sqrt(v * w) for v, w in zip(places[a], places[b])]
        axes.annotate(word, middle, xytext=(aside, up), textcoords="offset points", fontsize=7, va="center", zorder=4,
                      arrowprops=line if abs(up) > 3 else None,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})


def draw_steps(axes, points, places):
    """A marker a step. Returns the lines of the legend, a number each."""
    names, keys = list(dict.fromkeys(p.step for p in points)), []
    for number, (p, (x, y)) in enumerate(zip(points, places), 1):
        marker = {**look(names.index(p.step)), "linestyle": ""}
        axes.plot([x], [y], zorder=3, **marker)
        keys.append(Line2D([], [], label=cut(f"{number} {p.step}: {p.kernel}", 34), **marker))
    return keys


@styled
def steps_roofline(title, points, copy=None, peak=None):
    """GFLOP/s over flop per byte of what a step must move, under the copy's bandwidth (bytes/s) and the peak
    (flop/s), or the most that was measured; a marker a step, a number a kernel. Numbers of a step go down with the
    rate. None without points."""
    if not points:
        return None
    places = [(laws.intensity(p.flop, p.bytes), p.gflops / series.devices(p)) for p in points]
    rates = [rate for _, rate in places]
    low, high = min(x for x, _ in places) / 3, max(x for x, _ in places) * 3
    top = peak or max(rates) * 1e9
    figure, (axes,) = new_figure(7.2, max(3.6, 0.165 * (len(points) + 3)))
    best = None if peak else f"best measured, {tables.significant(max(rates))} GFLOP/s"
    lines = draw_ceilings(axes, copy, top, low, high, best)
    tops = [laws.ceiling(x, copy, top) / 1e9 for x, _ in places] if copy else []
    roofline_limits(axes, low, high, rates + tops + [top / 1e9])
    keys = draw_steps(axes, points, places)
    axes.set_xlabel("flop/byte, of what the step must move")
    axes.set_ylabel(_rate_label(points))
    axes.set_title(wrapped(title))
    axes.legend(handles=lines + keys, loc="center left", bbox_to_anchor=(1.01, 0.5))
    number_points(axes, places)
    return figure


# ---- files ----

def save(figure, path):
    """PATH.svg and PATH.png; the same data give the same SVG. Returns both names."""
    forms = {".svg": {"format": "svg", "metadata": {"Date": None}}, ".png": {"format": "png", "dpi": 200}}
    for ending, how in forms.items():
        drawn = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.savefig(drawn, bbox_inches="tight", **how)
        output.write(path + ending, drawn.getvalue())
    return [path + ending for ending in forms]


def svg(figure, prefix):
    """<svg> to stand inside a page: ids that begin with the prefix, nothing that refers to elsewhere."""
    out = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    # a style sheet in a page holds for all of it
    return text.replace('<style type="text/css">*{', f'<style type="text/css">#{prefix} *{{')
