"""Writes files so that a full disk or a kill damages nothing: a file, or a line, appears complete or not at all. A
command does not overwrite its input: keep() compares inputs and outputs before any of them is opened."""
import errno
import os
import stat
import tempfile

from . import lines


class SameFile(Exception):
    """An output is an input, or two outputs are one file; the text says which."""


_inputs = {}  # {identity: name} of the files that this process reads


def _identity(path):
    """A value that is the same for all names of a file, through symbolic and hard links and however spelled. None: the
    path is no regular file but, for example, a terminal, which may be both input and output."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def keep(inputs, outputs):
    """Raises SameFile where an output is an input, or another output. inputs: paths, which write() refuses from now
    on; outputs: [(option, path)]; path is None if the option was not given."""
    for path in inputs:
        _inputs[_identity(path)] = path
    _inputs.pop(None, None)
    found = {}
    for option, path in outputs:
        name = _identity(path) if path else None
        _refuse_input(f"{option} {path}", name)
        if name in found:
            raise SameFile(f"{option} {path}: is the same file as {found[name]}, expected another one")
        if name:
            found[name] = f"{option} {path}"


def _refuse_input(what, name):
    if name in _inputs:
        raise SameFile(f"{what}: is the input {_inputs[name]}, which would be lost: expected another file")


def _write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def _replace(target, old, data):
    """Writes a temporary file beside the old one, and renames it once it is complete and on the disk."""
    folder, base = os.path.split(target)
    fd, part = tempfile.mkstemp(prefix=f"{base[:200]}.part-", dir=folder)
    try:
        try:
            _write_all(fd, data)
            umask = os.umask(0o077)
            os.umask(umask)
            os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777 if old else 0o666 & ~umask)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def _write(path, data):
    target = os.path.realpath(path)  # a symbolic link stays; the file it points to is replaced
    try:
        old = os.stat(path)
    except FileNotFoundError:
        old = None
    standard = [fd for fd in (1, 2) if old and os.path.samestat(old, os.fstat(fd))]
    if old and (standard or not stat.S_ISREG(old.st_mode)):  # written in place
        fd = os.dup(standard[0]) if standard else os.open(path, os.O_WRONLY)
    elif old:
        os.close(os.open(path, os.O_WRONLY))  # fails if the old file is write-protected
        return _replace(target, old, data)
    else:
        return _replace(target, old, data)
    try:
        return _write_all(fd, data)
    finally:
        os.close(fd)


def write(path, data):
    """Writes the whole file. data: bytes, or text, which is encoded as UTF-8; bytes of file names that are no UTF-8 become
    \\udcXX. Raises OSError with the file's name; an older file is then unchanged."""
    _refuse_input(path, _identity(path))
    if isinstance(data, str):
        data = data.encode("utf-8", "backslashreplace")
    try:
        _write(path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def csv_cell(value):
    """A value as a cell of a CSV file. A text that spreadsheets would take for a formula begins with an apostrophe, as in the
    program's records; numbers stay as they are."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = lines.clean(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def append(fd, line):
    """Appends a line, of bytes, in one write, and flushes it to the disk. Raises OSError; the file's length is then unchanged."""
    before = os.fstat(fd).st_size
    try:
        if os.write(fd, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(fd)
    except OSError:
        os.ftruncate(fd, before)
        raise


def open_lines(path):
    """A descriptor for append(). Removes an incomplete last line, which a kill or a full disk leaves. Raises OSError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        with open(fd, "rb", closefd=False) as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            data = file.read()
        if not data.endswith(b"\n"):
            os.ftruncate(fd, data.rfind(b"\n") + 1)
    except OSError:
        os.close(fd)
        raise
    return fd
