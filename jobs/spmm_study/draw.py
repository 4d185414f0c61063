"""Common to all figures: colors, markers, axes, legends, tips, and writing a figure to a file or into the page.

A Picture is some panels with a title. As a file it is one figure; on the page each panel and the legend is a separate
SVG, so that they stack if the page is narrow, in the light or dark colors of colors.py. Series differ by color, marker
and dash, so that they can be distinguished in black and white, too.

Needs matplotlib (Debian, Ubuntu: python3-matplotlib).
"""
import io
import math
import re
import textwrap
from dataclasses import dataclass

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from . import colors, output

INK, MUTED, GRID, PAPER, HEAT = map(colors.light, ("ink", "muted", "grid", "paper", "heat"))
SERIES = [colors.light(f"c{n}") for n in range(6)]
MARKERS = "os^vD<>pPX*hd"
DASHES = ["-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))]
HATCHES = ["", "///", "...", "\\\\\\", "xxx", "---", "|||", "ooo"]
GREYS = ["0.15", "0.92", "0.75", "0.55", "0.97", "0.65", "0.85", "0.45"]
STYLE = {"svg.hashsalt": "spmm_mpi", "svg.fonttype": "none", "font.size": 9, "axes.titlesize": 9, "axes.grid": True,
         "font.family": "DejaVu Sans", "axes.axisbelow": True, "grid.linewidth": 0.5, "hatch.linewidth": 0.6,
         "legend.fontsize": 8, "legend.frameon": False, "legend.handlelength": 3, "axes.spines.top": False,
         "axes.spines.right": False, "axes.facecolor": "none", "text.color": INK, "axes.edgecolor": INK,
         "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK, "grid.color": GRID, "patch.edgecolor": INK,
         "lines.color": INK, "legend.labelcolor": INK, "axes.titlecolor": INK, "hatch.color": INK}
MOST_TITLE = 76
if "text.parse_math" in matplotlib.rcParams:
    STYLE["text.parse_math"] = False  # a $ in a name is a $
LONGEST_BAR = 2
APART, MOST_APART = 1.018, 1.1
# width and height of a usual panel, in inches; most panels side by side in a file
PANEL = (3.5, 2.8)
MOST_BESIDE = 3
# most entries in a column of a legend
MOST_KEYS = 24
TIP = "tip:"


# ---- common to all ----

def styled(draw):
    """Decorates a function so that it draws with STYLE, whatever the user's matplotlibrc has."""
    def drawn(*args, **named):
        with matplotlib.rc_context(STYLE):
            return draw(*args, **named)
    drawn.__doc__, drawn.__name__ = draw.__doc__, draw.__name__
    return drawn


def new_figure(wide, high, columns=1):
    figure = Figure(figsize=(wide, high), layout="constrained")
    return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def drawable(text):
    """The text, with ? for each character that cannot be printed."""
    return "".join(c if c.isprintable() else "?" for c in text)


def cut(text, most=MOST_TITLE):
    text = drawable(text)
    return text if len(text) <= most else text[:most - 1] + "…"


def wrapped(text, wide=MOST_TITLE):
    """The text on at most two lines."""
    lines = textwrap.wrap(drawable(text), wide) or [""]
    return "\n".join(lines[:1] + [cut(" ".join(lines[1:]), wide)] * (len(lines) > 1))


def look(number):
    """Color, marker, dash and filling of the n-th series; no two of the first hundred are alike."""
    color = SERIES[number % len(SERIES)]
    return {"marker": MARKERS[number % len(MARKERS)], "linestyle": DASHES[number % len(DASHES)], "color": color,
            "markerfacecolor": PAPER if number // len(SERIES) % 2 else color, "markersize": 5, "linewidth": 1.1,
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
    """Makes an x axis of ranks or columns, with a log2 scale, labeled at the numbers that were run; not all if crowded."""
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
    """Makes a logarithmic y axis around the values, which are (value, low, high) or numbers: never so narrow that noise
    fills it, nor so wide that a few long error bars flatten everything; those are cut."""
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
    """Makes a y axis for speed-ups, as value_limits(), but labeled at powers of two, like the ranks."""
    value_limits(axes, values, 1.15)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(plain))
    axes.yaxis.set_minor_locator(NullLocator())


def bars_of(values):
    """matplotlib's two lists of distances from (value, low, high)."""
    return [[max(0.0, v - low) for v, low, _ in values], [max(0.0, high - v) for v, _, high in values]]


def draw_with_errors(axes, x, values, label, place, tips=()):
    """place: (index of the series, number of series). Points of one x are drawn a little apart, so that their error
    bars do not coincide. tips: a text per point."""
    number, count = place
    aside = min(APART, MOST_APART ** (1 / count)) ** (number - (count - 1) / 2)
    axes.errorbar([aside * v for v in x], [v for v, _, _ in values], yerr=bars_of(values), capsize=2.5, elinewidth=0.8,
                  label=label, **look(number))
    for v, (y, _, _), text in zip(x, values, tips):
        tip_at(axes, aside * v, y, text)


def tip(artist, text):
    """Sets the text that appears when the pointer is on the artist, and that screen readers read."""
    artist.set_gid(TIP + drawable(text))


def tip_at(axes, x, y, text):
    """Sets the tip of a point, by an invisible square that is larger than a marker and so easier to hit."""
    (unseen,) = axes.plot([x], [y], marker="s", markersize=9, linestyle="", color=MUTED, alpha=0, zorder=5)
    tip(unseen, text)


def times_of(points):
    """(median, low, high) in milliseconds."""
    return [(1e3 * p.spread.median, *(1e3 * b for b in p.spread.bounds())) for p in points]


def error_note(points):
    every = all(p.spread.low is not None for p in points)
    return "bars: 95 % interval of the median" if every else "bars: least to greatest"


def _outside():
    """Can this matplotlib make room for a legend outside of the axes (3.7)?"""
    return tuple(int(n) for n in matplotlib.__version__.split(".")[:2]) >= (3, 7)


def ideal(axes, low, high, value, label="ideal"):
    axes.plot([low, high], [value(low), value(high)], color=MUTED, linewidth=1, linestyle=(0, (8, 3)), label=label)


def dense(low, high, count=60):
    return [low * (high / low) ** (i / (count - 1)) for i in range(count)]


# ---- pictures ----

@dataclass
class Panel:
    """draw(axes) draws it. size: width and height in inches; keys: of the legend, if they are not those of the axes;
    left: room for names of rows, in inches; finish(axes) draws what depends on the final size of the panel."""
    draw: object
    size: tuple = PANEL
    keys: list = None
    left: float = 0.55
    finish: object = None

    def alone(self):
        """Draws the panel by itself: (figure, axes). What extends beyond the figure is not cut off when it is saved."""
        (wide, high), below, above = self.size, 0.45, 0.2
        figure = Figure(figsize=self.size)
        axes = figure.add_axes([self.left / wide, below / high, 1 - (self.left + 0.1) / wide, 1 - (below + above) / high])
        self.draw(axes)
        if self.finish:
            self.finish(axes)
        return figure, axes


@dataclass
class Picture:
    """title: drawn in a file; on the page it is part of the caption. note: how to read the marks."""
    title: str
    panels: list
    note: str = ""

    def figure(self):
        """One figure of all panels, their legend and the note below them."""
        with matplotlib.rc_context(STYLE):
            beside, keys = min(MOST_BESIDE, len(self.panels)), {}
            rows = [self.panels[i:i + beside] for i in range(0, len(self.panels), beside)]
            widths = [max(row[i].size[0] for row in rows if i < len(row)) for i in range(beside)]
            heights = [max(panel.size[1] for panel in row) for row in rows]
            figure = Figure(figsize=(sum(widths), sum(heights) + 0.6), layout="constrained")
            grid = figure.add_gridspec(len(rows), beside, width_ratios=widths, height_ratios=heights)
            for number, panel in enumerate(self.panels):
                axes = figure.add_subplot(grid[number // beside, number % beside])
                panel.draw(axes)
                keys.update(_keys(panel, axes))
            figure.suptitle(wrapped(self.title, int(11 * sum(widths))), fontsize=10)
            if self.note:
                keys[self.note] = Line2D([], [], linestyle="")
            if keys:
                _legend_below(figure, keys)
            for panel, axes in zip(self.panels, list(figure.axes)):
                if panel.finish:
                    panel.finish(axes)
            return figure

    def parts(self):
        """(figures of the panels, figure of the legend or None), each by itself."""
        with matplotlib.rc_context(STYLE):
            panels, keys = [], {}
            for panel in self.panels:
                figure, axes = panel.alone()
                keys.update(_keys(panel, axes))
                panels.append(figure)
            return panels, _legend_alone(keys) if keys else None


def _keys(panel, axes):
    """{label: handle}, with measured series before the lines that they are compared with."""
    if panel.keys is not None:
        return {cut(handle.get_label()): handle for handle in panel.keys}
    pairs = sorted(zip(*axes.get_legend_handles_labels()), key=lambda pair: isinstance(pair[0], Line2D))
    return {cut(label): handle for handle, label in pairs}


def _legend_below(figure, keys):
    """Adds a legend below the plots, where it covers nothing, and makes room for it."""
    wide, high = figure.get_size_inches()
    columns = max(1, min(3, int(16 * wide / (8 + max(map(len, keys))))), math.ceil(len(keys) / MOST_KEYS))
    figure.set_size_inches(wide, high + 0.2 * math.ceil(len(keys) / columns))
    place = {"loc": "outside lower center"} if _outside() else {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    figure.legend(list(keys.values()), list(keys), ncol=columns, **place)


def _legend_alone(keys):
    figure = Figure(figsize=(0.5, 0.2))
    figure.legend(list(keys.values()), list(keys), loc="center", borderpad=0, borderaxespad=0, handletextpad=0.5,
                  ncol=math.ceil(len(keys) / MOST_KEYS))
    return figure


# ---- files ----

def _svg_text(figure, **how):
    """The SVG of a figure, with a <title> for each tip, which matplotlib cannot write."""
    out = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None}, **how)
    return re.sub(rf'<g id="{TIP}([^"]*)">', r"<g><title>\1</title>", out.getvalue())


def save(figure, path):
    """PATH.svg and PATH.png; the same data give the same SVG. Returns both names. figure: a Picture, or matplotlib's."""
    figure = figure.figure() if isinstance(figure, Picture) else figure
    drawn = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(drawn, bbox_inches="tight", format="png", dpi=200)
    output.write(path + ".svg", _svg_text(figure))
    output.write(path + ".png", drawn.getvalue())
    return [path + ending for ending in (".svg", ".png")]


# ---- the page ----

def svg(figure, prefix):
    """The <svg> element of a figure for a page: its ids begin with the prefix, its colors are CSS variables, its fonts
    are those of the page, and it refers to nothing elsewhere."""
    text = _svg_text(figure, facecolor="none", pad_inches=0.03)
    text = text[text.index("<svg"):]
    for pattern, by in ((r"<metadata>.*?</metadata>", ""), (r'\s+xmlns(:\w+)?="[^"]*"', ""), (r"<!--.*?-->\s*", ""),
                        (r'\bid="([^"]+)"', rf'id="{prefix}-\1"'),
                        (r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}-\1"'),
                        (r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)"),
                        (r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px"),
                        (r"font: (?:bold|700) ([\d.]+)px [^;\"]*", r"font-weight: bold; font-size: \1px"),
                        (r"\s*font-family: [^;\"]*;?", ""), (r'(?: transform="rotate\(-?0 [^"]*"|; stroke-line\w+: \w+)', ""),
                        (r'<path d="[^"]*" style="fill: none"/>\s*', ""),
                        (r'style="fill: [^"]*fill-opacity: 0;[^"]*"', 'class="unseen"'),
                        # groups that nothing refers to need no name
                        (r'<g id="[^"]*">', "<g>"),
                        # a style sheet would apply to the whole page
                        (r"<defs>\s*<style type=\"text/css\">.*?</style>\s*</defs>\s*", ""),
                        (r"<g>\s*(<(?:path|use)[^>]*/>)\s*</g>", r"\1"), (r" ?\n\s*", "\n")):
        text = re.sub(pattern, by, text, flags=re.DOTALL)
    # differences below a hundredth of a point are invisible
    text = re.sub(r'\b(?:d|x|y)="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), text)
    for name, (light, _) in colors.COLORS.items():
        text = text.replace(light, f"var(--{name})")
    return text.strip()
