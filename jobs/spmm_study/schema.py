"""Checks records against docs/record.schema.json, which describes their fields, when a file is read, so that later
modules find only values of the right types. Records are written by visit() in src/spmm_mpi/report_records.c and
src/series_mpi/report.c, by runner.py (the group `study`), environment.py and conversions.py.

Of JSON Schema it supports the keywords that record.schema.json uses. A whole number must be written without a point,
and a field that is not required may be null. Undeclared fields are accepted: newer programs may write more.

A rule is called with a value and its name, and raises Mismatch.
"""
import json
import os
from functools import lru_cache

from .lines import RecordsError, shown

DESCRIPTION = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "docs",
                           "record.schema.json")
STEP_PROGRAM, ACCURACY_PROGRAM = "series_mpi", "series_mpi --accuracy"
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


def _within(node, value):
    return node.get("minimum", value) <= value <= node.get("maximum", value)


def _is_number(value):
    return type(value) in (int, float)  # and not bool


def _text(node):
    most = node.get("maxLength")
    return _rule("a text" if most is None else f"a text of at most {most} characters",
                 lambda v: isinstance(v, str) and (most is None or len(v) <= most))


def _whole(node):
    return _rule(f"a whole number from {node['minimum']} to {node['maximum']}",
                 lambda v: type(v) is int and _within(node, v))


def _real(node):
    return _rule(f"a number from {node['minimum']:g} to {node['maximum']:g}",
                 lambda v: _is_number(v) and _within(node, v))


def _list(node):
    inner, length = _made(node["items"]), node.get("minItems")

    def rule(value, name):
        if not isinstance(value, list) or length not in (None, len(value)):
            raise Mismatch(name, shown(value), rule.expected)
        for number, one in enumerate(value):
            inner(one, f"{name}[{number}]")
    rule.expected = "a list" if length is None else f"a list of {length}"
    return rule


def _group(node):
    needed = node.get("required", ())
    known = {name: _made(inner) for name, inner in node.get("properties", {}).items()}
    others = _made(node["additionalProperties"]) if "additionalProperties" in node else None

    def rule(value, name):
        if not isinstance(value, dict):
            raise Mismatch(name, shown(value), rule.expected)
        prefix = f"{name}." if name else ""
        for inner in needed:
            if inner not in value:
                raise Mismatch(prefix + inner, "missing", known[inner].expected)
        for inner, one in value.items():
            if one is None and inner not in needed:
                continue
            one_of_known = known.get(inner, others)
            if one_of_known:
                one_of_known(one, prefix + inner)
    rule.expected = "an object"
    return rule


def _either(rules):
    """A rule that any of the rules may satisfy."""
    if len(rules) == 1:
        return rules[0]
    return _rule(" or ".join(r.expected for r in rules), lambda v: any(r.holds(v) for r in rules))


SIMPLE = {"string": _text, "integer": _whole, "number": _real, "array": _list, "object": _group,
          "boolean": lambda _: _rule("true or false", lambda v: isinstance(v, bool))}


def _made(node):
    """The rule of a part of the description. null is handled by the group that contains the field."""
    if "$ref" in node:
        return _made(_found(node["$ref"]))
    if "anyOf" in node:
        return _either([_made(n) for n in node["anyOf"] if n != {"type": "null"}])
    if "const" in node:
        constant = node["const"]
        return _rule(str(constant), lambda v: (_is_number(v) or isinstance(v, str)) and v == constant)
    if "enum" in node:
        return _rule(" or ".join(node["enum"]), lambda v: isinstance(v, str) and v in node["enum"])
    if isinstance(node["type"], list):
        return _rule("a text, a number, true, false or null", lambda v: not isinstance(v, (dict, list)))
    return SIMPLE[node["type"]](node)


# ---- the description ----

@lru_cache(maxsize=None)
def description():
    """The file, as JSON. Raises RecordsError."""
    try:
        with open(DESCRIPTION, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise RecordsError(f"{DESCRIPTION}: {error.strerror}: it describes the records, and jobs/ needs it at that "
                           "path") from None


def _found(reference):
    """What a reference such as #/$defs/count stands for."""
    node = description()
    for name in reference.split("/")[1:]:
        node = node[name]
    return node


def newest():
    """The number of the newest schema that is known."""
    return _found("#/$defs/schema")["maximum"]


# ---- relations between fields, which JSON Schema cannot express ----

def _in_order(value, name):
    """The statistics of some times: each is no greater than the next."""
    names = [n for n in ("min", "median_low", "median", "median_high", "max") if value.get(n) is not None]
    for low, high in zip(names, names[1:]):
        if value[low] > value[high]:
            raise Mismatch(f"{name}.{low}", shown(value[low]), f"at most {name}.{high}, which is {shown(value[high])}")


def _grid_of_ranks(value, name):
    p, q = value["grid"]
    if p * q != value["ranks"]:
        raise Mismatch(f"{name}.grid", shown(value["grid"]), f"two numbers whose product is {name}.ranks, "
                                                             f"{value['ranks']}")


def _of_every_rank(value, name):
    """The lists of counts are as long as `rows`; those of the joint exchange may be empty."""
    ranks = len(value["rows"])
    for inner, found in value.items():
        if len(found) != ranks and (found or not inner.startswith("joint_")):
            raise Mismatch(f"{name}.{inner}", f"of {len(found)} ranks", f"one of {ranks}, as {name}.rows")


def _goes_on(value, name):
    """jobs/study needs these fields of its own records to find the missing runs."""
    for inner in ("point", "round", "code", "wall_seconds"):
        if value.get(inner) is None:
            raise Mismatch(f"{name}.{inner}", "null" if inner in value else "missing",
                           _made(_found(f"#/$defs/study/properties/{inner}")).expected)


# {kind of a record: (its name in messages, its place in the description, {group: rule on relations between
# fields})}
KINDS = {
    "environment": ("an environment", "#/$defs/environment_record", {}),
    "failure": ("a failed run", "#/$defs/failure", {}),
    "accuracy": (f"of {ACCURACY_PROGRAM}", "#/$defs/accuracy", {}),
    "step": (f"a step of {STEP_PROGRAM}", "#/$defs/step", {"seconds": _in_order}),
    "run": ("a run of spmm_mpi", "#/$defs/run", {"run": _grid_of_ranks, "apply": _in_order}),
    "own": ("a run of jobs/study", "#/$defs/failure", {"study": _goes_on}),
    "counts": ("counts of spmm_mpi --dry-run", "#/$defs/counts_record", {"counts": _grid_of_ranks, "per_rank": _of_every_rank}),
    "conversions": ("of jobs/conversions", "#/$defs/conversions_record", {}),
}
PREDICTION = "prediction"  # the kind of records that earlier versions wrote, and that are left out


def kind_of(record):
    """The kind of a record, among those that jobs/scaling and jobs/report read: a name of KINDS, or PREDICTION."""
    of_study = record.get("study")
    if "environment" in record:
        return "environment"
    for name in (PREDICTION, "counts"):
        if name in record:
            return name
    if record.get("program") == ACCURACY_PROGRAM:
        return "accuracy"
    if isinstance(of_study, dict) and of_study.get("code") not in (None, 0):
        return "failure"
    return "step" if record.get("program") == STEP_PROGRAM else "run"


@lru_cache(maxsize=None)
def _rule_of(kind):
    return _made(_found(KINDS[kind][1]))


def check(record, where, kind):
    """Raises RecordsError if the record is not of that kind, or has a newer schema than newest()."""
    if kind == PREDICTION:
        return
    name, _, between = KINDS[kind]
    number = record.get("schema")
    if type(number) is int and number > newest():
        raise RecordsError(f"{where}: found a record of schema {number}, expected {newest()} or an older one: the "
                           "program that wrote it is newer than jobs/ here; use jobs/ and docs/ of its version")
    try:
        _rule_of(kind)(record, "")
        for inner, rule in between.items():
            rule(record[inner], inner)
    except Mismatch as error:
        field, found, expected = error.args
        raise RecordsError(f"{where}: not {name}: {field} is {found}, expected {expected}") from None
