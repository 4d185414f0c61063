"""Finds a Python that has matplotlib, where the one that runs has none."""
import os
import shutil
import subprocess
import sys

# says to the other one that it is that: a Python that cannot draw after all looks for no third
STARTED = "SPMM_STUDY_PYTHON"
FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _others():
    """Of $PYTHON, the system's, and those on the PATH, what is there and is not this one."""
    words = [os.environ.get("PYTHON"), "/usr/bin/python3", "python3", "python"]
    found = [shutil.which(word) for word in words if word]
    # by name: those of virtual environments are links to one another's, and differ in what they have
    return [path for path in dict.fromkeys(found) if path and path != sys.executable]


def tried():
    """This one and the others, for a message."""
    return ", ".join([sys.executable] + _others())


def _draws(path):
    """Has it matplotlib, and is it new enough?"""
    try:
        return subprocess.run([path, "-c", "import spmm_study, matplotlib"], stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                  [FOLDER] + os.environ.get("PYTHONPATH", "").split(os.pathsep))}).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def can_draw():
    """Goes on in another Python where this one has no matplotlib and that one has: before anything else is done."""
    if os.environ.pop(STARTED, None):
        return
    try:
        import matplotlib  # noqa: F401 pylint: disable=unused-import
        return
    except ImportError:
        pass
    other = next(filter(_draws, _others()), None)
    if other:
        os.execve(other, [other, *sys.argv], {**os.environ, STARTED: "1"})
