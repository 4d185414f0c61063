/** Prints the description of a plan and the times of its products. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/threads.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

/** Data of all ranks that a view prints. All members are double, for one reduction per struct. */
typedef struct summary {
    struct {
        double entries, rows; /* sums over all blocks */
        double interior;      /* rows computed during the exchange */
    } sum;
    struct {
        double entries, received, neighbors, threads;
        double created, products, seconds, least, greatest, median; /* times: of the slowest rank */
        double first_bytes, second_bytes;                           /* sizes of the converted matrices */
        double queued, crowd; /* crowd: 1 if a rank has more threads than its share of the cores */
    } most;
} summary;

static int view_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Returns the median time of the last products. */
static double median(const sp_product_times *t)
{
    const int n = t->products < SP_LAST_TIMES ? (int)t->products : SP_LAST_TIMES;
    double last[SP_LAST_TIMES];
    if (n == 0) return 0;
    memcpy(last, t->last, (size_t)n * sizeof *last);
    qsort(last, (size_t)n, sizeof *last, view_ascending);
    return (last[(n - 1) / 2] + last[n / 2]) / 2;
}

static spmm_status summarize(const sp_product *p, summary *s)
{
    const sp_moves *const x = &p->given->moves;
    const sp_moves *const partial = p->given->joint ? &p->given->joint->moves : NULL;
    s->sum.entries = s->most.entries = (double)(p->given->local.csr.nnz +
                                                (partial ? p->given->joint->partial.nnz : 0));
    s->sum.rows = (double)p->local->csr.rows;
    s->sum.interior = (double)sp_row_blocks_interior_rows(&p->parts);
    s->most.received = (double)(x->ghost_low + x->ghost_high +
                                (partial ? partial->ghost_low + partial->ghost_high : 0));
    s->most.neighbors = (double)(x->sources + (partial ? partial->sources : 0));
    s->most.threads = (double)p->threads;
    s->most.first_bytes = (double)sp_row_blocks_bytes(p->widths.second ? &p->widths.other : &p->parts);
    s->most.second_bytes = (double)sp_row_blocks_bytes(p->widths.second ? &p->parts : &p->widths.other);
    s->most.created = p->times.created;
    s->most.products = (double)p->times.products;
    s->most.seconds = p->times.seconds;
    s->most.least = p->times.least;
    s->most.greatest = p->times.greatest;
    s->most.median = median(&p->times);
    s->most.queued = (double)p->times.queued;
    s->most.crowd = p->space == SPMM_CPU && p->threads > sp_threads_of_rank();
    TRY(sp_sum(p->grid->comm, (double *)&s->sum, sizeof s->sum / sizeof(double)));
    return sp_slowest(p->grid->comm, (double *)&s->most, sizeof s->most / sizeof(double));
}

/** Prints how many of the rows that ranks need from other ranks are not sent. */
static void print_kept(const sp_product *p, FILE *f)
{
    const int64_t read = p->given->moves.all_moved - p->moves->all_moved;
    if (read > 0 && sp_exchange_shares(p->exchange))
        fprintf(f, "            %lld of the rows are read in place, in memory that ranks of a node share\n",
                (long long)read);
}

/** Prints the sizes of the converted matrices, and which of them is in use. */
static void print_widths(const sp_product *p, const summary *s, FILE *f)
{
    const sp_widths *const w = &p->widths;
    const sp_row_blocks *const first = w->second ? &w->other : &p->parts, *const second = w->second
                                                                                              ? &p->parts
                                                                                              : &w->other;
    fprintf(f, "matrices    %s: %.3g MB of copies%s, for up to %lld columns", first->kernel->id,
            s->most.first_bytes / 1e6, p->grid->size > 1 ? " at most on a rank" : "", (long long)w->most);
    if (second->kernel)
        fprintf(f, "; %s: %.3g MB, for few columns%s", second->kernel->id, s->most.second_bytes / 1e6,
                w->second ? " (taken now)" : "");
    fprintf(f, "\n");
}

static void print_moves(const sp_product *p, const summary *s, FILE *f)
{
    const double row = (double)(sp_multivector_ld(p->k, p->precision) * sp_value_size(p->precision));
    const int64_t moved = sp_ghosted_block_moved(p->given);
    const double halved = sp_plan_rounds(&p->options, p->precision) ? (double)p->given->moves.all_moved / 2
                                                                    : 0;
    if (p->grid->size == 1) return;
    if (moved == 0) {
        fprintf(f, "exchange    none: no rank needs rows of another rank\n");
        return;
    }
    fprintf(f, "exchange    %s by %s", sp_exchange_word(p->given->kind),
            sp_transport_word(sp_product_transport(p)));
    if (halved > 0) fprintf(f, ", rows of X as f32");
    /* between GPUs a transport has several backends */
    if (p->space == SPMM_CUDA && p->exchange) fprintf(f, " (%s)", sp_exchange_backend(p->exchange));
    fprintf(f, ": %lld rows, %.3g MB per product; a rank receives at most %.0f rows from %.0f rank%s\n",
            (long long)moved, ((double)moved - halved) * row / 1e6, s->most.received, s->most.neighbors,
            s->most.neighbors == 1 ? "" : "s");
    print_kept(p, f);
    if (p->column_blocks.count > 1)
        fprintf(f, "overlap     X in %d column blocks, each exchanged while the previous one is multiplied\n",
                p->column_blocks.count);
    else
        fprintf(f, "overlap     %.0f %% of the rows are computed during the exchange\n",
                s->sum.rows > 0 ? 100 * s->sum.interior / s->sum.rows : 0);
}

/** Prints whether fewer ranks would be faster. The estimate uses the times of the kernel and of the exchange,
 *  measured at set-up, and the times of earlier products. Prints nothing after products with another K, or
 *  with the joint exchange, some of whose kernels were not timed. */
static void print_fewer_ranks(const sp_product *p, const summary *s, FILE *f)
{
    const sp_trial *const kernels = &p->decisions.row[SP_DECIDES_KERNEL].trial,
                          *const variants = &p->decisions.row[SP_DECIDES_VARIANT].trial;
    const int timed = kernels->count > 0 && kernels->chosen >= 0 && s->most.products > 0;
    if (!timed || p->given->joint || p->k != p->widths.most || p->widths.second) return;
    const double kernel = kernels->tried[kernels->chosen].seconds * p->column_blocks.count,
                 product = s->most.least;
    const int size = p->grid->size, moves = sp_ghosted_block_moved(p->given) > 0;
    double waits = product, seconds;
    for (int i = 0; i < variants->count; i++)
        if (strstr(variants->tried[i].name, ":1:wait") && isfinite(variants->tried[i].seconds))
            waits = variants->tried[i].seconds;
    const sp_parts_seconds measured = {.kernels = kernel * size,
                                       .local = moves ? kernel : product,
                                       .exchange = moves ? fmax(0, waits - kernel) : 0,
                                       .product = product};
    const int fewer = sp_fewer_ranks(&measured, size, p->grid->dims[1] > 1 ? 1 : size, &seconds);
    if (fewer > 0) fprintf(f, "fewer ranks %d would take about %.4g ms or less\n", fewer, 1e3 * seconds);
}

static void print(const sp_product *p, const summary *s, FILE *f)
{
    const sp_grid *const grid = p->grid;
    const spmm_block *const b = p->block;
    const double mean = s->sum.entries / grid->size;
    const int several = grid->size > 1;
    fprintf(f, "libspmm %s: %s, K = %lld, %s\n", SPMM_VERSION, p->formula, (long long)p->k,
            sp_precision_word(p->precision));
    fprintf(f, "matrix      %lld x %lld, %.0f entries", (long long)b->rows, (long long)b->cols,
            s->sum.entries);
    if (several)
        fprintf(f, " on a %d x %d grid; a rank has at most %.0f, %.3g times the mean", grid->dims[0],
                grid->dims[1], s->most.entries, mean > 0 ? s->most.entries / mean : 1);
    fprintf(f, "\ndevice      %s, %.0f thread%s%s%s\n", sp_device_word(p->space), s->most.threads,
            s->most.threads == 1 ? "" : "s", several ? " per rank" : "",
            s->most.crowd > 0 ? ", oversubscribed: more threads than cores" : "");
    sp_decisions_print(&p->decisions, !several, "", f);
    print_widths(p, s, f);
    print_moves(p, s, f);
    fprintf(f, "steps       %s\n", p->steps.words);
    if (p->stream)
        fprintf(f, "stream      the caller's: %s\n",
                sp_product_queues(p) ? "products are queued"
                                     : "products wait for the GPU, because some steps need the host");
    const double repaid = sp_decisions_repaid(&p->decisions, s->most.created);
    fprintf(f, "set-up      %.4g s", s->most.created);
    if (isfinite(repaid)) fprintf(f, ", repaid after %.0f products", repaid);
    fprintf(f, "\n");
    if (s->most.queued > 0) fprintf(f, "queued      %.0f products, not timed\n", s->most.queued);
    if (s->most.products > 0)
        fprintf(f, "products    %.0f: mean %.4g ms, median %.4g%s, least %.4g, greatest %.4g%s\n",
                s->most.products, 1e3 * s->most.seconds / s->most.products, 1e3 * s->most.median,
                s->most.products > SP_LAST_TIMES ? " of the last 64" : "", 1e3 * s->most.least,
                1e3 * s->most.greatest, several ? ", of the slowest rank" : "");
    else
        fprintf(f, "products    none yet\n");
    print_fewer_ranks(p, s, f);
}

static spmm_status view(const sp_product *p, FILE *f)
{
    summary s;
    TRY(summarize(p, &s));
    if (p->grid->rank == 0) print(p, &s, f);
    return SPMM_OK;
}

/** Writes the whole view and agrees on the outcome. Collective.
 *  \param [in]  opened  SPMM_OK on rank 0 if f can be written; ignored on other ranks
 *  \param [out] failed  1 on rank 0 if f could not be written */
static spmm_status view_all(const spmm_plan *p, spmm_status opened, FILE *f, int *failed)
{
    const sp_grid *const grid = p->forward->grid;
    TRY(sp_agree(grid->comm, "report", opened));
    TRY(view(p->forward, f));
    if (p->transposed) TRY(view(sp_transposed_product(p->transposed), f));
    *failed = grid->rank == 0 && (fflush(f) != 0 || ferror(f));
    return SPMM_OK;
}

static spmm_status view_file(const spmm_plan *p, FILE *f, const char *function)
{
    const sp_grid *const grid = p->forward->grid;
    int failed;
    TRY(view_all(p, grid->rank == 0 ? sp_given(function, "f", f, "a file open for writing") : SPMM_OK, f,
                 &failed));
    return sp_agree(grid->comm, "report",
                    failed ? sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write to the file", function) : SPMM_OK);
}

spmm_status spmm_plan_view(const spmm_plan *p, FILE *f)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(p, __func__, 0));
    return sp_plan_give(p, view_file(p, f, __func__));
}

static spmm_status no_memory(const char *function)
{
    return sp_fail(SPMM_ERR_MEMORY, "%s: cannot allocate the text", function);
}

/** Opens a stream that writes to memory on rank 0. Local. */
static spmm_status open_text(char **text, char **said, size_t *bytes, FILE **f, const char *function)
{
    TRY(sp_given(function, "text", text, "a place for the text"));
    *f = open_memstream(said, bytes);
    return *f ? SPMM_OK : no_memory(function);
}

static spmm_status view_text(const spmm_plan *p, char **text, const char *function)
{
    const sp_grid *const grid = p->forward->grid;
    char *said = NULL;
    size_t bytes = 0;
    FILE *f = NULL;
    int failed = 0;
    spmm_status status = grid->rank == 0 ? open_text(text, &said, &bytes, &f, function) : SPMM_OK;
    status = view_all(p, status, f, &failed);
    if (f && fclose(f) != 0) failed = 1;
    if (status == SPMM_OK) status = sp_agree(grid->comm, "report", failed ? no_memory(function) : SPMM_OK);
    if (status == SPMM_OK && grid->rank == 0)
        *text = said;
    else
        free(said);
    return status;
}

spmm_status spmm_plan_view_text(const spmm_plan *p, char **text)
{
    SP_DEFAULT_FP;
    if (text) *text = NULL;
    TRY(sp_plan_take(p, __func__, 0));
    return sp_plan_give(p, view_text(p, text, __func__));
}
