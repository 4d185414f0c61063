#include "floor.h"

#include <string.h>
#include <unistd.h>

#include "device.h"
#include "memory.h"

enum { MIB = 1 << 20, GPU_MIB = 1024, HOST_LEAST_MIB = 64, HOST_MOST_MIB = 256, RANK_LEAST_MIB = 16 };

spmm_status sp_touched_columns(const spmm_csr *block, int64_t *columns)
{
    unsigned char *seen;
    int64_t count = 0;
    TRY(sp_alloc_zero((void **)&seen, block->cols, 1, "marks of columns"));
    for (int64_t e = 0; e < block->nnz; e++) seen[block->ja[e]] = 1;
    for (int64_t j = 0; j < block->cols; j++) count += seen[j];
    sp_free(seen);
    *columns = count;
    return SPMM_OK;
}

double sp_floor_bytes(const spmm_csr *block, int64_t touched, int64_t k)
{
    const double value = (double)sp_value_size(block->precision);
    return (double)block->nnz * (value + 4) + 8 * ((double)block->rows + 1) +
           value * (double)k * ((double)touched + (double)block->rows);
}

/* long enough that starting a copy and waiting for it are little of its time */
static int64_t gpu_bytes(int sharers) { return (int64_t)GPU_MIB * MIB / sharers; }

static int64_t host_bytes(int sharers)
{
    const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE), most = (int64_t)HOST_MOST_MIB * MIB;
    int64_t bytes = cache > HOST_LEAST_MIB * MIB ? cache : (int64_t)HOST_LEAST_MIB * MIB;
    if (bytes > most) bytes = most;
    bytes = bytes / sharers / MIB * MIB;
    return bytes > RANK_LEAST_MIB * MIB ? bytes : RANK_LEAST_MIB * MIB;
}

static spmm_status create_on_host(sp_copy_probe *p, int sharers)
{
    p->bytes = host_bytes(sharers);
    if (p->bytes > sp_available_bytes() / 8 / sharers)
        return sp_fail(SPMM_ERR_MEMORY, "too little memory to time a copy");
    TRY(sp_alloc(&p->to, p->bytes, 1, "a copy"));
    TRY(sp_alloc(&p->from, p->bytes, 1, "a copy"));
    char *const to = p->to, *const from = p->from;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t i = 0; i < p->bytes / MIB; i++) {
        memset(from + i * MIB, 1, MIB); /* the pages come to the thread that will copy them */
        memset(to + i * MIB, 0, MIB);
    }
    return SPMM_OK;
}

static spmm_status create_on_gpu(sp_copy_probe *p, int sharers)
{
    p->bytes = gpu_bytes(sharers);
    TRY(sp_device_alloc(&p->to, p->bytes, "a copy"));
    TRY(sp_device_alloc(&p->from, p->bytes, "a copy"));
    TRY(sp_device_zero(p->from, p->bytes));
    return sp_device_sync();
}

spmm_status sp_copy_probe_create(spmm_device device, int threads, int sharers, sp_copy_probe *probe)
{
    *probe = (sp_copy_probe){.device = device, .threads = threads};
    const spmm_status status = device == SPMM_CUDA ? create_on_gpu(probe, sharers)
                                                   : create_on_host(probe, sharers);
    if (status != SPMM_OK) sp_copy_probe_destroy(probe);
    return status;
}

void sp_copy_probe_destroy(sp_copy_probe *probe)
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

spmm_status sp_copy_probe_run(const sp_copy_probe *probe)
{
    if (probe->device == SPMM_CUDA) return sp_device_copy(probe->to, probe->from, probe->bytes);
    char *const to = probe->to;
    const char *const from = probe->from;
#pragma omp parallel for schedule(static) num_threads(probe->threads)
    for (int64_t i = 0; i < probe->bytes / MIB; i++) memcpy(to + i * MIB, from + i * MIB, MIB);
    return SPMM_OK;
}
