"""Unpacks a matrix of the SuiteSparse Matrix Collection: NAME.tar.gz with NAME/NAME.mtx and files beside it.

Archives are not trusted: the memory, disk space and time that one can use are limited in advance.
"""
import gzip
import hashlib
import math
import os
import re
import tarfile
import zlib

from . import download

CHUNK = 2 ** 16
HEADERS = 2 * CHUNK  # bytes of a member's headers; tarfile holds long names and extended headers in memory
MOST_MEMBERS = 1000
# most unpacked bytes: RATIO per packed byte, plus ALLOWED; text of matrices shrinks by a factor of 3 to 30
RATIO, ALLOWED = 100, 2 ** 26
# exceptions of tarfile for invalid headers; which one depends on the version of Python and the header
NO_TAR = (tarfile.TarError, ArithmeticError, LookupError, MemoryError, RecursionError, ValueError)


class ArchiveError(Exception):
    """The archive is invalid; the text says why."""


def unpack(archive, name, folder):
    """Extracts the regular files NAME/* into `folder`, which must be empty; refuses members with other paths. Reads
    the whole archive, to check its checksum. Returns (SHA-256, size, first line) of NAME.mtx. Raises ArchiveError;
    OSError of the disk."""
    with open(archive, "rb") as file:
        start = file.read(2)
        file.seek(0)
        if start != b"\x1f\x8b":
            raise ArchiveError("found no gzip file, expected NAME.tar.gz" +
                               (": it is a page of text, from a proxy perhaps" if start[:1] in (b"<", b"\n") else ""))
        with gzip.GzipFile(fileobj=file) as packed:
            try:
                found = _members(_Bounded(packed, RATIO * os.path.getsize(archive) + ALLOWED), name, folder)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ArchiveError(f"damaged or cut off ({error})") from None
            except NO_TAR as error:
                raise ArchiveError("not a tar archive within gzip, or a damaged one "
                                   f"({str(error)[:80] or type(error).__name__})") from None
    if f"{name}.mtx" not in found:
        more = " .." if len(found) > 5 else ""
        raise ArchiveError(f"found {', '.join(sorted(found)[:5]) or 'no file'}{more}, expected {name}/{name}.mtx")
    return found[f"{name}.mtx"]


class _Bounded:
    """The unpacked data as a file: at most `left` more bytes, of which `room` can be read before the caller grants more.
    read() returns less than was asked for only at the end: tarfile regards a short read as the end, and
    would accept a truncated one."""

    def __init__(self, file, most):
        self.file, self.most, self.left, self.room = file, most, most, HEADERS

    def read(self, size):
        parts = []
        while size > 0:
            data = self.file.read(size)
            if not data:
                break
            parts.append(data)
            size -= len(data)
            self.left -= len(data)
            self.room -= len(data)
        self.check(0)
        if self.room < 0:
            raise ArchiveError(f"found headers of more than {download.size_text(HEADERS)}")
        return b"".join(parts)

    def check(self, size):
        """Raises ArchiveError if `size` more bytes would exceed the limit."""
        if size > self.left:
            raise ArchiveError(f"found more than {download.size_text(self.most)} unpacked, expected at most {RATIO} "
                               f"times the packed size and {download.size_text(ALLOWED)}")


def _members(source, name, folder):
    """Extracts the members into the folder. Returns {file: what unpack() returns for NAME.mtx, None for others}."""
    found = {}
    with tarfile.open(fileobj=source, mode="r|", bufsize=CHUNK) as tar:
        for count, member in enumerate(tar):
            if count == MOST_MEMBERS:
                raise ArchiveError(f"found more than {MOST_MEMBERS} members")
            file = _file(member, name)
            if file in found:
                raise ArchiveError(f"found a second member {_shown(member)}")
            if file:
                source.check(member.size)
                source.room = member.size + HEADERS
                found[file] = _extract(tar, member, os.path.join(folder, file), file == f"{name}.mtx")
            else:
                source.room = HEADERS
    source.room = math.inf
    while source.read(CHUNK):  # to the end, where gzip's checksum is
        pass
    return found


def _shown(member):
    return repr(member.name)[:80]


def _file(member, name):
    """FILE of the member NAME/FILE; None for the member of the folder itself. Raises ArchiveError for other members."""
    if member.isdir() and member.name.rstrip("/") in (name, ".", f"./{name}"):
        return None
    match = re.fullmatch(r"(?:\./)?([^/]+)/([ -.0-~]{1,200})", member.name)
    if not match or match[1] != name or match[2] in (".", ".."):
        raise ArchiveError(f"found the member {_shown(member)}, expected {name}/FILE")
    if not member.isreg() or member.issparse():
        raise ArchiveError(f"found the member {_shown(member)}, which is a link, a device or a sparse file, "
                           "expected a regular file")
    return match[2]


def _extract(tar, member, path, is_matrix):
    download.check_room(member.size, path)
    digest, size, first = hashlib.sha256(), 0, b""
    source = tar.extractfile(member)
    with open(path, "xb") as out:
        while True:
            data = source.read(CHUNK)
            if not data:
                break
            first = first or data[:1024]
            size += len(data)
            out.write(data)
            if is_matrix:
                digest.update(data)
        if size != member.size:
            raise ArchiveError(f"cut off within the member {_shown(member)}")
        if not is_matrix:
            return None
        out.flush()
        os.fsync(out.fileno())  # other files are not worth an fsync each
    if not first.lower().startswith(b"%%matrixmarket"):
        raise ArchiveError(f"{_shown(member)} does not begin with %%MatrixMarket")
    return digest.hexdigest(), size, first.split(b"\n", 1)[0].decode("ascii", "replace").strip()
