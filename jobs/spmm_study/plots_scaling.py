"""Figures of scaling: times, speed-up and efficiency over ranks or threads, weak scaling, cost models.

Each function takes data and returns a Picture, or None if there are too few points to draw: two numbers are better
read in the tables.
"""
from . import draw, laws, series, tables
from .draw import MUTED, Panel, Picture

# least number of sizes of a series that are drawn as a line
LEAST_DRAWN = 3


def _drawable(group):
    return any(len(one.points) >= LEAST_DRAWN for one in group.series)


def _points(group):
    return [p for one in group.series for p in one.points]


def _tips(one, values, what):
    return [f"{one.label}, p = {one.size(p)}: {tables.significant(value)} {what} "
            f"({tables.significant(low)} to {tables.significant(high)})"
            for p, (value, low, high) in zip(one.points, values)]


def _drawn_law(axes, x, y, label=None):
    axes.plot(x, y, color=MUTED, linewidth=0.8, linestyle=(0, (1, 2.5)), label=label)


# ---- strong scaling ----

def _counts(group, predict=()):
    return sorted({one.size(p) for one in group.series for p in one.points} | set(predict))


def _fitted(group):
    """Series with enough points for a law."""
    return [one for one in group.series if one.fit and one.fit.is_free]


def _times(axes, group, predict):
    counts, values = _counts(group, predict), []
    for number, one in enumerate(group.series):
        times = draw.times_of(one.points)
        values += times
        draw.draw_with_errors(axes, [one.size(p) for p in one.points], times, one.label, (number, len(group.series)),
                              _tips(one, times, "ms"))
    for number, one in enumerate(_fitted(group)):
        x = draw.dense(1, max(counts))
        y = [1e3 * one.fit.seconds(p) for p in x]
        values += y
        _drawn_law(axes, x, y, "Amdahl with overhead, fitted" if number == 0 else None)
    first = next((one.first for one in group.series if one.first), None)
    if first:
        draw.ideal(axes, 1, max(counts), lambda p: 1e3 * first.spread.median / p,
                   f"ideal: time on one {group.over[:-1]} / p")
        values.append(1e3 * first.spread.median / max(one.most for one in group.series))
    serial = group.series[0].serial
    if serial:
        axes.axhline(1e3 * serial.spread.median, color=MUTED, linewidth=1, linestyle=(0, (3, 1, 1, 1, 1, 1)),
                     label=group.serial_label)
        values.append(1e3 * serial.spread.median)
    draw.count_axis(axes, counts)
    draw.value_limits(axes, values)
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"time of {group.timed}, ms")


def speedups(axes, group, predict=()):
    """Speed-up over one rank (or thread) of all series of the group."""
    counts, values = _counts(group, predict), [1.0]
    for number, one in enumerate(group.series):
        if not one.first:
            continue
        ratios = one.ratios()
        values += ratios
        draw.draw_with_errors(axes, [one.size(p) for p in one.points], ratios, one.label, (number, len(group.series)),
                              _tips(one, ratios, "times as fast"))
    for one in _fitted(group):
        x = draw.dense(1, max(counts))
        y = [one.fit.speedup(p) for p in x]
        values += y
        _drawn_law(axes, x, y)
    draw.ideal(axes, 1, max(counts), lambda p: p)
    draw.count_axis(axes, counts)
    draw.doubling_limits(axes, values + [max(counts)])
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"speed-up over one {group.over[:-1]}")


def strong(group, predict=()):
    """Time and relative speed-up over ranks, with the fits extended to the predicted ranks."""
    if not _drawable(group):
        return None
    panels = [Panel(lambda axes: _times(axes, group, predict))]
    if any(one.first for one in group.series):
        panels.append(Panel(lambda axes: speedups(axes, group, predict)))
    return Picture(group.title, panels, draw.error_note(_points(group)))


def _efficiencies(axes, group, what, reference):
    values = [1.0]
    for number, one in enumerate(group.series):
        base = reference(one)
        if not base:
            continue
        ratios = [(1.0, 1.0, 1.0) if p is base else series.ratio_of(base, p, 1 / one.size(p)) for p in one.points]
        values += [min(high, draw.LONGEST_BAR * value) for value, _, high in ratios]
        draw.draw_with_errors(axes, [one.size(p) for p in one.points], ratios, one.label, (number, len(group.series)),
                              _tips(one, ratios, "of the ideal"))
    axes.axhline(1, color=MUTED, linewidth=1, linestyle=(0, (8, 3)), label="ideal")
    draw.count_axis(axes, _counts(group))
    axes.set_ylim(0, 1.08 * max(values))
    axes.set_xlabel(f"{group.over}, p")
    axes.set_ylabel(f"efficiency over {what}")


def efficiency(group):
    """S / p over ranks, with S over one rank, and over the serial product; None if neither was run."""
    if not _drawable(group):
        return None
    references = [(f"one {group.over[:-1]}", lambda one: one.first), (group.serially, lambda one: one.serial)]
    panels = [Panel(lambda axes, what=what, of=of: _efficiencies(axes, group, what, of))
              for what, of in references if any(of(one) for one in group.series)]
    return Picture(group.title, panels, draw.error_note(_points(group))) if panels else None


# ---- weak scaling ----

def _weak_times(axes, group):
    values, counts = [], _counts(group)
    for number, one in enumerate(group.series):
        times = draw.times_of(one.points)
        values += times
        draw.draw_with_errors(axes, [p.ranks for p in one.points], times, one.label, (number, len(group.series)),
                              _tips(one, times, "ms"))
    first = next((one.first for one in group.series if one.first), None)
    if first:
        draw.ideal(axes, counts[0], counts[-1], lambda p: 1e3 * first.spread.median)
    draw.count_axis(axes, counts)
    draw.value_limits(axes, values)
    axes.set_xlabel("ranks, p")
    axes.set_ylabel("time of a product, ms")


def _scaled(axes, group):
    values, counts = [1.0], _counts(group)
    for number, one in enumerate(group.series):
        if not one.first:
            continue
        ratios = one.ratios()
        values += ratios
        draw.draw_with_errors(axes, [p.ranks for p in one.points], ratios, one.label, (number, len(group.series)),
                              _tips(one, ratios, "scaled speed-up"))
        if one.share is not None and len(one.points) > laws.LEAST_FREE:
            x = draw.dense(1, counts[-1])
            _drawn_law(axes, x, [laws.gustafson(one.share, p) for p in x],
                       "Gustafson's law, fitted" if number == 0 else None)
    draw.ideal(axes, counts[0], counts[-1], lambda p: p)
    draw.count_axis(axes, counts)
    draw.doubling_limits(axes, values + [counts[-1]])
    axes.set_xlabel("ranks, p")
    axes.set_ylabel("scaled speed-up")


def weak(group):
    """Time and scaled speed-up of a problem that grows with the ranks."""
    if not _drawable(group):
        return None
    panels = [Panel(lambda axes: _weak_times(axes, group))]
    if any(one.first for one in group.series):
        panels.append(Panel(lambda axes: _scaled(axes, group)))
    return Picture(group.title, panels, draw.error_note(_points(group)))


# ---- distributions and cost models ----

MODELS = [("notes_probe", "model, T_calc of the probe", (0, (1, 1.2)), draw.SERIES[2]),
          ("notes_one_rank", "model, T_calc of one rank", (0, (5, 2)), draw.SERIES[1]),
          ("complete", "that with X, latency, imbalance", "-", draw.SERIES[0])]


def _distributions(group):
    """{distribution: its fastest series on the most ranks}."""
    best = {}
    for one in group.series:
        last = one.points[-1]
        rank = (-last.ranks, last.spread.median)
        if last.distribution not in best or rank < best[last.distribution][0]:
            best[last.distribution] = rank, one
    return {kind: one for kind, (_, one) in sorted(best.items(), key=lambda item: series.ORDER[item[0]])}


def _models(axes, one, points):
    """Measured times, the models' lines, and rings around points that the full model misses. Returns all values, in ms."""
    ranks, values = [p.ranks for p in one.points], draw.times_of(one.points)
    axes.errorbar(ranks, [v for v, _, _ in values], yerr=draw.bars_of(values), capsize=2.5, elinewidth=0.8,
                  linestyle="", marker="o", color=draw.INK, markersize=5, label="measured")
    for x, (y, _, _), text in zip(ranks, values, _tips(one, values, "ms")):
        draw.tip_at(axes, x, y, text)
    made = [series.models(one, p, points) for p in one.points]
    for name, label, dash, color in MODELS:
        y = [getattr(m, name) for m in made]
        if all(v is not None for v in y):
            y = [1e3 * v for v in y]
            values = values + y
            axes.plot(ranks, y, color=color, linewidth=1.1, linestyle=dash, label=label)
    missed = [p for p, m in zip(one.points, made) if m.missed(p)]
    if missed:
        axes.plot([p.ranks for p in missed], [1e3 * p.spread.median for p in missed], linestyle="", marker="o",
                  markersize=11, markerfacecolor="none", markeredgecolor=draw.SERIES[1], markeredgewidth=1.2,
                  label=f"missed by more than {100 * series.MISS:.0f} %")
    return values


def models(group, points):
    """A panel per distribution, each with its fastest series; None where no model could be evaluated."""
    shown = {kind: one for kind, one in _distributions(group).items() if len(one.points) >= LEAST_DRAWN}
    if not any(any(vars(series.models(one, p, points)).values()) for one in shown.values() for p in one.points):
        return None

    def panel(axes, one):
        values = _models(axes, one, points)
        draw.count_axis(axes, [p.ranks for p in one.points])
        draw.value_limits(axes, values)
        axes.set_title(draw.cut(one.label, 34))
        axes.set_xlabel("ranks, p")
        axes.set_ylabel("time of a product, ms")
    return Picture(group.title, [Panel(lambda axes, one=one: panel(axes, one)) for one in shown.values()],
                   draw.error_note([p for one in shown.values() for p in one.points]))
