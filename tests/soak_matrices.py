"""Random matrices for tests/soak.py, each with its entries: of files as SciPy reads them or this file has written them."""
import functools
import gzip
import os
import subprocess
import warnings

import numpy as np
import scipy.io
import scipy.sparse

from command import MATRICES, MPIRUN, PROGRAM

warnings.filterwarnings("ignore", category=RuntimeWarning) # inf times 0 is nan, which is intended


class Matrix:
    """a: the matrix as CSR, in f64, with duplicates summed; size: the same with absolute values. kind: "generated", or
    for files "coordinate", "array" or "npz"."""

    def __init__(self, argument, kind, shape, i, j, v, field="real", symmetry="general", packed=False):
        self.argument, self.kind, self.packed = argument, kind, packed
        self.field, self.symmetry = field, symmetry
        i, j, v = np.asarray(i, np.int64), np.asarray(j, np.int64), np.asarray(v, np.float64)
        if kind == "array":
            i, j, v = i[v != 0], j[v != 0], v[v != 0]
        self.a = scipy.sparse.csr_matrix((v, (i, j)), shape)
        self.size = scipy.sparse.csr_matrix((abs(v), (i, j)), shape)
        self.rows, self.cols = shape
        self.terms = np.bincount(i, minlength=shape[0]).reshape(-1, 1) # addends of each element of Y
        self.nnz = self.a.nnz
        self.whole = bool((v == np.floor(v)).all())
        self.finite = bool(np.isfinite(v).all())

    def even(self):
        """Is no row more than three times as long as another? Then padded ELLPACK is within its limit for any rank's rows."""
        lengths = np.diff(self.a.indptr)
        return lengths.size > 0 and lengths.max() <= 3 * lengths.min()


# ---- generators ----

def generated(rng, folder):
    """A generated matrix, with the entries that --convert writes (test_generators and digests.txt test generators)."""
    name = rng.choice(("band", "fem3", "lap2d5", "lap3d27", "lap3d7", "longrows", "rmat", "uniform"))
    n = rng.choice((1, 2, 3, 7, 20, rng.randint(4, 250)))
    large = rng.random() < 0.1 # more rows than a verification sample
    if large:
        n = rng.randint(1001, 2000)
    arguments = {"lap2d5": lambda: [rng.randint(1, 50 if large else 20)], "lap3d7": lambda: [rng.randint(1, 13 if large else 8)],
                 "lap3d27": lambda: [rng.randint(1, 12 if large else 7)], "fem3": lambda: [rng.randint(1, 7 if large else 4)],
                 "band": lambda: [n, rng.randint(1, 9), rng.randint(9, 30)],
                 "uniform": lambda: [n, rng.randint(1, min(n, 40))], "rmat": lambda: [rng.randint(1, 11 if large else 8), rng.randint(1, 7)],
                 "longrows": lambda: [n, rng.randint(1, min(n, 5)), rng.randint(1, min(n, 60)), rng.randint(1, n)]}[name]()
    spec, path = f"{name}:{','.join(map(str, arguments))}", os.path.join(folder, "generated.npz")
    subprocess.run([*MPIRUN, "-np", "1", PROGRAM, "-q", "--convert", path, spec], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder})
    a = scipy.sparse.load_npz(path).tocoo()
    return Matrix(spec, "generated", a.shape, a.row, a.col, a.data)


# ---- files ----

@functools.lru_cache(None)
def real(path):
    a = scipy.sparse.coo_matrix(scipy.io.mmread(str(path)))
    info = scipy.io.mminfo(str(path))
    return Matrix(str(path), info[3], a.shape, a.row, a.col, a.data, info[4], info[5], path.name.endswith(".gz"))


def word(rng, text):
    return rng.choice((text, text, text.upper(), text.capitalize()))


def value(rng, field):
    """(a random value, the text for it in a file)"""
    if field == "pattern":
        return 1.0, None
    if field == "integer" or rng.random() < 0.3:
        v = rng.choice((rng.randint(-9, 9), rng.randint(-9, 9), rng.randint(-10 ** 12, 10 ** 12) if rng.random() < 0.1 else 1))
        return float(v), ("+" if v > 0 and rng.random() < 0.1 else "") + str(v)
    v = rng.uniform(-1, 1) * 10.0 ** rng.choice((0, 0, 0, 3, -3))
    text = rng.choice((repr(v), f"{v:.17g}", f"{v:.4f}", f"{v:.3e}", f"{v:.5e}".replace("e", "D"), f"{v:.5E}"))
    return float(text.replace("D", "e")), text


def pairs_of(rng, rows, cols, symmetry, layout):
    """Random positions (i, j) of the entries of a file, in the file's order."""
    strict = symmetry == "skew-symmetric"
    if layout == "array":
        return [(i, j) for j in range(cols) for i in range(rows) if symmetry == "general" or i >= j + strict]
    count = rng.choice((0, 1, 3, min(rows * cols, 60), rng.randint(0, 3 * (rows + cols))))
    places = [(rng.randrange(rows), rng.randrange(cols)) for _ in range(count)] if rows and cols else []
    if symmetry != "general":
        places = [(max(p), min(p)) for p in places if not strict or p[0] != p[1]]
        if rng.random() < 0.3:
            places = [(j, i) for i, j in places]
    if rng.random() < 0.7: # otherwise duplicates are kept
        places = list(dict.fromkeys(places))
    if rng.random() < 0.4:
        places.sort(key=lambda p: rng.choice((p, p[::-1])) if len(places) < 3 else p)
    return places


def lines_of(rng, head, size, entries):
    """The text of a file, sometimes with comments, blank lines, tabs and CR, which readers must accept."""
    odd = rng.random() < 0.4
    lines = [head]
    for line in [size, *entries]:
        while odd and rng.random() < 0.08:
            lines.append(rng.choice(("% a comment", "%", "", "  ")))
        lines.append(rng.choice((line, " " + line, line + "  ", line.replace(" ", "\t"))) if odd else line)
    end = rng.choice(("\n", "\r\n")) if odd else "\n"
    return end.join(lines) + (end if not odd or rng.random() < 0.7 else "")


def sizes(rng, symmetry, layout):
    rows = rng.choice((0, 1, 1, 2, 3, 5, rng.randint(4, 40), rng.randint(30, 150) if layout == "coordinate" else 9))
    cols = rng.choice((rows, rows, 0, 1, 2, 5, rng.randint(1, 60)))
    return (rows, rows) if symmetry != "general" else (rows, cols)


def written(rng, folder, name="a", layout=None, packed=None, shape=None, extra=None):
    """Writes a Matrix Market file with random field, symmetry and layout; extra: a value for one of its entries."""
    layout = layout or rng.choice(("coordinate", "coordinate", "array"))
    symmetry = "general" if shape else rng.choice(("general", "general", "symmetric", "skew-symmetric"))
    fields = {"real": 4, "integer": 2, "double": 1, "unsigned-integer": 1, "pattern": 2}
    allowed = [f for f in fields if not (f == "pattern" and layout == "array")]
    field = "real" if extra else rng.choices(allowed, [fields[f] for f in allowed])[0]
    if field == "pattern" and symmetry == "skew-symmetric":
        symmetry = "symmetric"
    rows, cols = shape or sizes(rng, symmetry, layout)
    i, j, v, entries = [], [], [], []
    for a, b in pairs_of(rng, rows, cols, symmetry, layout):
        x, text = value(rng, {"double": "real", "unsigned-integer": "integer"}.get(field, field))
        if field == "unsigned-integer":
            x, text = abs(x), text.lstrip("-")
        if extra and not v:
            x, text = float(extra), extra
        entries.append(" ".join(filter(None, (None if layout == "array" else f"{a + 1} {b + 1}", text))))
        mirrored = symmetry != "general" and a != b
        i += [a, b] if mirrored else [a]
        j += [b, a] if mirrored else [b]
        v += [x, -x if symmetry == "skew-symmetric" else x] if mirrored else [x]
    head = "%%MatrixMarket " + " ".join(word(rng, w) for w in ("matrix", layout, field, symmetry))
    text = lines_of(rng, head, f"{rows} {cols}" + ("" if layout == "array" else f" {len(entries)}"), entries)
    packed = rng.random() < 0.2 if packed is None else packed
    path = name + ".mtx" + (".gz" if packed else "")
    with open(os.path.join(folder, path), "wb") as f:
        f.write(gzip.compress(text.encode()) if packed else text.encode())
    known = {"double": "real", "unsigned-integer": "integer"}.get(field, field)
    return Matrix(path, layout, (rows, cols), i, j, v, known, symmetry, packed)


def any_matrix(rng, folder):
    kind = rng.random()
    if kind < 0.4:
        return generated(rng, folder)
    return real(rng.choice(MATRICES)) if kind < 0.5 else written(rng, folder)
