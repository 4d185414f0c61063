"""series_mpi: results compared with numpy's, input files, exit codes, messages, faults.
limit: 600"""
import json
import os
import re

from command import ROOT, SERIES, ended, equal, finish, refused, run, scratch, skip, test, within

try:
    import numpy
    import scipy.io
except ImportError:
    numpy = None

CPU = ("-d", "cpu", "-t", 1, "-r", 1, "--warmup", 0)


def series(*args, **more):
    return run(*CPU, *args, program=SERIES, **more)


def passed(result, what=""):
    equal(result.code, 0, f"{what}: exit code; {result.err[-500:]}")
    equal(result.out.splitlines()[-1], "PASS", what)
    for r in result.records:
        assert r["check"]["passed"] and r["check"]["wrong"] == 0, f"{what}: {r}"


def coefficients(*args, **more):
    """The matrix that -o writes."""
    path = scratch("r.mtx")
    if os.path.exists(path):
        os.remove(path)
    result = series("-o", path, *args, **more)
    passed(result, args)
    return scipy.io.mmread(path), result


def csv(name, data, separator=","):
    return scratch(name, "\n".join(separator.join(f"{v:.17g}" for v in row) for row in data) + "\n")


def array(name, data):
    path = scratch(name)
    scipy.io.mmwrite(path, data.T, precision=17)
    return path


def right(data):
    with numpy.errstate(all="ignore"):
        r = numpy.corrcoef(data)
    r = numpy.atleast_2d(r)
    constant = [i for i, row in enumerate(data) if (row == row[0]).all()]
    r[constant, :] = 0
    r[:, constant] = 0
    return r, constant


def near(found, expected, tolerance, what):
    equal(found.shape, expected.shape, what)
    worst = abs(found - expected).max()
    assert worst <= tolerance, f"{what}: differs by {worst}"


def beside_numpy():
    random = numpy.random.default_rng(1)
    data = random.standard_normal((23, 57)).cumsum(axis=1)
    data[4] = 7.25
    data[9] = -3 * data[8] + 1
    expected, constant = right(data)

    with test("coefficients of CSV and Matrix Market files are numpy's, on 1 to 5 ranks, in both layouts"):
        files = [csv("a.csv", data), csv("b.csv", data, ";"), csv("c.csv", data, "\t"), array("a.mtx", data)]
        for ranks in (1, 2, 3, 4, 5):
            for i, file in enumerate(files):
                layout = ("series", "index")[(ranks + i) % 2]
                found, result = coefficients("--layout", layout, file, ranks=ranks)
                near(found, expected, 1e-13, f"{file} on {ranks}")
                pearson = result.records[-1]
                equal(pearson["pearson"]["constant_series"], len(constant), "constant series")
                equal(pearson["pearson"]["pairs"], 22 * 21 // 2, "pairs")
                within(result.out, "constant series, which have none: 1")
                assert not re.search(r"\bnan\b", result.out), result.out

    with test("single precision is numpy's to its precision"):
        found, _ = coefficients("-p", "f32", csv("a.csv", data), ranks=2)
        near(found, expected, 1e-4, "f32")

    with test("the pairs named are the extreme ones, and means, quantiles and outsiders are numpy's"):
        _, result = coefficients("--top", 4, "--bound", 0.05, csv("a.csv", data), ranks=3)
        live = [i for i in range(23) if i not in constant]
        pairs = sorted(((expected[i, j], i, j) for i in live for j in live if i < j), reverse=True)
        named = [(int(a), int(b), float(r)) for a, b, r in
                 re.findall(r"series +(\d+) and +(\d+) +([+-][\d.]+)", result.out)]
        equal(len(named), 8, "pairs")
        for (i, j, r), (e, a, b) in zip(named, pairs[:4] + pairs[::-1][:4]):
            equal((i, j), (a, b), "pair")
            assert abs(r - e) < 1e-8
        mean = {i: (expected[i, live].sum() - 1) / (len(live) - 1) for i in live}
        below = sorted((m, i) for i, m in mean.items() if m < 0.05)
        within(result.out, f"below 0.05: {len(below)} of 22")
        listed = re.findall(r"^  series +(\d+)  ([+-][\d.]+)$", result.out, re.M)
        for (i, r), (m, e) in zip(listed, below):
            assert abs(float(r) - m) < 1e-8, (listed, below)
        values = [p[0] for p in pairs]
        p = result.records[-1]["pearson"]
        assert abs(p["min"] - min(values)) < 1e-9 and abs(p["max"] - max(values)) < 1e-9
        for name, share in (("q05", .05), ("q25", .25), ("q50", .5), ("q75", .75), ("q95", .95)):
            low, high = numpy.quantile(values, [max(share - .02, 0), min(share + .02, 1)])
            assert low - 1e-3 <= p[name] <= high + 1e-3, (name, p[name], low, high)


if numpy is None:
    skip("coefficients are numpy's", "no numpy")
else:
    beside_numpy()

with test("generated series give the same coefficients for any number of ranks, kernel and layout"):
    texts = set()
    for ranks in (1, 2, 5):
        for layout in ("series", "index"):
            result = series("-m", 40, "-n", 101, "--layout", layout, "--verify", "full", "--kernel", "all", ranks=ranks)
            passed(result, f"{ranks} {layout}")
            texts.add(tuple(round(result.records[-1]["pearson"][q], 9) for q in ("min", "q25", "q50", "q75", "max")))
            steps = [r["step"] for r in result.records]
            equal(sorted(set(steps)), ["deviation", "generate", "mean", "pearson"], "steps")
    equal(len(texts), 1, f"{texts}")

with test("a record has what its run was, and each step's bytes, operations and share of the copy bandwidth"):
    result = series("-m", 30, "-n", 64, "--epsilon", 2.5, "--start", -4, "--seed", 9, "-p", "f32", ranks=2)
    passed(result)
    equal([r["step"] for r in result.records], ["generate", "mean", "deviation", "pearson"], "steps")
    r = result.records[1]
    equal(r["series"] | {"source": ""}, {"source": "", "count": 30, "length": 64, "start": -4, "epsilon": 0.025, "seed": 9,
                                         "layout": "series"}, "series")
    equal((r["run"]["ranks"], r["run"]["precision"], r["run"]["device"], r["seconds"]["n"]), (2, "f32", "cpu", 1), "run")
    equal((r["roofline"]["bytes"], r["roofline"]["flops"]), (30 * 64 * 4 + 30 * 8, 30 * 64), "work")
    share = r["roofline"]["bytes"] / r["seconds"]["median"] / r["roofline"]["copy_bytes_per_second"]
    assert abs(share / r["roofline"]["copy_share"] - 1) < 1e-6

with test("step mean reduces by each operator, in either layout, on any number of ranks, and its record says so"):
    for operator, width, flops in (("minimum", 1, 1), ("maximum", 1, 1), ("product", 2, 1), ("dot", 1, 2), ("matrix", 4, 12)):
        for ranks, layout, precision in ((1, "series", "f32"), (3, "index", "f64")):
            result = series("-m", 20, "-n", 1001, "--operator", operator, "--kernel", "all", "--layout", layout, "-p", precision,
                            "--verify", "full", ranks=ranks)
            passed(result, operator)
            found = [r for r in result.records if r["step"] == "mean"]
            assert {"cpu_sum_serial", "cpu_sum_ordered"} == {r["kernel"] for r in found}, found
            equal({r["step"] for r in result.records}, {"generate", "mean"}, "steps")
            for r in found:
                equal((r["run"]["operator"], r["run"]["blocks_per_series"]), (operator, 0), "run")
                equal(r["check"]["checked"], 20 * (width if operator == "matrix" else 1), "checked")
                equal((r["roofline"]["bytes"], r["roofline"]["flops"]),
                      (20 * 1001 * (8 if precision == "f64" else 4) + 8 * width * 20, flops * 20 * 1001), "work")
            within(result.out, f"\n{operator} ")
    equal(series("-m", 5, "-n", 9).records[1]["run"]["operator"], "sum", "the default")

with test("products of values of any size are found, of the values of a file, too"):
    values = [[1e300] * 40, [-1e-300] * 39 + [3], [5] * 20 + [0] + [7] * 19]
    path = scratch("sizes.csv", "".join(",".join(map(str, row)) + "\n" for row in values))
    passed(series(path, "--operator", "product", "--kernel", "all", ranks=2))

def table_rows(result):
    """{(step, kernel): row} of the table of steps, as text."""
    names = "generate|mean|deviation|pearson|total"
    return {(m[1], m[2]): m[0] for m in re.finditer(rf"^({names}) +(fastest of each step|\S+) .*$", result.out, re.M)}

with test("step pearson has the times of its parts, within that of a pass; no other step has them"):
    for ranks, edge in ((1, {}), (3, {"SPMM_TILE_EDGE": "7"})):
        result = series("-m", 200, "-n", 400, "-r", 3, "--steps", "deviation,pearson", ranks=ranks, env=edge)
        passed(result)
        deviation, pearson = (r["seconds"] for r in result.records)
        parts = ("centre", "numerators", "coefficients")
        equal([deviation[p] for p in parts], [None] * 3, "parts of another step")
        assert all(0 < pearson[p] <= pearson["max"] for p in parts), pearson
        printed = re.findall(r"^ +- (\w+) +([\d.e-]+)$", result.out, re.M)
        equal([name for name, _ in printed], list(parts), "names")
        assert all(abs(float(ms) / (1e3 * pearson[p]) - 1) < 1e-3 for p, ms in printed), (printed, pearson)
    one = series("-m", 200, "-n", 2000, "-r", 3, "--kernel", "cpu_dots", "--steps", "pearson").records[0]["seconds"]
    assert one["numerators"] > one["coefficients"], one # 2000 operations per pair, compared with a few

with test("the table has the time over the step's fastest kernel, and the total over the steps by their fastest kernels"):
    result = series("-m", 60, "-n", 300, "--kernel", "all", "-r", 3)
    passed(result)
    rows, before = table_rows(result), 0
    for step in ("generate", "mean", "deviation", "pearson"):
        found = [r for r in result.records if r["step"] == step]
        best = min(r["seconds"]["median"] for r in found)
        for r in found:
            ratio = float(rows[step, r["kernel"]].split()[-2])
            assert abs(ratio - r["seconds"]["median"] / best) < 0.006, (r["kernel"], ratio)
            assert abs(r["seconds"]["total"] - before - r["seconds"]["median"]) < 1e-6 * r["seconds"]["total"], r
        before += best
    total = rows["total", "fastest of each step"].split()
    assert abs(float(total[5]) / (1e3 * before) - 1) < 1e-3, (total, before)
    assert "total " not in series("-m", 9, "-n", 20, "--steps", "mean").out, "one step"

with test("a kernel with wrong results is not the fastest of its step"):
    result = series("-m", 9, "-n", 20, "--steps", "mean", env={"SPMM_FAULT": "step:0:wrong"})
    equal(result.code, 1, result.err)
    (row,) = table_rows(result).values()
    equal(row.split()[11], "-", row)

with test("a CSV file gets one header and a row a step"):
    path = scratch("out.csv")
    for _ in range(2):
        passed(series("-m", 5, "-n", 9, "--csv", path))
    lines = open(path).read().splitlines()
    equal(len(lines), 9, "lines")
    within(lines[0], "roofline.copy_share")
    assert all(len(line.split(",")) == len(lines[0].split(",")) for line in lines)

with test("steps that are left out are not measured, and what they need is made all the same"):
    for steps in ("mean", "pearson", "generate", "generate,deviation"):
        result = series("-m", 9, "-n", 20, "--steps", steps, ranks=2)
        passed(result, steps)
        equal([r["step"] for r in result.records], steps.split(","), steps)

with test("--accuracy shows that f32 loses what f64 keeps, and compensation wins some of it back"):
    path = scratch("accuracy.jsonl")
    result = run("-d", "cpu", "-t", 1, "--accuracy", "-m", 64, "-n", 4096, "--json", path, program=SERIES, ranks=2)
    equal(result.code, 0, result.err)
    rows = {(r["precision"], r["kernel"]): r for r in map(json.loads, open(path))}
    equal(len(rows), 8, "rows")
    plain, better = rows["f32", "cpu_sum_serial"], rows["f32", "cpu_sum_compensated"]
    assert plain["sums_within_0.1"] < 0.9 and plain["worst_relative"] > 3 * better["worst_relative"]
    assert better["worst_relative"] < 1.2e-7
    assert all(r["sums_within_0.001"] == 1 for (p, _), r in rows.items() if p == "f64")

def named(*args, ranks):
    """([(series, its sum, the reference)] of the lines "Series N: .." of --accuracy -v, all lines of its output)"""
    result = run("-d", "cpu", "-t", 1, "--accuracy", "-v", *args, program=SERIES, ranks=ranks, records=False)
    equal(result.code, 0, result.err)
    return [(int(m), float(a), float(b)) for m, a, b in re.findall(r"^ +Series (\d+): (\d+\.\d{6}) VS (\d+\.\d{6})$", result.out, re.M)], \
        result.out.splitlines()

with test("--accuracy -v names the first series whose sums differ, of all ranks, with both sums, below the row of the plain sum"):
    many = ("-m", 64, "-n", 4096)
    found, lines = named(*many, ranks=1)
    equal(len(found), 8, "series named")
    row = next(i for i, line in enumerate(lines) if "cpu_sum_serial" in line)
    assert lines[row].startswith("f32") and all(" VS " in line for line in lines[row + 1:row + 9]), lines
    equal(named(*many, ranks=3)[0], found, "on 3 ranks")
    apart = named(*many, "--tolerance", "1000,0.3", ranks=2)[0]
    assert apart != found and all(abs(a - b) > 0.3 for _, a, b in apart), apart
    # if fewer than 8 series differ by the table, all of them are listed
    few, lines = named("-m", 20, "-n", 64, ranks=5)
    alike = float(re.findall(r"([\d.]+) %", next(line for line in lines if "cpu_sum_serial" in line))[2])
    assert 0 < len(few) < 8 and few == sorted(few), few
    equal(len(few), round(20 * (1 - alike / 100)), f"{few}, with {alike} % alike")
    equal(named("-m", 9, "-n", 4, ranks=2)[0], [], "sums of four values")
    assert " VS " not in run("-d", "cpu", "--accuracy", *many, program=SERIES, records=False).out

with test("a usage error is exit code 2, one line and a hint"):
    for args, part in ((("--no-such",), "--no-such"), (("-m", "0"), "--series 0"), (("--epsilon", "101"), "0 to 100"),
                       (("--steps", "sum"), "generate, mean"), (("--kernel", "csr_rows"), "--list-kernels"),
                       (("--kernel", "cpu_sum,walk_tiles"), "walk_tiles"), (("-m", "5", "file"), "--series"),
                       (("--steps", "generate", "file"), "generate"), (("-o", "r", "--steps", "mean"), "--output"),
                       (("--layout", "index", "--kernel", "cpu_sum"), "--layout series"),
                       (("--steps", "generate", "--kernel", "cpu_sum"), "--steps"), (("--accuracy", "file"), "--accuracy"),
                       (("a", "b"), "more than one"), (("--top", "2000000"), "--top"),
                       (("--kernel", "cpu_sun"), "no such kernel"), (("--tolerance", "1"), "--accuracy"), (("-v",), "--verbose has an effect only with --accuracy and --sum"),
                       (("--seed", "3", "file"), "--seed"), (("-d", "cpu", "--block-size", "64"), "--block-size"),
                       (("-d", "cpu", "--blocks-per-series", "2,4"), "--blocks-per-series"),
                       (("-d", "cpu", "--memory", "mapped"), "--memory mapped is for a GPU"),
                       (("--memory", "managed", "--accuracy"), "--memory"), (("--memory", "managed", "--sum", "all"), "--memory"),
                       (("--blocks-per-series", "2,0"), "--blocks-per-series 0"), (("--operator", "max"), "expected one of sum"),
                       (("--operator", "dot", "--steps", "mean,deviation"), "pearson need"),
                       (("--operator", "dot", "--steps", "generate"), "step mean"),
                       (("--operator", "matrix", "--accuracy"), "--accuracy"),
                       (("--operator", "minimum", "--kernel", "cpu_sum"), "--operator minimum"),
                       (("--st", "9"), "ambiguous: expected --start or --steps"), (("-o", "r", "--csv", "r"), "the same file, r")):
        result = run(*args, program=SERIES, ranks=2, records=False)
        if part == "walk_tiles" and result.code == 4:
            continue # a build without CUDA reports that first
        refused(result, 2, part, what=args)
        within(result.err, "see series_mpi --help")

with test("a wrong input is exit code 3, and names file and line"):
    for name, text, part in (("short", "1,2,3\n4,5\n", ":2: found 2 values, expected 3"),
                             ("text", "1,2\n3,x\n", ':2: found "x"'), ("header", "time,value\n1,2\n", ":1:"),
                             ("nan", "1,2\nnan,3\n", ":2:"), ("empty", "", "empty"), ("comments", "# a\n\n", ""),
                             ("range", "1,2\n1,1e999\n", ":2:"),
                             ("sparse", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "after 3 of 4 entries"),
                             ("none", "%%MatrixMarket matrix array real general\n0 0\n", "")):
        path = scratch(f"{name}.csv", text)
        for ranks in (1, 3):
            result = series(path, ranks=ranks, records=False)
            refused(result, 3, path, part, what=name)
    equal(series("no/such/file").code, 3, "no file")

with test("sums beyond the range of the precision are refused, not averaged"):
    path = scratch("huge.csv", "1e308,1e308,1e308\n1,2,3\n")
    result = series(path, ranks=2)
    equal(result.code, 4, result.err)
    within(result.err, "series 0: its sum, or a value, is beyond the range of f64")
    equal(series("-p", "f32", scratch("huge32.csv", "3e38,3e38,3e38\n1,2,3\n")).code, 4, "f32")

with test("a result that is wrong fails the run, with the series that it is"):
    for steps in ("generate", "mean", "deviation"):
        result = series("-m", 9, "-n", 20, "--steps", steps, ranks=2, env={"SPMM_FAULT": "step:0:wrong"})
        equal(result.code, 1, f"{steps}: {result.err}")
        within(result.out, "wrong, series 0: ")
        equal(result.out.splitlines()[-1], "FAIL", steps)
        equal(result.records[0]["check"]["passed"], False, steps)
    result = series("-m", 9, "-n", 20, ranks=2, env={"SPMM_FAULT": "step:0:wrong"})
    equal(result.code, 1, "all steps")
    for operator in ("minimum", "maximum", "product", "dot", "matrix"):
        result = series("-m", 9, "-n", 20, "--steps", "mean", "--operator", operator, ranks=2,
                        env={"SPMM_FAULT": "step:0:wrong"})
        equal(result.code, 1, f"{operator}: {result.err}")
        within(result.out, "wrong, series 0: ")

STAGES = sorted({name for file in (ROOT / "src/series_mpi").glob("*.c")
                 for name in re.findall(r'sp_agree\([^,;]+,\s*"(\w+)"', file.read_text())})

with test("a rank that fails or is killed at any stage ends the job, with one message and no output file"):
    assert {"series", "step", "pearson", "check", "report", "output"} <= set(STAGES), STAGES
    for stage in STAGES:
        for ranks, bad in ((1, 0), (3, 2)):
            path = scratch("fault.mtx")
            result = series("-m", 12, "-n", 30, "-o", path, ranks=ranks, limit=30, env={"SPMM_FAULT": f"{stage}:{bad}"})
            refused(result, 4, f"stage {stage}", what=stage)
            assert "PASS" not in result.out, stage
            assert stage == "output" or not os.path.exists(path), stage
            if os.path.exists(path):
                os.remove(path)
        result = series("-m", 12, "-n", 30, ranks=3, limit=30, env={"SPMM_FAULT": f"{stage}:1:kill"})
        assert result.code not in (0, 1), f"{stage} killed: {result.code}"

with test("with --timeout a rank that is stopped ends the job, and is named"):
    result = series("-m", 12, "-n", 30, "--timeout", 1, ranks=3, limit=20, env={"SPMM_FAULT": "pearson:1:stop"})
    ended(result, 4)
    within(result.error_lines()[0], "rank 1 (on ")
    passed(series("-m", 12, "-n", 30, "--timeout", 1, ranks=3))

with test("a full disk is exit code 4"):
    if os.path.exists("/dev/full"):
        for args in (("-o", "/dev/full"), ("--json", "/dev/full"), ("--csv", "/dev/full")):
            result = run(*CPU, "-m", 30, "-n", 30, *args, program=SERIES, records=False)
            equal(result.code, 4, f"{args}: {result.err}")
            within(result.err, "/dev/full")

with test("an output in a folder that is not there is exit code 4 before the work, and two in one file exit code 2"):
    path, broken = scratch("missing/file"), scratch("broken.csv", "no,series\n")
    for args in (("-o", path), ("--json", path), ("--csv", path)):
        result = run(*CPU, *args, broken, program=SERIES, ranks=2, records=False)
        equal((result.code, len(result.error_lines()), result.out), (4, 1, ""), result.err)
        within(result.error_lines()[0], path)
    result = run("-d", "cpu", "--accuracy", "--csv", path, program=SERIES, records=False)
    equal((result.code, result.out), (4, ""), result.err)
    result = run(*CPU, "-o", scratch("twice"), "--json", scratch("twice"), broken, program=SERIES, records=False)
    equal((result.code, os.path.exists(scratch("twice"))), (2, False), result.err)

with test("help, version and kernels are told once, from any number of ranks"):
    for option, part in (("--help-all", "--epsilon PCT"), ("--version", "series_mpi 0."), ("--list-kernels", "cpu_walk ")):
        for ranks in (1, 2):
            result = run(option, program=SERIES, ranks=ranks, records=False)
            equal(result.code, 0, option)
            equal(result.out.count(part), 1, option)

finish()
