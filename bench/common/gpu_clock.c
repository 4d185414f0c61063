/** Times work in the GPU's stream, for all benches that do so. */
#include "device/device.h"
#include "bench.h"

enum { MOST_CALLS = 2 };

static spmm_status queue(sp_timer *const *timer, const timed_call *calls, int count, void *of, int batch,
                         const char **problem)
{
    for (int i = 0; i < count; i++) {
        TRY(sp_timer_start(timer[i], SP_STREAM_MAIN));
        for (int j = 0; j < batch && !*problem; j++) *problem = calls[i](of);
        TRY(sp_timer_stop(timer[i], SP_STREAM_MAIN));
    }
    return SPMM_OK;
}

const char *gpu_seconds(const timed_call *calls, int count, void *of, int batch, double *seconds)
{
    sp_timer *timer[MOST_CALLS] = {NULL, NULL};
    const char *problem = NULL;
    spmm_status status = SPMM_OK;
    for (int i = 0; i < count && status == SPMM_OK; i++) status = sp_timer_create(&timer[i]);
    if (status == SPMM_OK) status = queue(timer, calls, count, of, batch, &problem);
    for (int i = 0; i < count; i++) {
        seconds[i] = 0;
        if (status == SPMM_OK) status = sp_timer_seconds(timer[i], &seconds[i]);
        seconds[i] /= batch;
        sp_timer_destroy(timer[i]);
    }
    return problem ? problem : failed(status);
}
