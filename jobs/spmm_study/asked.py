"""Settings of a run besides matrix, K, kernel, ranks and the like: options and environment variables of spmm_mpi that
change how a product is computed. A member of CHOICES that is missing from the settings has its default, so that points
and records of studies that are older than this member keep their names.
"""
import os
from collections import namedtuple

from . import lines

# key: of the line of a study file that lists the values; None: only the line `options` can set it
Choice = namedtuple("Choice", "option default key", defaults=(None,))
CHOICES = {
    "exchange": Choice("--exchange", "auto", "exchanges"),
    "transport": Choice("--transport", "auto", "transports"),
    "reduce": Choice("--reduce", "auto", "reductions"),
    "block_size": Choice("--block-size", 0, "block_sizes"),
    "subwarp": Choice("--subwarp", 0, "subwarps"),
    "partition": Choice("--partition", "auto", "partitions"),
    "x": Choice("--x", "uniform:1"),
    "values": Choice("--values", "exact"),
    "overlap": Choice("--no-overlap", "on"),
    "column_blocks": Choice("--column-blocks", 0),
    "reproducible": Choice("--reproducible", "on"),
    "plan": Choice("--plan", "timed"),
    "products": Choice("--products", 0),
    "autotune": Choice("--autotune", "off"),
    "io": Choice("--io", "root"),
    "scatter": Choice("--scatter", "direct"),
    "scatter_format": Choice("--scatter-format", "csr"),
    "ell_limit": Choice("--ell-limit", 3),
    "isa": Choice("SPMM_ISA", ""),
    "backend": Choice("SPMM_EXCHANGE_BACKEND", ""),
    "exchange_precision": Choice("--exchange-precision", "f64"),
}
NAMES = (*CHOICES, "options")
FLAGS = {"--no-overlap": ("overlap", "off"), "--autotune": ("autotune", "on"), "--tune": ("autotune", "on")}
SHAPE = ("block_size", "subwarp")  # of CUDA kernels only
IN_RUN = ("x",)  # used exactly as requested: recorded in the group `run` of a record
# options that have lines of their own in a study file: {option: key of the line}
OWN = {"--columns": "columns", "--device": "devices", "--format": "formats", "--kernel": "kernels",
       "--grid": "grids", "--precision": "precisions", "--threads": "threads", "--repeat": "repeats",
       "--warmup": "warmup"}
LETTERS = {"-k": "--columns", "-d": "--device", "-f": "--format", "-g": "--grid", "-p": "--precision",
           "-t": "--threads", "-r": "--repeat", "-x": "--x"}
KEYS = {**OWN, **{c.option: c.key for c in CHOICES.values() if c.key}}
SETTING = {c.option: n for n, c in CHOICES.items() if c.option.startswith("--") and c.option not in FLAGS}
# options that name an output file
WRITTEN = ("--output", "--json", "--csv", "--cache")


def default(name):
    return CHOICES[name].default if name in CHOICES else ""


def _typed(name, text):
    """The value of a setting, converted from a word to the type that it has in records."""
    if name == "x" and (text == "uniform" or text.startswith("uniform:")):
        seed = lines.whole(text[8:])
        return "uniform:1" if text == "uniform" else text if seed is None else f"uniform:{seed}"
    if name == "ell_limit":
        try:
            value = float(text)
        except ValueError:
            return text
        return int(value) if value.is_integer() else value
    if isinstance(default(name), int):
        value = lines.whole(text)
        return text if value is None else value
    return text


def said(settings):
    """The settings that differ from their defaults."""
    return {n: v for n, v in settings.items() if n not in NAMES or v not in (default(n), None)}


# ---- words for spmm_mpi ----

def _known(words):
    """Yields (full name of the option, or None if unknown; its argument; its words) for each option or other word."""
    words = list(words)
    while words:
        word = words.pop(0)
        name, equals, text = word.partition("=")
        if not word.startswith("--") and word[:2] in LETTERS:
            name, equals, text = LETTERS[word[:2]], word[2:], word[2:]
        if word in FLAGS or name not in KEYS and name not in SETTING:
            yield (word if word in FLAGS else None), "", [word]
        elif equals or not words:
            yield name, text, [word]
        else:
            text = words.pop(0)
            yield name, text, [word, text]


def _ordered(words):
    """The words, with options sorted by name, each followed by its arguments; repeated options keep their order."""
    groups = []
    for word in words:
        if word.startswith("-") or not groups:
            groups.append([])
        groups[-1].append(word)
    return [word for group in sorted(groups, key=lambda group: group[0]) for word in group]


def taken_apart(words):
    """({key: argument} of options that have a line in study files, settings by other options, the remaining words)"""
    lines_of, settings, left = {}, {}, []
    for option, text, own in _known(words):
        if option in FLAGS:
            settings.update([FLAGS[option]])
        elif option in KEYS:
            lines_of[KEYS[option]] = text
        elif option:
            settings[SETTING[option]] = _typed(SETTING[option], text)
        else:
            left += own
    return lines_of, said(settings), _ordered(left)


def words_of(settings, names=tuple(CHOICES)):
    """The words of spmm_mpi's command line for the settings. Variables are in the environment already."""
    words = []
    for name in names:
        option, value = CHOICES[name].option, settings.get(name)
        if value is not None and option.startswith("--"):
            words += [option] if option in FLAGS else [option, str(value)]
    return words + settings.get("options", "").split()


def written(words):
    """[(word, path)] of the files that spmm_mpi writes when it is called with the words."""
    found, words = [], list(words)
    for n, word in enumerate(words):
        name, equals, text = word.partition("=")
        if word.startswith("-o"):
            found.append((word, word[2:] or next(iter(words[n + 1:]), "")))
        elif len(name) > 3 and any(option.startswith(name) for option in WRITTEN):
            found.append((word, text if equals else next(iter(words[n + 1:]), "")))
    return [(word, path) for word, path in found if path]


# ---- requested settings ----

def of_variables(variables):
    """Settings that environment variables make."""
    return {n: variables[c.option] for n, c in CHOICES.items() if variables.get(c.option)}


def of_environment():
    return of_variables(os.environ)


def _of_command(command):
    """Settings from the command that jobs/study ran, for records without the group `asked`."""
    words = [str(word) for word in command]
    begin = next((n for n in range(len(words) - 1) if words[n:n + 2] == ["-q", "-k"]), None)
    if begin is None:
        return {}
    end = len(words) - (2 if words[-2] == "--" else 1)
    keys, settings, left = taken_apart(words[begin + 1:end])
    settings.update((n, _typed(n, keys[c.key])) for n, c in CHOICES.items() if c.key in keys)
    left = [word for n, word in enumerate(left) if word != "--probe" or word in left[:n]]
    return {**settings, "options": " ".join(left)}


def _group(record):
    """The group `asked` of a record. Records older than --partition auto have the partition in `run`; its default was nnz."""
    group, taken = record.get("asked"), (record.get("run") or {}).get("partition")
    if group is None or "partition" in group:
        return group
    return {**group, "partition": "auto" if taken in (None, "nnz") else taken}


def of_record(record, environment=None):
    """The requested settings among NAMES that differ from their defaults; None if the record does not contain them."""
    group, study = _group(record), record.get("study") or {}
    run, settings = record.get("run") or {}, study.get("settings")
    if group is None and not settings:
        return None
    found = {}
    if group is None:
        found.update(of_variables((environment or {}).get("variables") or {}))
        said_so = _of_command(study.get("command") or [])
        # a serial product has one rank, on which these change nothing, and studies no longer pass them
        serial = str((settings or {}).get("kernel")).startswith("cpu_serial")
        found.update({n: v for n, v in said_so.items() if not (serial and n in CHOICES and CHOICES[n].key)})
    else:
        found.update((n, of[n]) for of in (group, run) for n in CHOICES if n in of and (of is group or n in IN_RUN))
    found.update({n: settings[n] for n in NAMES if n in settings} if settings else {})
    return said(found)


def mismatch(record, settings):
    """"" if the run was asked for the settings of its point, else a message about the first difference."""
    run, group = record["run"], _group(record)
    found = {"k": run["k"], **({} if group is None else {**group, **{n: run.get(n) for n in IN_RUN}})}
    for name in ("k", "device", "kernel", "grid", "threads", *CHOICES):
        wanted = settings.get(name, default(name))
        if found.get(name) is not None and found[name] != wanted:
            return (f"ran with {name} = {found[name]}, not {wanted}: something overrides the point, such as an "
                    "option in options =")
    return ""
