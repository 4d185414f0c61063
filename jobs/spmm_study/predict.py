"""Predicts the time of a product on a machine: from what each rank computes and communicates, as `spmm_mpi --dry-run --json`
counts it, from a machine file, and from the efficiency of kernels in records of runs. docs/SCALING.md, "Predictions", has
the model. Latencies and rates are used as in the LogGP model (Alexandrov et al., SPAA 1995), but without the gap per
message."""
from collections import namedtuple

from .lines import RecordsError
from .records import BYTES

# what a rank exchanges within its node (near) and with other nodes (far): rows of X (and of partial Y), rows
# that it packs, numbers of ranks
Traffic = namedtuple("Traffic", "near_in near_out far_in far_out packed near_from near_to far_from far_to")


class Counts:
    """The counts of --dry-run for one grid. per: {what: [a number for each rank]}."""

    def __init__(self, record):
        self.matrix, values, self.per = record["matrix"], record["counts"], record["per_rank"]
        self.values, self.ranks, self.k, self.row = values, values["ranks"], values["k"], values["row_bytes"]
        self.p, self.q = values["grid"]
        self.value_bytes = BYTES[values["precision"]]
        self.moves = values["received_rows"] > 0

    def problem(self, device):
        """The key of runs whose kernel rate applies to this product: see records.Prediction."""
        return self.matrix["source"], self.k, self.values["precision"], device

    def bytes(self, rank):
        """The DRAM bound of the rank's block."""
        per = self.per
        return dram_bound(per["nnz"][rank], per["rows"][rank], per["x_rows"][rank] + per["halo_rows"][rank], self.row,
                          self.value_bytes)


def dram_bound(nnz, rows, x_rows, row, value_bytes):
    return nnz * (value_bytes + 4) + 8 * (rows + 1) + row * (x_rows + rows)


# ---- exchanges: a Traffic for each rank ----

def _listed(per, received, sent, packed, joint=""):
    names = ("far_received" if joint else "far_rows", "far_sent", "receives_from", "sends_to", "far_from", "far_to")
    columns = [per[received], per[sent], per[packed], *(per[joint + name] for name in names)]
    return [Traffic(rows - far, out - far_out, far, far_out, copied, ranks - far_from, to - far_to, far_from, far_to)
            for rows, out, copied, far, far_out, ranks, to, far_from, far_to in zip(*columns)]


def _halo(counts, _):
    return _listed(counts.per, "halo_rows", "sent_rows", "packed_rows")


def _joint(counts, _):
    """Rows of X and partial rows of Y travel from the same ranks."""
    return _listed(counts.per, "joint_received", "joint_sent", "joint_sent", "joint_")


def _bcast(counts, machine):
    """Every rank of a process column sends its rows of X to all others of the column. If crosses_once, it sends them to
    each node once: the ranks of a node each receive a part, and get the other parts from each other."""
    p, q, per_node, own, made = counts.p, counts.q, machine.ranks_per_node, counts.per["x_rows"], []
    before = [[0] for _ in range(q)]  # per process column: number of rows of X of the ranks above
    for rank, rows in enumerate(own):
        before[rank % q].append(before[rank % q][-1] + rows)
    for rank, rows in enumerate(own):
        column, node = rank % q, rank // per_node
        first = (node * per_node - column + q - 1) // q  # this node has process rows first to end - 1
        end = min(p, ((node + 1) * per_node - column + q - 1) // q)
        near, share = end - first - 1, end - first if counts.values["crosses_once"] else 1
        far = (p - (end - first)) / share
        near_rows = before[column][end] - before[column][first] - rows
        # far rows of each of the node's ranks, if all nodes have equally many
        far_rows = (before[column][p] - rows - near_rows) / share
        shared = far_rows if counts.values["crosses_once"] else 0
        made.append(Traffic(near_rows + near * shared, near * (rows + shared), far_rows, rows * far, 0, near, near, far, far))
    return made


EXCHANGES = {"halo": _halo, "bcast": _bcast, "joint": _joint}  # the first of equal times is chosen


# ---- a product ----

def _steps(ranks):
    """1, 2, 4, .. < ranks: the distances in a tree over the ranks."""
    distance = 1
    while distance < ranks:
        yield distance
        distance *= 2


def _sum_seconds(counts, machine, partial, copy):
    """Time of the sum of partial Y over a process row. A step is inside nodes if each node has whole groups of
    2 * distance ranks."""
    seconds = 0
    for distance in _steps(counts.q):
        inside = machine.nodes == 1 or machine.ranks_per_node % (2 * distance) == 0
        latency, rate = (machine.inside_latency, machine.inside_rate) if inside else (machine.between_latency,
                                                                                      machine.between_rate)
        seconds += latency + partial / rate + 3 * partial / copy
    return seconds


def _moving_seconds(counts, machine, one, far_rows, copy):
    """Time of packing and moving a rank's rows, without latencies and without overlap."""
    far, seconds = one.far_from > 0 or one.far_to > 0, 0
    if far or machine.device == "cpu":  # GPUs of one node write scattered rows where they are needed
        seconds += 2 * counts.row * one.packed / copy
    if one.near_in > 0 or one.near_out > 0:
        seconds += counts.row * max(one.near_in, one.near_out) / machine.inside_rate
    return seconds + (counts.row * far_rows / machine.between_rate if far else 0)


def _hidden_seconds(counts, machine, rank, kernel, moving, alone, rate):
    """The part of an exchange that overlaps: with the computation of consecutive interior rows, or, on GPUs, with column
    blocks, less the time of their further exchanges and of reading A again."""
    per, blocks = counts.per, counts.per["column_blocks"][rank]
    interior = per["interior_run"][rank] / per["rows"][rank] if per["rows"][rank] else 0
    by_rows = min(machine.overlap * moving, interior * kernel)
    if machine.device == "cpu":
        return by_rows
    again = per["nnz"][rank] * (4 + counts.value_bytes) / rate
    return max(by_rows, machine.overlap * (blocks - 1) * (min(alone, kernel) / blocks - again - machine.inside_latency))


def _slowest(counts, machine, traffic, rate):
    """(seconds, those of the kernel, of the exchange, of the sum and of the barrier) of the slowest rank."""
    per_node = machine.ranks_per_node
    copy = machine.copy_rate_of(min(counts.ranks, per_node))
    barrier = sum(machine.inside_latency if distance < per_node else machine.between_latency for distance in _steps(counts.ranks))
    nodes = [[0, 0] for _ in range((counts.ranks - 1) // per_node + 1)]
    for rank, one in enumerate(traffic):
        nodes[rank // per_node][0] += one.far_in
        nodes[rank // per_node][1] += one.far_out
    worst = (-1,)
    for rank, one in enumerate(traffic):
        kernel = counts.bytes(rank) / rate
        moving = _moving_seconds(counts, machine, one, max(nodes[rank // per_node]), copy)
        alone = moving + max(one.near_from, one.near_to) * machine.inside_latency + \
            max(one.far_from, one.far_to) * machine.between_latency
        exchange = alone - _hidden_seconds(counts, machine, rank, kernel, moving, alone, rate)
        partial = counts.row * counts.per["rows"][rank] if counts.q > 1 else 0
        parts = kernel, exchange, _sum_seconds(counts, machine, partial, copy), barrier
        worst = max(worst, (sum(parts), *parts), key=lambda times: times[0])
    return worst


# ---- the rate of the kernel ----

def _efficiency(point, row, machine):
    """Efficiency of a run: the DRAM bound of its most loaded rank over the time of its kernel; 1 is as fast as a copy."""
    p, _ = point.grid
    nnz = point.nnz / point.ranks * (point.number("imbalance") or 1)
    x_rows = point.cols / point.ranks + (point.middle("moved", "rows") or 0)
    seconds = point.middle("seconds", "kernel") or point.spread.median
    copy = point.copy_rate / point.ranks if point.copy_rate else machine.copy_rate_of(min(point.ranks, machine.ranks_per_node))
    return dram_bound(nnz, point.rows / p, x_rows, row, point.value_bytes) / seconds / copy


def kernel_rate(counts, machine, points):
    """Rate of a rank's kernel, in bytes of its DRAM bound per second, while all ranks of its node compute. It
    is computed from the efficiency in the machine file, else from the efficiency of a run of this product:
    the fastest run on the greatest number of ranks that is less than counts.ranks and fits on one node;
    without such a run, the fastest on the fewest ranks. The efficiency is assumed not to depend on the number
    of active ranks, within the node's copy rate. Raises RecordsError if there is neither an efficiency nor a
    run."""
    active = min(counts.ranks, machine.ranks_per_node)
    if machine.efficiency:
        return machine.efficiency * machine.copy_rate_of(active)
    same = [p for p in points if not p.is_serial and (p.source, p.k, p.precision, p.device) == counts.problem(machine.device)]
    if not same:
        raise RecordsError(f"{machine.name}: there is no efficiency in the machine file, and no run of {counts.matrix['source']}, "
                           f"K = {counts.k}, {counts.values['precision']}, {machine.device} in the records: expected either")
    fewer = [p for p in same if p.ranks <= machine.ranks_per_node and p.ranks < counts.ranks]
    ranks = max(p.ranks for p in fewer) if fewer else min(p.ranks for p in same)
    point = min((p for p in same if p.ranks == ranks), key=lambda p: p.spread.median)
    efficiency = _efficiency(point, counts.row, machine)
    return min(efficiency * machine.copy_rate_of(min(ranks, active)), machine.copy_rate_of(active) * max(efficiency, 1))


# ---- a prediction ----

def _check(counts, machine):
    if counts.ranks > machine.ranks:
        raise RecordsError(f"{counts.ranks} ranks are planned, and the machine has {machine.nodes} nodes of {machine.ranks_per_node}")
    of_counts = counts.values.get("ranks_per_node") or counts.ranks
    if min(counts.ranks, machine.ranks_per_node) != min(counts.ranks, of_counts):
        raise RecordsError(f"what crosses between nodes of {machine.ranks_per_node} ranks is not counted: expected counts of "
                           f"--dry-run --ranks-per-node {machine.ranks_per_node}")
    if counts.ranks > machine.ranks_per_node and counts.values["device"] != machine.device:
        raise RecordsError(f"what crosses between nodes is counted for device {counts.values['device']}: expected counts of --dry-run -d "
                           f"{machine.device}")


def predicted(record, machine, points):
    """The record of the prediction for a record of --dry-run. points: those of runs. Raises RecordsError if the counts do not
    fit the machine."""
    counts = Counts(record)
    _check(counts, machine)
    asked, rate = counts.values["exchange"], kernel_rate(counts, machine, points)
    kinds = [kind for kind in EXCHANGES if asked in ("auto", kind) and (kind != "joint" or counts.per["joint_sent"])]
    times = {kind: _slowest(counts, machine, EXCHANGES[kind](counts, machine), rate) for kind in kinds}
    kind = min(kinds, key=lambda one: times[one][0])
    names = ("seconds", "kernel_seconds", "exchange_seconds", "reduce_seconds", "barrier_seconds")
    return {"version": record.get("version", ""), "matrix": counts.matrix,
            "prediction": {"machine": machine.name, "processor": machine.processor, "device": machine.device,
                           "ranks": counts.ranks, "ranks_per_node": machine.ranks_per_node, "threads": machine.threads,
                           "grid": counts.values["grid"], "partition": counts.values["partition"],
                           "exchange": kind if counts.moves else "none", "precision": counts.values["precision"],
                           "k": counts.k, **dict(zip(names, times[kind])), "kernel_bytes_per_second": rate},
            "schema": record["schema"]}


def best(records, machine, points):
    """Predictions for records of --dry-run; if a product and number of ranks has several grids, for the fastest of them."""
    found = {}
    for record in records:
        one = predicted(record, machine, points)
        key = (one["matrix"]["source"], *(one["prediction"][name] for name in ("k", "precision", "ranks")))
        if key not in found or one["prediction"]["seconds"] < found[key]["prediction"]["seconds"]:
            found[key] = one
    return list(found.values())
