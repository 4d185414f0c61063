/** The part of the CUDA runtime that this project uses, on an emulated GPU (../emulated_gpu.cpp). In C it has
 *  the functions that device_cuda.c calls; in C++ also the additions of CUDA C++ to the language: types,
 *  built-in variables and functions, and launches, into which ../nvcc translates <<< >>>. Names and values
 *  are those of the CUDA Toolkit. */
#ifndef SP_EMULATED_CUDA_RUNTIME_H
#define SP_EMULATED_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define CUDART_VERSION 13000

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorPeerAccessUnsupported = 217,
    cudaErrorInvalidPtx = 218,
    cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorNotReady = 600,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureUnjoined = 904
} cudaError_t;

typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_pool *cudaMemPool_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_graph *cudaGraphExec_t;
typedef struct cudaIpcMemHandle {
    char reserved[64];
} cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle {
    char reserved[64];
} cudaIpcEventHandle_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxPitch = 11,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrTextureAlignment = 14,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrKernelExecTimeout = 17,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrMaxTexture1DWidth = 21,
    cudaDevAttrMaxTexture2DWidth = 22,
    cudaDevAttrMaxTexture2DHeight = 23,
    cudaDevAttrMaxTexture3DWidth = 24,
    cudaDevAttrMaxTexture3DHeight = 25,
    cudaDevAttrMaxTexture3DDepth = 26,
    cudaDevAttrMaxTexture2DLayeredWidth = 27,
    cudaDevAttrMaxTexture2DLayeredHeight = 28,
    cudaDevAttrMaxTexture2DLayeredLayers = 29,
    cudaDevAttrSurfaceAlignment = 30,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrEccEnabled = 32,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrMaxTexture1DLayeredWidth = 42,
    cudaDevAttrMaxTexture1DLayeredLayers = 43,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrStreamPrioritiesSupported = 78,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrSingleToDoublePrecisionPerfRatio = 87,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrComputePreemptionSupported = 90,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrCanFlushRemoteWrites = 98,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrMaxPersistingL2CacheSize = 108,
    cudaDevAttrReservedSharedMemoryPerBlock = 111,
    cudaDevAttrMemoryPoolsSupported = 115
};
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
enum { cudaEnableDefault = 0 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum {
    cudaStreamNonBlocking = 1,
    cudaEventDisableTiming = 2,
    cudaEventInterprocess = 4,
    cudaHostAllocDefault = 0,
    cudaMemAttachGlobal = 1,
    cudaIpcMemLazyEnablePeerAccess = 1
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
};
struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount, l2CacheSize;
    size_t totalGlobalMem;
};
struct cudaMemPoolProps {
    enum cudaMemAllocationType allocType;
    struct {
        enum cudaMemLocationType type;
        int id;
    } location;
};

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int n, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaMemGetInfo(size_t *unused, size_t *total);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop);
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFree(void *p);
cudaError_t cudaFreeAsync(void *p, cudaStream_t stream);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t bytes, size_t rows,
                              cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes,
                              size_t rows, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *about, const void *p);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p);
cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *p);

#ifdef __cplusplus
}

#include <math.h>
#include <string.h>
#include <functional>
#include <initializer_list>
#include <tuple>
#include <type_traits>

/* ---- types and built-in variables ---- */

/* the stream of a grid that is launched by a kernel; only the end of the kernel's own grid waits for it */
#define cudaStreamFireAndForget ((cudaStream_t)4)

#define __CUDA_ARCH__ 900
#define __CUDA_ARCH_LIST__ 900
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

extern uint3 threadIdx, blockIdx;
extern dim3 gridDim, blockDim;

/* ---- launches ---- */

namespace emulated {

struct launch {
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
};

/** Calls body(context) in each thread of the grid, block after block. Complete on return. */
void run_grid(const launch &l, void (*body)(void *), void *context);

/** Runs the work at once or, if the stream waits for something, after that; a kernel's launch, after the
 *  kernel's grid. */
void queue(cudaStream_t stream, std::function<void()> work);

/** kernel<<<l>>>(arguments) for a kernel of any type. */
template <class K, class... A> void run(launch l, K kernel, A... arguments)
{
    queue(l.stream, [=]() {
        auto call = [&] { kernel(arguments...); };
        run_grid(
            l, [](void *context) { (*static_cast<decltype(call) *>(context))(); }, &call);
    });
}

/** A launch with arguments that are lists in braces: their types are those of the kernel's parameters. */
template <class... P> struct typed_launch {
    launch l;
    void (*kernel)(P...);
    void operator()(P... arguments) { run(l, kernel, arguments...); }
};
template <class... P> typed_launch<P...> typed(launch l, void (*kernel)(P...)) { return {l, kernel}; }

} // namespace emulated

/** Copies to an object in constant memory, which is a variable here; `from` is read before the call
 *  returns. */
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T &symbol, const void *from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind, cudaStream_t stream)
{
    T *const to = &symbol;
    T staged = {};
    memcpy((char *)&staged + offset, from, bytes);
    emulated::queue(stream, [=] { memcpy((char *)to + offset, (const char *)&staged + offset, bytes); });
    return cudaSuccess;
}

enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...arguments)
{
    emulated::typed({c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream}, kernel)(arguments...);
    return cudaSuccess;
}

namespace emulated {

/** Resources of a multiprocessor, and those that each kernel uses. Shared memory that a kernel declares is
 *  not counted, because it is in static variables. */
enum {
    RESIDENT_THREADS = 2048,
    RESIDENT_BLOCKS = 32,
    REGISTERS = 65536,
    SHARED_BYTES = 228 << 10,
    RESERVED_BYTES = 1 << 10,
    REGISTERS_OF_A_KERNEL = 32
};

} // namespace emulated

struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int ptxVersion, numRegs;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <class K> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, K)
{
    a->sharedSizeBytes = 0;
    a->ptxVersion = 90;
    a->numRegs = emulated::REGISTERS_OF_A_KERNEL;
    return cudaSuccess;
}
template <class K> cudaError_t cudaFuncSetAttribute(K, cudaFuncAttribute, int) { return cudaSuccess; }
template <class K>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int threads, size_t shared)
{
    const int by_threads = emulated::RESIDENT_THREADS / threads;
    const int by_registers = emulated::REGISTERS / (emulated::REGISTERS_OF_A_KERNEL * threads);
    const int by_memory = (int)(emulated::SHARED_BYTES / (shared + emulated::RESERVED_BYTES));
    *blocks = emulated::RESIDENT_BLOCKS;
    for (const int most : {by_threads, by_registers, by_memory})
        if (most < *blocks) *blocks = most;
    return cudaSuccess;
}
template <class K, class F>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *blocks, int *threads, K, F, int most = 0)
{
    *blocks = 8;
    *threads = most > 0 ? most : 256;
    return cudaSuccess;
}

/* ---- threads of a block, lanes of a warp ---- */

namespace emulated {

/** The reduction that __syncthreads_..() does. */
enum reduction { COUNT, OR, AND };

void sync_threads();
int sync_threads(int value, reduction how);
void sync_warp(unsigned mask);
int lane();
/** Returns to each lane of the mask the value of lane `from`, which must be one of them. */
uint64_t exchange(unsigned mask, uint64_t value, int from);
unsigned ballot(unsigned mask, bool value);

template <class T> uint64_t bits_of(T value)
{
    static_assert(sizeof value <= sizeof(uint64_t), "a value that a lane can give another one");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> T value_of(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
/** Returns the value of lane `from`, or this lane's own if `from` is not in its group of `width` lanes. */
template <class T> T shuffle(unsigned mask, T value, int from, int width)
{
    if (from < 0 || from / width != lane() / width) from = lane();
    return value_of<T>(exchange(mask, bits_of(value), from));
}

} // namespace emulated

inline void __syncthreads() { emulated::sync_threads(); }
inline int __syncthreads_count(int value) { return emulated::sync_threads(value != 0, emulated::COUNT); }
inline int __syncthreads_or(int value) { return emulated::sync_threads(value != 0, emulated::OR); }
inline int __syncthreads_and(int value) { return emulated::sync_threads(value != 0, emulated::AND); }
inline void __syncwarp(unsigned mask = ~0u) { emulated::sync_warp(mask); }
inline void __threadfence() {}
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    return emulated::shuffle(mask, value, emulated::lane() / width * width + from % width, width);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32)
{
    return emulated::shuffle(mask, value, emulated::lane() ^ other, width);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    return emulated::shuffle(mask, value, emulated::lane() + (int)by, width);
}
inline unsigned __ballot_sync(unsigned mask, int value) { return emulated::ballot(mask, value != 0); }
inline int __any_sync(unsigned mask, int value) { return emulated::ballot(mask, value != 0) != 0; }
inline unsigned __reduce_or_sync(unsigned mask, unsigned value)
{
    for (int step = 16; step > 0; step /= 2) value |= __shfl_xor_sync(mask, value, step);
    return value;
}
inline int __all_sync(unsigned mask, int value) { return emulated::ballot(mask, value == 0) == 0; }

/* ---- instructions, into which ../nvcc translates PTX ---- */

namespace emulated {

void barrier_init(uint32_t barrier, int arrivals);
void barrier_arrive(uint32_t barrier);
void barrier_expect(uint32_t barrier, uint32_t bytes);
/** Returns 1 if the phase of that parity is complete; else 0, after other threads have run. */
int barrier_try(uint32_t barrier, uint32_t parity);
void bulk_copy(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier);
void bulk_prefetch(const void *from, uint32_t bytes);
void copy(uint32_t to, const void *from, int bytes);
void multiply_m16n8k4(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b);
/** The shared memory of a launch. */
void *dynamic_shared();

} // namespace emulated

/* shared memory is within one block of 4 GB, so that the lower half of an address suffices */
inline size_t __cvta_generic_to_shared(const void *p) { return (size_t)p; }

/* ---- loads, stores, atomics, numbers ---- */

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> void __stcs(T *p, T value) { *p = value; }
inline long long __double_as_longlong(double d)
{
    return emulated::value_of<long long>(emulated::bits_of(d));
}
inline double __longlong_as_double(long long n) { return emulated::value_of<double>(emulated::bits_of(n)); }
inline double __hiloint2double(int high, int low)
{
    return emulated::value_of<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __float_as_uint(float f) { return emulated::value_of<unsigned>(emulated::bits_of(f)); }
inline float __uint_as_float(unsigned u) { return emulated::value_of<float>(emulated::bits_of(u)); }
template <class A, class B> std::common_type_t<A, B> min(A a, B b)
{
    const std::common_type_t<A, B> x = a, y = b;
    return y < x ? y : x;
}
template <class A, class B> std::common_type_t<A, B> max(A a, B b)
{
    const std::common_type_t<A, B> x = a, y = b;
    return x < y ? y : x;
}
template <class T, class F> T emulated_update(T *p, F next)
{
    const T before = *p;
    *p = next(before);
    return before;
}
template <class T, class V> T atomicAdd(T *p, V value)
{
    return emulated_update(p, [=](T old) { return (T)(old + (T)value); });
}
template <class T, class V> T atomicMin(T *p, V value)
{
    return emulated_update(p, [=](T old) { return min(old, (T)value); });
}
template <class T, class V> T atomicMax(T *p, V value)
{
    return emulated_update(p, [=](T old) { return max(old, (T)value); });
}
template <class T, class V> T atomicOr(T *p, V value)
{
    return emulated_update(p, [=](T old) { return old | (T)value; });
}
template <class T, class C, class V> T atomicCAS(T *p, C compare, V value)
{
    return emulated_update(p, [=](T old) { return old == (T)compare ? (T)value : old; });
}

#endif /* __cplusplus */
#endif
