#include <math.h>

#include "cli/stats.h"
#include "test.h"

static int near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

int main(void)
{
    TEST("statistics of 2 4 4 4 5 5 7 9 are mean 5, deviation sqrt(32/7), median 4.5") {
        double v[] = {9, 2, 4, 5, 4, 7, 5, 4};
        const sp_stats s = sp_stats_of(v, 8);
        CHECK_INT(s.n, 8);
        CHECK(near(s.mean, 5) && near(s.stddev, sqrt(32.0 / 7)) && near(s.median, 4.5));
        CHECK(s.min == 2 && s.max == 9);
    }
    TEST("one value has no deviation, and no values give zeros") {
        double v[] = {3};
        sp_stats s = sp_stats_of(v, 1);
        CHECK(s.mean == 3 && s.stddev == 0 && s.median == 3 && s.min == 3 && s.max == 3);
        s = sp_stats_of(v, 0);
        CHECK(s.n == 0 && s.mean == 0 && s.median == 0);
    }
    TEST("a small deviation on a large mean survives, as Welford's method promises") {
        double v[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
        const sp_stats s = sp_stats_of(v, 4);
        CHECK(fabs(s.stddev - sqrt(30)) < 1e-6);
    }
    TEST("the median of an odd number of values is the middle one") {
        double v[] = {5, 1, 3};
        CHECK(sp_stats_of(v, 3).median == 3);
    }
    TEST("the interval of the median is that of tables of order statistics, and there is none for 5 values") {
        /* Conover, Practical Nonparametric Statistics: ranks for 95 % or more */
        static const int ranks[][2] = {{6, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {25, 8}, {100, 40}};
        double v[5000];
        for (int c = 0; c < 7; c++) {
            const int n = ranks[c][0];
            for (int i = 0; i < n; i++) v[i] = n - i;
            const sp_stats s = sp_stats_of(v, n);
            CHECK(s.low == ranks[c][1] && s.high == n + 1 - ranks[c][1]);
        }
        for (int i = 0; i < 5; i++) v[i] = i;
        const sp_stats few = sp_stats_of(v, 5);
        CHECK(isnan(few.low) && isnan(few.high));
        for (int i = 0; i < 5000; i++) v[i] = i + 1; /* low: 2500 - 0.98 sqrt(5000); 2^-5000 underflows */
        const sp_stats many = sp_stats_of(v, 5000);
        CHECK(many.low > 2425 && many.low < 2436 && many.low + many.high == 5001);
    }
    return test_end();
}
