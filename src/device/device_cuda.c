/** Implements device.h with the CUDA runtime. The runtime is linked statically, so that the program also
 *  starts without a driver and sp_device_count() can tell what is missing.
 *
 *  A process uses one GPU, with one in-order stream for kernels and copies and one for the exchange of X.
 *  These streams do not synchronize with the legacy default stream, which nothing here uses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "device/device_cuda.h"

enum { MAX_DEVICES = 64, PIECE = 16 << 20, STAGE_FROM = 4 << 20, STAGES = 2 };

/* defined in kernels/cuda/cuda_probe.cu */
extern const int sp_cuda_architectures[];
int sp_cuda_probe(int *architecture);
int sp_cuda_occupancy(const void *kernel, sp_launch_shape *shape);

static struct {
    int open;
    int index;      /* number of the open GPU among the usable ones */
    int ordinal;    /* number that CUDA gives the open GPU */
    int code;       /* architecture of the code that the open GPU runs, compute capability x 10 */
    char name[160]; /* for messages, e.g. "GPU 0 (NVIDIA H200)" */
    cudaStream_t queue[SP_STREAMS];
    cudaStream_t own;      /* SP_STREAM_MAIN, while queue[SP_STREAM_MAIN] is the caller's; else NULL */
    cudaEvent_t order;     /* event that sp_stream_wait() uses */
    const char *kernel;    /* name of the kernel launched last */
    const void *product;   /* function of the product's kernel launched last; NULL: asked for since */
    sp_launch_shape shape; /* of that launch, as far as it was noted */
    void *stage[STAGES];   /* pinned staging buffers of PIECE bytes, allocated when they are first needed */
    cudaEvent_t staged[STAGES];
    int stage_failed;
} device;

struct sp_timer {
    cudaEvent_t start, stop;
};

spmm_status sp_cuda_fail(cudaError_t error, const char *what)
{
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_DEVICE, "%s: %s: %s", device.open ? device.name : "GPU", what,
                   cudaGetErrorString(error));
}

spmm_status sp_cuda_wait_fail(cudaError_t error, const char *what)
{
    char text[128];
    if (!device.kernel) return sp_cuda_fail(error, what);
    snprintf(text, sizeof text, "kernel %s", device.kernel);
    return sp_cuda_fail(error, text);
}

spmm_status sp_cuda_enter(void)
{
    if (device.open) {
        CUDA(cudaSetDevice(device.ordinal), "cannot make it current");
        return SPMM_OK;
    }
    const char *why;
    if (sp_device_count(&why) == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "%s", why);
    return sp_fail(SPMM_ERR_NO_DEVICE, "no GPU has been opened in this process yet");
}

/* ---- which GPUs there are ---- */

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

static spmm_status find(int index, int *ordinal)
{
    char why[256];
    int all[MAX_DEVICES];
    const int count = usable(all, why, sizeof why);
    if (count == 0) return sp_fail(SPMM_ERR_NO_DEVICE, "%s", why);
    if (index < 0 || index >= count)
        return sp_fail(SPMM_ERR_NO_DEVICE, "there is no GPU %d: this process can use %d of them, from 0",
                       index, count);
    *ordinal = all[index];
    return SPMM_OK;
}

static spmm_status describe(int ordinal, sp_device_info *info)
{
    struct cudaDeviceProp p;
    CUDA(cudaGetDeviceProperties(&p, ordinal), "cannot ask for its properties");
    snprintf(info->name, sizeof info->name, "%.127s", p.name);
    CUDA(cudaDeviceGetPCIBusId(info->pci, sizeof info->pci, ordinal), "cannot ask for its bus id");
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

spmm_status sp_device_describe(int index, sp_device_info *info)
{
    int ordinal = 0;
    memset(info, 0, sizeof *info);
    TRY(find(index, &ordinal));
    TRY(describe(ordinal, info));
    if (device.open && device.ordinal == ordinal) {
        TRY(sp_cuda_enter());
        info->free_bytes = free_memory();
    }
    return SPMM_OK;
}

spmm_status sp_device_current(sp_device_info *info)
{
    memset(info, 0, sizeof *info);
    TRY(sp_cuda_enter());
    return sp_device_describe(device.index, info);
}

/* ---- opening ---- */

/** Asks the driver whether the code of this build runs on the current GPU. */
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

/** Creates the streams. SP_STREAM_MOVE gets the higher priority, because boundary rows wait for the halo
 *  exchange. */
static spmm_status create_streams(void)
{
    int least = 0, greatest = 0;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cannot ask for priorities");
    for (int q = 0; q < SP_STREAMS; q++)
        CUDA(cudaStreamCreateWithPriority(&device.queue[q], cudaStreamNonBlocking,
                                          q == SP_STREAM_MAIN ? least : greatest),
             "cannot create a stream");
    CUDA(cudaEventCreateWithFlags(&device.order, cudaEventDisableTiming), "cannot create an event");
    return SPMM_OK;
}

spmm_status sp_device_open(int index)
{
    sp_device_info info = {0};
    int ordinal = 0, code = 0;
    if (device.open && device.index == index) return sp_cuda_enter();
    if (device.open)
        return sp_fail(SPMM_ERR_USAGE, "GPU %d cannot be opened: %s is this process's", index, device.name);
    TRY(find(index, &ordinal));
    TRY(describe(ordinal, &info));
    const cudaError_t error = cudaSetDevice(ordinal);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return sp_fail(SPMM_ERR_DEVICE, "GPU %d (%s) cannot be used: %s", ordinal, info.name,
                       cudaGetErrorString(error));
    }
    TRY(check_code(&info, &code));
    TRY(create_streams());
    snprintf(device.name, sizeof device.name, "GPU %d (%s)", ordinal, info.name);
    device.index = index;
    device.ordinal = ordinal;
    device.code = code;
    device.open = 1;
    sp_cuda_open_pool(ordinal, info.memory_bytes);
    return SPMM_OK;
}

static void free_stages(void)
{
    for (int i = 0; i < STAGES; i++) {
        if (device.staged[i]) (void)cudaEventDestroy(device.staged[i]);
        if (device.stage[i]) (void)cudaFreeHost(device.stage[i]);
        device.staged[i] = NULL;
        device.stage[i] = NULL;
    }
    (void)cudaGetLastError();
}

/* Errors while closing are ignored: all work that matters was waited for earlier, and its errors were
 * reported then. */
void sp_device_close(void)
{
    if (!device.open) return;
    (void)cudaSetDevice(device.ordinal);
    for (int q = 0; q < SP_STREAMS; q++) (void)cudaStreamSynchronize(device.queue[q]);
    free_stages();
    sp_cuda_close_flags();
    sp_cuda_close_pool();
    (void)cudaEventDestroy(device.order);
    for (int q = 0; q < SP_STREAMS; q++) (void)cudaStreamDestroy(device.queue[q]);
    (void)cudaGetLastError();
    memset(&device, 0, sizeof device);
}

static cudaStream_t stream_of(sp_stream stream) { return device.queue[stream]; }

/* Code for older architectures has no instruction that waits for the previous kernel, even if a new GPU runs
 * it. */
int sp_device_starts_early(void) { return device.code >= 90; }

int sp_device_f32_per_f64(void)
{
    int ratio = 0;
    if (!device.open) return 0;
    if (cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, device.ordinal) ==
        cudaSuccess)
        return ratio;
    (void)cudaGetLastError();
    return 0;
}

void *sp_device_stream(sp_stream stream) { return sp_cuda_enter() == SPMM_OK ? stream_of(stream) : NULL; }

spmm_status sp_device_take_stream(void *stream)
{
    TRY(sp_cuda_enter());
    if (!device.own) device.own = device.queue[SP_STREAM_MAIN];
    device.queue[SP_STREAM_MAIN] = stream;
    return SPMM_OK;
}

spmm_status sp_device_return_stream(void)
{
    cudaStream_t stream = device.queue[SP_STREAM_MAIN];
    int captured;
    if (!device.own) return SPMM_OK;
    device.queue[SP_STREAM_MAIN] = device.own;
    device.own = NULL;
    TRY(sp_device_captures(stream, &captured));
    if (captured) return SPMM_OK;
    CUDA(cudaEventRecord(device.order, stream), "ordering streams");
    CUDA(cudaStreamWaitEvent(device.queue[SP_STREAM_MAIN], device.order, 0), "ordering streams");
    return SPMM_OK;
}

spmm_status sp_device_captures(void *stream, int *captured)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    *captured = 0;
    TRY(sp_cuda_enter());
    CUDA(cudaStreamIsCapturing(stream, &status), "asking whether a stream is captured");
    *captured = status != cudaStreamCaptureStatusNone;
    return SPMM_OK;
}

spmm_status sp_device_check_stream(void *stream)
{
    int captured;
    TRY(sp_device_captures(stream, &captured));
    if (captured) return sp_fail(SPMM_ERR_USAGE, "the stream is being captured in a CUDA graph");
    /* events and streams of different GPUs do not go together */
    if (cudaEventRecord(device.order, stream) == cudaSuccess) return SPMM_OK;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_USAGE, "the stream is not one of %s", device.name);
}

spmm_status sp_stream_wait(sp_stream later, sp_stream earlier)
{
    TRY(sp_cuda_enter());
    if (later == earlier) return SPMM_OK;
    CUDA(cudaEventRecord(device.order, stream_of(earlier)), "ordering streams");
    CUDA(cudaStreamWaitEvent(stream_of(later), device.order, 0), "ordering streams");
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
        (void)cudaGetLastError(); /* it is no error, but would look like one of the next launch */
        return SPMM_OK;
    }
    if (error != cudaSuccess) return sp_cuda_wait_fail(error, "waiting");
    *done = 1;
    return SPMM_OK;
}

spmm_status sp_device_launched(const char *kernel)
{
    const cudaError_t error = cudaGetLastError();
    device.kernel = kernel;
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "launch");
}

void sp_device_note_launch(const void *kernel, sp_launch_shape shape)
{
    device.product = kernel;
    device.shape = shape;
}

sp_launch_shape sp_device_last_launch(void)
{
    sp_launch_shape shape = {0};
    int most = 0;
    if (device.product && sp_cuda_is_open()) {
        shape = device.shape;
        if (sp_cuda_occupancy(device.product, &shape) != cudaSuccess ||
            cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, device.ordinal) !=
                cudaSuccess)
            (void)cudaGetLastError();
        shape.occupancy = most > 0 ? (double)shape.resident * shape.block / most : 0;
    }
    device.product = NULL;
    return shape;
}

spmm_status sp_device_sync(void)
{
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaStreamSynchronize(device.queue[SP_STREAM_MAIN]);
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "waiting");
}

/* ---- memory ---- */

int sp_cuda_is_open(void)
{
    if (device.open) (void)cudaSetDevice(device.ordinal);
    return device.open;
}

spmm_status sp_cuda_no_memory(int64_t bytes, const char *what)
{
    char size[32], left[32];
    (void)cudaGetLastError();
    /* device.name ends in ")": the free memory is inserted before that */
    return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s on %.*s, %s free) for %s",
                   sp_bytes_text(size, sizeof size, (double)bytes), (int)strlen(device.name) - 1, device.name,
                   sp_bytes_text(left, sizeof left, (double)free_memory()), what);
}

spmm_status sp_device_zero(void *p, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes > 0) CUDA(cudaMemsetAsync(p, 0, (size_t)bytes, device.queue[SP_STREAM_MAIN]), "zeroing memory");
    return SPMM_OK;
}

spmm_status sp_device_zero_2d(void *p, int64_t pitch, int64_t bytes, int64_t rows)
{
    TRY(sp_cuda_enter());
    if (bytes > 0 && rows > 0)
        CUDA(
            cudaMemset2DAsync(p, (size_t)pitch, 0, (size_t)bytes, (size_t)rows, device.queue[SP_STREAM_MAIN]),
            "zeroing rows");
    return SPMM_OK;
}

spmm_status sp_device_nan(void *p, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes > 0)
        CUDA(cudaMemsetAsync(p, 0xff, (size_t)bytes, device.queue[SP_STREAM_MAIN]),
             "filling memory with NaNs");
    return SPMM_OK;
}

/* ---- copies ---- */

/** Allocates the pinned staging buffers for large copies if that has not been done yet. Without them, the
 *  driver copies pageable memory through buffers of its own with one thread, at a fifth of the speed of the
 *  link.
 *  \return 1 if the buffers exist, 0 if they cannot be allocated: then the driver copies */
static int have_stages(void)
{
    if (device.stage[0]) return 1;
    if (device.stage_failed) return 0;
    for (int i = 0; i < STAGES && !device.stage_failed; i++)
        device.stage_failed = cudaHostAlloc(&device.stage[i], PIECE, cudaHostAllocDefault) != cudaSuccess ||
                              cudaEventCreateWithFlags(&device.staged[i], cudaEventDisableTiming) !=
                                  cudaSuccess;
    if (device.stage_failed) free_stages();
    return !device.stage_failed;
}

/** Works like memcpy(), with all OpenMP threads of the process. */
static void copy_by_threads(char *to, const char *from, int64_t bytes)
{
    enum { PART = 1 << 20 };
    const int64_t parts = (bytes + PART - 1) / PART;
#pragma omp parallel for schedule(static) num_threads(sp_threads_default())
    for (int64_t i = 0; i < parts; i++) {
        const int64_t left = bytes - i * PART;
        memcpy(to + i * PART, from + i * PART, (size_t)(left < PART ? left : PART));
    }
}

static int64_t piece_bytes(int64_t bytes, int64_t i)
{
    const int64_t left = bytes - i * PIECE;
    return left < PIECE ? left : PIECE;
}

/** Uploads in chunks: while the host fills one staging buffer, the other one is copied to the GPU. */
static cudaError_t staged_upload(char *to, const char *from, int64_t bytes)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
    cudaError_t error = cudaSuccess;
    for (int64_t i = 0; i < pieces && error == cudaSuccess; i++) {
        const int s = (int)(i % STAGES);
        const int64_t n = piece_bytes(bytes, i);
        if (i >= STAGES && (error = cudaEventSynchronize(device.staged[s])) != cudaSuccess) break;
        copy_by_threads(device.stage[s], from + i * PIECE, n);
        error = cudaMemcpyAsync(to + i * PIECE, device.stage[s], (size_t)n, cudaMemcpyHostToDevice,
                                device.queue[SP_STREAM_MAIN]);
        if (error == cudaSuccess) error = cudaEventRecord(device.staged[s], device.queue[SP_STREAM_MAIN]);
    }
    return error;
}

/** Downloads in chunks: while chunk i is copied from the GPU, the host empties the staging buffer of chunk i
 *  - 1. */
static cudaError_t staged_download(char *to, const char *from, int64_t bytes)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
    cudaError_t error = cudaSuccess;
    for (int64_t i = 0; i <= pieces && error == cudaSuccess; i++) {
        if (i < pieces) {
            const int s = (int)(i % STAGES);
            error = cudaMemcpyAsync(device.stage[s], from + i * PIECE, (size_t)piece_bytes(bytes, i),
                                    cudaMemcpyDeviceToHost, device.queue[SP_STREAM_MAIN]);
            if (error == cudaSuccess) error = cudaEventRecord(device.staged[s], device.queue[SP_STREAM_MAIN]);
        }
        if (i > 0 && error == cudaSuccess) {
            const int s = (int)((i - 1) % STAGES);
            error = cudaEventSynchronize(device.staged[s]);
            if (error == cudaSuccess)
                copy_by_threads(to + (i - 1) * PIECE, device.stage[s], piece_bytes(bytes, i - 1));
        }
    }
    return error;
}

/** Waits for a copy to finish. Does so even if `error` says that it failed: the staging buffers must be idle
 *  before the next copy. */
static spmm_status finish(cudaError_t error, const char *what)
{
    const cudaError_t waited = cudaStreamSynchronize(device.queue[SP_STREAM_MAIN]);
    if (error != cudaSuccess) return sp_cuda_fail(error, what);
    return waited == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(waited, what);
}

spmm_status sp_device_upload(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    if (bytes >= STAGE_FROM && have_stages()) return finish(staged_upload(to, from, bytes), "upload");
    return finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, device.queue[SP_STREAM_MAIN]),
        "upload");
}

spmm_status sp_device_download(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    if (bytes >= STAGE_FROM && have_stages()) return finish(staged_download(to, from, bytes), "download");
    return finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, device.queue[SP_STREAM_MAIN]),
        "download");
}

sp_reach sp_device_reach(const void *p)
{
    struct cudaPointerAttributes about;
    int pageable = 0; /* 1: the GPU can access all host memory, pageable memory included */
    if (!device.open) return SP_REACH_ANY;
    if (cudaPointerGetAttributes(&about, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return SP_REACH_ANY;
    }
    if (about.type == cudaMemoryTypeDevice) return SP_REACH_GPU;
    if (about.type != cudaMemoryTypeUnregistered) return SP_REACH_ANY;
    if (cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, device.ordinal) != cudaSuccess)
        (void)cudaGetLastError();
    return pageable ? SP_REACH_ANY : SP_REACH_HOST;
}

spmm_status sp_device_copy(void *to, const void *from, int64_t bytes)
{
    TRY(sp_cuda_enter());
    if (bytes <= 0) return SPMM_OK;
    return finish(
        cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, device.queue[SP_STREAM_MAIN]),
        "copy");
}

spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind)
{
    static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                                cudaMemcpyDeviceToDevice};
    if (kind < 0 || kind > 2) return sp_fail(SPMM_ERR_INTERNAL, "copy_2d: kind %d", kind);
    TRY(sp_cuda_enter());
    if (bytes <= 0 || rows <= 0) return SPMM_OK;
    return finish(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)bytes,
                                    (size_t)rows, kinds[kind], device.queue[SP_STREAM_MAIN]),
                  "copy of rows");
}

spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream)
{
    TRY(sp_cuda_enter());
    if (bytes > 0)
        CUDA(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream_of(stream)), "copy");
    return SPMM_OK;
}

spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream)
{
    /* contiguous rows are copied as a whole: row by row, the copy engines move rows of 256 bytes at two
     * thirds of the speed */
    if (to_pitch == bytes && from_pitch == bytes) return sp_stream_copy(to, from, bytes * rows, stream);
    TRY(sp_cuda_enter());
    if (bytes > 0 && rows > 0)
        CUDA(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)bytes, (size_t)rows,
                               cudaMemcpyDefault, stream_of(stream)),
             "copy of rows");
    return SPMM_OK;
}

spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what)
{
    char size[32];
    *p = NULL;
    if (bytes < 0) return sp_fail(SPMM_ERR_LIMIT, "%s: %lld bytes", what, (long long)bytes);
    TRY(sp_cuda_enter());
    if (cudaHostAlloc(p, bytes > 0 ? (size_t)bytes : 1, cudaHostAllocDefault) == cudaSuccess) return SPMM_OK;
    *p = NULL;
    (void)cudaGetLastError();
    return sp_fail(SPMM_ERR_MEMORY, "cannot allocate %s of pinned host memory for %s",
                   sp_bytes_text(size, sizeof size, (double)bytes), what);
}

void sp_device_host_free(void *p)
{
    if (!p || !device.open) return;
    (void)cudaFreeHost(p);
    (void)cudaGetLastError();
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
    CUDA(cudaEventRecord(timer->start, stream_of(stream)), "starting a timer");
    return SPMM_OK;
}

spmm_status sp_timer_stop(sp_timer *timer, sp_stream stream)
{
    TRY(sp_cuda_enter());
    CUDA(cudaEventRecord(timer->stop, stream_of(stream)), "stopping a timer");
    return SPMM_OK;
}

spmm_status sp_timer_seconds(sp_timer *timer, double *seconds)
{
    float ms = 0;
    *seconds = 0;
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaEventSynchronize(timer->stop);
    if (error != cudaSuccess) return sp_cuda_wait_fail(error, "timer");
    CUDA(cudaEventElapsedTime(&ms, timer->start, timer->stop), "reading a timer");
    *seconds = (double)ms / 1000;
    return SPMM_OK;
}
