/** Sums the partial Y of the ranks of a process row, with point-to-point messages, MPI_Reduce or NCCL. */
#include "product/reduce.h"

#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/value_type.h"
#include "comm/nccl.h"
#include "device/device.h"

/** One step of a sum by messages on this rank: the operation and the other rank. */
typedef struct sum_step {
    enum { SEND, RECEIVE, ADD, SWAP } what; /* ADD: receives and adds; SWAP: both ranks send and add */
    int with;
} sum_step;

struct sp_reduction {
    MPI_Comm comm; /* communicator of the process row */
    int rank, size;
    int64_t elements; /* reals: a complex value is two */
    int parts;        /* reals per value */
    spmm_precision precision;
    spmm_device space;
    spmm_reduce method;
    int threads;
    sum_step *step; /* [steps] the pattern of a sum by messages, as this rank sees it */
    int steps;
    void *buffer; /* in host memory: receives another rank's partial Y; NULL with NCCL */
    void *mirror; /* if Y is in GPU memory and NCCL is not used: copy of y in pinned host memory */
    const sp_nccl *nccl;
};

int sp_reduce_everywhere(spmm_reduce method) { return method == SPMM_REDUCE_BUTTERFLY; }

int sp_reduce_steps(spmm_reduce method, int ranks)
{
    int whole = 0; /* log2(ranks) rounded down */
    if (method == SPMM_REDUCE_LINEAR) return ranks - 1;
    while (ranks >> (whole + 1)) whole++;
    const int rest = ranks != 1 << whole;
    return whole + (method == SPMM_REDUCE_BUTTERFLY ? 2 * rest : rest);
}

static int64_t bytes_of(const sp_reduction *r) { return r->elements * sp_value_size(r->precision); }

/** Adds the array `other` to the array `sum`, both in host memory. */
static void reduce_add(const sp_reduction *r, void *sum, const void *other)
{
    const int64_t n = r->elements;
#pragma omp parallel num_threads(r->threads) if (n > 1 << 14)
    {
        SP_DEFAULT_FP;
#define ADD(T)                \
    T *const s = sum;         \
    const T *const o = other; \
    _Pragma("omp for simd schedule(static)") for (int64_t i = 0; i < n; i++) s[i] += o[i];
        SP_BY_TYPE(r->precision, ADD);
#undef ADD
    }
}

/* In the functions below, y is NULL on a rank that failed (sp_reduction_skip()). Such a rank sends NaNs from
 * r->buffer, and discards received data by receiving it in r->buffer. */

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
    if (y) reduce_add(r, y, r->buffer);
    return SPMM_OK;
}

/** Exchanges partial Y with rank `partner`, and adds the received one to y. Both ranks get the same bits,
 *  since addition is commutative. A rank that failed cannot send NaNs from r->buffer, which it needs for
 *  receiving. It sends empty messages instead, which the partner treats as NaNs. */
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
    if (y) reduce_add(r, y, r->buffer);
    return SPMM_OK;
}

/** Runs the steps of a linear, tree or butterfly sum. */
static spmm_status by_messages(const sp_reduction *r, void *y)
{
    for (const sum_step *s = r->step; s < r->step + r->steps; s++) switch (s->what) {
        case SEND: TRY(send(r, s->with, y)); break;
        case RECEIVE: TRY(receive(r, s->with, y)); break;
        case ADD: TRY(add_from(r, s->with, y)); break;
        case SWAP: TRY(swap(r, s->with, y)); break;
        }
    return SPMM_OK;
}

static spmm_status by_mpi(const sp_reduction *r, void *y)
{
    const MPI_Datatype type = sp_mpi_type(r->precision);
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
    return r->method == SPMM_REDUCE_MPI ? by_mpi(r, y) : by_messages(r, y);
}

static spmm_status reduce_fetch(const sp_reduction *r, const void *y)
{
    TRY(sp_stream_copy(r->mirror, y, bytes_of(r), SP_STREAM_MAIN));
    return sp_stream_sync(SP_STREAM_MAIN);
}

spmm_status sp_reduction_run(sp_reduction *r, void *y)
{
    if (r->space == SPMM_CPU) return on_host(r, y);
    if (r->method == SPMM_REDUCE_NCCL)
        return sp_nccl_sum(r->nccl, y, r->elements, r->precision, sp_device_stream(SP_STREAM_MAIN));
    const spmm_status fetched = reduce_fetch(r, y);
    TRY(on_host(r, fetched == SPMM_OK ? r->mirror : NULL)); /* after a failure the other ranks get NaNs */
    TRY(fetched);
    if (r->rank != 0 && !sp_reduce_everywhere(r->method)) return SPMM_OK;
    return sp_stream_copy(y, r->mirror, bytes_of(r), SP_STREAM_MAIN);
}

/** Contributes a partial Y of NaNs to the NCCL sum, since NCCL cannot notify the other ranks of a failure. */
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

/* ---- set-up ---- */

static void do_step(sp_reduction *r, int what, int with)
{
    r->step[r->steps].what = what;
    r->step[r->steps++].with = with;
}

static void linear(sp_reduction *r)
{
    if (r->rank != 0) do_step(r, SEND, 0);
    for (int from = 1; from < r->size && r->rank == 0; from++) do_step(r, ADD, from);
}

static void tree(sp_reduction *r)
{
    for (int distance = 1; distance < r->size; distance *= 2) {
        if (r->rank % (2 * distance) != 0) {
            do_step(r, SEND, r->rank - distance);
            return;
        }
        if (r->rank + distance < r->size) do_step(r, ADD, r->rank + distance);
    }
}

static void butterfly(sp_reduction *r)
{
    int core = 1;
    while (2 * core <= r->size) core *= 2;
    const int inside = r->rank < core, beyond = inside && r->rank + core < r->size;
    if (!inside) do_step(r, SEND, r->rank - core);
    if (!inside) do_step(r, RECEIVE, r->rank - core);
    if (beyond) do_step(r, ADD, r->rank + core);
    for (int distance = 1; distance < core && inside; distance *= 2) do_step(r, SWAP, r->rank ^ distance);
    if (beyond) do_step(r, SEND, r->rank + core);
}

static spmm_status reduce_allocate(sp_reduction *r)
{
    if (r->method == SPMM_REDUCE_NCCL) return SPMM_OK;
    /* no method has more than size + 2 steps: linear has size - 1, and a butterfly at most log2(size) + 2 */
    TRY(sp_alloc((void **)&r->step, r->size + 2, sizeof *r->step, "steps of a sum"));
    if (r->method == SPMM_REDUCE_LINEAR) linear(r);
    if (r->method == SPMM_REDUCE_TREE) tree(r);
    if (r->method == SPMM_REDUCE_BUTTERFLY) butterfly(r);
    if (r->space == SPMM_CUDA) TRY(sp_device_host_alloc(&r->mirror, bytes_of(r), "a partial Y"));
    return sp_alloc(&r->buffer, r->elements, sp_value_size(r->precision), "a partial Y");
}

const char *sp_reduce_missing(spmm_reduce method, spmm_device space)
{
    if (method != SPMM_REDUCE_NCCL) return NULL;
    return space == SPMM_CPU ? "it is for GPUs, but Y is in host memory" : sp_nccl_missing();
}

static spmm_status check_nccl(spmm_device space)
{
    const char *const why = sp_reduce_missing(SPMM_REDUCE_NCCL, space);
    return why ? sp_fail(SPMM_ERR_USAGE, "reduce nccl: %s", why) : SPMM_OK;
}

/** Connects the ranks of a process row with NCCL. This may fail, for example because ranks share a GPU.
 *  \param [in] chosen  1: NCCL was chosen by SPMM_REDUCE_AUTO, and a failure only makes the reduction use
 *                      SPMM_REDUCE_TREE; 0: the caller requires NCCL */
static spmm_status reduce_connect(const sp_grid *grid, int chosen, sp_reduction *r)
{
    const spmm_status status = sp_nccl_of(grid, SP_ALONG_ROW, &r->nccl);
    if (status == SPMM_OK || !chosen) return status;
    r->method = SPMM_REDUCE_TREE;
    return sp_agree(grid->comm, "reduce", reduce_allocate(r));
}

/** Creates a reduction by one method.
 *  \param [in] chosen  as for reduce_connect() */
static spmm_status reduce_create(const sp_grid *grid, const sp_reduction *what, spmm_reduce method,
                                 int chosen, sp_reduction **reduction)
{
    sp_reduction *r = NULL;
    *reduction = NULL;
    spmm_status status = sp_alloc_zero((void **)&r, 1, sizeof *r, "a reduction");
    if (status == SPMM_OK) {
        *r = *what;
        r->method = method;
        status = reduce_allocate(r);
    }
    status = sp_agree(grid->comm, "reduce", status);
    if (status == SPMM_OK && method == SPMM_REDUCE_NCCL) status = reduce_connect(grid, chosen, r);
    if (status != SPMM_OK) {
        sp_reduction_destroy(r);
        return status;
    }
    *reduction = r;
    return SPMM_OK;
}

/* ---- choice by timing ---- */

/** The candidate reductions. */
typedef struct timed_sums {
    const sp_grid *grid;
    const sp_reduction *what;
    spmm_reduce method[4];
    void *y; /* zeros */
} timed_sums;

static spmm_status reduce_make(void *of, int i, void **made)
{
    const timed_sums *const t = of;
    sp_reduction *r;
    const spmm_status status = reduce_create(t->grid, t->what, t->method[i], 0, &r);
    *made = r;
    return status;
}

static spmm_status reduce_run(void *of, void *made)
{
    const timed_sums *const t = of;
    TRY(sp_reduction_run(made, t->y));
    return t->what->space == SPMM_CUDA ? sp_device_sync() : SPMM_OK;
}

static void reduce_destroy(void *of, void *made)
{
    (void)of;
    sp_reduction_destroy(made);
}

/** Lists the methods that leave the sum on the first rank and that are available on all ranks. Collective. */
static spmm_status list_methods(timed_sums *t, sp_trial *trial)
{
    static const spmm_reduce methods[] = {SPMM_REDUCE_TREE, SPMM_REDUCE_MPI, SPMM_REDUCE_LINEAR,
                                          SPMM_REDUCE_NCCL};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        int there;
        if (methods[m] == SPMM_REDUCE_LINEAR && t->what->size == 2) continue; /* the same as tree */
        TRY(sp_all(t->grid->comm, !sp_reduce_missing(methods[m], t->what->space), &there));
        if (!there) continue;
        t->method[trial->count] = methods[m];
        sp_trial_add(trial, sp_reduce_word(methods[m]));
    }
    return SPMM_OK;
}

static spmm_status create_fastest(const sp_grid *grid, const sp_reduction *what, sp_trial *trial,
                                  sp_reduction **reduction)
{
    static const sp_trial_ops ops = {"reduce", reduce_make, reduce_run, NULL, reduce_destroy, 0};
    timed_sums t = {.grid = grid, .what = what};
    MPI_Comm comm = grid->comm;
    const sp_together all = sp_ranks_together(&comm);
    spmm_multivector y = {.rows = 0};
    void *best = NULL;
    const int64_t k = what->elements > 0 ? what->elements : 1; /* a rank may have no rows */
    spmm_status status = spmm_multivector_create(1, k, what->precision, what->space, &y);
    status = sp_agree(grid->comm, "reduce", status);
    t.y = y.data;
    if (status == SPMM_OK) status = list_methods(&t, trial);
    if (status == SPMM_OK) status = sp_trial_run(&all, &ops, &t, 0, trial, &best);
    spmm_multivector_destroy(&y);
    *reduction = best;
    return status;
}

spmm_status sp_reduction_create(const sp_grid *grid, int64_t elements, spmm_precision precision,
                                spmm_device space, spmm_reduce method, int threads, sp_trial *trial,
                                sp_reduction **reduction)
{
    const sp_value_type type = sp_type_of(precision);
    const sp_reduction what = {.comm = grid->row_comm,
                               .rank = grid->coords[1],
                               .size = grid->dims[1],
                               .elements = elements * type.parts,
                               .parts = type.parts,
                               .precision = type.real,
                               .space = space,
                               .threads = threads};
    *reduction = NULL;
    if (trial) trial->count = 0;
    if (method == SPMM_REDUCE_NCCL) TRY(sp_agree(grid->comm, "reduce", check_nccl(space)));
    if (grid->dims[1] == 1) return SPMM_OK;
    if (method != SPMM_REDUCE_AUTO) return reduce_create(grid, &what, method, 0, reduction);
    if (trial) return create_fastest(grid, &what, trial, reduction);
    return reduce_create(grid, &what,
                         space == SPMM_CUDA && !sp_nccl_missing() ? SPMM_REDUCE_NCCL : SPMM_REDUCE_TREE, 1,
                         reduction);
}

void sp_reduction_set_elements(sp_reduction *r, int64_t elements)
{
    if (r) r->elements = elements * r->parts;
}

void sp_reduction_destroy(sp_reduction *r)
{
    if (!r) return;
    sp_free(r->step);
    sp_free(r->buffer);
    sp_device_host_free(r->mirror);
    sp_free(r);
}

spmm_reduce sp_reduction_method(const sp_reduction *r) { return r ? r->method : SPMM_REDUCE_AUTO; }
