/** Emulates a GPU of compute capability 9.0 on the CPU, for tests of the CUDA code on machines without a GPU:
 *  the CUDA runtime's functions, and launches. It tests whether kernels compute the right results and whether
 *  their threads synchronize; it does not test speed, races between threads, or nvcc's translation.
 *
 *  One thread of the process does everything, immediately: a launch is complete when it returns, blocks run
 *  one after another, and the threads of a block are coroutines with separate stacks, each of which runs
 *  until it must wait. A stream has a queue only while it waits for another process to record an event or to
 *  set a flag; the queues are processed when the host queries a stream or waits. Processes share memory and
 *  events as with CUDA IPC: each emulates EMULATED_GPUS GPUs (default 1), and GPUs of the same number count
 *  as the same one. EMULATED_NO_MEMOPS: the driver has no stream memory operations; EMULATED_NO_ATTACH: other
 *  processes' memory cannot be attached. GPU memory is host memory, filled with a pattern, because nothing
 *  may depend on its initial contents; after each allocation there is a margin, which cudaFree() checks. */
#include <cuda.h>
#include <cuda_runtime.h>

#include <fcntl.h>
#include <fenv.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 gridDim, blockDim;

namespace {

enum { WARP = 32, MOST_THREADS = 1024, STACK = 64 << 10, SHARED = 227 << 10, PATTERN = 0xa5, MARGIN = 256 };
enum {
    SHARED_FROM = 2 << 20 /* bytes from which on an allocation can be shared: CUDA packs smaller ones */
};
constexpr size_t MEMORY = (size_t)16 << 30;

alignas(1024) unsigned char shared_memory[SHARED];

[[noreturn]] void stop(const char *why)
{
    fprintf(stderr, "emulated GPU: %s (block %u, thread %u)\n", why, blockIdx.x, threadIdx.x);
    abort();
}

/* ---- the threads of a block ---- */

struct thread {
    void *stack_pointer;
    char *stack;
    uint3 index;
    bool done;
};

/** A barrier of a warp: `generation` counts how often it has been passed. */
struct warp {
    unsigned alive, waiting, mask;
    unsigned generation;
    /* by the parity of the generation, because some lanes may reach the next barrier while others still read:
     * which lanes have arrived, and the values that they exchange */
    unsigned came[2];
    uint64_t value[2][WARP];
    double matrix[2][WARP][3];
};

thread threads[MOST_THREADS];
warp warps[MOST_THREADS / WARP];
int running;           /* index of the running thread */
void *scheduler_stack; /* stack pointer of run_block() */
struct {
    int alive, waiting;
    unsigned generation;
    int count[2], any[2], all[2]; /* of the values of __syncthreads_..(), by the parity of the generation */
} block;
unsigned long events; /* number of arrivals, ends and copies: if it does not grow, the block hangs */
bool in_kernel;
std::vector<std::function<void()>>
    launched_by_kernel; /* grids that threads of the running grid have launched */
void (*thread_body)(void *);
void *thread_context;

} // namespace

/* Saves the callee-saved registers on this stack, and switches to another stack. */
extern "C" void emulated_switch(void **save, void *to);
#ifdef __x86_64__
asm(R"(
.text
.globl emulated_switch
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#else
#error "emulated_switch() is written for x86-64 only"
#endif

namespace {

/** Lets the other threads run first. */
void yield() { emulated_switch(&threads[running].stack_pointer, scheduler_stack); }

warp &my_warp() { return warps[running / WARP]; }

void pass_if_complete(warp &w)
{
    if (!w.waiting || (w.waiting & w.alive) != (w.mask & w.alive)) return;
    w.came[w.generation % 2] = w.waiting;
    w.waiting = 0;
    w.generation++;
    events++;
}

void pass_block_if_complete()
{
    if (block.alive == 0 || block.waiting < block.alive) return;
    block.waiting = 0;
    block.generation++;
    events++;
}

void thread_main()
{
    thread_body(thread_context);
    threads[running].done = true;
    events++;
    my_warp().alive &= ~(1u << running % WARP);
    block.alive--;
    pass_if_complete(my_warp());
    pass_block_if_complete();
    yield();
    stop("a thread runs after its end");
}

void start_thread(int i)
{
    enum { SAVED = 6 };
    thread &t = threads[i];
    if (!t.stack) {
        t.stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (t.stack == MAP_FAILED) stop("no memory for a thread's stack");
    }
    t.index = {(unsigned)i % blockDim.x, (unsigned)i / blockDim.x % blockDim.y,
               (unsigned)i / blockDim.x / blockDim.y};
    t.done = false;
    void **top = (void **)(t.stack + STACK - 64);
    *--top =
        nullptr; /* the address to which thread_main() would return; the stack is aligned as after a call */
    *--top = (void *)thread_main;
    for (int r = 0; r < SAVED; r++) *--top = nullptr;
    t.stack_pointer = top;
}

void run_block(int count)
{
    enum { PATIENCE = 1000 };
    block.alive = count;
    block.waiting = 0;
    for (int i = 0; i < (count + WARP - 1) / WARP; i++) {
        const int lanes = count - i * WARP;
        warps[i].alive = lanes >= WARP ? ~0u : (1u << lanes) - 1;
        warps[i].waiting = 0;
    }
    for (int i = 0; i < count; i++) start_thread(i);
    unsigned long before = events;
    for (int left = count, idle = 0; left > 0;) {
        for (running = 0; running < count; running++) {
            if (threads[running].done) continue;
            threadIdx = threads[running].index;
            emulated_switch(&scheduler_stack, threads[running].stack_pointer);
            left -= threads[running].done;
        }
        idle = events == before ? idle + 1 : 0;
        before = events;
        if (idle > PATIENCE) stop("all threads wait");
    }
}

unsigned char *shared_at(uint32_t address)
{
    const uintptr_t above = (uintptr_t)shared_memory & ~(uintptr_t)UINT32_MAX;
    return (unsigned char *)(above | address);
}

/** An mbarrier (PTX ISA, "mbarrier"). */
struct barrier {
    uint16_t expected, pending; /* arrivals */
    int32_t bytes : 31;         /* that have not arrived yet */
    uint32_t phase : 1;
};
static_assert(sizeof(barrier) == 8, "as large as an mbarrier");

barrier &barrier_at(uint32_t address) { return *(barrier *)shared_at(address); }

void complete(barrier &b)
{
    if (b.pending > 0 || b.bytes != 0) return;
    b.phase ^= 1u;
    b.pending = b.expected;
    events++;
}

} // namespace

namespace emulated {

void run_grid(const launch &l, void (*body)(void *), void *context)
{
    gridDim = l.grid;
    blockDim = l.block;
    const uint64_t count = (uint64_t)l.block.x * l.block.y * l.block.z;
    if (count == 0 || count > MOST_THREADS || l.grid.x == 0 || l.shared > SHARED)
        stop("no such launch is possible");
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV); /* a GPU has no other environment */
    thread_body = body;
    thread_context = context;
    memset(shared_memory, PATTERN, l.shared);
    in_kernel = true;
    for (blockIdx.z = 0; blockIdx.z < l.grid.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < l.grid.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < l.grid.x; blockIdx.x++) run_block((int)count);
    in_kernel = false;
    fesetenv(&callers);
    std::vector<std::function<void()>> launched;
    launched.swap(launched_by_kernel);
    for (const auto &work : launched) work();
}

int lane() { return running % WARP; }

void sync_threads()
{
    const unsigned now = block.generation;
    block.waiting++;
    events++;
    pass_block_if_complete();
    while (block.generation == now) yield();
}

int sync_threads(int value, reduction how)
{
    const unsigned now = block.generation % 2;
    if (block.waiting == 0) {
        block.count[now] = block.any[now] = 0;
        block.all[now] = 1;
    }
    block.count[now] += value;
    block.any[now] |= value;
    block.all[now] &= value;
    sync_threads();
    return how == COUNT ? block.count[now] : how == OR ? block.any[now] : block.all[now];
}

void sync_warp(unsigned mask)
{
    warp &w = my_warp();
    const unsigned now = w.generation;
    if (!(mask >> lane() & 1)) stop("a lane is not in the mask that it gives");
    if (w.waiting && w.mask != mask) stop("lanes of a warp wait with different masks");
    w.mask = mask;
    w.waiting |= 1u << lane();
    events++;
    pass_if_complete(w);
    while (w.generation == now) yield();
}

uint64_t exchange(unsigned mask, uint64_t value, int from)
{
    warp &w = my_warp();
    const unsigned now = w.generation % 2;
    w.value[now][lane()] = value;
    sync_warp(mask);
    if (!(w.came[now] >> from & 1)) stop("a lane asks one that does not answer");
    return w.value[now][from];
}

unsigned ballot(unsigned mask, bool value)
{
    warp &w = my_warp();
    const unsigned now = w.generation % 2;
    w.value[now][lane()] = value;
    sync_warp(mask);
    unsigned result = 0;
    for (int l = 0; l < WARP; l++)
        if (w.came[now] >> l & 1 && w.value[now][l]) result |= 1u << l;
    return result;
}

void barrier_init(uint32_t address, int arrivals)
{
    barrier_at(address) = {(uint16_t)arrivals, (uint16_t)arrivals, 0, 0};
}

void barrier_arrive(uint32_t address)
{
    barrier &b = barrier_at(address);
    if (b.pending == 0) stop("more arrivals at a barrier than it expects");
    b.pending--;
    events++;
    complete(b);
}

void barrier_expect(uint32_t address, uint32_t bytes)
{
    barrier_at(address).bytes += (int32_t)bytes;
    barrier_arrive(address);
}

int barrier_try(uint32_t address, uint32_t parity)
{
    if (barrier_at(address).phase != parity) return 1;
    yield();
    return 0;
}

void bulk_copy(uint32_t to, const void *from, uint32_t bytes, uint32_t address)
{
    unsigned char *const p = shared_at(to);
    if ((to | (uintptr_t)from | bytes) % 16 != 0) stop("a bulk copy is not of multiples of 16 bytes");
    if (p < shared_memory || p + bytes > shared_memory + SHARED) stop("a bulk copy leaves the shared memory");
    memcpy(p, from, bytes);
    barrier_at(address).bytes -= (int32_t)bytes;
    events++;
    complete(barrier_at(address));
}

void bulk_prefetch(const void *from, uint32_t bytes)
{
    if (((uintptr_t)from | bytes) % 16 != 0) stop("a bulk prefetch is not of multiples of 16 bytes");
}

void copy(uint32_t to, const void *from, int bytes) { memcpy(shared_at(to), from, (size_t)bytes); }

/* The distribution over the lanes is as in cuda_panels.cuh; the four products are added in order, and each
 * sum is rounded. */
void multiply_m16n8k4(double &c0, double &c1, double &c2, double &c3, double a0, double a1, double b)
{
    warp &w = my_warp();
    const int l = lane();
    double(*const of)[3] = w.matrix[w.generation % 2];
    of[l][0] = a0;
    of[l][1] = a1;
    of[l][2] = b;
    sync_warp(~0u);
    double *const c[2][2] = {{&c0, &c1}, {&c2, &c3}};
    for (int k = 0; k < 4; k++)
        for (int half = 0; half < 2; half++)
            for (int i = 0; i < 2; i++)
                *c[half][i] = fma(of[l / 4 * 4 + k][half], of[(l % 4 * 2 + i) * 4 + k][2], *c[half][i]);
}

void *dynamic_shared() { return shared_memory; }

} // namespace emulated

/* ---- the runtime ---- */

/** The captured operations, in the order of the host's calls, which is one of the allowed orders. */
struct emulated_graph {
    std::vector<std::function<bool()>> work;
    emulated_stream *origin;
    std::set<emulated_stream *>
        open;    /* the streams that the capture has reached, including those that have been joined */
    bool broken; /* invalidated by a call that is forbidden during a capture */
};

/** The queue of a stream has the operations that wait, and all later ones; each returns whether it is
 *  done. */
struct emulated_stream {
    std::deque<std::function<bool()>> queue;
    /* captured: a capture records this stream; joined: the capture's stream has waited for it since then */
    bool captured = false, joined = false;
};

/** How often an event has been recorded, and has occurred; in memory that processes can share. */
struct occurrences {
    std::atomic<uint32_t> recorded, done;
};
struct emulated_event {
    double seconds;
    occurrences *of;
    int file; /* of the shared memory; -1: the event is private to this process */
    bool attached;
    emulated_stream *captured; /* the stream of the last record if that was captured, else null */
};

namespace {

/* files: those of allocations that can be shared; attached: sizes of other processes' allocations */
std::map<uintptr_t, size_t> allocations, attached;
std::map<uintptr_t, int> files;
std::set<emulated_stream *> streams;
emulated_graph *capture; /* the graph that is being captured, or null */

/** Called by functions that are forbidden during a capture (allocate, free, wait): invalidates the capture.
 *  Returns whether there is one. */
bool break_capture()
{
    if (capture) capture->broken = true;
    return capture != nullptr;
}

/** Runs all operations in the streams' queues that need not wait. */
void progress()
{
    for (bool more = true; more;) {
        more = false;
        for (emulated_stream *s : streams)
            while (!s->queue.empty() && s->queue.front()()) {
                s->queue.pop_front();
                more = true;
            }
    }
}

/** Appends an operation that may have to wait. */
void append(cudaStream_t stream, std::function<bool()> operation)
{
    if (stream && stream->captured) {
        capture->work.push_back(operation);
        stream->joined = false;
        return;
    }
    if (stream && !stream->queue.empty())
        stream->queue.push_back(operation);
    else if (!operation())
        stream->queue.push_back(operation);
}

template <class F> void wait_until(F done)
{
    for (progress(); !done(); progress()) sched_yield();
}

/** Maps the shared memory of a file, which is made if *file < 0. */
void *map_shared(size_t bytes, int *file)
{
    if (*file < 0) {
        *file = memfd_create("emulated GPU", MFD_CLOEXEC);
        if (*file < 0 || ftruncate(*file, (off_t)bytes) != 0) return nullptr;
    }
    void *const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    return p == MAP_FAILED ? nullptr : p;
}

/** The contents of a handle: the process and its file. */
struct shared_file {
    int process, file, gpu;
    size_t bytes;
};

int open_file(const shared_file &s)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", s.process, s.file);
    return open(path, O_RDWR | O_CLOEXEC);
}

int gpus()
{
    const char *const text = getenv("EMULATED_GPUS");
    return text ? atoi(text) : 1;
}
int current;

double seconds()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int multiprocessors()
{
    const char *const text = getenv("EMULATED_MULTIPROCESSORS");
    return text ? atoi(text) : 12;
}

int f32_per_f64()
{
    const char *const text = getenv("EMULATED_F32_PER_F64");
    return text ? atoi(text) : 2;
}

} // namespace

namespace emulated {

void queue(cudaStream_t stream, std::function<void()> work)
{
    if (in_kernel)
        launched_by_kernel.push_back(work);
    else
        append(stream, [=] { return work(), true; });
}

} // namespace emulated

/* A launch leaves no error to ask for: an invalid launch ends the process. */
cudaError_t cudaGetLastError(void) { return cudaSuccess; }

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory"
                                              : "operation not supported by the emulated GPU";
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = gpus();
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    current = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int)
{
    static const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } limits[] = {{cudaDevAttrMaxThreadsPerBlock, MOST_THREADS},
                  {cudaDevAttrMaxBlockDimX, MOST_THREADS},
                  {cudaDevAttrMaxBlockDimY, MOST_THREADS},
                  {cudaDevAttrMaxBlockDimZ, 64},
                  {cudaDevAttrMaxGridDimX, INT32_MAX},
                  {cudaDevAttrMaxGridDimY, 65535},
                  {cudaDevAttrMaxGridDimZ, 65535},
                  {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
                  {cudaDevAttrTotalConstantMemory, 64 << 10},
                  {cudaDevAttrWarpSize, WARP},
                  {cudaDevAttrMaxPitch, INT32_MAX},
                  {cudaDevAttrMaxRegistersPerBlock, emulated::REGISTERS},
                  {cudaDevAttrClockRate, 1000000},
                  {cudaDevAttrTextureAlignment, 512},
                  {cudaDevAttrSurfaceAlignment, 512},
                  {cudaDevAttrMaxTexture1DWidth, 131072},
                  {cudaDevAttrMaxTexture2DWidth, 131072},
                  {cudaDevAttrMaxTexture2DHeight, 65536},
                  {cudaDevAttrMaxTexture3DWidth, 16384},
                  {cudaDevAttrMaxTexture3DHeight, 16384},
                  {cudaDevAttrMaxTexture3DDepth, 16384},
                  {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
                  {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
                  {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
                  {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
                  {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
                  {cudaDevAttrMemoryClockRate, 2000000},
                  {cudaDevAttrGlobalMemoryBusWidth, 512},
                  {cudaDevAttrL2CacheSize, 50 << 20},
                  {cudaDevAttrMaxThreadsPerMultiProcessor, emulated::RESIDENT_THREADS},
                  {cudaDevAttrUnifiedAddressing, 1},
                  {cudaDevAttrComputeCapabilityMajor, 9},
                  {cudaDevAttrMaxSharedMemoryPerMultiprocessor, emulated::SHARED_BYTES},
                  {cudaDevAttrMaxRegistersPerMultiprocessor, emulated::REGISTERS},
                  {cudaDevAttrMaxSharedMemoryPerBlockOptin, SHARED},
                  {cudaDevAttrMaxBlocksPerMultiprocessor, emulated::RESIDENT_BLOCKS},
                  {cudaDevAttrReservedSharedMemoryPerBlock, emulated::RESERVED_BYTES}};
    *value = attribute == cudaDevAttrMultiProcessorCount                ? multiprocessors()
             : attribute == cudaDevAttrSingleToDoublePrecisionPerfRatio ? f32_per_f64()
                                                                        : 0;
    for (const auto &limit : limits)
        if (limit.attribute == attribute) *value = limit.value;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int)
{
    *p = {"emulated", 9, 0, multiprocessors(), 50 << 20, MEMORY};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int n, int device)
{
    snprintf(id, (size_t)n, "0000:%02x:00.0", (unsigned)device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    if (break_capture()) return cudaErrorStreamCaptureUnsupported;
    for (emulated_stream *s : streams) wait_until([=] { return s->queue.empty(); });
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    *unused = *total = MEMORY;
    for (const auto &a : allocations) *unused -= a.second < *unused ? a.second : *unused;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int)
{
    *stream = new emulated_stream;
    streams.insert(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream->captured && break_capture()) return cudaErrorStreamCaptureUnsupported;
    wait_until([=] { return stream->queue.empty(); });
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (stream->captured && break_capture()) return cudaErrorStreamCaptureUnsupported;
    progress();
    return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    occurrences *const of = event->of;
    const uint32_t number = of->recorded;
    if (event->captured) {
        if (stream == capture->origin) event->captured->joined = true;
        if (!stream->captured) stream->joined = false;
        stream->captured = true;
        capture->open.insert(stream);
        return cudaSuccess;
    }
    append(stream, [=] { return of->done >= number; });
    return cudaSuccess;
}

/* ---- graphs ---- */

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    *status = !stream || !stream->captured ? cudaStreamCaptureStatusNone
              : capture->broken            ? cudaStreamCaptureStatusInvalidated
                                           : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
    if (capture) stop("a second capture begins");
    capture = new emulated_graph{{}, stream, {stream}, false};
    stream->captured = true;
    return cudaSuccess;
}

/* All streams that the capture has reached must have been joined. If one has not, or if the capture is
 * broken, there is no graph. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    bool unjoined = false;
    if (!capture || capture->origin != stream) stop("a capture ends in another stream than its own");
    for (emulated_stream *s : capture->open) {
        unjoined |= s != stream && !s->joined;
        s->captured = false;
    }
    *graph = capture;
    capture = nullptr;
    if (!(*graph)->broken && !unjoined) return cudaSuccess;
    const bool broken = (*graph)->broken;
    delete *graph;
    *graph = nullptr;
    return broken ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    *exec = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    for (const auto &work : exec->work) append(stream, work);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return cudaGraphDestroy(exec); }

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

/* ---- events, memory ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = new emulated_event{0, nullptr, -1, false, nullptr};
    (*event)->of = flags & cudaEventInterprocess ? new (map_shared(sizeof(occurrences), &(*event)->file))
                                                       occurrences()
                                                 : new occurrences();
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaDeviceSynchronize(); /* queued operations may still use the event */
    if (event->file < 0) {
        delete event->of;
    } else {
        munmap(event->of, sizeof *event->of);
        close(event->file);
    }
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    event->captured = stream && stream->captured ? stream : nullptr;
    if (event->captured) return cudaSuccess;
    const uint32_t number = ++event->of->recorded;
    append(stream, [=] {
        event->seconds = seconds();
        event->of->done = number;
        return true;
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (event->captured && break_capture()) return cudaErrorStreamCaptureUnsupported;
    const uint32_t number = event->of->recorded;
    wait_until([=] { return event->of->done >= number; });
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    *ms = (float)(1e3 * (end->seconds - start->seconds));
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    const size_t whole = (bytes + 255) / 256 * 256 + MARGIN;
    int file = -1;
    if (break_capture()) return cudaErrorStreamCaptureUnsupported;
    *p = whole > MEMORY        ? nullptr
         : bytes < SHARED_FROM ? aligned_alloc(256, whole)
                               : map_shared(whole, &file);
    if (!*p) return cudaErrorMemoryAllocation;
    if (file >= 0) files[(uintptr_t)*p] = file;
    memset(*p, PATTERN, whole);
    allocations[(uintptr_t)*p] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    const auto a = allocations.find((uintptr_t)p);
    if (!p) return cudaSuccess;
    cudaDeviceSynchronize();
    if (a == allocations.end()) stop("memory is freed that was not allocated");
    for (size_t i = 0; i < MARGIN; i++)
        if (((unsigned char *)p)[a->second + i] != PATTERN) stop("somebody wrote behind an array");
    memset(p, PATTERN, a->second);
    const auto file = files.find((uintptr_t)p);
    if (file == files.end()) {
        free(p);
    } else {
        munmap(p, (a->second + 255) / 256 * 256 + MARGIN);
        close(file->second);
        files.erase(file);
    }
    allocations.erase(a);
    return cudaSuccess;
}

/* all memory is host memory */
cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned) { return cudaMalloc(p, bytes); }

cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned)
{
    *p = malloc(bytes);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *p)
{
    free(p);
    return cudaSuccess;
}

/* no pools, because every allocation needs a margin */
cudaError_t cudaMemPoolCreate(cudaMemPool_t *, const struct cudaMemPoolProps *)
{
    return cudaErrorNotSupported;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaErrorNotSupported; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, enum cudaMemPoolAttr, void *)
{
    return cudaErrorNotSupported;
}
cudaError_t cudaMallocFromPoolAsync(void **, size_t, cudaMemPool_t, cudaStream_t)
{
    return cudaErrorNotSupported;
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    emulated::queue(stream, [=] { memset(p, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t bytes, size_t rows,
                              cudaStream_t stream)
{
    emulated::queue(stream, [=] {
        for (size_t i = 0; i < rows; i++) memset((char *)p + i * pitch, value, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind,
                            cudaStream_t stream)
{
    emulated::queue(stream, [=] { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes,
                              size_t rows, enum cudaMemcpyKind, cudaStream_t stream)
{
    emulated::queue(stream, [=] {
        for (size_t i = 0; i < rows; i++)
            memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
    });
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *about, const void *p)
{
    about->type = cudaMemoryTypeUnregistered;
    for (const auto *all : {&allocations, &attached}) {
        auto after = all->upper_bound((uintptr_t)p);
        if (after != all->begin() && (--after, (uintptr_t)p < after->first + after->second))
            about->type = cudaMemoryTypeDevice;
    }
    return cudaSuccess;
}

/* ---- memory and events that processes share ---- */

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    const shared_file s = {getpid(), event->file, current, sizeof(occurrences)};
    if (event->file < 0) return cudaErrorNotSupported;
    memcpy(handle, &s, sizeof s);
    return cudaSuccess;
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    shared_file s;
    memcpy(&s, &handle, sizeof s);
    int file = open_file(s);
    void *const of = file < 0 ? nullptr : map_shared(s.bytes, &file);
    if (!of) return cudaErrorPeerAccessUnsupported;
    *event = new emulated_event{0, (occurrences *)of, file, true, nullptr};
    return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
    const auto file = files.find((uintptr_t)p);
    if (file == files.end()) return cudaErrorNotSupported;
    const shared_file s = {getpid(), file->second, current, allocations[(uintptr_t)p]};
    memcpy(handle, &s, sizeof s);
    return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned)
{
    shared_file s;
    memcpy(&s, &handle, sizeof s);
    int file = getenv("EMULATED_NO_ATTACH") ? -1 : open_file(s);
    *p = file < 0 ? nullptr : map_shared(s.bytes, &file);
    if (file >= 0) close(file);
    if (!*p) return cudaErrorPeerAccessUnsupported;
    attached[(uintptr_t)*p] = s.bytes;
    return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void *p)
{
    const auto a = attached.find((uintptr_t)p);
    if (a == attached.end()) stop("memory is detached that was not attached");
    cudaDeviceSynchronize();
    munmap(p, a->second);
    attached.erase(a);
    return cudaSuccess;
}

/* ---- stream memory operations ---- */

static CUresult batch_mem_op(CUstream stream, unsigned count, CUstreamBatchMemOpParams *all, unsigned)
{
    for (unsigned i = 0; i < count; i++) {
        const CUstreamBatchMemOpParams op = all[i];
        auto *const flag = (std::atomic<uint32_t> *)op.writeValue.address;
        const uint32_t value = op.writeValue.value;
        if ((uintptr_t)flag % 4 != 0) stop("a flag is not aligned");
        if (op.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
            append(stream, [=] { return *flag = value, true; });
        else if (op.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32)
            append(stream, [=] { return (int32_t)(*flag - value) >= 0; });
        else
            stop("an unknown memory operation");
    }
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long, enum cudaDriverEntryPointQueryResult *found)
{
    const int there = strcmp(symbol, "cuStreamBatchMemOp") == 0 && !getenv("EMULATED_NO_MEMOPS");
    *function = there ? (void *)batch_mem_op : nullptr;
    *found = there ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
