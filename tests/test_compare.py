"""jobs/compare: finds points that have become slower, faster or wrong, does not report noise as a change, and says if the data
are too few to tell."""
import csv
import os
import random
import re
import signal
import statistics
import subprocess
import sys

from command import ROOT, equal, finish, scratch, test, within
import made_records as made
import made_steps
from study_tools import checked_page, near, start
from spmm_study import compare, compare_intervals as intervals, lines, records

MATRICES = ("lap3d7:60", "uniform:200000,12", "A.mtx")
BETWEEN, WITHIN = 0.015, 0.03  # relative standard deviations: between rounds, and of the times within one


def stats(times):
    """The statistics of times, as src/cli/stats.c computes them."""
    times, n = sorted(times), len(times)
    rank, below = 0, 0.0
    for i in range(n):
        below += intervals.math.comb(n, i) / 2 ** n
        if below > 0.025:
            rank = i
            break
    return {"n": n, "median": statistics.median(times), "mean": statistics.fmean(times), "stddev": statistics.stdev(times) if n > 1 else 0.0,
            "min": times[0], "max": times[-1], "median_low": times[rank - 1] if rank else None,
            "median_high": times[n - rank] if rank else None}


def noisy(seconds, rng, number=0, n=10, between=BETWEEN, within_run=WITHIN, **more):
    """A record of n log-normal times around a random level of its round; some times are disturbed, 1.5 times as long."""
    level = seconds * rng.lognormvariate(0, between)
    times = [level * rng.lognormvariate(0, within_run) * (1.5 if rng.random() < 0.05 else 1) for _ in range(n)]
    return {**made.run(seconds, number=number, **more), "apply": stats(times)}


def study(seed, rounds=3, factor=lambda matrix, k: 1.0, seconds=1e-3, **more):
    """Records of every matrix with three K; factor: how many times as long a point takes."""
    rng = random.Random(seed)
    return [made.environment(), *(noisy(seconds * k * factor(m, k), rng, r, matrix=m, k=k, **more)
                                  for r in range(rounds) for m in MATRICES for k in (1, 8, 64))]


def compared(old, new, *options):
    paths = [scratch(name, made.lines(found)) for name, found in (("old.jsonl", old), ("new.jsonl", new))]
    return start("compare", *paths, *options)


def comparison(old, new, **options):
    return compare.Comparison(*(records.read([scratch("side.jsonl", made.lines(found))]) for found in (old, new)), **options)


def planted(matrix, k):
    return 1.2 if (matrix, k) == ("A.mtx", 8) else 0.8 if (matrix, k) == ("lap3d7:60", 64) else 1.0


with test("a slowdown of 20 % in one point is found, beside a point that became as much faster, and fails with --fail-over"):
    found = comparison(study(1), study(2, factor=planted), fail_over=0.05)
    equal([(p.label.split()[0], p.old.k) for p in found.regressions], [("A", 8)])
    equal([(p.label.split()[0], p.old.k) for p in found.of(compare.FASTER)], [("lap3d7:60", 64)])
    worst = found.pairs[0].ratio
    assert worst.low < 1.2 < worst.high and worst.low > 1.1, worst
    done = compared(study(1), study(2, factor=planted), "--fail-over", "5%")
    equal(done.returncode, 1, done.stderr)
    within(done.stdout, "regressions, slower beyond noise and by more than 5 %: 1")
    equal([line.split()[0] for line in done.stdout.splitlines() if "A k=8 " in line], ["REGRESSION"])
    for options, code in (((), 0), (("--fail-over", "30%"), 0), (("--fail-over", "15"), 1)):
        equal(compared(study(1), study(2, factor=planted), *options).returncode, code, options)

with test("what is slower where the machine was busy with other work is neither slower nor a regression: exit code 5, and it says so"):
    def loaded(records_of, load, cores=2):
        for record in records_of[1:]:
            record["study"]["load_average"] = load
        return [made.environment(cores=cores)] + records_of[1:]
    for load, cores, code in ((0.2, 2, 1), (2.9, 2, 1), (12, 2, 5), (12, 64, 1), (100, 64, 5), (None, 2, 1)):
        old, new = loaded(study(1), 0.2, cores), loaded(study(2, factor=planted), load, cores)
        done = compared(old, new, "--fail-over", "5%", "--page", scratch("busy.html"))
        equal(done.returncode, code, f"{load} {cores}: {done.stdout}")
        found = comparison(old, new)
        equal((len(found.of(compare.SLOWER)), len(found.of(compare.FASTER))), (code == 1, 1), "a load does not explain what is faster")
        if code == 5:
            within(done.stdout, f"slower on a side whose machine was busy with other work (load average up to {load}), of 9 points: 1;")
            within(done.stdout, "regressions, or the effect of other work on a busy machine: 1; repeat")
            within(open(scratch("busy.html"), encoding="utf-8").read(), "<p>Cannot tell: the machine was busy with other work.</p>")
            equal(compared(old, new).returncode, 0, "without --fail-over")
            found = comparison(new, old)
            equal((len(found.of(compare.SLOWER)), len(found.of(compare.FASTER))), (1, 0), "the older side was the busy one")
    done = compared(loaded(study(1), None), loaded(study(2), 0.5))
    assert re.search(r"^ +load average +- +0\.50$", done.stdout, re.M), done.stdout
    wrong = made.run(1e-3, number=3, matrix="A.mtx", k=8)
    wrong["error"].update(wrong=3, passed=False)
    equal(compared(old, new + [wrong], "--fail-over", "5%").returncode, 1, "a wrong result is one on any machine")

with test("noise fails no more often than the intervals promise, and they hold the truth as often as they say"):
    covered = slower = total = 0
    rng = random.Random(7)
    for _ in range(600):
        rounds = rng.choice((2, 3, 5))
        sides = [intervals.Side([noisy(1.0, rng)["apply"] for _ in range(rounds)]) for _ in "ab"]
        ratio = intervals.ratio(*sides, 0.95)
        covered, slower, total = covered + (ratio.low <= 1 <= ratio.high), slower + (ratio.low > 1), total + 1
    assert covered >= 0.94 * total, f"{covered} of {total} intervals hold the truth"
    assert slower <= 0.035 * total, f"{slower} of {total} are called slower"
    failed = sum(comparison(study(2 * seed + 100), study(2 * seed + 101), fail_over=0.05).failed for seed in range(12))
    equal(failed, 0, "comparisons of 9 points each, of pure noise")

with test("of single runs the interval is that of two medians by their order statistics, and no less than the scatter of the points"):
    rng = random.Random(3)
    covered = 0
    for _ in range(400):
        sides = [intervals.Side([noisy(1.0, rng, n=rng.choice((10, 20)), between=0.0)["apply"]]) for _ in "ab"]
        ratio = intervals.ratio(*sides, 0.95)
        covered += ratio.low <= 1 <= ratio.high
    assert covered >= 0.93 * 400, f"{covered} of 400 intervals hold the truth"
    done = compared(study(1, rounds=1), study(2, rounds=1, factor=planted), "--fail-over", "10%")
    equal(done.returncode, 1, done.stdout)
    within(done.stdout, "9 points have one round on each side: the noise from run to run is estimated from the scatter of their ratios")
    called = [len(comparison(study(2 * seed + 300, rounds=1, between=0.1), study(2 * seed + 301, rounds=1, between=0.1)).of(compare.SLOWER))
              for seed in range(20)]
    assert sum(called) <= 0.06 * 9 * 20, f"{called} of 9 each are called slower"
    doubled = comparison(study(1, rounds=1), study(2, rounds=1, factor=lambda *_: 2.0), fail_over=0.05)
    equal(len(doubled.regressions), 9)
    within(comparison(study(1, rounds=1)[:2], study(2, rounds=1)).remarks()[0], "but not that from run to run")

with test("from too few samples nothing is told: neither that it is slower, nor that it is the same"):
    few = [study(s, rounds=1, n=5, factor=planted if s == 2 else lambda *_: 1.0) for s in (1, 2)]
    found = comparison(*few, fail_over=0.05)
    equal(({p.verdict for p in found.pairs}, found.failed), ({compare.UNKNOWN}, False))
    done = compared(*few)
    within(done.stdout, "0 slower, 0 faster, 0 the same within 5 %, 9 cannot be told")
    wide = comparison(study(1, rounds=2, between=0.2), study(2, rounds=2, between=0.2), fail_over=0.05)
    assert len(wide.of(compare.UNKNOWN)) >= 8, [p.verdict for p in wide.pairs]
    # with one round on one side, the other side's variance is used for both
    found = comparison(study(1, rounds=1), study(2, rounds=4, factor=planted), fail_over=0.05)
    assert found.pairs[0].ratio.low is not None and not found.remarks(), found.remarks()

with test("quantiles are those of tables, and of SciPy where it is"):
    for freedom, t in ((1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (100, 1.984)):
        near(intervals.student(0.95, freedom), t, 1e-3)
    near(intervals.order_statistic_z(6), 2.1539, 1e-4)
    equal([intervals.order_statistic_z(n) for n in (1, 5)], [None, None])
    near(intervals.order_statistic_z(10 ** 9), 1.96, 1e-3)
    try:
        from scipy.stats import t as student_t
    except ImportError:
        student_t = None
    for freedom in (1.3, 2.7, 7.5, 33.3) if student_t else ():
        for confidence in (0.8, 0.95, 0.99):
            near(intervals.student(confidence, freedom), student_t.ppf((1 + confidence) / 2, freedom), 1e-4)
    agreeing = intervals.Side([stats([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])] * 3)  # rounds that agree by chance
    assert agreeing.variance > 0.05, agreeing.variance
    mean = intervals.geometric_mean([1.1, 1.2, 1.3], 0.95)
    near(mean.value, (1.1 * 1.2 * 1.3) ** (1 / 3))
    assert mean.low < 1.1 and mean.high > 1.3, mean
    equal((intervals.geometric_mean([], 0.95), intervals.geometric_mean([2.0], 0.95).low), (None, None))

with test("points of one file alone are listed, and are no regression; files without a point in common are refused"):
    more = [noisy(1e-3, random.Random(1), r, matrix="lap3d27:9") for r in range(3)]
    done = compared(study(1), study(2)[:-1] + more, "--fail-over", "5%")
    equal(done.returncode, 0, done.stdout)
    within(done.stdout, "Only in NEW: 1\n  lap3d27:9 k=8 ")
    done = compared(study(1) + more, study(2))
    within(done.stdout, "Only in OLD: 1\n  lap3d27:9 k=8 ")
    for new in (more, [made.environment()], [], [made.failed(4, "no memory")]):
        done = compared(study(1), new)
        equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        within(done.stderr, "no point in common")

with test("a result that became wrong, and a run that fails now, fail always; what was wrong before, or was not verified, does not"):
    wrong = made.run(1e-3, number=3, matrix="A.mtx", k=8)
    wrong["error"].update(wrong=3, passed=False)
    wrong["study"].update(code=1, error="3 elements are wrong")
    crashed = {"study": {**made.run(1e-3, number=3, matrix="A.mtx", k=8)["study"], "code": 4, "error": "no memory"}}
    for odd, word in ((wrong, "WRONG NOW: A k=8"), (crashed, "FAILS NOW: A k=8")):
        done = compared(study(1), study(2) + [odd])
        equal(done.returncode, 1, done.stdout)
        within(done.stdout, word)
        done = compared(study(1) + [odd], study(2) + [odd])
        equal(done.returncode, 0, done.stdout)
        within(done.stdout, "Failed in NEW, and also in OLD")
        within(compared(study(1) + [odd], study(2)).stdout, "Failed in OLD, and not in NEW: 1")
    # records of spmm_mpi --json, without a study
    alone = [{k: v for k, v in r.items() if k != "study"} for r in (made.run(1e-3), wrong)]
    equal(compared(alone[:1], [alone[1]]).returncode, 1)
    unverified = made.run(1e-3)
    unverified["run"]["verify"], unverified["error"] = "none", {"passed": False, "checked": 0, "wrong": 0}
    done = compared([made.run(1e-3)], [unverified])
    equal(done.returncode, 0, done.stdout)
    within(done.stdout, "1 points were verified in OLD, and are not in NEW")

with test("environments that differ, and kernels that were chosen differently, are named"):
    new = [made.environment(commit="9999fff", cpu="Another CPU", gpus=[{"name": "NVIDIA H100", "driver": "1"}],
                            variables={"OMP_PROC_BIND": "spread"})] + \
          [{**made.run(1e-3, kernel="cpu_ell", form="ell", settings={"kernel": "auto", "format": "auto"}, number=r)} for r in range(3)]
    for record in new[1:]:
        record["study"]["load_average"] = 3.5
    old = [made.environment()] + [made.run(1e-3, settings={"kernel": "auto", "format": "auto"}, number=r) for r in range(3)]
    for record in old[1:]:
        record["study"]["load_average"] = 0.1
    done = compared(old, new)
    equal(done.returncode, 0, done.stderr)
    for part in ("kernel cpu_csr → cpu_ell", "format csr → ell", "commit", "9999fff", "NVIDIA H100", "Another CPU", "OMP_PROC_BIND", "3.50"):
        within(done.stdout, part)
    plain = [[{k: v for k, v in r.items() if k != "study"} for r in side[1:]] for side in (old, new)]
    # without `study` and `asked` only the program's choices differ
    within(compared(*plain).stdout, "kernel cpu_csr → cpu_ell")
    equal(compared(old, old).stdout.count("What differs"), 0)

with test("of records without a study the machine, commit, days and load are those that they tell themselves"):
    def told(seconds, day, commit, load):
        record = {n: v for n, v in made.run(seconds).items() if n != "study"}
        return {**record, "measured": {"date": f"2026-01-{day}T03:04:05Z", "processor": f"CPU {load > 0.2}", "cores": 4, "commit": commit,
                                       "load_average": load}}
    old, new = [told(1e-3, 10, "aaaaaaa", 0.1)], [told(1e-3, 12, "bbbbbbb", 0.5), told(1e-3, 14, "ccccccc", 2.5)]
    text = re.sub(" +", " ", compared(old, new).stdout)
    for row in ("commit aaaaaaa bbbbbbb; ccccccc", "cpu CPU False CPU True", "measured 2026-01-10 2026-01-12 to 2026-01-14",
                "load average 0.10 1.50"):
        within(text, f"\n {row}\n")
    two = records.read([scratch("two.jsonl", made.lines([new[0], {**new[0], "measured": {**new[0]["measured"], "commit": "d"}}]))])
    equal(([p.machine for p in two.points], two.remarks), (["CPU True"], ["rounds of one point were run with different commit"]))
    equal([records.load_of({**new[1], "study": {"load_average": 1.0}}), records.load_of(made.run(1.0))], [1.0, None])

with test("of --kernel all a kernel that is gone and one that is new are not one another's"):
    old, new = ([{k: v for k, v in made.run(1e-3, kernel=kernel).items() if k != "study"} for kernel in kernels]
                for kernels in (("cpu_a", "cpu_b", "cpu_c"), ("cpu_a", "cpu_b", "cpu_d")))
    found = comparison(old, new)
    equal([len(found.pairs), len(found.only_old), len(found.only_new)], [2, 1, 1])

with test("two machines in a file are two points, and another machine in the other file is none"):
    here, there = made.environment(), made.environment(id="e2", cpu="B")
    both = [here, there] + [made.run(1e-3, number=r) for r in range(3)]
    for r in range(3):
        record = made.run(2e-3, number=r)
        record["study"]["environment"] = "e2"
        both.append(record)
    found = comparison(both, both)
    equal(sorted(round(p.sides[0].seconds / p.sides[1].seconds, 6) for p in found.pairs), [1.0, 1.0])
    elsewhere = [here, made.environment(id="e2", cpu="D")] + both[2:]  # one machine in common
    equal([len(x) for x in (comparison(both, elsewhere).pairs, comparison(both, elsewhere).only_new)], [1, 1])
    other = [made.environment(cpu="C")] + [made.run(1e-3, number=r) for r in range(3)]
    equal(len(comparison([here] + both[2:5], other).pairs), 1)
    equal([len(x) for x in (comparison(both, both[:1] + both[2:5]).pairs, comparison(both, both[:1] + both[2:5]).only_old)], [1, 1])

with test("steps of series are compared, alone and beside products"):
    old = [made_steps.step(1.0 + 0.01 * n, precision=p, ranks=r) for n in range(3) for p in ("f64", "f32") for r in (1, 2)]
    new = [made_steps.step((1.3 if s["run"]["ranks"] == 2 else 1.0) * s["seconds"]["median"], precision=s["run"]["precision"],
                           ranks=s["run"]["ranks"]) for s in old]
    found = comparison(old, new, fail_over=0.05)
    equal(sorted((p.old.precision, p.old.ranks) for p in found.regressions), [("f32", 2), ("f64", 2)])
    equal(len(found.pairs), 4)
    equal(len(comparison(old + study(1), new + study(2)).pairs), 13)
    equal(compared(old, [made_steps.step(1.0, wrong=2)]).returncode, 1)

with test("the records of docs/studies compare with themselves, and with themselves 20 % slower"):
    for name in sorted(os.listdir(ROOT / "docs" / "studies")):
        if name.endswith(".jsonl"):
            path = str(ROOT / "docs" / "studies" / name)
            same = compare.Comparison(records.read([path]), records.read([path]), fail_over=0.05)
            assert same.pairs and not same.failed and not same.only_old and not same.differences(), name
            near(same.mean.value, 1)
            slow = [lines.parse(line) for line in lines.read(path)]
            for record in slow:
                record.get("apply", {}).update({n: 1.2 * v for n, v in record.get("apply", {}).items() if isinstance(v, float)})
            found = compare.Comparison(records.read([path]), records.read([scratch(name, made.lines(slow))]), fail_over=0.05)
            near(found.mean.value, 1.2)
            assert len(found.regressions) > len(found.pairs) / 2, f"{name}: {len(found.regressions)} of {len(found.pairs)}"

with test("the page is whole, needs nothing from elsewhere, and has a picture per point; the CSV has a row per point"):
    page, table = scratch("compared.html"), scratch("compared.csv")
    evil = [made.run(1e-3, matrix="<script>alert(1)", number=r) for r in range(3)]
    done = compared(study(1) + evil, study(2, factor=planted) + evil, "--fail-over", "5%", "--page", page, "--csv", table)
    equal(done.returncode, 1, done.stderr)
    found, text = checked_page(page)
    equal(text.count("<svg "), 10)
    within(text, "REGRESSION")
    within(text, "&lt;script&gt;")
    for part in ("prefers-color-scheme: dark", "@media print", "aria-sort"):
        within(text, part)
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    equal((len(rows), [r["regression"] for r in rows].count("1"), float(rows[0]["ratio_low"]) > 1.05), (10, 1, True))

with test("the CSV has no cell that is a formula, and names that are printed have no control characters"):
    evil = [made.run(1e-3, matrix="=1+2", number=r) for r in range(3)]
    table = scratch("cells\x1b.csv")
    equal(compared(evil, evil, "--csv", table).returncode, 0)
    with open(table, encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    equal((row["point"].split()[0], float(row["ratio"])), ("'=1+2", 1))
    done = start("scaling", scratch("old.jsonl"), "--csv", table)
    with open(table, encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    equal((done.returncode, row["source"], float(row["median_s"])), (0, "'=1+2", 1e-3), done.stderr)
    for words in ((scratch("no\x1b\n.jsonl"), table), (table, table, "--\x1b\n")):
        done = start("compare", *words)
        equal(("\x1b" in done.stderr, "\\x1b\\x0a" in done.stderr), (False, True), done.stderr)

with test("a reader that goes ends the programs by SIGPIPE, silently, and closed streams are a line and 4"):
    good = scratch("good.jsonl", made.lines(study(1)))
    reading, writing = os.pipe()
    os.close(reading)
    for words in (("jobs/compare", good, good), ("jobs/compare", "--help"), ("jobs/scaling", good), ("matrices/get", "--help"),
                  ("jobs/study", "--dry-run", "--set", "matrices=lap2d5:9", ROOT / "jobs/studies/strong.study")):
        done = subprocess.run([sys.executable, ROOT / words[0], *words[1:]], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False,
                              env={**os.environ, "PYTHONUNBUFFERED": ""}, cwd=scratch("."))
        equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), words)
    os.close(writing)
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        equal(subprocess.run(f"{sys.executable} jobs/compare {good} {good} {closed}", shell=True, cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=False).returncode, 4, closed)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, ROOT / "jobs/compare", "--help"], stdout=full, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "PYTHONUNBUFFERED": ""})
    equal((done.returncode, done.stderr), (4, b"compare: error: output: No space left on device\n"))

with test("wrong arguments end with 2, wrong files with 3, an output that cannot be written with 4, each with a line"):
    good = scratch("good.jsonl", made.lines(study(1)))
    for words in (("--fail-over", "-1%"), ("--fail-over", ""), ("--fail-over", "nan"), ("--fail-over", "²"), ("--confidence", "100%")):
        equal(start("compare", good, good, *words).returncode, 2, words)
    equal(start("compare", good).returncode, 2)
    for path, part in ((scratch("none.jsonl"), "No such file"), (scratch("odd.jsonl", "{}\n"), "odd.jsonl:1: not a run of spmm_mpi"),
                       (scratch("text.jsonl", "x\n"), "text.jsonl:1: not JSON")):
        done = start("compare", good, path)
        equal((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)
        within(done.stderr, part)
    equal(start("compare", scratch("none.jsonl"), good).returncode, 3)
    for option, path, part in (("--page", "/dev/full", "No space left"), ("--csv", scratch("no/such/folder"), "No such file")):
        done = start("compare", good, good, option, path)
        equal((done.returncode, len(done.stderr.splitlines())), (4, 1), done.stderr)
        within(done.stderr, part)
    equal(start("compare", "--help").returncode, 0)

ASKED = {"partition": "auto", "exchange": "auto", "transport": "auto", "reduce": "auto", "block_size": 0, "subwarp": 0, "overlap": "on", "plan": "timed",
         "column_blocks": 0, "reproducible": "on", "products": 0, "autotune": "off", "io": "root", "ell_limit": 3, "isa": "", "backend": "",
         "exchange_precision": "f64", "values": "exact"}


def alone(seconds, block=None, lanes=None, **choices):
    """A record of spmm_mpi without a study."""
    record = made.run(seconds, device="cuda", gpu="H100", kernel="csr_scalar2", grid=(1, 2), ranks=2)
    del record["study"]
    return {**record, "asked": {**ASKED, **choices}, "launch": {"block_size": block, "subwarp": lanes, "registers": block and 40}}

with test("what two sets were asked for differently is named, with a study and without, and points of one file are kept apart by it"):
    for old, new, named in ((alone(1e-3, reduce="tree"), alone(1e-3, reduce="linear"), "reduce tree → linear"),
                            (alone(1e-3, 256), alone(1e-3, 64, block_size=64), "block_size 0 → 64"),
                            (alone(1e-3, 256), alone(1e-3, 64), "block_size 256 → 64"),
                            (alone(1e-3, 256, 8), alone(1e-3, 256, 2, subwarp=2), "subwarp 0 → 2"),
                            (alone(1e-3), alone(1e-3, overlap="off", plan="quick"), "overlap on → off, plan timed → quick"),
                            (alone(1e-3), alone(1e-3, isa="generic"), "isa - → generic"),
                            (made.run(1e-3, settings={"transport": "mpi"}), made.run(1e-3, settings={"transport": "shared"}), "transport mpi → shared"),
                            (made.run(1e-3), made.run(1e-3, settings={"options": "--verify none"}), "options - → --verify none"),
                            (made.run(1e-3, settings={"partition": "rows"}), made.run(1e-3), "partition rows → auto")):
        done = compared([old], [new])
        equal(done.returncode, 0, done.stderr)
        within(done.stdout, named)
        within(done.stdout, "1 points were requested, or ran, differently than before")
    within(compared([alone(1e-3, reduce="tree")], [alone(1e-3, reduce="linear")]).stdout.split("Points")[0], "reduce")
    equal(compared([alone(1e-3)], [alone(1e-3)]).stdout.count("run differently"), 0)
    older = {k: v for k, v in alone(1e-3).items() if k not in ("asked", "launch")}
    # a field that is missing from one record is no difference
    equal(compared([older], [alone(1e-3, 256)]).stdout.count("run differently"), 0)
    several = [alone(t, reduce=word) for t, word in ((1e-3, "linear"), (2e-3, "tree"), (3e-3, "butterfly"))]
    found = comparison(several, [alone(t, reduce=word) for t, word in ((3e-3, "butterfly"), (2e-3, "tree"), (1e-3, "linear"))])
    equal([(len(found.pairs), p.ratio.value, p.chosen) for p in found.pairs], [(3, 1.0, {})] * 3)
    within(found.pairs[0].label, "reduce=")
    found = comparison(several, several[:2])
    equal([len(found.pairs), len(found.only_old)], [2, 1])

finish()
