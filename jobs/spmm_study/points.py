"""Reads a study file, and makes its points.

A study file has lines `key = words`; # begins a comment. Keys and their defaults are in DEFAULTS; a value of several
words makes a point of each. A point is one way to run spmm_mpi: matrix, K, device, kernel, format, precision, ranks,
threads and grid, and the settings of asked.py.
"""
import ast
import difflib
import itertools
import math
import operator
import os
import re
import warnings
from collections import namedtuple
from functools import lru_cache

from . import asked, lines
from .names import LISTED, NAMED, CollectionError, check_name, list_path, read_list

# key: (default, what it is)
DEFAULTS = {
    "name": ("", "name of the study; by default the file's name"),
    "matrices": ("", "files, generators, name:GROUP/NAME of the SuiteSparse Collection, list:NAME of matrices/lists; "
                 "an {expression} in a generator may contain `ranks` and `threads`"),
    "columns": ("64", "numbers of columns of X (K)"),
    "devices": ("auto", "auto, cpu, cuda"),
    "kernels": ("auto", "auto, names of --list-kernels, or all"),
    "formats": ("auto", "auto, csr, ell, ell-nopad, sell, panel, staged; only with kernel auto"),
    "precisions": ("f64", "f64, f32"),
    "ranks": ("1", "numbers of MPI processes"),
    "threads": ("0", "OpenMP threads per rank; 0: as many as the cores to which it is bound"),
    "grids": ("Px1", "Px1 (row blocks), 1xQ (column blocks), square (or nearly), auto, or numbers such as 2x2"),
    "exchanges": ("auto", "auto, halo, bcast, joint"),
    "transports": ("auto", "auto, mpi, staged, cuda-aware, nccl, peer, shared"),
    "reductions": ("auto", "auto, linear, tree, butterfly, mpi, nccl"),
    "block_sizes": ("0", "threads of a CUDA block; 0: the kernel's choice"),
    "subwarps": ("0", "lanes per element, for CUDA kernels with this parameter; 0: the kernel's choice"),
    "partitions": ("auto", "auto, nnz, rows, graph, layout"),
    "rounds": ("3", "runs of each point; a round runs all points once"),
    "repeats": ("10", "timed products of a run"),
    "warmup": ("2", "untimed products of a run, before the timed ones"),
    "serial": ("no", "yes: also run the serial product of each matrix, K and precision, for absolute speed-up"),
    "probe": ("no", "yes: measure latency, bandwidth and the time of an operation, for the cost models"),
    "options": ("", "more options for spmm_mpi; an option that has a key in this list sets that key"),
    "timeout": ("3600", "seconds a run may take"),
}
# the words that these keys accept
WORDS = {"devices": ("auto", "cpu", "cuda"), "formats": ("auto", "csr", "ell", "ell-nopad", "sell", "panel", "staged"),
         "exchanges": ("auto", "halo", "bcast", "joint"), "partitions": ("auto", "nnz", "rows", "graph", "layout"),
         "transports": ("auto", "mpi", "staged", "cuda-aware", "nccl", "peer", "shared"),
         "reductions": ("auto", "linear", "tree", "butterfly", "mpi", "nccl"),
         "precisions": ("f64", "f32"), "serial": ("yes", "no"), "probe": ("yes", "no")}
ONE_WORD = ("name", "rounds", "repeats", "warmup", "serial", "probe", "timeout")
# whole numbers: (least, most)
WHOLE = {"columns": (1, 2 ** 31 - 1), "ranks": (1, 2 ** 24), "threads": (0, 2 ** 24), "rounds": (1, 1000),
         "block_sizes": (0, 1024), "subwarps": (0, 32),
         "repeats": (1, 2 ** 31 - 1), "warmup": (0, 2 ** 31 - 1), "timeout": (1, 2 ** 31 - 1)}
MOST_BYTES = 2 ** 20  # of a study file
MOST_WORD = 4096  # characters
MOST_RUNS = 1_000_000
SETTINGS = ("matrix", "k", "device", "kernel", "format", "precision", "ranks", "threads", "grid")

# values: {key: words}; places: {key: FILE:LINE} of the lines in the file; pins: names.Items of its lists;
# files: {word: File} of its matrices by name, once they are in the cache (File.name: GROUP/NAME); given:
# settings from the line `options`
Study = namedtuple("Study", "name path values places pins files given", defaults=((), {}, {}))
File = namedtuple("File", "path name")
Kernel = namedtuple("Kernel", "name device format")


class StudyError(Exception):
    """An error in the study file, or in a request for its points; the text says where."""


def meant(word, known):
    """"; did you mean ...?" for a word that is nearly a known one, else ""."""
    near = difflib.get_close_matches(word.lower(), {name.lower(): name for name in known}, 1)
    return f"; did you mean {next(name for name in known if name.lower() == near[0])}?" if near else ""


# ---- the file ----

def read(path, changes=()):
    """The Study of a file. changes: `key=word,word` that replace lines of the file."""
    values = {key: default.split() for key, (default, _) in DEFAULTS.items()}
    places = {}
    for number, line in enumerate(_text(path).split("\n"), 1):
        line, where = line.split("#", 1)[0].strip(), f"{path}:{number}"
        if line:
            key, values_of_key = _parse(where, line)
            if key in places:
                raise StudyError(f"{where}: a second line {key} =")
            values[key], places[key] = values_of_key, where
    for change in changes:
        where = f"--set {lines.clean(change)}"
        key, values_of_key = _parse(where, _without_commas(change))
        values[key], places[key] = values_of_key, where
    given = _options_apart(values, places)
    if not values["matrices"]:
        raise StudyError(f"{path}: there is no line `matrices = ...`")
    values["matrices"], pins = _with_lists(values["matrices"], places["matrices"])
    name = values["name"][0] if values["name"] else re.sub(r"^.*/|\.study$", "", path)
    return Study(name, path, values, places, pins, given=given)


def _options_apart(values, places):
    """Replaces each option in `options` that has its own key by a value of that key. Returns the settings made by
    other options of asked.py."""
    found, given, values["options"] = asked.taken_apart(values["options"])
    where = places.get("options")
    if any("--json".startswith(word.partition("=")[0]) for word, _ in asked.written(values["options"])):
        raise StudyError(f"{where}: options = has --json: remove it, because a study sets it for each of its runs")
    for key, text in found.items():
        if key in places:
            raise StudyError(f"{where}: options = has an option that {places[key]} sets, too: keep {key} = "
                             "alone")
        _, values[key] = _parse(where, f"{key} = {text.replace(',', ' ')}")
        places[key] = where
    return given


# a comma separates matrices, unless only a number or an expression follows, as in a generator: uniform:300,5
BETWEEN = re.compile(r",(?!(?:[0-9][0-9.eE+-]*|\{[^{}]*\})+(?:,|$))")


def split_matrices(text):
    """Names of matrices between blanks or commas. A name that is a file stays whole."""
    parts = ([word] if os.path.exists(word) else BETWEEN.split(word) for word in text.split())
    return [name for part in parts for name in part if name]


def _without_commas(change):
    """KEY=WORD,WORD with blanks in place of the commas between words."""
    key, equals, text = change.partition("=")
    if key.strip() == "matrices":
        return key + equals + " ".join(split_matrices(text))
    return key + equals + text.replace(",", " ")


def _with_lists(words, where):
    """(the words, with each list replaced by the names in it; Items of the lists)"""
    found, items = [], []
    try:
        for word in words:
            if word.startswith(LISTED):
                listed = read_list(list_path(word[len(LISTED):]))
                found += [NAMED + item.name for item in listed]
                items += listed
            else:
                if word.startswith(NAMED):
                    check_name(word[len(NAMED):])
                found.append(word)
    except CollectionError as error:
        raise StudyError(f"{where}: {error}") from None
    if not found:
        raise StudyError(f"{where}: matrices = has only empty lists")
    return list(dict.fromkeys(found)), items


def names(study):
    """The names of matrices of the collection, as in the study file."""
    return [word[len(NAMED):] for word in study.values["matrices"] if word.startswith(NAMED)]


def _text(path):
    """The text of a study file."""
    data = lines.whole_file(path, MOST_BYTES, "a study file", StudyError)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data[:error.start].count(b"\n") + 1
        raise StudyError(f"{path}:{number}: found bytes that are no UTF-8, expected text") from error


def _parse(where, line):
    if re.search("[^\t -\x7e\xa0-\U0010ffff]", line):
        raise StudyError(f"{where}: found {lines.shown(line)}, expected no control characters")
    key, equals, text = (part.strip() for part in line.partition("="))
    if not equals or key not in DEFAULTS:
        raise StudyError(f"{where}: found \"{line[:lines.SHOWN]}\", expected one of: " +
                         ", ".join(f"{name} =" for name in DEFAULTS) + meant(key, DEFAULTS))
    words = text.split()
    if not words and key not in ("name", "options"):
        raise StudyError(f"{where}: {key} = has no value")
    if key in ONE_WORD and len(words) > 1:
        raise StudyError(f"{where}: {key} = has {len(words)} values, expected one")
    longest = max(words, key=len, default="")
    if len(longest) > MOST_WORD:
        raise StudyError(f"{where}: {key} = {longest[:lines.SHOWN]}...: found {len(longest)} characters, expected at most "
                         f"{MOST_WORD}")
    for word in words if key in WHOLE else ():
        if lines.whole(word, *WHOLE[key]) is None:
            least, most = WHOLE[key]
            raise StudyError(f"{where}: {key} = {word[:lines.SHOWN]}: expected a whole number of at least {least} and "
                             f"at most {most}")
    for word in words if key in WORDS else ():
        if word not in WORDS[key]:
            raise StudyError(f"{where}: {key} = {word[:lines.SHOWN]}: expected {' or '.join(WORDS[key])}"
                             f"{meant(word, WORDS[key])}")
    for word in words if key != "options" else ():
        _check_dash(f"{where}: {key} = ", word)
    return key, words


def _check_dash(where, word):
    if word.startswith("-"):
        raise StudyError(f"{where}{word[:lines.SHOWN]}: found a word that begins with -, which spmm_mpi would take "
                         "for an option: expected ./ before the name of such a file, and options in options =")


# ---- matrices that grow ----

MOST_EXPRESSION = 200  # characters


def _power(base, exponent):
    """base ** exponent; whole for whole numbers. A power beyond 64 bits is detected in floating point, and not computed."""
    try:
        if abs(math.pow(base, exponent)) > lines.MOST_WHOLE:
            raise OverflowError
    except ValueError:
        raise ValueError(f"found {base:g}**{exponent:g}, expected one that is a number") from None
    return base ** exponent


def _root(degree):
    def root(x):
        if x < 0:
            raise ValueError(f"found a root of {x:g}")
        return math.sqrt(x) if degree == 2 else x ** (1 / degree)
    return root


def _log2(x):
    if x <= 0:
        raise ValueError(f"found a logarithm of {x:g}")
    return math.log2(x)


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
             ast.Pow: _power}
FUNCTIONS = {"sqrt": _root(2), "cbrt": _root(3), "log2": _log2}


def _value(node, names):
    """The value of an expression. It and all intermediate values have at most 64 bits, so that none takes long."""
    value = _value_of(node, names)
    if not abs(value) <= lines.MOST_WHOLE:
        raise OverflowError
    return value


def _value_of(node, names):
    if isinstance(node, ast.Expression):
        return _value(node.body, names)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FUNCTIONS and len(node.args) == 1 and \
            not node.keywords:
        return FUNCTIONS[node.func.id](_value(node.args[0], names))
    raise ValueError("expected numbers, ranks, threads, + - * / ** and sqrt, cbrt, log2")


def _evaluated(text, names):
    """The value of the expression, rounded to a whole number. Raises ValueError with a message."""
    if len(text) > MOST_EXPRESSION:
        raise ValueError(f"found {len(text)} characters, expected at most {MOST_EXPRESSION}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of Python on texts such as `2or 3`
            tree = ast.parse(text.strip(), mode="eval")
        return round(_value(tree, names))
    except OverflowError:
        raise ValueError("found a number beyond 64 bits") from None
    except ZeroDivisionError:
        raise ValueError("found a division by 0") from None
    except (SyntaxError, MemoryError, RecursionError):  # the latter two: for too many brackets
        raise ValueError("expected an expression such as 64*cbrt(ranks)") from None


@lru_cache(maxsize=4096)
def expand(spec, ranks, threads):
    """Replaces expressions by their values, rounded to whole numbers: lap3d7:{64*cbrt(ranks)} on 8 ranks is lap3d7:128."""
    def one(found):
        try:
            return str(_evaluated(found[1], {"ranks": ranks, "threads": threads}))
        except ValueError as error:
            raise StudyError(f"matrix {spec[:MOST_EXPRESSION]}: {{{found[1][:lines.SHOWN]}}}: {error}") from None
    made = re.sub(r"\{([^{}]*)\}", one, spec)
    if "{" in made or "}" in made:
        raise StudyError(f"matrix {spec[:MOST_EXPRESSION]}: found an unpaired bracket, expected {{...}} without "
                         "blanks within")
    _check_dash("matrix ", made)
    return made


def is_generator(word):
    """Does the name of a matrix stand for a generator, and not for a file?"""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*:[0-9.,eE+-]*", word) is not None


def check_files(study, matrices):
    """Raises StudyError for a matrix that is a file, and does not exist."""
    for word in matrices:
        if word in study.files or word.startswith(NAMED) or is_generator(word) or os.path.exists(word):
            continue
        hint = "separate names by blanks" if "," in word else \
            f"{NAMED}{word} is a matrix of the collection" if re.fullmatch(r"[\w-]+/[\w-]+", word) else \
            "paths of files are relative to the current folder"
        raise StudyError(f"{study.places['matrices']}: matrices = {word[:lines.SHOWN]}: no such file, and "
                         f"no such generator; {hint}")


# ---- grids ----

@lru_cache(maxsize=None)
def _square(ranks):
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return f"{ranks // p}x{p}"


def grid_of(word, ranks):
    """--grid for that many ranks; None: the grid is for another number."""
    if word == "auto":
        return "auto"
    if word == "square":
        return _square(ranks)
    found = re.fullmatch(r"([0-9]{1,10}|P)x([0-9]{1,10}|Q)", word)
    if not found:
        raise StudyError(f"grids = {word[:lines.SHOWN]}: expected Px1, 1xQ, square, auto, or numbers such as 2x2")
    p, q = found.groups()
    if p == "P" and q == "Q":
        raise StudyError("grids = PxQ: expected a number in place of P or Q")
    if p == "P":
        p = ranks // int(q) if int(q) and ranks % int(q) == 0 else 0
    if q == "Q":
        q = ranks // int(p) if int(p) and ranks % int(p) == 0 else 0
    return f"{p}x{q}" if int(p) * int(q) == ranks else None


# ---- points ----

def key_of(settings):
    """Text that identifies a point, in all runs of a study."""
    more = [f"{name}={settings[name]}" for name in asked.NAMES if name in settings]
    return " ".join([f"{name}={settings[name]}" for name in SETTINGS] + more)


def _kernels(study, device, kernels):
    """(kernel, format) pairs of a device."""
    pairs = []
    for word in study.values["kernels"]:
        if word == "auto":
            pairs += [("auto", form) for form in study.values["formats"]]
            continue
        fitting = [k for k in kernels if word in ("all", k.name) and device in ("auto", k.device)]
        if word != "all" and word not in [k.name for k in kernels]:
            raise StudyError(f"{study.places['kernels']}: kernels = {word[:lines.SHOWN]}: the program has no such kernel "
                             "(--list-kernels)" + meant(word, ["auto", "all"] + [k.name for k in kernels]))
        pairs += [(k.name, k.format) for k in fitting]
    return list(dict.fromkeys(pairs))


def _at(study, key, made_of, *args):
    """made_of(*args); an error names the line of that key."""
    try:
        return made_of(*args)
    except StudyError as error:
        raise StudyError(f"{study.places[key]}: {error}") from None


def _given(study, leave_out=()):
    """Settings of every point: from the line `options`, and from the environment."""
    found = {**asked.of_environment(), **study.given, "options": " ".join(study.values["options"])}
    return asked.said({n: v for n, v in found.items() if n not in leave_out})


def _choices(study, device):
    """Settings of each combination of values of asked.py's keys. Shapes of launches are for GPUs: if a study has both
    devices, CPUs run without."""
    gpus = any(word != "cpu" for word in study.values["devices"])
    names = [n for n, c in asked.CHOICES.items() if c.key]
    for words in itertools.product(*(dict.fromkeys(study.values[asked.CHOICES[n].key]) for n in names)):
        found = asked.said({n: int(w) if n in asked.SHAPE else w for n, w in zip(names, words)})
        if not (gpus and device == "cpu" and any(n in found for n in asked.SHAPE)):
            yield {**found, **_given(study)}


def _settings(study, spec, ranks, threads, **more):
    settings = dict(matrix=_at(study, "matrices", expand, spec, ranks, threads), ranks=ranks, threads=threads, **more)
    if "{" in spec:
        settings["weak"] = spec
    return settings


def _serial(study, kernels):
    """The points of the serial product: one rank, for each matrix that the threads expand to; of a matrix that grows
    with the ranks the one of one rank, to which scaled speed-up refers."""
    v = study.values
    by_format = {k.format: k.name for k in kernels if k.name.startswith("cpu_serial")}
    if not by_format:
        raise StudyError(f"{study.places['serial']}: serial = yes: the program has no kernel cpu_serial: "
                         "it was built with BASELINE=0 (--set serial=no omits these points)")
    forms = [f for f in v["formats"] if f in by_format] or list(by_format)[:1]
    for spec, ranks, threads, k, precision, form in itertools.product(
            v["matrices"], v["ranks"], v["threads"], v["columns"], v["precisions"], forms):
        matrix = _at(study, "matrices", expand, spec, int(ranks), int(threads))
        if int(ranks) > 1 and matrix != _at(study, "matrices", expand, spec, 1, int(threads)):
            continue
        yield dict(matrix=matrix, ranks=1, threads=1, k=int(k), device="cpu", kernel=by_format[form], format=form,
                   precision=precision, grid="1x1", **_given(study, ("autotune",)))


def _parallel(study, kernels):
    v = study.values
    for spec, ranks, threads, precision, device in itertools.product(
            v["matrices"], v["ranks"], v["threads"], v["precisions"], v["devices"]):
        for (kernel, form), word, k, more in itertools.product(_kernels(study, device, kernels), v["grids"],
                                                               v["columns"], _choices(study, device)):
            grid = _at(study, "grids", grid_of, word, int(ranks))
            if grid:
                yield _settings(study, spec, int(ranks), int(threads), k=int(k), device=device, kernel=kernel,
                                format=form, precision=precision, grid=grid, **more)


def _most_runs(study, kernels):
    """An upper bound on the number of runs, from the numbers of values."""
    v = study.values
    ways = sum(len(kernels) if word == "all" else len(v["formats"]) for word in v["kernels"])
    keys = ("matrices", "ranks", "threads", "precisions", "columns")
    axes = ("devices", "grids", *(c.key for c in asked.CHOICES.values() if c.key))
    return math.prod(len(v[key]) for key in keys) * int(v["rounds"][0]) * (
        ways * math.prod(len(v[key]) for key in axes) + len(v["formats"]) * (v["serial"] == ["yes"]))


def points(study, kernels):
    """{key: settings} in the order of the first round. kernels: those of the program."""
    most, found = _most_runs(study, kernels), {}
    if most > MOST_RUNS:
        raise StudyError(f"{study.path}: found {most} runs, expected at most {MOST_RUNS}")
    if study.values["serial"] == ["yes"]:
        found.update((key_of(s), s) for s in _serial(study, kernels))
    found.update((key_of(s), s) for s in _parallel(study, kernels))
    if not found:
        raise StudyError(f"{study.path}: there are no points: no grid fits the numbers of ranks, or no kernel the devices")
    return found


def select(found, conditions):
    """The points with, for each `name=value,value` of the conditions, one of those values."""
    for text in conditions:
        name, equals, values = text.partition("=")
        known = (*SETTINGS, *asked.NAMES)
        if not equals or name not in known:
            raise StudyError(f"--only {text}: expected NAME=VALUE with a name among {', '.join(known)}" +
                             meant(name, known))
        wanted = split_matrices(values) if name == "matrix" else values.split(",")
        found = {key: s for key, s in found.items() if str(s.get(name, asked.default(name))) in wanted}
    return found


def schedule(keys, rounds):
    """(round, key) of all runs: every point once in each round. Each round begins at another point, so that neither
    a drift over time nor the effect of the run before always affects the same point."""
    keys = list(keys)
    for r in range(rounds):
        start = r * len(keys) // rounds
        for key in keys[start:] + keys[:start]:
            yield r, key
