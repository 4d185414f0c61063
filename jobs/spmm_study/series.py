"""Groups points as the laws need them: strong and weak scaling, kernels over K."""
import statistics
from dataclasses import dataclass, field

from . import laws
from .records import settings_text

ORDER = {"rows": 0, "columns": 1, "blocks": 2}
# error of a model, relative to the measured time, beyond which it is marked as a miss
MISS = 0.25


def ratio_of(reference, point, factor=1.0):
    """(quotient of the medians, its least and greatest value within both intervals), times the factor."""
    (a, a_low, a_high), (b, b_low, b_high) = ((s.median, *s.bounds()) for s in (reference.spread, point.spread))
    return factor * a / b, factor * a_low / b_high, factor * a_high / b_low


@dataclass
class Strong:
    """One problem on several numbers of ranks, or of threads. serial: the fastest serial product of that matrix,
    K and precision."""
    label: str
    points: list
    serial: object = None
    fit: object = None
    over: str = "ranks"

    def size(self, point):
        """The laws' p."""
        return point.ranks if self.over == "ranks" else point.threads

    @property
    def first(self):
        return self.points[0] if self.size(self.points[0]) == 1 else None

    @property
    def most(self):
        return self.size(self.points[-1])

    def absolute(self, point):
        return laws.speedup(self.serial.spread.median, point.spread.median) if self.serial else None

    def relative(self, point):
        return laws.speedup(self.first.spread.median, point.spread.median) if self.first else None

    def ratio(self, point):
        """relative(), and its least and greatest value within the intervals."""
        return (1.0, 1.0, 1.0) if point is self.first else ratio_of(self.first, point)

    def ratios(self):
        return [self.ratio(p) for p in self.points]

    def ideal(self, point):
        """Seconds of perfect scaling."""
        return self.first.spread.median / self.size(point)


@dataclass
class Weak:
    """A problem that grows with the ranks."""
    label: str
    spec: str
    points: list
    serial: object = None
    share: float = None
    over = "ranks"

    def size(self, point):
        return point.ranks

    @property
    def first(self):
        return self.points[0] if self.points[0].ranks == 1 else None

    @property
    def most(self):
        return self.points[-1].ranks

    def work_ratio(self, point):
        return point.flop / self.first.flop

    def scaled(self, point):
        """Scaled speed-up over one rank."""
        return self._scaled(self.first, point)

    relative = scaled

    def ratio(self, point):
        """scaled(), and its least and greatest value within the intervals."""
        return (1.0, 1.0, 1.0) if point is self.first else ratio_of(self.first, point, self.work_ratio(point))

    def ratios(self):
        return [self.ratio(p) for p in self.points]

    def ideal(self, point):
        """Seconds of perfect scaling."""
        return self.first.spread.median * self.work_ratio(point) / point.ranks

    def scaled_absolute(self, point):
        """Scaled speed-up over the serial product of the problem of one rank."""
        return self._scaled(self.serial, point)

    def _scaled(self, reference, point):
        if not reference or not self.first:
            return None
        return laws.scaled_speedup(reference.spread.median, point.spread.median, self.work_ratio(point))


def _title(*parts):
    return ", ".join(part for part in parts if part)


def shared_extras(points):
    """The extras of all points, which their labels leave out. Serial products do not count: few options concern them."""
    found = [set(p.extra_settings) for p in points if not p.is_serial]
    return set.intersection(*found) if found else set()


@dataclass
class Group:
    """Series for one picture: one machine, matrix, K, precision. timed: what the times measure; serially: the reference
    of absolute speed-up."""
    timed, serially = "a product", "the serial product"
    unserial = "no serial product of this matrix, K and precision was run: no absolute speed-up"
    machine: str
    matrix: str
    k: int
    precision: str
    series: list = field(default_factory=list)
    settings: str = ""  # extras of all its points

    @property
    def over(self):
        """What p counts: ranks or threads."""
        return getattr(self.series[0], "over", "ranks")

    @property
    def title(self):
        return _title(self.matrix, f"K = {self.k}", self.precision, self.machine, self.settings)

    @property
    def common_title(self):
        """The title for all K together."""
        return _title(self.matrix, self.precision, self.machine, self.settings)

    @property
    def serial_label(self):
        return f"serial product ({self.series[0].serial.kernel})"


@dataclass
class Sweep:
    """Kernels over K: one machine, matrix, precision, number of ranks. lines: {label: points by K}; settings: the extras
    of all points."""
    machine: str
    matrix: str
    precision: str
    ranks: int
    lines: dict
    settings: str = ""

    @property
    def title(self):
        return _title(self.matrix, self.precision, f"{self.ranks} rank{'s' * (self.ranks != 1)}", self.machine, self.settings)

    @property
    def common_title(self):
        """The title for all numbers of ranks together."""
        return _title(self.matrix, self.precision, self.machine, self.settings)

    @property
    def columns(self):
        return sorted({p.k for points in self.lines.values() for p in points})


def serial_of(points, point):
    """The fastest serial product of the same problem on the same CPU; None if it was not run."""
    found = [p for p in points if p.is_serial and p.ranks == 1 and
             (p.source, p.k, p.precision, p.cpu) == (point.source, point.k, point.precision, point.cpu)]
    return min(found, key=lambda p: p.spread.median, default=None)


def _threads_text(point):
    asked = point.asked("threads")
    return "all threads" if asked in (0, "0", "auto") else f"{asked} thread{'s' * (asked != 1)}"


def _kernel_label(point):
    """The kernel that the study requested; for auto with a format, both."""
    kernel, form = point.asked("kernel"), point.asked("format")
    return f"{kernel} ({form})" if kernel == "auto" and form != "auto" else str(kernel)


def _label(point, distribution, shared):
    """The label of a series: what its points have in common, and other series may not."""
    parts = [_kernel_label(point), f"by {distribution}",
             _threads_text(point) if point.device == "cpu" else "", point.extras_but(shared)]
    return ", ".join(str(p) for p in parts if p)


def _series_key(point, problem):
    """Everything except ranks, grid, and the problem's growth."""
    return (point.machine, problem, point.k, point.precision, point.device, str(point.asked("kernel")),
            str(point.asked("format")), str(point.asked("threads")), point.extras)


def _fastest_by_ranks(points):
    """The points by number of ranks; of several grids with the same number only the fastest."""
    best = {}
    for p in points:
        if p.ranks not in best or p.spread.median < best[p.ranks].spread.median:
            best[p.ranks] = p
    return [best[r] for r in sorted(best)]


def by_key(points, key):
    found = {}
    for p in points:
        found.setdefault(key(p), []).append(p)
    return found


def _distributed(points):
    """{distribution: points}; each begins with the points on one rank."""
    alone = [p for p in points if p.ranks == 1]
    kinds = by_key([p for p in points if p.ranks > 1], lambda p: p.distribution)
    return {kind: alone + kinds[kind] for kind in sorted(kinds, key=ORDER.get)}


def _group_key(point):
    """The points of one Group have the same key."""
    return point.machine, point.weak or point.source, point.k, point.precision


def _shared(points, key):
    """{key: extras of all points with this key}"""
    return {name: shared_extras(members) for name, members in by_key(points, key).items()}


def strong(points):
    """Groups with series of at least two numbers of ranks."""
    groups = {}
    fixed = [p for p in points if not p.weak and not p.is_serial]
    shared = _shared(fixed, _group_key)
    for parts in by_key(fixed, lambda p: _series_key(p, p.source)).values():
        for kind, members in _distributed(parts).items():
            members = _fastest_by_ranks(members)
            if len(members) < 2:
                continue
            p = members[-1]
            times = {m.ranks: m.spread.median for m in members}
            key = _group_key(p)
            group = groups.setdefault(key, Group(p.machine, p.name, p.k, p.precision, settings=settings_text(shared[key])))
            group.series.append(Strong(_label(p, kind, shared[key]), members, serial_of(points, p), laws.fit_amdahl(times)))
    return list(groups.values())


def threaded(points):
    """Groups with series of at least two numbers of threads on the same grid of ranks, mostly one rank."""
    groups = {}
    fixed = [p for p in points if p.device == "cpu" and not p.weak and not p.is_serial]
    shared = _shared(fixed, _group_key)
    keys = by_key(fixed, lambda p: (*_group_key(p), str(p.asked("kernel")), str(p.asked("format")), p.extras, p.grid))
    for key, members in keys.items():
        best = by_key(members, lambda p: p.threads)
        if len(best) < 2:
            continue
        members = [min(best[t], key=lambda p: p.spread.median) for t in sorted(best)]
        p = members[0]
        ranks = f"{p.ranks} rank" + (f"s as {p.grid[0]}x{p.grid[1]}" if p.ranks > 1 else "")
        label = _title(_kernel_label(p), ranks, p.extras_but(shared[key[:4]]))
        fit = laws.fit_amdahl({m.threads: m.spread.median for m in members})
        group = Group(p.machine, p.name, p.k, p.precision, settings=settings_text(shared[key[:4]]))
        groups.setdefault(key[:4], group).series.append(Strong(label, members, serial_of(points, p), fit, "threads"))
    return list(groups.values())


def weak(points):
    groups = {}
    growing = [p for p in points if p.weak and not p.is_serial]
    shared = _shared(growing, _group_key)
    for parts in by_key(growing, lambda p: _series_key(p, p.weak)).values():
        for kind, members in _distributed(parts).items():
            members = _fastest_by_ranks(members)
            if len(members) < 2:
                continue
            p, key = members[-1], _group_key(members[-1])
            series = Weak(_label(p, kind, shared[key]), p.weak, members, serial_of(points, members[0]))
            if series.first:
                series.share = laws.fit_gustafson({m.ranks: series.scaled(m) for m in members})
            group = Group(p.machine, p.weak, p.k, p.precision, settings=settings_text(shared[key]))
            groups.setdefault(key, group).series.append(series)
    return list(groups.values())


def _sweep_label(point, shared):
    form = "" if point.format in point.kernel.replace("_", "-") else f" ({point.format})"
    grid = "" if point.grid[1] == 1 else f", {point.grid[0]}x{point.grid[1]}"
    threads = f", {point.threads} thr." if point.device == "cpu" and not point.is_serial else ""
    return _title(f"{point.kernel}{form}{grid}{threads}", point.extras_but(shared))


def sweeps(points):
    """Every comparison of kernels or of K: at least two points. If a kernel was run twice, by name and as the choice of
    auto, the faster run counts."""
    found = []
    fixed = [p for p in points if not p.weak]
    # by machine: serial products are compared with kernels of the same CPU, not with those of a GPU
    for key, parts in by_key(fixed, lambda p: (p.machine, p.source, p.precision, p.ranks)).items():
        lines, shared = {}, shared_extras(parts)
        for p in parts:
            line = lines.setdefault(_sweep_label(p, shared), {})
            if p.k not in line or p.spread.median < line[p.k].spread.median:
                line[p.k] = p
        if sum(len(line) for line in lines.values()) > 1:
            machine, _, precision, ranks = key
            found.append(Sweep(machine, parts[0].name, precision, ranks,
                               {label: [line[k] for k in sorted(line)] for label, line in lines.items()},
                               settings_text(shared)))
    return found


def shares_of_best(sweep):
    """{label: {K: GFLOP/s divided by those of the fastest kernel at that K}}"""
    rates = {label: {p.k: p.gflops for p in points} for label, points in sweep.lines.items()}
    best = {k: max(of[k] for of in rates.values() if k in of) for k in sweep.columns}
    return {label: {k: rate / best[k] for k, rate in of.items()} for label, of in rates.items()}


def rates_of(point):
    """(GFLOP/s of the median, of the upper and of the lower end of its interval)"""
    low, high = point.spread.bounds()
    return point.gflops, point.flop / 1e9 / high, point.flop / 1e9 / low


# ---- bytes that a point moves, and bandwidths ----

def traffic(point):
    """The least DRAM bytes of all blocks together: each touches its own columns and those it receives; each of Q column
    blocks writes its own part of Y."""
    received = point.middle("moved", "all_rows") or 0
    q = point.grid[1]
    return laws.dram_bytes(point.nnz, point.rows * q, point.cols + received, point.k, point.value_bytes)


def devices(point):
    """How many devices share the point's work: the number of GPUs; 1 for CPUs."""
    return point.ranks if point.device != "cpu" else 1


def bandwidth(point):
    """Bytes/s of a copy, of all ranks together; None where not measured."""
    return point.copy_rate


def rooflines(points):
    """{(machine, precision): points}. Serial products are left out: one core is no device."""
    return by_key([p for p in points if not p.is_serial and p.gflops], lambda p: (p.machine, p.precision))


def device_bandwidth(points):
    """Bandwidth of one device, in bytes/s: that of the fastest copy in the records; None without one."""
    return max((bandwidth(p) / devices(p) for p in points if bandwidth(p)), default=None)


# ---- phases ----

def for_bars(points, most):
    """At most `most` points to draw as bars: those with the greatest K, and of these, if too many, the fastest of each
    grid."""
    columns = max(p.k for p in points)
    found = [p for p in points if p.k == columns]
    if len(found) > most:
        grids = by_key(found, lambda p: (p.source, p.grid)).values()
        each = max(1, most // len(grids))
        found = [p for members in grids for p in sorted(members, key=lambda p: p.spread.median)[:each]]
    return sorted(found, key=lambda p: (p.kernel, p.ranks, -p.grid[0], p.extras))[:most]


# ---- cost models ----

def probed(points, point):
    """(latency, seconds per byte, seconds per flop) by the probe on this point's machine: medians of the records; None
    if missing. The time of an operation depends on the matrix and K: only probes with the same ones count for it."""
    def middle(members, name):
        found = [v for v in (p.middle("probe", name) for p in members) if v is not None]
        return statistics.median(found) if found else None
    machine = [p for p in points if p.machine == point.machine]
    alike = [p for p in machine if (p.source, p.k, p.precision) == (point.source, point.k, point.precision)]
    # latency and seconds per byte: from any run on this machine with several ranks
    return (middle(machine, "latency_seconds"), middle(machine, "seconds_per_byte"), middle(alike, "seconds_per_flop"))


@dataclass
class Models:
    """Seconds of the cost models of one point; None where a rate is missing."""
    notes_probe: float = None
    notes_one_rank: float = None
    complete: float = None

    def missed(self, point):
        """Is the full model wrong by more than MISS of the measured time?"""
        return self.complete is not None and abs(self.complete / point.spread.median - 1) > MISS


def _reduce_kind(point):
    return (point.runs[0].get("moved") or {}).get("reduce") or "tree"


def models(strong_series, point, others):
    """The Models of a point: the model of the notes ([N] in laws.py) with the time of an operation from the
    probe; the same model with that time from this product on one rank; and the second one plus what the notes
    leave out. others: all points, for the probe."""
    latency, byte, flop = probed(others, point)
    product = laws.Product(point.rows, point.nnz, point.k, point.grid, point.value_bytes, point.parts)
    kind, made = _reduce_kind(point), Models()
    if byte is None and point.grid[1] > 1:
        return made
    known = byte is not None or point.ranks == 1
    byte, latency = byte or 0.0, latency or 0.0
    if flop is not None and point.device == "cpu":
        made.notes_probe = laws.model_seconds(product, laws.Rates(flop / max(1, point.threads), byte), kind)
    if strong_series.first:
        one = strong_series.first
        rates = laws.Rates(one.spread.median / one.flop, byte, latency)
        made.notes_one_rank = laws.model_seconds(product, rates, kind)
        if known:
            made.complete = made.notes_one_rank + laws.left_out_seconds(
                product, rates, point.middle("moved", "rows") or 0, point.middle("moved", "neighbours") or 0,
                point.number("imbalance") or 1, kind)
    return made
