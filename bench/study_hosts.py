#!/usr/bin/env python3
"""Runs a study on two hosts that are network namespaces (tests/network.py). The records and the page of the
study state this.

    bench/study_hosts.py [OPTIONS OF jobs/study] STUDY

The first half of the ranks is on one host, the second half on the other, and a single rank on the first.
Hosts talk via TCP, ranks of a host via memory. Needs root, or a system that lets users make namespaces, and
Open MPI 4. Exit codes: those of jobs/study; 4 also if namespaces cannot be created.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import network

LAUNCHER = "two-hosts"  # name of the launcher script in the commands of the records
# in a user namespace every user is root, and mpirun must be told that this is intended
ROOT_IS_MEANT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MCA = {"pml": "ob1", "btl": "tcp,self,vader", "rmaps_base_oversubscribe": 1,
       "hwloc_base_binding_policy": "none"}

why_not = network.contain()
if why_not:
    print(f"study: no two hosts of network namespaces: {why_not}", file=sys.stderr)
    raise SystemExit(4)


def write_launcher(net):
    """Writes the script two-hosts RANKS PROGRAM ... It contains the namespaces' numbers, so that the commands
    in records do not."""
    mpirun = os.environ.get("MPIRUN", "mpirun").split()
    passed_on = [name for name in os.environ if name.startswith(("SPMM_", "OMP_"))]
    words = net.launcher(mpirun, "$ranks", "fast", MCA, passed_on, each="$(((ranks + 1) / 2))")
    words = " ".join(f'"{word}"' for word in words)
    path = os.path.join(net.folder, LAUNCHER)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nranks=$1\nshift\nexec {words} "$@"\n')
    os.chmod(path, 0o700)


def main():
    given = [word for word in sys.argv[1:] if word != network.CONTAINED]
    with tempfile.TemporaryDirectory(prefix="spmm-hosts.") as folder, network.Network(folder) as net:
        write_launcher(net)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # SIGINT is for the study, which then ends in order
        command = [sys.executable, str(ROOT / "jobs/study"), "--launcher", LAUNCHER + " {ranks}",
                   "--namespaces", str(len(net.hosts)), *given]
        path = folder + os.pathsep + os.environ["PATH"]
        return subprocess.call(command, env={**os.environ, **ROOT_IS_MEANT, "PATH": path})


sys.exit(main())
