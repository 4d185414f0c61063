"""Random combinations of spmm_mpi's options for tests/soak.py, and their expected results."""
import numpy as np

from soak_matrices import Matrix, any_matrix, written

with open("/proc/cpuinfo", encoding="utf-8") as f:
    ISA = ("generic", "avx2") if " avx2 " in f.read() else ("generic",)
COLUMNS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 129, 513)


class Run:
    """One run of the program. `record` has fields that every record must contain, and `runs` the (K, kernels) of the
    records."""

    def __init__(self, ranks, args, env=None):
        self.ranks, self.args, self.env = ranks, [str(a) for a in args], env or {}
        self.record, self.runs, self.last = None, None, None
        self.output, self.expected, self.csv = None, None, None


def columns_fit(k, slices, precision):
    size = 8 if precision == "f64" else 4
    return slices == 1 or (k % slices == 0 and k // slices * size % 32 == 0)


class X:
    """The options of X, and its values if it comes from a file."""

    def __init__(self, rng, folder, matrix, columns):
        self.words, self.name, self.columns = [], "uniform:1", None
        kind = rng.choice(("default", "ones", "index", "uniform", "uniform:7", "seed", *["file"] * 6))
        if kind == "file":
            self.columns = columns[0]
            file = written(rng, folder, "x2" if matrix.kind == "npz" else "x", shape=(matrix.cols, self.columns))
            self.words, self.name, self.whole = ["-x", file.argument], file.argument, file.whole
            self.dense, self.size = file.a.toarray(), file.size.toarray()
        elif kind != "default":
            word = f"uniform:{rng.randint(0, 2 ** 63 - 1)}" if kind == "seed" else kind
            self.words, self.name = ["-x", word], "uniform:1" if kind == "uniform" else word


class Product:
    """Y := A X as numpy computes it, and how much a correct Y may differ from it."""

    def __init__(self, matrix, x, u):
        with np.errstate(all="ignore"):
            self.y, size = np.asarray(matrix.a @ x.dense), np.asarray(matrix.size @ x.size)
        largest = max(size.max(initial=0), matrix.size.data.max(initial=0), x.size.max(initial=0))
        self.exact = matrix.whole and x.whole and largest < 1 / u
        self.bound = 0 if self.exact else 2 * (matrix.terms + 8) * u * size + 1e-30

    def compare(self, found):
        assert found.shape == self.y.shape, f"Y is {found.shape}, expected {self.y.shape}"
        with np.errstate(all="ignore"):
            alike = (abs(found - self.y) <= self.bound) & np.isfinite(self.y)
        alike |= (found == self.y) | (np.isnan(found) & np.isnan(self.y))
        far = np.argwhere(~alike)
        assert far.size == 0, f"Y{far[0].tolist()}: found {found[tuple(far[0])]!r}, numpy has {self.y[tuple(far[0])]!r}" \
            f"{', and all are integers' if self.exact else ''}; {len(far)} of {self.y.size} differ"


def pick_grid(rng, ranks):
    """(words of --grid, the grid or None: any, whether it may have several columns)"""
    if ranks > 1 and rng.random() < 0.5:
        q = rng.choice([q for q in range(1, ranks + 1) if ranks % q == 0])
        return ["-g", f"{ranks // q}x{q}"], [ranks // q, q]
    if rng.random() < 0.1:
        return ["-g", "auto"], None
    return [], [ranks, 1]


def pick_kernel(rng, matrix, known, columns, one, p_by_1):
    """(words of --format, --kernel and --ell-limit, list of sets: the kernels that each record of a K, in order, may
    have)"""
    formats = sorted({f for f, _ in known.values()})
    form = rng.choice(formats) if rng.random() < 0.5 else None
    fitting = [k for k, (f, _) in known.items() if form in (None, f)]
    words, of = ["-f", form] if form else [], [set(fitting)]
    choice = rng.random()
    if choice < 0.35:
        of = [{rng.choice(fitting)}]
        words += ["--kernel", *of[0]]
    elif choice < 0.5 and not one and (matrix.nnz < 20000 or max(columns) < 5):
        of = [{k} for k in fitting]
        words += ["--kernel", "all"]
    elif choice < 0.6 and len(columns) < 3:
        words += ["--autotune"]
    elif choice < 0.65:
        words += ["--kernel", "auto"]
    padded = any(known[k][0] == "ell" for k in set().union(*of)) # (auto may use or time such a kernel)
    if padded and not (p_by_1 and matrix.even() and rng.random() < 0.5):
        words += ["--ell-limit", rng.choice((1e9, 1e6))]
    return words, of


def environment(rng, args=()):
    """Environment variables of a run. Messages of 8 bytes are used for few columns only: for 500 columns they take minutes."""
    env = {}
    columns = args[args.index("-k") + 1] if "-k" in args else "64"
    wide = max(map(int, str(columns).split(","))) > 64
    for name, values, share in (("SPMM_CHUNK_BYTES", (1000, 4096, 10 ** 5, 10 ** 6) if wide else (8, 100, 4096, 10 ** 6), 0.2),
                                ("SPMM_READ_CHUNK_BYTES", (7, 64, 1000, 10 ** 5), 0.2),
                                ("OMP_NUM_THREADS", (1, 2, 4), 0.2), ("SPMM_ISA", ISA, 0.1)):
        if rng.random() < share:
            env[name] = str(rng.choice(values))
    return env


def by_chance(rng, table):
    """Random words of options. A row of the table: an option, its values (none: a flag), and its probability."""
    words = []
    for option, values, share in table:
        if rng.random() < share:
            words += [option] + ([rng.choice(values)] if values else [])
    return words


def product(rng, folder, matrix, known, metis, extra=()):
    """A valid run, with the options `extra` in addition to random ones."""
    ranks = rng.choice((1, 1, 2, 2, 3, 4, 5, 6))
    parallel = matrix.kind in ("coordinate", "npz") and not matrix.packed and "--cache" not in extra and rng.random() < 0.35
    precision = rng.choice(("f64", "f64", "f32"))
    grid_words, grid = pick_grid(rng, ranks)
    if parallel and grid is None:
        grid_words, grid = [], [ranks, 1]
    partition = rng.choice(("auto", "auto", "nnz", "rows", "graph", "layout"))
    if partition in ("graph", "layout") and (parallel or not metis or matrix.rows != matrix.cols):
        partition = "nnz"
    output = rng.random() < 0.6
    columns = [rng.choice(COLUMNS) for _ in range(1 if output or rng.random() < 0.6 else rng.randint(2, 3))]
    if matrix.nnz > 20000 or matrix.rows > 1000:
        columns = [min(k, 9) for k in columns]
    x = X(rng, folder, matrix, columns)
    columns = columns if x.columns is None else [x.columns]
    k_given = x.columns is None or rng.random() < 0.5
    kernel_words, kernels = pick_kernel(rng, matrix, known, columns, output, grid is not None and grid[1] == 1)
    slices = [n for n in range(1, 17) if all(columns_fit(k, n, precision) for k in columns)]
    verify = rng.choice((None, None, "full", "sample", "none"))
    exchange = rng.choice((None, None, "auto", "halo", "bcast", "joint"))
    repeat, warmup = rng.choice((1, 2, 3)), rng.choice((0, 0, 1))
    threads = rng.choice((None, 1, 2, 3))
    volume = rng.choice(([], [], ["-q"], ["-v"]))
    args = [*(["-k", ",".join(map(str, columns))] if k_given else []), "-d", "cpu", "-r", repeat, "--warmup", warmup, *volume,
            *grid_words, *kernel_words, *x.words, *extra]
    args += ["-p", precision] if precision != "f64" or rng.random() < 0.2 else []
    with np.errstate(all="ignore"):
        rounded = rng.random() < 0.15 and not (abs(matrix.a.data) > 3e38).any()
    args += ["--values", "f32"] if rounded else []
    args += ["--partition", partition] if partition != "auto" or rng.random() < 0.2 else []
    args += ["--verify", verify] if verify else []
    args += ["--exchange", exchange] if exchange else []
    args += ["--io", "parallel"] if parallel else ["--io", "root"] if rng.random() < 0.1 else []
    args += ["-t", threads] if threads else []
    sliced = rng.choice(slices) if rng.random() < 0.2 else None
    args += ["--column-blocks", sliced] if sliced else []
    args += ["-o", "y.mtx"] if output else []
    args += ["--csv", "r.csv"] if rng.random() < 0.2 else []
    args += by_chance(rng, (("--transport", ("auto", "mpi") if sliced and sliced > 1 else ("auto", "mpi", "shared"), 0.25), ("--no-overlap", None, 0.2), ("--probe", None, 0.1),
                            ("--reduce", ("auto", "linear", "tree", "butterfly", "mpi"), 0.4), ("--timeout", (30, 59), 0.1),
                            ("--allow-nonfinite", None, 0 if matrix.finite else 1)))
    # generated elements of X are f32 numbers, which rounding does not change
    if x.columns is None and "shared" not in args and rng.random() < 0.1:
        args += ["--exchange-precision", "f32"]
    run = Run(ranks, [*args, matrix.argument], environment(rng, args))
    run.precision, run.matrix, run.known = precision, matrix, known
    run.written_in = "f32" if rounded else precision
    run.last = "DONE, not verified" if verify == "none" else "PASS"
    run.quiet = "-q" in volume
    run.record = {
        "matrix": {"source": matrix.argument, "rows": matrix.rows, "cols": matrix.cols, "nnz": matrix.nnz,
                   "field": matrix.field, "symmetry": matrix.symmetry},
        "run": {"ranks": ranks, "device": "cpu", "precision": precision, "repeat": repeat, **({"partition": partition} if partition != "auto" else {}),
                "warmup": warmup, "x": x.name, "verify": verify or ("sample" if parallel else "full")},
        "error": {"wrong": 0, "passed": verify != "none"}, "moved": {}}
    if grid:
        run.record["run"]["grid"] = grid
    if threads:
        run.record["run"]["threads"] = threads
    if sliced:
        run.record["moved"]["column_blocks"] = sliced
    run.runs = [(k, one) for k in columns for one in kernels]
    run.csv = "r.csv" if "--csv" in args else None
    run.output = "y.mtx" if output else None
    run.expected = x if output and x.columns is not None else None
    return run


def cached(rng, folder, matrix, known, metis):
    """Two runs: one writes the matrix as .npz, the other reads that."""
    first = product(rng, folder, matrix, known, metis, ("--cache", "c.npz"))
    again = Matrix.__new__(Matrix)
    again.__dict__.update(matrix.__dict__, argument="c.npz", kind="npz", packed=False, field="real", symmetry="general")
    second = product(rng, folder, again, known, metis)
    second.written_in = min(first.precision, second.written_in)  # "f32" < "f64"
    return [first, second]


def draw(rng, folder, known, metis):
    """The runs of one combination, in order."""
    kind = rng.random()
    matrix = any_matrix(rng, folder)
    if kind < 0.03:
        matrix = written(rng, folder, extra=rng.choice(("inf", "nan", "-inf")))
    if kind < 0.2:
        return cached(rng, folder, matrix, known, metis)
    return [product(rng, folder, matrix, known, metis)]
