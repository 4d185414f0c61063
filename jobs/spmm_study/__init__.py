"""What the commands of jobs/ are made of. This file and the commands themselves are read by any Python, down to 2.7,
and an older one than the rest is written for ends here, with a word about it."""
import os
import sys

OLDEST = (3, 8)

if sys.version_info < OLDEST:
    sys.stderr.write("%s: error: found Python %d.%d (%s), expected %d.%d or newer: put one first on the PATH, by "
                     "`module load python` perhaps\n" % ((os.path.basename(sys.argv[0]).replace("-c", "jobs"),) +
                                                         sys.version_info[:2] + (sys.executable,) + OLDEST))
    sys.exit(2)


def start(name):
    """Runs a command of jobs/, and ends the process with its exit code."""
    from .commands import run
    sys.exit(run(name))
