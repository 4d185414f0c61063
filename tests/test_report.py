"""The outcome of a study, on its page and in words: sentences, limits, table, noise; figures as separate panels with text;
the records in the page.
limit: 300"""
import base64
import gzip
import html
import json
import math
import os
import re
import sys
import xml.etree.ElementTree as tree

from command import ROOT, equal, finish, scratch, skip, test, within
import made_records as made
import made_steps
from study_tools import Checker, analyzed, cells, checked_page, near, start, without_matplotlib
from spmm_study import analysis, markup, outcome, page, records, series, tables

try:
    from spmm_study import colors, plots
except ImportError:
    plots = None

SAMPLES = ROOT / "docs" / "studies"


def pair(first=1e-3, second=6e-4, still=None, interior=None, hidden=None, exchange=None, imbalance=1.0, received=0,
         copy_share=None, **more):
    """Records of runs on 1 and 2 GPUs, the second with these values on the exchange."""
    of_gpu = {"device": "cuda", "gpu": "A GPU", "kernel": "csr_rows", **more}
    one, two = made.run(first, **of_gpu), made.run(second, ranks=2, received=received, **of_gpu)
    two["moved"].update(no_exchange_seconds=still, interior_share=interior, hidden=hidden)
    two["seconds"]["exchange"] = exchange
    two["imbalance"] = imbalance
    for record in (one, two):
        record["dram_bound_share"] = copy_share
    return [one, two]


def only(study):
    (found,) = study.outcomes
    return found


# ---- the table ----

with test("the outcome of each matrix and K: the fastest on the most ranks, and its numbers"):
    runs = [made.run(factor * first / p, k=k, ranks=p, kernel=kernel, nnz=1000, rows=100)
            for k, first in ((1, 1.0), (8, 4.0)) for p in (1, 2, 4) for kernel, factor in (("cpu_csr", 1.0), ("cpu_ell", 1.5))]
    runs += [made.run(0.9, k=1, kernel="cpu_serial", nnz=1000, rows=100)]
    table = outcome.table(analyzed(*runs).outcomes)
    equal(len(table.rows), 2)
    row = cells(table, K="1")
    equal([row[n] for n in ("matrix", "on", "kernel", "ms", "95 %", "GFLOP/s", "speed-up", "efficiency", "over serial")],
          ["lap3d7:60", "4 ranks", "cpu_csr", "250", "± 1 %", "8.00e-06", "4.00", "1.00", "3.60"])
    row = cells(table, K="8")
    equal([row[n] for n in ("ms", "GFLOP/s", "speed-up", "over serial")], ["1000", "1.60e-05", "4.00", "-"])

with test("threads where no ranks scale; a matrix that grows by its scaled speed-up; else the fastest alone"):
    o = only(analyzed(*(made.run(0.1 + 0.9 / t, threads=t) for t in (1, 2, 8))))
    equal((o.place, o.over), ("8 threads", "threads"))
    near(o.speedup, 1 / (0.1 + 0.9 / 8))
    near(o.efficiency, 1 / (0.1 + 0.9 / 8) / 8)
    grown = [made.run(t, matrix=f"u:{p}", weak="u:{ranks}", ranks=p, nnz=1000 * p) for p, t in ((1, 1.0), (2, 1.25))]
    o = only(analyzed(*grown))
    near(o.speedup, 2 * 1.0 / 1.25)
    within(o.problem, "u:{ranks}")
    o = only(analyzed(made.run(2.0), made.run(1.0, kernel="cpu_ell")))
    equal((o.point.kernel, o.speedup, o.efficiency), ("cpu_ell", None, None))

with test("what limits: the exchange, imbalance, sums, rows that several ranks move, by their share of the time"):
    o = only(analyzed(*pair(1e-3, 8e-4, still=5e-4)))
    equal([(cause, round(part, 6)) for cause, part in outcome.causes(o)], [("exchange that is not hidden", 0.375)])
    within(outcome.limit(o), "exchange that is not hidden: 38 % of the time")
    o = only(analyzed(*pair(1e-3, 8e-4, hidden=0.25, exchange=2e-4)))
    near(dict(outcome.causes(o))["exchange that is not hidden"], 0.75 * 2e-4 / 8e-4)
    o = only(analyzed(*pair(1e-3, 8e-4, still=8e-4, imbalance=1.6)))
    equal([(cause, round(part, 6)) for cause, part in outcome.causes(o)], [("imbalance", 0.375)])
    o = only(analyzed(*pair(1e-3, 8e-4, still=8e-4)))
    equal([cause for cause, _ in outcome.causes(o)], [outcome.SLOWER])
    # 8 K bytes for every received row of X, relative to the bytes that one rank moves
    o = only(analyzed(*pair(1e-3, 9e-4, received=216000, k=64)))
    moved = 1490400 * 12 + 8 * (216000 + 1) + 8 * 64 * 2 * 216000
    near(outcome.lost_parts(o)["X and Y that several ranks move"], 8 * 64 * 216000 / moved * 5e-4)
    summed = made.run(8e-4, ranks=2, grid=(1, 2), kernel="cpu_csr")
    summed["moved"].update(hidden=1.0, reduce_seconds=3e-4)
    near(outcome.lost_parts(only(analyzed(made.run(1e-3), summed)))["sum of partial Y"], 3e-4)

with test("what limits: memory by the DRAM bound, a cache beyond it; not known where the record does not say"):
    def said(share, **more):
        return outcome.limit(only(analyzed(*pair(copy_share=share, still=5e-4, **more))))
    equal(said(0.95, second=5e-4), "scales; memory: 95 % of the DRAM bound")
    within(said(1.5, second=5e-4), "not DRAM: 150 % of its bound, data stay in a cache")
    equal(said(0.4, second=5e-4), "scales; the limit of one GPU is not known (40 % of the DRAM bound)")
    equal(said(None, second=5e-4), "scales; the limit of one GPU is not known (no copy was timed)")
    equal(outcome.limit(only(analyzed(made.run(1.0)))), "not known (no copy was timed)")
    # from the copy rate in the record: 1490400 (8 + 4) + 8 (216000 + 1) + 8 x 8 x 2 x 216000 bytes in 1 ms
    share = (1490400 * 12 + 8 * 216001 + 8 * 8 * 432000) / 1e-3 / 5e10
    plain = made.run(1e-3, copy=5e10)
    plain["dram_bound_share"] = None
    near(only(analyzed(plain)).dram_share, share)

with test("names that a record's fields had before are read as today's"):
    old = pair(1e-3, 8e-4)
    for record in old:
        record["floor_share"] = 0.8
        record.pop("dram_bound_share")
    old[1]["moved"]["still_seconds"] = 5e-4
    del old[1]["moved"]["no_exchange_seconds"]
    o = only(analyzed(*old))
    near(o.dram_share, 0.8)
    near(outcome.lost_parts(o)["exchange that is not hidden"], 3e-4)
    for field, value in (("floor_share", "much"), ("moved", {"still_seconds": "long"})):
        odd = made.run(1.0)
        odd[field] = value
        odd.pop("dram_bound_share", None)
        equal(start("scaling", scratch("odd.jsonl", made.lines([odd]))).returncode, 3, field)

# ---- sentences ----

with test("a second GPU that gains nothing is said first, with the rows that wait; one that does with its speed-up"):
    study = analyzed(*pair(1e-3, 1.01e-3, still=6e-4, interior=0.0, matrix="rmat", nnz=10 ** 6),
                     *pair(1e-3, 5.2e-4, still=5e-4, interior=0.97, matrix="fem", nnz=10 ** 6))
    said = study.sentences()
    equal(said[0], "fem is 1.92 times as fast on 2 GPUs as on one (K = 8; efficiency 0.96).")
    equal(said[1], "rmat gains nothing from the second GPU at K = 8 (0.99 times as fast): 100 % of its rows wait for "
                   "received ones, and 41 % of the time goes to exchange that is not hidden.")
    slower = analyzed(*pair(1e-3, 2e-3)).sentences()[0]
    equal(slower, "lap3d7:60 is slower on 2 GPUs than on one at K = 8 (0.50 times as fast), and the records do not say why.")

with test("kernels: who is the fastest at which K, and who is never far from it"):
    rates = {"one": {1: 1.0, 8: 4.0}, "two": {1: 2.0, 8: 3.0}, "three": {1: 1.9, 8: 3.9}}
    runs = [made.run(k / t, k=k, kernel=f"cpu_csr_{name}") for name, of in rates.items() for k, t in of.items()]
    study = analyzed(*runs)
    said = study.sentences()[0]
    for words in ("cpu_csr_two, 1 thr. at K = 1", "cpu_csr_one, 1 thr. at K = 8", "cpu_csr_three, 1 thr. has at least 95 % of"):
        within(said, words)
    shares = series.shares_of_best(study.sweeps[0])
    near(shares["cpu_csr_one, 1 thr."][1], 0.5)
    equal([row[0] for row in tables.sweep_table(study.sweeps[0]).rows],
          ["cpu_csr_three, 1 thr.", "cpu_csr_two, 1 thr.", "cpu_csr_one, 1 thr."])

with test("the sentence about kernels names what the table of outcomes has, and a faster serial product apart"):
    for threads in ((2,), (1, 2)):
        runs = [made.run(k * 1e-3 * (2 if t == 2 else 1.5) * factor, k=k, kernel=kernel, threads=t) for k in (1, 8) for t in threads
                for kernel, factor in (("cpu_csr", 1.0), ("cpu_csr_static", 1.2))]
        runs += [made.run(seconds, k=k, kernel="cpu_serial") for k, seconds in ((1, 9e-3), (8, 4e-3))]
        study = analyzed(*runs)
        table = study.outcome_tables()[0]
        equal([row[table.heading.index("kernel")] for row in table.rows], ["cpu_csr", "cpu_csr"])
        within("; ".join(table.remarks), "serial products have no rows")
        said = next(text for text in study.sentences() if "the fastest" in text)
        rates = [row[table.heading.index("GFLOP/s")] for row in table.rows]
        within(said, f"the fastest is cpu_csr, 2 thr. at K = 1 and 8 ({rates[0]} and {rates[1]} GFLOP/s)")
        within(said, "; the serial product is faster: cpu_serial")
        within(said, "at K = 8 (5.962 GFLOP/s)")
    quick = analyzed(*(made.run(t, kernel=name) for t, name in ((1e-3, "cpu_csr"), (2e-3, "cpu_ell"), (3e-3, "cpu_serial"))))
    assert "serial" not in quick.sentences()[0], quick.sentences()

with test("noise is said: how many intervals are wide, and the load where the records have it"):
    def noisy(*widths, load=None):
        runs = [made.run(1.0, k=n + 1, spread=width, interval=width is not None) if width is not None else
                made.run(1.0, k=n + 1, interval=False) for n, width in enumerate(widths)]
        for record in runs:
            record["study"]["load_average"] = load
        return outcome.noise(analyzed(*runs).points)
    within(noisy(0.02, 0.2, 0.3), "2 of 3 points have 95 % intervals wider than 10 % of the median (the widest: 30 %)")
    within(noisy(0.02, 0.2), "1 of 2 points has a 95 % interval")
    within(noisy(0.02), "the load of the machine is not in the records")
    within(noisy(0.02, load=1.5), "the load average when the runs began was 1.5 (1.5 to 1.5)")
    within(noisy(None, 0.02), "0 of 1 points have 95 % intervals wider than 10 % of the median, and 1 has no interval")
    equal(noisy(None), "Noise is not known: the runs have too few samples for intervals.")
    within(cells(outcome.table(analyzed(made.run(1.0, spread=0.3)).outcomes), K="8")["95 %"], "± 15 % !")

with test("what intervals do not support is not said, and where most times are noisy that is said first"):
    def times(first, second, spread, load=None, k=8):
        runs = [made.run(first, k=k, spread=spread), made.run(second, ranks=2, k=k, spread=spread)]
        for record in runs:
            record["study"]["load_average"] = load
        return runs
    for second, spread, told in ((1.2e-3, 0.5, False), (0.8e-3, 0.5, False), (1.01e-3, 0.5, False), (1.2e-3, 0.05, True),
                                 (0.6e-3, 0.3, True), (1.01e-3, 0.05, True), (3e-3, 0.5, True), (1.3e-3, 0.3, True)):
        study = analyzed(*times(1e-3, second, spread))
        equal(only(study).is_told, told, (second, spread))
        text = " ".join(study.sentences())
        equal("the times cannot tell" in text, not told, text)
        assert told or "slower on" not in text and "gains nothing" not in text and " is 1.2" not in text, text
        # (a speed-up of 0.77 with an interval of 0.57 to 1.04 is not reported as slower)
        equal("slower on" in text, told and 1e-3 / second < 0.9 and (spread, second) != (0.3, 1.3e-3), text)
        equal(outcome.limit(only(study)).startswith("cannot tell (speed-up "), not told)
        equal("95 % interval" in study.sentences()[0] and "wider than" in study.sentences()[0], spread > 0.1, study.sentences())
    low, high = only(analyzed(*times(1e-3, 0.8e-3, 0.5))).speedup_bounds
    near(low, 1e-3 * 0.75 / (0.8e-3 * 1.25))
    near(high, 1e-3 * 1.25 / (0.8e-3 * 0.75))
    mixed = analyzed(*times(1e-3, 0.5e-3, 0.05), *times(1e-3, 1.1e-3, 0.5, k=64))
    assert any("is 2.00 times as fast on 2 ranks as on one (K = 8" in text for text in mixed.sentences()), mixed.sentences()
    assert any("on one at K = 64, the times cannot tell" in text for text in mixed.sentences()), mixed.sentences()
    grown = analyzed(*(made.run(t, matrix=f"u:{p}", weak="u:{ranks}", ranks=p, nnz=1000 * p, spread=0.5) for p, t in ((1, 1.0), (2, 2.2))))
    within(" ".join(grown.sentences()), "which grows with the ranks, keeps 45 % of its speed per rank")
    assert "cannot tell" not in " ".join(grown.sentences()) + outcome.limit(only(grown)), grown.sentences()
    busy = times(1e-3, 2e-3, 0.05, load=21)
    busy[1]["moved"]["no_exchange_seconds"] = 2e-3
    within(outcome.limit(only(analyzed(*busy))), "the machine was busy with other work: load average 21")
    within(" ".join(analyzed(*busy).sentences()), "0.50 times as fast): the machine was busy with other work: load average 21")
    quiet = times(1e-3, 2e-3, 0.05, load=1)
    quiet[1]["moved"]["no_exchange_seconds"] = 2e-3
    equal(outcome.limit(only(analyzed(*quiet))), "not known (no copy was timed)")

with test("a busy machine is named before causes whose time contains waiting, and after no other"):
    for load, busy in ((1.0, False), (15.0, True)):
        runs = pair(1e-3, 4e-3, still=5e-4, interior=0.1)
        for record in runs:
            record["study"]["load_average"] = load
        study = analyzed(made.environment(cores=2), *runs)
        text = outcome.limit(only(study))
        equal(text.startswith("the machine was busy with other work: load average 15; exchange that is not hidden"), busy, text)
        said = next(text for text in study.sentences() if "slower" in text)
        equal("times as fast): the machine was busy with other work: load average 15, and 90 % of its rows wait" in said, busy, said)
        idle = [{**record, "imbalance": 3.0} for record in pair(1e-3, 9e-4, still=9e-4, interior=1.0)]
        for record in idle:
            record["study"]["load_average"] = load
        text = outcome.limit(only(analyzed(made.environment(cores=2), *idle)))
        assert "imbalance" in text and "busy" not in text, text
    # the load of a study's own runs is no other work
    equal([records.BUSY * cores < load for cores, load in ((2, 2.0), (2, 3.5), (64, 70), (64, 100))], [False, True, False, True])

with test("no kernel is called the fastest at a K of which all points are noisy"):
    def kernels(*widths):
        return [made.run(k * t, k=k, kernel=name, spread=width) for k, width in zip((1, 8), widths) for name, t in (("cpu_csr", 1.0), ("cpu_ell", 1.5))]
    within(" ".join(analyzed(*kernels(0.02, 0.02)).sentences()), "the fastest is cpu_csr, 1 thr. at K = 1 and 8")
    within(" ".join(analyzed(*kernels(0.02, 0.5)).sentences()), "the fastest is cpu_csr, 1 thr. at K = 1 (")
    said = " ".join(analyzed(*kernels(0.5, 0.5)).sentences())
    assert "fastest" not in said and "GFLOP/s" not in said and "4 of 4 points have 95 % intervals wider" in said, said

with test("rounds in which auto took another kernel are one point, which has the kernel of most of them"):
    auto = {"kernel": "auto", "format": "auto"}
    runs = [made.run(1e-3, kernel=kernel, number=n, settings=auto) for n, kernel in enumerate(("cpu_sorted", "cpu_csr", "cpu_csr"))]
    study = analyzed(*runs, *(made.run(2e-3, kernel=kernel, number=n) for n, kernel in enumerate(("cpu_csr", "cpu_sorted"))))
    equal(sorted((p.kernel, p.settings["kernel"], p.spread.rounds) for p in study.points),
          [("cpu_csr", "auto", 3), ("cpu_csr", "cpu_csr", 1), ("cpu_sorted", "cpu_sorted", 1)])
    within(study.records.remarks[0], "rounds of 1 point ran differently")

with test("the model's misses are marked in its table, and counted in a sentence"):
    probe = (1e-6, 1e-9, 2e-9)
    study = analyzed(made.run(1e-3, probe=probe), made.run(5.2e-4, ranks=2, probe=probe), made.run(9e-4, ranks=4, probe=probe))
    rows = [dict(zip(study.model_tables()[0].heading, row)) for row in study.model_tables()[0].rows]
    equal([(r["ranks"], "missed" in r["measured / that"]) for r in rows], [("1", False), ("2", False), ("4", True)])
    within(" ".join(study.sentences()), "The cost model misses 1 of 2 times on several ranks by more than 25 %")

with test("hosts that are network namespaces are said first, with what they show, as a machine of their own"):
    study = analyzed(made.environment(namespaces=2), *pair())
    within(study.sentences()[0], "2 network namespaces are hosts of one machine")
    within(study.sentences()[0], "tell nothing of a network")
    equal({p.machine for p in study.points}, {"2 network namespaces, A GPU"})
    study = analyzed(made.environment(), *pair())
    equal({p.machine for p in study.points}, {"A GPU"})
    assert "namespaces" not in " ".join(study.sentences())

with test("the page shows the date, processor and commit that records without a study tell"):
    record = {n: v for n, v in made.run(1.0).items() if n != "study"}
    record["measured"] = {"date": "2026-03-04T05:06:07Z", "processor": "A CPU of 8", "cores": 8, "commit": "0a1b2c3", "load_average": 2.5}
    text = page.report(analyzed(record), "told", None)
    for part in ("2026-03-04T05:06", "A CPU of 8", "0a1b2c3", "load average when the runs began was 2.5"):
        within(text, part)

with test("steps of series have an outcome, too"):
    study = analyzed(made_steps.step(1.0), made_steps.step(0.5, kernel="cpu_fast"))
    within(study.sentences()[0], "mean takes 500 ms by cpu_fast; that is 8 times as fast as the sequential program")
    row = cells(outcome.steps_table(study.steps), step="mean")
    equal((row["kernel"], row["ms"], row["over serial"]), ("cpu_fast", "500", "8"))

with test("no sentence and no table fails on records that have next to nothing"):
    for lines in ([], [made.run(1.0, nnz=0)], [made.run(1.0, nnz=0), made.run(1.0, nnz=0, ranks=2)],
                  [made.failed(1, "gone")], [made.run(1.0, ranks=2), made.run(0.5, ranks=4)]):
        study = analyzed(*lines)
        assert study.text()
        Checker(page.report(study, "next to nothing", plots))
    bare = made.run(1.0, ranks=2)
    for group in ("seconds", "moved", "imbalance", "error", "gflops", "dram_bound_share", "copy_bytes_per_second", "study"):
        del bare[group]
    study = analyzed({**bare, "run": {**bare["run"], "ranks": 1, "grid": [1, 1]}}, bare)
    within(study.sentences()[0], "gains nothing from the second rank")

# ---- laws and figures ----

with test("no law through fewer than three points beside one rank; two points are numbers, not figures"):
    few, enough = ([made.run(1.0 / p, ranks=p) for p in ps] for ps in ((1, 2, 4), (1, 2, 4, 8)))
    equal([sum("with overhead" in t.title for t in analyzed(*runs).strong_tables()) for runs in (few, enough)], [0, 1])
    within(tables.text(analyzed(*few).strong_tables()[0]), "no law where fewer than 3 numbers of ranks were run beside one")
    if plots:
        two = analyzed(*few[:2])
        equal((two.strong_figures(plots), two.model_figures(plots), two.kernel_figures(plots)), ([], [], []))
        labels = [[line.get_label() for figure in picture.parts()[0] for line in figure.axes[0].lines]
                  for lines in (few, enough) for _, picture in analyzed(*lines).strong_figures(plots)[:1]]
        equal([sum("Amdahl" in label for label in found) for found in labels], [0, 1])

# ---- the page ----

with test("the page says its outcome first: sentences, the table, one figure; every table and figure can be linked to"):
    path = scratch("pair.jsonl", made.lines([made.environment(), *pair(still=5e-4, interior=0.0), *pair(k=64)]))
    done = start("report", path, "-o", scratch("pair.html"), "--title", "Two of <them>")
    equal(done.returncode, 0, done.stderr)
    found, text = checked_page(scratch("pair.html"))
    equal(found.headings[:2], ["Outcome", "What was run where"])
    assert text.index('class="outcome"') < text.index('id="table1"') < (text.index('id="figure1"') if plots else math.inf)
    for name in [n for n in found.ids if re.fullmatch(r"(table|figure)\d+|[a-z]+", n)]:
        assert f'class="anchor" href="#{name}"' in text, name
    for name, value in found.labels:
        assert value and (name != "aria-labelledby" or value in found.ids), (name, value)
    for words in ("prefers-color-scheme: dark", "@media print", "aria-sort"):
        within(text, words)

with test("the page carries the records as they were read, and the command of each point"):
    lines = [made.environment(), *pair(), made.failed(4, "no memory")]
    with open(scratch("carried.jsonl"), "w", encoding="utf-8") as file:
        file.write(made.lines(lines) + '{"cut')
    equal(start("report", scratch("carried.jsonl"), "-o", scratch("carried.html")).returncode, 0)
    found, text = checked_page(scratch("carried.html"))
    (data,) = [r for r in found.references if r.startswith("data:")]
    carried = gzip.decompress(base64.b64decode(data.partition(",")[2]))
    equal([json.loads(line) for line in carried.splitlines()], lines)
    within(text, 'download="spmm-mpi-made.jsonl.gz"')
    within(found.text, "mpirun -np 2 spmm_mpi")
    within(found.text, "0123abc")
    many = markup.records_html([os.urandom(markup.MOST_CARRIED + 1)], "many")
    assert "href" not in many and "too large" in many, many[:200]

PIXELS = 7.2  # of a character of the tables' font (DejaVu Sans, which is wide), on the average
CELL = 12.5  # of the padding of a cell


def widths(text):
    """[(title, {heading: pixels}, {headings shown on request})] of the tables of a page."""
    for title, head, body in re.findall(r'<p class="title"[^>]*>(.*?)<a.*?<thead><tr>(.*?)</tr></thead>\n<tbody>(.*?)</tbody>', text, re.DOTALL):
        names = re.findall(r"<th([^>]*)>([^<]*)</th>", head)
        rows = [re.findall(r"<td([^>]*)>([^<]*)</td>", row) for row in body.split("\n")]
        shown = {}
        for i, (_, name) in enumerate(names):
            cells = [PIXELS * len(html.unescape(row[i][1])) if not re.search(r'"[^"]*\b(text|name)\b', row[i][0]) else
                     16 * (18 if "text" in row[i][0] else 9) for row in rows]
            shown[name] = CELL + max([PIXELS * len(name), *cells])
        yield title, shown, {name for kind, name in names if "more" in kind}


with test("at 1100 pixels the tables of scaling show K, time, speed-up, efficiency and limit, the rest by a switch"):
    pages = [analyzed(*records_) for records_ in (pair(still=5e-4, interior=0.0) + pair(k=64), made.everything())]
    pages += [analysis.Analysis(records.read([str(path)])) for path in sorted(SAMPLES.glob("*.jsonl"))]
    seen = set()
    for study in pages:
        text = page.report(study, "wide", None)
        for title, of, more in widths(text):
            if not more:
                continue
            visible = sum(pixels for name, pixels in of.items() if name not in more)
            assert visible < 1100 - 32, (title, visible, of)
            wanted = {"matrix", "K", "ms", "speed-up", "efficiency", "what limits it"} if title.startswith("Outcome: the fastest run of each matrix") else \
                {"K", "what ran", "ranks", "median ms", "95 % of it", "S rel.", "E rel.", "S abs.", "e (K-F)", "SS rel.", "SS/p"}
            equal(wanted & more, set(), title)
            seen |= wanted & set(of)
        equal(text.count('class="all screen"'), sum(bool(more) for _, _, more in widths(text)))
        for name in re.findall(r'<label class="screen remark" for="([^"]*)">all \d+ columns</label>', text):
            within(text, f'<input type="checkbox" class="all screen" id="{name}">')
    assert {"efficiency", "what limits it", "E rel.", "SS/p"} <= seen, seen
    within(text, ".all:not(:checked) ~ .scroll .more { display: none }")

with test("columns of which no row has anything are left out; joined tables say which row is of what"):
    table = tables.Table("t", ["a", "b"], [["1", "-"], ["2", "-"]], (), ["r"])
    equal(tables.without_empty(table).heading, ["a"])
    both = tables.joined("both", "K", [("1", table), ("8", tables.Table("t", ["a", "b"], [["3", "4"]], (), ["r", "s"]))])
    equal((both.heading, both.rows, both.remarks), (["K", "a", "b"], [["1", "1", "-"], ["1", "2", "-"], ["8", "3", "4"]],
                                                    ["r", "K = 8: s"]))

with test("a Python without matplotlib hands over to one that has it; where none has, a page without figures comes out"):
    bare = scratch("bare.jsonl", made.lines(pair()))
    done = start("report", bare, "-o", scratch("bare.html"), env=without_matplotlib())
    equal(done.returncode, 0, done.stderr)
    within(done.stderr, sys.executable)
    other = scratch("other-python", '#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\necho "handed over: $*"\n')
    os.chmod(other, 0o755)
    done = start("report", bare, "-o", scratch("bare.html"), env={**without_matplotlib(), "PYTHON": other})
    equal(done.returncode, 0, done.stderr)
    within(done.stdout, f"handed over: {ROOT / 'jobs' / 'report'} {bare} -o")
    # a Python that falsely claims to have matplotlib is started only once
    liar = scratch("liar", f'#!/bin/sh\nif [ "$1" = -c ]; then exit 0; fi\nexec {sys.executable} "$@"\n')
    os.chmod(liar, 0o755)
    done = start("scaling", bare, "--out", scratch("liar-out"), env={**without_matplotlib(), "PYTHON": liar})
    equal(done.returncode, 4, done.stderr)

if plots:
    with test("figures keep their text, colors have names for light and dark, and points say their values"):
        some = [r for r in made.everything() if r.get("run", {}).get("k") == 8][:36]
        study = analyzed(*some, *pair(), *pair(k=1), peaks=[("", 1e12)])
        text = page.report(study, "figures", plots)
        drawn = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
        assert len(drawn) > 10, len(drawn)
        for one in drawn:
            root = tree.fromstring(one)
            assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r'(?:href|id)="[^"]*"|url\([^)]*\)', "", one)), "a color without a name"
            assert "font-family" not in one and "<style" not in one
            names = {node.get("id") for node in root.iter() if node.get("id")}
            for node in root.iter():
                href = node.get("href")
                assert href is None or href[1:] in names, href
        assert set(re.findall(r"var\(--(\w+)\)", text)) <= set(colors.COLORS), "names of colors"
        words = " ".join("".join(node.itertext()) for one in drawn for node in tree.fromstring(one).iter("text"))
        for expected in ("ranks, p", "speed-up over one", "GFLOP/s", "cpu_csr, by rows, 1 thread", "ideal", "16"):
            within(words, expected)
        titles = [node.text for one in drawn for node in tree.fromstring(one).iter("title")]
        assert any("times as fast" in t for t in titles) and any(t.endswith("GFLOP/s") for t in titles), titles[:5]

    with test("every text of a figure is in its SVG, whatever its characters"):
        odd = "a<b>&\"c' $x$ 2.34567"
        study = analyzed(*pair(matrix=odd), *pair(matrix=odd, k=64))
        (_, picture), = study.outcome_figures(plots)
        for figure in picture.parts()[0]:
            wanted = {t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text")) if t.get_visible()}
            root = tree.fromstring(plots.svg(figure, "odd"))
            got = {"".join(node.itertext()) for node in root.iter("text")}
            for label in (odd, "K = 8", "K = 64", "1.67"):
                assert label in wanted and label in got, (label, got)
            equal(len(list(root.iter("title"))), 2, "a tip per point")

    with test("kernels are a heat map with the shares of the best, and sorted dots"):
        names, ks = ("csr_a", "csr_b", "csr_c", "csr_d"), (1, 8)
        rates = {(n, k): 1.0 + i * (1 if k == 1 else -0.2) for i, n in enumerate(names) for k in ks}
        study = analyzed(*(made.run(k / rates[n, k] * 1e-3, k=k, kernel=n) for n in names for k in ks))
        (_, picture), = study.outcome_figures(plots)
        texts = [t.get_text() for t in picture.parts()[0][0].axes[0].texts]
        best = {k: max(rates[n, k] for n in names) for k in ks}
        equal(sorted(texts), sorted(f"{100 * rates[n, k] / best[k]:.0f}" for n in names for k in ks))
        (caption, dots), = study.kernel_figures(plots)
        within(caption, "GFLOP/s of each kernel")
        for figure, k in zip(dots.parts()[0], ks):
            labels = [t.get_text().partition(",")[0] for t in figure.axes[0].get_yticklabels()]
            equal(labels, sorted(names, key=lambda n: -rates[n, k]))

    with test("pages of the kept records are whole and light: below 400 kB for 54 runs"):
        for name, most in (("gpus-2xH200", 400e3), ("kernels-H200", 600e3)):  # bytes, for 54 and 126 runs
            done = start("report", SAMPLES / f"{name}.jsonl", "-o", scratch(f"{name}.html"), "--peak", "H200=67000")
            equal(done.returncode, 0, done.stderr)
            found, text = checked_page(scratch(f"{name}.html"))
            assert len(text.encode()) < most, (name, len(text))
            assert found.tags.count("text") > 50 and "Amdahl" not in "".join(re.findall("<svg.*?</svg>", text, re.DOTALL))
        within(" ".join(analysis.Analysis(records.read([str(SAMPLES / "gpus-2xH200.jsonl")])).sentences()),
               "rmat:20,16 gains nothing from the second GPU at K = 8 and 64 (0.99 times as fast): 100 % of its rows wait for "
               "received ones")
else:
    skip("figures of the page", "matplotlib is missing")
finish()
