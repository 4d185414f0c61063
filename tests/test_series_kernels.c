/* limit: 300 */
#include "series_kernels_cases.h"

int main(void)
{
    test_walk_itself();
    TEST("2^-exponent is made of two factors for any exponent of a double") {
        for (int e = -1074; e <= 1023; e++) {
            const double one = sp_scale(e, 0), two = sp_scale(e, 1);
            CHECK(isfinite(one) && isfinite(two) && one >= DBL_MIN && two >= DBL_MIN);
            CHECK(ldexp(1, e) * one * two == 1);
        }
    }
    TEST("every kernel has a name of its own, and every step a default on the CPU") {
        int count;
        const sp_series_kernel *const k = sp_series_kernels(&count);
        for (int i = 0; i < count; i++) CHECK(sp_series_find(k[i].id) == &k[i]);
        for (int s = 0; s < SP_STEPS; s++)
            CHECK(sp_series_default((sp_step)s, SPMM_CPU, SP_SERIES_MAJOR) != NULL);
        CHECK(sp_series_find("no such kernel") == NULL);
    }
    test_device(SPMM_CPU);
    return test_end();
}
