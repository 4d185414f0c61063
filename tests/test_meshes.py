"""The unstructured matrices of bench/meshes.py, tiny: their properties, and that the program reads their files.
limit: 120"""
import subprocess
import sys

from command import ROOT, equal, finish, run, scratch, skip, test, verified

try:
    import numpy as np
    import scipy.io
    import scipy.sparse.csgraph
    import scipy.spatial  # noqa: F401  needed by meshes.py
except ImportError as error:
    skip("unstructured matrices are made", str(error))
    finish()
sys.path.insert(0, str(ROOT / "bench"))
import meshes  # noqa: E402  needs SciPy

SCALE = 0.003
CASES = {name: (a, order) for name, a, order in meshes.cases(SCALE)}


def neighbors(a):
    """The mean of |row - column| over the entries."""
    i, j = a.nonzero()
    return np.mean(abs(i - j))


with test("meshes are symmetric and connected, and their rows have the entries that their kinds have"):
    equal(list(CASES), ["delaunay2d", "delaunay3d", "blocks3", "rgg", "kkt", "grid7", "grid27", "grid27x3"])
    for name, least, most in (("delaunay2d", 6.5, 7), ("delaunay3d", 12, 17), ("blocks3", 3 * 10, 3 * 17), ("rgg", 10, 14.5),
                              ("grid7", 5.5, 7), ("grid27", 13, 27), ("grid27x3", 3 * 8, 3 * 27)):
        a = CASES[name][0]
        assert (a != a.T).nnz == 0, name
        assert least < a.nnz / a.shape[0] < most, (name, a.nnz / a.shape[0])
        assert (a.diagonal() > 0).all() and np.isfinite(a.data).all(), name
        if name != "rgg":
            equal(scipy.sparse.csgraph.connected_components(a)[0], 1, name)

with test("blocks are dense, 3x3, and those on the diagonal positive definite"):
    a = CASES["blocks3"][0]
    blocks = a.tobsr((3, 3))
    equal(blocks.data.shape[0] * 9, a.nnz, "entries of the blocks")
    diagonal = [a[i:i + 3, i:i + 3].toarray() for i in range(0, a.shape[0], 3)]
    assert np.linalg.eigvalsh(np.array(diagonal)).min() > 0

with test("the saddle point's lower right block is empty, a constraint has four entries"):
    a = CASES["kkt"][0]
    n = a.shape[0] * 2 // 3
    assert (a != a.T).nnz == 0
    equal(a[n:, n:].nnz, 0)
    assert (np.diff(a[n:].indptr) == 4).all()

with test("the program writes all of them, and the same in a second run"):
    command = [sys.executable, str(ROOT / "bench/meshes.py"), "--scale", str(SCALE)]
    for folder in ("one", "two"):
        subprocess.run([*command, scratch(folder)], check=True, stdout=subprocess.DEVNULL)
    for name in CASES:
        for numbering in ("random", "morton"):
            first, second = (open(scratch(f"{folder}/{name}-{numbering}.npz"), "rb").read() for folder in ("one", "two"))
            assert first == second, name

with test("the Morton order is another numbering of the same matrix, and neighbors have near numbers in it"):
    for name, (a, order) in CASES.items():
        equal(sorted(order), list(range(a.shape[0])), name)
        other = a[order][:, order]
        back = np.argsort(order)
        assert (other[back][:, back] != a).nnz == 0, name
        if name != "grid27x3":  # it has 3 x 3 x 3 points at this scale, all of which are neighbors
            assert neighbors(other) < 0.7 * neighbors(a), (name, neighbors(other), neighbors(a))

with test("spmm_mpi reads what is written, and its product is that of SciPy"):
    x, y = scratch("x.mtx"), scratch("y.mtx")
    for name, (a, order) in CASES.items():
        values = np.random.default_rng(1).uniform(-1, 1, (a.shape[1], 1))
        scipy.io.mmwrite(x, values, precision=17)
        for numbering, matrix in ("random", a), ("morton", a[order][:, order]):
            result = run("-d", "cpu", "-t", 1, "-r", 1, "--warmup", 0, "-x", x, "-o", y,
                         scratch(f"one/{name}-{numbering}.npz"))
            verified(result, name, 1)
            found = result.records[0]["matrix"]
            equal((found["rows"], found["cols"], found["nnz"]), (*matrix.shape, matrix.nnz), name)
            bound = 1e-14 * (abs(matrix) @ abs(values))
            assert (abs(scipy.io.mmread(y) - matrix @ values) <= bound).all(), name
finish()
