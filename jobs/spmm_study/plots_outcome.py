"""The figure at the beginning of a page: a panel per problem, with the results that the sentences report."""
from . import draw, plots_kernels, plots_scaling, series
from .draw import INK, MUTED, Panel, Picture

MOST_PANELS, MOST_LINES = 12, 6
PANEL = (3.3, 2.6)


def _speedup_dots(found, title):
    """A row per K: the speed-up on the most ranks, its interval, and the ideal."""
    def panel(axes):
        most = max(o.size for o in found)
        values = []
        for y, o in enumerate(found):
            value, low, high = o.one.ratio(o.point)
            values.append(value)
            axes.plot([1, value], [y, y], color=draw.GRID, linewidth=3, zorder=1)
            axes.plot([low, high], [y, y], color=INK, linewidth=1)
            axes.plot([value], [y], linestyle="", marker="o", markersize=6, color=draw.SERIES[0], zorder=3,
                      label="speed-up" if y == 0 else None)
            axes.text(value, y - 0.2, f"{value:.2f}", ha="center", va="bottom", fontsize=8, zorder=4,
                      bbox={"facecolor": draw.PAPER, "edgecolor": "none", "pad": 0.5})
            draw.tip_at(axes, value, y, f"K = {o.k}: {value:.2f} times as fast on {o.place} ({low:.2f} to {high:.2f})")
        axes.axvline(1, color=INK, linewidth=0.8)
        axes.axvline(most, color=MUTED, linewidth=1, linestyle=(0, (8, 3)), label="ideal")
        axes.set_yticks(range(len(found)), [f"K = {o.k}" for o in found])
        axes.set_ylim(len(found) - 0.5, -0.7)
        axes.set_xlim(min(0.9, min(values) - 0.1), max(most, *values) * 1.06)
        axes.set_xticks([1, 1.5, 2] if most == 2 else [2 ** n for n in range(most.bit_length())])
        axes.xaxis.set_major_formatter(draw.plain)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"speed-up on {found[-1].place} over one")
        axes.set_title(draw.cut(title, 44))
    return Panel(panel, (PANEL[0], 0.3 * len(found) + 0.9))


def _speedup_lines(found, title, columns):
    """Speed-up over ranks, a line per K; the line of a K looks the same in all panels. columns: all K."""
    def panel(axes):
        values, counts = [1.0], set()
        for o in found:
            x, ratios = [o.one.size(p) for p in o.one.points], o.one.ratios()
            values += ratios
            counts |= set(x)
            draw.draw_with_errors(axes, x, ratios, f"K = {o.k}", (columns.index(o.k), len(columns)),
                                  [f"K = {o.k}, p = {p}: {value:.2f} times as fast ({low:.2f} to {high:.2f})"
                                   for p, (value, low, high) in zip(x, ratios)])
        draw.ideal(axes, 1, max(counts), lambda p: p)
        draw.count_axis(axes, sorted(counts))
        draw.doubling_limits(axes, values + [max(counts)])
        axes.set_xlabel(f"{found[0].one.over}, p")
        axes.set_ylabel("speed-up over one")
        axes.set_title(draw.cut(title, 44))
    return Panel(panel, PANEL)


def _of_speedups(outcomes):
    found = series.by_key([o for o in outcomes if o.speedup is not None and o.size > 1],
                          lambda o: (o.machine, o.problem, o.precision))
    several = len({(machine, precision) for machine, _, precision in found}) > 1
    columns = sorted({o.k for members in found.values() for o in members})
    panels = []
    for (machine, problem, precision), members in list(found.items())[:MOST_PANELS]:
        members = sorted(members, key=lambda o: o.k)[-MOST_LINES:]
        title = f"{problem}, {precision}, {machine}" if several else problem
        lines = any(len(o.one.points) >= plots_scaling.LEAST_DRAWN for o in members)
        panels.append(_speedup_lines(members, title, columns) if lines else _speedup_dots(members, title))
    return panels


def _of_sweeps(sweeps):
    made = [plots_kernels.heat_panel(s, s.matrix) if plots_kernels.is_compared(s) else
            plots_kernels.rates_panel(s, s.matrix) for s in sweeps
            if plots_kernels.is_compared(s) or plots_kernels.is_lines(s)]
    return made[:MOST_PANELS]


def outcome(outcomes, sweeps):
    """Speed-up of each problem where something scales, else its kernels over K; None where neither was run."""
    panels = _of_speedups(outcomes)
    if panels:
        points = [p for o in outcomes if o.one for p in o.one.points]
        return Picture("Speed-up of each problem, over one", panels, draw.error_note(points))
    panels = _of_sweeps(sweeps)
    if not panels:
        return None
    heat = any(plots_kernels.is_compared(s) for s in sweeps)
    return Picture("Kernels over K, by problem", panels, "numbers: per cent of the best of that K" if heat else "")
