"""Appends records to a JSON Lines file so that an interruption at any moment leaves whole lines."""
import fcntl
import json
import os
import stat


class RecordError(Exception):
    """The file cannot be read or written; the text says why."""


class Recorder:
    """The file, open and locked for this process. done: {(point, round): exit code} of what it holds."""

    def __init__(self, path, write=True):
        self.path, self.done, self.environments, self.walls = path, {}, set(), {}
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY, 0o666)
        except FileNotFoundError:
            self.fd = None  # only possible where nothing shall be written
            return
        except OSError as error:
            raise RecordError(f"{path}: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(self.fd).st_mode):
            raise RecordError(f"{path}: not a regular file")
        if write:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RecordError(f"{path}: another study is writing to it") from error
            except OSError:
                pass  # a file system without locks
        self._load(write)

    def _load(self, write):
        with open(self.path, "rb") as file:
            data = file.read()
        whole = data.rfind(b"\n") + 1
        if whole < len(data) and write:  # what a kill or a full disk left of the last line
            os.ftruncate(self.fd, whole)
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                self._note(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise RecordError(f"{self.path}:{number}: not a record of a study ({error})") from error

    def _note(self, record):
        if "environment" in record:
            self.environments.add(record["environment"]["id"])
        else:
            study = record["study"]
            self.done[study["point"], study["round"]] = study["code"]
            self.walls.setdefault(study["point"], []).append(study["wall_seconds"])

    def append(self, record):
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        before = os.fstat(self.fd).st_size
        try:
            written = os.write(self.fd, line)
            if written < len(line):
                raise OSError(28, "No space left on device")
            os.fsync(self.fd)
        except OSError as error:
            os.ftruncate(self.fd, before)
            raise RecordError(f"{self.path}: {error.strerror}") from error
        self._note(record)

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None
