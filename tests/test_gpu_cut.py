"""4 and 8 ranks with GPUs, which they share if there are fewer, multiply by a renumbered mesh.
limit: 300"""
import itertools
import random

from command import equal, finish, run, scratch, skip, test, verified

SIDE = 24
OPTIONS = ("-d", "cuda", "-t", 1, "-r", 1, "--warmup", 0, "--plan", "quick", "--products", 10 ** 7, "-k", 3)

if run(*OPTIONS, "lap2d5:9").code != 0:
    skip("renumbered meshes on GPUs", "no GPU")
    finish()

numbers = list(range(SIDE * SIDE))
random.Random(1).shuffle(numbers)
entries = [(i, j) for i in range(SIDE * SIDE) for j in (i, i + 1, i + SIDE) if j < SIDE * SIDE and (j != i + 1 or j % SIDE)]
lines = [f"{max(numbers[i], numbers[j]) + 1} {min(numbers[i], numbers[j]) + 1} {random.Random(i * 1000 + j).uniform(-1, 1)!r}\n" for i, j in entries]
MESH = scratch("mesh.mtx", f"%%MatrixMarket matrix coordinate real symmetric\n{SIDE * SIDE} {SIDE * SIDE} {len(lines)}\n" + "".join(lines))


def y_of(ranks, *options):
    """(record, text of Y); checks that Y has the bits of the serial product."""
    path = scratch(f"y{ranks}.mtx")
    result = run(*OPTIONS, *options, "-o", path, MESH, ranks=ranks)
    verified(result, f"{ranks} ranks {options}", 1)
    equal(result.records[0]["error"]["different"], 0, f"{ranks} ranks {options}")
    with open(path) as file:
        return result.records[0], file.read()


with test("on 4 and 8 ranks by a layout and auto, Y has the bits of one rank, and few rows move"):
    _, serial = y_of(1)
    for ranks, partition in itertools.product((4, 8), ("nnz", "layout", "auto")):
        record, y = y_of(ranks, "--partition", partition, "--exchange", "halo")
        assert y == serial, (ranks, partition)
        if partition == "nnz":
            by_entries = record["moved"]["all_rows"]
            continue
        print(f"  {ranks} ranks, {partition}: {record['moved']['all_rows']} rows moved by {record['run']['partition']}, {by_entries} by entries")
        assert record["run"]["partition"] in ("layout", "graph"), record["run"]
        assert 2 * record["moved"]["all_rows"] < by_entries, record["moved"]
finish()
