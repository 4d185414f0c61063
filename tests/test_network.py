"""Two hosts: the program over TCP between network namespaces of this machine, including slow and broken networks.
limit: 300"""
import itertools
import os
import random
import re
import signal
import subprocess
import time

import network

why_not = network.contain()
if why_not:
    print("SKIP two hosts:", why_not)
    raise SystemExit(0)

from command import MPIRUN, PROGRAM, ROOT, SCRATCH, equal, finish, parts, patience, refused, run, scratch, test, verified, within

QUICK = ("-d", "cpu", "-r", 2, "--warmup", 0, "-t", 1)
# (name, options, environment) of each case, which is run with every matrix, on 4 ranks
WAYS = [
    ("as it comes", (), {}),
    ("f32, even rows, two K", ("-p", "f32", "--partition", "rows", "-k", "1,8"), {}),
    ("messages in small pieces", ("-k", 5), {"SPMM_CHUNK_BYTES": "1000"}),
    ("messages alone", ("--transport", "mpi"), {}),
    ("rows of f32", ("--exchange-precision", "f32", "-k", 5), {"SPMM_CHUNK_BYTES": "1000"}),
    ("a sample verified", ("--verify", "sample"), {}),
    ("everything to everybody", ("--exchange", "bcast"), {}),
    ("rows of X or partial rows of Y", ("--exchange", "joint", "-k", 5), {}),
    ("after the exchange", ("--no-overlap", "-k", 9), {}),
    ("a halo in small pieces", ("--exchange", "halo", "-k", 5), {"SPMM_CHUNK_BYTES": "1000"}),
    ("columns on each host", ("-g", "2x2"), {}),
    ("columns by themselves", ("-g", "1x4", "--reduce", "butterfly"), {}),
    ("columns, one after another", ("-g", "1x4", "--reduce", "linear", "-k", 3), {"SPMM_CHUNK_BYTES": "1000"}),
    ("columns, the library's way", ("-g", "2x2", "--reduce", "mpi", "--exchange", "bcast"), {}),
]
MATRICES = ["lap3d7:12", str(ROOT / "matrices/bcsstk16.mtx.gz")]
# without these mpirun notices a silent host after eight minutes: docs/SURPRISES.md
SOON = {"oob_tcp_keepalive_time": 1, "oob_tcp_keepalive_intvl": 1, "oob_tcp_keepalive_probes": 3}


def net_run(net, ranks, *options, env=None, wire="fast", mca=(), **more):
    """Runs the program on `ranks` ranks, half of them on each host."""
    return run(*QUICK, *options, env=env, launcher=net.launcher(MPIRUN, ranks, wire, mca, env or ()), **more)


def hosts_of(result):
    """Each rank's host, from the table of -v."""
    return re.findall(r"^ +\d+  \(\d+, \d+\) +(\S+) +\d+ +\d+ +\d+ ", result.out, re.M)


def left(net):
    return [pid for host in net.hosts for pid in host.processes("orted", os.path.basename(PROGRAM))]


def ended(net, start, code, path, most=10):
    """Checks after a loss: mpirun ended in time and not with 0, no rank runs any more, and no partial file is left."""
    assert time.monotonic() - start < patience(most), f"mpirun took {time.monotonic() - start:.1f} s"
    assert code not in (0, None), code
    network.wait_until(lambda: not left(net), patience(5), "the end of all ranks")
    assert not os.path.exists(path) and not parts(path), "an output file was left"


with network.Network(SCRATCH.name) as net:
    with test("ranks of two hosts give the serial product's bits, and the table names both hosts"):
        for matrix, (name, options, env) in itertools.product(MATRICES, WAYS):
            what = f"{matrix} {name}"
            result = net_run(net, 4, "-v", *options, matrix, env=env)
            verified(result, what)
            equal(hosts_of(result), [network.NEAR] * 2 + [network.FAR] * 2, what)
            equal(result.out.splitlines()[-1], "PASS", what)
            for r in result.records:  # sums over ranks may have other bits
                summed = r["run"]["grid"][1] > 1 or r["run"]["exchange"] == "joint"
                assert summed or r["error"]["different"] == 0, what
            assert result.records, what

    with test("Y is the same file from 1 rank here and from 2, 4 and 5 ranks of two hosts, neighbors or not"):
        path = scratch("y.mtx")
        run(*QUICK, "-k", 3, "-o", path, MATRICES[1])
        one = open(path).read()
        for ranks, mca in ((2, {}), (5, {"btl": "tcp,self,vader"}), (4, {"rmaps_base_mapping_policy": "node"})):
            os.remove(path)
            verified(net_run(net, ranks, "-k", 3, "-o", path, MATRICES[1], mca=mca), ranks, 1)
            assert open(path).read() == one, f"{ranks} ranks {mca}"

    with test("a rank that fails on the far host is exit code 4 and one message"):
        for stage in ("binding", "read", "scatter", "x", "apply", "gather", "verify", "report"):
            result = net_run(net, 4, MATRICES[0], env={"SPMM_FAULT": f"{stage}:3"}, limit=20)
            refused(result, 4, f"rank 3: SPMM_FAULT: failing in stage {stage}")
            equal(left(net), [], "processes left")

    with test("a rank that is killed on the far host ends the job"):
        for stage in ("binding", "scatter", "apply", "gather"):
            start, path = time.monotonic(), scratch("killed.mtx")
            result = net_run(net, 4, "-o", path, MATRICES[0], env={"SPMM_FAULT": f"{stage}:3:kill"}, limit=20)
            ended(net, start, result.code, path)

    with test("a slow network that loses frames changes nothing but the time"):
        verified(net_run(net, 4, MATRICES[0], wire="slow"), MATRICES[0], 1)
        verified(net_run(net, 4, "-g", "2x2", MATRICES[1], wire="slow"), "2 x 2", 1)
        result = net_run(net, 4, MATRICES[1], wire="slow", env={"SPMM_CHUNK_BYTES": "10000"})
        verified(result, "in pieces", 1)
        slow = result.records[0]["apply"]["min"]
        carried, lost = net.slow_traffic()
        print(f"  {carried} frames carried, {lost} lost; a product took {slow} s")
        assert lost > 0 and slow > 0.005, "the slow network was not slow"


def per_exchange(net, ranks, k, matrix, transport, exchange="halo", options=()):
    """(bytes that cross between hosts for one exchange, the record)"""
    def products(repeat):
        result = net_run(net, ranks, "-k", k, "-r", repeat, "--transport", transport, "--exchange", exchange, *options, "--verify", "none", matrix)
        equal(result.code, 0, result.err)
        return result.records[-1]
    return network.bytes_per_exchange(net, products)


def check_bytes(hosts):
    """Checks two ranks on each host, with a matrix whose blocks need all rows of X: if the ranks of a host
    share X, each row crosses once for each other host, else once for each rank there."""
    k, matrix, rows, row_bytes = 64, "uniform:3000,40", 3000, 512
    with network.Network(SCRATCH.name, hosts=hosts) as net:
        ranks = 2 * hosts
        for transport, needed in (("mpi", ranks), ("shared", hosts)):
            # with so many rows of 40 entries, every rank needs every column
            sent, record = per_exchange(net, ranks, k, matrix, transport)
            expected = needed * (rows - rows // hosts) * row_bytes
            print(f"  {hosts} hosts, {transport}: {sent / 1e6:.3f} MB counted for an exchange, {expected / 1e6:.3f} MB of rows")
            equal(record["run"]["transport"], transport)
            assert expected <= 1.001 * sent and sent < 1.1 * expected, (sent, expected)
            if transport == "shared":
                equal(record["message_rows"], expected // row_bytes)
        halves, _ = per_exchange(net, ranks, k, matrix, "mpi", options=("--exchange-precision", "f32"))
        expected = ranks * (rows - rows // hosts) * row_bytes / 2
        assert expected <= 1.001 * halves and halves < 1.1 * expected, (halves, expected)
        for matrix, options in itertools.product(MATRICES, ((), ("--exchange", "halo", "-k", 3), ("-g", f"{hosts}x2"))):
            verified(net_run(net, ranks, *options, matrix), f"{hosts} hosts, {matrix} {options}")


with test("a row of X that both ranks of a host need crosses the network once"):
    check_bytes(2)
    check_bytes(3)


def check_cut_bytes(net, k=64):
    """Checks a mesh that is numbered at random, with one rank on each host. With a cut by entries nearly all
    rows of X cross between the hosts, with a cut by layout few; the records have the numbers of these
    rows."""
    matrix, row_bytes, sent = scratch("mesh.mtx"), 8 * k, {}
    side, points = 40, list(range(1600))
    random.Random(1).shuffle(points)
    near = [(p, q) for p in range(1600) for q in (p, p + 1, p + side) if q < 1600 and (q != p + 1 or q % side)]
    with open(matrix, "w") as file:
        print(f"%%MatrixMarket matrix coordinate pattern symmetric\n1600 1600 {len(near)}", file=file)
        for p, q in near:
            print(max(points[p], points[q]) + 1, min(points[p], points[q]) + 1, file=file)
    for partition in ("nnz", "layout", "auto"):
        def products(repeat):
            result = net_run(net, 3, "-k", k, "-r", repeat, "--transport", "mpi", "--exchange", "halo", "--products", 10 ** 7,
                             "--partition", partition, "-v", matrix, mca={"rmaps_base_mapping_policy": "node"})
            verified(result, partition)
            equal(result.records[-1]["error"]["different"], 0)
            return result.records[-1]
        sent[partition], record = network.bytes_per_exchange(net, products)
        expected = record["moved"]["all_rows"] * row_bytes
        print(f"  by {partition} ({record['run']['partition']}): {sent[partition]:.0f} bytes counted for an exchange, {expected} of rows")
        assert expected <= 1.001 * sent[partition] and sent[partition] < 1.1 * expected + 4000, (partition, sent, expected)
    assert 4 * sent["layout"] < sent["nnz"] and 4 * sent["auto"] < sent["nnz"], sent


with test("a renumbered mesh sends few bytes between hosts, as many as the record counts"):
    with network.Network(SCRATCH.name, hosts=3) as cut_net:
        check_cut_bytes(cut_net)


def check_joint_bytes(hosts):
    """Checks the bytes of a graph's rows of X and partial rows of Y, with two ranks on each host, in messages
    between single ranks and between nodes."""
    k, matrix, row_bytes = 64, "rmat:12,16", 512
    with network.Network(SCRATCH.name, hosts=hosts) as net:
        ranks, sent, records = 2 * hosts, {}, {}
        for way, exchange, transport in (("halo", "halo", "auto"), ("single", "joint", "mpi"), ("nodes", "joint", "auto"),
                                         ("named", "joint", "shared")):
            sent[way], records[way] = per_exchange(net, ranks, k, matrix, transport, exchange)
            r = records[way]
            print(f"  {hosts} hosts, {exchange} by {transport}: {sent[way] / 1e6:.3f} MB counted for an exchange, "
                  f"{r['message_rows'] * row_bytes / 1e6:.3f} MB of {r['message_rows']} rows, {r['moved']['all_rows']} needed")
            # in the other cases message_rows includes rows sent within a host
            if way == "halo":
                assert r["message_rows"] * row_bytes <= 1.001 * sent[way] < 1.1 * r["message_rows"] * row_bytes, way
        equal([records[way]["run"]["transport"] for way in ("single", "nodes", "named")], ["mpi", "shared", "shared"])
        equal(records["nodes"]["message_rows"], records["named"]["message_rows"])
        assert records["nodes"]["plan"]["partial_rows"] > 0.2 * records["nodes"]["moved"]["all_rows"], records["nodes"]
        assert sent["nodes"] < sent["single"] and sent["nodes"] < sent["halo"], sent
        for matrix, options in itertools.product([*MATRICES, matrix], ((), ("-k", 3), ("-g", f"{hosts}x2"), ("--transport", "mpi"))):
            verified(net_run(net, ranks, "--exchange", "joint", *options, matrix), f"{hosts} hosts, {matrix} {options}")


with test("so does one of the joint exchange, and rows of X that both ranks of a host need cross once"):
    check_joint_bytes(2)
    check_joint_bytes(3)


def lose(loss, *options, wire="fast", mca=SOON, most=10):
    """Calls loss(network) during the products, on a new network, and checks that nothing remains. Returns (exit code,
    seconds until mpirun ended, output)."""
    with network.Network(SCRATCH.name) as net:
        path = scratch("lost.mtx")
        launcher = net.launcher(MPIRUN, 4, wire, mca)
        job = subprocess.Popen([*launcher, PROGRAM, "-d", "cpu", "-t", "1", "-r", "100000000", "-o", path, *map(str, options),
                                "lap2d5:9"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # the table's heading precedes the products
        while "GFLOP/s" not in (line := job.stdout.readline()):
            assert line, "it ended before"
        start = time.monotonic()
        loss(net)
        try:
            out = job.communicate(timeout=patience(2 * most))[0]
        finally:
            job.kill()
        seconds = time.monotonic() - start
        ended(net, start, job.returncode, path, most)
        print(f"  mpirun ended after {seconds:.1f} s with code {job.returncode}")
        return job.returncode, seconds, out


with test("a far host that dies ends the job"):
    lose(lambda net: [os.kill(pid, 9) for pid in net.far.processes("orted", "spmm_mpi")])

with test("a cut network ends the job within seconds, if mpirun is told to look after its connections"):
    lose(lambda net: net.cut("fast"))

SILENT = "ranks 2 (on far), 3 (on far) did not answer for {} s (--timeout): "
with test("so it does where --timeout notices the loss before mpirun"):
    for again in range(2):
        # an abort before mpirun's keepalives, which need 4 s, would leave mpirun waiting for the far daemon
        _, seconds, out = lose(lambda net: net.cut("fast"), "--timeout", 2)
        within(out, "warning: " + SILENT.format(2) + "waiting up to 9 s in all for mpirun")
        assert 2 < seconds < patience(8), seconds

with test("a cut network of data alone, of which mpirun sees nothing, ends the job by --timeout"):
    code, seconds, out = lose(lambda net: net.cut("slow"), "--timeout", 2, mca={**SOON, "btl_tcp_if_include": "slow"}, most=15)
    equal(code, 4, out)
    # each side misses the other, and both wait equally long: the first whose wait ends reports
    assert re.search(r"error: (" + re.escape(SILENT.format(2)) + "stopped, or lost with their nodes"
                     r"|rank \d: rank \d \(on \w+\) did not answer for 2 s \(--timeout\): stopped, or lost with its node)\n", out), out
    assert seconds > 8.5, seconds

with test("a stopped rank on the far host, where another one answers, ends the job without delay"):
    code, seconds, out = lose(lambda net: os.kill(max(net.far.processes("spmm_mpi")), signal.SIGSTOP), "--timeout", 3)
    equal(code, 4, out)
    within(out, "(on far) did not answer for 3 s (--timeout): stopped, or lost with its node\n")
    assert 2.5 < seconds < patience(8), seconds

with test("where mpirun was not told, the first line says what to set, and the ranks on all of three hosts end without it"):
    with network.Network(SCRATCH.name, hosts=3) as net:
        job = subprocess.Popen([*net.launcher(MPIRUN, 6), PROGRAM, "-d", "cpu", "-t", "1", "-r", "100000000", "--timeout", "2", "lap2d5:9"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said, start = "", 0
        while "error: " not in (line := job.stdout.readline()):
            assert line, "it ended before"
            said += line
            if "GFLOP/s" in line:
                net.cut("fast")
                start = time.monotonic()
        within(said, "warning: --timeout: mpirun does not probe its connections to other hosts, such as far, and may wait for a lost one")
        within(said, "set OMPI_MCA_oob_tcp_keepalive_time=5")
        network.wait_until(lambda: not any(host.processes("spmm_mpi") for host in net.hosts), patience(7) - (time.monotonic() - start),
                           "the end of the ranks on all hosts")
        print(f"  all ranks ended after {time.monotonic() - start:.1f} s")
        job.kill()
        assert re.search(r"error: (rank \d: )?ranks? \d \(on .* did not answer for 2 s \(--timeout\): stopped, or lost", line), line

finish()
