#!/usr/bin/env python3
"""Makes src/plan/choose_trees.h, by which `auto` chooses a CUDA kernel, from the CSV files of bench_gpu.

    calibrate.py CSV... > src/plan/choose_trees.h      # one tree per GPU and precision; a report goes to stderr

A tree compares the traits of a matrix (SP_TRAIT_LIST in src/plan/choose.h, which the CSV files have as columns) and
says in each leaf how much slower each kernel is than the fastest one. The report judges each matrix by trees that
were made without it.
"""
import csv
import math
import re
import sys

CHOICES = ["csr_rows", "csr_balanced", "csr_deep", "csr_clustered", "sell_rows",
           "sell_deep", "panel_mma"]
TRAITS = ["x_bytes", "mean", "variation", "over_4", "over_8", "over_16", "over_32", "over_64", "over_128", "reuse",
          "shared", "entries"]
DEPTH, LEAST_MATRICES, LEAF_COST = 5, 2, 0.12
# The first splits, by the bytes of X per entry: what separates the kernels differs from one of these ranges to the next, and
# a split that helps only after another one is not found otherwise.
RANGES = [22.6, 90.5, 362]


class Case:
    """Times of the kernels for one matrix, precision and K."""

    def __init__(self, row):
        self.name = row["matrix"].split("/")[-1]
        # The same matrix in another numbering, or a part of it (bench/variants.py), is no other matrix.
        self.group = re.sub(r"-(random|morton|t|half)\b|\.(mtx|gz|spmm)", "", self.name)
        self.k, self.precision = int(row["k"]), row["precision"]
        self.rows, self.entries = int(row["rows"]), int(row["nnz"])
        self.trait = [float(row[t]) for t in TRAITS]
        self.seconds, self.set_up, self.peer = {}, {}, math.inf

    def add(self, row):
        seconds = float(row["median_ms"]) * 1e-3
        if row["ok"] != "1":
            return
        if row["contender"] == "own":
            self.seconds[row["kernel"]] = seconds
            self.set_up[row["kernel"]] = float(row["prepare_ms"]) * 1e-3
        elif self.k == 1 or "spmv" not in row["kernel"]:
            self.peer = min(self.peer, seconds)

    def finish(self):
        """Sets the relative times, and the penalty of choosing each kernel: more where it is far from the best."""
        best = min(self.seconds[c] for c in CHOICES if c in self.seconds)
        self.best = best
        self.ratio = [self.seconds[c] / best if c in self.seconds else 10.0 for c in CHOICES]
        self.penalty = [math.log(r) + 2 * max(0.0, math.log(r / 1.1)) for r in self.ratio]


def read(paths):
    cases = {}
    for path in paths:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                key = (row["gpu"], row["precision"], row["matrix"], row["k"])
                cases.setdefault(key, Case(row)).add(row)
    by_gpu = {}
    for (gpu, *_), case in cases.items():
        if any(c in case.seconds for c in CHOICES):
            case.finish()
            by_gpu.setdefault(gpu, []).append(case)
    return by_gpu


def least(cases):
    return min(sum(c.penalty[i] for c in cases) for i in range(len(CHOICES)))


def split(cases):
    """The best split of the cases: (gain, trait, bound); None if there is none."""
    whole, best = least(cases), None
    for t in range(len(TRAITS)):
        ordered = sorted(cases, key=lambda c: c.trait[t])
        below, above = [0.0] * len(CHOICES), [sum(c.penalty[i] for c in ordered) for i in range(len(CHOICES))]
        groups_above = {}
        for c in ordered:
            groups_above[c.group] = groups_above.get(c.group, 0) + 1
        groups_below = set()
        for c, following in zip(ordered, ordered[1:]):
            for i in range(len(CHOICES)):
                below[i] += c.penalty[i]
                above[i] -= c.penalty[i]
            groups_below.add(c.group)
            groups_above[c.group] -= 1
            if not groups_above[c.group]:
                del groups_above[c.group]
            if c.trait[t] == following.trait[t] or min(len(groups_below), len(groups_above)) < LEAST_MATRICES:
                continue
            gain = whole - min(below) - min(above)
            if best is None or gain > best[0]:
                a, b = c.trait[t], following.trait[t]
                best = (gain, t, math.sqrt(a * b) if a > 0 else (a + b) / 2)
    return best


def grow(cases, depth=DEPTH):
    """A tree: (trait, bound, below, above), or a leaf: the list of relative times."""
    found = split(cases) if depth > 0 else None
    if found is None or found[0] < LEAF_COST:
        return [math.exp(sum(math.log(c.ratio[i]) for c in cases) / len(cases)) for i in range(len(CHOICES))]
    _, t, bound = found
    return (t, bound, grow([c for c in cases if c.trait[t] <= bound], depth - 1),
            grow([c for c in cases if c.trait[t] > bound], depth - 1))


def grow_ranges(cases, bounds=RANGES):
    """A tree whose first splits are RANGES."""
    if not bounds:
        return grow(cases)
    middle = len(bounds) // 2
    bound = bounds[middle]
    return (0, bound, grow_ranges([c for c in cases if c.trait[0] <= bound], bounds[:middle]),
            grow_ranges([c for c in cases if c.trait[0] > bound], bounds[middle + 1:]))


def leaf_of(tree, trait):
    while isinstance(tree, tuple):
        tree = tree[2] if trait[tree[0]] <= tree[1] else tree[3]
    return tree


def chosen(tree, case):
    """Relative time of the kernel that the tree takes."""
    times = leaf_of(tree, case.trait)
    return case.ratio[min(range(len(CHOICES)), key=lambda i: times[i])]


def solve(matrix, vector):
    """Least squares with coefficients that are not negative, by coordinate descent."""
    n = len(matrix[0])
    x = [0.0] * n
    for _ in range(3000):
        for j in range(n):
            norm = sum(row[j] ** 2 for row in matrix)
            if norm > 0:
                rest = sum(row[j] * (v - sum(a * b for a, b in zip(row, x)) + row[j] * x[j])
                           for row, v in zip(matrix, vector))
                x[j] = max(0.0, rest / norm)
    return x


def relative(rows, seconds):
    """Rows of a system whose relative errors are to be small."""
    return [[a / s for a in row] for row, s in zip(rows, seconds)], [1.0] * len(seconds)


def product_model(cases):
    size = {"f64": 8, "f32": 4}
    rows = [[1, c.entries * (4 + size[c.precision]), c.entries * c.trait[0], c.rows * c.trait[0]] for c in cases]
    return solve(*relative(rows, [c.best for c in cases]))


def set_up_model(cases, kernel):
    known = [c for c in cases if c.set_up.get(kernel, 0) > 0]
    if not known:
        return [0, 0, 0]
    return solve(*relative([[1, c.rows, c.entries] for c in known], [c.set_up[kernel] for c in known]))


def report(gpu, precision, cases):
    """How far the choice is from the best kernel, each matrix judged by a tree that was made without it."""
    ratios, peers = [], {}
    for group in sorted({c.group for c in cases}):
        tree = grow_ranges([c for c in cases if c.group != group])
        for c in (c for c in cases if c.group == group):
            ratios.append((chosen(tree, c), c))
            peers.setdefault(c.k, []).append(c.peer / (c.best * ratios[-1][0]))
    within = sum(r <= 1.10 for r, _ in ratios) / len(ratios)
    mean = math.exp(sum(math.log(r) for r, _ in ratios) / len(ratios))
    print(f"{gpu}, {precision}: {len(ratios)} cases, cross-validated: within 1.10 of the best {within:.0%}, mean {mean:.3f}",
          file=sys.stderr)
    for r, c in sorted(ratios, key=lambda pair: -pair[0])[:8]:
        print(f"    {r:.2f}  {c.name}, K = {c.k}", file=sys.stderr)
    for k, values in sorted(peers.items()):
        if all(math.isfinite(v) for v in values):
            print(f"    K = {k}: cuSPARSE's time over it: {math.exp(sum(map(math.log, values)) / len(values)):.2f}, "
                  f"worst {min(values):.2f}", file=sys.stderr)


def flat(tree, nodes, leaves):
    if not isinstance(tree, tuple):
        nodes.append(f"{{SP_TRAITS, 0, {len(leaves)}}}")
        leaves.append(tree)
        return
    t, bound, below, above = tree
    here = len(nodes)
    nodes.append("")
    flat(below, nodes, leaves)
    nodes[here] = f"{{SP_{TRAITS[t].upper()}, {bound:.4g}, {len(nodes)}}}"
    flat(above, nodes, leaves)


def numbers(values):
    return "{" + ", ".join(f"{v:.4g}" for v in values) + "}"


def write(by_gpu):
    print("/* Decision trees of choose.c, made by bench/calibrate.py (make calibrate): do not edit. */\n")
    names = ", ".join(f'"{c}"' for c in CHOICES)
    print(f"static const char *const choices[CHOICES] = {{{names}}};\n")
    table = []
    for gpu, cases in by_gpu.items():
        word = re.search(r"[A-Za-z]*\d\w*", gpu).group(0)  # H200 of NVIDIA H200, H100 of NVIDIA H100 80GB HBM3
        trees, times = [], []
        for precision in ("f64", "f32"):
            own = [c for c in cases if c.precision == precision]
            if not own:
                sys.exit(f"calibrate.py: no {precision} times of {gpu}")
            report(gpu, precision, own)
            nodes, leaves = [], []
            flat(grow_ranges(own), nodes, leaves)
            name = f"{word.lower()}_{precision}"
            print(f"static const choice_node {name}[] = {{")
            print("".join(f"    {n},\n" for n in nodes) + "};")
            print(f"static const float {name}_time[][CHOICES] = {{")
            print("".join(f"    {numbers(leaf)},\n" for leaf in leaves) + "};\n")
            trees.append(name)
            times.append(name + "_time")
        set_up = ", ".join(numbers(set_up_model(cases, c)) for c in CHOICES)
        table.append(f'    {{"{word}", {{{", ".join(trees)}}}, {{{", ".join(times)}}}, {numbers(product_model(cases))},\n'
                     f"     {{{set_up}}}}},\n")
    print("static const calibration calibrations[] = {\n" + "".join(table) + "};")
    print("enum { CALIBRATIONS = sizeof calibrations / sizeof *calibrations };")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(read(sys.argv[1:]))
