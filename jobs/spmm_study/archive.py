"""Unpacks a matrix of the SuiteSparse Matrix Collection: NAME.tar.gz with NAME/NAME.mtx and files beside it."""
import gzip
import hashlib
import os
import re
import tarfile
import zlib

CHUNK = 2 ** 20


class ArchiveError(Exception):
    """What is wrong with the archive."""


def unpack(archive, name, folder):
    """(SHA-256, size, first line) of NAME.mtx. The folder is there and empty; it gets the regular files NAME/*, of
    which none may lead out of it. All of the archive is read, to its checksum. Raises ArchiveError, OSError of the disk."""
    found = {}
    with open(archive, "rb") as file:
        start = file.read(2)
        file.seek(0)
        if start != b"\x1f\x8b":
            raise ArchiveError("found no gzip file, expected NAME.tar.gz" +
                               (": it is a page of text, from a proxy perhaps" if start[:1] in (b"<", b"\n") else ""))
        with gzip.GzipFile(fileobj=file) as packed:
            try:
                with tarfile.open(fileobj=_Whole(packed), mode="r|", bufsize=CHUNK) as tar:
                    for member in tar:
                        _extract(tar, member, name, folder, found)
                while packed.read(CHUNK):  # to the end, where gzip's checksum is
                    pass
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ArchiveError(f"damaged or cut off ({error})") from None
            except tarfile.TarError as error:
                raise ArchiveError(f"not a tar archive within gzip, or a damaged one ({error})") from None
    if f"{name}.mtx" not in found:
        raise ArchiveError(f"found {', '.join(sorted(found)) or 'no file'}, expected {name}/{name}.mtx")
    return found[f"{name}.mtx"]


class _Whole:
    """tarfile takes a short read for the end, and gives out what an archive was cut to."""

    def __init__(self, file):
        self.file = file

    def read(self, size):
        parts = []
        while size > 0:
            data = self.file.read(size)
            if not data:
                break
            parts.append(data)
            size -= len(data)
        return b"".join(parts)


def _extract(tar, member, name, folder, found):
    shown = repr(member.name)[:80]
    if member.isdir() and member.name.rstrip("/") in (name, ".", f"./{name}"):
        return
    match = re.fullmatch(r"(?:\./)?([^/]+)/([^/\0]+)", member.name)
    if not match or match[1] != name or match[2] in (".", ".."):
        raise ArchiveError(f"found the member {shown}, expected {name}/FILE")
    if not member.isreg():
        raise ArchiveError(f"found the member {shown}, which is a link or a device, expected a regular file")
    if match[2] in found:
        raise ArchiveError(f"found a second member {shown}")
    digest, size, first = hashlib.sha256(), 0, b""
    source = tar.extractfile(member)
    with open(os.path.join(folder, match[2]), "xb") as out:
        while True:
            data = source.read(CHUNK)
            if not data:
                break
            first = first or data[:1024]
            digest.update(data)
            size += len(data)
            out.write(data)
        if size != member.size:
            raise ArchiveError(f"cut off within the member {shown}")
        out.flush()
        os.fsync(out.fileno())
    if match[2] == f"{name}.mtx" and not first.lower().startswith(b"%%matrixmarket"):
        raise ArchiveError(f"{shown} does not begin with %%MatrixMarket")
    found[match[2]] = digest.hexdigest(), size, first.split(b"\n", 1)[0].decode("ascii", "replace").strip()
