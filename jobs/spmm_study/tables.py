"""Tables of points and laws, as texts for a terminal, as CSV, or as HTML by markup.py."""
import csv
from dataclasses import dataclass, field, replace

from . import laws, output, series

NONE = "-"
# a fit with a greater residual should not be used for predictions
POOR = 0.1


@dataclass
class Table:
    """Cells are texts; columns named in `left` are aligned to the left, all others to the right. A page shows the columns
    named in `more` on request."""
    title: str
    heading: list
    rows: list
    left: tuple = ()
    remarks: list = field(default_factory=list)
    more: tuple = ()


# ---- numbers as texts ----

def number(value, digits=2):
    return NONE if value is None else f"{value:.{digits}f}"


def significant(value, digits=4):
    """A number with some significant digits; without an exponent unless it is very large or small."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    return f"{value:.{digits}g}" if 1e-3 <= abs(value) < 10 ** digits else f"{value:.0f}" \
        if 1 <= abs(value) < 1e7 else f"{value:.2e}"


def ms(seconds):
    return NONE if seconds is None else significant(seconds * 1e3)


def quantity(value):
    """Bytes in a decimal unit."""
    if value is None:
        return NONE
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def grid(point):
    return f"{point.grid[0]}x{point.grid[1]}"


def interval(spread):
    return NONE if spread.low is None else f"{ms(spread.low)} .. {ms(spread.high)}"


def mean_and_deviation(spread):
    return f"{ms(spread.mean)} ± {ms(spread.deviation)}"


RATE_HEADING = ["GFLOP/s", "mean ± dev. of it"]


def rate_cells(point):
    return [significant(point.gflops), f"{significant(point.mean_gflops)} ± {significant(point.gflops_deviation, 3)}"]


SPREAD_HEADING = ["median ms", "95 % of it", "mean ± dev.", "min", "max", "times"]


# columns that a page shows on request, of tables with SPREAD_HEADING
SPREAD_MORE = ("mean ± dev.", "min", "max", "times", RATE_HEADING[1], "imbalance", "X received")
SCALING_MORE = (*SPREAD_MORE, "grid", "thr.", "entries", "work")


def spread_cells(spread):
    return [ms(spread.median), interval(spread), mean_and_deviation(spread), ms(spread.minimum), ms(spread.maximum),
            f"{spread.rounds} x {spread.count // spread.rounds}"]


def text(table):
    """The table as text, aligned for a terminal."""
    widths = [max(len(row[i]) for row in [table.heading] + table.rows) for i in range(len(table.heading))]
    sides = [str.ljust if name in table.left else str.rjust for name in table.heading]
    lines = [table.title]
    for row in [table.heading] + table.rows:
        lines.append("  " + "  ".join(side(cell, w) for side, cell, w in zip(sides, row, widths)).rstrip())
    return "\n".join(lines + ["  " + remark for remark in table.remarks])


def without_empty(table):
    """The table without its empty columns."""
    kept = [i for i in range(len(table.heading)) if not table.rows or any(row[i] != NONE for row in table.rows)]
    return replace(table, heading=[table.heading[i] for i in kept], rows=[[row[i] for i in kept] for row in table.rows])


def joined(title, column, parts):
    """Joins tables with the same columns, with a first column for the part of each row. parts: [(value of that column,
    table)]. A remark of all tables appears once, any other with the parts that have it."""
    if len(parts) == 1:
        return parts[0][1]
    first = parts[0][1]
    rows = [[of] + row for of, table in parts for row in table.rows]
    whose = {}
    for of, table in parts:
        for remark in table.remarks:
            whose.setdefault(remark, []).append(of)
    remarks = [remark if len(of) == len(parts) else f"{column} = {', '.join(of)}: {remark}" for remark, of in whose.items()]
    return Table(title, [column] + first.heading, rows, first.left, remarks, first.more)


def with_options(table, points):
    """The table, with a row per point; if any point has extras, with a column for them after the kernel."""
    if any(p.extras for p in points):
        at = table.heading.index("kernel") + 1
        table.heading.insert(at, "options")
        for row, p in zip(table.rows, points):
            row.insert(at, p.extras or NONE)
        table.left += ("options",)
    return table


# ---- every point ----

def launch(point):
    """The launch shape of a CUDA kernel: threads of a block, lanes of a sub-warp, registers of a thread."""
    block, lanes, registers = (point.middle("launch", n) for n in ("block_size", "subwarp", "registers"))
    return NONE if block is None else f"{block:.0f}" + (f" / {lanes:.0f}" if lanes else "") + \
        (f", {registers:.0f} reg." if registers else "")


def points_table(points):
    launched = any(launch(p) != NONE for p in points)
    heading = ["machine", "matrix", "K", "prec.", "kernel", "format", "ranks", "grid", "thr."] + SPREAD_HEADING + \
        RATE_HEADING + ["imbalance", "X received"] + ["block / sub-warp"] * launched
    rows = [[p.machine, p.name, str(p.k), p.precision, p.kernel, p.format, str(p.ranks), grid(p), str(p.threads)] +
            spread_cells(p.spread) +
            rate_cells(p) + [number(p.number("imbalance"), 3), quantity(p.moved_bytes)] +
            [launch(p)] * launched for p in points]
    machines = {p.machine for p in points}
    made = with_options(Table("Points", heading, rows, ("machine", "matrix", "kernel", "format"),
                              more=(*SPREAD_MORE, "format", "block / sub-warp")), points)
    if len(machines) == 1:
        made.title = f"Points, on {machines.pop()}"
        made.heading, made.rows = made.heading[1:], [row[1:] for row in made.rows]
    return made


# ---- strong scaling ----

SIZES = {"ranks": ["ranks", "grid", "thr."], "threads": ["threads", "ranks"]}


def size_cells(point, over):
    by_ranks = [str(point.ranks), grid(point), str(point.threads)]
    return by_ranks if over == "ranks" else [str(point.threads), str(point.ranks)]


LAWS_HEADING = ["S abs.", "E abs.", "S rel.", "E rel.", "e (K-F)"]


def law_cells(one, point):
    """Cells for a point of the series."""
    absolute, relative, size = one.absolute(point), one.relative(point), one.size(point)
    fraction = laws.karp_flatt(relative, size) if relative and size > 1 else None
    return [number(v) for v in (absolute, absolute and absolute / size, relative, relative and relative / size)] + \
        [number(fraction, 3)]


def strong_table(group):
    """All series of a problem, one below the other."""
    heading = ["what ran"] + SIZES[group.over] + SPREAD_HEADING + RATE_HEADING + LAWS_HEADING + \
        ["imbalance", "X received"]
    rows = [[one.label] + size_cells(p, group.over) + spread_cells(p.spread) + rate_cells(p) +
            law_cells(one, p) + [number(p.number("imbalance"), 3), quantity(p.moved_bytes)]
            for one in group.series for p in one.points]
    return Table(group.title, heading, rows, ("what ran",), strong_remarks(group), SCALING_MORE)


def strong_remarks(group):
    serial = group.series[0].serial
    if serial:
        found = [f"absolute: against {serial.kernel}, {ms(serial.spread.median)} ms "
                 f"({ms(serial.spread.minimum)} to {ms(serial.spread.maximum)})"]
    else:
        found = [group.unserial]
    if any(not one.first for one in group.series):
        found.append(f"where one {group.over[:-1]} was not run: no relative speed-up, no fit")
    if any(one.fit and not one.fit.is_free for one in group.series):
        found.append(f"no law where fewer than {laws.LEAST_FREE} numbers of {group.over} were run beside one")
    if group.over == "ranks" and any(len({p.threads for p in one.points}) > 1 for one in group.series):
        found.append("threads per rank differ: ranks are not all that grows or shrinks")
    return found


def fit_note(fit):
    """How far the fit can be trusted."""
    if fit.residual > POOR:
        return "poor: the law does not describe these times"
    return "" if fit.determined else "both forms of g fit about equally"


def default_ranks(series_list):
    """The next three doublings."""
    most = max(s.most for s in series_list)
    return [2 * most, 4 * most, 8 * most]


def fits_table(group, ranks):
    """Amdahl's law with overhead, and its speed-up for other p; None if no series has enough points."""
    fitted = [s for s in group.series if s.fit and s.fit.is_free]
    if not fitted:
        return None
    wanted = ranks or default_ranks(fitted)
    heading = ["what ran", "a", "c ms", "g", "residual", "S at most", "at p"] + [f"S({p})" for p in wanted] + ["note"]
    rows = []
    for one in fitted:
        fit = one.fit
        p, most = fit.peak() or (None, 1 / fit.serial if fit.serial > 0 else None)
        rows.append([one.label, number(fit.serial, 4), ms(fit.overhead), fit.form if fit.overhead > 0 else NONE,
                     f"{100 * fit.residual:.1f} %", number(most), "beyond any" if p is None else f"{p:.0f}"] +
                    [number(fit.speedup(q)) for q in wanted] + [fit_note(fit)])
    return Table(f"{group.title}: Amdahl's law with overhead, T(p) = T(1) (a + (1 - a) / p) + c g(p)", heading, rows,
                 ("what ran", "g", "note"))


# ---- weak scaling ----

def weak_table(group):
    heading = ["what ran", "ranks", "grid", "thr.", "matrix", "entries", "work"] + SPREAD_HEADING + \
        ["GFLOP/s", "SS abs.", "SS rel.", "SS/p", "s (Gust.)", "imbalance", "X received"]
    rows = []
    for one in group.series:
        for p in one.points:
            scaled = one.scaled(p)
            share = laws.gustafson_share(scaled, p.ranks) if scaled and p.ranks > 1 else None
            rows.append([one.label] + size_cells(p, "ranks") +
                        [p.name, str(p.nnz), number(one.work_ratio(p), 3) if one.first else NONE] +
                        spread_cells(p.spread) + [significant(p.gflops)] +
                        [number(v) for v in (one.scaled_absolute(p), scaled, scaled and scaled / p.ranks)] +
                        [number(share, 3), number(p.number("imbalance"), 3), quantity(p.moved_bytes)])
    return Table(group.title, heading, rows, ("what ran", "matrix"), weak_remarks(group), SCALING_MORE)


def weak_remarks(group):
    found = []
    if any(not one.first for one in group.series):
        found.append("where one rank was not run: no scaled speed-up")
    if not group.series[0].serial:
        found.append("no serial product of the matrix of one rank was run: no absolute scaled speed-up")
    found += [f"{one.label}: Gustafson's SS(p) = p - s (p - 1) with s = {one.share:.4f}, least squares"
              for one in group.series if one.share is not None and len(one.points) > laws.LEAST_FREE]
    if any(len({p.threads for p in one.points}) > 1 for one in group.series):
        found.append("threads per rank differ: ranks are not all that grows or shrinks")
    return found


# ---- distributions and cost models ----

def _quotient(measured, model):
    return NONE if not model else number(measured / model)


def models_table(group, points):
    """Measured times and those of the models; None if there is neither a probe nor a run on one rank."""
    rows, used = [], []
    for one in group.series:
        for p in one.points:
            if p.ranks == 1 and one is not group.series[0]:
                continue
            made = series.models(one, p, points)
            used += [made.notes_probe, made.notes_one_rank]
            kind = p.distribution if p.ranks > 1 else "one rank"
            rows.append([kind, str(p.ranks), grid(p), one.label, ms(p.spread.median), interval(p.spread),
                         ms(made.notes_probe), ms(made.notes_one_rank), ms(made.complete),
                         _quotient(p.spread.median, made.complete) + " missed" * made.missed(p)])
    if not any(used):
        return None
    heading = ["distribution", "ranks", "grid", "what ran", "measured ms", "95 % of it", "model, probe",
               "model, 1 rank", "with the rest", "measured / that"]
    remarks = models_remarks(group, points)
    if any("missed" in row[-1] for row in rows):
        remarks.append(f"missed: the model with the rest is wrong by more than {100 * series.MISS:.0f} % of the measured time")
    return Table(group.title, heading, rows, ("distribution", "what ran"), remarks)


def models_remarks(group, points):
    latency, byte, flop = series.probed(points, group.series[0].points[0])
    if (latency, byte, flop) == (None, None, None):
        return ["no probe in the records: T_com is unknown, so columns, blocks and what the model leaves out are not "
                "modeled"]
    probe = [f"{name} {value:.3g} s{unit}" for name, value, unit in
             (("latency", latency, ""), ("T_com", byte, " per byte"), ("T_calc", flop, " per flop")) if value is not None]
    return ["probe: " + ", ".join(probe)]


# ---- kernels over K ----

def sweep_table(sweep):
    """GFLOP/s of the medians, and the spread of the times; kernels in decreasing order of their mean share of the best."""
    columns, shares = sweep.columns, series.shares_of_best(sweep)
    rows = []
    for label, points in sorted(sweep.lines.items(), key=lambda line: -sum(shares[line[0]].values()) / len(line[1])):
        of = {p.k: p for p in points}
        cells = [f"{significant(of[k].gflops, 3)} ({_apart(of[k].spread)})" if k in of else NONE for k in columns]
        rows.append([label] + cells)
    return Table(sweep.title, ["kernel"] + [f"K = {k}" for k in columns], rows, ("kernel",),
                 ["GFLOP/s of the median; in brackets the spread, (max - min) / median", *theirs_remarks(sweep)])


def theirs_remarks(sweep):
    """A remark that names the kernels of other libraries."""
    found = sorted({(p.kernel, p.library) for points in sweep.lines.values() for p in points if p.library})
    return ["of other libraries: " + "; ".join(f"{kernel} is {library}" for kernel, library in found)] if found else []


def _apart(spread):
    return f"{100 * (spread.maximum - spread.minimum) / spread.median:.0f} %" if spread.median > 0 else NONE


# ---- phases ----

SETUP_PHASES = ("read", "partition", "scatter", "convert", "x", "gather", "verify")
PRODUCT_PHASES = ("kernel", "sum of partial Y", "rest: exchange, waiting")


def product_phases(point):
    """Seconds of one product's parts. Each is that of the slowest rank; the last is the rest of the median."""
    kernel = point.middle("seconds", "kernel") or 0.0
    reduce = point.middle("moved", "reduce_seconds") or 0.0
    return kernel, reduce, max(0.0, point.spread.median - kernel - reduce)


def setup_phases(point):
    return [point.middle("seconds", name) or 0.0 for name in SETUP_PHASES]


def phases_table(points):
    found = [p for p in points if p.middle("seconds", "kernel") is not None]
    if not found:
        return None
    heading = ["matrix", "K", "kernel", "ranks", "grid", *SETUP_PHASES, "one product", "its kernel", "sum", "rest", "exchange alone",
               "hidden"]
    rows = []
    for p in found:
        hidden = p.middle("moved", "hidden")
        rows.append([p.name, str(p.k), p.kernel, str(p.ranks), grid(p)] + [ms(s) for s in setup_phases(p)] +
                    [ms(p.spread.median)] + [ms(s) for s in product_phases(p)] +
                    [ms(p.middle("seconds", "exchange")), NONE if hidden is None else f"{100 * hidden:.0f} %"])
    made = Table("Phases in ms, the slowest rank's", heading, rows, ("matrix", "kernel"),
                 ["rest: what kernel and sum leave of the product's median: exchange that is not hidden, and waiting"])
    return with_options(made, found)


# ---- roofline ----

def roofline_table(key, points, peak):
    machine, precision = key
    copy = series.device_bandwidth(points)
    rows = []
    for p in points:
        count, intensity = series.devices(p), laws.intensity(p.flop, series.traffic(p))
        top = laws.ceiling(intensity, copy, peak) / 1e9 if copy else None
        rows.append([p.name, str(p.k), p.kernel, str(p.ranks), significant(intensity, 3),
                     significant(p.gflops / count), significant(top), number(top and p.gflops / count / top)])
    each = " per GPU" if any(series.devices(p) > 1 for p in points) else ""
    heading = ["matrix", "K", "kernel", "ranks", "flop/byte", f"GFLOP/s{each}", "ceiling", "of it"]
    made = Table(f"{machine}, {precision}", heading, rows, ("matrix", "kernel"), ceiling_remarks(copy, peak))
    return with_options(made, points)


def ceiling_remarks(copy, peak):
    found = ["flop/byte: by the least DRAM traffic of CSR; beyond 1 of the ceiling, data stayed in a cache"]
    found.append(f"copy: {copy / 1e9:.1f} GB/s, measured" if copy else
                 "no copy was timed (spmm_mpi -v or --kernel all does): no bandwidth ceiling")
    found.append(f"peak: {peak / 1e9:g} GFLOP/s, as given" if peak else "no peak was given (--peak GFLOPS)")
    return found


# ---- what went wrong ----

def failures_table(failures):
    rows = [[f.name, str(f.code), str(f.round if f.round is not None else NONE), f.started, f.error] for f in failures]
    return Table(f"Failed runs: {len(rows)}", ["point", "code", "round", "started", "last line"], rows,
                 ("point", "started", "last line"))


def errors_table(points):
    rows = []
    for p in points:
        largest, mean, wrong, different = p.errors()
        rows.append([p.name, str(p.k), p.precision, p.kernel, p.format, p.device, str(p.ranks), grid(p),
                     *(NONE if e is None else f"{e:.2e}" for e in (largest, mean)),
                     *(NONE if c is None else str(c) for c in (wrong, different))])
    made = Table("Errors against the serial product", ["matrix", "K", "prec.", "kernel", "format", "device", "ranks",
                                                       "grid", "max rel.", "mean rel.", "wrong", "other bits"],
                 rows, ("matrix", "kernel", "format", "device"),
                 ["wrong: elements beyond what rounding can explain; such a run counts as failed"])
    return with_options(made, points)


# ---- CSV ----

CSV_SPREAD = ["rounds", "samples", "median_s", "median_low_s", "median_high_s", "mean_s", "variance_s2", "stddev_s",
              "min_s", "max_s"]
CSV_RATES = ["mean_gflops", "variance_gflops2", "stddev_gflops"]
CSV_STRONG = ["speedup_absolute", "efficiency_absolute", "speedup_relative", "efficiency_relative", "karp_flatt",
              "amdahl_a", "amdahl_overhead_s", "amdahl_form", "amdahl_fit_s", "amdahl_points"]
CSV_HEADING = [
    "machine", "cpu", "source", "weak", "rows", "cols", "nnz", "k", "precision", "device", "kernel_asked", "kernel",
    "format", "ranks", "grid_p", "grid_q", "threads", "extras", *CSV_SPREAD, "gflops", *CSV_STRONG[:5],
    "scaled_speedup_absolute", "scaled_speedup", "scaled_efficiency", "gustafson_share", *CSV_STRONG[5:], "imbalance",
    "received_rows_max", "received_rows_all", "received_bytes_all", "model_probe_s", "model_one_rank_s",
    "model_complete_s", "flop_per_byte", "copy_bytes_per_second", "max_relative_error", "wrong",
    "transport", "block_size", "subwarp", "registers", *CSV_RATES]


def strong_values(point, one):
    """The values that depend on the series of a point, by column."""
    absolute, relative, size = one.absolute(point), one.relative(point), one.size(point)
    cells = dict(speedup_absolute=absolute, efficiency_absolute=absolute and absolute / size,
                 speedup_relative=relative, efficiency_relative=relative and relative / size)
    if relative and size > 1:
        cells["karp_flatt"] = laws.karp_flatt(relative, size)
    if one.fit:
        f = one.fit
        cells.update(amdahl_a=f.serial, amdahl_overhead_s=f.overhead, amdahl_form=f.form, amdahl_fit_s=f.seconds(size),
                     amdahl_points=f.points)
    return cells


def spread_values(s):
    return dict(rounds=s.rounds, samples=s.count, median_s=s.median, median_low_s=s.low, median_high_s=s.high,
                mean_s=s.mean, variance_s2=s.variance, stddev_s=s.deviation, min_s=s.minimum, max_s=s.maximum)


def rate_values(p):
    deviation = p.gflops_deviation
    return dict(mean_gflops=p.mean_gflops, stddev_gflops=deviation,
                variance_gflops2=None if deviation is None else deviation ** 2)


def _law_values(point, strong_series, weak_series, points):
    """The values of all laws and models for a point, by column."""
    cells = {}
    if strong_series:
        cells.update(strong_values(point, strong_series))
        made = series.models(strong_series, point, points)
        cells.update(model_probe_s=made.notes_probe, model_one_rank_s=made.notes_one_rank,
                     model_complete_s=made.complete)
    if weak_series:
        scaled = weak_series.scaled(point)
        cells.update(scaled_speedup_absolute=weak_series.scaled_absolute(point), scaled_speedup=scaled,
                     scaled_efficiency=scaled and scaled / point.ranks)
        if scaled and point.ranks > 1:
            cells["gustafson_share"] = laws.gustafson_share(scaled, point.ranks)
    return cells


def _point_cells(p):
    flop_per_byte = laws.intensity(p.flop, series.traffic(p))
    return dict(
        machine=p.machine, cpu=p.cpu, source=p.source, weak=p.weak, rows=p.rows, cols=p.cols, nnz=p.nnz, k=p.k,
        precision=p.precision, device=p.device, kernel_asked=p.asked("kernel"), kernel=p.kernel, format=p.format,
        ranks=p.ranks, grid_p=p.grid[0], grid_q=p.grid[1], threads=p.threads, extras=p.extras, gflops=p.gflops,
        imbalance=p.number("imbalance"), received_rows_max=p.middle("moved", "rows"),
        received_rows_all=p.middle("moved", "all_rows"), received_bytes_all=p.moved_bytes,
        flop_per_byte=flop_per_byte, copy_bytes_per_second=p.number("copy_bytes_per_second"),
        max_relative_error=p.errors()[0], wrong=p.errors()[2], transport=p.run("transport"),
        **{n: p.middle("launch", n) for n in ("block_size", "subwarp", "registers")},
        **spread_values(p.spread), **rate_values(p))


def series_of(groups):
    """{id of a point: its first series}. A point on one rank is in several; its values, except those of the fit, are
    the same in each."""
    found = {}
    for group in groups:
        for one in group.series:
            for p in one.points:
                found.setdefault(id(p), one)
    return found


def write_rows(file, heading, rows):
    """rows: values by column; None and missing values become empty cells."""
    writer = csv.DictWriter(file, heading, restval="", lineterminator="\n")
    writer.writeheader()
    for cells in rows:
        writer.writerow({name: output.csv_cell(value) for name, value in cells.items()})


def write_csv(file, points, strong_groups, weak_groups):
    """A row per point."""
    strong_of, weak_of = series_of(strong_groups), series_of(weak_groups)
    write_rows(file, CSV_HEADING, (
        {**_point_cells(p), **_law_values(p, strong_of.get(id(p)), weak_of.get(id(p)), points)} for p in points))
