"""Products compared with those of SciPy, which reads the same files.
limit: 300"""
import numpy as np

from command import MATRICES, finish, run, scratch, skip, test, verified

try:
    import scipy.io
    import scipy.sparse
except ImportError as error:
    skip("SciPy reads and multiplies alike", str(error))
    finish()


def product(matrix, k, precision, ranks, kernel):
    """Y by spmm_mpi and by SciPy, from an X in a file."""
    a = scipy.sparse.csr_matrix(scipy.io.mmread(str(matrix)))
    rng = np.random.default_rng(k)
    x = rng.uniform(-1, 1, (a.shape[1], k)).astype(np.float32).astype(np.float64)
    scipy.io.mmwrite(scratch("x.mtx"), x, precision=17)
    y = scratch("y.mtx")
    result = run("-d", "cpu", "-r", 1, "--warmup", 0, "-x", scratch("x.mtx"), "-o", y, "-p", precision, "--kernel", kernel,
                 "--ell-limit", 1e6, matrix, ranks=ranks)
    verified(result, f"{matrix} {k}", 1)
    r = result.records[0]["matrix"]
    assert (r["rows"], r["cols"]) == a.shape, (r, a.shape)
    a.sum_duplicates()
    assert r["nnz"] == a.nnz, (r["nnz"], a.nnz)
    found = np.atleast_2d(scipy.io.mmread(y)).reshape(a.shape[0], k)
    return a, x, found


for precision, u in (("f64", 2.0 ** -53), ("f32", 2.0 ** -24)):
    with test(f"SciPy reads every matrix alike and gets the same product within the rounding of {precision}"):
        for n, matrix in enumerate(MATRICES):
            kernel = ("cpu_csr", "cpu_ell", "cpu_ell_nopad")[n % 3]
            a, x, found = product(matrix, 1 + n % 5, precision, 1 + n % 4, kernel)
            lengths = np.diff(a.indptr)[:, None] + 2
            bound = 2 * lengths * u * (abs(a) @ abs(x)) + 1e-300
            assert (abs(found - a @ x) <= bound).all(), f"{matrix.name}: {np.max(abs(found - a @ x) / bound)}"
finish()
