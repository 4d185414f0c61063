"""Parses lines of JSON, an object each, and numbers from the command line. Invalid input ends here, with a message:
FILE:LINE, what was found, and what was expected. schema.py checks the members of the objects."""
import json
import math
import re
from dataclasses import dataclass

MOST_BYTES = 2 ** 25  # of a line. The line of a run has 2000 to 4000 bytes, of counts for 100 000 ranks 10^7
MOST_DEPTH = 16  # levels of objects and lists within one another
MOST_WHOLE = 2 ** 63 - 1
SHOWN = 60  # characters of what was found

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class RecordsError(Exception):
    """A file of records that cannot be read: file, line, what was found and what was expected."""


class CutOff(RecordsError):
    """A last line that ends in the middle, as a job that was killed leaves it."""


class _Odd(ValueError):
    """Input that Python's json accepts, but that is not allowed in a record."""


@dataclass
class Line:
    """number: from 1; end: of the line, in bytes from the beginning of the file; ended: with a newline."""
    path: str
    number: int
    data: bytes
    end: int
    ended: bool

    @property
    def where(self):
        return f"{self.path}:{self.number}"


# ---- numbers from the command line ----

def whole(text, low=0, high=MOST_WHOLE):
    """The text as a whole number; None if it is not one, or out of bounds. (str.isdigit() would accept superscripts, and int()
    underscores, blanks, and any number of digits.)"""
    if not re.fullmatch(r"[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if low <= value <= high else None


# ---- JSON ----

def shown(value):
    """A value as text for a message, shortened."""
    text = json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _escaped(found):
    code = ord(found[0])
    return f"\\x{code & 0xff:02x}" if code < 0x100 or 0xdc80 <= code <= 0xdcff else f"\\u{code:04x}"


def clean(value):
    """The value with escapes in its texts: \\xNN, as in the program's output, for bytes that are no UTF-8 and for control
    characters, which must not reach a table; \\uNNNN for halves of surrogate pairs. Different names stay different."""
    if isinstance(value, str):
        return CONTROL.sub(_escaped, value)
    if isinstance(value, list):
        return [clean(v) for v in value]
    if isinstance(value, dict):
        return {clean(k): clean(v) for k, v in value.items()}
    return value


def _object(pairs):
    found = {}
    for name, value in pairs:
        if name in found:
            raise _Odd(f"found a second {shown(name)}, expected each name once")
        found[name] = value
    return found


def _whole(text):
    if len(text) > 20 or abs(int(text)) > MOST_WHOLE:
        raise _Odd(f"found the number {text[:SHOWN]}{'...' * (len(text) > SHOWN)}, expected one of 64 bits")
    return int(text)


def _real(text):
    value = float(text)
    if not math.isfinite(value):
        raise _Odd(f"found the number {text[:SHOWN]}, expected one of double precision")
    return value


def _constant(text):
    raise _Odd(f"found {text}, expected a number or null")


def _depth(value, most):
    """Is the value nested at most `most` levels deep?"""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(most > 0 and _depth(v, most - 1) for v in inner)


def parse(line):
    """The object of a line. Raises RecordsError; CutOff for a last line that lacks its end."""
    try:
        text = line.data.decode("utf-8", "surrogateescape")
        found = json.loads(text, object_pairs_hook=_object, parse_int=_whole, parse_float=_real,
                           parse_constant=_constant)
        deep = not _depth(found, MOST_DEPTH)
    except _Odd as error:
        raise RecordsError(f"{line.where}: {error}") from None
    except json.JSONDecodeError as error:
        kind = CutOff if text.lstrip().startswith("{") and not line.ended else RecordsError
        raise kind(f"{line.where}: not JSON: column {error.colno}: {error.msg}; expected one object per line") from None
    except RecursionError:
        deep = True
    if deep:
        raise RecordsError(f"{line.where}: found more than {MOST_DEPTH} objects or lists within one another")
    if not isinstance(found, dict):
        raise RecordsError(f"{line.where}: found {shown(found)}, expected an object")
    return found


def whole_file(path, most, expected, kind):
    """The bytes of a file. Raises kind where it cannot be read, or has more than `most` bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise kind(f"{path}: {error.strerror}") from error
    if len(data) > most:
        raise kind(f"{path}: found more than {most} bytes, expected {expected}")
    return data


def read(path):
    """A Line for each line of the file that is not blank. Raises RecordsError, OSError."""
    end = number = 0
    with open(path, "rb") as file:
        while True:
            data = file.readline(MOST_BYTES + 1)
            if not data:
                return
            number, end = number + 1, end + len(data)
            if len(data) > MOST_BYTES:
                raise RecordsError(f"{path}:{number}: found a line of more than {MOST_BYTES} bytes, expected a record")
            ended = data.endswith(b"\n")
            if number == 1 and data.startswith(b"\xef\xbb\xbf"):
                data = data[3:]  # the byte order mark of editors
            if data.strip():
                yield Line(path, number, data, end, ended)
