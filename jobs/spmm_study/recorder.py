"""Appends records to a JSON Lines file so that an interruption leaves only whole lines."""
import fcntl
import json
import os
import stat

from . import asked, lines, output, points, records, schema


class RecordError(Exception):
    """The file cannot be read or written; the text says why."""


def own(path, kind_of):
    """Yields (record, byte offset of the end of its line) for each whole line; skips an incomplete last line, which a
    kill or a full disk leaves. kind_of(record): as schema.kind_of(). Raises RecordsError, OSError."""
    for line in lines.read(path):
        try:
            record = lines.parse(line)
        except lines.CutOff:
            return
        schema.check(record, line.where, kind_of(record))
        if line.ended:
            yield record, line.end


def _is_run(record):
    """Is it a complete record of spmm_mpi? (A line of a study is checked only for its group `study`.)"""
    try:
        schema.check(record, "", "run")
    except lines.RecordsError:
        return False
    return True


def _kind_of(record):
    """The kind of a line of a study."""
    return next((kind for kind in ("environment", schema.PREDICTION) if kind in record), "own")


class Recorder:
    """The file, open and locked for this process. done: {(point, round): exit code} of its records; ways: {point:
    list of records.way() of its successful runs}. Raises RecordError; RecordsError for lines that no study
    wrote."""

    def __init__(self, path, write=True):
        self.path, self.done, self.environments, self.walls, self.ways = path, {}, {}, {}, {}
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY | os.O_NONBLOCK,
                              0o666)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not write:
                self.fd = None
                return
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
        whole = 0
        try:
            for record, whole in own(self.path, _kind_of):
                self._note(record)
        except OSError as error:
            raise RecordError(f"{self.path}: {error.strerror}") from error
        if write and whole < os.fstat(self.fd).st_size:
            os.ftruncate(self.fd, whole)

    def _note(self, record):
        if "environment" in record:
            self.environments[record["environment"]["id"]] = record["environment"]
        elif schema.PREDICTION not in record:
            study, is_run = record["study"], _is_run(record)
            key = self._point(record if is_run else {"study": study})
            self.done[key, study["round"]] = study["code"]
            self.walls.setdefault(key, []).append(study["wall_seconds"])
            if is_run and study["code"] == 0:
                self.ways.setdefault(key, []).append(records.way(record))

    def _point(self, record):
        """The name of a record's point; an older record has some of its settings only in its command."""
        study = record["study"]
        settings = study.get("settings") or {}
        more = asked.of_record(record, self.environments.get(study.get("environment"))) or {}
        if all(n in settings for n in more) or not all(n in settings for n in points.SETTINGS):
            return study["point"]
        return points.key_of({**more, **settings})

    def append(self, record):
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            output.append(self.fd, line)
        except OSError as error:
            raise RecordError(f"{self.path}: {error.strerror}") from error
        self._note(record)

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None
