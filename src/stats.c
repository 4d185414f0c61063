#include "stats.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

sp_stats sp_stats_of(double *values, int n)
{
    sp_stats s = {.n = n};
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
    s.median = n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
    return s;
}
