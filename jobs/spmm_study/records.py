"""Reads the records of studies (JSON Lines) and combines the rounds of a point.

A line is one of: an environment; counts of `spmm_mpi --dry-run --json`, which are left out; a run of
`spmm_mpi --json`, with the group `study` if it is a point of a study; a failed run, with that group only; a step of
`series_mpi --json`.
"""
import json
import os
import statistics
from dataclasses import dataclass, field

from . import asked, laws, lines, schema
from .lines import RecordsError

BYTES = {"f64": 8, "f32": 4, "c128": 16, "c64": 8}
SERIAL = "cpu_serial"
# settings that are properties of a point; all others are part of its key and label
KNOWN = ("matrix", "weak", "k", "device", "kernel", "format", "precision", "threads", "ranks", "grid")
UNSAID = (None, "", 0, "auto", "default")
# a load average of more than this per core, or per thread of a run with more threads than cores, is due to
# other programs: that of the study's own runs is at most 1
BUSY = 1.5


@dataclass
class Spread:
    """Times of a product, in seconds, of all rounds of a point. low and high bound the median with 95 %; None if
    the records lack them."""
    median: float
    mean: float
    variance: float
    minimum: float
    maximum: float
    low: float
    high: float
    count: int
    rounds: int

    @property
    def deviation(self):
        return None if self.variance is None else self.variance ** 0.5

    @property
    def width(self):
        """Width of the interval, relative to the median; None without an interval."""
        return (self.high - self.low) / self.median if self.low is not None and self.median > 0 else None

    def bounds(self):
        """The ends of an error bar: the interval of the median if known, else the least and greatest time."""
        if self.low is not None:
            return self.low, self.high
        return self.minimum, self.maximum


def _mean_and_variance(groups):
    """Mean and variance of all samples together, from (n, mean, variance) of each group (Chan, Golub and LeVeque
    1979, the pairwise form of Welford's one-pass method)."""
    count, mean, squares = 0, 0.0, 0.0
    for n, group_mean, variance in groups:
        step = group_mean - mean
        total = count + n
        squares += variance * (n - 1) + step * step * count * n / total
        mean += step * n / total
        count = total
    return mean, squares / (count - 1) if count > 1 else 0.0


def combine(applies):
    """One Spread of the `apply` groups of several rounds: the median of their medians, and the union of their intervals."""
    groups = [(a["n"], a["mean"], a["variance"] if a.get("variance") is not None else a["stddev"] ** 2)
              for a in applies]
    mean, variance = _mean_and_variance(groups)
    told = all(a.get("median_low") is not None and a.get("median_high") is not None for a in applies)
    return Spread(statistics.median(a["median"] for a in applies), mean, variance,
                  min(a["min"] for a in applies), max(a["max"] for a in applies),
                  min(a["median_low"] for a in applies) if told else None,
                  max(a["median_high"] for a in applies) if told else None,
                  sum(a["n"] for a in applies), len(applies))


def short_name(source):
    """The usual name of a matrix."""
    name = os.path.basename(source)
    for ending in (".gz", ".mtx", ".npz", ".petsc", ".spmm"):
        name = name[:-len(ending)] if name.endswith(ending) else name
    return name


def settings_text(pairs):
    return ", ".join(f"{n}={v}" for n, v in sorted(pairs))


def _median(values):
    found = [v for v in values if v is not None]
    return statistics.median(found) if found else None


# ---- the way that a run took ----

# {group of a record: its fields} that describe the way, i.e. what the program chose
WAY = {"run": ("kernel", "format", "grid", "threads", "gpu", "exchange", "transport", "warmup"), "plan": ("backend",),
       "library": ("way",), "moved": ("reduce", "column_blocks", "overlap"),
       "launch": ("block_size", "subwarp", "registers")}


def way(record):
    """{name: the program's choice} of what may differ between runs of one point, as far as it is recorded."""
    found = {name: (record.get(group) or {}).get(name) for group, names in WAY.items() for name in names}
    if found["grid"]:
        found["grid"] = "{}x{}".format(*found["grid"])
    return {n: v for n, v in found.items() if v not in (None, "")}


def differences(ways):
    """How the ways differ, as a text; "" if they do not. A name that is missing from one is no difference."""
    names = dict.fromkeys(n for found in ways for n in found)
    values = {n: list(dict.fromkeys(str(found[n]) for found in ways if n in found)) for n in names}
    return "; ".join(f"{n} {' and '.join(of)}" for n, of in values.items() if len(of) > 1)


def load_of(record):
    """The load average of the machine when the run began; None: not recorded."""
    loads = [(record.get(group) or {}).get("load_average") for group in ("study", "measured")]
    return next((load for load in loads if load is not None), None)


def date_of(record):
    """When it was measured, in ISO 8601; "": not recorded."""
    return str((record.get("study") or {}).get("started") or (record.get("measured") or {}).get("date") or "")


@dataclass
class Measured:
    """All rounds of one combination of settings on one kind of machine. Derived classes define `flop`."""
    settings: dict
    machine: str
    cpu: str
    runs: list = field(default_factory=list)
    cores: int = None  # of the node; None: not recorded
    environments: set = field(default_factory=set)
    studies: set = field(default_factory=set)
    spread: Spread = None

    def run(self, name):
        return self.runs[0]["run"].get(name)

    def middle(self, group, name):
        """Median over the rounds of a number in a group of the record; None if no round has it."""
        return _median((r.get(group) or {}).get(name) for r in self.runs)

    def number(self, name):
        """Median over the rounds of a number that is in no group; None if no round has it."""
        return _median(r.get(name) for r in self.runs)

    def asked(self, name):
        """The value that the study requested, unless it is a default; else the value of the run."""
        value = self.settings.get(name)
        return self.run(name) if value in (None, "", "all") else value

    @property
    def library(self):
        """Name and version of the library that has the kernel; "" for this project's kernels."""
        return (self.runs[0].get("library") or {}).get("version") or ""

    @property
    def loads(self):
        """Load averages of the machine when the rounds began, if recorded."""
        return [load for load in map(load_of, self.runs) if load is not None]

    @property
    def busy(self):
        """The load average when the rounds began, if other programs caused it; else None."""
        load = _median(self.loads) or 0
        return load if load > BUSY * max(self.cores or 0, self.ranks * self.threads) else None

    @property
    def ranks(self):
        return self.run("ranks")

    @property
    def threads(self):
        return self.run("threads")

    @property
    def precision(self):
        return self.run("precision")

    @property
    def device(self):
        return self.run("device")

    @property
    def gflops(self):
        return self.flop / self.spread.median / 1e9 if self.spread.median > 0 else None

    @property
    def mean_gflops(self):
        """Flop over the mean time: the harmonic mean of the samples' rates."""
        return self.flop / self.spread.mean / 1e9 if self.spread.mean > 0 else None

    @property
    def gflops_deviation(self):
        """Standard deviation of the samples' rates, to first order: relative to the mean, it is that of the times. None if
        not recorded."""
        mean, deviation = self.mean_gflops, self.spread.deviation
        return None if mean is None or deviation is None else mean * deviation / self.spread.mean


class Point(Measured):
    """A product of a matrix by one kernel."""

    @property
    def source(self):
        return self.runs[0]["matrix"]["source"]

    @property
    def name(self):
        return short_name(self.source)

    @property
    def weak(self):
        return self.settings.get("weak") or None

    @property
    def rows(self):
        return self.runs[0]["matrix"]["rows"]

    @property
    def cols(self):
        return self.runs[0]["matrix"]["cols"]

    @property
    def nnz(self):
        return self.runs[0]["matrix"]["nnz"]

    @property
    def k(self):
        return self.run("k")

    @property
    def grid(self):
        return tuple(self.run("grid"))

    @property
    def kernel(self):
        return self.run("kernel")

    @property
    def format(self):
        return self.run("format")

    @property
    def value_bytes(self):
        return BYTES[self.precision]

    @property
    def parts(self):
        """Numbers of a value: 2 if it is complex."""
        return 2 if self.precision.startswith("c") else 1

    @property
    def is_serial(self):
        return self.kernel.startswith(SERIAL)

    @property
    def flop(self):
        return laws.flop(self.nnz, self.k, self.parts)

    @property
    def copy_rate(self):
        """Bytes/s of a copy, of all ranks together; None where not measured."""
        return self.number("copy_bytes_per_second")

    @property
    def distribution(self):
        p, q = self.grid
        return "rows" if q == 1 else "columns" if p == 1 else "blocks"

    @property
    def moved_bytes(self):
        """Bytes of X that all ranks together receive in one product."""
        rows = self.middle("moved", "all_rows")
        return None if rows is None else rows * self.k * self.value_bytes

    @property
    def extras(self):
        """Settings that are no properties of a point, as a text, without those at their defaults."""
        return settings_text(self.extra_settings)

    @property
    def extra_settings(self):
        """The settings of extras, as pairs."""
        return [(n, v) for n, v in self.settings.items() if n not in KNOWN and v not in UNSAID]

    def extras_but(self, left_out):
        """extras without some pairs of settings."""
        return settings_text(pair for pair in self.extra_settings if pair not in left_out)

    def errors(self):
        """(largest relative error, mean, wrong elements, elements with other bits) over the rounds."""
        groups = [r["error"] for r in self.runs if r.get("error")]

        def most(name):
            return max((g[name] for g in groups if g.get(name) is not None), default=None)
        return most("max_relative"), most("mean_relative"), most("wrong"), most("different")


class StepPoint(Measured):
    """A step of series_mpi by one kernel. Runs with wrong results form a separate point."""

    @property
    def shape(self):
        """(source, series, values of each, layout)"""
        return tuple(self.runs[0]["series"][n] for n in ("source", "count", "length", "layout"))

    @property
    def step(self):
        """The step's name in series_mpi's table; that of step mean is its operator, if this is not the sum."""
        operator = self.run("operator")
        return self.runs[0]["step"] if operator in (None, "sum") or self.runs[0]["step"] != "mean" else operator

    @property
    def memory(self):
        """The memory that the values are in."""
        return self.run("memory") or "device"

    @property
    def kernel(self):
        """The kernel's name, with the number of blocks per series if there are several, the threads of a block if they were
        set, the memory of the values if it is not the device's, and the strategy of a sum."""
        block, parts = self.run("block"), self.run("blocks_per_series")
        reduce = (self.runs[0].get("sum") or {}).get("reduce") or "none"
        memory = self.memory if self.memory != "device" else ""
        more = [f" /{parts}" if parts else "", f", block {block}" if block else "", f", {memory}" if memory else "",
                f", {reduce}" if reduce != "none" else ""]
        return self.runs[0]["kernel"] + "".join(more)

    @property
    def flop(self):
        return self.middle("roofline", "flops") or 0

    @property
    def bytes(self):
        """The least number of bytes that the step moves."""
        return self.middle("roofline", "bytes") or 0

    @property
    def rate(self):
        """`bytes` per second."""
        return self.bytes / self.spread.median

    @property
    def copy_rate(self):
        return self.middle("roofline", "copy_bytes_per_second")

    @property
    def copy_share(self):
        return self.rate / self.copy_rate if self.copy_rate else None

    @property
    def wrong(self):
        """(wrong, checked) of the worst round."""
        return max((r["check"]["wrong"], r["check"]["checked"]) for r in self.runs)

    @property
    def is_wrong(self):
        return self.wrong[0] > 0

    @property
    def is_checked(self):
        """Were all rounds checked, and correct?"""
        return all(r["check"].get("passed") is True for r in self.runs)


@dataclass
class Failure:
    """A run without a valid result. wrong: it has a result, and verification found it wrong. record: what the program
    recorded of it, possibly {}."""
    name: str
    settings: dict
    code: int
    error: str
    command: list
    started: str
    round: int
    wrong: bool = False
    record: dict = field(default_factory=dict)


@dataclass
class Records:
    points: list
    failures: list
    environments: dict
    remarks: list
    runs: int
    steps: list = field(default_factory=list)
    lines: list = field(default_factory=list)  # all lines of the files, unchanged: bytes, each with a newline


# {older name: current name}, by group; None: the record itself
RENAMED = {None: {"floor_share": "dram_bound_share"},
           "moved": {"still_seconds": "no_exchange_seconds", "slices": "column_blocks"}}


def _renamed(record):
    """The record with the current names."""
    for group, names in RENAMED.items():
        of = record if group is None else record.get(group)
        for old, new in names.items() if isinstance(of, dict) else ():
            if old in of:
                of.setdefault(new, of.pop(old))
    return record


def _lines(path, remarks, kept):
    """Yields (where, kind, record) for each line; skips, with a remark, a last line that a killed job cut off. Appends
    the unchanged lines to `kept`."""
    found = None
    try:
        for line in lines.read(path):
            try:
                found = lines.parse(line)
            except lines.CutOff:
                remarks.append(f"{line.where}: the last line is cut off and is left out")
                return
            kind = schema.kind_of(found)
            schema.check(_renamed(found), line.where, kind)
            kept.append(line.data.rstrip(b"\r\n") + b"\n")
            yield line.where, kind, lines.clean(found)
    except OSError as error:
        raise RecordsError(f"{path}: {error.strerror}") from None
    if found is None:
        remarks.append(f"{path}: no records")


def _nodes(environment):
    slurm = environment.get("slurm") or {}
    found = (lines.whole(str(slurm.get(name))) for name in ("nodes", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"))
    return next((nodes for nodes in found if nodes is not None), 1)


def namespaces_name(count):
    """The name of a machine whose hosts are network namespaces; it differs from that of machines with a network."""
    return f"{count} network namespaces"


def _machine(record, environment):
    """(name of the CPU or GPU that multiplied, name of the host's CPU): hosts of one kind count as one machine."""
    run = record["run"]
    cpu = environment.get("cpu") or run.get("host") or "unknown"
    name = cpu if run["device"] == "cpu" else run.get("gpu") or "GPU"
    if environment.get("namespaces"):
        return f"{namespaces_name(environment['namespaces'])}, {name}", cpu
    nodes = _nodes(environment)
    return (f"{nodes} nodes, {name}" if nodes > 1 and run["device"] == "cpu" else name), cpu


def _environment(record, study, environments):
    """The id of a record's environment. That of a record without a study is made of what the record itself has."""
    name, found, run = study.get("environment"), record.get("measured"), record["run"]
    if name in environments or not found:
        return name
    name = ", ".join(str(word) for word in (run.get("host"), run.get("gpu"), found.get("commit")) if word)
    environments.setdefault(name, {
        "id": name, "started": found.get("date"), "host": run.get("host"), "cpu": found.get("processor"), "cores": found.get("cores"),
        "gpus": [{"name": run["gpu"]}] if run.get("gpu") else [], "commit": found.get("commit"),
        "program": f"{record.get('program', 'spmm_mpi')} {record.get('version')}"})
    return name


def _cores(record, environment):
    return (record.get("measured") or {}).get("cores") or environment.get("cores")


def _key(settings, machine, run):
    """What rounds of one point have in common. Where a study asked for the kernel auto, rounds may have taken several."""
    chosen = ("kernel", "format") if settings.get("kernel") == "auto" else ()
    ran = [run[n] for n in ("k", "ranks", "grid", "device", "kernel", "format", "precision", "threads") if n not in chosen]
    return json.dumps([settings, machine, ran], sort_keys=True, default=str)


def _is_wrong(record):
    """Was a product or a step verified, and found wrong? (One that was not verified has passed = false, too.)"""
    # in a failed run only the group `study` has been checked by the schema
    check, error, run = (record.get(n) if isinstance(record.get(n), dict) else {} for n in ("check", "error", "run"))
    return bool(check.get("wrong")) or error.get("passed") is False and run.get("verify") != "none"


def _failure(study, error, record):
    return Failure(study.get("point") or study.get("name") or "", study.get("settings") or {},
                   study.get("code"), error, study.get("command") or [], study.get("started") or "",
                   study.get("round"), _is_wrong(record), record)


def _turn(study):
    return study.get("name"), study.get("point"), study.get("round")


def _add_run(record, study, environments, points):
    name = _environment(record, study, environments)
    environment = environments.get(name, {})
    machine, cpu = _machine(record, environment)
    settings = {**(asked.of_record(record, environment) or {}), **(study.get("settings") or {})}
    if "settings" not in study:
        settings.update(matrix=record["matrix"]["source"], threads=0)  # requested number: unknown
    key = _key(settings, machine, record["run"])
    point = points.setdefault(key, Point(settings, machine, cpu, cores=_cores(record, environment)))
    point.runs.append(record)
    point.environments.add(name)
    point.studies.add(study.get("name"))


def _add_step(record, study, environments, points):
    name = _environment(record, study, environments)
    environment = environments.get(name, {})
    machine, cpu = _machine(record, environment)
    point = StepPoint(dict(study.get("settings") or {}), machine, cpu, [record], _cores(record, environment))
    key = json.dumps([machine, cpu, point.device, point.precision, point.shape, point.step, point.kernel, point.ranks,
                      point.threads, point.is_wrong])
    if key in points:
        points[key].runs.append(record)
    point = points.setdefault(key, point)
    point.environments.add(name)
    point.studies.add(study.get("name"))


def _changed(point, environments):
    """Names of facts that differ between the rounds of a point and may change its time."""
    found = [environments[e] for e in point.environments if e in environments]
    names = ("commit", "compiler", "mpi", "program", "variables")
    return [n for n in names if len({json.dumps(e.get(n)) for e in found}) > 1]


MOST_NAMED = 3  # points that a remark names


def _ways_remark(points):
    """A remark on points whose rounds took different ways. Rounds with another kernel, grid or number of threads are
    separate points, so that points are first grouped by their requested settings."""
    groups, found = {}, []
    for point in points:
        asked_for = point.settings if "settings" in (point.runs[0].get("study") or {}) else id(point)
        groups.setdefault(json.dumps([asked_for, point.machine], sort_keys=True, default=str), []).append(point)
    for members in groups.values():
        how, p = differences([way(r) for point in members for r in point.runs]), members[0]
        if how:
            what = [f"{p.name} K={p.k}", p.asked("kernel"), p.precision, f"{p.ranks} ranks", p.extras]
            found.append(f"{' '.join(str(word) for word in what if word)}: {how}")
    if not found:
        return []
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    count = f"{len(found)} point{'s' * (len(found) != 1)}"
    return [f"WARNING: rounds of {count} ran differently: " + "; ".join(found[:MOST_NAMED]) + more]


def _is_timed(times):
    """Are the times above 0? (A clock that is too coarse shows 0.)"""
    return times["n"] > 0 and times["min"] > 0


def _read_step(found, where, study, result, points):
    """Adds a step of series_mpi to the points. A wrong one is also listed as a failure."""
    check, run = found["check"], found["run"]
    if check["wrong"] > 0:
        name = f"{found['step']} {found['kernel']}, {run['precision']}, {run['device']}"
        result.failures.append(_failure({"code": 1, "point": name, **study, "settings": study.get("settings") or run},
                                        f"{check['wrong']} of {check['checked']} checked are wrong", found))
    if not _is_timed(found["seconds"]):
        result.remarks.append(f"{where}: no time was measured, and the step is left out")
        return
    _add_step(found, study, result.environments, points)


def _read_run(found, where, study, result, points):
    if _is_wrong(found):
        result.failures.append(_failure({"code": 1, "point": short_name(found["matrix"]["source"]), **study,
                                         "settings": study.get("settings") or found["run"]}, "wrong elements", found))
    elif not _is_timed(found["apply"]):
        result.remarks.append(f"{where}: no time was measured, and the run is left out")
    else:
        _add_run(found, study, result.environments, points)


def read(paths):
    """Records of all files together. Raises RecordsError."""
    remarks, environments, points, steps, failures, runs = [], {}, {}, {}, [], []
    result, unread = Records([], failures, environments, remarks, 0), 0
    for path in paths:
        for where, kind, found in _lines(path, remarks, result.lines):
            if kind == "environment":
                environments[found["environment"]["id"]] = found["environment"]
            elif kind == "accuracy":
                unread += 1
            elif kind not in (schema.PREDICTION, "counts"):
                runs.append((where, kind, found, found.get("study") or {}))
    if unread:
        remarks.append(f"records of {schema.ACCURACY_PROGRAM} are left out, as they contain no times of steps: {unread}")
    done = {_turn(study) for _, _, _, study in runs if study.get("code") == 0}
    for where, kind, found, study in runs:
        if kind == "step":
            _read_step(found, where, study, result, steps)
        elif kind == "run":
            _read_run(found, where, study, result, points)
        elif _turn(study) not in done:  # otherwise it was repeated with success
            failures.append(_failure(study, study.get("error") or "", found))
    for point in points.values():
        point.spread = combine([r["apply"] for r in point.runs])
        kernels = [(r["run"]["kernel"], r["run"]["format"]) for r in point.runs]
        # a point has the kernel of most rounds
        point.runs.sort(key=lambda r, usual=max(kernels, key=kernels.count): (r["run"]["kernel"], r["run"]["format"]) != usual)
    for point in steps.values():
        point.spread = combine([r["seconds"] for r in point.runs])
    every = [*points.values(), *steps.values()]
    changed = sorted({n for p in every for n in _changed(p, environments)})
    if changed:
        remarks.append("rounds of one point were run with different " + ", ".join(changed))
    remarks += _ways_remark(points.values())
    result.points, result.steps, result.runs = list(points.values()), list(steps.values()), len(runs)
    return result
