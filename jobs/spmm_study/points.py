"""What a study file says, and the points that come of it.

A study file has lines `key = words`; # begins a comment. Keys and their defaults are in DEFAULTS; a value of several
words makes a point of each. A point is one way to run spmm_mpi: matrix, K, device, kernel, format, precision, ranks,
threads and grid.
"""
import ast
import difflib
import itertools
import math
import operator
import re
from collections import namedtuple

# key: (default, what it is)
DEFAULTS = {
    "name": ("", "of the study; the file's name"),
    "matrices": ("", "files and generators; {expression} in one grows with `ranks` and `threads`"),
    "columns": ("64", "K"),
    "devices": ("auto", "auto, cpu, cuda"),
    "kernels": ("auto", "auto, names of --list-kernels, or all"),
    "formats": ("auto", "auto, csr, ell, ell-nopad, sell, panel; for kernel auto"),
    "precisions": ("f64", "f64, f32"),
    "ranks": ("1", "numbers of MPI processes"),
    "threads": ("0", "OpenMP threads a rank; 0: the cores it is bound to"),
    "grids": ("Px1", "Px1 rows, 1xQ columns, square (as near as can be), auto, or numbers such as 2x2"),
    "rounds": ("3", "how often each point is run, all of them in turn"),
    "repeats": ("10", "timed products of a run"),
    "warmup": ("2", "products before those"),
    "serial": ("no", "yes: the serial product of each matrix, K and precision, too, for absolute speed-up"),
    "probe": ("no", "yes: measure latency, bandwidth and the time of an operation, for the cost models"),
    "options": ("", "further words for spmm_mpi"),
    "timeout": ("3600", "seconds a run may take"),
}
# the words that these keys take
WORDS = {"devices": ("auto", "cpu", "cuda"), "formats": ("auto", "csr", "ell", "ell-nopad", "sell", "panel"),
         "precisions": ("f64", "f32"), "serial": ("yes", "no"), "probe": ("yes", "no")}
ONE_WORD = ("name", "rounds", "repeats", "warmup", "serial", "probe", "timeout")
SETTINGS = ("matrix", "k", "device", "kernel", "format", "precision", "ranks", "threads", "grid")

Study = namedtuple("Study", "name path values")
Kernel = namedtuple("Kernel", "name device format")


class StudyError(Exception):
    """Wrong in the study file or in what was asked of it; the text says where."""


def meant(word, known):
    """"; did you mean ...?" for a word that is nearly a known one, else ""."""
    near = difflib.get_close_matches(word.lower(), {name.lower(): name for name in known}, 1)
    return f"; did you mean {next(name for name in known if name.lower() == near[0])}?" if near else ""


# ---- the file ----

def read(path, changes=()):
    """changes: `key=word,word` that replace lines of the file."""
    values = {key: default.split() for key, (default, _) in DEFAULTS.items()}
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    seen = set()
    for number, line in enumerate(lines, 1):
        line = line.split("#", 1)[0].strip()
        if line:
            key, words = _parse(f"{path}:{number}", line, seen)
            values[key] = words
    for change in changes:
        key, words = _parse(f"--set {change}", change.replace(",", " ") if "matri" not in change else change, set())
        values[key] = words
    if not values["matrices"]:
        raise StudyError(f"{path}: there is no line `matrices = ...`")
    name = values["name"][0] if values["name"] else re.sub(r"^.*/|\.study$", "", path)
    return Study(name, path, values)


def _parse(where, line, seen):
    key, equals, text = (part.strip() for part in line.partition("="))
    if not equals or key not in DEFAULTS:
        raise StudyError(f"{where}: found \"{line}\", expected one of: " +
                         ", ".join(f"{name} =" for name in DEFAULTS) + meant(key, DEFAULTS))
    if key in seen:
        raise StudyError(f"{where}: a second line {key} =")
    seen.add(key)
    words = text.split()
    if not words and key not in ("name", "options"):
        raise StudyError(f"{where}: {key} = has no value")
    if key in ONE_WORD and len(words) > 1:
        raise StudyError(f"{where}: {key} = has {len(words)} values, expected one")
    if key in ("columns", "ranks", "threads", "rounds", "repeats", "warmup", "timeout"):
        least = 0 if key in ("threads", "warmup") else 1
        for word in words:
            if not word.isdigit() or int(word) < least:
                raise StudyError(f"{where}: {key} = {word}: expected a whole number of at least {least}")
    for word in words if key in WORDS else ():
        if word not in WORDS[key]:
            raise StudyError(f"{where}: {key} = {word}: expected {' or '.join(WORDS[key])}{meant(word, WORDS[key])}")
    return key, words


# ---- matrices that grow ----

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Pow: operator.pow}
FUNCTIONS = {"sqrt": math.sqrt, "cbrt": lambda x: x ** (1 / 3), "log2": math.log2}


def _value(node, names):
    if isinstance(node, ast.Expression):
        return _value(node.body, names)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FUNCTIONS and len(node.args) == 1:
        return FUNCTIONS[node.func.id](_value(node.args[0], names))
    raise ValueError("numbers, ranks, threads, + - * / ** and sqrt, cbrt, log2 are known")


def expand(spec, ranks, threads):
    """lap3d7:{64*cbrt(ranks)} on 8 ranks is lap3d7:128: the nearest whole number."""
    def one(found):
        try:
            return str(round(_value(ast.parse(found[1], mode="eval"), {"ranks": ranks, "threads": threads})))
        except (SyntaxError, ValueError, TypeError, ArithmeticError) as error:
            raise StudyError(f"matrix {spec}: {{{found[1]}}}: {error}") from error
    return re.sub(r"\{([^}]*)\}", one, spec)


# ---- grids ----

def grid_of(word, ranks):
    """--grid for that many ranks; None: the grid is for another number."""
    if word == "auto":
        return "auto"
    if word == "square":
        p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
        return f"{ranks // p}x{p}"
    found = re.fullmatch(r"(\d+|P)x(\d+|Q)", word)
    if not found:
        raise StudyError(f"grids = {word}: expected Px1, 1xQ, square, auto, or numbers such as 2x2")
    p, q = found.groups()
    if p == "P" and q == "Q":
        raise StudyError("grids = PxQ: expected one of them as a number")
    if p == "P":
        p = ranks // int(q) if int(q) and ranks % int(q) == 0 else 0
    if q == "Q":
        q = ranks // int(p) if int(p) and ranks % int(p) == 0 else 0
    return f"{p}x{q}" if int(p) * int(q) == ranks else None


# ---- points ----

def key_of(settings):
    """Text that names a point, the same from start to start."""
    return " ".join(f"{name}={settings[name]}" for name in SETTINGS)


def _kernels(study, device, kernels):
    """(kernel, format) pairs of a device."""
    pairs = []
    for word in study.values["kernels"]:
        if word == "auto":
            pairs += [("auto", form) for form in study.values["formats"]]
            continue
        fitting = [k for k in kernels if word in ("all", k.name) and device in ("auto", k.device)]
        if word != "all" and word not in [k.name for k in kernels]:
            raise StudyError(f"{study.path}: kernels = {word}: the program has no such kernel (--list-kernels)" +
                             meant(word, ["auto", "all"] + [k.name for k in kernels]))
        pairs += [(k.name, k.format) for k in fitting]
    return list(dict.fromkeys(pairs))


def _settings(study, spec, ranks, threads, **more):
    settings = dict(matrix=expand(spec, ranks, threads), ranks=ranks, threads=threads, **more)
    if "{" in spec:
        settings["weak"] = spec
    return settings


def _serial(study, kernels):
    """The points of the serial product: whatever the ranks, one for each matrix that comes up."""
    v = study.values
    by_format = {k.format: k.name for k in kernels if k.name.startswith("cpu_serial")}
    if not by_format:
        raise StudyError(f"{study.path}: serial = yes: the program has no kernel cpu_serial")
    forms = [f for f in v["formats"] if f in by_format] or ["csr"]
    for spec, ranks, threads, k, precision, form in itertools.product(
            v["matrices"], v["ranks"], v["threads"], v["columns"], v["precisions"], forms):
        matrix = expand(spec, int(ranks), int(threads))
        yield dict(matrix=matrix, ranks=1, threads=1, k=int(k), device="cpu", kernel=by_format[form], format=form,
                   precision=precision, grid="1x1")


def _parallel(study, kernels):
    v = study.values
    for spec, ranks, threads, precision, device in itertools.product(
            v["matrices"], v["ranks"], v["threads"], v["precisions"], v["devices"]):
        for (kernel, form), word, k in itertools.product(_kernels(study, device, kernels), v["grids"], v["columns"]):
            grid = grid_of(word, int(ranks))
            if grid:
                yield _settings(study, spec, int(ranks), int(threads), k=int(k), device=device, kernel=kernel,
                                format=form, precision=precision, grid=grid)


def points(study, kernels):
    """{key: settings} in the order of the first round. kernels: what the program has."""
    found = {}
    if study.values["serial"] == ["yes"]:
        found.update((key_of(s), s) for s in _serial(study, kernels))
    found.update((key_of(s), s) for s in _parallel(study, kernels))
    if not found:
        raise StudyError(f"{study.path}: no grid fits any of the numbers of ranks")
    return found


def select(found, conditions):
    """The points with, for each `name=value,value` of the conditions, one of those values."""
    for text in conditions:
        name, equals, values = text.partition("=")
        if not equals or name not in SETTINGS:
            raise StudyError(f"--only {text}: expected NAME=VALUE with a name among {', '.join(SETTINGS)}" + meant(name, SETTINGS))
        # a generator's arguments are between commas, too
        wanted = [values] if name == "matrix" else values.split(",")
        found = {key: s for key, s in found.items() if str(s[name]) in wanted}
    return found


def schedule(keys, rounds):
    """(round, key) of all runs: every point once in each round, and each round begins elsewhere, so that what drifts
    with time, and what a neighbour in the order leaves behind, does not always meet the same point."""
    keys = list(keys)
    for r in range(rounds):
        start = r * len(keys) // rounds
        for key in keys[start:] + keys[:start]:
            yield r, key
