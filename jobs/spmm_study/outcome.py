"""The results of a study in one table, and what limits each of them; sentences.py puts them into words.

All of it is derived from the records by the rules of docs/SCALING.md ("Outcome"); where the records have no data, it
makes no statement.
"""
import statistics
from dataclasses import dataclass

from . import laws, series, steps, tables

# NOISY: an interval wider than this fraction of the median is noise. GAIN: a speed-up of at most this is no
# gain. SCALES: an efficiency of at least this needs no cause. MEMORY, IN_CACHE: a share of the DRAM bound
# between these means that memory limits the product, a larger one that data came from a cache. CAUSE: a cause
# is reported if it has at least this fraction of the lost time.
NOISY, GAIN, SCALES, MEMORY, IN_CACHE, CAUSE = 0.10, 1.05, 0.9, 0.7, 1.05, 0.25
NOT_KNOWN, SLOWER = "not known", "a product slower than its share"
# causes whose time contains the wait for late ranks
WAITING = ("exchange that is not hidden", "sum of partial Y", SLOWER)


@dataclass
class Outcome:
    """The fastest run of a problem and K on the most ranks, or threads. one: its scaling series; None if it has none."""
    point: object
    one: object
    problem: str
    copy: float  # bytes/s of a copy on one device; None where none was timed

    @property
    def machine(self):
        return self.point.machine

    @property
    def precision(self):
        return self.point.precision

    @property
    def k(self):
        return self.point.k

    @property
    def size(self):
        return self.one.size(self.point) if self.one else self.point.ranks

    @property
    def over(self):
        """ranks, threads or GPUs"""
        if self.one and self.one.over == "threads":
            return "threads"
        return "ranks" if self.point.device == "cpu" else "GPUs"

    @property
    def place(self):
        return f"{self.size} {self.over if self.size > 1 else self.over[:-1]}"

    @property
    def speedup(self):
        """Over one rank, thread or GPU; scaled speed-up if the problem grows with the ranks."""
        return self.one.relative(self.point) if self.one and self.one.first else None

    @property
    def efficiency(self):
        return self.speedup and self.speedup / self.size

    @property
    def speedup_bounds(self):
        """Least and greatest speed-up that the intervals of both times allow; None without intervals."""
        if self.speedup is None:
            return None
        one, here = self.one.first.spread, self.point.spread
        if None in (one.low, here.low) or 0 in (one.median, here.median, here.low):
            return None
        factor = self.speedup * here.median / one.median
        return factor * one.low / here.high, factor * one.high / here.low

    @property
    def is_told(self):
        """Do the intervals show whether the run is faster, or gains nothing, or is slower? True for a problem that grows with
        the ranks, of which only the efficiency is reported."""
        if self.size == 1 or self.is_weak or not self.speedup_bounds:
            return True
        low, high = self.speedup_bounds
        even = 1 / GAIN <= self.speedup <= GAIN and high - low <= 2 * NOISY
        return even or low > 1 or high <= GAIN

    @property
    def is_slower(self):
        """Is the run slower than one rank, GPU or thread, and beyond the intervals if they are known?"""
        return self.speedup < 1 / GAIN and (not self.speedup_bounds or self.speedup_bounds[1] < 1)

    @property
    def is_weak(self):
        return isinstance(self.one, series.Weak)

    @property
    def over_serial(self):
        if not self.one or self.is_weak:
            return None
        return self.one.absolute(self.point)

    @property
    def dram_share(self):
        """Share of the DRAM bound as the run recorded it, else by the fastest copy in the records."""
        share = self.point.number("dram_bound_share")
        if share is None and self.copy:
            bound = laws.ceiling(laws.intensity(self.point.flop, series.traffic(self.point)), self.copy) / 1e9
            share = self.point.gflops / series.devices(self.point) / bound
        return share

    @property
    def waiting_rows(self):
        """Share of the rows of Y that need a received row of X; None where the record does not say."""
        interior = self.point.middle("moved", "interior_share")
        return None if interior is None or self.point.ranks == 1 else 1 - interior


# ---- which runs ----

def _bandwidths(points):
    found = series.by_key(points, lambda p: (p.machine, p.precision))
    return {key: series.device_bandwidth(members) for key, members in found.items()}


def _key(point):
    return point.machine, point.weak or point.source, point.precision, point.k


def _of_groups(groups, found, copies):
    """Adds the best result of each problem and K, unless an earlier law has added one."""
    for key, members in series.by_key([one for g in groups for one in g.series],
                                      lambda one: _key(one.points[-1])).items():
        most = max(one.most for one in members)
        one = min((one for one in members if one.most == most), key=lambda one: one.points[-1].spread.median)
        point = one.points[-1]
        found.setdefault(key, Outcome(point, one, point.weak or point.name, copies.get((point.machine, point.precision))))


def of(study):
    """Outcomes in the order of machine, problem, precision and K."""
    found, copies = {}, _bandwidths(study.points)
    for groups in (study.strong, study.threaded, study.weak):
        _of_groups(groups, found, copies)
    rest = [p for p in study.points if p.flop > 0 and not p.is_serial] or [p for p in study.points if p.flop > 0]
    for key, members in series.by_key(rest, _key).items():
        most = max(p.ranks for p in members)
        best = min((p for p in members if p.ranks == most), key=lambda p: p.spread.median)
        found.setdefault(key, Outcome(best, None, best.weak or best.name, copies.get((best.machine, best.precision))))
    return [found[key] for key in sorted(found, key=lambda key: tuple(map(str, key[:3])) + (key[3],))]


# ---- what limits it ----

def lost_parts(o):
    """{cause: seconds} of the time beyond that of perfect scaling, as far as the record explains it."""
    point, ideal = o.point, o.one.ideal(o.point)
    parts = {"imbalance": ((point.number("imbalance") or 1) - 1) * ideal}
    if o.one.over == "ranks":
        work = o.one.work_ratio(point) if o.is_weak else 1
        parts["X and Y that several ranks move"] = \
            (series.traffic(point) / (work * series.traffic(o.one.first)) - 1) * ideal
        parts["sum of partial Y"] = point.middle("moved", "reduce_seconds") or 0
        still, hidden = point.middle("moved", "no_exchange_seconds"), point.middle("moved", "hidden")
        if still is not None:
            known = sum(seconds for seconds in parts.values() if seconds > 0)
            parts["exchange that is not hidden"] = point.spread.median - still
            parts[SLOWER] = still - ideal - known
        elif hidden is not None:
            parts["exchange that is not hidden"] = (1 - hidden) * (point.middle("seconds", "exchange") or 0)
    return {cause: seconds for cause, seconds in parts.items() if seconds > 0}


def causes(o):
    """[(cause, fraction of the time)] of a result that scales badly, the greatest first."""
    if o.efficiency is None or o.size == 1 or o.efficiency >= SCALES:
        return []
    time = o.point.spread.median
    lost = time - o.one.ideal(o.point)
    found = sorted(lost_parts(o).items(), key=lambda part: -part[1])
    return [(cause, seconds / time) for cause, seconds in found if seconds >= CAUSE * lost]


def _memory_text(o):
    """What the share of the DRAM bound means; None if it means nothing."""
    share = o.dram_share
    if share is None:
        return None
    if share > IN_CACHE:
        return f"not DRAM: {100 * share:.0f} % of its bound, data stay in a cache"
    return f"memory: {100 * share:.0f} % of the DRAM bound" if round(share, 2) >= MEMORY else None


def unexplained(o):
    """What may have slowed a product that has no other cause; None: the record has none."""
    if o.point.busy:
        return f"the machine was busy with other work: load average {o.point.busy:.3g}"
    return "times are too noisy for a cause" if is_noisy(o.point) else None


def is_disturbed(o):
    """Was the machine busy, and does the time contain waiting, so that this may be the cause?"""
    return bool(o.point.busy) and ((o.waiting_rows or 0) > 0.5 or any(cause in WAITING for cause, _ in causes(o)))


def limit(o):
    """What limits a result, in words, from the record alone."""
    found, memory, share, why = [], _memory_text(o), o.dram_share, unexplained(o)
    if not o.is_told:
        low, high = o.speedup_bounds
        return f"cannot tell (speed-up {low:.2f} to {high:.2f})" + (f"; {why}" if why else "")
    if o.size > 1 and o.efficiency is not None and o.efficiency >= SCALES:
        found.append("scales")
    if memory and share <= IN_CACHE:
        found.append(memory)
    if is_disturbed(o):
        found.append(why)
    for cause, part in causes(o):
        if cause != SLOWER:
            found.append(f"{cause}: {100 * part:.0f} % of the time")
        elif not found and why:
            found.append(why)
    if (o.waiting_rows or 0) > 0.5 and o.efficiency is not None and o.efficiency < SCALES:
        found.append(f"{100 * o.waiting_rows:.0f} % of its rows wait for received ones")
    if not found or found == ["scales"]:
        known = memory or (f"{100 * share:.0f} % of the DRAM bound" if share is not None else "no copy was timed")
        found.append(f"{NOT_KNOWN} ({known})" if not found else f"the limit of one {o.over[:-1]} is {NOT_KNOWN} ({known})")
    elif memory and share > IN_CACHE:
        found.append(memory)
    return "; ".join(found)


# ---- noise ----

def is_noisy(point):
    return point.spread.width is not None and point.spread.width > NOISY


def noise(points):
    """A sentence on the noise of the points; None without points."""
    if not points:
        return None
    told = [p for p in points if p.spread.width is not None]
    if not told:
        return "Noise is not known: the runs have too few samples for intervals."
    wide = [p for p in told if is_noisy(p)]
    text = f"{len(wide)} of {len(told)} points {'has a' if len(wide) == 1 else 'have'} 95 % interval{'s' * (len(wide) != 1)} " \
           f"wider than {100 * NOISY:.0f} % of the median"
    widest = max(told, key=lambda p: p.spread.width).spread.width
    text += f" (the widest: {100 * widest:.0f} %)" if wide else ""
    without = len(points) - len(told)
    text += f", and {without} {'have' if without > 1 else 'has'} no interval" if without else ""
    return text + _load_text(points) + "."


def _load_text(points):
    loads = [load for p in points for load in p.loads]
    if not loads:
        return "; the load of the machine is not in the records"
    return (f"; the load average when the runs began was {statistics.median(loads):.3g} "
            f"({min(loads):.3g} to {max(loads):.3g})")


# ---- tables ----

def _width_text(point):
    """Half the width of the interval, relative to the median."""
    width = point.spread.width
    return tables.NONE if width is None else f"± {50 * width:.0f} %" + " !" * is_noisy(point)


def table(outcomes):
    """matrix x K: time, GFLOP/s, speed-up, efficiency, what limits it."""
    several = {name for name in ("machine", "precision") if len({getattr(o, name) for o in outcomes}) > 1}
    serial = any(o.over_serial is not None for o in outcomes)
    heading = ["matrix", "K", "on", "ms", "95 %", "GFLOP/s", "speed-up", "efficiency"] + \
        (["over serial"] if serial else []) + ["kernel"] + [n for n in ("precision", "machine") if n in several] + \
        ["what limits it"]
    rows = []
    for o in outcomes:
        cells = [o.problem, str(o.k), o.place, tables.ms(o.point.spread.median), _width_text(o.point),
                 tables.significant(o.point.gflops)]
        cells += [tables.number(v if o.size > 1 else None) for v in (o.speedup, o.efficiency)]
        cells += [tables.number(o.over_serial)] if serial else []
        rows.append(cells + [o.point.kernel] + [getattr(o, n) for n in ("precision", "machine") if n in several] + [limit(o)])
    remarks = ["±: half of the 95 % interval, in parts of the median"]
    if not all(o.point.is_serial for o in outcomes):
        remarks.append("serial products have no rows: they are only the reference for other products")
    if any(o.size > 1 and o.speedup is not None for o in outcomes):
        remarks.insert(0, "speed-up: over one rank, GPU or thread of the same; of a matrix that grows with the ranks, scaled; "
                          "efficiency: speed-up / number")
    if any(is_noisy(o.point) for o in outcomes):
        remarks.append(f"!: the interval is wider than {100 * NOISY:.0f} % of the median")
    left = ("matrix", "on", "kernel", "precision", "machine", "what limits it")
    made = tables.Table("Outcome: the fastest run of each matrix and K, on the most ranks", heading, rows, left,
                        remarks, ("GFLOP/s", "over serial", "kernel", "options"))
    return tables.with_options(made, [o.point for o in outcomes])


def fastest_steps(measurement):
    """The fastest run of each step."""
    return [min(points, key=lambda p: p.spread.median)
            for points in series.by_key(measurement.right, lambda p: p.step).values()]


def _step_limit(point):
    share = point.copy_share
    if share is None:
        return f"{NOT_KNOWN} (no copy was timed)"
    if share > IN_CACHE:
        return f"not DRAM: {100 * share:.0f} % of a copy's bandwidth, data stay in a cache or are only read"
    text = f"{100 * share:.0f} % of a copy's bandwidth"
    return f"memory: {text}" if round(share, 2) >= MEMORY else f"{NOT_KNOWN} ({text})"


def steps_table(measurements):
    """The fastest run of each step of each measurement."""
    rows = []
    for m in measurements:
        for p in fastest_steps(m):
            rows.append([p.step, steps.shape_text(p), p.precision, p.machine, str(p.ranks), p.kernel, tables.ms(p.spread.median),
                         _width_text(p), tables.significant(p.gflops), tables.significant(p.rate / 1e9),
                         tables.significant(m.speedup(p)), _step_limit(p)])
    heading = ["step", "series", "precision", "machine", "ranks", "kernel", "ms", "95 %", "GFLOP/s", "GB/s", "over serial",
               "what limits it"]
    left = ("step", "series", "precision", "machine", "kernel", "what limits it")
    return tables.Table("Outcome: the fastest run of each step", heading, rows, left, more=("kernel", "GFLOP/s", "GB/s"))
