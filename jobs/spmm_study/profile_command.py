"""Profiles the CUDA kernels of a program by Nsight Compute (ncu): a table of counters, a row per kernel and launch
configuration, with threads, instructions, throughput, branch efficiency, occupancy, duration.

    jobs/profile [--nsys] PROGRAM [ARGUMENT...]
    jobs/profile ./series_mpi -d cuda --kernel walk_thread,sum_unrolled --steps generate,mean -r 1 --warmup 0

With --nsys it runs Nsight Systems (nsys) instead, for shares of copies, launches, synchronization and allocation.

Exit codes: 0; 1 the program failed, or launched no kernel; 2 usage; 4 the tool is missing, or it may not read counters.
"""
import argparse
import shlex

from . import lines, profile, tables
from .commands import Parser


def options():
    parser = Parser(description=__doc__)
    parser.add_argument("--nsys", action="store_true", help="use Nsight Systems instead of Nsight Compute")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    o = options()
    command = [o.program, *o.arguments]
    title = lines.clean(" ".join(map(shlex.quote, command)))
    if o.nsys:
        print(f"{title}\n{profile.system_profile(command)}")
    else:
        print(tables.text(profile.table(title, profile.measure(command))))
    return 0
