/** Statistics of timings. Pure functions. */
#ifndef SP_STATS_H
#define SP_STATS_H

/** mean and deviation by Welford's one-pass method (Technometrics 4(3), 1962). */
typedef struct sp_stats {
    int n;
    double median, mean, stddev, min, max; /**< all 0 when n is 0; stddev of the sample (n - 1) */
    double low,
        high; /**< the median lies between with 95 % or more, whatever the distribution: two of the values,
                           by their ranks (David, Nagaraja: Order Statistics, 3rd ed., section 7.1); NaN for n < 6,
                           where no two are enough */
} sp_stats;

/** \param [in,out] values  [n]; sorted on return */
sp_stats sp_stats_of(double *values, int n);

#endif
