/** Detects the GPUs of the node and the GPU of this process: device.h with the CUDA runtime. The runtime is
 *  linked statically, so that the program also starts without a driver and sp_device_count() can report the
 *  reason.
 *
 *  A process uses one GPU, with one in-order stream for kernels and copies and one for the exchange of X.
 *  These streams do not synchronize with the legacy default stream, which the library does not use. */
#include "device/device_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { MAX_DEVICES = 64 };

/* defined in kernels/cuda_ops/cuda_probe.cu */
extern const int sp_cuda_architectures[];

struct sp_cuda_device sp_cuda;

spmm_status sp_cuda_fail(cudaError_t error, const char *what)
{
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_DEVICE, "%s: %s: %s", sp_cuda.open ? sp_cuda.name : "GPU", what,
                   cudaGetErrorString(error));
}

spmm_status sp_cuda_wait_fail(cudaError_t error, const char *what)
{
    char text[128];
    if (!sp_cuda.kernel) return sp_cuda_fail(error, what);
    snprintf(text, sizeof text, "kernel %s", sp_cuda.kernel);
    return sp_cuda_fail(error, text);
}

spmm_status sp_cuda_enter(void)
{
    if (sp_cuda.open) {
        CUDA(cudaSetDevice(sp_cuda.ordinal), "cannot make the GPU current");
        return SPMM_OK;
    }
    const char *why;
    if (sp_device_count(&why) == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "%s", why);
    return sp_fail(SPMM_ERR_NO_DEVICE, "no GPU is open in this process: call spmm_device_open() first");
}

/* ---- detection of GPUs ---- */

int sp_device_built(void) { return 1; }

/** Returns 1 if this build has code for a compute capability, else 0. Code for an architecture runs on that
 *  architecture and on later ones (as PTX, or as machine code of the same major version). Only the version
 *  numbers are compared, because loading a kernel would allocate memory on every GPU of the node in every
 *  process. sp_device_open() does load a kernel, on the GPU that it opens. */
static int has_code_for(int major, int minor)
{
    for (const int *a = sp_cuda_architectures; *a; a++)
        if (*a <= major * 100 + minor * 10) return 1;
    return 0;
}

static void explain_no_devices(cudaError_t error, char *why, size_t n)
{
    int driver = 0;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    (void)cudaGetLastError();
    if (driver == 0)
        snprintf(why, n, "no NVIDIA driver");
    else if (error == cudaErrorInsufficientDriver)
        snprintf(why, n, "the NVIDIA driver supports CUDA %d.%d, this build needs %d.%d", driver / 1000,
                 driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else if (error == cudaSuccess || error == cudaErrorNoDevice)
        snprintf(why, n, "no GPU found%s%s%s", visible ? " (CUDA_VISIBLE_DEVICES=" : "",
                 visible ? visible : "", visible ? ")" : "");
    else
        snprintf(why, n, "no GPU can be used: %s", cudaGetErrorString(error));
}

/** Lists the numbers that CUDA gives to the GPUs that this build can use.
 *  \param [out] why  the reason why no GPU was found, or what is wrong with the last GPU that was skipped;
 *                    else ""
 *  \return the number of usable GPUs */
static int usable(int ordinal[MAX_DEVICES], char *why, size_t n)
{
    int visible = 0, count = 0;
    const cudaError_t error = cudaGetDeviceCount(&visible);
    why[0] = '\0';
    if (error != cudaSuccess || visible == 0) {
        explain_no_devices(error, why, n);
        return 0;
    }
    for (int i = 0; i < visible && count < MAX_DEVICES; i++) {
        int major = 0, minor = 0;
        const cudaError_t first = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i);
        const cudaError_t second = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i);
        if (first != cudaSuccess || second != cudaSuccess) {
            (void)cudaGetLastError();
            snprintf(why, n, "GPU %d does not answer: %s", i,
                     cudaGetErrorString(first != cudaSuccess ? first : second));
        } else if (has_code_for(major, minor)) {
            ordinal[count++] = i;
        } else {
            snprintf(why, n, "this build has no code for compute capability %d.%d: build with GPU_ARCH=%d%d",
                     major, minor, major, minor);
        }
    }
    return count;
}

int sp_device_count(const char **why)
{
    static _Thread_local char text[256];
    int ordinal[MAX_DEVICES];
    const int count = usable(ordinal, text, sizeof text);
    if (why) *why = count > 0 ? "" : text;
    return count;
}

static spmm_status device_cuda_find(int index, int *ordinal)
{
    char why[256];
    int all[MAX_DEVICES];
    const int count = usable(all, why, sizeof why);
    if (count == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "%s", why);
    if (index < 0 || index >= count)
        return sp_fail(SPMM_ERR_NO_DEVICE,
                       "GPU %d does not exist: expected 0 to %d, the GPUs that this process can use", index,
                       count - 1);
    *ordinal = all[index];
    return SPMM_OK;
}

static spmm_status describe(int ordinal, sp_device_info *info)
{
    struct cudaDeviceProp p;
    CUDA(cudaGetDeviceProperties(&p, ordinal), "cannot query the properties of the GPU");
    snprintf(info->name, sizeof info->name, "%.127s", p.name);
    CUDA(cudaDeviceGetPCIBusId(info->pci, sizeof info->pci, ordinal), "cannot query the bus id of the GPU");
    info->index = ordinal;
    info->major = p.major;
    info->minor = p.minor;
    info->multiprocessors = p.multiProcessorCount;
    info->memory_bytes = (int64_t)p.totalGlobalMem;
    info->l2_bytes = p.l2CacheSize;
    return SPMM_OK;
}

static int64_t free_memory(void)
{
    size_t unused = 0, total = 0;
    if (cudaMemGetInfo(&unused, &total) == cudaSuccess) return (int64_t)unused;
    (void)cudaGetLastError();
    return 0;
}

spmm_status sp_cuda_find_gpu(int index, int *ordinal, sp_device_info *info)
{
    TRY(device_cuda_find(index, ordinal));
    return describe(*ordinal, info);
}

spmm_status sp_device_describe(int index, sp_device_info *info)
{
    int ordinal = 0;
    memset(info, 0, sizeof *info);
    TRY(sp_cuda_find_gpu(index, &ordinal, info));
    if (sp_cuda.open && sp_cuda.ordinal == ordinal) {
        TRY(sp_cuda_enter());
        info->free_bytes = free_memory();
    }
    return SPMM_OK;
}

spmm_status sp_device_current(sp_device_info *info)
{
    memset(info, 0, sizeof *info);
    TRY(sp_cuda_enter());
    return sp_device_describe(sp_cuda.index, info);
}

int sp_device_is_open(void)
{
    if (sp_cuda.open) (void)cudaSetDevice(sp_cuda.ordinal);
    return sp_cuda.open;
}

spmm_status sp_cuda_no_memory(int64_t bytes, const char *what)
{
    char size[32], left[32];
    (void)cudaGetLastError();
    /* sp_cuda.name ends in ")": the free memory is inserted before that */
    return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s on %.*s, %s free) for %s",
                   sp_bytes_text(size, sizeof size, (double)bytes), (int)strlen(sp_cuda.name) - 1,
                   sp_cuda.name, sp_bytes_text(left, sizeof left, (double)free_memory()), what);
}

void sp_cuda_free(void *p)
{
    (void)cudaDeviceSynchronize(); /* cudaFree() does not synchronize if the memory is from a pool */
    (void)cudaFree(p);
    (void)cudaGetLastError();
}
