#!/usr/bin/env python3
"""Makes src/product/choose_trees.h, the order of CUDA kernels for `auto`, from the CSV files of bench_gpu.

    calibrate.py CSV[.gz]... > src/product/choose_trees.h      # a tree per precision; a report goes to stderr

Needs NumPy. A tree compares the traits of a matrix (SP_TRAIT_LIST in kernels/features.h, columns of the CSV
files); its leaves are orders of the kernels. An order is judged by the time of its first kernel, of the
faster one of its first two and of the fastest one of its first three, over the time of the fastest kernel of
all: the mean of the logarithms. The report judges each matrix by trees that were made without it.
"""
import csv
import gzip
import itertools
import pathlib
import re
import sys

import numpy as np

REGISTRY = pathlib.Path(__file__).resolve().parent.parent / "kernels/kernels.def"
KERNELS = re.findall(r"^KERNEL\( *(\w+),.*, *(?:TREE|BOTH), ", REGISTRY.read_text(encoding="utf-8"), re.M)
TRAITS = ["x_bytes", "mean", "variation", "over_4", "over_8", "over_16", "over_32", "over_64", "over_128",
          "reuse", "shared", "entries"]
# MOST: a kernel that is slower by a greater factor counts as this factor. TRIED: how many first kernels of an
# order are judged.
LEAVES, LEAST_CASES, MOST, FOLDS, TRIED = 16, 24, 4.0, 20, 3
ORDERS = np.array(list(itertools.permutations(range(len(KERNELS)), TRIED)))


def read(paths):
    """The cases, one per GPU, matrix, precision and K: columns of the CSV files, and "seconds" by kernel."""
    cases = {}
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                if row["contender"] != "own" or row["ok"] != "1":
                    continue
                # meshes of several sizes have the same names
                key = (row["gpu"], row["precision"], row["matrix"], row["nnz"], row["k"])
                case = cases.setdefault(key, dict(row, seconds={}))
                case["seconds"][row["kernel"]] = float(row["median_ms"]) * 1e-3
    return [case for case in cases.values() if any(kernel in case["seconds"] for kernel in KERNELS)]


def group(case):
    """The name of the matrix; variants (renumbered, transposed, a half: bench/variants.py) have the same
    name."""
    return re.sub(r"-(random|morton|t|half)\b|\.(mtx|gz|npz|spmm)", "", case["matrix"].split("/")[-1])


def ratios(case):
    """The times of KERNELS over that of the fastest kernel; 10 for a kernel that cannot compute the case."""
    best = min(case["seconds"].values())
    return [case["seconds"].get(kernel, 10 * best) / best for kernel in KERNELS]


def best_of(times, orders):
    """[TRIED], times of the fastest one of the first 1, 2, .. kernels of each order."""
    return np.minimum.accumulate([times[..., orders[..., i]] for i in range(TRIED)])


class Tree:
    def __init__(self, traits, times, cost, cases):
        """A leaf for `cases`, which are row numbers of traits, times and cost. cost has a column per
        order."""
        self.traits, self.times, self.cost, self.cases = traits, times, cost, cases
        sums = cost[cases].sum(axis=0)
        first = list(ORDERS[sums.argmin()])
        rest = [i for i in times[cases].mean(axis=0).argsort() if i not in first]
        self.order, self.gain, self.children = first + rest, 0.0, None
        for trait in range(len(TRAITS)):
            self.consider(trait, sums)

    def consider(self, trait, sums):
        """Keeps a trait and its best bound if splitting the leaf there gains more than the split kept so
        far."""
        cases = self.cases[self.traits[self.cases, trait].argsort(kind="stable")]
        value = self.traits[cases, trait]
        left = self.cost[cases].cumsum(axis=0)[:-1]
        gain = sums.min() - left.min(axis=1) - (sums - left).min(axis=1)
        count = np.arange(1, len(cases))
        gain[(np.diff(value) <= 0) | (np.minimum(count, len(cases) - count) < LEAST_CASES)] = 0
        if gain.size and gain.max() > self.gain:
            at = gain.argmax()
            self.gain, self.trait = gain[at], trait
            self.bound = float(f"{(value[at] + value[at + 1]) / 2:.6g}")  # rounded as it is printed
            self.halves = cases[:at + 1], cases[at + 1:]

    def split(self):
        self.children = [Tree(self.traits, self.times, self.cost, half) for half in self.halves]

    def leaves(self):
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]

    def order_for(self, trait):
        if not self.children:
            return self.order
        return self.children[int(trait[self.trait] > self.bound)].order_for(trait)

    def nodes(self, first=0, depth=1):
        """The lines of the table for the nodes of this subtree; the first node has number `first`."""
        if not self.children:
            names = ", ".join(f'"{KERNELS[i]}"' for i in self.order)
            return [" " * (3 + depth) + "{.order = {" + names + "}},"]
        left = self.children[0].nodes(first + 1, depth + 1)
        right = self.children[1].nodes(first + 1 + len(left), depth + 1)
        node = f"{{SP_{TRAITS[self.trait].upper()}, {self.bound:.6g}, {first + 1 + len(left)}, {{0}}}},"
        return [" " * (3 + depth) + node, *left, *right]


def grow(traits, times):
    times = np.log(np.minimum(times, MOST))
    tree = Tree(traits, times, best_of(times, ORDERS).mean(axis=0), np.arange(len(times)))
    for _ in range(LEAVES - 1):
        leaf = max(tree.leaves(), key=lambda leaf: leaf.gain)
        if leaf.gain > 0:
            leaf.split()
    return tree


def report(precision, cases, traits, times):
    """Prints how far the best of the first kernels of an order is from the best of all, with orders from
    trees that were made without the matrix."""
    names = sorted({group(case) for case in cases})
    fold = np.array([names.index(group(case)) % FOLDS for case in cases])
    orders = np.zeros((len(cases), len(KERNELS)), dtype=int)
    for f in set(fold):
        tree = grow(traits[fold != f], times[fold != f])
        for i in np.flatnonzero(fold == f):
            orders[i] = tree.order_for(traits[i])
    found = np.minimum.accumulate(np.take_along_axis(times, orders, axis=1), axis=1)
    for tried in range(1, TRIED + 1):
        over = found[:, tried - 1]
        print(f"{precision}, {len(cases)} cases, {len(names)} matrices, best of first {tried} over the best: "
              f"mean {np.exp(np.log(over).mean()):.4f}, within 1.10 {np.mean(over <= 1.1):.1%}, within 1.25 "
              f"{np.mean(over <= 1.25):.1%}, worst {over.max():.2f}", file=sys.stderr)
    for i in (-over).argsort()[:5]:
        print(f"    {over[i]:.2f}  {cases[i]['matrix']}, K = {cases[i]['k']}", file=sys.stderr)


HEADER = f"""/* Decision trees of choose.c, made by bench/calibrate.py (make calibrate): do not edit. */
/* clang-format off */
enum {{ CHOICES = {len(KERNELS)} }};
/** A leaf lists the kernels in the order in which they are tried. The left child of an inner node, for a
 *  trait up to the bound, is the next node; the right child is node `other`. */
typedef struct choice_node {{
    sp_trait trait;
    double bound;
    int other;
    const char *order[CHOICES];
}} choice_node;
"""


def write(cases):
    print(HEADER)
    for precision in ("f64", "f32"):
        own = [case for case in cases if case["precision"] == precision]
        if not own:
            sys.exit(f"calibrate.py: no {precision} times")
        traits = np.array([[float(case[trait]) for trait in TRAITS] for case in own])
        times = np.array([ratios(case) for case in own])
        report(precision, own, traits, times)
        nodes = grow(traits, times).nodes()
        print("\n".join([f"static const choice_node {precision}_tree[] = {{", *nodes, "};"]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    write(read(sys.argv[1:]))
