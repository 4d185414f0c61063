"""The modules of the commands of jobs/. Any Python, down to 2.7, can read this file and the commands; one that is too
old for the other modules ends here with a message.

Measuring: points, runner, recorder, environment. Reading: lines and schema, which validate the input, so that later
modules need not check types; then records, laws, series, outcome, sentences, tables, plots and page. What a page
reports of a result comes from outcome alone. The two sides share only the file of records, so that a study can run on
one machine and be read on another. Missing runs are identified by point and round, so that a study file may grow
between two starts. A setting with its default is left out of a point's name, so that a new option does not rename
older points."""
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
