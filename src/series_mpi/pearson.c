/** Computes Pearson's coefficients of all pairs of series. In each step, a rank multiplies its series with
 *  those of another rank, tile by tile, while it receives the series for the next step. */
#include "series_mpi/pearson.h"

#include <string.h>

#include "base/enum_words.h"
#include "base/environment.h"
#include "base/memory.h"
#include "device/device.h"
#include "formats/multivector.h"
#include "exchange/exchange.h"
#include "series_mpi/pearson_internal.h"

/** Edge of a tile, which is square: GPU_EDGE on a GPU, CPU_EDGE on a CPU. If there is not enough memory, the
 *  edge is halved, down to about LEAST_EDGE. A GPU multiplies at full speed with tiles of 8192 x 8192. A CPU
 *  does so with 1024 x 1024; such a tile is likely to be still in the cache when the histogram is made from
 *  it. */
enum { GPU_EDGE = 8192, CPU_EDGE = 1024, LEAST_EDGE = 128 };

const char *const sp_pearson_part_words[] = {"centre", "numerators", "coefficients"};

/* ---- which series are multiplied in each step ---- */

static int64_t count_of(const sp_pearson *p, int rank) { return p->begin[rank + 1] - p->begin[rank]; }

/** Returns 1 if, in step d, two ranks receive each other's series. Each of the two ranks then computes half
 *  of the pairs of their series. */
static int shared(const sp_pearson *p, int d) { return d > 0 && 2 * d == p->grid->size; }

/** Determines which rows `rank` sends to `partner` in step d. These are all rows of `rank`, with one
 *  exception: if the two ranks receive each other's series in this step (see shared()), the lower rank sends
 *  only the second half of its rows. */
static void sent_rows(const sp_pearson *p, int rank, int partner, int d, int64_t *first, int64_t *rows)
{
    const int64_t count = count_of(p, rank), half = count / 2;
    *first = shared(p, d) && partner > rank ? half : 0;
    *rows = count - *first;
}

/** Lists the moves of step d, with at most one source rank and one target rank. Odd steps receive into the
 *  ghost rows after the owned rows, even steps into those before. */
static spmm_status step_moves(const sp_pearson *p, int d, sp_moves *m)
{
    const int me = p->grid->rank;
    int from, to;
    int64_t first, rows;
    TRY(sp_ring_shift(p->ring, d, &from, &to));
    *m = (sp_moves){.ghost_low = p->z.ghost_low, .own = p->z.rows, .ghost_high = p->z.ghost_high};
    TRY(sp_alloc_zero((void **)&m->source, 1, sizeof *m->source, "a message"));
    TRY(sp_alloc_zero((void **)&m->target, 1, sizeof *m->target, "a message"));
    sent_rows(p, from, me, d, &first, &rows);
    if (rows > 0) {
        m->source[0] = (sp_source){
            .rank = from, .first = d % 2 ? p->z.ghost_low + p->z.rows : 0, .rows = rows};
        m->sources = 1;
    }
    sent_rows(p, me, to, d, &first, &rows);
    if (rows > 0) {
        m->target[0] = (sp_target){.rank = to, .first = first, .rows = rows};
        m->targets = 1;
        m->sent = rows;
    }
    return SPMM_OK;
}

/* ---- creating and destroying an sp_pearson ---- */

/** Creates the exchange of step d. Between GPUs, the exchange uses NCCL, or host-staged transfers if NCCL
 *  does not work (for example, if two ranks have the same GPU). The peer transport is not used, because it
 *  would need additional memory for each exchange. */
static spmm_status create_exchange(sp_pearson *p, int d)
{
    sp_exchange_options o = {.row_bytes = sp_row_bytes(&p->z), .space = p->space, .threads = p->threads};
    TRY(sp_agree(p->grid->comm, "pearson", step_moves(p, d, &p->moves[d])));
    if (p->space == SPMM_CPU) return sp_exchange_create(p->grid, &p->moves[d], &o, &p->exchange[d]);
    o.transport = p->transport;
    if (p->transport == SPMM_TRANSPORT_NCCL &&
        sp_exchange_create(p->grid, &p->moves[d], &o, &p->exchange[d]) == SPMM_OK)
        return SPMM_OK;
    o.transport = p->transport = SPMM_TRANSPORT_STAGED;
    return sp_exchange_create(p->grid, &p->moves[d], &o, &p->exchange[d]);
}

static spmm_status pearson_allocate(sp_pearson *p, const sp_series *x)
{
    const spmm_precision precision = x->v.precision;
    int64_t most = 0;
    for (int r = 0; r < p->grid->size; r++)
        if (count_of(p, r) > most) most = count_of(p, r);
    TRY(sp_alloc_zero((void **)&p->moves, p->steps, sizeof *p->moves, "exchanges"));
    TRY(sp_alloc_zero((void **)&p->exchange, p->steps, sizeof(sp_exchange *), "exchanges"));
    TRY(sp_multivector_create(p->steps > 2 ? most : 0, x->count, p->steps > 1 ? most : 0, x->length,
                              precision, p->space, &p->z));
    TRY(sp_alloc((void **)&p->host_spread, x->count, sizeof(sp_spread), "deviations"));
    TRY(sp_alloc((void **)&p->host_weight, p->begin[p->grid->size], sizeof(double), "weights"));
    TRY(sp_histogram_create(p->space, &p->histogram));
    TRY(sp_part_clock_create(p->space, &p->clock));
    if (p->space == SPMM_CUDA)
        TRY(sp_device_alloc((void **)&p->weight, p->begin[p->grid->size] * 8, "weights"));
    else
        p->weight = p->host_weight;
    return SPMM_OK;
}

/** Allocates p->tile and sets p->edge. The first edge tried is the value of the environment variable
 *  SPMM_TILE_EDGE if that is set (tests make it tiny); otherwise GPU_EDGE or CPU_EDGE. The edge is
 *  never greater than the largest number of series that a rank owns. If an allocation runs out of memory, it
 *  is repeated with half the edge, down to about LEAST_EDGE. */
static spmm_status allocate_tile(sp_pearson *p)
{
    const int64_t size = sp_value_size(p->z.precision),
                  most = p->z.rows > p->z.ghost_high ? p->z.rows : p->z.ghost_high;
    spmm_status status;
    p->edge = sp_environment_number("SPMM_TILE_EDGE", p->space == SPMM_CUDA ? GPU_EDGE : CPU_EDGE);
    if (p->edge > most) p->edge = most > 0 ? most : 1;
    for (;;) {
        const int64_t bytes = p->edge * p->edge * size;
        status = p->space == SPMM_CUDA
                     ? sp_device_alloc(&p->tile, bytes, "a block of coefficients")
                     : sp_alloc(&p->tile, p->edge * p->edge, (size_t)size, "a block of coefficients");
        if (status != SPMM_ERR_MEMORY || p->edge <= LEAST_EDGE) return status;
        p->edge /= 2;
    }
}

spmm_status sp_pearson_create(const sp_grid *grid, const sp_series *series, const int64_t *begin,
                              const sp_series_kernel *kernel, int threads, sp_pearson **pearson)
{
    sp_pearson *p;
    *pearson = NULL;
    TRY(sp_agree(grid->comm, "pearson", sp_alloc_zero((void **)&p, 1, sizeof *p, "coefficients")));
    p->grid = grid;
    p->series = series;
    p->begin = begin;
    p->kernel = kernel;
    p->threads = threads;
    p->space = series->v.space;
    p->steps = grid->size / 2 + 1;
    p->ring = MPI_COMM_NULL;
    int there = 0;
    spmm_status status = pearson_allocate(p, series);
    if (status == SPMM_OK) status = allocate_tile(p);
    TRY_GOTO(sp_agree(grid->comm, "pearson", status), failed);
    if (p->space == SPMM_CUDA && grid->size > 1)
        TRY_GOTO(sp_transport_there(grid->comm, SPMM_TRANSPORT_NCCL, SPMM_CUDA, &there, NULL), failed);
    TRY_GOTO(sp_agree(grid->comm, "pearson", sp_ring_create(grid, &p->ring)), failed);
    p->transport = there ? SPMM_TRANSPORT_NCCL : SPMM_TRANSPORT_STAGED;
    for (int d = 1; d < p->steps; d++) TRY_GOTO(create_exchange(p, d), failed);
    *pearson = p;
    return SPMM_OK;
failed:
    sp_pearson_destroy(p);
    return status;
}

void sp_pearson_destroy(sp_pearson *p)
{
    if (!p) return;
    for (int d = 1; d < p->steps && p->exchange && p->moves; d++) {
        sp_exchange_destroy(p->exchange[d]);
        sp_moves_destroy(&p->moves[d]);
    }
    sp_ring_destroy(&p->ring);
    sp_free(p->exchange);
    sp_free(p->moves);
    spmm_multivector_destroy(&p->z);
    if (p->space == SPMM_CUDA) {
        sp_device_free(p->weight);
        sp_device_free(p->tile);
    } else {
        sp_free(p->tile);
    }
    sp_free(p->host_spread);
    sp_free(p->host_weight);
    sp_part_clock_destroy(&p->clock);
    if (p->histogram) sp_histogram_destroy(p->space, p->histogram);
    sp_free(p);
}

int64_t sp_pearson_received(const sp_pearson *p)
{
    int64_t rows = 0;
    for (int d = 1; d < p->steps; d++)
        if (p->moves[d].sources) rows += p->moves[d].source[0].rows;
    return rows * sp_row_bytes(&p->z);
}

const char *sp_pearson_transport(const sp_pearson *p)
{
    return p->steps > 1 ? sp_transport_words[sp_exchange_transport(p->exchange[1])] : "none";
}

/* ---- running a pass ---- */

/** Gathers the weights of the series of all ranks on every rank. The weight of a series is 1 / deviation, or
 *  0 if the series is constant. The weights are stored in p->weight: in GPU memory if the tiles are computed
 *  there, else in host memory. Collective. */
static spmm_status share_weights(sp_pearson *p, const sp_spread *spread)
{
    const int64_t count = p->series->count, all = p->begin[p->grid->size];
    double *const mine = p->host_weight + p->begin[p->grid->rank];
    const sp_spread *s = spread;
    spmm_status status = SPMM_OK;
    if (p->space == SPMM_CUDA) {
        status = sp_device_download(p->host_spread, spread, count * (int64_t)sizeof *spread);
        s = p->host_spread;
    }
    for (int64_t m = 0; m < count && status == SPMM_OK; m++) mine[m] = s[m].constant ? 0 : 1 / s[m].deviation;
    TRY(sp_agree(p->grid->comm, "pearson", status));
    TRY(sp_gather_everywhere(p->grid->comm, p->host_weight, p->begin, p->grid->size));
    if (p->space == SPMM_CUDA) status = sp_device_upload(p->weight, p->host_weight, all * 8);
    return sp_agree(p->grid->comm, "pearson", status);
}

/** Two sets of rows that one step multiplies with each other: a, rows of this rank, and b, rows of another
 *  rank (in step 0, also of this rank). first_a and first_b are global numbers of series. */
typedef struct meeting {
    const char *a, *b;
    int64_t first_a, rows_a, first_b, rows_b;
    int same;
} meeting;

static meeting meet(const sp_pearson *p, int d)
{
    const int me = p->grid->rank, other = (me + d) % p->grid->size;
    const int64_t row = sp_row_bytes(&p->z);
    const char *const own = p->z.data;
    meeting m = {own, own, p->begin[me], p->z.rows, p->begin[me], p->z.rows, 1};
    if (d == 0) return m;
    int64_t first, rows;
    sent_rows(p, other, me, d, &first, &rows);
    m.same = 0;
    m.b = d % 2 ? own + p->z.rows * row : own - p->z.ghost_low * row;
    m.first_b = p->begin[other] + first;
    m.rows_b = rows;
    /* If both ranks receive each other's series (see shared()), the lower rank uses only the first half of
       its owned rows, but all rows of the higher rank. The higher rank has received the second half. */
    if (shared(p, d) && me < other) m.rows_a = p->z.rows / 2;
    return m;
}

/** Computes the tile that starts at row i of a and row j of b: numerators, coefficients and histogram. Then
 *  calls the visitor, if it has a function. */
static spmm_status do_tile(sp_pearson *p, const meeting *m, int64_t i, int64_t j,
                           const sp_tile_visitor *visitor)
{
    const int64_t row = sp_row_bytes(&p->z);
    const int64_t rows = m->rows_a - i < p->edge ? m->rows_a - i : p->edge,
                  cols = m->rows_b - j < p->edge ? m->rows_b - j : p->edge;
    const int triangle = m->same && i == j;
    const sp_dots dots = {m->a + i * row, m->b + j * row, rows,    cols,     p->z.k,
                          p->z.ld,        p->z.precision, p->tile, triangle, p->threads};
    const sp_tile tile = {p->tile,
                          rows,
                          cols,
                          m->first_a + i,
                          m->first_b + j,
                          p->z.precision,
                          p->space,
                          triangle,
                          p->weight + m->first_a + i,
                          p->weight + m->first_b + j,
                          p->threads};
    TRY(sp_part_clock_begin(&p->clock, SP_NUMERATORS));
    TRY(p->kernel->ops->dots(&dots));
    TRY(sp_part_clock_end(&p->clock, SP_NUMERATORS));
    TRY(sp_part_clock_begin(&p->clock, SP_COEFFICIENTS));
    TRY(sp_tile_histogram(&tile, p->histogram));
    TRY(sp_part_clock_end(&p->clock, SP_COEFFICIENTS));
    return visitor->look ? visitor->look(p, &tile, visitor->collect) : SPMM_OK;
}

static spmm_status do_meeting(sp_pearson *p, int d, const sp_tile_visitor *visitor)
{
    const meeting m = meet(p, d);
    for (int64_t j = 0; j < m.rows_b; j += p->edge)
        for (int64_t i = 0; i < m.rows_a && !(m.same && i > j); i += p->edge)
            TRY(do_tile(p, &m, i, j, visitor));
    return SPMM_OK;
}

/** Runs all steps of a pass. While the series of one step are multiplied, those of the next step arrive. If
 *  `status` is an error, this rank still takes part in the exchanges, so that no other rank waits for it. */
static spmm_status ring(sp_pearson *p, spmm_status status, const sp_tile_visitor *visitor)
{
    for (int d = 0; d < p->steps; d++) {
        sp_exchange *const next = d + 1 < p->steps ? p->exchange[d + 1] : NULL;
        spmm_status begun = status;
        /* the exchange waits for all kernels enqueued so far. Among them are the last ones that read the
           receive buffer of step d + 1. The kernels of step d are enqueued later and overlap with the
           exchange. */
        if (next && status == SPMM_OK && p->space == SPMM_CUDA)
            begun = sp_stream_wait(SP_STREAM_MOVE, SP_STREAM_MAIN);
        if (begun == SPMM_OK)
            begun = sp_exchange_begin(next, p->z.data);
        else
            sp_exchange_skip(next);
        if (status == SPMM_OK) status = begun == SPMM_OK ? do_meeting(p, d, visitor) : begun;
        if (next && begun == SPMM_OK) {
            const spmm_status ended = sp_exchange_end(next);
            if (status == SPMM_OK) status = ended;
        }
    }
    return status;
}

static spmm_status center(sp_pearson *p, const sp_spread *spread)
{
    TRY(sp_part_clock_begin(&p->clock, SP_CENTER));
    TRY(sp_series_center(p->series, spread, &p->z, p->threads));
    return sp_part_clock_end(&p->clock, SP_CENTER);
}

spmm_status sp_pearson_run(sp_pearson *p, const sp_spread *spread, const sp_tile_visitor *visitor,
                           double *seconds)
{
    sp_part_clock_reset(&p->clock);
    const double start = MPI_Wtime();
    TRY(share_weights(p, spread));
    p->clock.seconds[SP_CENTER] = MPI_Wtime() - start;
    spmm_status status = center(p, spread);
    if (status == SPMM_OK) status = sp_histogram_clear(p->space, p->histogram);
    status = ring(p, status, visitor);
    if (p->space == SPMM_CUDA) {
        const spmm_status ended = sp_device_sync();
        if (status == SPMM_OK) status = ended;
    }
    if (status == SPMM_OK) status = sp_part_clock_finish(&p->clock);
    if (seconds) memcpy(seconds, p->clock.seconds, sizeof p->clock.seconds);
    return sp_agree(p->grid->comm, "pearson", status);
}

spmm_status sp_pearson_pass(sp_pearson *p, const sp_spread *spread, double *seconds)
{
    const sp_tile_visitor nobody = {NULL, NULL};
    return sp_pearson_run(p, spread, &nobody, seconds);
}
