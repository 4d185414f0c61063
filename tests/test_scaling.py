"""jobs/scaling and jobs/report: the laws are recovered from records made by known laws, and the page is complete.
limit: 300"""
import csv
import io
import json
import math
import os
import statistics
import subprocess
import sys

from command import ROOT, equal, finish, parts, patience, run, scratch, skip, test, within
import made_records as made
from study_tools import Checker, analyzed, cells, checked_page, near, start, without_matplotlib
from spmm_study import laws, page, records, series, tables

try:
    from spmm_study import plots
except ImportError:
    plots = None

# ---- laws ----

with test("Amdahl's law with overhead gives its serial fraction and overhead back, for both forms"):
    for form, steps in laws.OVERHEADS.items():
        for a, c in ((0.03, 2e-6), (0.0, 1e-5), (0.2, 0.0), (0.0, 0.0)):
            fit = laws.fit_amdahl({p: 1e-3 * (a + (1 - a) / p) + c * steps(p) for p in (1, 2, 4, 8, 16)})
            near(fit.serial, a, 1e-9)
            near(fit.overhead * 1e6, c * 1e6, 1e-9)
            near(fit.residual, 0, 1e-9)
            assert c == 0 or fit.form == form, (fit.form, form)
            near(fit.seconds(64), 1e-3 * (a + (1 - a) / 64) + c * steps(64))

with test("the fit stays within its bounds on superlinear times, and says what few points cannot decide"):
    fit = laws.fit_amdahl({1: 1.0, 2: 0.4, 4: 0.2})
    equal((fit.serial, fit.overhead), (0.0, 0.0))
    assert laws.fit_amdahl({2: 1.0, 4: 0.5}) is None and laws.fit_amdahl({1: 1.0}) is None
    fit = laws.fit_amdahl({1: 1.0, 4: 0.4})
    near(fit.serial, laws.karp_flatt(2.5, 4))
    assert not fit.determined and not fit.is_free
    fit = laws.fit_amdahl({1: 1.0, 2: 3.0, 4: 9.0})
    assert 0 <= fit.serial <= 1 and fit.overhead > 0, fit

with test("speed-up is greatest where the fit says"):
    for form in laws.OVERHEADS:
        fit = laws.Fit(1.0, 0.02, 1e-3, form, 0.0, 5)
        p, best = fit.peak()
        equal(p, min(range(1, 2000), key=fit.seconds), form)
        near(best, 1 / fit.seconds(p))
    assert laws.Fit(1.0, 0.02, 0.0, "p-1", 0.0, 5).peak() is None

with test("Karp and Flatt's fraction is constant where only serial work limits; the notes' efficiencies come out"):
    for p in (2, 3, 8, 100):
        near(laws.karp_flatt(1 / (0.07 + 0.93 / p), p), 0.07)
    for p, s, e in ((2, 1.88, 0.94), (4, 3.00, 0.75), (8, 3.75, 0.47)):
        near(laws.efficiency(s, p), e, 5e-3)

with test("Gustafson's share comes back from scaled speed-ups, and is kept within 0 and 1"):
    near(laws.fit_gustafson({p: laws.gustafson(0.11, p) for p in (1, 2, 4, 8)}), 0.11)
    near(laws.gustafson_share(laws.gustafson(0.11, 8), 8), 0.11)
    equal((laws.fit_gustafson({2: 2.5}), laws.fit_gustafson({1: 1.0}), laws.fit_gustafson({2: 0.5})), (0.0, None, 1.0))

with test("the cost models are the dense ones of the notes at K = 1 and nnz = m n"):
    rates, m, n = laws.Rates(3.0, 5.0 / 8), 40, 30
    for p, q in ((4, 1), (1, 4), (2, 8)):
        product = laws.Product(m, m * n, 1, (p, q), 8)
        near(laws.model_seconds(product, rates, "linear"), 2 * m * n / (p * q) * 3.0 + (q - 1) * m / p * (3.0 + 5.0))
        near(laws.model_seconds(product, rates, "tree"), 2 * m * n / (p * q) * 3.0 + math.log2(q) * m / p * (3.0 + 5.0))
    rates.latency = 7.0
    near(laws.left_out_seconds(laws.Product(m, m * n, 2, (2, 8), 8), rates, 10, 3, 1.5),
         10 * 2 * 5.0 + (3 + 3) * 7.0 + 0.5 * 2 * m * n * 2 / 16 * 3.0)

with test("the roofline's DRAM bound counts what a CSR product must move, and the ceiling is the lower of the two"):
    equal(laws.dram_bytes(100, 10, 12, 4, 8), 100 * 12 + 8 * 11 + 8 * 4 * 22)
    equal((laws.ceiling(0.5, 100, 80), laws.ceiling(0.5, 100), laws.ceiling(2, 100, 80)), (50, 50, 80))

# ---- records ----

with test("rounds of a point are combined: median of medians, all samples' mean and variance, the widest bounds"):
    samples = ([1.0, 2.0, 6.0], [2.0, 4.0, 5.0, 9.0], [3.0, 3.0])
    groups = []
    for s in samples:
        mean = sum(s) / len(s)
        variance = sum((v - mean) ** 2 for v in s) / (len(s) - 1)
        groups.append({"n": len(s), "median": sorted(s)[len(s) // 2], "mean": mean, "stddev": variance ** 0.5,
                       "variance": variance, "min": min(s), "max": max(s), "median_low": min(s), "median_high": max(s)})
    every = sum(samples, [])
    mean = sum(every) / len(every)
    spread = records.combine(groups)
    equal((spread.median, spread.minimum, spread.maximum, spread.low, spread.high, spread.count, spread.rounds),
          (3.0, 1.0, 9.0, 1.0, 9.0, 9, 3))
    near(spread.mean, mean)
    near(spread.variance, sum((v - mean) ** 2 for v in every) / (len(every) - 1))
    groups[1]["median_low"] = None
    equal(records.combine(groups).low, None, "an interval that one round lacks")

with test("strong scaling of records by a law: series, speed-ups against one rank and the serial product, the fit"):
    rows = made.amdahl(1e-3, 0.05, 3e-6, math.log2)
    serial = [made.run(2e-3, kernel="cpu_serial"), made.run(9e-3, kernel="cpu_serial", k=9)]
    study = analyzed(made.environment(), *serial, *rows)
    equal([len(g.series) for g in study.strong], [1], "series")
    one = study.strong[0].series[0]
    equal([p.ranks for p in one.points], [1, 2, 4, 8, 16])
    near(one.fit.serial, 0.05, 1e-6)
    equal(one.fit.form, "log2 p")
    near(one.absolute(one.points[0]), 2.0)
    near(one.relative(one.points[1]), 1e-3 / rows[1]["apply"]["median"])
    within(tables.text(study.strong_tables()[1]), "log2 p")

with test("complex values count 8 operations per entry and column, and their bytes"):
    study = analyzed(made.environment(), *(made.run(1.0, precision=p) for p in ("f64", "c128", "c64")))
    equal({p.precision: (p.flop, p.value_bytes) for p in study.points},
          {"f64": (2 * 1490400 * 8, 8), "c128": (8 * 1490400 * 8, 16), "c64": (8 * 1490400 * 8, 8)})

with test("records of predictions, which earlier versions wrote, and counts of --dry-run are left out"):
    counts = scratch("counts.jsonl")
    equal(run("--dry-run", "--plan-ranks", "1,2", "--json", counts, "lap2d5:9", records=False).code, 0)
    study = analyzed(made.run(1.0), {"schema": 1, "prediction": {"ranks": 4, "seconds": 0.5}}, *map(json.loads, open(counts, encoding="utf-8")))
    equal((len(study.points), study.records.failures), (1, []))

with test("scaling over threads of one rank gives its serial fraction back, beside a strong scaling of other threads"):
    rows = [made.run(0.1 + 0.9 / t, threads=t) for t in (1, 2, 4, 8)] + [made.run(0.2, threads=4, ranks=2)]
    study = analyzed(*rows)
    one = study.threaded[0].series[0]
    equal(([one.size(p) for p in one.points], len(study.threaded), len(study.strong)), ([1, 2, 4, 8], 1, 1))
    near(one.fit.serial, 0.1, 1e-6)
    near(one.relative(one.points[-1]), 1 / 0.2125)
    within(tables.text(study.threads_tables()[0]), "threads")

with test("distributions are series of their own that begin with the same one rank; the fastest grid of a kind counts"):
    study = analyzed(made.run(1.0), made.run(0.5, ranks=4), made.run(0.6, ranks=4, grid=(1, 4)),
                     made.run(0.9, ranks=8, grid=(2, 4)), made.run(0.8, ranks=8, grid=(4, 2)))
    found = {s.label.split(", ")[1][3:]: [p.spread.median for p in s.points] for s in study.strong[0].series}
    equal(found, {"rows": [1.0, 0.5], "columns": [1.0, 0.6], "blocks": [1.0, 0.8]})

with test("weak scaling by Gustafson's law gives its share back, by the entries' true growth"):
    share, weak = 0.1, "uniform:{1000*ranks},10"
    rows = [made.run(1e-3 * (w / laws.gustafson(share, p)), matrix=f"uniform:{1000 * p},10", rows=1000 * p,
                     nnz=round(10000 * w), ranks=p, weak=weak) for p, w in ((1, 1), (2, 2.1), (4, 3.9), (8, 8))]
    study = analyzed(*rows, made.run(2e-3, matrix="uniform:1000,10", rows=1000, nnz=10000, kernel="cpu_serial"))
    equal((len(study.strong), len(study.weak)), (0, 1))
    one = study.weak[0].series[0]
    near(one.share, share, 1e-6)
    near(one.scaled(one.points[2]), laws.gustafson(share, 4), 1e-6)
    near(one.scaled_absolute(one.points[2]), 2 * laws.gustafson(share, 4), 1e-6)

with test("cost models use the probe's rates, or one rank's, and are left out without either"):
    probe = (1e-6, 1e-9, 2e-9)
    study = analyzed(made.run(1e-3, probe=probe), made.run(6e-4, ranks=4, grid=(2, 2), probe=probe, received=400))
    one = study.strong[0].series[0]
    model = series.models(one, one.points[1], study.points)
    p = one.points[1]
    near(model.notes_probe, 2 * p.nnz * 8 / 4 * 2e-9 + p.rows / 2 * 8 * (2e-9 + 8e-9))
    flop = 1e-3 / p.flop
    near(model.notes_one_rank, 1e-3 / 4 + p.rows / 2 * 8 * (flop + 8e-9))
    near(model.complete, model.notes_one_rank + 100 * 8 * 8e-9 + (2 + 1) * 1e-6 + 0.01 * 1e-3 / 4)
    equal(analyzed(made.run(1.0, ranks=2), made.run(1.0, ranks=4)).model_tables(), [], "without probe and one rank")

with test("the steps of a sum, and how many ranks add in each, are those of the three strategies"):
    for q in range(1, 40):
        for reduce in ("linear", "tree", "butterfly"):
            equal(sum(adders * steps for adders, steps in laws.sum_adders(q, reduce)), q - 1, f"additions of {q} by {reduce}")
    equal([laws.sum_steps(q, "linear") for q in (1, 2, 5, 8)], [0, 1, 4, 7])
    equal([laws.sum_steps(q, "tree") for q in (1, 2, 3, 5, 8, 1000)], [0, 1, 2, 3, 3, 10])
    equal([laws.sum_steps(q, "butterfly") for q in (1, 2, 3, 5, 8, 1000)], [0, 1, 3, 4, 3, 11])
    equal(laws.sum_adders(6, "tree"), [(3, 1), (1, 1), (1, 1)])

with test("the generalized law is Amdahl's for a_1 and a_p, and the notes' speed-up of a sum without T_com"):
    near(laws.generalized_speedup({1: 0.1, 10: 0.9}), 1 / (0.1 + 0.9 / 10))
    near(laws.generalized_speedup({1: 0.25, 2: 0.25, 4: 0.5}), 2.0)
    for n, p in ((1000, 4), (64, 8), (16, 16)):
        for reduce, steps in (("linear", p - 1), ("tree", math.log2(p)), ("butterfly", math.log2(p))):
            found = laws.array_shares(n, p, reduce)
            near(sum(found.values()), 1.0)
            near(laws.generalized_speedup(found), (n - 1) / (n / p - 1 + steps))
    near(laws.generalized_speedup(laws.array_shares(10, 3, "tree")), 9 / (3 + 2))
    near(laws.generalized_speedup(laws.array_shares(10, 3, "butterfly")), 9 / (3 + 2))

with test("shares of a product: the fullest rank's excess is one rank's, and adding partial Y is that of those who add"):
    product = laws.Product(100, 1000, 3, (1, 4), 8)
    equal(laws.product_shares(product, 1.0, "linear"), {1: 3 * 300 / 6000, 4: 1.0})
    equal(laws.product_shares(product, 1.0, "tree"), {1: 300 / 6000, 2: 600 / 6000, 4: 1.0})
    equal(laws.product_shares(laws.Product(100, 1000, 3, (2, 2), 8), 1.0, "tree"), {2: 300 / 6000, 4: 1.0})
    rows = laws.Product(100, 1000, 3, (4, 1), 8)
    equal(laws.product_shares(rows), {4: 1.0})
    near(laws.generalized_speedup(laws.product_shares(rows, 1.6)), 4 / 1.6)
    complex_ = laws.Product(100, 1000, 3, (1, 4), 16, 2)
    equal(laws.product_shares(complex_, 1.0, "tree"), {1: 600 / 24000, 2: 1200 / 24000, 4: 1.0})
    # time of the notes' model without T_com: columns, linear sum
    near(laws.generalized_speedup(laws.product_shares(product, 1.0, "linear")),
         6000 / laws.model_seconds(product, laws.Rates(1.0, 0.0), "linear"))

with test("jobs/scaling prints the generalized law beside the measured speed-up, of products over ranks"):
    study = analyzed(made.run(1.0), made.run(0.5, ranks=4, grid=(1, 4), reduce="linear"), made.run(0.4, ranks=2))
    table = study.strong_tables()[-1]
    within(table.title, "Amdahl's law, generalized")
    # 216000 rows, 1490400 entries, imbalance 1.01
    allowed = 1 / ((1.01 - 1) / 3 * (1 - 1 / 4) + 1 / 4 + 3 * 216000 / (2 * 1490400))
    row = cells(table, ranks="4")
    equal((row["grid"], row["S"], row["S rel."], row["S rel. / S"]), ("1x4", f"{allowed:.2f}", "2.00", f"{2 / allowed:.2f}"))
    within(row["shares"], "a_1 0.221, a_4 0.997")
    equal(cells(table, ranks="2")["S"], f"{2 / 1.01:.2f}")
    equal([r[1] for r in table.rows], ["2", "4"], "one rank has no row")

with test("sums of partial Y stand beside their model, each strategy by itself, also those of one point"):
    probe = (1e-6, 1e-9, 2e-9)
    study = analyzed(*(made.run(1e-3 * (n + 1), ranks=4, grid=(1, 4), reduce=reduce, probe=probe, number=n)
                       for n, reduce in enumerate(("linear", "tree", "butterfly"))), made.run(1.0, ranks=4, probe=probe))
    table, = study.sum_tables()
    for n, (reduce, steps) in enumerate((("linear", 3), ("tree", 2), ("butterfly", 2))):
        row = cells(table, sum=reduce)
        model = steps * 216000 * 8 * (2e-9 + 8e-9)
        equal((row["steps"], row["product ms"], row["sum ms"], row["model ms"], row["with latency"], row["measured / that"]),
              (str(steps), tables.ms(1e-3 * (n + 1)), tables.ms(5e-5 * (n + 1)), tables.ms(model),
               tables.ms(model + steps * 1e-6), f"{5e-5 * (n + 1) / (model + steps * 1e-6):.2f}"), reduce)
    table, = analyzed(made.run(1.0, ranks=4, grid=(2, 2))).sum_tables()
    equal((table.rows[0][7], table.rows[0][9]), ("50", tables.NONE), "without a probe")
    equal(analyzed(made.run(1.0, ranks=4)).sum_tables(), [], "nothing is summed by rows")

with test("a cut last line is left out with a remark; a broken line elsewhere ends with file and line"):
    text = made.lines([made.environment(), made.run(1.0), made.run(0.5, ranks=2)])
    cut = scratch("cut.jsonl", text + made.lines([made.run(0.1, ranks=4)])[:200])
    found = records.read([cut])
    equal((len(found.points), len(found.remarks)), (2, 1))
    within(found.remarks[0], f"{cut}:4: ")
    broken = scratch("broken.jsonl", text[:-20] + "\n" + text)
    done = start("scaling", broken)
    equal(done.returncode, 3)
    within(done.stderr, f"{broken}:3: ")

with test("a run without times or entries does no harm"):
    study = analyzed(made.run(1.0, nnz=0), made.run(1.0, nnz=0, ranks=2), made.run(0.0, k=3))
    equal((len(study.points), len(study.records.remarks)), (2, 1))
    assert study.text() and page.report(study, "empty", plots)

with test("a failed point is listed with its exit code and last line, and not when it was tried again with success"):
    study = analyzed(made.run(1.0), made.failed(137, "Killed <here> & there", "p=1"), made.failed(4, "once", "again"))
    within(tables.text(study.failure_tables()[0]), "137")
    retried = made.run(1.0, ranks=2)
    retried["study"]["point"] = "again"
    study = analyzed(made.run(1.0), made.failed(4, "once", "again"), retried)
    equal(study.failure_tables(), [])
    wrong = made.run(1.0)
    wrong["error"]["passed"] = False
    equal([len(x) for x in (analyzed(wrong).points, analyzed(wrong).records.failures)], [0, 1], "wrong elements")

with test("plain records of spmm_mpi, without a study, scale too"):
    rows = [made.run(1.0 / p, ranks=p, threads=3 - p) for p in (1, 2)]
    for r in rows:
        del r["study"], r["apply"]["variance"], r["apply"]["median_low"]
    study = analyzed(*rows)
    near(study.strong[0].series[0].relative(study.strong[0].series[0].points[1]), 2.0)
    within(tables.text(study.strong_tables()[0]), "threads per rank differ")

with test("what is asked for distinguishes points and series, with a study and without, and stands in tables"):
    def one(seconds, ranks, word, number=0, plain=False, **launch):
        record = made.run(seconds / ranks, ranks=ranks, number=number, settings={} if plain or not word else {"reduce": word})
        record["launch"] = {"block_size": None, "subwarp": None, "registers": None, **launch}
        record["asked"] = {"reduce": word or "auto", "block_size": launch.get("block_size") or 0}
        return {k: v for k, v in record.items() if k != "study"} if plain else record
    for plain in (False, True):
        study = analyzed(made.environment(), *(one(t, ranks, word, number, plain) for number in range(1 if plain else 3) for t, word in
                                               ((1e-3, ""), (2e-3, "linear"), (3e-3, "tree")) for ranks in (1, 2, 4)))
        equal(len(study.points), 9)
        labels = [s.label for s in study.strong[0].series]
        equal([label.partition(", reduce=")[2] for label in labels], ["", "linear", "tree"], labels)
        equal([s.points[0].spread.median for s in study.strong[0].series], [1e-3, 2e-3, 3e-3])
        for table in [*study.phase_tables(), tables.points_table(study.points), tables.errors_table(study.points)]:
            place = table.heading.index("options")
            equal(sorted({row[place] for row in table.rows}), ["-", "reduce=linear", "reduce=tree"], table.title)
    sizes = analyzed(*(one(t, 1, "", plain=True, block_size=size, registers=40) for t, size in ((1e-3, 32), (2e-3, 64), (3e-3, 128))))
    equal([p.extras for p in sizes.points], ["block_size=32", "block_size=64", "block_size=128"])
    equal([row[-1] for row in tables.points_table(sizes.points).rows], ["32, 40 reg.", "64, 40 reg.", "128, 40 reg."])
    equal(len(tables.sweep_table(sizes.sweeps[0]).rows), 3, "a line each")
    equal([r for r in analyzed(made.run(1e-3), made.run(2e-3, number=1)).records.remarks if "ways" in r], [])

with test("what all points share is in the title of a table or plot, not in each label"):
    def checked(seconds, ranks=1, **settings):
        return made.run(seconds, ranks=ranks, settings={"options": "--verify sample", **settings})
    study = analyzed(checked(1e-3), checked(2e-3, k=8), checked(1e-3, reduce="tree"), checked(5e-4, 2), checked(6e-4, 2, reduce="tree"),
                     checked(1e-3, weak="w:{ranks}"), checked(1e-3, 2, weak="w:{ranks}"))
    for found, labels in ((study.sweeps[0], list(study.sweeps[0].lines)), (study.strong[0], [s.label for s in study.strong[0].series]),
                          (study.weak[0], [s.label for s in study.weak[0].series])):
        within(found.title, ", options=--verify sample")
        within(found.common_title, ", options=--verify sample")
        equal([label for label in labels if "verify" in label], [])
        equal(sum("reduce=tree" in label for label in labels), found is not study.weak[0], labels)
    other = analyzed(checked(1e-3), made.run(2e-3, k=8, settings={"kernel": "cpu_ell"}))
    equal(other.sweeps[0].title.count("verify"), 0)
    equal(sum("options=--verify sample" in label for label in other.sweeps[0].lines), 1)

with test("rounds that took different ways are named: by kernel, transport, backend, grid, exchange, block size"):
    def taken(number, group, name, value):
        record = made.run(1e-3, number=number, ranks=2, settings={"kernel": "auto", "format": "auto", "grid": "auto"})
        record.update(launch={"block_size": 256, "registers": 40}, plan={"backend": "direct"})
        record[group][name] = value
        return record
    for group, name, values, says in (("run", "kernel", ("cpu_csr", "cpu_ell"), "kernel cpu_csr and cpu_ell"),
                                      ("run", "transport", ("mpi", "shared"), "transport mpi and shared"),
                                      ("run", "grid", ([2, 1], [1, 2]), "grid 2x1 and 1x2"), ("run", "threads", (1, 2), "threads 1 and 2"),
                                      ("run", "exchange", ("halo", "joint"), "exchange halo and joint"),
                                      ("plan", "backend", ("direct", "shared"), "backend direct and shared"),
                                      ("launch", "block_size", (128, 256), "block_size 128 and 256"),
                                      ("launch", "registers", (40, 80), "registers 40 and 80"),
                                      ("moved", "column_blocks", (1, 4), "column_blocks 1 and 4"),
                                      ("moved", "reduce", ("tree", "mpi"), "reduce tree and mpi")):
        found = analyzed(*(taken(n, group, name, v) for n, v in enumerate(values))).records.remarks
        equal(len(found), 1, f"{name}: {found}")
        within(found[0], "WARNING: rounds of 1 point ran differently: lap3d7:60 K=8 auto f64 2 ranks: " + says)
        equal(analyzed(*(taken(n, group, name, values[0]) for n in range(2))).records.remarks, [])
    where = scratch("ways.html")
    lines = made.lines([taken(0, "run", "transport", "mpi"), taken(1, "run", "transport", "shared")])
    equal(start("report", scratch("ways-page.jsonl", lines), "-o", where).returncode, 0)
    within(checked_page(where)[0].text, "transport mpi and shared")

with test("the CSV has a row per point with the laws' numbers"):
    study = analyzed(made.run(4.0, kernel="cpu_serial"), *made.amdahl(1.0, 0.1, 0.0, math.log2, (1, 2, 4)))
    out = io.StringIO()
    tables.write_csv(out, study.points, study.strong, study.weak)
    rows = {(r["kernel"], r["ranks"]): r for r in csv.DictReader(io.StringIO(out.getvalue()))}
    equal(len(rows), 4)
    near(float(rows["cpu_csr", "4"]["karp_flatt"]), 0.1)
    near(float(rows["cpu_csr", "4"]["speedup_absolute"]), 4.0 / 0.325)
    near(float(rows["cpu_csr", "2"]["amdahl_a"]), 0.1)
    equal(rows["cpu_serial", "1"]["karp_flatt"], "")

with test("mean and deviation of the rate are those of the samples' rates, in tables and in the CSV, over rounds too"):
    times = [[1e-3, 1.01e-3, 0.99e-3, 1.02e-3], [1.03e-3, 1e-3, 0.98e-3, 1.01e-3]]
    rounds = [made.run(1e-3, number=n) for n in range(2)]
    for record, of in zip(rounds, times):
        record["apply"].update(n=4, mean=statistics.mean(of), stddev=statistics.stdev(of), variance=statistics.variance(of),
                               median=statistics.median(of))
    study = analyzed(*rounds)
    p, rates = study.points[0], [study.points[0].flop / 1e9 / t for of in times for t in of]
    near(p.mean_gflops, statistics.harmonic_mean(rates), 1e-9)
    near(p.gflops_deviation, statistics.stdev(rates), 0.01)
    out = io.StringIO()
    tables.write_csv(out, study.points, study.strong, study.weak)
    row = next(csv.DictReader(io.StringIO(out.getvalue())))
    near(float(row["variance_gflops2"]), statistics.variance(rates), 0.02)
    near(float(row["mean_gflops"]), p.mean_gflops)
    table = tables.points_table(study.points)
    equal(table.rows[0][table.heading.index("mean ± dev. of it")],
          f"{tables.significant(p.mean_gflops)} ± {tables.significant(p.gflops_deviation, 3)}")

def shaped(seconds, k=8, number=0, kernel="csr_vector_subwarp", taken=True, device="cuda", **asked_for):
    record = made.run(seconds, k=k, kernel=kernel, number=number, device=device, gpu="NVIDIA H200" if device == "cuda" else "",
                      settings=asked_for)
    if taken:
        record["launch"] = {"block_size": asked_for.get("block_size", 384), "subwarp": asked_for.get("subwarp", 2), "registers": 40}
    return record

def blocks(**more):
    """Records in which 512 threads are the best for K = 1, and 128 for K = 8; and one with the default of 384 threads."""
    return [shaped(abs(math.log2(size / best)) * 1e-3 + k * 1e-3, k, number, block_size=size, **more) for number in range(2)
            for k, best in ((1, 512), (8, 128)) for size in (64, 128, 256, 512, 1024)] + [shaped(9e-3, **more)]

with test("a table of GFLOP/s by the threads of a block marks the best of each kernel and K"):
    for taken in (True, False):
        study = analyzed(*blocks(taken=taken), shaped(1e-3, kernel="csr_scalar3", block_size=64), *(
            shaped(1e-3, device="cpu", kernel="cpu_csr", exchange=word) for word in ("halo", "bcast")))
        table, = study.shape_tables()
        equal(table.heading, ["kernel", "K", "64", "128", "256", *["384"] * taken, "512", "1024", "best", "its ms"])
        equal([(row[0], row[1], row[-2], row[-1]) for row in table.rows],
              [("csr_vector_subwarp", "1", "512", "1"), ("csr_vector_subwarp", "8", "128", "8")])
        for row, best in zip(table.rows, ("512", "128")):
            equal([name for name, cell in zip(table.heading, row) if cell.endswith(" *")], [best])
        equal(table.rows[0][2], tables.significant(next(p for p in study.points if p.k == 1 and p.settings.get("block_size") == 64).gflops))
        within(table.title, "GFLOP/s by threads per block: lap3d7:60, f64, 1 rank, NVIDIA H200")
    equal(analyzed(made.run(1e-3), made.run(2e-3, k=1)).shape_tables(), [])

with test("a table by the lanes of a sub-warp, each block size a row of its own, and the page and the terminal have both"):
    runs = [shaped(1e-3 * (1 + abs(math.log2(lanes) - 1)) * (2 if size == 64 else 1), block_size=size, subwarp=lanes)
            for size in (64, 512) for lanes in (1, 2, 4, 8, 16, 32)]
    study = analyzed(*runs)
    by_block, by_lanes = study.shape_tables()
    equal(by_lanes.heading, ["kernel", "K", "1", "2", "4", "8", "16", "32", "best", "its ms"])
    equal([(row[0], row[-2], row[-1]) for row in by_lanes.rows],
          [("csr_vector_subwarp, block_size=512", "2", "1"), ("csr_vector_subwarp, block_size=64", "2", "2")])
    equal([row[-2] for row in by_block.rows], ["512"] * 6)
    within(start("scaling", scratch("shapes.jsonl", made.lines(runs))).stdout, "GFLOP/s by lanes of a sub-warp")
    equal(start("report", scratch("shapes.jsonl"), "-o", scratch("shapes.html")).returncode, 0)
    within(checked_page(scratch("shapes.html"))[0].text, "GFLOP/s by lanes of a sub-warp")

if plots:
    with test("a figure of shapes has a panel per K with a line per kernel"):
        study = analyzed(*blocks(), *blocks(kernel="csr_vector"))
        (caption, picture), = study.shape_figures(plots)
        within(caption, "GFLOP/s over threads per block")
        equal([figure.axes[0].get_title() for figure in picture.parts()[0]], ["K = 1", "K = 8"])
        labels = picture.parts()[0][0].axes[0].get_legend_handles_labels()[1]
        equal(sorted(labels), ["csr_vector", "csr_vector_subwarp"])
        equal(analyzed(*(shaped(1e-3, block_size=n) for n in (64, 128))).shape_figures(plots), [])

    with test("GFLOP/s over K are lines for up to eight kernels, beside the heat map"):
        for count in (2, 3, 8, 9):
            study = analyzed(*(made.run(k * 1e-3 * (n + 1), k=k, kernel=f"csr_{n}") for n in range(count) for k in (1, 8, 64)))
            found = dict(study.kernel_figures(plots))
            over = [p for c, p in found.items() if c.startswith("GFLOP/s over K")]
            equal(len(over), count <= 8, f"{count} kernels")
            if over:
                equal(len(over[0].parts()[0][0].axes[0].get_legend_handles_labels()[1]), count)

# ---- the programs ----

with test("zero points, one point and the options' mistakes end with the documented exit codes"):
    empty, single = scratch("empty.jsonl", ""), scratch("single.jsonl", made.lines([made.run(1e-3)]))
    result = start("scaling", empty)
    equal((result.returncode, result.stdout), (0, "no points\n"))
    equal(start("report", empty, "-o", scratch("empty.html")).returncode, 0)
    checked_page(scratch("empty.html"))
    done = start("scaling", single, "--out", scratch("single"), "--csv", scratch("single.csv"))
    # the command may find matplotlib in another Python than this one
    equal(done.returncode, 4 if ": no plots: " in done.stderr else 0, done.stderr)
    equal(start("report", single, "-o", scratch("single.html")).returncode, 0)
    found, _ = checked_page(scratch("single.html"))
    assert "Strong scaling" not in found.headings and "Every point" in found.headings, found.headings
    within("".join(found.words), "Left out, without data: Strong scaling (no problem was run on two numbers of ranks)")
    for code, args in ((2, ()), (2, (single, "--predict", "0")), (2, (single, "--peak", "fast")),
                       (3, (scratch("absent.jsonl"),)), (3, (scratch("list.jsonl", "[1]\n"),)),
                       (3, (scratch("other.jsonl", "{\"a\": 1}\n"),)), (4, (single, "--csv", scratch("no/where.csv")))):
        result = start("scaling", *args)
        equal(result.returncode, code, f"{args}: {result.stderr}")
        assert "Traceback" not in result.stderr, result.stderr
    equal(start("report", single, "-o", scratch("no/where.html")).returncode, 4)
    equal(start("report", single).returncode, 2)

with test("without matplotlib there are tables only, and the package is named"):
    two = scratch("two.jsonl", made.lines(made.amdahl(1.0, 0.1, 0.0, math.log2, (1, 2, 4))))
    result = start("scaling", two, "--out", scratch("nothing"), env=without_matplotlib())
    equal(result.returncode, 4, "plots were asked for")
    within(result.stderr, "python3-matplotlib")
    within(result.stdout, "Strong scaling")
    equal(start("scaling", two, env=without_matplotlib()).returncode, 0, "and here they were not")
    assert not os.path.exists(scratch("nothing"))
    result = start("report", two, "-o", scratch("plain.html"), env=without_matplotlib())
    equal(result.returncode, 0, result.stderr)
    found, text = checked_page(scratch("plain.html"))
    assert "svg" not in found.tags and "python3-matplotlib" in text

def complaints(done):
    """The lines on the standard error, except on a missing matplotlib."""
    return [line for line in done.stderr.splitlines() if ": no plots: " not in line]


with test("a page, a table and a plot that the disk has no room for leave the older one, and nothing else"):
    found = scratch("found.jsonl", made.lines(made.amdahl(1.0, 0.1, 0.0, math.log2, (1, 2))))
    os.makedirs(scratch("drawn"), exist_ok=True)
    start("scaling", found, "--out", scratch("drawn"))
    drawn = [os.path.join(scratch("drawn"), name) for name in os.listdir(scratch("drawn"))]
    for program, option, files in (("report", "-o", [scratch("older.html")]), ("scaling", "--csv", [scratch("older.csv")]),
                                   *([("scaling", "--out", drawn)] if drawn else [])):
        for path in files:
            with open(path, "w", encoding="utf-8") as file:
                file.write("older")
        words = ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", sys.executable, str(ROOT / "jobs" / program), found, option,
                 scratch("drawn") if option == "--out" else files[0]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=patience(60), check=False)
        equal((done.returncode, len(complaints(done))), (4, 1), done.stderr)
        assert any(f"error: {path}: File too large" in done.stderr for path in files), done.stderr
        for path in files:
            with open(path, encoding="utf-8") as file:
                equal(file.read(), "older", option)
            equal(parts(path), [], option)

with test("a page replaces what a link points to, keeps its permissions, and goes into a device or the standard output"):
    found = scratch("found.jsonl", made.lines([made.run(1.0)]))
    target, link = scratch("real.html", "older"), scratch("link.html")
    os.chmod(target, 0o604)
    os.symlink("real.html", link)
    equal(start("report", found, "-o", link).returncode, 0)
    assert os.path.islink(link) and os.path.getsize(target) > 1000
    equal(os.stat(target).st_mode & 0o777, 0o604)
    equal(start("report", found, "-o", "/dev/null").returncode, 0)
    with open(scratch("printed"), "w+", encoding="utf-8") as file:
        subprocess.run([sys.executable, str(ROOT / "jobs/report"), found, "-o", "/dev/stdout"], stdout=file, check=True, timeout=patience(60))
        file.seek(0)
        text = file.read()
    assert text.startswith("<!DOCTYPE") and "/dev/stdout: 1 points" in text.splitlines()[-1], text[-200:]
    if os.path.exists("/dev/full"):
        done = start("report", found, "-o", "/dev/full")
        equal((done.returncode, complaints(done)), (4, ["report: error: /dev/full: No space left on device"]))

with test("a matrix whose name is no text comes into tables, the page and the CSV"):
    odd = scratch("bytes.jsonl", made.lines([made.run(1.0, matrix="of\udcff.mtx"), made.run(2.0, matrix="of\\xfe.mtx")]))
    made_page, table = scratch("bytes.html"), scratch("bytes.csv")
    for done in (start("scaling", odd, "--csv", table, env={"PYTHONIOENCODING": "utf-8"}), start("report", odd, "-o", made_page)):
        equal((done.returncode, complaints(done)), (0, []))
    for path in (made_page, table):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        within(text, "of\\xff.mtx")
        within(text, "of\\xfe.mtx")

with test("text of the records is escaped"):
    evil = "a<b>&\"c'\u0001</script><script>alert(1)</script>"
    rows = [made.environment(cpu=evil, host=evil), made.run(1.0, matrix=evil), made.run(0.5, matrix=evil, ranks=2),
            made.failed(1, evil, evil)]
    text = page.report(analyzed(*rows), evil, plots)
    found = Checker(text)
    assert found.tags.count("script") == 1 and "b" not in found.tags, found.tags
    within("".join(found.words), "a<b>&\"c'")

if plots:
    with test("the page of a study that has everything is whole: every section, unique ids, nothing from elsewhere"):
        everything = scratch("everything.jsonl", made.lines(made.everything()))
        result = start("report", everything, "-o", scratch("all.html"), "--title", "All of <it>", "--peak",
                       "H200=34000")
        equal(result.returncode, 0, result.stderr)
        found, _ = checked_page(scratch("all.html"))
        equal(found.headings, ["Outcome", "What was run where", "Strong scaling", "Weak scaling", "Distributions and cost models",
                               "Kernels over K", "Phases", "Roofline", "Errors", "Failed runs", "Every point",
                               "Environments", "Settings", "Records and commands"])
        assert "svg" in found.tags
        within("".join(found.words), "no memory for 12 GB of X on rank 3")

    with test("every plot is written as SVG and PNG, the same SVG for the same records"):
        rows = made.amdahl(1e-3, 0.05, 3e-6, math.log2, (1, 2, 4), copy=1e10) + \
            [made.run(2e-3, k=16), *(made.run(1e-3, weak="w:{ranks}", ranks=p) for p in (1, 2, 4))]
        texts = []
        for folder in ("first", "second"):
            files = analyzed(*rows, peaks=[("", 1e11)]).draw(plots, scratch(folder))
            texts.append([open(f, encoding="utf-8").read() for f in files if f.endswith(".svg")])
            assert all(os.path.getsize(f) > 1000 for f in files)
        kinds = ("speed-up", "strong-scaling", "efficiency", "weak-scaling", "phases", "roofline")
        for kind in (*kinds, "cost-models"):
            assert any(os.path.basename(f).startswith(kind) for f in files), (kind, files)
        assert texts[0] == texts[1], "SVG of the same records"
else:
    skip("plots and their page", "matplotlib is missing")

finish()
