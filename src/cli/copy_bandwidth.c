/** Measures the copy bandwidth of host or GPU memory, and between the two. */
#include "cli/copy_bandwidth.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/stats.h"
#include "device/device.h"

enum { MIB = 1 << 20, GPU_MIB = 1024, HOST_LEAST_MIB = 64, HOST_MOST_MIB = 256, RANK_LEAST_MIB = 16 };

/** The two arrays between which a rank copies. On the CPU, the arrays of all ranks of a node together exceed
 *  the last-level cache, unless the cache is larger than HOST_MOST_MIB or its size is unknown. */
typedef struct copy_probe {
    spmm_device device;
    int threads;
    int64_t bytes; /**< size of each array */
    void *to, *from;
} copy_probe;

/* Returns the size of each array on a GPU. It is so large that the launch time of a copy is negligible. */
static int64_t gpu_bytes(int sharers) { return (int64_t)GPU_MIB * MIB / sharers; }

static int64_t host_bytes(int sharers)
{
    const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE), most = (int64_t)HOST_MOST_MIB * MIB;
    int64_t bytes = cache > HOST_LEAST_MIB * MIB ? cache : (int64_t)HOST_LEAST_MIB * MIB;
    if (bytes > most) bytes = most;
    bytes = bytes / sharers / MIB * MIB;
    return bytes > RANK_LEAST_MIB * MIB ? bytes : RANK_LEAST_MIB * MIB;
}

static spmm_status create_on_host(copy_probe *p, int sharers)
{
    p->bytes = host_bytes(sharers);
    if (p->bytes > sp_available_bytes() / 8 / sharers)
        return sp_fail(SPMM_ERR_MEMORY, "too little memory to time a copy");
    TRY(sp_alloc(&p->to, p->bytes, 1, "a copy"));
    TRY(sp_alloc(&p->from, p->bytes, 1, "a copy"));
    char *const to = p->to, *const from = p->from;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < p->bytes / MIB; i++) {
        memset(from + i * MIB, 1, MIB); /* first touch by the thread that will copy the pages */
        memset(to + i * MIB, 0, MIB);
    }
    return SPMM_OK;
}

static spmm_status create_on_gpu(copy_probe *p, int sharers)
{
    p->bytes = gpu_bytes(sharers);
    TRY(sp_device_alloc(&p->to, p->bytes, "a copy"));
    TRY(sp_device_alloc(&p->from, p->bytes, "a copy"));
    TRY(sp_device_zero(p->from, p->bytes));
    return sp_device_sync();
}

static void copy_bandwidth_destroy(copy_probe *probe)
{
    if (probe->device == SPMM_CUDA) {
        sp_device_free(probe->to);
        sp_device_free(probe->from);
    } else {
        sp_free(probe->to);
        sp_free(probe->from);
    }
    memset(probe, 0, sizeof *probe);
}

/** Allocates the two arrays of *probe. Local.
 *  \param [in]  sharers  number of ranks that share the memory and its bandwidth
 *  \param [out] probe    zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _NO_DEVICE, _DEVICE */
static spmm_status copy_bandwidth_create(spmm_device device, int threads, int sharers, copy_probe *probe)
{
    *probe = (copy_probe){.device = device, .threads = threads};
    const spmm_status status = device == SPMM_CUDA ? create_on_gpu(probe, sharers)
                                                   : create_on_host(probe, sharers);
    if (status != SPMM_OK) copy_bandwidth_destroy(probe);
    return status;
}

/** Copies one array to the other: reads and writes probe->bytes bytes. Returns when the copy is complete. */
static spmm_status copy(const copy_probe *probe)
{
    if (probe->device == SPMM_CUDA) return sp_device_copy(probe->to, probe->from, probe->bytes);
    char *const to = probe->to;
    const char *const from = probe->from;
#pragma omp parallel for schedule(static) num_threads(probe->threads)
    for (int64_t i = 0; i < probe->bytes / MIB; i++) memcpy(to + i * MIB, from + i * MIB, MIB);
    return SPMM_OK;
}

/** Times copies that all ranks make at the same time. \param [out] least  seconds of the fastest copy */
static spmm_status time_copies(const sp_grid *grid, const copy_probe *probe, double *least)
{
    enum { COPIES = 5 };
    spmm_status status = SPMM_OK;
    for (int i = 0; i < COPIES; i++) {
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double start = MPI_Wtime();
        if (status == SPMM_OK) status = copy(probe);
        TRY(SP_MPI(MPI_Barrier(grid->comm)));
        const double seconds = MPI_Wtime() - start;
        if (i == 0 || seconds < *least) *least = seconds;
    }
    return sp_agree(grid->comm, "bandwidth", status);
}

spmm_status sp_copy_bandwidth(const sp_grid *grid, const sp_binding *binding, double *rate)
{
    copy_probe probe;
    int rank, sharers, there;
    double least = 0;
    *rate = 0;
    TRY(sp_node_rank(grid->comm, &rank, &sharers));
    if (binding->device == SPMM_CUDA) sharers = binding->gpu_sharers;
    spmm_status status = copy_bandwidth_create(binding->device, binding->threads, sharers, &probe);
    status = sp_all(grid->comm, status == SPMM_OK, &there);
    if (status == SPMM_OK && there) {
        status = time_copies(grid, &probe, &least);
        *rate = least > 0 ? 2 * (double)probe.bytes / least : 0;
    }
    copy_bandwidth_destroy(&probe);
    return status;
}

/* ---- between host and GPU ---- */

/* Within the GPU, arrays exceed its L2 cache; between host and GPU, 64 MiB reach the full bandwidth of the
 * link. */
enum { HOST_COPY_MIB = 64, WITHIN_MIB = 256, HOST_COPIES = 9 };

/** Memory for the copies, on the host and on the GPU. */
typedef struct host_arrays {
    void *pinned, *pageable, *gpu, *other;
} host_arrays;

static spmm_status create_host_arrays(host_arrays *m)
{
    const int64_t bytes = (int64_t)HOST_COPY_MIB * MIB, within = (int64_t)WITHIN_MIB * MIB;
    TRY(sp_device_host_alloc(&m->pinned, bytes, "a copy"));
    TRY(sp_alloc(&m->pageable, bytes, 1, "a copy"));
    memset(m->pinned, 1, (size_t)bytes);
    memset(m->pageable, 1, (size_t)bytes); /* pages never written map to one shared zero page */
    TRY(sp_device_alloc(&m->gpu, within, "a copy"));
    TRY(sp_device_alloc(&m->other, within, "a copy"));
    TRY(sp_device_zero(m->gpu, within));
    return sp_device_sync();
}

/** Times a copy with the host's clock, because copies of pageable memory keep the host busy.
 *  \param [out] rate  bytes copied per second, from the median of a few copies after an untimed one */
static spmm_status time_host_copy(void *to, const void *from, int64_t bytes, double *rate)
{
    double seconds[HOST_COPIES];
    for (int i = -1; i < HOST_COPIES; i++) {
        const double start = MPI_Wtime();
        TRY(sp_stream_copy(to, from, bytes, SP_STREAM_MAIN));
        TRY(sp_stream_sync(SP_STREAM_MAIN));
        if (i >= 0) seconds[i] = MPI_Wtime() - start;
    }
    const double median = sp_stats_of(seconds, HOST_COPIES).median;
    *rate = median > 0 ? (double)bytes / median : 0;
    return SPMM_OK;
}

static spmm_status time_all_copies(const host_arrays *m, sp_host_copies *c)
{
    const int64_t bytes = (int64_t)HOST_COPY_MIB * MIB;
    TRY(time_host_copy(m->gpu, m->pinned, bytes, &c->to_pinned));
    TRY(time_host_copy(m->gpu, m->pageable, bytes, &c->to_pageable));
    TRY(time_host_copy(m->pinned, m->gpu, bytes, &c->from_pinned));
    TRY(time_host_copy(m->pageable, m->gpu, bytes, &c->from_pageable));
    TRY(time_host_copy(m->other, m->gpu, (int64_t)WITHIN_MIB * MIB, &c->within));
    c->within *= 2;
    return SPMM_OK;
}

spmm_status sp_time_host_copies(sp_host_copies *copies)
{
    host_arrays m = {0};
    memset(copies, 0, sizeof *copies);
    spmm_status status = create_host_arrays(&m);
    if (status == SPMM_OK) status = time_all_copies(&m, copies);
    sp_device_host_free(m.pinned);
    sp_free(m.pageable);
    sp_device_free(m.gpu);
    sp_device_free(m.other);
    if (status != SPMM_OK) memset(copies, 0, sizeof *copies);
    return status == SPMM_ERR_MEMORY ? SPMM_OK : status;
}
