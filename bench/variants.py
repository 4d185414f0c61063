#!/usr/bin/env python3
"""Writes variants of a collection's matrices, as .npz files, so that kernel choices are calibrated on more kinds of matrices.

    variants.py FROM TO [--least N]

Needs SciPy. For each .mtx and .mtx.gz file in FROM with at least N entries (default 100000) it writes to TO: NAME-t, the transpose;
NAME-half, the first half of the rows; and NAME-random, with rows and columns in random order.
"""
import argparse
import concurrent.futures
import os
import pathlib
import sys

import numpy as np
import scipy.io

import meshes


def variants(a, rng):
    yield "t", a.T
    yield "half", a[:(a.shape[0] + 1) // 2]
    rows = rng.permutation(a.shape[0])
    yield "random", a[rows][:, rows if a.shape[0] == a.shape[1] else rng.permutation(a.shape[1])]


def write(path, folder, least):
    a = scipy.io.mmread(path).tocsr()
    name = pathlib.Path(path).name.split(".")[0]
    if a.nnz < least or np.iscomplexobj(a.data):
        return f"{name}: left out"
    for kind, b in variants(a, np.random.default_rng(1)):
        meshes.write(os.path.join(folder, f"{name}-{kind}.npz"), b.tocsr().astype(np.float64))
    return f"{name}: {a.shape[0]} x {a.shape[1]}, {a.nnz} entries"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", metavar="FROM")
    parser.add_argument("folder", metavar="TO")
    parser.add_argument("--least", type=int, default=100_000, help="leave out matrices with fewer entries (default %(default)s)")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    paths = sorted(str(p) for p in pathlib.Path(options.collection).iterdir() if p.name.endswith((".mtx", ".mtx.gz")))
    if not paths:
        sys.exit(f"{options.collection}: no .mtx file")
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for line in pool.map(write, paths, [options.folder] * len(paths), [options.least] * len(paths)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
