"""Starts a command, and reports an error in one line."""
import argparse
import importlib
import os
import signal
import sys

from . import lines
from .conversions import ConversionError
from .lines import RecordsError
from .names import CollectionError
from .output import SameFile
from .points import StudyError
from .profile import ProfileError
from .recorder import RecordError

FAILED, USAGE, BAD_INPUT, BAD_OUTPUT, INTERRUPTED = 1, 2, 3, 4, 130


class Parser(argparse.ArgumentParser):
    """Prints a module's docstring as it is formatted, and escapes control characters in words of the command line."""

    def __init__(self, **named):
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **named)

    def error(self, message):
        super().error(lines.clean(message))


def run(name):
    """The exit code of jobs/NAME. Usage errors end in argparse, with 2. If the reader of the output has ended, as in
    `jobs/NAME | head`, SIGPIPE ends the process, as it does cat."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller
        sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
        return _said(name, "error: the standard output or the standard error is closed", BAD_OUTPUT)
    # escape characters that the locale lacks, and bytes of file names that are no text
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        return _ended(name)
    except BrokenPipeError:
        # set only here: a server that closes its connection must not end the process
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
        raise


def _main(name):
    try:
        return importlib.import_module(f".{name}_command", __package__).main()
    finally:
        sys.stdout.flush()  # also after argparse's --help


def _ended(name):
    try:
        return _main(name)
    except SameFile as error:
        return _said(name, f"error: {error}", USAGE)
    except RecordsError as error:
        return _said(name, f"error: {error}", BAD_INPUT)
    except StudyError as error:
        return _said(name, error, BAD_INPUT)
    except RecordError as error:
        return _said(name, error, BAD_OUTPUT)
    except ConversionError as error:
        return _said(name, error, FAILED)
    except (CollectionError, ProfileError) as error:
        return _said(name, f"error: {error}", error.code)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:  # drop unwritten output: Python would try again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _said(name, f"error: {error.filename or 'output'}: {error.strerror}", BAD_OUTPUT)
    except KeyboardInterrupt:
        return _said(name, "interrupted", INTERRUPTED)


def _said(name, text, code):
    print(f"{name}: {lines.clean(str(text))}", file=sys.stderr)
    return code
