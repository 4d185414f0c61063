"""Random products by matmul of the Python package: all types and formats, sorted or not, with duplicates or
not, against exact sums.

    tests/soak_matmul.py [--seed SEED] [--seconds SECONDS] [--only I]

Case I of a seed is always the same. tests/python_matmul_cases.py runs the first ones, `make soak` more. The
last line is the number of cases, and of those that failed."""
import argparse
import fractions
import sys
import time
import warnings

import numpy as np
import scipy.sparse

from spmm_mpi import matmul

WHOLE = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
# (some more often than others)
OF_A, OF_X = (*WHOLE, "f4", "f8", "f4", "u8", "u8"), (*WHOLE, "f2", "f4", "f8", "f8", "u8", "u8")
COMPRESSED, UNIQUE = ("csr", "csc", "bsr", "coo"), ("dia", "lil", "dok", "torch")
CALLS = 3  # products of a case, with new values


def values(rng, dtype, count):
    """Draws numbers of a type: of whole numbers also the greatest and least, of others with all their bits."""
    if dtype.kind == "b":
        return rng.random(count) < 0.7
    if dtype.kind == "f":
        return (rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-12, 5, count)).astype(dtype)
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.max, info.max - 1, 0, 1], dtype)
    small = rng.integers(0 if dtype.kind == "u" else -9, 10, count).astype(dtype)
    wild = np.where(rng.random(count) < 0.5, rng.choice(edges, count), rng.integers(info.min, info.max, count, dtype, endpoint=True))
    return np.where(rng.random(count) < rng.choice((0, 0.5, 1)), wild, small)


def exact(dtype, shape, entries, x):
    """Returns (the product, sums of absolute values) as arrays of fractions, whole numbers modulo the range of
    the type. entries: row, column and value of each."""
    found, size = np.zeros((2, shape[0], x.shape[1]), object)
    whole = dtype.kind in "iub"
    for i, j, value in zip(*entries):
        a = int(value) if whole else fractions.Fraction(float(value)) if entries[2].dtype.kind == "f" else fractions.Fraction(int(value))
        for k in range(x.shape[1]):
            b = int(x[j, k]) if whole or x.dtype.kind in "iub" else fractions.Fraction(float(x[j, k]))
            found[i, k] += a * b
            size[i, k] += abs(a * b)
    return found, size


def compare(found, dtype, expected, size, longest, what):
    assert found.dtype == dtype, f"{what}: Y is {found.dtype}, expected {dtype}"
    bits = 8 * dtype.itemsize
    for at in np.ndindex(expected.shape):
        if dtype.kind == "b":
            right = bool(found[at]) == (expected[at] != 0)
        elif dtype.kind in "iu":
            right = (int(found[at]) - expected[at]) % (1 << bits) == 0
        else:
            unit = fractions.Fraction(1, 1 << (24 if dtype == np.float32 else 53))
            right = abs(fractions.Fraction(float(found[at])) - expected[at]) <= (longest + 4) * unit * size[at]
        assert right, f"{what}: Y{list(at)} is {found[at]!r}, expected {expected[at] if dtype.kind in 'iub' else float(expected[at])!r}"


def matrix(form, shape, entries, index):
    """Returns the matrix with entries in this order: none is sorted or summed in the formats COMPRESSED."""
    row, col, value = entries
    major, minor = (col, row) if form == "csc" else (row, col)
    order = np.argsort(major, kind="stable")
    starts = np.searchsorted(major[order], np.arange(shape[form == "csc"] + 1)).astype(index)
    minor, data = minor[order].astype(index), value[order]
    arrays = hasattr(scipy.sparse, "csr_array") and index == np.int64
    if form in ("csr", "csc"):
        made = getattr(scipy.sparse, f"{form}_array" if arrays else f"{form}_matrix")(shape, dtype=value.dtype)
        made.data, made.indices, made.indptr = data, minor, starts
        return made
    if form == "bsr":
        return scipy.sparse.bsr_matrix((data[:, None, None], minor, starts), shape=shape)
    if form == "torch":
        torch = sys.modules["torch"]
        return torch.sparse_csr_tensor(torch.tensor(starts), torch.tensor(minor), torch.tensor(data), shape)
    coo = (scipy.sparse.coo_array if arrays else scipy.sparse.coo_matrix)((value, (row, col)), shape=shape)
    return coo if form == "coo" else coo.asformat(form)


def draw(rng, forms):
    """Returns (the format, shape, type of A, type of X, rows and columns of the entries)."""
    form = str(rng.choice(forms))
    torch = form == "torch"  # which has no unsigned types but of 8 bits
    of_a = np.dtype(str(rng.choice([kind for kind in OF_A if not torch or kind not in ("u2", "u4", "u8")])))
    of_x = np.dtype(str(rng.choice(OF_X)))
    shape = tuple(int(n) for n in rng.integers(1, 9, 2))
    count = int(rng.integers(0, 2 * shape[0] * shape[1]))
    place = rng.integers(0, shape[0] * shape[1], count)
    if form in UNIQUE or rng.random() < 0.4:
        place = np.unique(place)
    if form not in UNIQUE and rng.random() < 0.5:
        place = np.sort(place)
    return form, shape, of_a, of_x, place // shape[1], place % shape[1]


def check(seed, number, forms):
    """Runs a case. Raises AssertionError."""
    rng = np.random.default_rng([seed, number])
    form, shape, of_a, of_x, row, col = draw(rng, forms)
    # rules of NumPy, and SciPy has no sparse matrices of float16
    dtype = np.result_type(of_a, of_x)
    dtype = np.dtype(np.float32) if dtype == np.float16 else dtype
    index, key = rng.choice((np.int32, np.int64)), (None, (seed, number))[int(rng.integers(2))]
    kept = None
    for call in range(CALLS):
        entries = row, col, values(rng, of_a, len(row))
        new = matrix(form, shape, entries, index)
        if kept is not None and form in ("csr", "csc", "bsr"):
            kept.data[:] = new.data  # the same arrays with new values
        else:
            kept = new
        x = values(rng, of_x, shape[1] * 3).reshape(shape[1], 3)[:, :int(rng.integers(1, 4))]
        expected, size = exact(dtype, shape, entries, x)
        longest = np.bincount(row, minlength=1).max(initial=0)
        what = f"case {number} of seed {seed}, call {call}: {form} {of_a} {shape} @ {of_x}"
        if form == "torch":
            found = matmul(kept, x, key=key, threads=1)
        elif rng.random() < 0.3:
            out = np.empty((shape[0], x.shape[1]), dtype)
            found = matmul(kept, x, out, key=key, threads=1)
            assert found is out, what
        else:
            found = matmul(kept, x, key=key, threads=1)
        compare(found, dtype, expected, size, longest, what)


def forms_here():
    """Returns the formats that this Python can make."""
    try:
        import torch  # noqa: F401
        warnings.simplefilter("ignore", UserWarning)  # PyTorch warns that CSR tensors are "in beta state"
        return COMPRESSED + UNIQUE
    except ImportError:
        return COMPRESSED + UNIQUE[:-1]


def soak(seed, numbers, seconds=float("inf"), tell=print):
    """Runs cases until the time is up. Returns (number of cases, number of those that failed)."""
    warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
    end, ran, failed, forms = time.monotonic() + seconds, 0, 0, forms_here()
    for number in numbers:
        if ran and time.monotonic() > end:
            break
        ran += 1
        try:
            check(seed, number, forms)
        except Exception as error:  # any error is reported, and the soak goes on
            failed += 1
            tell(f"FAIL {type(error).__name__}: {error}")
    return ran, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", type=int, metavar="I", help="run only case I")
    options = parser.parse_args()
    numbers = range(10 ** 9) if options.only is None else [options.only]
    ran, failed = soak(options.seed, numbers, options.seconds)
    print(f"{ran} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
