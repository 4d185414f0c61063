"""--dry-run --machine and --probe=FILE: what is predicted, what is refused, and the machine files of docs/machines.
limit: 300"""
import re
import time

from command import MATRICES, ROOT, equal, finish, parts, run, scratch, test, within

PUBLIC = sorted((ROOT / "docs" / "machines").glob("*.machine"))
ONE_NODE = {"name": "one node", "device": "cpu", "nodes": 1, "ranks_per_node": 4, "copy_rate": 1e10, "node_copy_rate": 2e10,
            "inside_rate": 1e9, "inside_latency": 1e-6, "efficiency": 0.5}
NODES = {**ONE_NODE, "name": "many nodes", "nodes": 50000, "between_rate": 1e10, "between_latency": 2e-6}
PARTS = ("kernel_seconds", "exchange_seconds", "reduce_seconds", "barrier_seconds")


def machine(**keys):
    return scratch("a.machine", "".join(f"{key} = {value}\n" for key, value in keys.items() if value is not None))


def dry(path, *args, records=True):
    return run("-d", "cpu", "--dry-run", "--machine", path, *args, records=records, limit=120)


def predictions(path, *args):
    result = dry(path, *args)
    equal(result.code, 0, result.err)
    return [record["prediction"] for record in result.records]


with test("a line and a record for each number of ranks: the best grid and exchange, and parts that add up"):
    result = dry(machine(**ONE_NODE), "--plan-ranks", "1,2,3,4", "-k", 16, "lap3d7:12")
    equal((result.code, result.err), (0, ""))
    within(result.out, "machine    one node: 1 nodes of 4 ranks, cpu")
    table = [line.split() for line in result.out.splitlines() if re.match(r" +\d+ +\d+x\d+ ", line)]
    equal([row[1] for row in table], ["1x1", "2x1", "3x1", "4x1"])
    found = [record["prediction"] for record in result.records]
    for row, one, record in zip(table, found, result.records):
        assert abs(one["seconds"] - sum(one[part] for part in PARTS)) < 1e-9 * one["seconds"], one
        assert abs(float(row[-5]) - 1e3 * one["seconds"]) < 1e-3 * float(row[-5]), (row, one)
        equal((row[-6], one["grid"], one["k"]), (one["exchange"], [one["ranks"], 1], 16))
        equal(record["matrix"], {"source": "lap3d7:12", "rows": 1728, "cols": 1728, "nnz": 11232})
    equal([one["exchange"] for one in found], ["none", "halo", "halo", "halo"])
    equal([found[0][part] > 0 for part in PARTS], [True, False, False, False], "one rank exchanges nothing")

with test("--grid and --exchange are kept to, and cost no less than the best"):
    best = predictions(machine(**ONE_NODE), "--plan-ranks", "4", "lap3d7:12")[0]
    for args in (("-g", "2x2"), ("-g", "1x4"), ("-g", "4x1", "--exchange", "bcast")):
        one = predictions(machine(**ONE_NODE), "--plan-ranks", "4", *args, "lap3d7:12")[0]
        equal("x".join(map(str, one["grid"])), args[1])
        assert one["seconds"] > best["seconds"] and (one["reduce_seconds"] > 0) == (args[1] != "4x1"), one
    equal(one["exchange"], "bcast")

with test("without an efficiency in the file the kernel is timed here: one number of ranks after the other"):
    found = predictions(machine(**{**ONE_NODE, "efficiency": None}), "--plan-ranks", "1,2", "lap3d27:20")
    for one in found:
        assert 1e6 < one["kernel_bytes_per_second"] < 1e13 and one["kernel_seconds"] > 0, one
    result = dry(machine(**{**ONE_NODE, "efficiency": None, "device": "cuda"}), "lap3d7:9")
    equal((result.code, len(result.error_lines())), (2, 1), result.err)
    within(result.err, "no efficiency in the file, and its device cuda cannot be timed on device cpu")

with test("a matrix without entries, and more ranks than rows"):
    empty = scratch("empty.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 0\n")
    for keys in (ONE_NODE, {**ONE_NODE, "efficiency": None}):
        equal([one["ranks"] for one in predictions(machine(**keys), "--plan-ranks", "1,4", empty)], [1, 4])
    equal(predictions(machine(**NODES), "--plan-ranks", "1000", "lap2d5:9")[0]["ranks"], 1000)

with test("100 000 ranks are predicted within a minute, whose exchange is within and between nodes"):
    start = time.monotonic()
    found = predictions(machine(**NODES), "--plan-ranks", "10,1000,100000", "lap3d7:60")
    assert time.monotonic() - start < 60
    equal([one["ranks"] for one in found], [10, 1000, 100000])
    assert all(one["exchange_seconds"] > 2e-6 for one in found), found

with test("wrong machine files, and more ranks than a machine has, are refused before the matrix is read"):
    for path, keys, code, part in (
            ("/no/such.machine", {}, 3, "/no/such.machine: No such file"), (scratch("large", "#" * 70000), {}, 3, "more than 65536 bytes"),
            (None, {"speed": 1}, 3, "a.machine:10: unknown key speed"), (None, {"nodes": None}, 3, "there is no line nodes ="),
            (None, {"overlap": -1}, 3, "a.machine:10: overlap = -1: expected a number from 0 to 1"),
            (None, {}, 2, "8 ranks are planned, and the machine has 1 nodes of 4")):
        result = dry(path or machine(**{**ONE_NODE, **keys}), "--plan-ranks", "8", "/no/such.mtx", records=False)
        equal((result.code, result.out, len(result.error_lines())), (code, "", 1), f"{part}: {result.err}")
        within(result.err, part)
    result = run("-d", "cpu", "--machine", machine(**ONE_NODE), "lap2d5:9", records=False)
    equal(result.code, 2, result.err)
    within(result.err, "--machine is for --dry-run")

with test("--probe=FILE writes a machine file that predictions take, on one rank and on several"):
    for ranks in (1, 3):
        path = scratch(f"probed-{ranks}.machine")
        result = run("-d", "cpu", "-t", 1, "-k", 2, f"--probe={path}", "lap2d5:20", ranks=ranks)
        equal((result.code, parts(path), len(result.records)), (0, [], 1), result.err)
        text = open(path, encoding="utf-8").read()
        for key in ("name", "processor", "copy_rate", "node_copy_rate", *(("inside_rate", "inside_latency") if ranks > 1 else ())):
            assert re.search(f"^{key} = \\S", text, re.M), f"{key}: {text}"
        within(text, f"ranks_per_node = {ranks}\n")
        found = predictions(path, "--plan-ranks", ranks, "lap3d27:16")
        assert 1e-7 < found[0]["seconds"] < 10 and (found[0]["exchange_seconds"] > 0) == (ranks > 1), found
    result = run("-d", "cpu", "--probe=/no/such/folder/m", "lap2d5:9", records=False)
    equal((result.code, result.out), (4, ""), result.err)

with test("the machine files of docs/machines are complete, and have predictions of as many ranks as they are for"):
    equal(len(PUBLIC), 3)
    for path in PUBLIC:
        keys = dict(re.findall(r"^(\w+) = (.*)$", path.read_text(encoding="utf-8"), re.M))
        ranks = int(keys["nodes"]) * int(keys["ranks_per_node"])
        found = predictions(path, "--plan-ranks", f"1,{min(ranks, 1000)}", "lap3d7:30")
        equal(found[1]["machine"], keys["name"])
        assert found[1]["seconds"] > 0, found

with test("real matrices are predicted, too"):
    for path in MATRICES[:3]:
        assert predictions(machine(**ONE_NODE), "--plan-ranks", "4", path)[0]["seconds"] > 0

finish()
