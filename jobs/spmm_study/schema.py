"""What a record is: names, types and ranges of its fields, checked where a file is read, so that nothing later meets a
value of another kind. Who writes them: visit() in src/spmm_mpi/report_records.c and src/series_mpi/report.c, runner.py (the group
`study`), environment.py and conversions.py.

A rule is called with a value and its name, and raises Mismatch. Fields that nobody declared are let through: newer
programs may write more.
"""
from .lines import MOST_WHOLE, RecordsError, shown

STEP_PROGRAM, ACCURACY_PROGRAM = "series_mpi", "series_mpi --accuracy"
LONG = 2 ** 20  # characters of what a failed run said, or of a word of its command
COUNT_MAX = 2 ** 31 - 1  # of ranks, threads and columns: C's int


class Mismatch(Exception):
    """args: name of the field, what was found there, what was expected."""


# ---- rules ----

def _rule(expected, holds):
    def rule(value, name):
        if not holds(value):
            raise Mismatch(name, shown(value), expected)
    rule.expected, rule.holds = expected, holds
    return rule


def _is_number(value):
    return type(value) in (int, float)  # and not bool


def text(most=4096):
    return _rule(f"a text of at most {most} characters", lambda v: isinstance(v, str) and len(v) <= most)


def word(*words):
    return _rule(" or ".join(words), lambda v: isinstance(v, str) and v in words)


def whole(low=0, high=MOST_WHOLE):
    return _rule(f"a whole number from {low} to {high}", lambda v: type(v) is int and low <= v <= high)


def real(low=-1e30, high=1e30):
    return _rule(f"a number from {low:g} to {high:g}", lambda v: _is_number(v) and low <= v <= high)


def zero_or(other):
    """Where 0 says that nothing was measured."""
    return _rule(f"0 or {other.expected}", lambda v: other.holds(v) or _is_number(v) and v == 0)


truth = _rule("true or false", lambda v: isinstance(v, bool))
scalar = _rule("a text, a number, true, false or null", lambda v: not isinstance(v, (dict, list)))


def list_of(inner, length=None):
    def rule(value, name):
        if not isinstance(value, list) or length not in (None, len(value)):
            raise Mismatch(name, shown(value), rule.expected)
        for number, one in enumerate(value):
            inner(one, f"{name}[{number}]")
    rule.expected = "a list" if length is None else f"a list of {length}"
    return rule


def group(needed=None, optional=None, others=None):
    """An object. needed: {name: rule} of what must be there; optional: of what may be missing, or null; others: the
    rule of all names that are in neither."""
    needed, optional = needed or {}, optional or {}

    def rule(value, name):
        if not isinstance(value, dict):
            raise Mismatch(name, shown(value), rule.expected)
        prefix = f"{name}." if name else ""
        for inner in needed:
            if inner not in value:
                raise Mismatch(prefix + inner, "missing", needed[inner].expected)
        for inner, one in value.items():
            if inner in needed:
                needed[inner](one, prefix + inner)
            elif inner in optional:
                if one is not None:
                    optional[inner](one, prefix + inner)
            elif others:
                others(one, prefix + inner)
    rule.expected, rule.needed, rule.optional = "an object", needed, optional
    return rule


def both(first, second):
    """second sees only what the first lets through."""
    def rule(value, name):
        first(value, name)
        second(value, name)
    rule.expected, rule.needed, rule.optional = first.expected, first.needed, first.optional
    return rule


# ---- kinds of numbers ----

count = whole()  # of rows, entries, bytes, wrong elements
some = whole(1, COUNT_MAX)
precision = word("f64", "f32")
# what laws and logarithmic axes can bear, far beyond what anybody measures
seconds = zero_or(real(1e-12, 1e9))
rate = real(1e-3, 1e18)  # a second
amount = real(0, 1e30)


def _in_order(value, name):
    """The statistics of some times: each is no greater than the next."""
    names = [n for n in ("min", "median_low", "median", "median_high", "max") if value.get(n) is not None]
    for low, high in zip(names, names[1:]):
        if value[low] > value[high]:
            raise Mismatch(f"{name}.{low}", shown(value[low]), f"at most {name}.{high}, which is {shown(value[high])}")


TIMES = {"n": count, "median": seconds, "mean": seconds, "stddev": real(0, 1e9), "min": seconds, "max": seconds}
MORE_TIMES = {"variance": real(0, 1e18), "median_low": seconds, "median_high": seconds}


def _grid_of_ranks(value, name):
    p, q = value["grid"]
    if p * q != value["ranks"]:
        raise Mismatch(f"{name}.grid", shown(value["grid"]), f"two numbers whose product is {name}.ranks, "
                                                             f"{value['ranks']}")


# ---- records ----

settings = group(optional={"matrix": text(), "weak": text()}, others=scalar)

# of a run: which point of which study, and how it went
STUDY = {"name": text(), "point": text(LONG), "round": whole(0, COUNT_MAX), "settings": settings,
         "command": list_of(text(LONG)), "environment": text(), "started": text(), "wall_seconds": real(0, 1e9),
         "code": whole(-COUNT_MAX, COUNT_MAX), "error": text(LONG)}
study = group(optional=STUDY)
# what jobs/study needs of its own records, to go on
STUDY_NEEDED = ("point", "round", "code", "wall_seconds")
own_study = group({n: STUDY[n] for n in STUDY_NEEDED}, {n: r for n, r in STUDY.items() if n not in STUDY_NEEDED})

environment = group({"id": text()}, {
    "study": text(), "host": text(), "system": text(), "cpu": text(), "cores": count, "memory_bytes": count,
    "gpus": list_of(group(others=scalar)), "mpi": text(), "compiler": text(), "nvcc": text(), "commit": text(),
    "program": text(), "variables": group(others=text(LONG)), "slurm": group(others=scalar), "started": text()})

PHASES = ("read", "partition", "scatter", "convert", "x", "exchange", "kernel", "apply", "gather", "verify", "total")
MOVING = ("halo", "interior", "boundary", "reduce", "no_exchange")

run = group({
    "matrix": group({"source": text(), "rows": count, "cols": count, "nnz": count},
                    {"field": text(), "symmetry": text()}),
    "run": both(group({"ranks": some, "grid": list_of(some, 2), "device": text(), "threads": some, "format": text(),
                       "kernel": text(), "precision": precision, "k": some},
                      {"gpu": text(), "host": text(), "partition": text(), "exchange": text(), "transport": text(),
                       "repeat": count, "warmup": count, "x": text(), "verify": text()}), _grid_of_ranks),
    "apply": both(group(TIMES, MORE_TIMES), _in_order),
}, {
    "version": text(), "program": text(), "study": study,
    "seconds": group(optional={name: real(0, 1e9) for name in PHASES}),
    "gflops": amount, "imbalance": real(0, COUNT_MAX),
    "error": group(optional={"max_relative": real(0, 1e308), "mean_relative": real(0, 1e308), "checked": count,
                             "wrong": count, "different": count, "passed": truth}),
    "memory": group(optional={"root_peak_bytes": count, "rank_peak_bytes": count, "load_peak_bytes": count}),
    "dram_bound_share": amount, "copy_bytes_per_second": rate,
    "moved": group(optional={"reduce": text(), "overlap": truth, "rows": count, "all_rows": count, "bcast_rows": count,
                             "neighbours": count, "column_blocks": count, "interior_share": real(0, 1), "hidden": real(),
                             **{f"{name}_seconds": real(0, 1e9) for name in MOVING}}),
    "probe": group(optional={"latency_seconds": real(1e-12, 1e9), "seconds_per_byte": real(1e-18, 1e9),
                             "seconds_per_flop": real(1e-18, 1e9)}),
})

step = group({
    "program": word(STEP_PROGRAM), "step": text(), "kernel": text(),
    "series": group({"source": text(), "count": count, "length": count, "layout": text()},
                    {"start": real(), "epsilon": real(), "seed": whole(-MOST_WHOLE)}),
    "run": group({"ranks": some, "device": text(), "threads": some, "precision": precision},
                 {"gpu": text(), "host": text(), "block": count, "repeat": count, "warmup": count, "batch": count,
                  "verify": text()}),
    "seconds": both(group(TIMES, {**MORE_TIMES, "sequential": seconds, "sequential_measured_share": amount,
                                  "centre": seconds}), _in_order),
    "roofline": group({"bytes": zero_or(real(1, 1e30)), "flops": zero_or(real(1, 1e30))},
                      {"copy_bytes_per_second": rate, "copy_share": amount, "gflops": amount}),
    "check": group({"checked": count, "wrong": count}, {"worst_of_bound": amount, "passed": truth}),
}, {
    "version": text(), "study": study,
    "pearson": group(optional={"transport": text(), "received_bytes": amount, "pairs": count, "constant_series": count,
                               **{name: real() for name in ("min", "q05", "q25", "q50", "q75", "q95", "max")}}),
})

_conversion = group({"conversion": text(), "algorithm": text(), "seconds": seconds, "estimate": truth, "same": truth},
                    {"sorting": real(0, 1e9)})
conversions = group({"matrix": text(), "rows": count, "cols": count, "nnz": count, "precision": text(),
                     "threads": some, "times": list_of(_conversion)})

# what a record is, if one of its own names says so
KINDS = {
    "environment": ("an environment", group({"environment": environment})),
    "failure": ("a failed run", group({"study": study})),
    "accuracy": (f"of {ACCURACY_PROGRAM}", group({"program": word(ACCURACY_PROGRAM)})),
    "step": (f"a step of {STEP_PROGRAM}", step),
    "run": ("a run of spmm_mpi", run),
    "own": ("a run of jobs/study", group({"study": own_study})),
    "conversions": ("of jobs/conversions", group({"conversions": conversions})),
}


def kind_of(record):
    """A name of KINDS, of those that jobs/scaling and jobs/report read."""
    of_study = record.get("study")
    if "environment" in record:
        return "environment"
    if record.get("program") == ACCURACY_PROGRAM:
        return "accuracy"
    if isinstance(of_study, dict) and of_study.get("code") not in (None, 0):
        return "failure"
    return "step" if record.get("program") == STEP_PROGRAM else "run"


def check(record, where, kind):
    """Raises RecordsError where the record is not of that kind."""
    name, rule = KINDS[kind]
    try:
        rule(record, "")
    except Mismatch as error:
        field, found, expected = error.args
        raise RecordsError(f"{where}: not {name}: {field} is {found}, expected {expected}") from None
