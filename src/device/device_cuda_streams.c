/** Streams, launches and timers of the open GPU. */
#include <stdlib.h>

#include "device/device_cuda.h"

/* defined in kernels/cuda_ops/cuda_probe.cu */
int sp_cuda_occupancy(const void *kernel, sp_launch_shape *shape);

struct sp_timer {
    cudaEvent_t start, stop;
};

static cudaStream_t stream_of(sp_stream stream) { return sp_cuda.queue[stream]; }

/* Code for architectures before 9.0 does not contain the instruction by which a kernel waits for the previous
 * one. So its kernels must not start early, even on a newer GPU. */
int sp_device_starts_early(void) { return sp_cuda.code >= 90; }

int sp_device_f32_per_f64(void)
{
    int ratio = 0;
    if (!sp_cuda.open) return 0;
    if (cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, sp_cuda.ordinal) ==
        cudaSuccess)
        return ratio;
    (void)cudaGetLastError();
    return 0;
}

void *sp_device_stream(sp_stream stream) { return sp_cuda_enter() == SPMM_OK ? stream_of(stream) : NULL; }

spmm_status sp_device_take_stream(void *stream)
{
    TRY(sp_cuda_enter());
    if (!sp_cuda.own) sp_cuda.own = sp_cuda.queue[SP_STREAM_MAIN];
    sp_cuda.queue[SP_STREAM_MAIN] = stream;
    return SPMM_OK;
}

spmm_status sp_device_return_stream(void)
{
    cudaStream_t stream = sp_cuda.queue[SP_STREAM_MAIN];
    int captured;
    if (!sp_cuda.own) return SPMM_OK;
    sp_cuda.queue[SP_STREAM_MAIN] = sp_cuda.own;
    sp_cuda.own = NULL;
    TRY(sp_device_captures(stream, &captured));
    if (captured) return SPMM_OK;
    CUDA(cudaEventRecord(sp_cuda.order, stream), "cannot order streams");
    CUDA(cudaStreamWaitEvent(sp_cuda.queue[SP_STREAM_MAIN], sp_cuda.order, 0), "cannot order streams");
    return SPMM_OK;
}

spmm_status sp_device_captures(void *stream, int *captured)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    *captured = 0;
    TRY(sp_cuda_enter());
    CUDA(cudaStreamIsCapturing(stream, &status), "cannot query the capture of a stream");
    *captured = status != cudaStreamCaptureStatusNone;
    return SPMM_OK;
}

spmm_status sp_device_check_stream(void *stream)
{
    int captured;
    TRY(sp_device_captures(stream, &captured));
    if (captured)
        return sp_fail(
            SPMM_ERR_USAGE,
            "the stream is being captured in a CUDA graph, expected a call outside of the capture");
    /* recording an event of the open GPU fails if the stream belongs to another GPU */
    if (cudaEventRecord(sp_cuda.order, stream) == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_USAGE, "the stream does not belong to %s, the GPU that is open", sp_cuda.name);
}

spmm_status sp_stream_wait(sp_stream later, sp_stream earlier)
{
    TRY(sp_cuda_enter());
    if (later == earlier) return SPMM_OK;
    CUDA(cudaEventRecord(sp_cuda.order, stream_of(earlier)), "cannot order streams");
    CUDA(cudaStreamWaitEvent(stream_of(later), sp_cuda.order, 0), "cannot order streams");
    return SPMM_OK;
}

spmm_status sp_stream_sync(sp_stream stream)
{
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaStreamSynchronize(stream_of(stream));
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "waiting");
}

spmm_status sp_stream_done(sp_stream stream, int *done)
{
    *done = 0;
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaStreamQuery(stream_of(stream));
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* this is not an error, but the check of the next launch would report it */
        return SPMM_OK;
    }
    if (error != cudaSuccess) return sp_cuda_wait_fail(error, "waiting");
    *done = 1;
    return SPMM_OK;
}

spmm_status sp_device_launched(const char *kernel)
{
    const cudaError_t error = cudaGetLastError();
    sp_cuda.kernel = kernel;
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "launch");
}

void sp_device_note_launch(const void *kernel, sp_launch_shape shape)
{
    sp_cuda.product = kernel;
    sp_cuda.shape = shape;
}

sp_launch_shape sp_device_last_launch(void)
{
    sp_launch_shape shape = {0};
    int most = 0;
    if (sp_cuda.product && sp_device_is_open()) {
        shape = sp_cuda.shape;
        if (sp_cuda_occupancy(sp_cuda.product, &shape) != cudaSuccess ||
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, sp_cuda.ordinal) !=
                cudaSuccess)
            (void)cudaGetLastError();
        shape.occupancy = most > 0 ? (double)shape.resident * shape.block / most : 0;
    }
    sp_cuda.product = NULL;
    return shape;
}

spmm_status sp_device_sync(void)
{
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaStreamSynchronize(sp_cuda.queue[SP_STREAM_MAIN]);
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "waiting");
}

/* ---- timers ---- */

spmm_status sp_timer_create(sp_timer **timer)
{
    *timer = NULL;
    TRY(sp_cuda_enter());
    sp_timer *t = calloc(1, sizeof *t);
    if (!t) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate a timer");
    cudaError_t error = cudaEventCreate(&t->start);
    if (error == cudaSuccess) error = cudaEventCreate(&t->stop);
    if (error != cudaSuccess) {
        sp_timer_destroy(t);
        return sp_cuda_fail(error, "cannot create an event");
    }
    *timer = t;
    return SPMM_OK;
}

void sp_timer_destroy(sp_timer *timer)
{
    if (!timer) return;
    if (timer->start) (void)cudaEventDestroy(timer->start);
    if (timer->stop) (void)cudaEventDestroy(timer->stop);
    (void)cudaGetLastError();
    free(timer);
}

spmm_status sp_timer_start(sp_timer *timer, sp_stream stream)
{
    TRY(sp_cuda_enter());
    CUDA(cudaEventRecord(timer->start, stream_of(stream)), "cannot start a timer");
    return SPMM_OK;
}

spmm_status sp_timer_stop(sp_timer *timer, sp_stream stream)
{
    TRY(sp_cuda_enter());
    CUDA(cudaEventRecord(timer->stop, stream_of(stream)), "cannot stop a timer");
    return SPMM_OK;
}

spmm_status sp_timer_seconds(sp_timer *timer, double *seconds)
{
    float ms = 0;
    *seconds = 0;
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaEventSynchronize(timer->stop);
    if (error != cudaSuccess) return sp_cuda_wait_fail(error, "timer");
    CUDA(cudaEventElapsedTime(&ms, timer->start, timer->stop), "cannot read a timer");
    *seconds = (double)ms / 1000;
    return SPMM_OK;
}
