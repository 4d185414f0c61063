"""Figures of the roofline: of products, and of steps of series. Each function takes data and returns a Picture, or
None."""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import draw, laws, series, tables
from .draw import INK, MARKERS, MUTED, PAPER, Panel, Picture

FILLS = [draw.SERIES[0], PAPER, draw.SERIES[1]]
MOST_NAMED = 12
FAR = 20
WIDE = 4.6  # inches
# in 1/72 inch: height, width of a character and distance of the numbers beside markers; half a marker's width
TEXT_HIGH, TEXT_WIDE, TEXT_OFF, MARKED = 8, 4.5, 6, 3


# ---- roofline ----

def _ceilings(axes, copy, peak, low, high, name=None):
    """Draws the copy's bandwidth and the peak as far as they bound anything: not the peak if they meet far beyond the
    points. name: label of the flat line, if it is not a peak from the command line."""
    knee = min(max(peak / copy, low), high) if peak and copy else high
    lines = []
    if copy:
        lines += axes.plot([low, knee], [low * copy / 1e9, knee * copy / 1e9], "-", color=INK, linewidth=1.3,
                           label=f"copy, {copy / 1e9:.4g} GB/s, measured")
    if peak and not (copy and knee == high):
        lines += axes.plot([knee if copy else low, high], [peak / 1e9] * 2, "--", color=INK, linewidth=1.3,
                           label=name or f"peak, {peak / 1e9:g} GFLOP/s, as given")
    return lines


def _points(axes, points, names, kernels_drawn):
    """A marker per matrix, a filling per kernel."""
    for p in points:
        x, y = laws.intensity(p.flop, series.traffic(p)), p.gflops / series.devices(p)
        axes.plot([x], [y], linestyle="", marker=MARKERS[names.index(p.name) % len(MARKERS)], color=INK, markersize=5.5,
                  markeredgewidth=0.9, markerfacecolor=FILLS[kernels_drawn.index(p.kernel) % len(FILLS)], zorder=3)
        draw.tip_at(axes, x, y, f"{p.name}, K = {p.k}, {p.kernel}, {p.ranks} rank{'s' * (p.ranks != 1)}: "
                                f"{tables.significant(y)} GFLOP/s")


def _name_columns(axes, points):
    """Writes K beside the highest point of each problem and K, if there are few."""
    best = {}
    for p in points:
        rate = p.gflops / series.devices(p)
        if rate > best.get((p.name, p.k), (0, None))[0]:
            best[p.name, p.k] = rate, p
    if len(best) <= MOST_NAMED and len({name for name, _ in best}) <= 2:
        for rate, p in best.values():
            axes.annotate(f"K={p.k}", (laws.intensity(p.flop, series.traffic(p)), rate), xytext=(-4, 4),
                          textcoords="offset points", ha="right", fontsize=7)


def _limits(axes, low, high, values):
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    draw.log_axis(axes.xaxis, low, high)
    draw.value_limits(axes, values)


def _rate_label(points):
    return "GFLOP/s" + (" of each GPU" if any(series.devices(p) > 1 for p in points) else "")


def _roofline_keys(names, kernels_drawn):
    keys = [Line2D([], [], color=INK, marker=MARKERS[i % len(MARKERS)], linestyle="", label=draw.cut(n, 28),
                   markerfacecolor="none") for i, n in enumerate(names)]
    if 1 < len(kernels_drawn) <= len(FILLS):
        keys += [Patch(facecolor=FILLS[i], edgecolor=INK, label=k) for i, k in enumerate(kernels_drawn)]
    return keys


def fastest_per_problem(points):
    """The fastest kernel of each matrix, K and number of ranks: all kernels would be a column of dots."""
    best = {}
    for p in points:
        key = p.source, p.k, p.ranks
        if key not in best or p.spread.median < best[key].spread.median:
            best[key] = p
    return list(best.values())


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
    made = Panel(None, (WIDE, 3.4))

    def panel(axes):
        lines = _ceilings(axes, copy, peak, low, high)
        _points(axes, points, names, drawn)
        _name_columns(axes, points)
        rates = [p.gflops / series.devices(p) for p in points]
        tops = [laws.ceiling(i, copy, peak) / 1e9 for i in intensities] if copy else []
        _limits(axes, low, high, rates + tops + ([peak / 1e9] if len(lines) > 1 or not copy and lines else []))
        axes.set_xlabel("flop per byte of the least DRAM traffic")
        axes.set_ylabel(_rate_label(points))
        made.keys = lines + _roofline_keys(names, drawn)
    made.draw = panel
    return Picture(f"{machine}, {precision}: the fastest kernel of each matrix, K and ranks", [made])


# ---- steps of series ----

def _crosses(box, other):
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _text_places(points, words):
    """Offsets (x, y) of a text beside each marker, all in 1/72 inch: at its right or left, as near to its height as
    markers and earlier texts leave room."""
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
    """[first, last] of each group of successive markers that overlap. points: their positions in 1/72 inch."""
    heaps = []
    for n, (x, y) in enumerate(points):
        there = points[heaps[-1][0]] if heaps else (-math.inf, -math.inf)
        if abs(x - there[0]) < MARKED and abs(y - there[1]) < TEXT_HIGH / 2:
            heaps[-1][1] = n
        else:
            heaps.append([n, n])
    return heaps


def _number_points(axes, places):
    """Writes a number beside each marker, or a range of numbers beside markers that overlap; with a line if the text is
    above or below its marker."""
    axes.figure.draw_without_rendering()
    on_page = [tuple(axes.transData.transform(place) * 72 / axes.figure.dpi) for place in places]
    heaps = _heaps(on_page)
    words = [str(a + 1) if a == b else f"{a + 1}-{b + 1}" for a, b in heaps]
    middles = [tuple((v + w) / 2 for v, w in zip(on_page[a], on_page[b])) for a, b in heaps]
    for word, (a, b), (aside, up) in zip(words, heaps, _text_places(middles, words)):
        line = {"arrowstyle": "-", "linewidth": 0.4, "color": MUTED, "shrinkA": 0, "shrinkB": 2}
        middle = [math.sqrt(v * w) for v, w in zip(places[a], places[b])]
        axes.annotate(word, middle, xytext=(aside, up), textcoords="offset points", fontsize=7, va="center", zorder=4,
                      arrowprops=line if abs(up) > 3 else None,
                      bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.4})


def _steps(axes, points, places):
    """A marker per step. Returns the lines of the legend, a number each."""
    names, keys = list(dict.fromkeys(p.step for p in points)), []
    for number, (p, (x, y)) in enumerate(zip(points, places), 1):
        marker = {**draw.look(names.index(p.step)), "linestyle": ""}
        axes.plot([x], [y], zorder=3, **marker)
        draw.tip_at(axes, x, y, f"{number} {p.step}: {p.kernel}, {tables.significant(y)} GFLOP/s")
        keys.append(Line2D([], [], label=draw.cut(f"{number} {p.step}: {p.kernel}", 34), **marker))
    return keys


def steps_roofline(title, points, copy=None, peak=None):
    """GFLOP/s over flop per byte of what a step must move, under the copy's bandwidth (bytes/s) and the peak
    (flop/s), or the greatest rate measured; a marker per step, a number per kernel, by decreasing rate within a step.
    None without points."""
    if not points:
        return None
    places = [(laws.intensity(p.flop, p.bytes), p.gflops / series.devices(p)) for p in points]
    rates = [rate for _, rate in places]
    low, high = min(x for x, _ in places) / 3, max(x for x, _ in places) * 3
    top = peak or max(rates) * 1e9
    made = Panel(None, (WIDE, 3.6))
    best = None if peak else f"best measured, {tables.significant(max(rates))} GFLOP/s"

    def panel(axes):
        lines = _ceilings(axes, copy, top, low, high, best)
        tops = [laws.ceiling(x, copy, top) / 1e9 for x, _ in places] if copy else []
        _limits(axes, low, high, rates + tops + [top / 1e9])
        made.keys = lines + _steps(axes, points, places)
        axes.set_xlabel("flop/byte, of what the step must move")
        axes.set_ylabel(_rate_label(points))
    made.draw, made.finish = panel, lambda axes: _number_points(axes, places)
    return Picture(title, [made])
