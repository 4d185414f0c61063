"""Starts a command, and says in one line what went wrong."""
import importlib
import os
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


def run(name):
    """The exit code of jobs/NAME. Usage errors end in argparse, with 2."""
    for stream in (sys.stdout, sys.stderr):  # what the locale has no character for; bytes of names that are no text
        stream.reconfigure(errors="backslashreplace")
    try:
        code = importlib.import_module(f".{name}_command", __package__).main()
        sys.stdout.flush()
        return code
    except SameFile as error:
        return _said(name, f"error: {lines.clean(str(error))}", USAGE)
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_OUTPUT
    except OSError as error:
        return _said(name, f"error: {error.filename or 'output'}: {error.strerror}", BAD_OUTPUT)
    except KeyboardInterrupt:
        return _said(name, "interrupted", INTERRUPTED)


def _said(name, text, code):
    print(f"{name}: {text}", file=sys.stderr)
    return code
