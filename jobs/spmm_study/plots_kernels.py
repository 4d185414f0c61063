"""Figures of kernels over K, and of the phases of a product. Each function takes data and returns a Picture, or None."""
import math

from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from . import draw, series, tables
from .draw import HEAT, INK, MUTED, PAPER, Panel, Picture

MOST_BARS = 16
# least number of kernels for which a heat map of shares is clearer than lines
LEAST_COMPARED = 3
# least number of points for a line
LEAST_DRAWN = 3
# most lines that are drawn in addition to a heat map
MOST_RATES = 8
# most panels of a figure: for the least, a middle and the greatest K
MOST_COLUMNS = 3
ROW = 0.22  # inches of a row of a heat map or dot plot
NAME = 0.062  # inches of a character of a row's name


def _named_rows(axes, names):
    """Labels the rows, the first on top."""
    axes.set_yticks(range(len(names)), [draw.cut(name, 36) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _named_panel(panel, names, wide):
    """A panel of rows with names; wide: inches beside them."""
    left = NAME * min(36, max(map(len, names))) + 0.1
    return Panel(panel, (left + wide, ROW * len(names) + 0.6), [], left)


def is_compared(sweep):
    """Did enough kernels run with the same K for a heat map?"""
    return max(sum(k in [p.k for p in points] for points in sweep.lines.values())
               for k in sweep.columns) >= LEAST_COMPARED


# ---- heat map ----

def heat_panel(sweep, title=None):
    """Kernel x K: the rate as a share of the best one for that K; a darker cell has a larger share."""
    shares = series.shares_of_best(sweep)
    names = sorted(shares, key=lambda name: -sum(shares[name].values()) / len(shares[name]))

    def panel(axes):
        columns = sweep.columns
        for y, name in enumerate(names):
            for x, k in enumerate(columns):
                share = shares[name].get(k)
                if share is None:
                    continue
                cell = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=HEAT, edgecolor=PAPER, linewidth=0.8,
                                 alpha=round(share ** 1.5, 2))
                axes.add_patch(cell)
                draw.tip(cell, f"{name}, K = {k}: {100 * share:.0f} % of the best, {_rate(sweep, name, k)}")
                axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=8,
                          fontweight="bold" if share == 1 else "normal")
        _named_rows(axes, names)
        axes.set_xticks(range(len(columns)), [str(k) for k in columns])
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_xlabel("K")
        axes.grid(visible=False)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if title:
            axes.set_title(draw.cut(title, 44))
    return _named_panel(panel, names, 0.36 * max(4, len(sweep.columns)) + 0.2)


def _rate(sweep, name, k):
    return f"{tables.significant(next(p for p in sweep.lines[name] if p.k == k).gflops)} GFLOP/s"


# ---- dot plot ----

def _strokes(axes, ends, color):
    """A stroke per row, from end to end; one path for all."""
    axes.plot([x for pair in ends for x in (*pair, math.nan)], [y for y in range(len(ends)) for _ in range(3)], color=color,
              linewidth=1)


def _dot_panel(sweep, k):
    """GFLOP/s of every kernel at one K, the fastest on top."""
    found = {label: p for label, points in sweep.lines.items() for p in points if p.k == k}
    names = sorted(found, key=lambda name: -found[name].gflops)

    def panel(axes):
        rates = [series.rates_of(found[name]) for name in names]
        places = range(len(names))
        _strokes(axes, [(0, rate) for rate, _, _ in rates], color=draw.GRID)
        _strokes(axes, [(low, high) for _, low, high in rates], color=INK)
        axes.plot([rate for rate, _, _ in rates], places, linestyle="", marker="o", markersize=5, color=draw.SERIES[0])
        for y, name, (rate, _, _) in zip(places, names, rates):
            draw.tip_at(axes, rate, y, f"{name}, K = {k}: {_rate(sweep, name, k)}")
        _named_rows(axes, names)
        axes.set_xlim(0, 1.08 * max(min(high, draw.LONGEST_BAR * rate) for rate, _, high in rates))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(draw.plain)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("GFLOP/s")
        axes.set_title(f"K = {k}")
    return _named_panel(panel, names, 2.2)


def _few(columns):
    return [columns[0], columns[len(columns) // 2], columns[-1]] if len(columns) > MOST_COLUMNS else columns


def dots(sweep):
    """A sorted dot plot per K (if there are more than three, for the least, a middle and the greatest K); None if there
    are too few kernels to compare."""
    if not is_compared(sweep):
        return None
    return Picture(sweep.title, [_dot_panel(sweep, k) for k in _few(sweep.columns)],
                   draw.error_note([p for points in sweep.lines.values() for p in points]))


def heat(sweep):
    """A heat map; None if there are too few kernels to compare."""
    if not is_compared(sweep):
        return None
    return Picture(sweep.title, [heat_panel(sweep)], "numbers: per cent of the best of that K")


# ---- lines ----

def rates_panel(sweep, title=None):
    """GFLOP/s over K, a line per kernel."""
    lines = sorted(sweep.lines.items(), key=lambda line: -max(p.gflops for p in line[1]))

    def panel(axes):
        values = []
        for number, (label, points) in enumerate(lines):
            rates = [series.rates_of(p) for p in points]
            values += rates
            draw.draw_with_errors(axes, [p.k for p in points], rates, label, (number, len(lines)),
                                  [f"{label}, K = {p.k}: {_rate(sweep, label, p.k)}" for p in points])
        draw.count_axis(axes, sweep.columns)
        draw.value_limits(axes, values)
        axes.set_xlabel("columns of X, K")
        axes.set_ylabel("GFLOP/s")
        if title:
            axes.set_title(draw.cut(title, 44))
    return Panel(panel)


def _has_line(sweep):
    return any(len(points) >= LEAST_DRAWN for points in sweep.lines.values())


def is_lines(sweep):
    """Are there too few kernels for a heat map, and one with enough K for a line?"""
    return not is_compared(sweep) and _has_line(sweep)


def rates(sweep):
    """A line per kernel; None if no kernel ran with enough K, or if there are so many that a heat map alone is clearer."""
    if not _has_line(sweep) or (is_compared(sweep) and len(sweep.lines) > MOST_RATES):
        return None
    return Picture(sweep.title, [rates_panel(sweep)],
                   draw.error_note([p for points in sweep.lines.values() for p in points]))


# ---- shapes of a launch ----

def _shape_panel(found, kind):
    """GFLOP/s over sizes, a line per kernel, at one K or of one step."""
    lines = sorted(((label, line) for (label, of), line in found.lines.items() if of == kind),
                   key=lambda item: -max(p.gflops for p in item[1].values()))
    at = f"K = {kind}" if found.kind == "K" else kind

    def panel(axes):
        values = []
        for number, (label, line) in enumerate(lines):
            sizes = sorted(line)
            rates_of = [series.rates_of(line[n]) for n in sizes]
            values += rates_of
            draw.draw_with_errors(axes, sizes, rates_of, label, (number, len(lines)),
                                  [f"{label}, {at}, {n} {found.name}: {tables.significant(line[n].gflops)} GFLOP/s"
                                   for n in sizes])
        draw.count_axis(axes, found.sizes)
        draw.value_limits(axes, values)
        axes.set_xlabel(found.name)
        axes.set_ylabel("GFLOP/s")
        axes.set_title(at)
    return Panel(panel)


def shapes(found):
    """A panel per K or step; None where no kernel ran in enough sizes for a line."""
    if all(len(line) < LEAST_DRAWN for line in found.lines.values()):
        return None
    kinds = _few(sorted(found.kinds)) if found.kind == "K" else found.kinds
    return Picture(f"GFLOP/s over {found.name}: {found.title}", [_shape_panel(found, kind) for kind in kinds],
                   draw.error_note([p for line in found.lines.values() for p in line.values()]))


# ---- phases ----

# work that is done once: {part of a bar: phases of a record in it}
SETUP = {"read": ("read",), "partition, scatter": ("partition", "scatter"), "convert": ("convert",),
         "X, gather, verify": ("x", "gather", "verify")}
PRODUCT_FILLS = [draw.SERIES[0], draw.SERIES[4], draw.SERIES[1]]
SETUP_FILLS = [draw.SERIES[2], HEAT, draw.SERIES[3], draw.SERIES[5]]


def _bar_labels(points):
    """(a label for each bar, of what differs between bars; a text for the title, of what all have in common)"""
    parts = [[p.name, f"K={p.k}", p.precision, p.kernel, f"{p.ranks} rank{'s' * (p.ranks != 1)}", tables.grid(p),
              f"{p.threads} thr.", p.extras] for p in points]
    # the number of ranks (index 4) is in all labels, so that none is empty
    differing = [i for i in range(len(parts[0])) if i == 4 or len({part[i] for part in parts}) > 1]
    common = [parts[0][i] for i in range(len(parts[0])) if i not in differing and parts[0][i]]
    return [" ".join(part[i] for i in differing if part[i]) for part in parts], ", ".join(common)


def _bars(title, labels, fills, names, parts):
    """Stacked horizontal bars, the first on top, each below its label; parts [bar][phase] in milliseconds."""
    def panel(axes):
        left = [0.0] * len(labels)
        for n, name in enumerate(names):
            widths = [bar[n] for bar in parts]
            drawn = axes.barh(range(len(labels)), widths, left=left, height=0.42, color=fills[n], edgecolor=PAPER,
                              linewidth=0.5, label=name)
            for label, width, bar in zip(labels, widths, drawn):
                draw.tip(bar, f"{label}: {name} {tables.significant(width)} ms")
            left = [a + w for a, w in zip(left, widths)]
        for y, (label, end) in enumerate(zip(labels, left)):
            axes.text(0, y - 0.26, f"{draw.cut(label, 42)}: {tables.significant(end)} ms", va="bottom", fontsize=8)
        axes.set_yticks([])
        axes.set_ylim(len(labels) - 0.6, -0.8)
        axes.set_xlim(0, 1.02 * max(max(left), 1e-12))
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlabel("ms")
        axes.set_title(title)
        axes.axvline(0, color=MUTED, linewidth=0.8)
    return Panel(panel, (3.6, 0.36 * len(labels) + 0.7), left=0.1)


def phases(points, machine):
    """Stacked bars: one product's parts, and the phases around the products. None where nothing was recorded."""
    found = [p for p in points if p.middle("seconds", "kernel") is not None][:MOST_BARS]
    if not found:
        return None
    labels, common = _bar_labels(found)
    product = [[1e3 * s for s in tables.product_phases(p)] for p in found]
    setup = [[1e3 * sum(p.middle("seconds", name) or 0.0 for name in names) for names in SETUP.values()] for p in found]
    return Picture(f"{common}, {machine}" if common else machine,
                   [_bars("one product", labels, PRODUCT_FILLS, tables.PRODUCT_PHASES, product),
                    _bars("around the products, once", labels, SETUP_FILLS, SETUP, setup)])
