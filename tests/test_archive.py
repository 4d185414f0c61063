"""matrices/get with archives that require more disk, memory or time than a matrix needs."""
import contextlib
import gzip
import os
import shutil
import sys
import tarfile
import tracemalloc
from types import SimpleNamespace
from unittest import mock

from collection_server import archive as tar_of
from collection_server import matrix, member
from command import ROOT, equal, finish, scratch, test, within

sys.path.insert(0, str(ROOT / "jobs"))
from spmm_study import archive  # noqa: E402

TEXT = matrix(50)
GOOD = tar_of([member("one/one.mtx", data=TEXT)], plain=True)
LONG = "found headers of more than 131 kB"
ZEROS = gzip.compress(bytes(2 ** 20))
folders = 0


def unpacked(*packed):
    """(result of unpack(), the files) for an archive of these gzip members."""
    global folders
    folders += 1
    folder = scratch(f"unpacked {folders}")
    os.mkdir(folder)
    found = archive.unpack(scratch("one.tar.gz", b"".join(packed)), "one", folder)
    return found, sorted(os.listdir(folder))


def refused(text, *packed):
    """Checks that the archive is refused with that text, within 4 MiB of memory."""
    tracemalloc.start()
    try:
        unpacked(*packed)
        raise AssertionError("accepted")
    except archive.ArchiveError as error:
        within(str(error), text)
        assert len(str(error)) < 200, error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2 ** 22, peak


def header(name, kind, size, **fields):
    """A tar header; fields: at{OFFSET}=bytes."""
    data = bytearray(member(name)[0].tobuf(tarfile.GNU_FORMAT))
    data[156:157] = kind
    data[124:136] = b"\x80" + size.to_bytes(11, "big")
    for place, value in fields.items():
        data[int(place[2:]):int(place[2:]) + len(value)] = value
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data)


def extended(*values):
    """A pax header, and the header of one/one.mtx that it extends."""
    text = b""
    for value in values:
        length = len(value) + 4
        text += b"%03d %s\n" % (length + 1, value)
    return header("pax", b"x", len(text)) + text + bytes(-len(text) % 512) + header("one/one.mtx", b"0", 512)


def ends(*headers):
    return gzip.compress(b"".join(headers) + bytes(1024))


with test("an archive as the collection has them is unpacked, and one fsync is enough for many files"):
    with mock.patch("os.fsync") as fsync:
        beside = [member(f"one/{i}", data=b"x") for i in range(500)]
        found, files = unpacked(tar_of([*beside, member("one/one.mtx", data=TEXT)]))
    equal((found[1], len(files), fsync.call_count), (len(TEXT), 501, 1))
    # the files have fractional times, for which pax adds headers
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        path = scratch("kind.tar.gz")
        os.makedirs(scratch("one"), exist_ok=True)
        scratch("one/one.mtx", TEXT)
        scratch("one/" + "n" * 90, b"x")
        with tarfile.open(path, "w:gz", format=kind) as tar:
            tar.add(scratch("one"), "one")
        with open(path, "rb") as file:
            equal(unpacked(file.read())[1], ["n" * 90, "one.mtx"], kind)

with test("sparse members are refused, in each of their forms"):
    refused("a sparse file", ends(header("one/one.mtx", b"S", 0, at483=b"00020000000\0")))
    for values in ((b"GNU.sparse.size=4194304", b"GNU.sparse.numblocks=0"),
                   (b"GNU.sparse.map=0,0", b"GNU.sparse.size=4194304"),
                   (b"GNU.sparse.major=1", b"GNU.sparse.minor=0", b"GNU.sparse.realsize=4194304")):
        refused("a sparse file", ends(extended(*values), b"0\n".ljust(512, b"\0")))

with test("headers of gigabytes, and thousands of them, are refused before memory holds them"):
    for kind in (b"L", b"K", b"x", b"g"):
        refused(LONG, gzip.compress(header("long", kind, 2 ** 31)), *[ZEROS] * 64)
        small = header("long", kind, 512) + b"10 path=a\n".ljust(512, b"\0")
        refused(LONG, gzip.compress(small * 5000 + GOOD))
    # a sparse file, whose map is in its data
    counts = gzip.compress(b"0\n" * 2 ** 19)
    sparse = extended(b"GNU.sparse.major=1", b"GNU.sparse.minor=0")
    refused(LONG, gzip.compress(sparse + b"9" * 11 + b"\n" + b"0\n" * 250), *[counts] * 16)
    maps = gzip.compress((bytes(504) + b"\1" + bytes(7)) * 2 ** 11)
    refused(LONG, gzip.compress(header("one/one.mtx", b"S", 0, at482=b"\1")), *[maps] * 8)

with test("headers that tarfile takes for a mistake of its caller are the archive's fault"):
    for value in (b"GNU.sparse.map=1,2,abc", b"GNU.sparse.size=abcdef"):
        refused("not a tar archive within gzip, or a damaged one", ends(extended(value)))
    refused("a damaged one", ends(extended(b"GNU.sparse.major=1", b"GNU.sparse.minor=0"), b"x" * 512))
    odd = UnicodeDecodeError("utf-8", b"x", 0, 1, "no")
    for error in (MemoryError, RecursionError, OverflowError, KeyError, odd):
        with mock.patch.object(tarfile.TarFile, "next", side_effect=error):
            refused("a damaged one", gzip.compress(GOOD))

with test("what is unpacked is bounded by what is packed, and members by their number"):
    refused("unpacked, expected at most 100 times", gzip.compress(header("one/one.mtx", b"0", 2 ** 40) + TEXT))
    with mock.patch.object(archive, "ALLOWED", 2 ** 16, create=True):
        zeros = bytes(2 ** 20)
        refused("found more than ", ends(*[header(f"one/{i}", b"0", 2 ** 20) + zeros for i in range(4)]))
        refused("found more than ", gzip.compress(GOOD), *[ZEROS] * 8)
    for members in ([header(f"one/{i}", b"0", 0) for i in range(1001)], [header("one/", b"5", 0)] * 1001):
        refused("found more than 1000 members", ends(*members))

with test("a member that the disk has no room for is not begun"):
    with mock.patch.object(shutil, "disk_usage", return_value=SimpleNamespace(free=len(TEXT) - 1)):
        with contextlib.suppress(OSError):
            unpacked(gzip.compress(GOOD))
            raise AssertionError("accepted")
    equal(os.listdir(scratch(f"unpacked {folders}")), [])

with test("names with controls are refused, and are not names of files"):
    for name in ("one/x\nred", "one/x\x1b[31m", "one/x\x7f", "one/\u202ex", "one/" + "x" * 201):
        refused("expected one/FILE", tar_of([member(name, data=b"x"), member("one/one.mtx", data=TEXT)]))
    many = [member(f"one/{i}", data=b"x") for i in range(20)]
    refused("found 0, 1, 10, 11, 12 .., expected one/one.mtx", tar_of(many))

finish()
