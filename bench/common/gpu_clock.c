/** Times work in the GPU's stream. All benches that do so ask here. */
#include "device/device.h"
#include "bench.h"

static spmm_status time_calls_of(sp_timer *timer, const char *(*call)(void *of, double *), void *of,
                                 int batch, const char **problem, double *seconds)
{
    double unused;
    TRY(sp_timer_start(timer));
    for (int i = 0; i < batch && !*problem; i++) *problem = call(of, &unused);
    TRY(sp_timer_stop(timer));
    TRY(sp_timer_seconds(timer, seconds));
    *seconds /= batch;
    return SPMM_OK;
}

const char *gpu_seconds(const char *(*call)(void *of, double *), void *of, int batch, double *seconds)
{
    sp_timer *timer;
    const char *problem = NULL;
    *seconds = 0;
    if (sp_timer_create(&timer) != SPMM_OK) return spmm_error_message();
    const spmm_status status = time_calls_of(timer, call, of, batch, &problem, seconds);
    sp_timer_destroy(timer);
    return problem ? problem : failed(status);
}
