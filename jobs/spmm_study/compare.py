"""Two sets of records, point by point: what became slower, faster or wrong, or was measured in one set only.

Points are matched by their settings: those of the study, or, for records without a study, those that spmm_mpi or
series_mpi ran with. The machine distinguishes points only if a file has more than one.
"""
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from . import asked as choices
from . import compare_intervals as intervals
from .lines import RecordsError
from .records import UNSAID, date_of, load_of, short_name, way

SLOWER, FASTER, SAME, UNKNOWN = "slower", "faster", "same", "cannot tell"
VERDICTS = (SLOWER, FASTER, UNKNOWN, SAME)
DEFAULT_TOLERANCE = 0.05  # without --fail-over
RUN_NAMES = ("k", "device", "kernel", "format", "precision", "ranks", "threads")
STEP_NAMES = ("device", "precision", "ranks", "threads", "block")
STEP_DEFAULTS = {"operator": "sum", "blocks_per_series": 4, "memory": "device"}
# members of an environment that identify the run of a study, not the machine or the programs
NO_FACTS = ("id", "started", "study", "slurm")
LOADED = 1.0  # a difference of load averages from which on it is reported


# ---- requested settings ----

def asked(record):
    """{name: value} of the requested settings of a record, without those at their defaults."""
    study, more = record.get("study") or {}, choices.of_record(record) or {}
    if study.get("settings"):
        found = {**more, **study["settings"]}
    elif study.get("code") not in (None, 0):
        found = {"point": study.get("point") or study.get("name")}
    elif "series" in record:
        found = {"matrix": record["series"]["source"], "step": record["step"], "kernel": record["kernel"],
                 **{n: record["series"][n] for n in ("count", "length", "layout")},
                 **{n: record["run"].get(n) for n in STEP_NAMES},
                 **{n: record["run"].get(n) for n, default in STEP_DEFAULTS.items() if record["run"].get(n) != default}}
    else:
        found = {"matrix": record["matrix"]["source"], **{n: record["run"][n] for n in RUN_NAMES},
                 "grid": "{}x{}".format(*record["run"]["grid"]), **more}
    return {n: v for n, v in found.items() if v not in UNSAID}


def _text(*parts):
    return json.dumps(parts, sort_keys=True, default=str)


def _by_short_name(found):
    return {**found, "matrix": short_name(str(found.get("matrix", "")))}


def _ran(point):
    return [point.run("kernel") or point.runs[0].get("kernel")] + [point.run(n) for n in ("format", "threads", "grid")]


def _has_study(point):
    return bool((point.runs[0].get("study") or {}).get("settings"))


def _without_kernel(point):
    """The key, without the kernel, of a product without a study: the program may have chosen the kernel.
    None: the point is of a study, or no product."""
    if _has_study(point) or "apply" not in point.runs[0]:
        return None
    found = _by_short_name(asked(point.runs[0]))
    return _text({n: v for n, v in found.items() if n not in ("kernel", "format", *choices.NAMES)})


def _without_choices(key):
    """A key that omits the settings that are listed as differences."""
    def shorter(point):
        found = _by_short_name(asked(point.runs[0]))
        return key({n: v for n, v in found.items() if n not in choices.NAMES})
    return shorter


# from the strictest key to the loosest
KEYS = (lambda p: _text(asked(p.runs[0]), p.machine, _ran(p)),
        lambda p: _text(asked(p.runs[0]), p.machine),
        lambda p: _text(asked(p.runs[0])),
        lambda p: _text(_by_short_name(asked(p.runs[0]))),
        _without_choices(_text),
        _without_kernel)


def matched(old, new):
    """([(old point, new point)], [old points alone], [new points alone]). For each key in turn, two
    points match if each is the only one with that key in its file."""
    pairs, taken = [], set()
    for key in KEYS:
        groups = defaultdict(lambda: ([], []))
        for side, points in enumerate((old, new)):
            for point in points:
                groups[key(point)][side].append(point)
        groups.pop(None, None)
        found = [(a[0], b[0]) for a, b in groups.values() if len(a) == len(b) == 1]
        pairs += [(a, b) for a, b in found if id(a) not in taken and id(b) not in taken]
        taken = {id(p) for pair in pairs for p in pair}
    return pairs, *([p for p in points if id(p) not in taken] for points in (old, new))


# ---- a point in both ----

def label(found):
    """The requested settings as a text, in the usual order."""
    first = ("matrix", "point", "step", "count", "length", "layout", "k", "kernel", "format", "precision", "ranks",
             "grid", "threads", "device")
    rest = [n for n in found if n not in first and n != "weak"]
    words = []
    for name in [*first, *sorted(rest)]:
        if name in found:
            value = found[name]
            bare = name in ("point", "step", "kernel", "format", "precision", "grid", "device", "layout")
            words.append(short_name(str(value)) if name == "matrix" else str(value) if bare else f"{name}={value}")
    return " ".join(words)


def _is_verified(point):
    return all((r.get("error") or r.get("check") or {}).get("passed") is True for r in point.runs)


def _chosen(point):
    """What the program chose."""
    return {"kernel": point.kernel, **way(point.runs[0])}


def _run_differently(old, new):
    """{name: (old, new)} of requested settings that differ, and of the program's choices that both records have."""
    before, after = _chosen(old), _chosen(new)
    found = {n: (before[n], after[n]) for n in before if n in after and n != "gpu" and before[n] != after[n]}
    sides = [choices.of_record(p.runs[0]) for p in (old, new)]
    for name in choices.NAMES:
        a, b = (None if side is None else side.get(name, choices.default(name)) for side in sides)
        if a != b and any(side and name in side for side in sides):
            found[name] = a, b
    return found


@dataclass
class Pair:
    """A point that both files have. ratio: of the times, new / old, with its interval. chosen: {name: (old, new)} of
    the settings and choices that differ."""
    old: object
    new: object
    tolerance: float
    fail_over: float = None
    label: str = ""
    sides: tuple = ()
    ratio: intervals.Ratio = None
    chosen: dict = field(default_factory=dict)

    def __post_init__(self):
        self.label = label(asked(self.new.runs[0]))
        self.sides = tuple(intervals.Side([r.get("apply") or r["seconds"] for r in p.runs])
                           for p in (self.old, self.new))
        self.chosen = _run_differently(self.old, self.new)

    @property
    def is_single(self):
        """One round on either side."""
        return all(side.rounds == 1 for side in self.sides)

    @property
    def seen(self):
        """The verdict of the times alone."""
        r, more = self.ratio, 1 + self.tolerance
        if r.low is None:
            return UNKNOWN
        if r.low > 1:
            return SLOWER
        if r.high < 1:
            return FASTER
        return SAME if 1 / more <= r.low and r.high <= more else UNKNOWN

    @property
    def is_disturbed(self):
        """Is the slower side slower beyond noise, and was its machine busy with other work, which may be the cause?"""
        return bool(self.seen == SLOWER and self.new.busy or self.seen == FASTER and self.old.busy)

    @property
    def verdict(self):
        return UNKNOWN if self.is_disturbed else self.seen

    @property
    def is_beyond(self):
        """Slower by more than --fail-over allows, and beyond noise, whatever the machine did besides."""
        return self.fail_over is not None and self.seen == SLOWER and self.ratio.value > 1 + self.fail_over

    @property
    def fails(self):
        return self.is_beyond and not self.is_disturbed

    @property
    def differently(self):
        return ", ".join("{} {} → {}".format(n, *("-" if v in (None, "") else v for v in pair))
                         for n, pair in self.chosen.items())


# ---- everything ----

def _failed(failure):
    """(key, label) of the requested settings of a failed run."""
    found = asked(failure.record or {"study": {"code": 1, "point": failure.name}})
    return _text(_by_short_name(found)), label(found) or failure.name


def _values(environments, records):
    """{fact: its values} of all environments and records."""
    found = defaultdict(set)

    def add(name, value):
        if value not in (None, "", [], {}):
            found[name].add(value if isinstance(value, str) else json.dumps(value))
    for environment in environments.values():
        for name, value in environment.items():
            if value is None:
                continue
            if name == "variables":
                for variable, text in value.items():
                    add(variable, text)
            elif name == "gpus":
                add("gpus", ", ".join(" ".join(str(g[n]) for n in ("name", "driver", "memory") if g.get(n))
                                      for g in value))
            elif name not in NO_FACTS:
                add(name, value)
    for record in records:
        add("version", record.get("version"))
        for name, value in (choices.of_record(record) or {}).items():
            add(name, value)
        for name in ("gpu", "host") if not environments else ():
            add(name, record["run"].get(name))
    return found


def _load(records):
    loads = [load for load in map(load_of, records) if load is not None]
    return statistics.median(loads) if loads else None


def _days(records):
    """The first and the last day on which records were measured, as a text; "": not recorded."""
    days = sorted({date_of(r)[:10] for r in records} - {""})
    return " to ".join(dict.fromkeys(days[:1] + days[-1:]))


class Comparison:
    """old, new: records.Records. tolerance: relative difference up to which times are "the same"; fail_over: relative
    slowdown that is allowed, None: any. Raises RecordsError if the files have nothing in common."""

    def __init__(self, old, new, fail_over=None, confidence=0.95):
        self.old, self.new, self.fail_over, self.confidence = old, new, fail_over, confidence
        self.tolerance = fail_over or DEFAULT_TOLERANCE
        # without wrong steps, which are among the failures
        before, after = ([*r.points, *(s for s in r.steps if not s.is_wrong)] for r in (old, new))
        pairs, self.only_old, self.only_new = matched(before, after)
        self.pairs = [Pair(a, b, self.tolerance, fail_over) for a, b in pairs]
        among = intervals.scatter([p.sides[1].mean - p.sides[0].mean for p in self.pairs if p.is_single])
        for pair in self.pairs:
            pair.ratio = intervals.ratio(*pair.sides, confidence, among)
        self.pairs.sort(key=lambda p: (not p.fails, VERDICTS.index(p.verdict), -p.ratio.value, p.label))
        self._judge_failures(before)
        if not self.pairs and not self.failed:
            raise RecordsError("the two files have no point in common: nothing was compared")

    def _judge_failures(self, before):
        """Sets lists of texts. wrong: results that became wrong; broken: runs that fail now, and did not before; mended:
        runs that failed before, and do not now; still: runs that failed in both, or are new."""
        self.wrong, self.broken, self.mended, self.still = [], [], [], []
        past, now = {}, {}  # {requested settings: was the result wrong?}
        for failure in self.old.failures:
            key = _failed(failure)[0]
            past[key] = past.get(key, False) or failure.wrong
        ran = {_text(_by_short_name(asked(p.runs[0]))) for p in before}
        for failure in sorted(self.new.failures, key=lambda f: not f.wrong):
            key, text = _failed(failure)
            if key in now:
                continue
            now[key] = failure.wrong
            news = failure.wrong and not past.get(key) or key in ran and key not in past
            where = self.still if not news else self.wrong if failure.wrong else self.broken
            where.append(f"{text}: {failure.error}" if failure.error else text)
        self.mended = sorted({text for key, text in map(_failed, self.old.failures) if key not in now})
        self.only_old = [p for p in self.only_old if _text(_by_short_name(asked(p.runs[0]))) not in now]

    def of(self, verdict):
        return [p for p in self.pairs if p.verdict == verdict]

    @property
    def regressions(self):
        return [p for p in self.pairs if p.fails]

    @property
    def failed(self):
        return bool(self.wrong or self.broken or self.regressions)

    @property
    def undecided(self):
        """Points that would be regressions if the machine had not been busy."""
        return [p for p in self.pairs if p.is_beyond and p.is_disturbed]

    @property
    def mean(self):
        return intervals.geometric_mean([p.ratio.value for p in self.pairs], self.confidence)

    def differences(self):
        """[(fact, before, after)] of the machines, programs and settings that differ."""
        sides = []
        for found in (self.old, self.new):
            runs = [r for p in [*found.points, *found.steps] for r in p.runs]
            sides.append((_values(found.environments, runs), _load(runs), _days(runs)))
        (before, load_before, days_before), (after, load_after, days_after) = sides
        rows = [(name, *("; ".join(sorted(side.get(name, ()))) or "-" for side in (before, after)))
                for name in [*before, *(n for n in after if n not in before)]
                if before.get(name) != after.get(name) and (before.get(name) or name in after)]
        if days_before != days_after and days_before and days_after:
            rows.append(("measured", days_before, days_after))
        loads = [load for load in (load_before, load_after) if load is not None]
        if len(loads) == 1 or loads and abs(load_before - load_after) >= LOADED:
            rows.append(("load average", *("-" if load is None else f"{load:.2f}" for load in (load_before, load_after))))
        return rows

    def remarks(self):
        """Remarks on how reliable the ratios are."""
        found = [*self.old.remarks, *self.new.remarks]
        disturbed = [p for p in self.pairs if p.is_disturbed]
        if disturbed:
            load = max((p.new if p.seen == SLOWER else p.old).busy for p in disturbed)
            found.append(f"slower on a side whose machine was busy with other work (load average up to {load:.4g}), of {len(self.pairs)} points: "
                         f"{len(disturbed)}; the records cannot tell whether that is the cause: repeat the measurement on an idle machine")
        single = sum(p.is_single for p in self.pairs)
        if single == 1:
            found.append("1 point has one round on each side: its interval covers the noise within a run, but not "
                         "that from run to run")
        elif single:
            found.append(f"{single} points have one round on each side: the noise from run to run is estimated from the "
                         "scatter of their ratios")
        told = sum(p.ratio.low is not None for p in self.pairs)
        by_chance = told * (1 - self.confidence) / 2
        if by_chance >= 0.5 and self.of(SLOWER):
            found.append(f"by chance alone {by_chance:.0f} of {told} points without a change would be called slower at "
                         f"{100 * self.confidence:g} %, and as many faster")
        unverified = sum(_is_verified(p.old) and not _is_verified(p.new) for p in self.pairs)
        if unverified:
            found.append(f"{unverified} points were verified in OLD, and are not in NEW")
        changed = sum(bool(p.chosen) for p in self.pairs)
        if changed:
            found.append(f"{changed} points were requested, or ran, differently than before: see the column \"run "
                         "differently\"")
        return found
