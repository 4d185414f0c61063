/** Measures the time of messages, and of floating-point operations in serial products. */
#include "spmm_mpi/probe.h"

#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/output_file.h"
#include "base/stats.h"
#include "cli/copy_bandwidth.h"
#include "cli/message_times.h"
#include "halo/block.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "plan/plan.h"
#include "spmm_mpi/job.h"
#include "spmm_mpi/tune.h"

enum { TRIALS = 9 };

/* ---- operations ---- */

/** Returns the number of rows at the beginning of the matrix a that have at most `entries` entries in total;
 *  at least 1 if `a` has rows. */
static int64_t first_rows(const spmm_csr *a, int64_t entries)
{
    int64_t rows = 0;
    while (rows < a->rows && a->irp[rows + 1] <= entries) rows++;
    return rows > 0 || a->rows == 0 ? rows : 1;
}

static double time_product(const spmm_csr *a, int64_t rows, const spmm_multivector *x, spmm_multivector *y)
{
    double seconds[TRIALS];
    sp_matrix m;
    sp_matrix_view_csr(a, &m);
    sp_serial_product(&m, 0, rows, x, y);
    for (int i = 0; i < TRIALS; i++) {
        const double start = MPI_Wtime();
        sp_serial_product(&m, 0, rows, x, y);
        seconds[i] = MPI_Wtime() - start;
    }
    return sp_stats_of(seconds, TRIALS).median;
}

static spmm_status probe_operations(const spmm_csr *a, int64_t k, double *per_flop)
{
    enum { OPERATIONS = 1 << 23, MOST_X = 64 << 20 };
    const int64_t fits = a->cols > 0 ? MOST_X / (8 * a->cols) : k;
    const int64_t columns = fits < 1 ? 1 : fits < k ? fits : k;
    const int64_t rows = first_rows(a, OPERATIONS / columns);
    spmm_multivector x, y;
    *per_flop = 0;
    if (rows == 0 || a->irp[rows] == 0) return SPMM_OK;
    TRY(spmm_multivector_create(a->cols, columns, a->precision, SPMM_CPU, &x));
    const spmm_status status = spmm_multivector_create(rows, columns, a->precision, SPMM_CPU, &y);
    if (status == SPMM_OK) {
        sp_multivector_generate(&x, SP_X_ONES, 1, 0, 1);
        *per_flop = time_product(a, rows, &x, &y) / (2.0 * (double)a->irp[rows] * (double)columns);
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

spmm_status sp_probe_machine(const sp_grid *grid, spmm_device device, const spmm_csr *block, int64_t k,
                             sp_probe *probe)
{
    sp_message_times messages;
    spmm_status status = SPMM_OK;
    memset(probe, 0, sizeof *probe);
    TRY(sp_time_messages(grid, &messages));
    probe->latency = messages.latency;
    probe->per_byte = messages.per_byte;
    /* only rank 0 computes and copies; the other ranks wait, since on a shared core they would slow rank 0
     * down */
    if (grid->rank == 0) status = probe_operations(block, k, &probe->per_flop);
    if (grid->rank == 0 && device == SPMM_CUDA && status == SPMM_OK)
        status = sp_time_host_copies(&probe->copies);
    TRY(sp_agree(grid->comm, "probe", status));
    return sp_bcast(grid->comm, 0, probe, sizeof *probe);
}

/* ---- a machine file ---- */

/** The measured properties of the machine. Rates are in bytes per second, times in seconds; 0: there is no
 *  such exchange. */
typedef struct machine {
    int nodes, ranks_per_node;
    double copy_rate,
        node_copy_rate; /* bytes read plus written in copies: by one rank while others wait, and by all ranks
                           of a node together */
    double inside_rate, inside_latency;   /* of one rank, within its node */
    double between_rate, between_latency; /* of all ranks of a node together */
} machine;

/* Exchanges that are timed: rows and columns of a large exchange, and the number of repetitions. */
enum {
    EXCHANGE_ROWS = 1 << 14,
    GPU_ROWS = 1 << 17,
    EXCHANGE_COLUMNS = 64,
    EXCHANGES = 15,
    SMALL_EXCHANGES = 201
};

/** Creates a block of `rows` rows in which row i needs row i of the X of another rank. */
static spmm_status block_of(const sp_grid *g, int other, int64_t rows, spmm_block *block)
{
    *block = (spmm_block){.rows = g->size * rows,
                          .cols = g->size * rows,
                          .row_begin = g->rank * rows,
                          .x_begin = g->rank * rows,
                          .x_rows = rows,
                          .p = g->size,
                          .q = 1};
    TRY(sp_csr_create(rows, g->size * rows, rows, SPMM_F64, &block->csr));
    for (int64_t i = 0; i < rows; i++) {
        block->csr.irp[i + 1] = i + 1;
        block->csr.ja[i] = (int32_t)(other * rows + i);
        ((double *)block->csr.as)[i] = 1;
    }
    block->csr.irp[0] = 0;
    return SPMM_OK;
}

static spmm_status time_plan(const sp_grid *g, const spmm_block *block, int64_t k,
                             const spmm_plan_options *options, int repeat, double *median)
{
    double seconds[SMALL_EXCHANGES];
    sp_halo halo = {0};
    spmm_plan *plan = NULL;
    spmm_multivector x = {0};
    spmm_status status;
    TRY(sp_halo_create(g, block, SPMM_EXCHANGE_HALO, options->threads, &halo));
    TRY_GOTO(sp_plan_create(g, block, &halo, NULL, k, options, NULL, &plan), done);
    TRY_GOTO(sp_agree(g->comm, "probe", spmm_plan_x_create(plan, &x)), done);
    /* the first exchanges establish connections */
    TRY_GOTO(sp_job_time_exchange(g, plan, &x, 2, seconds), done);
    TRY_GOTO(sp_job_time_exchange(g, plan, &x, repeat, seconds), done);
    *median = sp_stats_of(seconds, repeat).median;
done:
    spmm_multivector_destroy(&x);
    spmm_plan_destroy(plan);
    sp_halo_destroy(&halo);
    return status;
}

/** Times exchanges in which every rank receives `rows` rows of k columns from one other rank. Collective. */
static spmm_status time_ring(const sp_grid *g, int other, int64_t rows, int64_t k,
                             const spmm_plan_options *options, int repeat, double *median)
{
    spmm_block block;
    spmm_status status = sp_agree(g->comm, "probe", block_of(g, other, rows, &block));
    if (status == SPMM_OK) status = time_plan(g, &block, k, options, repeat, median);
    spmm_block_destroy(&block);
    return status;
}

/** Measures latency and rate of exchanges with rank `other`. The time of a small exchange contains the
 *  latency of its message, and log2(ranks) times the latency for the barrier after it.
 *  \param [out] rate  bytes per second that this rank receives */
static spmm_status probe_exchange(const sp_grid *g, int other, const spmm_plan_options *options,
                                  double *latency, double *rate)
{
    const int64_t rows = options->device == SPMM_CUDA ? GPU_ROWS : EXCHANGE_ROWS;
    double small, large;
    int steps = 1;
    for (int64_t ranks = 1; ranks < g->size; ranks *= 2) steps++;
    TRY(time_ring(g, other, 1, 1, options, SMALL_EXCHANGES, &small));
    TRY(time_ring(g, other, rows, EXCHANGE_COLUMNS, options, EXCHANGES, &large));
    *latency = small / steps;
    *rate = 8.0 * (double)rows * EXCHANGE_COLUMNS / (large > 2 * small ? large - small : large);
    return SPMM_OK;
}

/** Measures the copy rate of rank 0 while the others wait, and of all ranks of a node together. */
static spmm_status probe_copies(const sp_grid *g, const sp_binding *binding, machine *m)
{
    sp_grid self = {0};
    spmm_status status = SPMM_OK;
    TRY(sp_copy_bandwidth(g, binding, &m->node_copy_rate));
    m->node_copy_rate *= m->ranks_per_node;
    if (g->rank == 0) {
        status = sp_grid_create(MPI_COMM_SELF, 1, 1, &self);
        if (status == SPMM_OK) status = sp_copy_bandwidth(&self, binding, &m->copy_rate);
        sp_grid_destroy(&self);
        if (status == SPMM_OK && (m->copy_rate <= 0 || m->node_copy_rate <= 0))
            status = sp_fail(SPMM_ERR_MEMORY, "--probe: too little memory to time a copy");
    }
    TRY(sp_agree(g->comm, "probe", status));
    if (m->node_copy_rate < m->copy_rate) m->node_copy_rate = m->copy_rate;
    return SPMM_OK;
}

/** Determines the nodes, which must have equal numbers of consecutive ranks. Collective. */
static spmm_status find_nodes(const sp_grid *g, machine *m)
{
    int node_rank, right;
    TRY(sp_node_rank(g->comm, &node_rank, &m->ranks_per_node));
    m->nodes = g->size / m->ranks_per_node;
    TRY(sp_all(g->comm, m->nodes * m->ranks_per_node == g->size && node_rank == g->rank % m->ranks_per_node,
               &right));
    return right ? SPMM_OK
                 : sp_fail(SPMM_ERR_USAGE,
                           "--probe: a machine file needs nodes with equal numbers of consecutive ranks");
}

/** Measures exchanges between ranks of one node and between nodes. Collective. */
static spmm_status probe_exchanges(const sp_grid *line, const spmm_plan_options *options, machine *m)
{
    const int node = line->rank / m->ranks_per_node * m->ranks_per_node;
    const int next = node + (line->rank - node + 1) % m->ranks_per_node;
    if (m->ranks_per_node > 1) TRY(probe_exchange(line, next, options, &m->inside_latency, &m->inside_rate));
    if (m->nodes > 1)
        TRY(probe_exchange(line, (line->rank + m->ranks_per_node) % line->size, options, &m->between_latency,
                           &m->between_rate));
    m->between_rate *= m->ranks_per_node;
    return SPMM_OK;
}

/** Writes a line `key = text`. Replaces # and control characters, which would end the text, by blanks. */
static void write_text(FILE *f, const char *key, const char *text)
{
    fprintf(f, "%s = ", key);
    for (const char *c = text; *c; c++) fputc(*c == '#' || (unsigned char)*c < ' ' ? ' ' : *c, f);
    fputc('\n', f);
}

static void write_exchange(FILE *f, const char *where, double rate, double latency)
{
    if (rate > 0) fprintf(f, "%s_rate = %.4g\n%s_latency = %.4g\n", where, rate, where, latency);
}

static spmm_status write_machine(const machine *m, const sp_binding *binding, const char *path)
{
    char cpu[128];
    sp_output_file out;
    TRY(sp_output_file_open(path, NULL, &out));
    FILE *const f = out.file;
    fprintf(f, "# measured by spmm_mpi --probe\n");
    write_text(f, "name", binding->host);
    write_text(f, "processor",
               binding->device == SPMM_CPU ? sp_cpu_name(cpu, sizeof cpu) : binding->gpu.name);
    fprintf(f, "device = %s\nnodes = %d\nranks_per_node = %d\nthreads = %d\n",
            sp_device_word(binding->device), m->nodes, m->ranks_per_node, binding->threads);
    fprintf(f, "copy_rate = %.4g\nnode_copy_rate = %.4g\n", m->copy_rate, m->node_copy_rate);
    write_exchange(f, "inside", m->inside_rate, m->inside_latency);
    write_exchange(f, "between", m->between_rate, m->between_latency);
    /* rows of X are exchanged in a separate stream, concurrently with kernels */
    if (binding->device == SPMM_CUDA) fprintf(f, "overlap = 1\n");
    return sp_output_file_close(&out, SPMM_OK);
}

spmm_status sp_probe_nodes(const sp_grid *grid, const sp_binding *binding, const spmm_plan_options *options,
                           const char *path)
{
    machine m = {.nodes = 0};
    /* exchanges are measured on a P x 1 grid */
    sp_grid line = {0};
    TRY(sp_agree(grid->comm, "probe", find_nodes(grid, &m)));
    TRY(probe_copies(grid, binding, &m));
    TRY(sp_grid_create(grid->comm, grid->size, 1, &line));
    spmm_status status = probe_exchanges(&line, options, &m);
    sp_grid_destroy(&line);
    TRY(status);
    if (grid->rank == 0) status = write_machine(&m, binding, path);
    return sp_agree(grid->comm, "probe", status);
}
