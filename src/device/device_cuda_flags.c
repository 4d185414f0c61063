/** Implements flags of device.h with the stream memory operations of the CUDA driver. The driver's function
 *  is looked up at run time, so that the library is not linked to libcuda.
 *
 *  CUDA guarantees the following (CUDA Driver API, "Stream Memory Operations"). A write comes after all
 *  earlier work of its stream and is preceded by a fence with the scope of __threadfence_system(). So a
 *  reader of the flag also reads the rows written before. A wait ends when (int32_t)(*flag - value) >= 0, a
 *  cyclic comparison. If a GPU may reorder remote writes that have reached it, CUDA reports this
 *  (CanFlushRemoteWrites), and the wait flushes them. */
#include <cuda.h>
#include <stdlib.h>

#include "device/device_cuda.h"

/* VERSION: the first CUDA version in which the operations need no parameter of NVIDIA's kernel module.
 * MOST_OPS: operations per batch; the limit of CUDA is 255. */
enum { VERSION = 12000, MOST_OPS = 128 };

typedef CUresult (*batch_function)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned);

static struct {
    int asked;           /* 1: the members below have been set */
    const char *missing; /* the reason why streams cannot use flags; NULL: they can */
    batch_function batch;
    unsigned wait;      /* option bits of a wait operation */
    cudaStream_t aside; /* the stream of sp_flag_set(), in which no operation waits */
} flags;

static batch_function find_function(void)
{
    void *function = NULL;
#if CUDART_VERSION >= 12050
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &function, VERSION,
                                                               cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) function = NULL;
#elif CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t error = cudaGetDriverEntryPoint("cuStreamBatchMemOp", &function, cudaEnableDefault,
                                                      &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) function = NULL;
#endif
    (void)cudaGetLastError();
    return (batch_function)function;
}

/** Determines flags.wait, the option bits of a wait operation. */
static void ask_for_flush(void)
{
    int device = 0, flushes = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&flushes, cudaDevAttrCanFlushRemoteWrites, device) != cudaSuccess)
        (void)cudaGetLastError();
    flags.wait = CU_STREAM_WAIT_VALUE_GEQ | (flushes ? (unsigned)CU_STREAM_WAIT_VALUE_FLUSH : 0u);
}

static CUresult try_queue(const sp_flag_op *op, int count, cudaStream_t stream)
{
    CUstreamBatchMemOpParams all[MOST_OPS];
    for (int i = 0; i < count; i++) {
        const CUdeviceptr address = (CUdeviceptr)(uintptr_t)op[i].flag;
        all[i] = (CUstreamBatchMemOpParams){.operation = op[i].waits ? CU_STREAM_MEM_OP_WAIT_VALUE_32
                                                                     : CU_STREAM_MEM_OP_WRITE_VALUE_32};
        if (op[i].waits) {
            all[i].waitValue.address = address;
            all[i].waitValue.value = op[i].value;
            all[i].waitValue.flags = flags.wait;
        } else {
            all[i].writeValue.address = address;
            all[i].writeValue.value = op[i].value;
            all[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
        }
    }
    return flags.batch((CUstream)stream, (unsigned)count, all, 0);
}

static spmm_status queue(const sp_flag_op *op, int count, cudaStream_t stream)
{
    /* the driver's error numbers are the same as the runtime's */
    const CUresult error = try_queue(op, count, stream);
    return error == CUDA_SUCCESS ? SPMM_OK
                                 : sp_cuda_fail((cudaError_t)error, "cannot use flags between GPUs");
}

/** Returns 1 if a stream can set a flag and wait for it; virtual machines and containers may forbid it. */
static int try_flag(void)
{
    uint32_t *flag = NULL;
    int works = 0;
    if (cudaMalloc((void **)&flag, sizeof *flag) == cudaSuccess) {
        const sp_flag_op both[] = {{flag, 1, 0}, {flag, 1, 1}};
        works = cudaMemsetAsync(flag, 0, sizeof *flag, flags.aside) == cudaSuccess &&
                try_queue(&both[0], 1, flags.aside) == CUDA_SUCCESS &&
                try_queue(&both[1], 1, flags.aside) == CUDA_SUCCESS &&
                cudaStreamSynchronize(flags.aside) == cudaSuccess;
    }
    (void)cudaFree(flag);
    (void)cudaGetLastError();
    return works;
}

const char *sp_flags_missing(void)
{
    if (!sp_device_is_open()) return "no GPU is open in this process";
    if (flags.asked) return flags.missing;
    flags.asked = 1;
    flags.missing = NULL;
    flags.batch = find_function();
    ask_for_flush();
    if (!flags.batch) {
        flags.missing = "the CUDA driver, or the CUDA Toolkit of this build, lacks stream memory operations";
    } else if (cudaStreamCreateWithFlags(&flags.aside, cudaStreamNonBlocking) != cudaSuccess) {
        (void)cudaGetLastError();
        flags.aside = NULL;
        flags.missing = "no further CUDA stream can be created";
    } else if (!try_flag()) {
        flags.missing = "the driver refuses stream memory operations on this GPU";
    }
    return flags.missing;
}

void sp_cuda_close_flags(void)
{
    if (flags.aside) (void)cudaStreamDestroy(flags.aside);
    flags.aside = NULL;
    flags.asked = 0;
}

static spmm_status check_there(void)
{
    TRY(sp_cuda_enter());
    const char *const missing = sp_flags_missing();
    return missing ? sp_fail(SPMM_ERR_DEVICE, "cannot use flags between GPUs: %s", missing) : SPMM_OK;
}

spmm_status sp_stream_flags(const sp_flag_op *op, int count, sp_stream stream)
{
    TRY(check_there());
    for (; count > 0; op += MOST_OPS, count -= MOST_OPS)
        TRY(queue(op, count < MOST_OPS ? count : MOST_OPS, (cudaStream_t)sp_device_stream(stream)));
    return SPMM_OK;
}

spmm_status sp_flag_set(uint32_t *flag, uint32_t value)
{
    TRY(check_there());
    TRY(queue(&(sp_flag_op){flag, value, 0}, 1, flags.aside));
    const cudaError_t error = cudaStreamSynchronize(flags.aside);
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "waiting");
}
