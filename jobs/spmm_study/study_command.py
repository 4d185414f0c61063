"""Runs a study: spmm_mpi for every combination of the values in a study file, once in each round. Appends to one file of
records (JSON Lines). If it is started again, it runs only what is missing.

    jobs/study jobs/studies/strong.study
    jobs/study --records results/strong.jsonl --only ranks=4 jobs/studies/strong.study

Exit codes: 0 done; 1 some runs failed (they are recorded and named); 2 usage, or a matrix name that is in several groups;
3 study file, records that no study wrote, or a matrix that is not in the collection; 4 program, launcher, network, or no
space for records and temporary files: a run that failed for one of these reasons is not recorded;
128 + n ended by signal n: the records so far are complete, and the same command continues the study.
"""
import argparse
import os
import re
import subprocess
import sys

from . import asked, lines, output, records, runner, schema
from .commands import Parser
from .points import DEFAULTS, Kernel, StudyError, check_files, names, points, read, select
from .recorder import Recorder, RecordError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def _hosts(text):
    found = lines.whole(text, 1, schema.COUNT_MAX)
    if found is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number of hosts")
    return found


def options():
    keys = "\n".join(f"  {key:<11} {what}{f' (default {default})' if default else ''}"
                     for key, (default, what) in DEFAULTS.items())
    parser = Parser(description=__doc__, epilog="lines of a study file, `key = words`, # begins a comment:\n" + keys)
    parser.add_argument("study", metavar="STUDY", help="the study file")
    parser.add_argument("--records", metavar="FILE", help="default: the study's name.jsonl, in the current folder")
    parser.add_argument("--dry-run", action="store_true", help="list the points and what is missing, run nothing")
    parser.add_argument("--only", metavar="NAME=VALUE", action="append", default=[],
                        help="only points with that value, or one of several separated by commas, e.g. ranks=1,2")
    parser.add_argument("--set", metavar="KEY=WORDS", action="append", default=[],
                        help="replace that line of the study file; words are separated by commas, e.g. threads=1,2,4 "
                             "or matrices=A.mtx,uniform:300,5 (a comma before a number belongs to a generator)")
    parser.add_argument("--retry-failed", action="store_true", help="repeat failed runs")
    parser.add_argument("--program", metavar="PATH", default=os.environ.get("SPMM_MPI", os.path.join(ROOT, "spmm_mpi")))
    parser.add_argument("--launcher", metavar="TEMPLATE",
                        default=os.environ.get("SPMM_LAUNCHER", "mpirun --bind-to none -np {ranks}"),
                        help="the command that starts the ranks, with {ranks} and {threads} (default: %(default)s)")
    parser.add_argument("--namespaces", metavar="N", type=_hosts,
                        help="the launcher's hosts are N network namespaces of this machine: records and "
                             "pages state this")
    return parser.parse_args()


def kernels_of(program):
    """The program's kernels, from --list-kernels."""
    try:
        result = subprocess.run([program, "--list-kernels"], capture_output=True, text=True, errors="replace", timeout=60,
                                check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise RecordError(f"{program}: cannot be run ({error}): build it by make") from error
    found = (re.match(r"(\S+)\s+(cpu|cuda)\s+(\S+)", line) for line in result.stdout.splitlines())
    return [Kernel(*m.groups()) for m in found if m]


def _inputs(study, found, program):
    """Files that a study reads."""
    x = study.given.get("x")
    return [study.path, program, *([x] if x else []), *(s["matrix"] for s in found.values()),
            *(item.where.rpartition(":")[0] for item in study.pins)]


def main():
    o = options()
    study = read(o.study, o.set)
    found = select(points(study, kernels_of(o.program)), o.only)
    if not found:
        raise StudyError(f"{o.study}: no point matches --only {' '.join(o.only)}")
    path = o.records or f"{study.name}.jsonl"
    written = [(f"options = {word}:", file) for word, file in asked.written(study.values["options"])]
    output.keep(_inputs(study, found, o.program), [("--records", path), *written])
    if not o.dry_run and not os.path.exists(path):  # before the file is created: a refused study leaves none
        check_files(study, dict.fromkeys(s["matrix"] for s in found.values()))
    recorder = Recorder(path, write=not o.dry_run)
    missing = runner.missing(study, found, recorder, o.retry_failed)
    needed = dict.fromkeys(found[key]["matrix"] for _, key in missing)
    if o.dry_run:
        runner.list_points(study, found, recorder)
        check_files(study, needed)
        return 0
    try:
        check_files(study, needed)
        if names(study):
            from . import collection  # imported only if needed: it imports all modules for HTTP
            study = collection.with_files(study, found)
        failed = runner.run(study, found, recorder, o.launcher, o.program, ROOT, o.retry_failed,
                            o.namespaces)
    except runner.Interrupted as signal:
        print(f"interrupted; what was measured is in {lines.clean(path)}, and the same command continues the study", file=sys.stderr)
        return 128 + signal.args[0]
    finally:
        recorder.close()
    differ = sum(bool(records.differences(ways)) for ways in recorder.ways.values())
    print(f"{lines.clean(path)}: {len(recorder.done)} runs" + (f", {failed} failed now" if failed else "") +
          (f"; WARNING: rounds of {differ} point{'s' * (differ != 1)} ran differently" if differ else ""))
    return 1 if failed else 0
