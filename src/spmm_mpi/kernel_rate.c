/** Times products of row blocks in one process, as the ranks of a node would compute them. */
#include "spmm_mpi/kernel_rate.h"

#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/stats.h"
#include "cli/copy_bandwidth.h"
#include "formats/multivector.h"
#include "plan/plan.h"
#include "spmm_mpi/tune.h"

/** Bounds of a timing: products, seconds, and entries times columns of a product. */
enum { LEAST_PRODUCTS = 3, MOST_PRODUCTS = 25, MOST_WORK = 1 << 30 };
static const double ENOUGH_SECONDS = 0.3;

/** Consecutive rows of the matrix: row blocks of `ranks` ranks, or the first rows of them. */
typedef struct sample {
    int64_t begin, end; /* rows */
    int ranks;
    double bytes; /* what the model says that these rows move */
} sample;

spmm_status sp_kernel_clock_create(const sp_machine *machine, const sp_binding *binding,
                                   const spmm_plan_options *options, sp_kernel_clock *c)
{
    char name[sizeof machine->processor];
    *c = (sp_kernel_clock){.machine = machine, .binding = binding, .options = *options};
    if (machine->efficiency > 0) return SPMM_OK;
    if (machine->device != (int)binding->device)
        return sp_fail(
            SPMM_ERR_USAGE,
            "--machine: there is no efficiency in the file, and its device %s cannot be timed on device %s",
            sp_device_word((spmm_device)machine->device), sp_device_word(binding->device));
    c->here = strcmp(machine->processor, sp_processor_name(binding, name, sizeof name)) == 0;
    return sp_grid_create(MPI_COMM_SELF, 1, 1, &c->self);
}

void sp_kernel_clock_destroy(sp_kernel_clock *c)
{
    if (c->self.size > 0) sp_grid_destroy(&c->self);
}

const char *sp_processor_name(const sp_binding *binding, char *text, size_t n)
{
    if (binding->device == SPMM_CPU) return sp_cpu_name(text, n);
    snprintf(text, n, "%s", binding->gpu.name);
    return text;
}

/* ---- what is multiplied ---- */

static int most_entries(const sp_rank_count *counts, int ranks)
{
    int most = 0;
    for (int r = 1; r < ranks; r++)
        if (counts[r].nnz > counts[most].nnz) most = r;
    return most;
}

static int most_bytes(const sp_rank_count *counts, int ranks, spmm_precision precision, int64_t k)
{
    int most = 0;
    for (int r = 1; r < ranks; r++)
        if (sp_rank_bytes(&counts[r], precision, k) > sp_rank_bytes(&counts[most], precision, k)) most = r;
    return most;
}

/** Returns as many ranks as a node has and this process has threads for, on a GPU one. */
static int ranks_at_once(const sp_kernel_clock *c, int ranks)
{
    int most = c->binding->device == SPMM_CPU ? c->binding->threads / c->machine->threads : 1;
    if (most > c->machine->ranks_per_node) most = c->machine->ranks_per_node;
    if (most > ranks) most = ranks;
    return most < 1 ? 1 : most;
}

/** Takes the row blocks of rank `first` and of those after it, or of the last ones. */
static sample sample_of(const sp_kernel_clock *c, const spmm_csr *a, const sp_ranges *r,
                        const sp_rank_count *counts, int64_t k, int first)
{
    sample s = {.ranks = ranks_at_once(c, r->p)};
    if (first > r->p - s.ranks) first = r->p - s.ranks;
    s.begin = r->row_begin[first];
    s.end = r->row_begin[first + s.ranks];
    for (int i = first; i < first + s.ranks; i++) s.bytes += sp_rank_bytes(&counts[i], a->precision, k);
    const double row = (double)(sp_multivector_ld(k, a->precision) * sp_value_size(a->precision));
    const double fits = (double)sp_available_bytes() / 8 / row;
    int64_t entries = MOST_WORK / k;
    if ((double)(a->cols + s.end - s.begin) > fits && (double)entries > fits) entries = (int64_t)fits;
    const int64_t whole = a->irp[s.end] - a->irp[s.begin];
    while (s.end > s.begin + 1 && a->irp[s.end] - a->irp[s.begin] > entries)
        s.end = s.begin + (s.end - s.begin) / 2;
    if (whole > 0) s.bytes *= (double)(a->irp[s.end] - a->irp[s.begin]) / (double)whole;
    return s;
}

/** Numbers the columns that the rows of b need from 0 on, in their order, as a halo does. */
static spmm_status renumber(spmm_csr *b)
{
    int32_t *number, used = 0;
    TRY(sp_alloc_zero((void **)&number, b->cols, sizeof *number, "numbers of columns"));
    for (int64_t e = 0; e < b->nnz; e++) number[b->ja[e]] = 1;
    for (int64_t j = 0; j < b->cols; j++)
        if (number[j]) number[j] = used++;
    for (int64_t e = 0; e < b->nnz; e++) b->ja[e] = number[b->ja[e]];
    b->cols = used;
    sp_free(number);
    return SPMM_OK;
}

/* ---- timing ---- */

static spmm_status time_plan(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y, double *median)
{
    double seconds[MOST_PRODUCTS], all = 0;
    int n = 0;
    TRY(sp_plan_apply(plan, 1, x, 0, y));
    while (n < MOST_PRODUCTS && (n < LEAST_PRODUCTS || all < ENOUGH_SECONDS)) {
        const double start = MPI_Wtime();
        TRY(sp_plan_apply(plan, 1, x, 0, y));
        seconds[n] = MPI_Wtime() - start;
        all += seconds[n++];
    }
    *median = sp_stats_of(seconds, n).median;
    return SPMM_OK;
}

static spmm_status time_block(const sp_kernel_clock *c, const spmm_block *block, int threads, int64_t k,
                              double *median)
{
    spmm_plan_options options = c->options;
    spmm_plan *plan = NULL;
    spmm_multivector x = {0}, y = {0};
    spmm_status status;
    options.threads = threads;
    TRY(spmm_plan_create(c->self.comm, block, k, &options, &plan));
    TRY_GOTO(spmm_plan_x_create(plan, &x), done);
    TRY_GOTO(spmm_plan_y_create(plan, &y), done);
    if (x.space == SPMM_CPU) sp_multivector_generate(&x, SP_X_UNIFORM, 1, 0, threads);
    TRY_GOTO(time_plan(plan, &x, &y, median), done);
done:
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
    return status;
}

static spmm_status time_sample(const sp_kernel_clock *c, const spmm_csr *a, const sample *s, int threads,
                               int64_t k, double *median)
{
    spmm_block block = {.p = 1, .q = 1};
    TRY(sp_csr_rows(a, s->begin, s->end, &block.csr));
    spmm_status status = renumber(&block.csr);
    block.rows = block.csr.rows;
    block.cols = block.x_rows = block.csr.cols;
    if (status == SPMM_OK) status = time_block(c, &block, threads, k, median);
    spmm_csr_destroy(&block.csr);
    return status;
}

/** Measures the copy rate that a rank has here while `ranks` of them copy, by `threads` threads together. */
static spmm_status copy_here(sp_kernel_clock *c, int ranks, int threads, double *rate)
{
    sp_binding binding = *c->binding;
    binding.threads = threads;
    if (c->copy_threads != threads) TRY(sp_copy_bandwidth(&c->self, &binding, &c->copy_rate));
    if (c->copy_rate <= 0) return sp_fail(SPMM_ERR_MEMORY, "too little memory to time a copy");
    c->copy_threads = threads;
    *rate = c->copy_rate / ranks;
    return SPMM_OK;
}

static int64_t active_ranks(const sp_machine *m, int64_t ranks)
{
    return ranks < m->ranks_per_node ? ranks : m->ranks_per_node;
}

double sp_stated_rate(const sp_machine *m, int64_t ranks)
{
    return m->efficiency * sp_machine_copy_rate(m, active_ranks(m, ranks));
}

/** Turns the rate of `sampled` ranks at once on this machine into that of `active` ranks on a node of the other. */
static spmm_status elsewhere(sp_kernel_clock *c, int sampled, int threads, int64_t active, double *rate)
{
    double here = 1;
    TRY(copy_here(c, sampled, threads, &here));
    const double efficiency = *rate / here;
    const double bound = sp_machine_copy_rate(c->machine, active) * (efficiency > 1 ? efficiency : 1);
    *rate = efficiency * sp_machine_copy_rate(c->machine, sampled);
    if (*rate > bound) *rate = bound;
    return SPMM_OK;
}

/** Times a sample. \param [out] rate  bytes per second of a rank; 0: there are no entries */
static spmm_status sample_rate(const sp_kernel_clock *c, const spmm_csr *a, const sample *s, int threads,
                               int64_t k, double *rate)
{
    double seconds = 0;
    if (a->irp[s->end] > a->irp[s->begin]) TRY(time_sample(c, a, s, threads, k, &seconds));
    *rate = seconds > 0 ? s->bytes / s->ranks / seconds : 0;
    return SPMM_OK;
}

/** Determines the rate by which the slowest of two ranks has its time: of the one with the most entries and, if they are
 *  different blocks, the one with the most bytes. Kernels of skewed matrices are bound by either. */
static spmm_status slowest_rate(const sp_kernel_clock *c, const spmm_csr *a, const sp_ranges *r,
                                const sp_rank_count *counts, int threads, int64_t k, double *rate)
{
    const int heavy = most_entries(counts, r->p), wide = most_bytes(counts, r->p, a->precision, k);
    const sample s = sample_of(c, a, r, counts, k, heavy), t = sample_of(c, a, r, counts, k, wide);
    double other = 0;
    TRY(sample_rate(c, a, &s, threads, k, rate));
    const double bytes = sp_rank_bytes(&counts[heavy], a->precision, k),
                 most = sp_rank_bytes(&counts[wide], a->precision, k);
    if (*rate <= 0 || t.begin == s.begin || most <= bytes) return SPMM_OK;
    TRY(sample_rate(c, a, &t, threads, k, &other));
    *rate *= most / bytes;
    if (other > 0 && other < *rate) *rate = other;
    return SPMM_OK;
}

spmm_status sp_kernel_rate(sp_kernel_clock *c, const spmm_csr *a, const sp_ranges *r,
                           const sp_rank_count *counts, int64_t k, double *rate)
{
    const int64_t active = active_ranks(c->machine, r->p);
    const int ranks = ranks_at_once(c, r->p);
    /* fewer threads than a rank has there: then those that there are */
    const int wanted = ranks * c->machine->threads,
              threads = wanted < c->binding->threads ? wanted : c->binding->threads;
    *rate = sp_stated_rate(c->machine, r->p);
    if (*rate > 0) return SPMM_OK;
    TRY(slowest_rate(c, a, r, counts, threads, k, rate));
    if (*rate <= 0) {
        *rate = sp_machine_copy_rate(c->machine, active);
        return SPMM_OK;
    }
    if (!c->here) return elsewhere(c, ranks, threads, active, rate);
    /* 1, or fewer cores than the ranks of a node; each rank there has a GPU of its own */
    if (c->binding->device == SPMM_CPU) *rate *= (double)ranks / (double)active;
    return SPMM_OK;
}
