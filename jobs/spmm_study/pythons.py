"""Finds a Python that has matplotlib, if the running one does not."""
import os
import shutil
import subprocess
import sys

# set for the other Python, so that it does not look for a third if it cannot draw after all
STARTED = "SPMM_STUDY_PYTHON"
FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _others():
    """Those of $PYTHON, the system's Python and the ones on the PATH that exist, without the running one."""
    words = [os.environ.get("PYTHON"), "/usr/bin/python3", "python3", "python"]
    found = [shutil.which(word) for word in words if word]
    # compared by path: Pythons of virtual environments may be links to one file, but have other packages
    return [path for path in dict.fromkeys(found) if path and path != sys.executable]


def tried():
    """Paths of this Python and of the others, for a message."""
    return ", ".join([sys.executable] + _others())


def _draws(path):
    """Does this Python have matplotlib, and is it new enough?"""
    try:
        return subprocess.run([path, "-c", "import spmm_study, matplotlib"], stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                  [FOLDER] + os.environ.get("PYTHONPATH", "").split(os.pathsep))}).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def can_draw():
    """Restarts the command in another Python if only that one has matplotlib. Called before anything else is done."""
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
