"""Scaling laws, cost models and the roofline: numbers in, numbers out.

Sources: [N] the notes on parallel computing that the program was designed from, chapter 1 (speed-up, efficiency,
Amdahl with overhead) and chapter 3 (matrix-vector product by rows, columns and blocks); [A] Amdahl 1967; [G] Gustafson
1988; [KF] Karp and Flatt 1990; [W] Williams, Waterman and Patterson 2009.
"""
import math
from dataclasses import dataclass


# ---- speed-up and efficiency ----

def speedup(reference_seconds, seconds):
    """S_p = T_s / T_p [N, 1.1]. Absolute: the reference is the serial product; relative: the product by the
    same kernel on one rank."""
    return reference_seconds / seconds


def efficiency(speed_up, p):
    """E_p = S_p / p [N, 1.2.2]."""
    return speed_up / p


def scaled_speedup(reference_seconds, seconds, work_ratio):
    """p T_s(N) / T_p(p N) [N, 1.2], with the work's true growth in place of p: a generator's edge is a whole number, so
    the entries do not grow by exactly p. Ideal: p."""
    return work_ratio * reference_seconds / seconds


def gustafson(serial_share, p):
    """Scaled speed-up p - s (p - 1), s the serial share of the *parallel* time [G]."""
    return p - serial_share * (p - 1)


def gustafson_share(scaled, p):
    """The s that gives this scaled speed-up on p > 1 ranks; negative where it exceeds p."""
    return (p - scaled) / (p - 1)


def fit_gustafson(scaled):
    """s of p - s (p - 1), least squares over {p: scaled speed-up}, within 0 and 1; None without a p > 1."""
    pairs = [(p, s) for p, s in scaled.items() if p > 1]
    if not pairs:
        return None
    share = sum((p - s) * (p - 1) for p, s in pairs) / sum((p - 1) ** 2 for p, _ in pairs)
    return min(1.0, max(0.0, share))


def karp_flatt(speed_up, p):
    """Experimentally determined serial fraction e = (1/S - 1/p) / (1 - 1/p), p > 1 [KF]. Constant over p: serial work
    limits; growing: overhead does. Negative where speed-up is superlinear."""
    return (1 / speed_up - 1 / p) / (1 - 1 / p)


# ---- Amdahl with overhead ----

# points besides p = 1 that are needed to draw a law or to report its parameters
LEAST_FREE = 3
# p - 1: each rank, or a root, communicates with all others, one after another; log2 p: trees, as in
# barriers and sums
OVERHEADS = {"p-1": lambda p: p - 1.0, "log2 p": math.log2}


@dataclass
class Fit:
    """T(p) = T1 (a + (1 - a) / p) + c g(p). residual: root mean square of (fit - measured) / measured."""
    first: float
    serial: float
    overhead: float
    form: str
    residual: float
    points: int
    other_residual: float = None

    @property
    def is_free(self):
        """Are there enough points besides T1 for a law? One determines a, and two can be fitted by some a and c."""
        return self.points >= LEAST_FREE

    def seconds(self, p):
        return self.first * (self.serial + (1 - self.serial) / p) + self.overhead * OVERHEADS[self.form](p)

    def speedup(self, p):
        return self.first / self.seconds(p)

    def peak(self):
        """(p, speed-up) where T(p) is least: dT/dp = 0 at T1 (1 - a) / p^2 = c g'(p). None: speed-up grows for ever, towards
        1/a (a = 0: without bound)."""
        if self.overhead <= 0:
            return None
        gain = self.first * (1 - self.serial) / self.overhead
        best = math.sqrt(gain) if self.form == "p-1" else gain * math.log(2)
        around = {max(1, math.floor(best)), max(1, math.ceil(best))}
        p = min(around, key=self.seconds)
        return p, self.speedup(p)

    @property
    def determined(self):
        """More points than parameters, and one form clearly the better."""
        return self.is_free and (self.other_residual is None or self.other_residual > 1.1 * self.residual + 1e-12)


def _solve(rows):
    """Least squares of a u + c v = w over rows (u, v, w); None where the two columns are not independent."""
    uu, uv, vv = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    uw, vw = (sum(r[i] * r[2] for r in rows) for i in (0, 1))
    det = uu * vv - uv * uv
    if det <= 1e-12 * uu * vv:
        return None
    return (uw * vv - vw * uv) / det, (vw * uu - uw * uv) / det


def _bounded(rows):
    """_solve() with 0 <= a <= 1 and c >= 0. The best point is inside of these bounds or on an edge: tries each."""
    tries = []
    inside = _solve(rows) if len(rows) > 1 else None
    if inside and 0 <= inside[0] <= 1 and inside[1] >= 0:
        tries.append(inside)
    uu, uw = sum(r[0] * r[0] for r in rows), sum(r[0] * r[2] for r in rows)
    tries.append((min(1.0, max(0.0, uw / uu)), 0.0))
    if len(rows) > 1:
        vv = sum(r[1] * r[1] for r in rows)
        for a in (0.0, 1.0):
            tries.append((a, max(0.0, sum(r[1] * (r[2] - a * r[0]) for r in rows) / vv)))
    return min(tries, key=lambda t: sum((t[0] * u + t[1] * v - w) ** 2 for u, v, w in rows))


def _fit_form(first, others, form):
    """Fits one of the OVERHEADS by relative residuals: these are what a logarithmic axis shows, and the long times of few
    ranks do not outweigh the short ones."""
    rows = [(first * (1 - 1 / p) / t, OVERHEADS[form](p) / t, (t - first / p) / t) for p, t in others]
    a, c = _bounded(rows)
    squares = sum((a * u + c * v - w) ** 2 for u, v, w in rows)
    return Fit(first, a, c, form, math.sqrt(squares / len(rows)), len(others))


def fit_amdahl(times):
    """Least-squares fit of Amdahl's law with overhead [A; N, 1.2.6] to {p: seconds}; T1 is the measured time. None
    without T1 and another point. The notes do not say how T_overhead grows with p: both forms of OVERHEADS are tried,
    and the smaller residual is taken. One point besides T1 determines a alone, which is Karp and Flatt's fraction."""
    others = sorted((p, t) for p, t in times.items() if p > 1)
    if 1 not in times or not others:
        return None
    fits = [_fit_form(times[1], others, form) for form in OVERHEADS]
    best, other = sorted(fits, key=lambda f: f.residual)
    if other.residual - best.residual <= 1e-9:
        best, other = fits
    best.other_residual = other.residual
    return best


# ---- Amdahl's law, generalized ----

def generalized_speedup(shares):
    """S_p = T_s / T_p = 1 / sum a_i / i, of T_s = a_1 T_s + .. + a_p T_s, a_i T_s being the work that i ranks do at the same
    time [N, 2.4]. shares: {i: a_i}. With a_1 = a and a_p = 1 - a it is Amdahl's law."""
    return 1 / sum(share / ranks for ranks, share in shares.items())


def _shares(work, sequential):
    """{i: a_i} of (ranks at work, operations) pairs, as fractions of the operations of one rank alone."""
    found = {}
    for ranks, operations in work:
        if operations > 0:
            found[ranks] = found.get(ranks, 0.0) + operations / sequential
    return dict(sorted(found.items()))


def array_shares(count, p, reduce):
    """a_i of the sum of `count` > 1 numbers that are distributed over p ranks; the a_i sum to 1 if each rank has one."""
    least, more = divmod(count, p)
    local = [(p, p * (least - 1)), (more, more)] if least else []
    return _shares(local + [(adders, adders * steps) for adders, steps in sum_adders(p, reduce)], count - 1)


def product_shares(product, imbalance=1.0, reduce="tree"):
    """a_i of a product with 2 nnz K operations. The most loaded rank has `imbalance` times the mean; it does alone what
    exceeds the mean of the others. Then in each of P process rows every rank that adds does (m / P) K additions, which
    a single rank need not do: the a_i sum to 1 + (Q - 1) m / (2 nnz). How the other ranks share their entries does not
    affect S."""
    p, q = product.grid
    ranks, multiply = p * q, product.flop
    alone = (max(1.0, imbalance) - 1) / (ranks - 1) if ranks > 1 else 0.0
    adding = [(adders * p, adders * steps * product.parts * product.rows * product.k) for adders, steps in sum_adders(q, reduce)]
    return _shares([(1, alone * multiply), (ranks, (1 - alone) * multiply), *adding], multiply)


# ---- cost models of the three distributions ----

def flop(nnz, k, parts):
    """Operations of a product: 2 per entry and column, 8 if values have two parts, i.e. are complex."""
    return 2.0 * parts ** 2 * nnz * k


@dataclass
class Product:
    """What the time of a product depends on in the notes' models. grid: (P, Q), for P row blocks by Q column blocks."""
    rows: int
    nnz: int
    k: int
    grid: tuple
    value_bytes: int
    parts: int = 1  # 2: values are complex

    @property
    def flop(self):
        return flop(self.nnz, self.k, self.parts)


@dataclass
class Rates:
    """Seconds of one operation (T_calc), of one byte on its way, and of an empty message."""
    flop: float
    byte: float
    latency: float = 0.0


def sum_adders(q, reduce):
    """[(ranks that add at the same time, number of such steps)] for the sum of Q partial results. By the notes' first
    strategy one rank adds in each of Q - 1 steps; by the second and third [N, 2.2, 2.3] there are log2 Q steps, each with
    half as many adding ranks as the one before. Ranks that add the same numbers count once. If Q is no power of two, the
    third has a step before, and one after in which no rank adds."""
    if q == 1:
        return []
    if reduce == "linear":
        return [(1, q - 1)]
    if reduce == "butterfly":
        core = 1 << (q.bit_length() - 1)
        found = [(core >> (step + 1), 1) for step in range(core.bit_length() - 1)]
        return found if q == core else [(q - core, 1), *found, (0, 1)]
    return [(-(-(q - (1 << step)) // (2 << step)), 1) for step in range((q - 1).bit_length())]


def sum_steps(q, reduce):
    """Steps of summing Q partial results, as sp_reduce_steps() counts them."""
    return sum(steps for _, steps in sum_adders(q, reduce))


def sum_seconds(product, rates, reduce="tree"):
    """steps (m / P) K (T_calc + T_com): the sum of partial Y alone [N, 3.3.2]; with a latency per step if `rates` has one."""
    p, q = product.grid
    number = product.parts * rates.flop + product.value_bytes * rates.byte
    return sum_steps(q, reduce) * (product.rows / p * product.k * number + rates.latency)


def model_seconds(product, rates, reduce="tree"):
    """T = 2 nnz K / (P Q) T_calc + steps (m / P) K (T_calc + T_com) [N, 3.2.2, 3.3.2, 3.5.2; there the matrix is dense,
    nnz = m n, and K = 1]. Rows: Q = 1, and no sum; columns: P = 1; blocks: both. T_com is the time of one number."""
    p, q = product.grid
    multiply = product.flop / (p * q) * rates.flop
    return multiply + sum_seconds(product, Rates(rates.flop, rates.byte), reduce)


def left_out_seconds(product, rates, received_rows, neighbors, imbalance, reduce="tree"):
    """The time that the models leave out: of the rows of X that a rank receives, of a message per neighbor
    and per step of the sum, and of the most loaded rank's work beyond the mean. An upper bound, as if nothing
    overlapped with the product."""
    p, q = product.grid
    travel = received_rows * product.k * product.value_bytes * rates.byte
    messages = (neighbors + sum_steps(q, reduce)) * rates.latency
    waiting = (max(1.0, imbalance) - 1) * product.flop / (p * q) * rates.flop
    return travel + messages + waiting


# ---- roofline ----

def dram_bytes(nnz, rows, touched, k, value_bytes):
    """The least DRAM traffic of a product in CSR: values and 32-bit columns once, 64-bit row starts, each row of X that
    is used read once, each row of Y written once. Caches that are too small only add to it."""
    return nnz * (value_bytes + 4) + 8 * (rows + 1) + value_bytes * k * (touched + rows)


def intensity(flop, traffic):
    """Operational intensity, flop per byte [W]."""
    return flop / traffic


def ceiling(flop_per_byte, bytes_per_second, peak_flops=None):
    """min(peak, intensity x bandwidth) in flop/s [W]; without a peak the bandwidth's alone."""
    slope = flop_per_byte * bytes_per_second
    return min(slope, peak_flops) if peak_flops else slope
