/** Sums the partial Y of the ranks of a process row, by point-to-point messages, MPI_Reduce or NCCL. */
#include "plan/reduce.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "comm/nccl.h"
#include "comm/timing.h"
#include "device/device.h"

struct sp_reduction {
    MPI_Comm comm; /* communicator of the process row */
    int rank, size;
    int64_t elements;
    spmm_precision precision;
    spmm_device space;
    spmm_reduce method;
    int threads;
    void *buffer; /* in host memory: receives another rank's partial Y; NULL with NCCL */
    void *mirror; /* if Y is in GPU memory and NCCL is not used: copy of y in pinned host memory */
    const sp_nccl *nccl;
};

int sp_reduce_everywhere(spmm_reduce method) { return method == SPMM_REDUCE_BUTTERFLY; }

int sp_reduce_steps(spmm_reduce method, int ranks)
{
    int whole = 0; /* of log2(ranks) */
    if (method == SPMM_REDUCE_LINEAR) return ranks - 1;
    while (ranks >> (whole + 1)) whole++;
    const int rest = ranks != 1 << whole;
    return whole + (method == SPMM_REDUCE_BUTTERFLY ? 2 * rest : rest);
}

static int64_t bytes_of(const sp_reduction *r) { return r->elements * sp_value_size(r->precision); }

/** Adds the array `other` to the array `sum`, both in host memory. */
static void add(const sp_reduction *r, void *sum, const void *other)
{
    const int64_t n = r->elements;
    if (r->precision == SPMM_F64) {
        double *const s = sum;
        const double *const o = other;
#pragma omp parallel for simd schedule(static) num_threads(r->threads) if (n > 1 << 14)
        for (int64_t i = 0; i < n; i++) s[i] += o[i];
    } else {
        float *const s = sum;
        const float *const o = other;
#pragma omp parallel for simd schedule(static) num_threads(r->threads) if (n > 1 << 14)
        for (int64_t i = 0; i < n; i++) s[i] += o[i];
    }
}

/* In the functions below, y is NULL on a rank that failed (sp_reduction_skip()). Such a rank sends NaNs from
 * r->buffer, and drops received data by receiving it in r->buffer. */

static void fill_with_nan(void *p, int64_t bytes) { memset(p, 0xff, (size_t)bytes); }

static spmm_status send(const sp_reduction *r, int to, const void *y)
{
    if (!y) fill_with_nan(r->buffer, bytes_of(r));
    return sp_send(r->comm, to, SP_TAG_PARTIAL, y ? y : r->buffer, bytes_of(r));
}

static spmm_status receive(const sp_reduction *r, int from, void *y)
{
    return sp_recv(r->comm, from, SP_TAG_PARTIAL, y ? y : r->buffer, bytes_of(r));
}

static spmm_status add_from(const sp_reduction *r, int from, void *y)
{
    TRY(receive(r, from, r->buffer));
    if (y) add(r, y, r->buffer);
    return SPMM_OK;
}

static spmm_status linear(const sp_reduction *r, void *y)
{
    if (r->rank != 0) return send(r, 0, y);
    for (int from = 1; from < r->size; from++) TRY(add_from(r, from, y));
    return SPMM_OK;
}

static spmm_status tree(const sp_reduction *r, void *y)
{
    for (int distance = 1; distance < r->size; distance *= 2) {
        if (r->rank % (2 * distance) != 0) return send(r, r->rank - distance, y);
        if (r->rank + distance < r->size) TRY(add_from(r, r->rank + distance, y));
    }
    return SPMM_OK;
}

/** Exchanges partial Y with rank `partner`, and adds the received one to y. Both ranks get the same bits,
 *  since addition is commutative. A rank that failed cannot send NaNs from r->buffer, which it needs
 *  for receiving. It sends empty messages instead, and the partner takes these for NaNs. */
static spmm_status swap(const sp_reduction *r, int partner, void *y)
{
    const int64_t bytes = bytes_of(r), chunk = sp_chunk_bytes();
    for (int64_t at = 0; at < bytes; at += chunk) {
        const int n = (int)(bytes - at < chunk ? bytes - at : chunk);
        char *const in = (char *)r->buffer + at;
        MPI_Status received;
        int got = 0;
        TRY(SP_MPI(MPI_Sendrecv(y ? (char *)y + at : NULL, y ? n : 0, MPI_BYTE, partner, SP_TAG_PARTIAL, in,
                                n, MPI_BYTE, partner, SP_TAG_PARTIAL, r->comm, &received)));
        TRY(SP_MPI(MPI_Get_count(&received, MPI_BYTE, &got)));
        if (got < n) fill_with_nan(in, n);
    }
    if (y) add(r, y, r->buffer);
    return SPMM_OK;
}

static spmm_status butterfly(const sp_reduction *r, void *y)
{
    int core = 1;
    while (2 * core <= r->size) core *= 2;
    if (r->rank >= core) {
        TRY(send(r, r->rank - core, y));
        return receive(r, r->rank - core, y);
    }
    const int extra = r->rank + core < r->size ? r->rank + core : -1;
    if (extra >= 0) TRY(add_from(r, extra, y));
    for (int distance = 1; distance < core; distance *= 2) TRY(swap(r, r->rank ^ distance, y));
    return extra >= 0 ? send(r, extra, y) : SPMM_OK;
}

static spmm_status by_mpi(const sp_reduction *r, void *y)
{
    MPI_Datatype type = r->precision == SPMM_F64 ? MPI_DOUBLE : MPI_FLOAT;
    const int64_t size = sp_value_size(r->precision);
    const int64_t most = sp_chunk_bytes() > size ? sp_chunk_bytes() / size : 1;
    if (!y) fill_with_nan(r->buffer, bytes_of(r));
    if (!y) y = r->buffer;
    for (int64_t at = 0; at < r->elements; at += most) {
        const int n = (int)(r->elements - at < most ? r->elements - at : most);
        void *const part = (char *)y + at * size;
        TRY(SP_MPI(MPI_Reduce(r->rank == 0 ? MPI_IN_PLACE : part, part, n, type, MPI_SUM, 0, r->comm)));
    }
    return SPMM_OK;
}

static spmm_status on_host(const sp_reduction *r, void *y)
{
    switch (r->method) {
    case SPMM_REDUCE_LINEAR: return linear(r, y);
    case SPMM_REDUCE_BUTTERFLY: return butterfly(r, y);
    case SPMM_REDUCE_MPI: return by_mpi(r, y);
    case SPMM_REDUCE_AUTO:
    case SPMM_REDUCE_NCCL:
    case SPMM_REDUCE_TREE: break;
    }
    return tree(r, y);
}

static spmm_status fetch(const sp_reduction *r, const void *y)
{
    TRY(sp_stream_copy(r->mirror, y, bytes_of(r), SP_STREAM_MAIN));
    return sp_stream_sync(SP_STREAM_MAIN);
}

spmm_status sp_reduction_run(sp_reduction *r, void *y)
{
    if (r->space == SPMM_CPU) return on_host(r, y);
    if (r->method == SPMM_REDUCE_NCCL)
        return sp_nccl_sum(r->nccl, y, r->elements, r->precision, sp_device_stream(SP_STREAM_MAIN));
    const spmm_status fetched = fetch(r, y);
    TRY(on_host(r, fetched == SPMM_OK ? r->mirror : NULL)); /* after a failure the other ranks get NaNs */
    TRY(fetched);
    if (r->rank != 0 && !sp_reduce_everywhere(r->method)) return SPMM_OK;
    return sp_stream_copy(y, r->mirror, bytes_of(r), SP_STREAM_MAIN);
}

/** Contributes a partial Y of NaNs to the NCCL sum, since NCCL cannot tell the other ranks of a failure. */
static spmm_status skip_nccl(const sp_reduction *r)
{
    void *y = NULL;
    spmm_status status = sp_device_alloc_exchanged(&y, bytes_of(r), "a partial Y");
    if (status == SPMM_OK) status = sp_device_nan(y, bytes_of(r));
    if (status == SPMM_OK)
        status = sp_nccl_sum(r->nccl, y, r->elements, r->precision, sp_device_stream(SP_STREAM_MAIN));
    if (status == SPMM_OK) status = sp_device_sync();
    sp_device_free(y);
    return status;
}

void sp_reduction_skip(sp_reduction *r)
{
    const spmm_status status = r->method == SPMM_REDUCE_NCCL ? skip_nccl(r) : on_host(r, NULL);
    if (status != SPMM_OK) sp_abandon(r->comm, status); /* otherwise the other ranks would wait forever */
}

static spmm_status allocate(sp_reduction *r)
{
    if (r->method == SPMM_REDUCE_NCCL) return SPMM_OK;
    if (r->space == SPMM_CUDA) TRY(sp_device_host_alloc(&r->mirror, bytes_of(r), "a partial Y"));
    return sp_alloc(&r->buffer, r->elements, sp_value_size(r->precision), "a partial Y");
}

const char *sp_reduce_missing(spmm_reduce method, spmm_device space)
{
    if (method != SPMM_REDUCE_NCCL) return NULL;
    return space == SPMM_CPU ? "it is for GPUs, and Y is in host memory" : sp_nccl_missing();
}

static spmm_status check_nccl(spmm_device space)
{
    const char *const why = sp_reduce_missing(SPMM_REDUCE_NCCL, space);
    return why ? sp_fail(SPMM_ERR_USAGE, "reduce nccl: %s", why) : SPMM_OK;
}

/** Connects the ranks of a process row by NCCL. This may fail, for example because ranks share a GPU. If
 *  `chosen` is 1, a failure only makes the reduction fall back to SPMM_REDUCE_TREE.
 *  \param [in] chosen  1: NCCL was chosen by SPMM_REDUCE_AUTO; 0: the caller requires NCCL */
static spmm_status connect(const sp_grid *grid, int chosen, sp_reduction *r)
{
    const spmm_status status = sp_nccl_of(grid, SP_ALONG_ROW, &r->nccl);
    if (status == SPMM_OK || !chosen) return status;
    r->method = SPMM_REDUCE_TREE;
    return sp_agree(grid->comm, "reduce", allocate(r));
}

/** Creates a reduction by one method.
 *  \param [in] chosen  as for connect() */
static spmm_status create(const sp_grid *grid, const sp_reduction *what, spmm_reduce method, int chosen,
                          sp_reduction **reduction)
{
    sp_reduction *r = NULL;
    *reduction = NULL;
    spmm_status status = sp_alloc_zero((void **)&r, 1, sizeof *r, "a reduction");
    if (status == SPMM_OK) {
        *r = *what;
        r->method = method;
        status = allocate(r);
    }
    status = sp_agree(grid->comm, "reduce", status);
    if (status == SPMM_OK && method == SPMM_REDUCE_NCCL) status = connect(grid, chosen, r);
    if (status != SPMM_OK) {
        sp_reduction_destroy(r);
        return status;
    }
    *reduction = r;
    return SPMM_OK;
}

/* ---- choice by timing ---- */

/** A reduction that is timed. */
typedef struct timed_reduction {
    sp_reduction *r;
    const spmm_multivector *y;
} timed_reduction;

static spmm_status sum_once(void *of)
{
    const timed_reduction *const t = of;
    const spmm_status status = sp_reduction_run(t->r, t->y->data);
    if (t->r->space == SPMM_CPU) return status;
    const spmm_status done = sp_device_sync();
    return status == SPMM_OK ? done : status;
}

/** Creates a reduction by a method and times it. One that cannot be set up takes infinitely long. Collective. */
static spmm_status try_method(const sp_grid *grid, const sp_reduction *what, spmm_reduce method,
                              const spmm_multivector *y, sp_reduction **one, double *seconds)
{
    const spmm_status made = create(grid, what, method, 0, one);
    *seconds = INFINITY;
    if (made == SPMM_ERR_DEVICE || made == SPMM_ERR_MEMORY) return SPMM_OK;
    TRY(made);
    timed_reduction timed = {*one, y};
    return sp_time_least(grid->comm, "reduce", sum_once, &timed, INFINITY, seconds);
}

/** Times the methods that leave the sum on the first rank, and keeps the fastest. Collective. */
static spmm_status fastest(const sp_grid *grid, const sp_reduction *what, const spmm_multivector *y,
                           sp_reduce_trials *trials, sp_reduction **best)
{
    static const spmm_reduce methods[] = {SPMM_REDUCE_TREE, SPMM_REDUCE_MPI, SPMM_REDUCE_LINEAR,
                                          SPMM_REDUCE_NCCL};
    double least = INFINITY;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        sp_reduction *one = NULL;
        double seconds;
        int there;
        if (methods[m] == SPMM_REDUCE_LINEAR && what->size == 2) continue; /* it is the tree */
        TRY(sp_all(grid->comm, !sp_reduce_missing(methods[m], what->space), &there));
        if (!there) continue;
        const spmm_status status = try_method(grid, what, methods[m], y, &one, &seconds);
        trials->trial[trials->count].method = methods[m];
        trials->trial[trials->count++].seconds = seconds;
        const int faster = status == SPMM_OK && one && sp_clearly_less(seconds, least);
        sp_reduction_destroy(faster ? *best : one);
        if (faster) {
            *best = one;
            least = seconds;
        }
        TRY(status);
    }
    return *best ? SPMM_OK : create(grid, what, SPMM_REDUCE_TREE, 0, best);
}

static spmm_status create_fastest(const sp_grid *grid, const sp_reduction *what, sp_reduce_trials *trials,
                                  sp_reduction **reduction)
{
    spmm_multivector y = {.rows = 0};
    const int64_t k = what->elements > 0 ? what->elements : 1; /* a rank may have no rows */
    spmm_status status = spmm_multivector_create(1, k, what->precision, what->space, &y);
    status = sp_agree(grid->comm, "reduce", status);
    if (status == SPMM_OK) status = fastest(grid, what, &y, trials, reduction);
    spmm_multivector_destroy(&y);
    if (status == SPMM_OK) return SPMM_OK;
    sp_reduction_destroy(*reduction);
    *reduction = NULL;
    return status;
}

spmm_status sp_reduction_create(const sp_grid *grid, int64_t elements, spmm_precision precision,
                                spmm_device space, spmm_reduce method, int threads, sp_reduce_trials *trials,
                                sp_reduction **reduction)
{
    const sp_reduction what = {.comm = grid->row_comm,
                               .rank = grid->coords[1],
                               .size = grid->dims[1],
                               .elements = elements,
                               .precision = precision,
                               .space = space,
                               .threads = threads};
    *reduction = NULL;
    if (trials) trials->count = 0;
    if (method == SPMM_REDUCE_NCCL) TRY(sp_agree(grid->comm, "reduce", check_nccl(space)));
    if (grid->dims[1] == 1) return SPMM_OK;
    if (method != SPMM_REDUCE_AUTO) return create(grid, &what, method, 0, reduction);
    if (trials) return create_fastest(grid, &what, trials, reduction);
    return create(grid, &what, space == SPMM_CUDA && !sp_nccl_missing() ? SPMM_REDUCE_NCCL : SPMM_REDUCE_TREE,
                  1, reduction);
}

void sp_reduction_destroy(sp_reduction *r)
{
    if (!r) return;
    sp_free(r->buffer);
    sp_device_host_free(r->mirror);
    sp_free(r);
}

spmm_reduce sp_reduction_method(const sp_reduction *r) { return r ? r->method : SPMM_REDUCE_AUTO; }
