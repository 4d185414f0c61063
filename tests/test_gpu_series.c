/* limit: 300 */
#include "series_operators_cases.h"

#include "series_mpi/job.h"

/** Checks mapped or managed memory: a kernel writes series, which the host reads, and the host writes series,
 *  which a kernel sums, both without a copy. */
static void test_memory(sp_series_memory memory, const char *name)
{
    const sp_walk w = {.start = 100, .epsilon = 0.03, .seed = 77};
    TEST(name) {
        for (int p = 0; p < 2; p++)
            for (int layout = 0; layout < 2; layout++) {
                sp_series_job job = {.options = {.memory = memory, .precision = (spmm_precision)p},
                                     .place = {.binding = {.device = SPMM_CUDA}},
                                     .length = 129};
                double *const sum = device_memory(SPMM_CUDA, 33 * 8), found[33];
                sp_series want = walked(sp_series_find("cpu_walk_serial"), 33, 129, 5, SP_SERIES_MAJOR,
                                        (spmm_precision)p, &w, 0);
                CHECK_INT(sp_series_make(&job, 33, 5, (sp_series_order)layout, &job.x), SPMM_OK);
                sp_series_launch l = {.x = &job.x, .walk = &w, .divisor = 1, .mean = sum};
                CHECK_INT(sp_series_find("walk_thread")->ops->run(&l), SPMM_OK);
                CHECK_INT(sp_device_sync(), SPMM_OK);
                sp_series on_host = job.x;
                on_host.v.space = SPMM_CPU;
                CHECK_INT(different(&want, &on_host), 0);
                for (int64_t m = 0; m < 33; m++)
                    for (int64_t i = 0; i < 129; i++) put_value(&on_host, m, i, small_integer(m, i));
                CHECK_INT(sp_series_find(layout ? "sum_thread" : "sum_shuffle")->ops->run(&l), SPMM_OK);
                CHECK_INT(sp_device_sync(), SPMM_OK);
                to_host(SPMM_CUDA, found, sum, sizeof found);
                for (int64_t m = 0; m < 33; m++) {
                    double right = 0;
                    for (int64_t i = 0; i < 129; i++) right += small_integer(m, i);
                    CHECK(found[m] == right);
                }
                sp_series_unmake(&job, &job.x);
                CHECK(job.x.v.data == NULL);
                spmm_multivector_destroy(&want.v);
                device_release(SPMM_CUDA, sum);
            }
    }
}

int main(void)
{
    const char *why;
    if (sp_device_count(&why) == 0) {
        SKIP("kernels of series on the GPU", why);
        return test_end();
    }
    if (sp_device_open(0) != SPMM_OK) {
        printf("FAIL opening the GPU: %s\n", spmm_error_message());
        return 1;
    }
    test_device(SPMM_CUDA);
    test_operators_of(SPMM_CUDA);
    test_memory(SP_MAPPED_MEMORY, "kernels and the host work in the same mapped memory");
    test_memory(SP_MANAGED_MEMORY, "kernels and the host work in the same managed memory");
    sp_device_close();
    return test_end();
}
