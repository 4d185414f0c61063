"""The ratio of two times with its confidence interval. For each round a record has the median of its times, and two of
the times that enclose the median.

Logarithms are compared, since times are positive, are skewed, and differ by factors.

- Two or more rounds on both sides: Welch's t interval of the difference of the mean logarithms of the rounds' medians,
  with Welch's degrees of freedom (B. L. Welch: The generalization of Student's problem when several different population
  variances are involved, Biometrika 34, 1947). Rounds, and not the times within them, are the sample: times of one run
  share its memory, its binding and its neighbors, and agree better with one another than with those of the next run
  (T. Kalibera and R. Jones: Rigorous benchmarking in reasonable time, ISMM 2013).
- One round on one side: Student's t with the variance of the other side, which is assumed for both.
- One round on both: of the point itself only the spread within each run is known. The interval is that of the
  ratio of two medians without assumptions on the distribution (R. M. Price and D. G. Bonett: Distribution-free
  confidence intervals for difference and ratio of medians, Journal of Statistical Computation and Simulation 72,
  2002): the standard error of the logarithm of a median comes from the order statistics around it. The noise
  from run to run is estimated from the other points: the interval is at least as wide as Student's t interval for the
  scatter of all such log ratios around their median (the median absolute deviation, on which a few points that did
  change have little effect).

The variance within a run is also a lower bound of the variance of a round, so that two or three rounds that agree by
chance do not yield an interval of zero width.
"""
import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, median, stdev, variance

FEW_POINTS = 4  # the median absolute deviation of fewer is unreliable
MAD_TO_DEVIATION = 1.4826  # of a normal distribution
MOST_EXACT = 1000  # times of a run; for more the normal approximation is as good


@dataclass
class Ratio:
    """low and high are None if the records do not suffice."""
    value: float
    low: float
    high: float


@lru_cache(maxsize=None)
def order_statistic_z(n):
    """Half the width of the interval [median_low, median_high] of n times, in standard errors, from the probability of
    the interval by the binomial distribution. As in src/cli/stats.c, its ends are the innermost pair of order
    statistics with 95 % or more. None: no pair has so much."""
    if n > MOST_EXACT:
        return NormalDist().inv_cdf(0.975)
    outside, below = None, 0.0  # outside: probability that the median is below the interval
    for i in range(n):
        below += math.comb(n, i) * 0.5 ** n
        if below > 0.025:
            break
        outside = below
    return None if outside is None else NormalDist().inv_cdf(1 - outside)


def _within(times):
    """Squared standard error of the logarithm of a round's median; None: not recorded."""
    low, high, z = times.get("median_low"), times.get("median_high"), order_statistic_z(times["n"])
    return (math.log(high / low) / (2 * z)) ** 2 if low and high and z else None


def _scale(freedom):
    """`scale` of the density of Student's t, scale (1 + t^2 / freedom)^(-(freedom + 1) / 2)."""
    return math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)


def _inside(t, freedom):
    """Probability that Student's t is within -t .. t, by Simpson's rule: with t = sqrt(freedom) tan(x) the
    integrand is a power of cos(x)."""
    steps, end = 200, math.atan(t / math.sqrt(freedom))
    total = sum((1 if i in (0, steps) else 4 if i % 2 else 2) * math.cos(end * i / steps) ** (freedom - 1)
                for i in range(steps + 1))
    return 2 * _scale(freedom) * math.sqrt(freedom) * total * end / steps / 3


@lru_cache(maxsize=1024)
def student(confidence, freedom):
    """The quantile t: Student's t is within -t .. t with probability `confidence`. freedom: at least 1, not necessarily
    whole. Newton's method approaches t from below: it starts at the quantile of the normal distribution, which is
    less, and the density decreases."""
    t = NormalDist().inv_cdf((1 + confidence) / 2)
    for _ in range(100):
        density = _scale(freedom) * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
        step = (confidence - _inside(t, freedom)) / (2 * density)
        t += step
        if abs(step) < 1e-9 * t:
            break
    return t


class Side:
    """All rounds of a point in one of the files. rounds: their statistics, as in the records."""

    def __init__(self, rounds):
        self.rounds = len(rounds)
        logs, within = [math.log(r["median"]) for r in rounds], [_within(r) for r in rounds]
        self.mean = fmean(logs)
        self.within = fmean(within) if None not in within else None  # of one round
        spread = variance(logs) if self.rounds > 1 else None
        self.variance = None if spread is None else max(spread, self.within or 0.0)  # of one round

    @property
    def seconds(self):
        """The geometric mean of the rounds' medians."""
        return math.exp(self.mean)


def scatter(logs):
    """(standard deviation, degrees of freedom) of the log ratios of points with one round on either side, as a measure
    of the noise from run to run: it assumes that a change of the code affects most points alike, or not at all. None:
    there are fewer than two points."""
    if len(logs) < 2:
        return None
    middle = median(logs)
    spread = stdev(logs) if len(logs) < FEW_POINTS else MAD_TO_DEVIATION * median(abs(one - middle) for one in logs)
    return spread, len(logs) - 1


def _reach(old, new, confidence, among):
    """Half the width of the interval of the difference of the logarithms; None: not enough is known."""
    if old.variance is None and new.variance is None:
        if old.within is None or new.within is None:
            return None
        within = math.sqrt(old.within + new.within) * NormalDist().inv_cdf((1 + confidence) / 2)
        return max(within, among[0] * student(confidence, among[1])) if among else within
    if old.variance is None or new.variance is None:
        many, one = (old, new) if new.variance is None else (new, old)
        total = many.variance / many.rounds + max(many.variance, one.within or 0.0)
        return math.sqrt(total) * student(confidence, many.rounds - 1)
    a, b = old.variance / old.rounds, new.variance / new.rounds
    if a + b == 0:
        return 0.0
    freedom = (a + b) ** 2 / (a * a / (old.rounds - 1) + b * b / (new.rounds - 1))
    return math.sqrt(a + b) * student(confidence, round(max(1.0, freedom), 3))


def ratio(old, new, confidence, among=None):
    """new / old of two Sides, as a Ratio. among: scatter() of all points with one round on either side."""
    value, reach = math.exp(new.mean - old.mean), _reach(old, new, confidence, among)
    if reach is None:
        return Ratio(value, None, None)
    factor = math.exp(min(reach, 300.0))
    return Ratio(value, value / factor, value * factor)


def geometric_mean(ratios, confidence):
    """The geometric mean of the ratios, with Student's t interval from their logarithms: differences between points count
    as noise. None: no ratios."""
    if not ratios:
        return None
    logs = [math.log(r) for r in ratios]
    value = math.exp(fmean(logs))
    if len(logs) < 2:
        return Ratio(value, None, None)
    reach = math.exp(min(300.0, student(confidence, len(logs) - 1) * math.sqrt(variance(logs) / len(logs))))
    return Ratio(value, value / reach, value * reach)
