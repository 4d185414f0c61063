"""series_mpi --sum: the sum of one array that is distributed over the ranks, its table, records, errors and faults.
limit: 300"""
import math
import re

from command import SERIES, equal, finish, refused, run, scratch, test, within
from study_tools import analyzed

CPU = ("-d", "cpu", "-t", 1, "-r", 2, "--warmup", 0)
STEPS = {"linear": lambda p: p - 1, "tree": lambda p: math.ceil(math.log2(p)),
         "butterfly": lambda p: int(math.log2(p)) + 2 * (p & (p - 1) != 0)}


def summed(*args, **more):
    return run(*CPU, *args, program=SERIES, **more)


def sums(result):
    """{strategy: (the sum, the ranks that have it)}"""
    return {name: (float(value), where) for value, name, where in
            re.findall(r"^Sum of array is (\S+), by (\w+), on (.+)$", result.out, re.M)}


def passed(result, what=""):
    equal(result.code, 0, f"{what}: {result.err[-500:]}")
    equal(result.out.splitlines()[-1], "PASS", what)
    for r in result.records:
        assert r["check"]["passed"] and r["check"]["wrong"] == 0, f"{what}: {r}"


with test("numbers of a file, in a line, a column or an array, are summed by every strategy on 1 to 5 ranks"):
    numbers = [math.sin(i) * 10 ** (i % 7) for i in range(23)]
    texts = [repr(v) for v in numbers]
    files = [scratch("line.csv", ",".join(texts) + "\n"), scratch("column.csv", "\n".join(texts) + "\n"),
             scratch("a.mtx", "%%MatrixMarket matrix array real general\n23 1\n" + "\n".join(texts) + "\n")]
    for ranks in (1, 2, 3, 4, 5):
        file = files[ranks % 3]
        result = summed("--sum", "all", file, ranks=ranks)
        passed(result, f"{file} on {ranks}")
        found = sums(result)
        equal(list(found), list(STEPS), "strategies")
        for name, (value, where) in found.items():
            assert abs(value - math.fsum(numbers)) <= 1e-15 * 23 * sum(map(abs, numbers)), (name, value)
            equal(where, "every rank" if name == "butterfly" else "rank 0", name)

with test("-v prints the sum of each rank's part"):
    result = summed("--sum", "tree", "-v", scratch("parts.csv", "1,2,4\n8,16,32\n"), ranks=4)
    passed(result)
    equal(re.findall(r"^rank (\d): partial sum (\S+)$", result.out, re.M), [("0", "3"), ("1", "12"), ("2", "16"), ("3", "32")])
    assert "partial sum" not in summed("--sum", "tree", scratch("parts.csv", "1,2,4\n8,16,32\n"), ranks=2).out

with test("generated numbers are those of --start, --epsilon and --seed, in any number of ranks"):
    for args, expected in ((("--epsilon", 0, "--start", 2, "-n", 1001), 2002), (("--epsilon", 0, "--start", 2, "-m", 3, "-n", 7), 42)):
        equal({v for v, _ in sums(summed("--sum", "all", *args, ranks=3)).values()}, {float(expected)}, args)
    values = [sums(summed("--sum", "tree", "-n", 999, "--seed", seed, ranks=ranks))["tree"][0] for seed, ranks in ((1, 1), (1, 4), (2, 4))]
    assert abs(values[0] - values[1]) < 1e-9 and abs(values[1] - values[2]) > 1e-3, values

with test("a record has the strategy, its steps, T_calc, T_com, and the model's time that follows from them"):
    for ranks in (1, 3, 4):
        result = summed("-n", 50001, "--sum", "butterfly,linear,tree,linear", "-r", 7, ranks=ranks)
        passed(result, ranks)
        equal([r["sum"]["reduce"] for r in result.records], ["butterfly", "linear", "tree"], "order as given, each once")
        for r in result.records:
            s = r["sum"]
            equal((r["step"], r["kernel"], r["series"]["length"], r["run"]["repeat"]), ("sum", "cpu_sum_serial", 50001, 7), "record")
            equal(s["steps"], STEPS[s["reduce"]](ranks), f"{s} on {ranks}")
            assert s["calc_seconds"] > 0 and (s["com_seconds"] > 0) == (ranks > 1), s
            model = (math.ceil(50001 / ranks) - 1) * s["calc_seconds"] + s["steps"] * (s["com_seconds"] + s["calc_seconds"])
            assert abs(model / s["model_seconds"] - 1) < 1e-6, s
            assert 0 < s["combine_seconds"] and r["seconds"]["sequential"] > 0, r
            equal(r["check"]["checked"], ranks if s["reduce"] == "butterfly" else 1, "checked")

with test("the three strategies are three points, of one step"):
    lines = summed("-n", 500, "--sum", "all", ranks=2).records + summed("-n", 500, "--sum", "all", ranks=2).records
    study = analyzed(*lines)
    equal(sorted((p.step, p.kernel, p.spread.rounds) for p in study.measured),
          [("sum", f"cpu_sum_serial, {name}", 2) for name in sorted(STEPS)], "points")

with test("f32, another kernel, CSV output, and nothing checked"):
    result = summed("-p", "f32", "--kernel", "cpu_sum_compensated", "-n", 10000, "--sum", "all", "--csv", scratch("s.csv"), ranks=3)
    passed(result)
    equal({r["kernel"] for r in result.records}, {"cpu_sum_compensated"}, "kernel")
    within(open(scratch("s.csv")).readline(), "sum.reduce,sum.steps,sum.calc_seconds")
    result = summed("--verify", "none", "-n", 10, "--sum", "tree", ranks=2)
    equal((result.code, result.records[0]["check"]["checked"]), (0, 0), result.err)
    within(result.out, "not checked")

with test("what --sum has no use for is a usage error"):
    for args, part in ((("--sum", "three"), "linear, tree, butterfly"), (("--sum", "tree", "--steps", "mean"), "--steps"),
                       (("--sum", "tree", "--layout", "index"), "--layout"), (("--sum", "tree", "-o", "r"), "--output"),
                       (("--sum", "tree", "--kernel", "cpu_sum,cpu_sum_serial"), "one --kernel"),
                       (("--sum", "tree", "--kernel", "cpu_walk"), "one --kernel"), (("--sum", "tree", "--kernel", "all"), "one --kernel"),
                       (("--sum", "tree", "--tolerance", "1"), "--sum does not use --tolerance"), (("--sum", "tree,"), "--sum tree,")):
        refused(run(*args, program=SERIES, ranks=2, records=False), 2, part, what=args)

with test("sums beyond the range of the precision are exit code 4"):
    for args, text in (((), "1e308,1e308,1e308\n"), (("-p", "f32"), "3e38,3e38\n")):
        refused(summed("--sum", "all", *args, scratch("huge.csv", text), ranks=2), 4, "beyond the range")

with test("a wrong sum fails the run, whichever rank has it"):
    for name, rank, wrong in (("linear", 0, 1), ("butterfly", 2, 1), ("butterfly", 0, 3), ("tree", 2, 0)):
        result = summed("-n", 99, "--sum", name, ranks=3, env={"SPMM_FAULT": f"step:{rank}:wrong"})
        equal((result.code, result.records[0]["check"]["wrong"]), (1 if wrong else 0, wrong), f"{name} {rank}: {result.out}")
        equal(result.out.splitlines()[-1], "FAIL" if wrong else "PASS", name)

with test("a rank that fails or is killed at any stage ends the job with one message"):
    for stage in ("series", "step", "probe", "check", "report"):
        refused(summed("-n", 99, "--sum", "all", ranks=3, limit=30, env={"SPMM_FAULT": f"{stage}:2"}), 4, f"stage {stage}", what=stage)
    result = summed("-n", 99, "--sum", "all", ranks=3, limit=30, env={"SPMM_FAULT": "step:1:kill"})
    assert result.code not in (0, 1), f"killed: {result.code}"

finish()
