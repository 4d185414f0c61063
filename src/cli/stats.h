/** Statistics of timings. The functions have no side effects except on their arguments. */
#ifndef SP_STATS_H
#define SP_STATS_H

/** Statistics of n values. Mean and standard deviation come from Welford's one-pass method (Technometrics
 *  4(3), 1962). */
typedef struct sp_stats {
    int n;
    double median, mean, stddev, min, max; /**< all 0 if n is 0; stddev is the standard deviation of a sample
                                                (divisor n - 1) */
    double low, high; /**< the median lies between low and high with a probability of at least 95 %, whatever
                           the distribution. Both are among the n values, chosen by rank (David, Nagaraja:
                           Order Statistics, 3rd ed., section 7.1); NaN for n < 6, where no two values reach
                           95 % */
} sp_stats;

/** Returns the statistics of n values. Local.
 *  \param [in,out] values  [n]; sorted on return */
sp_stats sp_stats_of(double *values, int n);

#endif
