"""A cache of matrices of the SuiteSparse Matrix Collection: GROUP/NAME/NAME.mtx, as in the collection.

The cache also contains the collection's index, ssstats.csv, and checksums.txt, a list as in names.py with the size and
SHA-256 of each matrix at its first download: a later download that differs is refused. The collection itself publishes
no checksums.
"""
import contextlib
import difflib
import errno
import fcntl
import glob
import hashlib
import os
import re
import shutil
import sys
import time
from collections import namedtuple

from . import archive, download, lines, names, output
from .names import BAD_DATA, NAME, RESOURCES, USAGE, CollectionError
from .points import File

SERVER = "https://sparse.tamu.edu"
INDEX = "ssstats.csv"
FRESH = 24 * 3600  # seconds for which an index is not downloaded again, even if it lacks a name

# a line of the index
Entry = namedtuple("Entry", "group name rows cols nnz")


# ---- the index ----

def parse_index(text, path):
    """{GROUP/NAME: Entry}"""
    rows = text.split("\n")
    count = rows[0].strip()
    if not re.fullmatch("[0-9]{1,6}", count):
        raise CollectionError(f"{path}:1: found \"{count[:60]}\", expected the number of matrices")
    found = {}
    for number, line in enumerate(rows[2:], 3):
        cells = line.strip().split(",")
        if cells == [""]:
            continue
        if len(cells) < 12 or not all(re.fullmatch(NAME, c) for c in cells[:2]) or \
                not all(re.fullmatch("[0-9]{1,18}", c) for c in cells[2:5]):
            raise CollectionError(f"{path}:{number}: found \"{line.strip()[:80]}\", expected group,name,rows,cols,"
                                  "entries,...")
        entry = Entry(cells[0], cells[1], *map(int, cells[2:5]))
        found[f"{entry.group}/{entry.name}"] = entry
    if len(found) < int(count):
        raise CollectionError(f"{path}: found {len(found)} matrices, expected {count}: it is cut off")
    return found


# ---- the cache ----

def cache_folder():
    """The folder SPMM_MATRICES, else one in the user's cache."""
    if os.environ.get("SPMM_MATRICES"):
        return os.path.abspath(os.environ["SPMM_MATRICES"])
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):  # the XDG specification says to ignore relative paths
        home = os.path.expanduser("~")
        if not os.path.isabs(home):
            raise CollectionError("there is no folder for matrices: set SPMM_MATRICES, XDG_CACHE_HOME or HOME",
                                  RESOURCES)
        cache = os.path.join(home, ".cache")
    return os.path.join(cache, "spmm_mpi", "matrices")


def server_address():
    return os.environ.get("SPMM_COLLECTION") or SERVER


def _disk(error, path):
    return CollectionError(f"{error.filename or path}: {error.strerror}", RESOURCES)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for data in iter(lambda: file.read(2 ** 20), b""):
            digest.update(data)
    return digest.hexdigest()


def _lock(path, say):
    """Waits for the lock and returns a descriptor of the lock file. If the file system has no locks, returns without one."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that downloads it")
            fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError:
            return fd
        try:
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return fd
        except FileNotFoundError:
            pass
        os.close(fd)  # the former owner has removed the file: a lock on it protects nothing


@contextlib.contextmanager
def _locked(path, say=lambda text: None):
    """In this context no other process has the lock. The lock file is removed afterwards."""
    fd = _lock(path, say)
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        os.close(fd)


class Cache:
    """A folder of matrices, filled from a server. offline: no downloads. pins: Items of lists, whose checksums apply in
    addition to those of the lists in matrices/lists."""

    def __init__(self, folder=None, server=None, offline=False, pins=()):
        self.folder = folder or cache_folder()
        try:
            self.server = server or download.Server(server_address())
            download.check_address(self.server.base)
        except ValueError as error:
            raise CollectionError(f"address of the collection: {error}", USAGE) from None
        self.offline, self._index, self._pins = offline, None, {}
        for path in sorted(glob.glob(os.path.join(glob.escape(names.LISTS), "*.txt"))):
            pins = (*pins, *names.read_list(path))
        for item in pins:
            if item.sha256 or item.bytes is not None:
                self._pins.setdefault(item.name, []).append(item)

    # -- names --

    def _path(self, name):
        group, base = name.split("/")
        return os.path.join(self.folder, group, base, f"{base}.mtx")

    def written(self, asked):
        """[(option, path)] of the files that a download of those matrices replaces."""
        of = [self._path(name) for name in asked if "/" in name]
        packed = [os.path.dirname(path) + ".tar.gz.part" for path in of]
        index = os.path.join(self.folder, INDEX)
        return [("--cache:", path) for path in (index, index + ".part", *of, *packed)]

    def has(self, name):
        return os.path.isfile(self._path(name))

    def index(self, lacks=None):
        """The index, {GROUP/NAME: Entry}; {} if offline and none is in the cache. lacks: a name that is missing from the
        cached index, which is then downloaded again if it is older than FRESH."""
        path = os.path.join(self.folder, INDEX)
        kept = os.path.exists(path)
        old = kept and lacks is not None and time.time() - os.path.getmtime(path) > FRESH
        if (not kept or old) and not self.offline:
            self._index = None
            self._get_index(path)
        if self._index is None:
            self._index = parse_index(names.text(path), path) if os.path.exists(path) else {}
        return self._index

    def _get_index(self, path):
        part = path + ".part"
        try:
            os.makedirs(self.folder, exist_ok=True)
            with _locked(path + ".lock"):
                self.server.get(f"files/{INDEX}", part, INDEX)
                try:
                    parse_index(names.text(part), self.server.url(f"files/{INDEX}"))
                except CollectionError:
                    os.unlink(part)
                    raise
                os.replace(part, path)
        except download.DownloadError as error:
            raise CollectionError(str(error), BAD_DATA if error.missing else RESOURCES) from None
        except OSError as error:
            raise _disk(error, path) from None

    def full_name(self, name):
        """GROUP/NAME of a name. Raises CollectionError if no group has it, or several do."""
        names.check_name(name)
        if "/" in name:
            return name
        found = self._groups(name, self.index())
        if not found and not self.offline:
            found = self._groups(name, self.index(lacks=name))
        if len(found) > 1:
            raise CollectionError(f"{name} is in {len(found)} groups: expected one of {', '.join(sorted(found))}", USAGE)
        if not found:
            raise self.unknown(name)
        return found[0]

    def _groups(self, name, index):
        kept = (os.path.join(os.path.basename(os.path.dirname(folder)), name)
                for folder in glob.glob(os.path.join(glob.escape(self.folder), "*", name)))
        return list(dict.fromkeys([full for full in index if full.split("/")[1] == name] +
                                  [full for full in kept if self.has(full)]))

    def unknown(self, name):
        """The CollectionError for an unknown name."""
        if self.offline and not self.index():
            return CollectionError(f"{name} is not in {self.folder}, which has no index: run matrices/get where there is a "
                                   "network")
        known = self.index()
        lower = {}
        for full in known:
            lower.setdefault(full.lower(), full)
            lower.setdefault(full.split("/")[1].lower(), full)
        near = difflib.get_close_matches(name.lower(), lower, 3, 0.7) or \
            difflib.get_close_matches(name.split("/")[-1].lower(), lower, 3, 0.7)
        meant = list(dict.fromkeys(lower[word] for word in near))
        return CollectionError(f"{name}: the collection has no such matrix" +
                               (f"; did you mean {' or '.join(meant)}?" if meant else f" (of {len(known)})"))

    # -- matrices --

    def _expected(self, name):
        """Items with the expected size and checksum of NAME.mtx: those of lists, and those of its first download."""
        path = os.path.join(self.folder, "checksums.txt")
        noted = [item for item in (names.read_list(path) if os.path.exists(path) else []) if item.name == name]
        return self._pins.get(name, []) + noted

    def _compare(self, name, expected, size, sha256=None):
        """Raises CollectionError if an Item has another size or checksum. sha256: None if it was not computed."""
        file, advice = f"{name.split('/')[1]}.mtx", "correct or remove that line if the new file is right"
        for item in expected:
            if item.bytes not in (None, size):
                raise CollectionError(f"{name}: found {file} of {size} bytes, expected {item.bytes} as {item.where} says: "
                                      f"{advice}")
            if sha256 and item.sha256 not in (None, sha256):
                raise CollectionError(f"{name}: found {file} with SHA-256 {sha256}, expected {item.sha256} as "
                                      f"{item.where} says: {advice}")

    def path(self, name, check=False, say=lambda text: None):
        """The path of matrix GROUP/NAME, which is downloaded if it is not in the cache. check: compute the checksum of a
        cached file, too. say: called with messages about the progress. Raises CollectionError."""
        path = self._path(name)
        try:
            if not self.has(name):
                if self.offline:
                    raise CollectionError(f"{name} is not in {self.folder}: run matrices/get {name} where there is a "
                                          "network")
                os.makedirs(os.path.dirname(os.path.dirname(path)), exist_ok=True)
                with _locked(os.path.dirname(path) + ".lock", lambda text: say(f"{name}: {text}")):
                    if not self.has(name):
                        self._get(name, say)
                        return path
            self._check_kept(name, path, check)
        except OSError as error:
            raise _disk(error, path) from None
        return path

    def _check_kept(self, name, path, check):
        expected = self._expected(name)
        noted = [item for item in expected if item.sha256 and not item.where.startswith(self.folder)]
        recorded = [item for item in expected if item.sha256 and item.where.startswith(self.folder)]
        # if a list has a checksum, and none was recorded at a download, it is computed now
        sha256 = sha256_of(path) if check or noted and not recorded else recorded[0].sha256 if recorded else None
        self._compare(name, expected, os.path.getsize(path), sha256)

    def _get(self, name, say):
        folder = os.path.dirname(self._path(name))
        part, fresh = folder + ".tar.gz.part", folder + ".unpacked"
        say(f"{name}: getting {self.server.url(f'MM/{name}.tar.gz')}")
        try:
            self.server.get(f"MM/{name}.tar.gz", part, name)
        except download.DownloadError as error:
            if error.missing:
                raise self._missing(name, error) from None
            raise CollectionError(str(error), RESOURCES) from None
        shutil.rmtree(fresh, ignore_errors=True)  # left by a process that was killed
        try:
            os.mkdir(fresh)
            sha256, size, banner = archive.unpack(part, name.split("/")[1], fresh)
            self._compare(name, self._expected(name), size, sha256)
            self._note(name, sha256, size)
            os.makedirs(folder, exist_ok=True)  # it may exist, with other files
            for file in sorted(os.listdir(fresh), key=lambda file: file == os.path.basename(self._path(name))):
                os.replace(os.path.join(fresh, file), os.path.join(folder, file))  # the matrix last
        except archive.ArchiveError as error:
            raise CollectionError(f"{self.server.url(f'MM/{name}.tar.gz')}: {error}") from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
            if os.path.exists(part):
                os.unlink(part)
        if " complex " in f" {banner.lower()} ":
            say(f"{name}: its values are complex: --precision c128")

    def _missing(self, name, error):
        """The CollectionError for a name that the server does not have, without suggestions if the index cannot be read."""
        try:
            if name in self.index(lacks=name):
                return CollectionError(f"{error}, though the index names it")
            return self.unknown(name)
        except CollectionError:
            return CollectionError(str(error))

    def _note(self, name, sha256, size):
        """Appends a line to checksums.txt unless the checksum is there already."""
        path = os.path.join(self.folder, "checksums.txt")
        with _locked(path + ".lock"):
            if any(item.sha256 == sha256 for item in self._expected(name) if item.where.startswith(self.folder)):
                return
            fd = output.open_lines(path)
            try:
                output.append(fd, f"{name} sha256={sha256} bytes={size}\n".encode())
            finally:
                os.close(fd)

    def download_size(self, name):
        """Bytes of the archive that path() would download; 0: the matrix is in the cache; None: unknown."""
        if self.has(name) or self.offline:
            return 0 if self.has(name) else None
        try:
            return self.server.size(f"MM/{name}.tar.gz")
        except download.DownloadError as error:
            raise (self._missing(name, error) if error.missing else CollectionError(str(error), RESOURCES)) from None


def place(path, folder):
    """Puts a hard link to the file into the folder, or a copy if no link is possible. Returns its path. Raises
    CollectionError."""
    target = os.path.join(folder, os.path.basename(path))
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.exists(target):
            if os.path.samefile(path, target) or (os.path.getsize(path) == os.path.getsize(target) and
                                                  sha256_of(path) == sha256_of(target)):
                return target
            raise CollectionError(f"{target}: a different file of that name exists", RESOURCES)
        try:
            os.link(path, target)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            part = f"{target}.part-{os.getpid()}"
            try:
                shutil.copyfile(path, part)
                os.replace(part, target)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(part)
                raise
    except OSError as error:
        raise _disk(error, target) from None
    return target


def say(text):
    """Prints a line about the progress, on the standard error."""
    print(lines.clean(text), file=sys.stderr, flush=True)


def with_files(study, found):
    """The study with `files` set: the files of the matrices that the points refer to by name, downloaded if missing.
    Raises CollectionError."""
    asked = [word for word in dict.fromkeys(s["matrix"] for s in found.values()) if word.startswith(names.NAMED)]
    cache, files = Cache(pins=study.pins), {}
    for word in asked:
        try:
            name = cache.full_name(word[len(names.NAMED):])
            files[word] = File(cache.path(name, say=say), name)
        except CollectionError as error:
            hint = f"; run matrices/get --study {study.path} where there is a network" if error.code == RESOURCES else ""
            raise CollectionError(f"{study.places['matrices']}: {error}{hint}", error.code) from None
    return study._replace(files=files)
