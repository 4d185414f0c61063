"""jobs/scaling and jobs/report on records of series_mpi: tables, scaling over ranks, rooflines, CSV and the page, alone
and together with records of spmm_mpi.
limit: 120"""
import csv
import itertools
import os
import re

from command import equal, finish, scratch, skip, test, within
import made_records as made
import made_steps
from made_steps import step
from study_tools import analyzed, cells, checked_page, near, start, without_matplotlib
from spmm_study import laws, page, series, steps, tables

try:
    from spmm_study import plots
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text
except ImportError:
    plots = None


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- tables ----

with test("a step's row: rates, share of a copy, GFLOP/s, speed-up over the sequential program, check"):
    study = analyzed(step(1.0), step(2.0, "pearson", "cpu_blas", sequential=None, copy=None, verified=False))
    equal((len(study.points), len(study.steps), len(study.measured)), (0, 1, 2))
    table = steps.table(study.steps[0])
    equal(table.title, "1000 series of 1000 values, f64, node1")
    row = cells(table, step="mean")
    equal([row[n] for n in table.heading], ["mean", "cpu_sum", "1", "1", "1000", "1001 ± 10", "8", "0.50", "1", "0.999 ± 0.00998",
                                            "4000", "4", "1.00", "ok"])
    row = cells(table, step="pearson")
    equal([row[n] for n in ("of copy", "GB/s", "serial ms", "speed-up", "check")], ["-", "4", "-", "-", "not checked"])
    within("\n".join(study.text()), "== Steps of series ==")

with test("a kernel's time over the fastest right one's of the step, on as many ranks and threads"):
    study = analyzed(step(1.0), step(2.5, kernel="cpu_other"), step(0.5, kernel="cpu_fast", wrong=1),
                     step(0.25, ranks=2), step(0.75, kernel="cpu_other", ranks=2), step(0.2, threads=2),
                     step(9.0, "deviation", "cpu_spread"), step(0.1, "generate", "cpu_walk", wrong=1))
    table = steps.table(study.steps[0])
    ratios = {tuple(row[:4]): row[table.heading.index("/ fastest")] for row in table.rows}
    equal(ratios, {("mean", "cpu_sum", "1", "1"): "1.00", ("mean", "cpu_other", "1", "1"): "2.50",
                   ("mean", "cpu_fast", "1", "1"): "0.50", ("mean", "cpu_sum", "2", "1"): "1.00",
                   ("mean", "cpu_other", "2", "1"): "3.00", ("mean", "cpu_sum", "1", "2"): "1.00",
                   ("deviation", "cpu_spread", "1", "1"): "1.00", ("generate", "cpu_walk", "1", "1"): "-"})

with test("operators, numbers of blocks per series and memories are rows of their own"):
    study = analyzed(step(1.0), step(2.0, operator="minimum"), step(3.0, kernel="sum_blocks", parts=2),
                     step(4.0, kernel="sum_blocks", parts=8), step(5.0, "generate", "cpu_walk", operator="minimum"),
                     step(6.0, kernel="sum_thread", memory="mapped"), step(7.0, kernel="sum_thread", memory="managed"))
    found = [tuple(row[:2]) for row in steps.table(study.steps[0]).rows]
    equal(sorted(found), [("generate", "cpu_walk"), ("mean", "cpu_sum"), ("mean", "sum_blocks /2"), ("mean", "sum_blocks /8"),
                          ("mean", "sum_thread, managed"), ("mean", "sum_thread, mapped"), ("minimum", "cpu_sum")])

with test("a step by threads per block, and by blocks per series, has a table that marks the best"):
    study = analyzed(*(step(1e-3 * size, "generate", "walk_thread", block=size) for size in (32, 64, 1024)),
                     *(step(1e-3 * abs(parts - 3.5), kernel="sum_blocks", parts=parts) for parts in (2, 4, 8)),
                     step(1e-3, kernel="sum_stream"))
    threads, parts = study.shape_tables(study.step_shapes)
    equal(threads.heading, ["kernel", "step", "32", "64", "1024", "best", "its ms"])
    equal([row[:2] + row[-2:] for row in threads.rows], [["walk_thread", "generate", "32", "32"]])
    assert threads.rows[0][2].endswith(" *"), threads.rows
    equal([row[:2] + row[-2:] for row in parts.rows], [["sum_blocks", "mean", "4", "0.5"]])
    within("\n".join(study.text()), "GFLOP/s by blocks per series")

with test("a sequential program that did a sample is marked, and one that did everything counts before it"):
    study = analyzed(step(1.0, share=0.25), step(0.5, kernel="cpu_other", share=0.25, sequential=6.0))
    equal([r[10] for r in steps.table(study.steps[0]).rows], ["5000*", "5000*"])
    within(tables.text(steps.table(study.steps[0])), "extrapolated")
    study = analyzed(step(1.0, share=0.25), step(0.5, kernel="cpu_other", sequential=6.0))
    equal([r[10] for r in steps.table(study.steps[0]).rows], ["6000", "6000"])

with test("precisions, shapes, layouts and devices have tables of their own; rounds of one point are put together"):
    study = analyzed(step(1.0), step(3.0), step(1.0, precision="f32"), step(1.0, count=10), step(1.0, layout="index"),
                     step(1.0, device="cuda", gpu="NVIDIA H200"), step(1.0, source="/a/folder/of mine.mtx"))
    titles = [m.title for m in study.steps]
    equal(sorted(titles), sorted([
        "1000 series of 1000 values, f64, NVIDIA H200", "1000 series of 1000 values, f32, node1",
        "10 series of 1000 values, f64, node1", "1000 series of 1000 values, by index, f64, node1",
        "1000 series of 1000 values, f64, node1", "of mine, 1000 series of 1000 values, f64, node1"]))
    (both,) = next(m for m in study.steps if m.title == "1000 series of 1000 values, f64, node1").points
    equal((both.spread.rounds, both.spread.median, both.spread.count), (2, 2.0, 20))

with test("sums of one array stand beside T and S of their model, and the generalized law beside their speed-up over ranks"):
    strategies = (("linear", 3), ("tree", 2), ("butterfly", 2))
    study = analyzed(*(made_steps.array_sum(4e-6, reduce, sequential=6e-6, model=1e-6) for reduce, _ in strategies),
                     *(made_steps.array_sum(2e-6, reduce, 4, steps=n, model=250e-9 + n * 1e-6, sequential=6e-6)
                       for reduce, n in strategies), made_steps.array_sum(1.0, ranks=4, wrong=1))
    equal([p.kernel for p in study.steps[0].right if p.ranks == 1], [f"cpu_sum_serial, {reduce}" for reduce, _ in strategies])
    _, table = study.step_tables()
    within(table.title, "Sum of one array: 1 series of 1001 values")
    equal(len(table.rows), 6, "a wrong sum has no row")
    law = study.step_scaling_tables()[-1]
    for reduce, n in strategies:
        row, model = cells(table, **{"what ran": f"cpu_sum_serial, {reduce}", "ranks": "4"}), 250e-9 + n * 1e-6
        equal([row[name] for name in table.heading[2:]],
              ["0.002", "3.00", "0.75", "0.002", str(n), "1.00e-09", "1.00e-06", tables.ms(model), f"{1e-6 / model:.2f}",
               f"{2e-6 / model:.2f}"], reduce)
        row = cells(law, **{"what ran": f"cpu_sum_serial, {reduce}"})
        equal((row["ranks"], row["S"], row["S rel."]),
              ("4", f"{laws.generalized_speedup(laws.array_shares(1001, 4, reduce)):.2f}", "2.00"), reduce)
    equal(cells(law, **{"what ran": "cpu_sum_serial, linear"})["shares"], "a_1 0.004, a_4 0.996", "996 additions by four ranks, 4 by one")
    within(page.report(study, "sums", None), "Sum of one array")

with test("a step with something wrong is shown as wrong, is a failure, and counts for no law"):
    study = analyzed(step(1.0), step(0.5, ranks=2, wrong=3), step(0.1, kernel="cpu_fast", wrong=1), step(2.0))
    table = steps.table(study.steps[0])
    row = cells(table, ranks="2")
    equal((row["check"], row["speed-up"], row["median ms"]), ("WRONG: 3 of 64", "-", "500"))
    equal(cells(table, kernel="cpu_sum", ranks="1")["check"], "ok")
    within(tables.text(table), "2 with WRONG results")
    equal((study.step_groups, len(study.records.failures)), ([], 2))
    within(tables.text(study.failure_tables()[0]), "3 of 64 checked are wrong")
    equal([p.kernel for p in steps.roofline_points(study.steps[0])], ["cpu_sum"])
    text = page.report(study, "wrong", None)
    assert "WRONG: 3 of 64" in text and "WRONG: 1 of 64" in text and "2 of them failed" in text

with test("a wrong step without a time is a failure, too"):
    study = analyzed(step(1.0), step(0.0, wrong=5))
    equal(([f.error for f in study.records.failures], len(study.measured)), (["5 of 64 checked are wrong"], 1))

with test("a wrong round beside a right one of the same point stays a row of its own"):
    study = analyzed(step(1.0), step(9.0, wrong=2))
    equal([(r[4], r[-1]) for r in steps.table(study.steps[0]).rows], [("1000", "ok"), ("9000", "WRONG: 2 of 64")])

# ---- over ranks ----

with test("over ranks: speed-up 2 at 2 ranks, 4 at 4, absolute ones by the sequential program"):
    study = analyzed(*(step(1.0 / p, ranks=p) for p in (4, 1, 2)), step(1.0, "deviation", "cpu_spread"))
    equal([g.title for g in study.step_groups], ["mean of 1000 series of 1000 values, f64, node1"])
    one = study.step_groups[0].series[0]
    equal([p.ranks for p in one.points], [1, 2, 4])
    table = steps.strong_table(study.step_groups[0])
    for p in (1, 2, 4):
        row = cells(table, ranks=str(p))
        equal([row[n] for n in tables.LAWS_HEADING[:4]], [f"{4 * p}.00", "4.00", f"{p}.00", "1.00"], f"{p} ranks")
    within(table.remarks[0], "against the sequential program, 4000 ms")
    near(one.fit.serial, 0.0)

with test("Amdahl's law comes back from steps; without one rank and the sequential program there is no speed-up"):
    study = analyzed(*(step(0.1 + 0.9 / p, ranks=p) for p in (1, 2, 4, 8)))
    near(study.step_groups[0].series[0].fit.serial, 0.1, 1e-6)
    within("\n".join(study.text()), "Amdahl's law with overhead")
    study = analyzed(step(1.0, ranks=2, sequential=None), step(0.5, ranks=4, sequential=None))
    within(tables.text(steps.strong_table(study.step_groups[0])), "the sequential program did not run")
    one = study.step_groups[0].series[0]
    equal((one.relative(one.points[1]), one.absolute(one.points[1])), (None, None))

with test("f32 and f64 scale apart; numbers of threads do where one number of ranks has several"):
    study = analyzed(*(step(t / p, ranks=p, precision=f) for p in (1, 2) for f, t in (("f64", 1.0), ("f32", 0.4))))
    equal(sorted((g.precision, g.series[0].points[1].spread.median) for g in study.step_groups),
          [("f32", 0.2), ("f64", 0.5)])
    study = analyzed(*(step(1.0 / p / t, ranks=p, threads=t) for p in (1, 2) for t in (1, 4)))
    equal([one.label for one in study.step_groups[0].series], ["cpu_sum, 1 thread", "cpu_sum, 4 threads"])
    study = analyzed(step(1.0, threads=4), step(0.5, threads=2, ranks=2))
    within(tables.text(steps.strong_table(study.step_groups[0])), "threads per rank differ")

# ---- files ----

with test("the CSV has a row per step with the same numbers; beside products it is a file of its own"):
    path = scratch("steps.jsonl", made.lines([step(1.0 / p, ranks=p) for p in (1, 2)]))
    result = start("scaling", path, "--csv", scratch("steps.csv"))
    equal(result.returncode, 0, result.stderr)
    found = {r["ranks"]: r for r in rows_of(scratch("steps.csv"))}
    two = found["2"]
    for name, value in (("median_s", 0.5), ("copy_share", 1.0), ("bytes_per_second", 16e9), ("flop_per_byte", 0.125),
                        ("gflops", 2.0), ("speedup_absolute", 8), ("speedup_relative", 2), ("efficiency_relative", 1),
                        ("efficiency_absolute", 4), ("karp_flatt", 0), ("sequential_s", 4), ("wrong", 0)):
        near(float(two[name]), value)
    near(float(found["1"]["copy_share"]), 0.5)
    equal(found["1"]["karp_flatt"], "")
    both = scratch("both.jsonl", made.lines([made.run(1.0), step(1.0), made.run(0.5, ranks=2)]))
    result = start("scaling", both, "--csv", scratch("both.csv"))
    equal(([len(rows_of(scratch(f))) for f in ("both.csv", "both-series.csv")]), [2, 1], result.stderr)
    within(result.stdout, "both-series.csv")

with test("records of spmm_mpi give the same tables and CSV with steps beside them as without"):
    alone, mixed = analyzed(*made.everything()), analyzed(*made.everything(), *made_steps.everything())
    headings = {heading for heading, _ in mixed.sections()} - {heading for heading, _ in alone.sections()}
    equal(headings, {"Steps of series: outcome", "Steps of series", "Steps of series over ranks"})
    kept = [text for text in mixed.text() if not text.startswith("== Steps")]
    equal(kept[1:], alone.text()[1:], "all but the sentences")
    for study, name in ((alone, "alone.csv"), (mixed, "mixed.csv")):
        study.write_csv(scratch(name))
    equal(rows_of(scratch("alone.csv")), rows_of(scratch("mixed.csv")))
    assert not os.path.exists(scratch("alone-series.csv"))
    assert "eries of" not in page.report(alone, "alone", None)

with test("what has no time, or is of --accuracy, is left out"):
    study = analyzed(step(1.0), step(0.0), *[{"program": "series_mpi --accuracy", "kernel": "cpu_sum"}] * 3)
    equal((len(study.measured), study.records.runs, len(study.records.remarks)), (1, 2, 2))
    within(study.records.remarks[0], "are left out, as they contain no times of steps: 3")
    study = analyzed(step(1.0, flops=0, moved=0))
    equal((len(study.measured), steps.roofline_points(study.steps[0])), (1, []))
    assert study.text() and study.step_figures(plots) == [] if plots else study.text()

with test("the page of steps alone has their sections, and speaks of no product"):
    path = scratch("alone.jsonl", made.lines(made_steps.everything()))
    result = start("report", path, "-o", scratch("plain.html"), env=without_matplotlib())
    equal(result.returncode, 0, result.stderr)
    found, text = checked_page(scratch("plain.html"))
    equal(found.headings, ["Outcome", "What was run where", "Steps of series", "Steps of series over ranks", "Records and commands"])
    within("".join(found.words), "series_mpi: measurements")
    assert "svg" not in found.tags and "product" not in text, re.findall(".{40}product.{40}", text)
    within("".join(found.words), "112 points, 112 runs, 0 of them failed")

with test("names of files are shown without their folders, and texts are escaped"):
    evil = "/a folder/a<b>&\"c'\u0001</script><script>alert(1)"
    study = analyzed(*(step(1.0 / p, evil, evil, p, source="/a folder/data.mtx") for p in (1, 2)))
    text = page.report(study, "evil", plots)
    assert text.count("<script>") == 1 and "data" in text and "/a folder/data" not in text
    study.write_csv(scratch("evil.csv"))
    equal({r["source"] for r in rows_of(scratch("evil.csv"))}, {"data"})

# ---- figures ----

if plots:
    with test("the page of products and steps is whole, with figures of both"):
        path = scratch("mixed.jsonl", made.lines(made.everything() + made_steps.everything()))
        result = start("report", path, "-o", scratch("mixed.html"), "--peak", "H200=34000")
        equal(result.returncode, 0, result.stderr)
        found, _ = checked_page(scratch("mixed.html"))
        wanted = ["Roofline", "Errors", "Steps of series", "Steps of series over ranks", "Failed runs", "Every point"]
        equal([h for h in found.headings if h in wanted], wanted)
        within(found.text, "Roofline: 1000 series of 1000 values, f32, NVIDIA H200")

    with test("rooflines and scaling of steps are written as SVG and PNG, the same SVG for the same records"):
        texts = []
        for folder in ("first", "second"):
            files = analyzed(*made_steps.everything()).draw(plots, scratch(folder))
            texts.append([open(f, encoding="utf-8").read() for f in files if f.endswith(".svg")])
            assert all(os.path.getsize(f) > 1000 for f in files)
        names = [os.path.basename(f) for f in files]
        equal([sum(n.startswith(kind) for n in names) for kind in ("roofline-1000-series", "strong-", "efficiency-")],
              [8, 16, 16])
        assert texts[0] == texts[1], "SVG of the same records"

    with test("the roofline: a point a step and kernel at its place, a roof of copy and peak, or the best measured"):
        study = analyzed(step(1.0), step(2.0, kernel="cpu_slow"), step(0.8, "pearson", "cpu_blas", flops=8e12),
                         step(0.5, ranks=2, copy=32e9))
        points = steps.roofline_points(study.steps[0])
        equal(series.device_bandwidth(study.steps[0].points), 32e9)
        for peak, label in ((None, "best measured, 10000 GFLOP/s"), (2e13, "peak, 20000 GFLOP/s, as given")):
            (panel,), legend = plots.steps_roofline("title", points, 32e9, peak).parts()
            axes = panel.axes[0]
            lines = {line.get_label(): list(zip(*line.get_data())) for line in axes.lines}
            within(" ".join(lines), label)
            within(" ".join(lines), "copy, 32 GB/s, measured")
            dots = [tuple(map(float, line.get_xydata()[0])) for line in axes.lines
                    if line.get_linestyle() == "None" and line.get_alpha() is None]
            equal(dots, [(0.125, 2.0), (0.125, 0.5), (1000.0, 10000.0)])
        equal([t.get_text() for t in legend.legends[0].get_texts()][2:],
              ["1 mean: cpu_sum", "2 mean: cpu_slow", "3 pearson: cpu_blas"])
        equal((axes.get_xscale(), axes.get_yscale(), axes.get_ylabel()), ("log", "log", "GFLOP/s"))
        assert "flop/byte" in axes.get_xlabel()

    with test("numbers beside crowded points do not overlap"):
        for apart, most in ((0.001, 6), (0.05, 40)):
            study = analyzed(*(step(1 + n * apart, kernel=f"k{n}") for n in range(40)))
            (figure,), _ = plots.steps_roofline("crowded", steps.roofline_points(study.steps[0])).parts()
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
            texts = figure.axes[0].texts
            # the extent of an annotation includes its line, that of a Text does not
            boxes = [Text.get_window_extent(text, canvas.get_renderer()).shrunk(0.9, 0.7) for text in texts]
            equal([(a, b) for a, b in itertools.combinations(range(len(boxes)), 2) if boxes[a].overlaps(boxes[b])], [])
            ends = [tuple(map(int, text.get_text().split("-"))) for text in texts]
            equal([n for e in ends for n in range(e[0], e[-1] + 1)], list(range(1, 41)), "all numbers, in order")
            assert len(texts) <= most, (len(texts), most)
else:
    skip("figures of steps", "matplotlib is missing")
finish()
