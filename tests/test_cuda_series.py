"""series_mpi on GPUs: as many ranks as GPUs, fewer, and more; compared with the CPU and numpy.
limit: 600"""
import os
import re

from command import SERIES, equal, finish, refused, run, scratch, skip, test, within

devices = run("--list-devices", records=False).out
gpus = len(re.findall(r"^cuda \d", devices, re.M))


def series(*args, **more):
    return run("-r", 1, "--warmup", 0, *args, program=SERIES, limit=120, **more)


if gpus == 0:
    reason = re.search(r"^cuda +none: (.*)$", devices, re.M).group(1)
    with test("without a GPU, device cuda is refused with the reason, and auto takes the cores"):
        for ranks in (1, 3):
            result = series("-d", "cuda", "-m", 5, "-n", 9, ranks=ranks)
            refused(result, 4, reason)
        result = series("-m", 5, "-n", 9, ranks=2)
        equal(result.code, 0, result.err)
        equal({r["run"]["device"] for r in result.records}, {"cpu"}, "device")
    skip("series on GPUs", reason)
    finish()

CPU, CUDA = ("-d", "cpu", "-t", 1), ("-d", "cuda")


def passed(result, what):
    equal(result.code, 0, f"{what}: {result.err[-500:]} {result.out[-500:]}")
    for r in result.records:
        assert r["check"]["passed"], f"{what}: {r}"
    return result


with test("every kernel, precision and layout passes on 1 to 5 ranks, and coefficients are the CPU's"):
    for precision, digits in (("f64", 9), ("f32", 3)):
        for layout in ("series", "index"):
            args = ("-m", 130, "-n", 517, "-p", precision, "--layout", layout, "--verify", "full", "--kernel", "all")
            want = passed(series(*CPU, *args), "cpu").records[-1]["pearson"]
            for ranks in (1, 2, 3, 5):
                found = passed(series(*CUDA, *args, ranks=ranks), f"{precision} {layout} {ranks}")
                got = found.records[-1]["pearson"]
                for q in ("min", "q25", "q50", "q75", "max"):
                    assert abs(got[q] - want[q]) < 10 ** -digits, (q, got[q], want[q], ranks)
                equal(got["pairs"], want["pairs"], "pairs")

with test("values in mapped and in managed memory have the same bits, with every kernel, layout and number of ranks"):
    for precision in ("f64", "f32"):
        for layout in ("series", "index"):
            args = ("-m", 70, "-n", 133, "-p", precision, "--layout", layout, "--verify", "full", "--kernel", "all")
            want = passed(series(*CUDA, *args), "device").records
            for memory, ranks in (("mapped", 1), ("managed", 1), ("mapped", 3), ("managed", 2)):
                found = passed(series(*CUDA, *args, "--memory", memory, ranks=ranks), f"{memory} {precision} {layout} {ranks}")
                within(found.out, f"memory     {memory}")
                equal([r["run"]["memory"] for r in found.records], [memory] * len(want), "memory")
                equal([(r["step"], r["kernel"]) for r in found.records], [(r["step"], r["kernel"]) for r in want], "rows")
    file = scratch("b.csv", "\n".join(",".join(str(m * i % 7 + m) for i in range(30)) for m in range(1, 20)) + "\n")
    want = passed(series(*CUDA, file), "device").records[-1]["pearson"]
    for memory in ("mapped", "managed"):
        equal(passed(series(*CUDA, "--memory", memory, file), memory).records[-1]["pearson"], want, f"a file in {memory} memory")

with test("fewer series than ranks, one or two values, and values of 1e300 and of 1e-300"):
    for m, n, ranks in ((1, 1, 1), (1, 5, 3), (2, 1, 2), (3, 2, 5), (2, 9, 4)):
        passed(series(*CUDA, "-m", m, "-n", n, ranks=ranks), f"{m} x {n} on {ranks}")
    for start in ("1e300", "1e-300"):
        passed(series(*CUDA, "-m", 70, "-n", 90, "--start", start, "--verify", "full", ranks=2), start)

with test("coefficients of a file are numpy's, constant series have none"):
    try:
        import numpy
        import scipy.io
    except ImportError:
        numpy = None
    if numpy is not None:
        data = numpy.random.default_rng(3).standard_normal((60, 200)).cumsum(axis=1)
        data[7] = 0.1
        with numpy.errstate(all="ignore"):
            want = numpy.corrcoef(data)
        want[7, :] = want[:, 7] = 0
        file = scratch("a.csv", "\n".join(",".join(f"{v:.17g}" for v in row) for row in data) + "\n")
        for ranks in (1, 2, 4):
            path = scratch("r.mtx")
            result = passed(series(*CUDA, "-o", path, file, ranks=ranks, env={"SPMM_TILE_EDGE": "16"}), f"{ranks}")
            assert abs(scipy.io.mmread(path) - want).max() < 1e-12
            within(result.out, "constant series, which have none: 1")
            os.remove(path)

with test("a wrong result is found, and a rank that fails ends the job"):
    for steps in ("generate", "mean", "deviation"):
        result = series(*CUDA, "-m", 9, "-n", 20, "--steps", steps, ranks=2, env={"SPMM_FAULT": "step:0:wrong"})
        equal(result.code, 1, f"{steps}: {result.err}")
    for stage in ("series", "step", "pearson", "check", "output"):
        result = series(*CUDA, "-m", 12, "-n", 30, ranks=2, env={"SPMM_FAULT": f"{stage}:1"})
        refused(result, 4, what=stage)

with test("--accuracy on the GPU: compensated sums are right to their last bit"):
    path = scratch("a.csv2")
    result = run("-d", "cuda", "--accuracy", "-m", 50, "-n", 3000, "--csv", path, program=SERIES, ranks=2)
    equal(result.code, 0, result.err)
    equal(len(open(path).read().splitlines()), 9, "rows")

finish()
