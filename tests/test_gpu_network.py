"""GPUs of two and three hosts, which are network namespaces of this machine: rows cross between hosts, over TCP, once.
limit: 300"""
import network

why_not = network.contain()
if why_not:
    print("SKIP hosts with GPUs:", why_not)
    raise SystemExit(0)

from command import MPIRUN, RELAYS, SCRATCH, equal, finish, run, test, verified

if not RELAYS:
    print("SKIP hosts with GPUs: the build is without relays (RELAYS=0)")
    raise SystemExit(0)

if run("-d", "cuda", "-r", 1, "-t", 1, "lap2d5:9", ranks=1).code != 0:
    print("SKIP hosts with GPUs: no GPU")
    raise SystemExit(0)

K, MATRIX, ROW_BYTES = 64, "rmat:11,16", 512


def on_hosts(net, ranks, backend, *options):
    env = {"SPMM_EXCHANGE_BACKEND": backend} if backend else {}
    return run("-d", "cuda", "--warmup", 0, "-t", 1, *options, env=env, launcher=net.launcher(MPIRUN, ranks, "fast", (), env))


def per_exchange(net, ranks, backend, exchange):
    """(bytes that cross between hosts for one exchange, the record)"""
    def products(repeat):
        result = on_hosts(net, ranks, backend, "-k", K, "-r", repeat, "--plan", "quick", "--transport", "staged", "--exchange", exchange,
                          "--verify", "none", MATRIX)
        equal(result.code, 0, result.err)
        return result.records[-1]
    return network.bytes_per_exchange(net, products)


def check_bytes(hosts):
    """Checks the bytes of two ranks on each host, with messages between single ranks, and with forwarding inside hosts."""
    with network.Network(SCRATCH.name, hosts=hosts) as net:
        ranks = 2 * hosts
        for exchange in ("halo", "joint"):
            sent = {}
            for backend in ("staged", "relayed"):
                sent[backend], record = per_exchange(net, ranks, backend, exchange)
                rows = record["message_rows"]
                print(f"  {hosts} hosts, {exchange}, {backend}: {sent[backend] / 1e6:.3f} MB counted for an exchange, "
                      f"{rows * ROW_BYTES / 1e6:.3f} MB of {rows} rows")
            # not asserted for "staged": its message_rows includes rows sent within a host
            assert rows * ROW_BYTES <= 1.001 * sent["relayed"] < 1.1 * rows * ROW_BYTES, sent
            assert sent["relayed"] < 0.8 * sent["staged"], sent
            for backend in ("relayed", None):
                verified(on_hosts(net, ranks, backend, "--exchange", exchange, "-k", 3, "-r", 2, MATRIX), f"{hosts} hosts, {backend}")


with test("rows that both GPUs of a host need, or add, cross the network once"):
    check_bytes(2)
    check_bytes(3)
finish()
