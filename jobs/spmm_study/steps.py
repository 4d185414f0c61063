"""Steps of series_mpi (means, deviations, coefficients of series): measurements, scaling over ranks, tables.

A step with a wrong result appears only in the table of its run.
"""
import statistics
from dataclasses import dataclass

from . import laws, series, tables
from .records import Spread, short_name

ORDER = {"generate": 0, "mean": 1, "deviation": 2, "pearson": 3, "sum": 4}


@dataclass
class Sequential:
    """Times of the sequential program in all runs of a step on one kind of CPU."""
    spread: Spread
    extrapolated: bool
    kernel: str = "the sequential program"


@dataclass
class StepGroup(series.Group):
    """One step of one shape of series; `matrix` names both."""
    timed, serially = "a step", "the sequential program"
    unserial = "the sequential program did not run: no absolute speed-up"
    serial_label = "sequential program"

    @property
    def title(self):
        return f"{self.matrix}, {self.precision}, {self.machine}"


@dataclass
class Measurement:
    """All steps of series of one shape on one machine, in one precision. serial: {(cpu, step): Sequential}."""
    points: list
    serial: dict

    def sequential(self, point):
        return self.serial.get((point.cpu, point.step))

    def speedup(self, point):
        """Speed-up over the sequential program; None if that was not run, or the result is wrong."""
        of = self.sequential(point)
        return laws.speedup(of.spread.median, point.spread.median) if of and not point.is_wrong else None

    def over_fastest(self, point):
        """Time divided by that of the step's fastest kernel on as many ranks and threads; None if all are wrong."""
        times = [p.spread.median for p in self.right
                 if (p.step, p.ranks, p.threads) == (point.step, point.ranks, point.threads)]
        return point.spread.median / min(times) if times else None

    @property
    def title(self):
        p = self.points[0]
        return f"{shape_text(p)}, {p.precision}, {p.machine}"

    @property
    def right(self):
        return [p for p in self.points if not p.is_wrong]


def shape_text(point):
    source, count, length, layout = point.shape
    of = "" if source == "generated" else f"{short_name(source)}, "
    return f"{of}{count} series of {length} values" + ("" if layout == "series" else f", by {layout}")


def _sequential(points):
    """The Sequential of points of one step on one kind of CPU; None if it never ran. Times that were
    extrapolated from a part of the work are used only if there are no others."""
    found = [r["seconds"] for p in points for r in p.runs if r["seconds"].get("sequential")]
    whole = [s for s in found if (s.get("sequential_measured_share") or 1) >= 1]
    times = [s["sequential"] for s in whole or found]
    if not times:
        return None
    mean, variance = statistics.mean(times), statistics.pvariance(times)
    spread = Spread(statistics.median(times), mean, variance, min(times), max(times), None, None, len(times),
                    len(times))
    return Sequential(spread, not whole)


def _place(point):
    """Order in a table: by step and ranks, the fastest kernel first."""
    return ORDER.get(point.step, len(ORDER)), point.step, point.ranks, point.spread.median


def measurements(points):
    """Measurements in the order of machine, precision and shape."""
    found = series.by_key(points, lambda p: (p.machine, p.device, p.precision, p.shape))
    made = []
    for key in sorted(found):
        serial = {where: _sequential(alike) for where, alike in
                  series.by_key(found[key], lambda p: (p.cpu, p.step)).items()}
        made.append(Measurement(sorted(found[key], key=_place), {w: s for w, s in serial.items() if s}))
    return made


# ---- scaling over ranks ----

def _lines(points):
    """Yields (CPU, label, points by ranks) for each series, that of one kernel. Different numbers of threads are separate
    series only if a number of ranks was run with several."""
    for (cpu, kernel), parts in series.by_key(points, lambda p: (p.cpu, p.kernel)).items():
        several = len({p.ranks for p in parts}) < len(parts)
        by_threads = series.by_key(parts, lambda p, s=several: p.threads if s else None)
        for threads, members in sorted(by_threads.items()):
            label = kernel if threads is None else f"{kernel}, {threads} thread{'s' * (threads != 1)}"
            yield cpu, label, sorted(members, key=lambda p: p.ranks)


def strong(measurement):
    """A StepGroup of each step that was run on at least two numbers of ranks."""
    groups = []
    for step, points in series.by_key(measurement.right, lambda p: p.step).items():
        p = points[0]
        group = StepGroup(p.machine, f"{step} of {shape_text(p)}", None, p.precision)
        for cpu, label, members in _lines(points):
            if len(members) > 1:
                fit = laws.fit_amdahl({m.ranks: m.spread.median for m in members})
                group.series.append(series.Strong(label, members, measurement.serial.get((cpu, step)), fit))
        groups += [group] if group.series else []
    return groups


# ---- roofline ----

def roofline_points(measurement):
    """For each step and kernel the run with the most flop/s per device, without steps that do not count bytes or
    flops."""
    best = {}
    for p in measurement.right:
        key = p.step, p.kernel
        if p.bytes > 0 and p.flop > 0 and (key not in best or device_gflops(p) > device_gflops(best[key])):
            best[key] = p
    return sorted(best.values(), key=lambda p: (*_place(p)[:2], -device_gflops(p)))


def device_gflops(point):
    return point.gflops / series.devices(point)


# ---- tables ----

def _check_text(point):
    wrong, checked = point.wrong
    if wrong:
        return f"WRONG: {wrong} of {checked}"
    return "ok" if point.is_checked else "not checked"


def table(measurement):
    rows = []
    for p in measurement.points:
        serial = measurement.sequential(p)
        rows.append([p.step, p.kernel, str(p.ranks), str(p.threads), tables.ms(p.spread.median),
                     tables.mean_and_deviation(p.spread), tables.significant(p.rate / 1e9),
                     tables.number(p.copy_share), *tables.rate_cells(p),
                     tables.ms(serial.spread.median) + "*" * serial.extrapolated if serial else tables.NONE,
                     tables.significant(measurement.speedup(p)), tables.number(measurement.over_fastest(p)),
                     _check_text(p)])
    heading = ["step", "kernel", "ranks", "thr.", "median ms", "mean ± dev.", "GB/s", "of copy",
               *tables.RATE_HEADING, "serial ms", "speed-up", "/ fastest", "check"]
    return tables.Table(measurement.title, heading, rows, ("step", "kernel", "check"), _remarks(measurement), tables.SCALING_MORE)


def _remarks(measurement):
    rates = [p.copy_rate / 1e9 for p in measurement.points if p.copy_rate]
    copies = " to ".join(dict.fromkeys(f"{rate:.4g}" for rate in (min(rates), max(rates)))) if rates else ""
    found = ["GB/s: of the least that a step moves; of copy: of what a copy of the same ranks moved" +
             (f" ({copies} GB/s); beyond 1, values lay in a cache, or were read only" if rates
              else ", which was not timed")]
    if any(s.extrapolated for s in measurement.serial.values()):
        found.append("*: the sequential program did a sample, and the rest is extrapolated")
    wrong = sum(p.is_wrong for p in measurement.points)
    if wrong:
        found.append(f"{wrong} with WRONG results: in this table alone, without a speed-up")
    return found


def strong_table(group):
    heading = ["what ran", "ranks", "thr."] + tables.SPREAD_HEADING + ["GFLOP/s"] + tables.LAWS_HEADING
    rows = [[one.label, str(p.ranks), str(p.threads)] + tables.spread_cells(p.spread) +
            [tables.significant(p.gflops)] + tables.law_cells(one, p) for one in group.series for p in one.points]
    return tables.Table(group.title, heading, rows, ("what ran",), tables.strong_remarks(group), tables.SCALING_MORE)


# ---- CSV ----

CSV_HEADING = [
    "machine", "cpu", "source", "series", "length", "layout", "precision", "device", "step", "kernel", "ranks",
    "threads", *tables.CSV_SPREAD, "bytes", "bytes_per_second", "copy_bytes_per_second", "copy_share", "flops",
    "gflops", "flop_per_byte", "sequential_s", "sequential_extrapolated", *tables.CSV_STRONG, "checked", "wrong",
    "passed", *tables.CSV_RATES]


def _cells(measurement, p):
    source, count, length, layout = p.shape
    serial, speed_up = measurement.sequential(p), measurement.speedup(p)
    return dict(
        machine=p.machine, cpu=p.cpu, source=short_name(source), series=count, length=length, layout=layout,
        precision=p.precision, device=p.device, step=p.step, kernel=p.kernel, ranks=p.ranks, threads=p.threads,
        bytes=p.bytes, bytes_per_second=p.rate, copy_bytes_per_second=p.copy_rate, copy_share=p.copy_share,
        flops=p.flop, gflops=p.gflops, flop_per_byte=laws.intensity(p.flop, p.bytes) if p.bytes else None,
        sequential_s=serial and serial.spread.median, sequential_extrapolated=serial and int(serial.extrapolated),
        speedup_absolute=speed_up, efficiency_absolute=speed_up and speed_up / p.ranks, wrong=p.wrong[0],
        checked=p.wrong[1], passed=int(p.is_checked), **tables.spread_values(p.spread),
        **tables.rate_values(p))


def write_csv(file, found, groups):
    """A row per step, kernel and number of ranks."""
    line_of = tables.series_of(groups)
    tables.write_rows(file, CSV_HEADING, (
        {**_cells(m, p), **(tables.strong_values(p, line_of[id(p)]) if id(p) in line_of else {})}
        for m in found for p in m.points))
