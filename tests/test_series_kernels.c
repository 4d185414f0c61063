/* limit: 300 */
#define TEST_TRAPS 0 /* constant series: 0 / 0 */
#include "series_operators_cases.h"

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
            CHECK(sp_series_default((sp_step)s, SPMM_CPU, SP_SERIES_MAJOR, SP_SUM) != NULL);
        CHECK(sp_series_find("no such kernel") == NULL);
    }
    TEST("every operator has a default on the CPU in both layouts, and on a GPU if the build has kernels") {
        for (int op = 0; op < SP_OPERATORS; op++)
            for (int layout = 0; layout < SP_ANY_LAYOUT; layout++) {
                const sp_series_kernel *const k = sp_series_default(SP_MEAN, SPMM_CPU,
                                                                    (sp_series_order)layout, (sp_operator)op);
                CHECK(k != NULL && sp_series_offers(k, (sp_operator)op));
                const int none = sp_series_find("sum_ordered")->ops->missing != NULL;
                CHECK((sp_series_default(SP_MEAN, SPMM_CUDA, (sp_series_order)layout, (sp_operator)op) ==
                       NULL) == none);
            }
    }
    test_device(SPMM_CPU);
    test_operators_of(SPMM_CPU);
    return test_end();
}
