/** Computes the minimum, maximum, mean, standard deviation and median of timings, and the median's
 *  confidence interval. */
#include "cli/stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Returns the greatest rank r (1-based) such that the r-th smallest and the r-th largest of n values enclose
 *  the median with a probability of at least 95 %; 0 if there is none. This is the greatest r such that n
 *  tosses of a fair coin give fewer than r heads with a probability of at most 2.5 %. */
static int rank_of_low(int n)
{
    /* uses logarithms, because 2^-n underflows to 0 for n >= 1075 */
    /* heads: log of the probability of i heads; below: probability of at most i heads */
    double heads = -n * log(2), below = 0;
    for (int i = 0; i < n; i++) {
        below += exp(heads);
        if (below > 0.025) return i;
        heads += log((double)(n - i) / (i + 1));
    }
    return 0;
}

sp_stats sp_stats_of(double *values, int n)
{
    sp_stats s = {.n = n, .low = NAN, .high = NAN};
    double squares = 0;
    if (n < 1) return s;
    for (int i = 0; i < n; i++) {
        const double delta = values[i] - s.mean;
        s.mean += delta / (i + 1);
        squares += delta * (values[i] - s.mean);
    }
    s.stddev = n > 1 ? sqrt(squares / (n - 1)) : 0;
    qsort(values, (size_t)n, sizeof *values, by_value);
    s.min = values[0];
    s.max = values[n - 1];
    const int low = rank_of_low(n);
    s.low = low > 0 ? values[low - 1] : NAN;
    s.high = low > 0 ? values[n - low] : NAN;
    s.median = n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
    return s;
}
