#!/usr/bin/env python3
"""Makes src/plan/choose_trees.h, by which `auto` chooses a CUDA kernel, from the CSV files of bench_gpu.

    calibrate.py CSV[.gz]... > src/plan/choose_trees.h      # a forest per GPU and precision; a report goes to stderr

Needs scikit-learn. A tree compares the traits of a matrix (SP_TRAIT_LIST in src/plan/choose.h, which the CSV files have as
columns) and says in each leaf how much slower each kernel is than the fastest one; the mean of the trees counts. The report
judges each matrix by forests that were made without it.
"""
import csv
import gzip
import math
import re
import sys

import numpy as np
from scipy.optimize import nnls
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GroupKFold

CHOICES = ["csr_rows", "csr_balanced", "csr_deep", "csr_clustered", "sell_rows",
           "sell_deep", "panel_mma", "panel_staged"]
TRAITS = ["x_bytes", "mean", "variation", "over_4", "over_8", "over_16", "over_32", "over_64", "over_128", "reuse",
          "shared", "entries"]
# A forest is as large as helps matrices that it was made without. A kernel that is MOST times slower is as bad as any.
TREES, LEAVES, LEAST_CASES, MOST, FOLDS = 8, 160, 4, 4.0, 20
# GPUs of one kind, whose kernels compare alike: one forest for both, from the measurements of both.
KINDS = [("H100", "H200")]


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
        """Sets the relative times."""
        best = min(self.seconds[c] for c in CHOICES if c in self.seconds)
        self.best = best
        self.ratio = [self.seconds[c] / best if c in self.seconds else 10.0 for c in CHOICES]


def kind_of(gpu):
    """The names of the GPUs of this kind, as they are found in the names that CUDA gives."""
    word = re.search(r"[A-Za-z]*\d\w*", gpu).group(0)  # H200 of NVIDIA H200, H100 of NVIDIA H100 80GB HBM3
    return next((kind for kind in KINDS if word in kind), (word,))


def read(paths):
    cases = {}
    for path in paths:
        with gzip.open(path, "rt", newline="") if path.endswith(".gz") else open(path, newline="") as file:
            for row in csv.DictReader(file):
                # meshes of several sizes have the same names
                key = (row["gpu"], row["precision"], row["matrix"], row["nnz"], row["k"])
                cases.setdefault(key, Case(row)).add(row)
    by_kind = {}
    for (gpu, *_), case in cases.items():
        if any(c in case.seconds for c in CHOICES):
            case.finish()
            by_kind.setdefault(kind_of(gpu), []).append(case)
    return by_kind


def traits_of(cases):
    return np.array([c.trait for c in cases])


def grow(cases):
    """Trees that predict the logarithms of the relative times of all kernels."""
    times = np.log(np.minimum([c.ratio for c in cases], MOST))
    forest = RandomForestRegressor(TREES, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST_CASES, max_features=1.0, random_state=1)
    return forest.fit(traits_of(cases), times)


def chosen(forest, cases):
    """Relative times of the kernels that the forest takes."""
    return [c.ratio[i] for c, i in zip(cases, forest.predict(traits_of(cases)).argmin(axis=1))]


def solve(rows, seconds):
    """Coefficients, none negative, whose relative errors are small."""
    seconds = np.asarray(seconds)
    return nnls(np.asarray(rows, dtype=float) / seconds[:, None], np.ones(len(seconds)))[0]


def product_model(cases):
    size = {"f64": 8, "f32": 4}
    rows = [[1, c.entries * (4 + size[c.precision]), c.entries * c.trait[0], c.rows * c.trait[0]] for c in cases]
    return solve(rows, [c.best for c in cases])


def set_up_model(cases, kernel):
    known = [c for c in cases if c.set_up.get(kernel, 0) > 0]
    if not known:
        return [0, 0, 0]
    return solve([[1, c.rows, c.entries] for c in known], [c.set_up[kernel] for c in known])


def mean(values):
    return math.exp(np.mean(np.log(values)))


def report(kind, precision, cases):
    """How far the choice is from the best kernel, each matrix judged by a forest that was made without it."""
    groups, ratios, peers = [c.group for c in cases], [0.0] * len(cases), {}
    for known, judged in GroupKFold(FOLDS).split(cases, groups=groups):
        forest = grow([cases[i] for i in known])
        for i, ratio in zip(judged, chosen(forest, [cases[i] for i in judged])):
            ratios[i] = ratio
            peers.setdefault(cases[i].k, []).append(cases[i].peer / (cases[i].best * ratio))
    for what, some in ("all", range(len(cases))), ("files of .mtx", [i for i, c in enumerate(cases) if ".mtx" in c.name]):
        values = [ratios[i] for i in some]
        if values:
            print(f"{kind}, {precision}, {what}: {len(values)} cases, cross-validated: within 1.10 of the best "
                  f"{np.mean(np.array(values) <= 1.10):.0%}, mean {mean(values):.3f}", file=sys.stderr)
    for r, c in sorted(zip(ratios, cases), key=lambda pair: -pair[0])[:8]:
        print(f"    {r:.2f}  {c.name}, K = {c.k}", file=sys.stderr)
    for k, values in sorted(peers.items()):
        if all(math.isfinite(v) for v in values):
            print(f"    K = {k}: cuSPARSE's time over it: {mean(values):.2f}, worst {min(values):.2f}", file=sys.stderr)


def flat(forest):
    """The trees one after another: nodes as in choose.c, the first node of each tree, and the leaves' times in percent of
    the logarithm."""
    nodes, roots, leaves = [], [], []

    def add(tree, at):
        if tree.children_left[at] < 0:
            nodes.append(f"{{0, SP_TRAITS, {len(leaves)}}}")
            leaves.append([round(100 * v) for v in tree.value[at][:, 0]])
            return
        here = len(nodes)
        nodes.append("")
        add(tree, tree.children_left[at])
        nodes[here] = f"{{{tree.threshold[at]:.6g}, SP_{TRAITS[tree.feature[at]].upper()}, {len(nodes)}}}"
        add(tree, tree.children_right[at])

    for estimator in forest.estimators_:
        roots.append(len(nodes))
        add(estimator.tree_, 0)
    return nodes, roots, leaves


def lines(items, width=120):
    """The items, with commas, in lines of at most `width` characters."""
    text, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            text.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*text, line]) + "\n"


def numbers(values):
    return "{" + ", ".join(f"{v:.4g}" for v in values) + "}"


def write(by_kind):
    print("/* Decision trees of choose.c, made by bench/calibrate.py (make calibrate): do not edit. */\n/* clang-format off */\n")
    print(f"_Static_assert(CHOICES == {len(CHOICES)} && TREES == {TREES}, \"choose.c and calibrate.py agree\");\n")
    names = ", ".join(f'"{c}"' for c in CHOICES)
    print(f"static const char *const choices[CHOICES] = {{{names}}};\n")
    table = []
    for kind, cases in by_kind.items():
        trees, word = [], "_".join(kind)
        for precision in ("f64", "f32"):
            own = [c for c in cases if c.precision == precision]
            if not own:
                sys.exit(f"calibrate.py: no {precision} times of {word}")
            report(" and ".join(kind), precision, own)
            nodes, roots, leaves = flat(grow(own))
            name = f"{word.lower()}_{precision}"
            print(f"static const choice_node {name}[] = {{\n{lines(nodes)}}};")
            print(f"static const int {name}_root[TREES] = {{\n{lines(map(str, roots))}}};")
            print(f"static const unsigned char {name}_time[][CHOICES] = {{\n{lines(map(numbers, leaves))}}};\n")
            trees.append(f"{{{name}, {name}_root, {name}_time}}")
        set_up = ", ".join(numbers(set_up_model(cases, c)) for c in CHOICES)
        names_of_kind = ", ".join(f'"{name}"' for name in kind)
        table.append(f'    {{{{{names_of_kind}}}, {{{", ".join(trees)}}}, {numbers(product_model(cases))},\n'
                     f"     {{{set_up}}}}},\n")
    print("static const calibration calibrations[] = {\n" + "".join(table) + "};")
    print("enum { CALIBRATIONS = sizeof calibrations / sizeof *calibrations };")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(read(sys.argv[1:]))
