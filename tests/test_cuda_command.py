"""The whole command on GPUs: as many ranks as GPUs, fewer, and more.
limit: 900"""
import random
import re

from command import equal, finish, refused, run, scratch, skip, sweep, test, verified, within

devices = run("--list-devices", records=False).out
gpus = len(re.findall(r"^cuda \d", devices, re.M))
KERNELS = sum(" cuda " in line for line in run("--list-kernels", records=False).out.splitlines())

if gpus == 0:
    reason = re.search(r"^cuda +none: (.*)$", devices, re.M).group(1)
    with test("without a GPU, device cuda is refused with the reason, and auto takes the cores"):
        for ranks in (1, 3):
            refused(run("-d", "cuda", "lap2d5:10", ranks=ranks), 4, reason, "--device cpu")
        result = run("lap2d5:10", ranks=2)
        verified(result, "auto", 1)
        equal(result.records[0]["run"]["device"], "cpu")
    skip("every matrix on GPUs", reason)
    finish()

for ranks in sorted({1, 2, gpus}):  # few, because starting CUDA takes a second or two per run
    with test(f"every matrix, CUDA kernel, K and precision is the serial product on {ranks} ranks and {gpus} GPUs"):
        sweep("cuda", ranks, KERNELS)


def scattered(edge):
    """A file with the matrix of a cubic grid, with neighbors along the axes and the points numbered at random."""
    n = edge ** 3
    number = random.Random(1).sample(range(n), n)
    lines = []
    for p in range(n):
        at = p // edge ** 2, p // edge % edge, p % edge
        near = [p + sign * edge ** (2 - axis) for axis in range(3) for sign in (-1, 1) if 0 <= at[axis] + sign < edge]
        lines += [f"{number[p] + 1} {number[q] + 1} {(p + 3 * q) % 17 - 8}" for q in [p, *near]]
    head = f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(lines)}\n"
    return scratch("scattered.mtx", head + "\n".join(lines) + "\n")


with test("rows numbered at random, which kernels take in clusters, give the serial product"):
    mesh = scattered(30)  # enough rows for a search for clusters
    for kernel in ("csr_clustered", "sell_rows", "sell_deep", "panel_mma"):
        for precision in ("f64", "f32"):
            for ranks in sorted({1, gpus}):
                result = run("-d", "cuda", "--kernel", kernel, "-p", precision, "-k", "1,3,64", mesh, ranks=ranks)
                verified(result, f"{kernel}, {precision}, {ranks} ranks", 3)

with test("a record has the launch's shape, as it was asked for where the kernel takes that; other libraries' have none"):
    for kernel, words, shape in (("csr_scalar2", ("--block-size", 64), (64, None)), ("ell_subwarp", ("--subwarp", 8, "--block-size", 96), (96, 8)),
                                 ("csr_vector_subwarp_shuffle", (), (None, 2)), ("csr_rows", ("--block-size", 64), (128, 16)),
                                 ("panel_mma", (), (128, None))):
        record = run("-q", "-d", "cuda", "--kernel", kernel, *words, "-k", 64, "-r", 2, "lap2d5:40").records[0]
        launch = record["launch"]
        equal((launch["block_size"] if shape[0] else None, launch["subwarp"]), shape, kernel)
        assert 16 <= launch["registers"] <= 255 and launch["block_size"] % 32 == 0, launch
        equal((record["asked"]["block_size"], record["asked"]["subwarp"]),
              tuple(dict(zip(words[::2], words[1::2])).get(name, 0) for name in ("--block-size", "--subwarp")))
    record = run("-q", "-d", "cpu", "-r", 2, "lap2d5:40").records[0]
    equal(set(record["launch"].values()), {None})

with test("ranks beyond the GPUs share them, and the report says so"):
    result = run("-d", "cuda", "-v", "lap2d5:10", ranks=gpus + 1)
    verified(result, "shared", 1)
    within(result.out, "shared")

with test("as many ranks as GPUs each have their own"):
    result = run("-d", "cuda", "-v", "lap2d5:10", ranks=gpus)
    verified(result, "own", 1)
    assert "shared by" not in result.out.split("device")[1].splitlines()[0], result.out

with test("CUDA_VISIBLE_DEVICES is obeyed"):
    result = run("-d", "cuda", "-v", "lap2d5:10", ranks=2, env={"CUDA_VISIBLE_DEVICES": "0"})
    verified(result, "one visible", 1)
    within(result.out, "shared by 2 ranks")
    result = run("-d", "cuda", "lap2d5:10", env={"CUDA_VISIBLE_DEVICES": ""})
    equal(result.code, 4, "none visible")

with test("auto takes the GPU, and CPU and GPU write the same Y, bit for bit"):
    a, b = scratch("cpu.mtx"), scratch("gpu.mtx")
    verified(run("-d", "cpu", "-o", a, "-k", 33, "lap3d27:12", ranks=2), "cpu", 1)
    result = run("-o", b, "-k", 33, "lap3d27:12", ranks=3)
    verified(result, "auto", 1)
    equal(result.records[0]["run"]["device"], "cuda")
    equal(open(b).read() == open(a).read(), True, "the same files")

finish()
