"""Machine files: small texts with the speed of a machine's copies and communication, a `key = value` per line; # begins a
comment. spmm_mpi(1), MACHINE FILES, describes the keys. Rates are in bytes per second, times in seconds."""
import re
from dataclasses import dataclass

from . import lines
from .lines import RecordsError
from .points import meant

MOST_BYTES = 2 ** 16
MOST_TEXT = 127  # characters of a value
ALWAYS, WITH_RANKS, WITH_NODES, NEVER = "", ", as a node has several ranks", ", as there are several nodes", None
DEVICES = ("cpu", "cuda")

# key: (type, least, most, when a file must have it)
KEYS = {
    "name": (str, 0, 0, ALWAYS), "processor": (str, 0, 0, NEVER), "device": (DEVICES, 0, 0, ALWAYS),
    "nodes": (int, 1, 2 ** 24, ALWAYS), "ranks_per_node": (int, 1, 4096, ALWAYS), "threads": (int, 1, 4096, NEVER),
    "copy_rate": (float, 1, 1e18, ALWAYS), "node_copy_rate": (float, 1, 1e18, ALWAYS),
    "inside_rate": (float, 1, 1e18, WITH_RANKS), "inside_latency": (float, 1e-12, 1e3, WITH_RANKS),
    "between_rate": (float, 1, 1e18, WITH_NODES), "between_latency": (float, 1e-12, 1e3, WITH_NODES),
    "efficiency": (float, 1e-4, 1e3, NEVER), "overlap": (float, 0, 1, NEVER),
}


@dataclass
class Machine:
    """The values of a machine file; 0 or "" for missing ones."""
    name: str = ""
    processor: str = ""
    device: str = ""
    nodes: int = 0
    ranks_per_node: int = 0
    threads: int = 1
    copy_rate: float = 0  # bytes read plus written by a copy on one rank alone
    node_copy_rate: float = 0  # of all ranks of a node together
    inside_rate: float = 0  # at which a rank receives from other ranks of its node
    inside_latency: float = 0
    between_rate: float = 0  # at which the ranks of a node together receive from other nodes
    between_latency: float = 0
    efficiency: float = 0  # DRAM bound of a kernel over its time; 0: taken from records of runs
    overlap: float = 0  # share of an exchange, less its latencies, that passes while a rank computes

    @property
    def ranks(self):
        return self.nodes * self.ranks_per_node

    def copy_rate_of(self, active):
        """Copy rate of a rank while `active` ranks of its node copy: its own, or its share of the node's if that is less."""
        return min(self.copy_rate, self.node_copy_rate / active)


def _value(where, key, text):
    of, least, most, _ = KEYS[key]
    if of is str:
        if 0 < len(text.encode()) <= MOST_TEXT:
            return text
        expected = f"a text of at most {MOST_TEXT} characters"
    elif of is DEVICES:
        if text in DEVICES:
            return text
        expected = " or ".join(DEVICES)
    else:
        if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text):
            number = float(text)
            if least <= number <= most and of(number) == number:
                return of(number)
        expected = f"a {'whole ' if of is int else ''}number from {least:g} to {most:.9g}"
    raise RecordsError(f"{where}: {key} = {lines.shown(text)}: expected {expected}")


def read(path):
    """The Machine of a file. Raises RecordsError with file and line."""
    data = lines.whole_file(path, MOST_BYTES, "a machine file", RecordsError)
    if b"\0" in data:
        raise RecordsError(f"{path}: found a zero byte, expected the text of a machine file")
    found, at = {}, {}
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        where, line = f"{path}:{number}", line.partition("#")[0].strip()
        key, equals, text = (part.strip() for part in line.partition("="))
        if not line:
            continue
        if not equals:
            raise RecordsError(f"{where}: found {lines.shown(line)}, expected KEY = VALUE")
        if key not in KEYS:
            raise RecordsError(f"{where}: unknown key {lines.shown(key)}{meant(key, KEYS)}")
        if key in found:
            raise RecordsError(f"{where}: a second {key}: line {at[key]} has one")
        found[key], at[key] = _value(where, key, text), number
    made = Machine(**found)
    needed = {ALWAYS: True, WITH_RANKS: made.ranks_per_node > 1, WITH_NODES: made.nodes > 1, NEVER: False}
    for key, (_, _, _, need) in KEYS.items():
        if key not in found and needed[need]:
            raise RecordsError(f"{path}: there is no line {key} ={need}")
    if made.node_copy_rate < made.copy_rate:
        raise RecordsError(f"{path}: node_copy_rate is {made.node_copy_rate:g}, below the copy_rate of one rank, "
                           f"{made.copy_rate:g}")
    return made
