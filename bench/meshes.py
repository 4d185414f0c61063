#!/usr/bin/env python3
"""Writes the matrices of unstructured meshes and graphs into a folder, as .npz files for bench_gpu and bench_cpu
(--matrices FOLDER) and for spmm_mpi.

    meshes.py FOLDER [--scale S]

Needs NumPy and SciPy. A scale of 1, the default, makes matrices of some 2 million entries; the entries grow with the scale.
The points are random with fixed seeds, so that the same scale gives the same matrices. Every matrix is symmetric:

    delaunay2d, delaunay3d   weighted Laplacian of a Delaunay mesh of random points in the unit square or cube
    blocks3                  3x3 blocks on a 3D Delaunay mesh: springs between its points, as in elasticity
    rgg                      weighted Laplacian of a random geometric graph in the square
    kkt                      [H A^T; A 0]: H as delaunay3d; a row of A has entries at the corners of a tetrahedron
    grid7, grid27            a cubic grid's points and their 6 or 26 neighbors
    grid27x3                 3x3 blocks on the latter

In NAME-random the points are numbered at random, the worst case of a user's numbering; in NAME-morton along the Morton curve,
nearly the best case.
"""
import argparse
import os

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay, cKDTree

MORTON_BITS = 16  # of a coordinate
SHIFT = 1e-3      # added to the diagonal: Laplacians and springs are then positive definite
RGG_NEIGHBORS = 13


def edges_of(simplices):
    """The pairs i < j that are corners of one simplex, each once; [edges, 2]."""
    corners = simplices.shape[1]
    pairs = np.vstack([simplices[:, (i, j)] for i in range(corners) for j in range(i)]).astype(np.int64)
    pairs.sort(axis=1)
    n = int(simplices.max()) + 1
    keys = np.unique(pairs[:, 0] * n + pairs[:, 1])
    return np.column_stack((keys // n, keys % n))


def symmetric(n, edges, values, diagonal):
    """The n x n matrix with these values at (i, j) and (j, i) for each edge."""
    i, j = edges.T
    every = np.arange(n)
    a = sparse.coo_matrix((np.concatenate((values, values, diagonal)),
                           (np.concatenate((i, j, every)), np.concatenate((j, i, every)))), shape=(n, n))
    return a.tocsr()


def laplacian(points, edges):
    """The weighted Laplacian of a mesh; the weight of an edge is 1 / its length."""
    n, (i, j) = len(points), edges.T
    weights = 1 / np.linalg.norm(points[i] - points[j], axis=1)
    degree = np.bincount(i, weights, n) + np.bincount(j, weights, n)
    return symmetric(n, edges, -weights, degree * (1 + SHIFT) + SHIFT)


def springs(points, edges):
    """The matrix of springs along the edges, in 3x3 blocks: -w d d^T for an edge with the unit vector d and
    w = 1 / its length; on the diagonal the sum of w d d^T over the edges of the point, and SHIFT."""
    n, (i, j) = len(points), edges.T
    apart = points[i] - points[j]
    length = np.linalg.norm(apart, axis=1)[:, None]
    blocks = (apart / length)[:, :, None] * (apart / length)[:, None, :] / length[:, :, None]
    diagonal = np.stack([np.bincount(i, b, n) + np.bincount(j, b, n) for b in blocks.reshape(-1, 9).T], axis=1)
    diagonal = diagonal.reshape(n, 3, 3) + SHIFT * np.eye(3)
    every = np.arange(n)
    at = np.concatenate((i, j, every)), np.concatenate((j, i, every))
    order = np.lexsort(at[::-1])
    starts = np.concatenate(([0], np.cumsum(np.bincount(at[0], minlength=n))))
    values = np.concatenate((-blocks, -blocks, diagonal))[order]
    return sparse.bsr_matrix((values, at[1][order], starts), shape=(3 * n, 3 * n)).tocsr()


def saddle(points, simplices, edges, rng):
    """[H A^T; A 0] and the points of its last rows, the constraints. There are half as many constraints as
    points. A constraint has entries at the corners of a random tetrahedron; their values are the distances of
    the corners from its center."""
    n, m = len(points), len(points) // 2
    corners = simplices[rng.choice(len(simplices), m, replace=False)]
    centers = points[corners].mean(axis=1)
    values = np.linalg.norm(points[corners] - centers[:, None, :], axis=2)
    a = sparse.csr_matrix((values.ravel(), corners.ravel(), np.arange(0, 4 * m + 1, 4)), shape=(m, n))
    return sparse.bmat([[laplacian(points, edges), a.T], [a, None]], format="csr"), centers


def morton(points):
    """The numbers of points in [0, 1)^d in the order of the Morton curve."""
    cells = (points * 2 ** MORTON_BITS).astype(np.uint64)
    dimensions = points.shape[1]
    keys = np.zeros(len(points), np.uint64)
    for bit in range(MORTON_BITS):
        for d in range(dimensions):
            keys |= (cells[:, d] >> np.uint64(bit) & np.uint64(1)) << np.uint64(bit * dimensions + d)
    return np.argsort(keys, kind="stable")


def mesh(seed, dimensions, n):
    """Random points, their Delaunay mesh's simplices and edges."""
    points = np.random.default_rng(seed).random((n, dimensions))
    simplices = Delaunay(points).simplices
    return points, simplices, edges_of(simplices)


def cases(scale):
    """(name, matrix, order of its rows along the Morton curve) of each; the matrix is numbered at random."""
    points, _, edges = mesh(1, 2, int(300_000 * scale))
    yield "delaunay2d", laplacian(points, edges), morton(points)
    points, _, edges = mesh(2, 3, int(130_000 * scale))
    yield "delaunay3d", laplacian(points, edges), morton(points)
    points, _, edges = mesh(3, 3, int(18_000 * scale))
    yield "blocks3", springs(points, edges), (morton(points)[:, None] * 3 + np.arange(3)).ravel()
    points = np.random.default_rng(4).random((int(150_000 * scale), 2))
    edges = cKDTree(points).query_pairs(np.sqrt(RGG_NEIGHBORS / np.pi / len(points)), output_type="ndarray")
    yield "rgg", laplacian(points, edges.astype(np.int64)), morton(points)
    points, simplices, edges = mesh(5, 3, int(100_000 * scale))
    a, centers = saddle(points, simplices, edges, np.random.default_rng(6))
    yield "kkt", a, np.concatenate((morton(points), len(points) + morton(centers)))
    rng = np.random.default_rng(7)
    edge = 80 * scale ** (1 / 3)
    for name, share, corners in (("grid7", 1, False), ("grid27", 0.55, True)):
        a, points = shuffled(*grid(int(edge * share), corners), rng)
        yield name, a, morton(points)
    a, points = grid(int(edge * 0.32), True)
    a, points = shuffled(sparse.csr_matrix(sparse.kron(a, np.ones((3, 3)))), points, rng, 3)
    yield "grid27x3", a, (morton(points)[:, None] * 3 + np.arange(3)).ravel()


def grid(edge, corners):
    """The Laplacian of a cubic grid, and the grid's points. The neighbors of a point are those along the axes
    or, with `corners`, all in the 3x3x3 cube around the point."""
    line = sparse.diags([1, 1, 1], [-1, 0, 1], shape=(edge, edge))
    if corners:
        a = sparse.kron(sparse.kron(line, line), line)
    else:
        one = sparse.identity(edge)
        a = sum(sparse.kron(sparse.kron(*three[:2]), three[2]) for three in ((line, one, one), (one, line, one), (one, one, line)))
    a = sparse.csr_matrix(a != 0, dtype=np.float64)
    degrees = np.diff(a.indptr)
    points = np.stack(np.unravel_index(np.arange(edge ** 3), (edge,) * 3), axis=1) / edge
    return sparse.csr_matrix(sparse.diags(degrees + SHIFT) - a), points


def shuffled(a, points, rng, width=1):
    """The matrix with its points, `width` rows each, in random order; and the points in this order."""
    order = rng.permutation(len(points))
    rows = (order[:, None] * width + np.arange(width)).ravel()
    return a[rows][:, rows], points[order]


def write(path, a):
    """Writes a CSR matrix as an .npz file that ranks can read in parts."""
    a.sum_duplicates()
    a.sort_indices()
    sparse.save_npz(path, a, compressed=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--scale", type=float, default=1, help="factor of the number of entries (default 1; tests: 0.003)")
    options = parser.parse_args()
    if not 0.003 <= options.scale <= 100:
        parser.error("--scale: expected a number from 0.003 to 100")
    os.makedirs(options.folder, exist_ok=True)
    for name, a, order in cases(options.scale):
        for numbering, matrix in ("random", a), ("morton", a[order][:, order]):
            path = os.path.join(options.folder, f"{name}-{numbering}.npz")
            write(path, matrix)
            print(f"{path}: {matrix.shape[0]} x {matrix.shape[1]}, {matrix.nnz} entries", flush=True)


if __name__ == "__main__":
    main()
