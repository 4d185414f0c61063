"""Sums over ranks compared with the model of the notes ([N] in laws.py): of partial Y in products, and of one
array that is distributed over the ranks (series_mpi --sum); and Amdahl's law, generalized, for both."""
import statistics

from . import laws, records, series, tables

ARRAY_STEP = "sum"


def _product(point):
    return laws.Product(point.rows, point.nnz, point.k, point.grid, point.value_bytes, point.parts)


def _reduced(run):
    return (run.get("moved") or {}).get("reduce") or "none"


# ---- partial Y ----

def _row(point, reduce, runs, rates):
    """A row for the runs of a point that used one strategy of the sum; None if they have no time of the sum."""
    times = [t for t in ((r.get("moved") or {}).get("reduce_seconds") for r in runs) if t is not None]
    if not times:
        return None
    whole, alone = statistics.median(r["apply"]["median"] for r in runs), statistics.median(times)
    byte_rates = rates and laws.Rates(rates.flop, rates.byte)
    model = laws.sum_seconds(_product(point), byte_rates, reduce) if rates else None
    complete = laws.sum_seconds(_product(point), rates, reduce) if rates else None
    return [str(point.k), point.kernel, str(point.ranks), tables.grid(point), reduce,
            str(laws.sum_steps(point.grid[1], reduce)), tables.ms(whole), tables.ms(alone), f"{100 * alone / whole:.1f} %", tables.ms(model), tables.ms(complete),
            tables.number(alone / complete if complete else None)]


def _rates(points, point):
    """The probe's Rates; None if one of its three rates is missing."""
    latency, byte, flop = series.probed(points, point)
    return None if None in (latency, byte, flop) else laws.Rates(flop, byte, latency)


def partial_tables(points):
    """A table for each machine, matrix and precision that has sums of partial Y."""
    made = []
    summed = [p for p in points if p.grid[1] > 1]
    problems = series.by_key(summed, lambda p: (p.machine, p.name, p.precision))
    for (machine, name, precision), members in problems.items():
        rows = []
        for p in members:
            for reduce, runs in sorted(series.by_key(p.runs, _reduced).items()):
                rows.append(_row(p, reduce, runs, _rates(points, p)))
        rows = [row for row in rows if row]
        heading = ["K", "kernel", "ranks", "grid", "sum", "steps", "product ms", "sum ms", "of it", "model ms",
                   "with latency", "measured / that"]
        remarks = ["model: steps (m / P) K (T_calc + T_com), by the probe" if any(row[9] != tables.NONE for row in rows)
                   else "no probe of the same matrix, K and precision: the sums are not modeled"]
        if rows:
            made.append(tables.Table(f"Sums of partial Y: {name}, {precision}, {machine}", heading, rows,
                                     ("kernel", "sum"), remarks))
    return made


# ---- one array ----

def is_array(point):
    return isinstance(point, records.StepPoint) and point.step == ARRAY_STEP and _array_reduce(point) != "none"


def _array_reduce(point):
    return (point.runs[0].get("sum") or {}).get("reduce") or "none"


def _count(point):
    _, count, length, _ = point.shape
    return count * length


def _array_row(measurement, p):
    calc, com, model = (p.middle("sum", f"{name}_seconds") for name in ("calc", "com", "model"))
    measured = measurement.speedup(p)
    modeled = (_count(p) - 1) * calc / model if calc and model else None
    return [p.kernel, str(p.ranks), tables.ms(p.spread.median), tables.number(measured),
            tables.number(measured and measured / p.ranks), tables.ms(p.middle("sum", "combine_seconds")),
            str(laws.sum_steps(p.ranks, _array_reduce(p))), tables.significant(calc, 3),
            tables.significant(com, 3), tables.ms(model), tables.number(modeled), tables.number(p.spread.median / model if model else None)]


def array_table(measurement):
    """The strategies of --sum compared with their model; None if none was run."""
    points = [p for p in measurement.right if is_array(p)]
    if not points:
        return None
    heading = ["what ran", "ranks", "T ms", "S", "E", "ranks' sums ms", "steps", "T_calc s", "T_com s", "model ms",
               "model S", "T / model"]
    rows = [_array_row(measurement, p) for p in points]
    return tables.Table(f"Sum of one array: {measurement.title}", heading, rows, ("what ran",),
                        ["model: T = (N / p - 1) T_calc + steps (T_com + T_calc), S = (N - 1) T_calc / T; S is over the "
                         "sequential program"])


# ---- Amdahl's law, generalized ----

def shares(point):
    """{i: a_i} of a point, a_i being the share of the work that i ranks do at the same time (see
    laws.generalized_speedup()). None if the law does not apply to the point."""
    if isinstance(point, records.StepPoint):
        return laws.array_shares(_count(point), point.ranks, _array_reduce(point)) \
            if is_array(point) and _count(point) > 1 else None
    reduce = _reduced(point.runs[0])
    return laws.product_shares(_product(point), point.number("imbalance") or 1.0, reduce) if point.nnz else None


def _shares_text(found):
    return ", ".join(f"a_{ranks} {tables.significant(share, 3)}" for ranks, share in found.items())


def generalized_table(group):
    """Measured speed-ups compared with those of the law; None if it applies to no point."""
    rows = []
    for one in group.series if group.over == "ranks" else ():
        for p in one.points:
            found = shares(p) if p.ranks > 1 else None
            if not found:
                continue
            allowed, relative = laws.generalized_speedup(found), one.relative(p)
            rows.append([one.label, str(p.ranks), tables.NONE if is_array(p) else tables.grid(p), _shares_text(found),
                         tables.number(allowed), tables.number(relative),
                         tables.number(relative / allowed if relative else None)])
    heading = ["what ran", "ranks", "grid", "shares", "S", "S rel.", "S rel. / S"]
    title = f"{group.title}: Amdahl's law, generalized, S = 1 / (a_1 + a_2 / 2 + .. + a_p / p)"
    remark = "a_i: operations that i ranks do at the same time, in parts of those of one rank; messages and memory are " \
        "not in it"
    return tables.Table(title, heading, rows, ("what ran", "shares"), [remark]) if rows else None
