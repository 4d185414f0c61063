#!/usr/bin/env python3
"""Times the joint and the halo exchange, in turn, on two hosts that are network namespaces (tests/network.py):

    bench/joint_network.py [--program FILE] [--before FILE] [--rounds N] [--ranks N] [--rate 1gbit] [-k K] MATRIX...

Prints a CSV: matrix, exchange, ranks, K, rows that ranks need from others, rows sent in messages, bytes of an exchange as the
network interfaces between the hosts count them, median seconds over the rounds of a product and of the exchange alone. Ranks of
a host communicate through memory. With --before, the joint exchange of an earlier commit's program is timed, too: `joint-before`.
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


def product(net, o, program, exchange, matrix, repeat, *options):
    """The record of a run."""
    result = run("-d", "cpu", "-t", 1, "-k", o.k, "-r", repeat, "--exchange", exchange, *options, matrix, program=program, limit=300,
                 launcher=net.launcher(MPIRUN, o.ranks, "fast", {"btl": "tcp,self,vader"}, {}))
    if result.code != 0:
        raise SystemExit(result.out + result.err)
    return result.records[0]


def measure(net, o, matrix):
    """Prints a line for each exchange."""
    ways = {"halo": (o.program, "halo"), **({"joint-before": (o.before, "joint")} if o.before else {}), "joint": (o.program, "joint")}
    records = {way: [] for way in ways}
    sent = {way: network.bytes_per_exchange(net, lambda repeat: product(net, o, *ways[way], matrix, repeat, "--verify", "none"))[0]
            for way in ways}
    for _ in range(o.rounds):
        for way, list_of in records.items():
            list_of.append(product(net, o, *ways[way], matrix, 10))
    for way, list_of in records.items():
        print(pathlib.Path(matrix).name, way, o.ranks, o.k, list_of[0]["moved"]["all_rows"], list_of[0]["message_rows"], f"{sent[way]:.0f}",
              *(f"{statistics.median(r['seconds'][what] for r in list_of):.6f}" for what in ("apply", "exchange")), sep=",", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", default=str(ROOT / "build/cpu/spmm_mpi"), help="the spmm_mpi to time")
    p.add_argument("--before", help="the spmm_mpi of an earlier commit, to time its joint exchange, too")
    p.add_argument("--rounds", type=int, default=7, help="runs of each exchange (default 7)")
    p.add_argument("--ranks", type=int, default=2, help="ranks, half of them on each host (default 2)")
    p.add_argument("--rate", help="bandwidth between the hosts in each direction, as in tc: 1gbit (default: not limited)")
    p.add_argument("-k", type=int, default=64, help="columns of X (default 64)")
    p.add_argument("matrices", nargs="+", help="files or generators")
    o = p.parse_args([a for a in sys.argv[1:] if a != network.CONTAINED])
    print("matrix,exchange,ranks,k,rows,message_rows,bytes_between_hosts,apply_seconds,exchange_seconds")
    with network.Network(SCRATCH.name) as net:
        for host in net.hosts if o.rate else ():
            host.do("tc", "qdisc", "replace", "dev", "fast", "root", "tbf", "rate", o.rate, "burst", "256kb", "latency", "50ms")
        for matrix in o.matrices:
            measure(net, o, matrix)


main()
