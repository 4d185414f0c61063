"""jobs/predict, --dry-run --json and --probe=FILE: predictions, compared with hand calculations and for real matrices, what is
refused, and the machine files of docs/machines.
limit: 300"""
import json
import time

from command import MATRICES, ROOT, equal, finish, parts, patience, run, scratch, test, within
from study_tools import near, start
from spmm_study import machine, predict
from spmm_study.lines import RecordsError

PUBLIC = sorted((ROOT / "docs" / "machines").glob("*.machine"))
ONE_NODE = {"name": "one node", "device": "cpu", "nodes": 1, "ranks_per_node": 4, "copy_rate": 1e10, "node_copy_rate": 2e10,
            "inside_rate": 1e9, "inside_latency": 1e-6, "efficiency": 0.5}
NODES = {**ONE_NODE, "name": "many nodes", "nodes": 50000, "between_rate": 1e10, "between_latency": 2e-6}
TWO_NODES = {"name": "two", "device": "cpu", "nodes": 2, "ranks_per_node": 2, "copy_rate": 2 ** 30, "node_copy_rate": 1.5 * 2 ** 30,
             "inside_rate": 2 ** 28, "inside_latency": 1e-6, "between_rate": 2 ** 26, "between_latency": 1e-5, "efficiency": 0.5}
PARTS = ("kernel_seconds", "exchange_seconds", "reduce_seconds", "barrier_seconds")


def machine_file(keys, more=""):
    return scratch("a.machine", "".join(f"{key} = {value}\n" for key, value in keys.items() if value is not None) + more)


def fresh(name):
    """The path of a file without records."""
    return scratch(name, "")


def counted(*args, ranks_per_node=4, device="cpu"):
    path = fresh("counts.jsonl")
    nodes = () if ranks_per_node is None else ("--ranks-per-node", ranks_per_node)
    result = run("-d", device, "--dry-run", *nodes, "--json", path, *args, records=False, limit=120)
    equal((result.code, result.err), (0, ""))
    return path


def foreseen(path, *records):
    """(result of jobs/predict, its predictions)"""
    out = fresh("predicted.jsonl")
    done = start("predict", path, *records, "--json", out)
    return done, [json.loads(line)["prediction"] for line in open(out, encoding="utf-8")]


def predictions(path, *records):
    done, found = foreseen(path, *records)
    equal((done.returncode, done.stderr), (0, ""))
    return found


def banded(n, band):
    """A file of a matrix with entries where |i - j| is at most `band`."""
    entries = [(i, j) for i in range(1, n + 1) for j in range(1, n + 1) if abs(i - j) <= band]
    return scratch(f"band-{band}.mtx", f"%%MatrixMarket matrix coordinate pattern general\n{n} {n} {len(entries)}\n" +
                   "".join(f"{i} {j}\n" for i, j in entries))


def of_band(keys, grid, *args, band=3, matrix=None):
    """(prediction for 64 columns, number of entries) of a band matrix with 32 rows, or of `matrix`."""
    p, q = map(int, grid.split("x"))
    path = counted("--plan-ranks", p * q, "-g", grid, "-k", 64, *args, matrix or banded(32, band), ranks_per_node=keys["ranks_per_node"],
                   device=keys["device"])
    record = json.loads(open(path, encoding="utf-8").read())
    return predict.predicted(record, machine.read(machine_file(keys)), [])["prediction"], record["matrix"]["nnz"]


with test("one rank takes the DRAM bound of its block at the efficiency of its kernel, and exchanges nothing"):
    one, nnz = of_band(TWO_NODES, "1x1")
    near(one["kernel_seconds"], (nnz * 12 + 8 * 33 + 64 * 8 * 64) / (0.5 * 2 ** 30))
    equal([one[part] for part in PARTS[1:]], [0, 0, 0])
    equal((one["exchange"], one["seconds"]), ("none", one["kernel_seconds"]))

with test("two ranks of a node share its copy rate, and exchange inside it: a latency and three rows of X"):
    one, nnz = of_band(TWO_NODES, "2x1", "--exchange", "halo")
    near(one["kernel_seconds"], (nnz / 2 * 12 + 8 * 17 + 512 * (16 + 3 + 16)) / (0.5 * 0.75 * 2 ** 30))
    near(one["exchange_seconds"], 1e-6 + 3 * 512 / 2 ** 28)
    near(one["barrier_seconds"], 1e-6)

with test("on two nodes the middle ranks have a neighbor in both, and a broadcast shares the rate between nodes"):
    one = of_band(TWO_NODES, "4x1", "--exchange", "halo")[0]
    near(one["exchange_seconds"], 1e-6 + 3 * 512 / 2 ** 28 + 1e-5 + 3 * 512 / 2 ** 26)
    near(one["barrier_seconds"], 1.1e-5)
    # each rank gets 8 of the other node's 16 rows, and reads 16 of its neighbor's
    near(of_band(TWO_NODES, "4x1", "--exchange", "bcast")[0]["exchange_seconds"], 1e-6 + 16 * 512 / 2 ** 28 + 1e-5 + 16 * 512 / 2 ** 26)
    # each GPU receives all 16 rows of the other node, from two ranks
    gpus = of_band({**TWO_NODES, "device": "cuda"}, "4x1", "--exchange", "bcast")[0]["exchange_seconds"]
    near(gpus, 1e-6 + 8 * 512 / 2 ** 28 + 2e-5 + 32 * 512 / 2 ** 26)

with test("a row that all nodes need leaves its node once for each, and its owner's sending takes longer than receiving it"):
    column = scratch("column.mtx", "%%MatrixMarket matrix coordinate pattern general\n12 12 12\n" + "".join(f"{i} 1\n" for i in range(1, 13)))
    one = of_band({**TWO_NODES, "nodes": 3}, "6x1", "--exchange", "halo", "--partition", "rows", matrix=column)[0]
    near(one["exchange_seconds"], 3e-6 + 3 * 512 / 2 ** 28 + 2e-5 + 2 * 512 / 2 ** 26)

with test("partial Y are added in a tree, of which steps inside a node are told from those between"):
    copy, partial = 0.75 * 2 ** 30, 32 * 512
    step = 1e-6 + partial / 2 ** 28 + 3 * partial / copy
    near(of_band(TWO_NODES, "1x2")[0]["reduce_seconds"], step)
    near(of_band(TWO_NODES, "1x4")[0]["reduce_seconds"], step + 1e-5 + partial / 2 ** 26 + 3 * partial / copy)

with test("the parts add up on every grid, and what is slower or larger takes no less time"):
    slower = {**TWO_NODES, "inside_rate": 2 ** 27, "between_rate": 2 ** 25, "inside_latency": 2e-6}
    for grid in ("1x1", "2x1", "1x2", "4x1", "2x2", "1x4"):
        one = of_band(TWO_NODES, grid, "--exchange", "halo")[0]
        near(one["seconds"], sum(one[part] for part in PARTS))
        equal(one["reduce_seconds"] > 0, not grid.endswith("x1"))
        assert of_band(TWO_NODES, grid, "--exchange", "halo", band=9)[0]["seconds"] > one["seconds"], grid
        assert of_band(TWO_NODES, grid)[0]["seconds"] <= one["seconds"], grid
        equal(of_band(slower, grid, "--exchange", "halo")[0]["seconds"] > one["seconds"], grid != "1x1")
        assert of_band({**TWO_NODES, "overlap": 1}, grid, "--exchange", "halo")[0]["seconds"] <= one["seconds"], grid

with test("a table and a record for each number of ranks, with the matrix as it was counted"):
    path = counted("--plan-ranks", "1,2,3,4", "-k", 16, "lap3d7:12")
    done, found = foreseen(machine_file(ONE_NODE), path)
    equal((done.returncode, done.stderr), (0, ""))
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("  one node")]
    equal([row[2:5] for row in rows], [["1", "1x1", "none"], *([str(p), f"{p}x1", "halo"] for p in (2, 3, 4))])
    for row, one in zip(rows, found):
        assert abs(float(row[5]) - 1e3 * one["seconds"]) < 1e-3 * float(row[5]), (row, one)
    equal([(one["k"], one["precision"]) for one in found], [(16, "f64")] * 4)

with test("of several grids the fastest is taken, and --exchange is kept to"):
    first = open(counted("--plan-ranks", 4, "-g", "2x2", "lap3d7:12"), encoding="utf-8").read()
    slow = predictions(machine_file(ONE_NODE), scratch("slow.jsonl", first))
    best = predictions(machine_file(ONE_NODE), scratch("slow.jsonl"), counted("--plan-ranks", 4, "lap3d7:12"))
    equal(([one["grid"] for one in best], [one["grid"] for one in slow]), ([[4, 1]], [[2, 2]]))
    assert best[0]["seconds"] < slow[0]["seconds"], (best, slow)
    equal(predictions(machine_file(ONE_NODE), counted("--plan-ranks", 3, "--exchange", "bcast", "lap3d7:9"))[0]["exchange"], "bcast")

with test("without an efficiency in the file that of a run counts: of the most ranks that are fewer, its fastest kernel"):
    path, runs = counted("--plan-ranks", "1,2,4", "-k", 8, "lap3d27:16"), fresh("runs.jsonl")
    without = machine_file({**ONE_NODE, "efficiency": None})
    done, _ = foreseen(without, path)
    equal((done.returncode, done.stdout), (3, ""))
    within(done.stderr, "no run of lap3d27:16, K = 8, f64, cpu in the records")
    equal(run("-d", "cpu", "-t", 1, "-k", 8, "-v", "--json", runs, "lap3d27:16", records=False).code, 0)
    record = json.loads(open(runs, encoding="utf-8").read())
    record["copy_bytes_per_second"], record["seconds"]["kernel"] = 4e10, 1e-3
    found = predictions(without, path, scratch("runs.jsonl", json.dumps(record) + "\n"))
    bytes_of_run = record["matrix"]["nnz"] * 12 + 8 * (16 ** 3 + 1) + 2 * 64 * 16 ** 3
    share = bytes_of_run / 1e-3 / 4e10
    near(found[0]["kernel_bytes_per_second"], share * 1e10)  # times the machine's copy rate
    near(found[2]["kernel_bytes_per_second"], min(share * 1e10, 0.5e10))  # four ranks share the rate
    # data in a cache: faster than a copy, also while other ranks compute
    fast = {**record, "seconds": {**record["seconds"], "kernel": 1e-5}}
    found = predictions(without, path, scratch("runs.jsonl", json.dumps(fast) + "\n"))
    near(found[2]["kernel_bytes_per_second"], 100 * share * 0.5e10)
    more = {**record, "run": {**record["run"], "ranks": 2, "grid": [2, 1]}, "seconds": {**record["seconds"], "kernel": 2e-3}, "imbalance": 1}
    found = predictions(without, path, scratch("more.jsonl", "".join(json.dumps(r) + "\n" for r in (record, more))))
    # the prediction for two ranks uses a run on one rank, that for four the run on two
    near(found[1]["kernel_bytes_per_second"], share * 1e10)
    assert found[2]["kernel_bytes_per_second"] != found[1]["kernel_bytes_per_second"], found
    done, _ = foreseen(machine_file({**ONE_NODE, "efficiency": None, "device": "cuda"}), path, runs)
    within(done.stderr, "f64, cuda in the records")

with test("a matrix without entries, and more ranks than rows"):
    empty = scratch("empty.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 0\n")
    equal([one["ranks"] for one in predictions(machine_file(ONE_NODE), counted("--plan-ranks", "1,4", empty))], [1, 4])
    equal(predictions(machine_file(NODES), counted("--plan-ranks", "1000", "lap2d5:9"))[0]["ranks"], 1000)

with test("100 000 ranks are predicted within a minute, whose exchange is within and between nodes"):
    begin = time.monotonic()
    found = predictions(machine_file(NODES), counted("--plan-ranks", "10,1000,100000", "lap3d7:60"))
    assert time.monotonic() - begin < patience(60)
    equal([one["ranks"] for one in found], [10, 1000, 100000])
    assert all(one["exchange_seconds"] > 2e-6 for one in found), found

with test("counts of other nodes, of more ranks than a machine has, and records without counts are refused"):
    path = counted("--plan-ranks", "8", "lap2d5:9", ranks_per_node=2)
    for keys, part in ((NODES, "expected counts of --dry-run --ranks-per-node 4"),
                       (ONE_NODE, "8 ranks are planned, and the machine has 1 nodes of 4")):
        done, _ = foreseen(machine_file(keys), path)
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (3, "", 1), done.stderr)
        within(done.stderr, part)
    done, _ = foreseen(machine_file({**NODES, "device": "cuda"}), counted("--plan-ranks", "8", "lap2d5:9"))
    within(done.stderr, "counted for device cpu: expected counts of --dry-run -d cuda")
    done, _ = foreseen(machine_file(NODES), scratch("none.jsonl", ""))
    within(done.stderr, "found no counts")
    done = start("predict", machine_file(NODES), path, "--json", path)
    equal(done.returncode, 2, done.stderr)

COMPLETE = ("# two nodes\nname = a machine = of two   # the rest is a comment\ndevice = cuda\n\n  nodes = 2\r\nranks_per_node = 4\ncopy_rate = 4e12\n"
            "node_copy_rate = 16e12\ninside_rate = 3.5e11\ninside_latency = 5e-6\nbetween_rate = 1e11\nbetween_latency = 2e-6")

with test("a machine file with comments, blanks and no last newline is read; one rank needs no rates of exchanges"):
    one = machine.read(scratch("a.machine", COMPLETE))
    equal((one.name, one.processor, one.device, one.ranks, one.threads), ("a machine = of two", "", "cuda", 8, 1))
    equal((one.copy_rate, one.inside_rate, one.between_latency, one.efficiency, one.overlap), (4e12, 3.5e11, 2e-6, 0, 0))
    equal([machine.read(scratch("a.machine", COMPLETE.replace("16e12", "10e12"))).copy_rate_of(n) for n in (1, 2, 4)], [4e12, 4e12, 2.5e12])
    machine.read(scratch("a.machine", "name = 1\ndevice = cpu\nnodes = 1\nranks_per_node = 1\ncopy_rate = 1e9\nnode_copy_rate = 1e9\n"))

with test("wrong machine files are refused with file and line"):
    for line, instead, part in (
            ("copyrate = 1", None, ":13: unknown key \"copyrate\"; did you mean copy_rate?"), ("nodes = 2", None, ":13: a second nodes: line 5 has one"),
            ("efficiency", None, ":13: found \"efficiency\", expected KEY = VALUE"), ("efficiency =", None, ":13: efficiency = \"\": expected a number from"),
            *((f"efficiency = {text}", None, "expected a number from 0.0001 to 1000") for text in ("fast", "1x", "nan", "inf", "0x1p3", "-1", "1_0", "²")),
            ("overlap = 1.5", None, "expected a number from 0 to 1"), ("threads = 1.5", None, "expected a whole number from 1 to 4096"),
            ("nodes = 99999999", "nodes = 2", "expected a whole number from 1 to 16777216"), ("device = gpu", "device = cuda", "expected cpu or cuda"),
            ("processor = " + "x" * 128, None, "a text of at most 127"), ("= 3", None, ":13: unknown key \"\""), ("", "name = a", "there is no line name ="),
            ("", "inside_rate", "there is no line inside_rate =, as a node has several ranks"),
            ("", "between_latency", "there is no line between_latency =, as there are several nodes"),
            ("node_copy_rate = 1e12", "node_copy_rate = 16", "below the copy_rate of one rank"), ("a\0b", None, "zero byte"),
            ("#" * 70000, None, "more than 65536 bytes")):
        path = scratch("wrong.machine", (COMPLETE.replace(instead, "#") if instead else COMPLETE) + f"\n{line}\n")
        try:
            machine.read(path)
            raise AssertionError(f"{line} is read")
        except RecordsError as error:
            within(str(error), part)
            within(str(error), path)
    done, _ = foreseen("/no/such.machine", scratch("none.jsonl", ""))
    equal(done.returncode, 3)
    within(done.stderr, "/no/such.machine: No such file")

with test("--probe=FILE writes a machine file that predictions take, on one rank and on several"):
    for ranks in (1, 3):
        path = scratch(f"probed-{ranks}.machine")
        result = run("-d", "cpu", "-t", 1, "-k", 2, f"--probe={path}", "lap2d5:20", ranks=ranks)
        equal((result.code, parts(path), len(result.records)), (0, [], 1), result.err)
        one = machine.read(path)
        equal((one.device, one.nodes, one.ranks_per_node, one.threads, one.inside_rate > 0), ("cpu", 1, ranks, 1, ranks > 1))
        assert one.processor and one.node_copy_rate >= one.copy_rate > 1e6, one
        runs = fresh("runs.jsonl")
        equal(run("-d", "cpu", "-t", 1, "--json", runs, "lap3d27:16", records=False).code, 0)
        found = predictions(path, counted("--plan-ranks", ranks, "lap3d27:16", ranks_per_node=None), runs)
        assert 1e-7 < found[0]["seconds"] < 10 and (found[0]["exchange_seconds"] > 0) == (ranks > 1), found
    result = run("-d", "cpu", "--probe=/no/such/folder/m", "lap2d5:9", records=False)
    equal((result.code, result.out), (4, ""), result.err)

with test("the machine files of docs/machines are complete, and have predictions of as many ranks as they are for"):
    equal(len(PUBLIC), 3)
    for path in PUBLIC:
        one, text = machine.read(path), path.read_text(encoding="utf-8")
        of = counted("--plan-ranks", f"1,{min(one.ranks, 1000)}", "lap3d7:30", ranks_per_node=one.ranks_per_node, device=one.device)
        found = predictions(scratch("b.machine", text + ("" if one.efficiency else "efficiency = 0.5\n")), of)
        equal(found[1]["machine"], one.name)
        assert found[1]["seconds"] > 0, found

with test("real matrices are predicted, too, and column blocks hide an exchange of GPUs"):
    for path in MATRICES[:3]:
        assert predictions(machine_file(ONE_NODE), counted("--plan-ranks", 4, "-k", 512, path))[0]["seconds"] > 0
    large = counted("--plan-ranks", 4, "-k", 512, "uniform:60000,30")
    gpu = {**ONE_NODE, "device": "cuda", "inside_rate": 1e10}
    alone, beside = (predictions(machine_file({**gpu, "overlap": overlap}), large)[0] for overlap in (0, 1))
    assert beside["exchange_seconds"] < 0.9 * alone["exchange_seconds"], (alone, beside)

finish()
