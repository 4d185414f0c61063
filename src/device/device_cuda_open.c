/** Opens and closes the GPU of this process. */
#include <stdio.h>
#include <string.h>

#include "device/device_cuda.h"

/* defined in kernels/cuda_ops/cuda_probe.cu */
int sp_cuda_probe(int *architecture);

/** Checks with the driver whether the code of this build runs on the current GPU.
 *  \param [out] code  architecture of that code, see sp_cuda.code */
static spmm_status check_code(const sp_device_info *info, int *code)
{
    const cudaError_t error = (cudaError_t)sp_cuda_probe(code);
    if (error == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidPtx)
        return sp_fail(SPMM_ERR_NO_DEVICE,
                       "GPU %d (%s): this build has no code for compute capability %d.%d: "
                       "build with GPU_ARCH=%d%d (%s)",
                       info->index, info->name, info->major, info->minor, info->major, info->minor,
                       cudaGetErrorString(error));
    return sp_fail(SPMM_ERR_DEVICE, "GPU %d (%s) cannot be used: %s", info->index, info->name,
                   cudaGetErrorString(error));
}

/** Creates the streams, and the event by which one of them waits for another. SP_STREAM_MOVE gets the higher
 *  priority, because boundary rows wait for the halo exchange. */
static spmm_status create_streams(void)
{
    int least = 0, greatest = 0;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cannot query the priorities of streams");
    for (int q = 0; q < SP_STREAMS; q++)
        CUDA(cudaStreamCreateWithPriority(&sp_cuda.queue[q], cudaStreamNonBlocking,
                                          q == SP_STREAM_MAIN ? least : greatest),
             "cannot create a stream");
    CUDA(cudaEventCreateWithFlags(&sp_cuda.order, cudaEventDisableTiming), "cannot create an event");
    return SPMM_OK;
}

spmm_status sp_device_open(int index)
{
    sp_device_info info = {0};
    int ordinal = 0, code = 0;
    if (sp_cuda.open && sp_cuda.index == index) return sp_cuda_enter();
    if (sp_cuda.open)
        return sp_fail(SPMM_ERR_USAGE, "GPU %d cannot be opened: this process already uses %s", index,
                       sp_cuda.name);
    TRY(sp_cuda_find_gpu(index, &ordinal, &info));
    const cudaError_t error = cudaSetDevice(ordinal);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return sp_fail(SPMM_ERR_DEVICE, "GPU %d (%s) cannot be used: %s", ordinal, info.name,
                       cudaGetErrorString(error));
    }
    TRY(check_code(&info, &code));
    TRY(create_streams());
    snprintf(sp_cuda.name, sizeof sp_cuda.name, "GPU %d (%s)", ordinal, info.name);
    sp_cuda.index = index;
    sp_cuda.ordinal = ordinal;
    sp_cuda.code = code;
    sp_cuda.open = 1;
    sp_cuda_open_pool(ordinal, info.memory_bytes);
    return SPMM_OK;
}

/* Errors while closing are ignored: all work that matters was waited for earlier, and its errors were
 * reported then. */
void sp_device_close(void)
{
    if (!sp_cuda.open) return;
    (void)cudaSetDevice(sp_cuda.ordinal);
    for (int q = 0; q < SP_STREAMS; q++) (void)cudaStreamSynchronize(sp_cuda.queue[q]);
    sp_cuda_free_stages();
    sp_cuda_close_flags();
    sp_cuda_close_pool();
    (void)cudaEventDestroy(sp_cuda.order);
    for (int q = 0; q < SP_STREAMS; q++) (void)cudaStreamDestroy(sp_cuda.queue[q]);
    (void)cudaGetLastError();
    memset(&sp_cuda, 0, sizeof sp_cuda);
}
