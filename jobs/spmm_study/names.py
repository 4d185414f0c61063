"""Names of matrices of the SuiteSparse Matrix Collection (GROUP/NAME, or NAME if only one group has it), and lists of
names.

A line of a list (matrices/lists/*.txt, and a cache's checksums.txt): `GROUP/NAME [sha256=HEX] [bytes=N]`; # begins a
comment; the SHA-256 and the size are those of NAME.mtx.
"""
import glob
import os
import re
from collections import namedtuple

from . import lines

LISTS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "matrices", "lists")
NAME = r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}"
NAMED, LISTED = "name:", "list:"  # prefixes, in a study's `matrices`, of a name and of a list of names
USAGE, BAD_DATA, RESOURCES = 2, 3, 4
MOST_BYTES = 2 ** 26  # of a list or an index

# a line of a list: sha256 and bytes are None if missing
Item = namedtuple("Item", "name sha256 bytes where")


class CollectionError(Exception):
    """The text says what was found and what was expected; control characters from a server, an archive or a list are
    escaped. code: the exit code."""

    def __init__(self, text, code=BAD_DATA):
        super().__init__(lines.clean(text))
        self.code = code


def check_name(name):
    """Raises CollectionError if the text cannot be a name."""
    if not re.fullmatch(rf"({NAME}/)?{NAME}", name):
        raise CollectionError(f"found the name \"{name[:80]}\", expected GROUP/NAME or NAME, as in Janna/ML_Laplace",
                              USAGE)


def text(path):
    """The text of a list or an index. Raises CollectionError if it has more than MOST_BYTES."""
    return lines.whole_file(path, MOST_BYTES, "a list of names", CollectionError).decode("utf-8", "replace")


def read_list(path):
    """The Items of a list."""
    items = []
    for number, line in enumerate(text(path).split("\n"), 1):
        words, where = line.split("#", 1)[0].split(), f"{path}:{number}"
        if not words:
            continue
        if not re.fullmatch(rf"{NAME}/{NAME}", words[0]):
            raise CollectionError(f"{where}: found \"{words[0][:80]}\", expected GROUP/NAME")
        found = {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key in found or not ((key == "sha256" and re.fullmatch("[0-9a-f]{64}", value)) or
                                    (key == "bytes" and re.fullmatch("[0-9]{1,18}", value))):
                raise CollectionError(f"{where}: found \"{word[:80]}\", expected sha256= and 64 digits of 0 to 9 and a "
                                      "to f, or bytes= and a number")
            found[key] = value
        items.append(Item(words[0], found.get("sha256"), int(found["bytes"]) if "bytes" in found else None, where))
    return items


def list_path(word):
    """The file of a list: fem stands for matrices/lists/fem.txt; a word with a slash, or ending in .txt, is a path."""
    if "/" in word or word.endswith(".txt"):
        return word
    path = os.path.join(LISTS, f"{word}.txt")
    if not os.path.exists(path):
        have = sorted(os.path.basename(p)[:-4] for p in glob.glob(os.path.join(glob.escape(LISTS), "*.txt")))
        raise CollectionError(f"there is no list {word[:80]}; there are: {', '.join(have)}, and files by their path",
                              USAGE)
    return path
