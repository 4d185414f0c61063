#!/usr/bin/env python3
"""Times the joint exchange beside the halo on two hosts of network namespaces (tests/network.py), alternating:

    bench/joint_network.py [--program FILE] [--rounds N] [--rate 1gbit] [-k K] MATRIX...

Prints a CSV: matrix, exchange, K, rows moved, median seconds of a product and of the exchange alone, over the rounds.
"""
import argparse
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import network

why_not = network.contain()
if why_not:
    raise SystemExit(f"no two hosts: {why_not}")

from command import MPIRUN, SCRATCH, run


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default=str(ROOT / "build/cpu/spmm_mpi"), help="the spmm_mpi to time")
    p.add_argument("--rounds", type=int, default=7, help="runs of each exchange (default 7)")
    p.add_argument("--ranks", type=int, default=2, help="ranks, half of them on each host (default 2)")
    p.add_argument("--rate", help="what the wire between the hosts carries in each direction, for tc (default: all it can)")
    p.add_argument("-k", type=int, default=64, help="columns of X (default 64)")
    p.add_argument("matrices", nargs="+", help="files or generators")
    o = p.parse_args([a for a in sys.argv[1:] if a != network.CONTAINED])
    print("matrix,exchange,ranks,k,rows,apply_seconds,exchange_seconds")
    with network.Network(SCRATCH.name) as net:
        for host in net.hosts if o.rate else ():
            host.do("tc", "qdisc", "replace", "dev", "fast", "root", "tbf", "rate", o.rate, "burst", "256kb", "latency", "50ms")
        for matrix in o.matrices:
            records = {"halo": [], "joint": []}
            for _ in range(o.rounds):
                for exchange, list_of in records.items():
                    result = run("-d", "cpu", "-t", 1, "-k", o.k, "-r", 10, "--exchange", exchange, matrix,
                                 launcher=net.launcher(MPIRUN, o.ranks, "fast", (), {}), program=o.program, limit=300)
                    if result.code != 0:
                        raise SystemExit(result.out + result.err)
                    list_of.append(result.records[0])
            for exchange, list_of in records.items():
                print(pathlib.Path(matrix).name, exchange, o.ranks, o.k, list_of[0]["moved"]["all_rows"],
                      *(f"{statistics.median(r['seconds'][what] for r in list_of):.6f}" for what in ("apply", "exchange")),
                      sep=",", flush=True)


main()
