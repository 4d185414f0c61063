"""Random combinations of series_mpi's options for tests/soak.py, with numpy's coefficients for comparison."""
import gzip
import os

import numpy as np

STEPS = ("generate", "mean", "deviation", "pearson")


def philox(counter, key):
    """Philox4x32-10: counter [4][n] of 32-bit words in uint64, key (2 words)."""
    c, key = [np.array(w, np.uint64) for w in counter], list(key)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> half) ^ c[1] ^ np.uint64(key[0]), b & low, (a >> half) ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def walk(series, length, start, epsilon, seed):
    """The generated series, up to rounding."""
    x = np.full((series, length), float(start))
    if length < 2:
        return x
    index, number = np.meshgrid(np.arange(1, length), np.arange(series))
    words = philox([index // 4, index * 0, number, number * 0], (seed & 0xFFFFFFFF, seed >> 32))
    r = np.choose(index % 4, words).astype(np.uint32).view(np.int32) / 2.0 ** 31
    x[:, 1:] *= np.cumprod(1 + epsilon / 100 * r, axis=1)
    return x


def coefficients(data):
    """numpy's coefficients, with 0 for constant series."""
    with np.errstate(all="ignore"):
        r = np.atleast_2d(np.corrcoef(data))
    constant = (data == data[:, :1]).all(axis=1)
    r[constant, :] = r[:, constant] = 0
    return r


def file_of(rng, folder):
    """Writes a file of random series. Returns (its name, the values)."""
    m, n = rng.choice((1, 2, 3, 9, rng.randint(1, 40))), rng.choice((1, 2, 5, rng.randint(3, 90)))
    data = np.array([[rng.uniform(-1, 1) for _ in range(n)] for _ in range(m)])
    if rng.random() < 0.5:
        data = data.cumsum(axis=1)
    if rng.random() < 0.3:
        data[rng.randrange(m)] = rng.choice((0.0, 7.25, -1e10))
    if rng.random() < 0.2:
        data *= rng.choice((1e10, 1e-10))
    if rng.random() < 0.4:
        name, text = "s.mtx", f"%%MatrixMarket matrix array real general\n{n} {m}\n"
        text += "".join(f"{v!r}\n" for v in data.ravel().tolist())
    else:
        mark, end = rng.choice((",", ";", "\t", ", ")), rng.choice(("\n", "\r\n"))
        name, text = "s.csv", end.join(mark.join(map(repr, row)) for row in data.tolist())
        text = rng.choice(("", "# a comment" + end)) + text + rng.choice((end, "", end + end))
    packed = rng.random() < 0.2
    name += ".gz" * packed
    with open(os.path.join(folder, name), "wb") as f:
        f.write(gzip.compress(text.encode()) if packed else text.encode())
    return name, data


def pick_kernels(rng, known, layout, steps):
    """(a list for --kernel, or None; the kernels that each step's records then have)"""
    fitting = {s: [k for k, (step, needs) in known.items() if step == s and needs in ("any", layout if s == "mean" else "series")]
               for s in STEPS}
    named = [rng.choice(fitting[s]) for s in steps if rng.random() < 0.3]
    every = rng.random() < 0.2
    of = {}
    for s in steps:
        mine = [k for k in named if known[k][0] == s]
        of[s] = mine or (fitting[s] if every else fitting[s][:1])
    words = named + ["all"] * every
    rng.shuffle(words)
    return ",".join(words) or None, of


def draw(rng, folder, known):
    """A random run. known: {kernel: (step, layout)}. Returns ranks, arguments, the record's series and kernels, the name of
    the file of coefficients or None, the series, and how much coefficients may differ from numpy's (None: any)."""
    args, precision = [], rng.choice(("f64", "f64", "f32"))
    layout = rng.choice(("series", "series", "index"))
    from_file = rng.random() < 0.5
    possible = STEPS[1:] if from_file else STEPS
    steps = [s for s in possible if rng.random() < 0.7] if rng.random() < 0.4 else list(possible)
    steps = steps or ["pearson"]
    if from_file:
        name, data = file_of(rng, folder)
        tolerance = 1e-8 if precision == "f64" else None
    else:
        m, n = rng.choice((1, 2, 5, rng.randint(1, 80))), rng.choice((1, 2, 3, rng.randint(4, 300)))
        start, epsilon = rng.choice((100, 100, -4, 1e-3, 1e10)), rng.choice((1, 1, 0, 0.01, 50))
        seed = rng.choice((1, 0, rng.randint(0, 2 ** 63 - 1)))
        args += ["-m", m, "-n", n]
        args += ["--start", start] if start != 100 else []
        args += ["--epsilon", epsilon] if epsilon != 1 else []
        args += ["--seed", seed] if seed != 1 else []
        data = walk(m, n, start, epsilon, seed)
        tolerance = 1e-8 if precision == "f64" else 1e-3 if epsilon >= 1 and n > 3 else None
    kernel, of = pick_kernels(rng, known, layout, steps)
    args += ["--kernel", kernel] if kernel else []
    args += ["--steps", ",".join(steps)] if steps != list(possible) or rng.random() < 0.2 else []
    args += ["--layout", layout] if layout != "series" or rng.random() < 0.2 else []
    args += ["-p", precision] if precision != "f64" or rng.random() < 0.2 else []
    for option, values, share in (("-r", (1, 2), 0.9), ("--warmup", (0, 1, 2), 0.5), ("--top", (0, 1, 3, 100), 0.3),
                                  ("--bound", (-1, -0.2, 0.5, 1), 0.3), ("--verify", ("full", "sample", "none"), 0.4),
                                  ("-t", (1, 2, 3), 0.5), ("--timeout", (30, 59), 0.1)):
        args += [option, rng.choice(values)] if rng.random() < share else []
    output = "r.mtx" if "pearson" in steps and rng.random() < 0.6 else None
    args += ["-o", output] if output else []
    args += [name] if from_file else []
    facts = {"count": data.shape[0], "length": data.shape[1], "layout": layout}
    kernels = [(s, k) for s in STEPS if s in steps for k in of[s]]
    return rng.choice((1, 1, 2, 2, 3, 4, 5)), args, facts, kernels, output, data, tolerance
