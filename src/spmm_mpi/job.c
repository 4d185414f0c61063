/** Implements the phases before the products, if rank 0 reads the matrix: read, scatter, halo, report. */
#include "spmm_mpi/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "base/words.h"
#include "cli/progress.h"
#include "io/generators.h"
#include "files/dense_file.h"
#include "files/matrix_write.h"
#include "spmm_mpi/check_conversions.h"

spmm_status sp_job_slowest(const sp_grid *grid, sp_seconds *seconds)
{
    return sp_slowest(grid->comm, (double *)seconds, sizeof *seconds / sizeof(double));
}

sp_scatter_progress sp_job_progress(const sp_place *place)
{
    return place->verbosity >= 0 && sp_progress_is_seen() ? sp_progress_show : NULL;
}

void sp_job_phase(const sp_place *place, const char *phase)
{
    if (sp_job_progress(place)) sp_progress_phase(phase);
}

/* ---- read ---- */

sp_read_options sp_job_read_options(const sp_options *o, const sp_place *place)
{
    return (sp_read_options){.precision = o->precision,
                             .threads = place->binding.threads,
                             .allow_nonfinite = o->allow_nonfinite,
                             .edges = o->edges,
                             .progress = sp_job_progress(place),
                             .progress_context = "reading"};
}

static spmm_status write_cache(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    TRY(sp_matrix_write(o->cache, &input->a));
    if (place->verbosity >= 0) printf("cache      %s written\n", SHOWN_WHOLE(o->cache));
    return SPMM_OK;
}

static spmm_status read_file(sp_job_input *input)
{
    sp_matrix_facts *const facts = &input->facts;
    const double start = MPI_Wtime();
    facts->binary = sp_matrix_file_binary(&input->file);
    TRY(sp_matrix_file_read(&input->file, &input->a, &input->info, &facts->stored, &facts->duplicates));
    facts->read_bytes = (double)(facts->binary ? sp_csr_bytes(&input->a) : input->info.bytes);
    facts->parse_seconds = MPI_Wtime() - start;
    return SPMM_OK;
}

sp_stencil sp_job_stencil(const sp_options *o, const sp_place *place)
{
    sp_stencil s = {.side = 0};
    const int cpu = o->device == SP_DEVICE_CPU ||
                    (o->device == SP_DEVICE_AUTO && place->binding.device == SPMM_CPU);
    if (o->action == SP_ACTION_DRY_RUN && !o->cache && !sp_options_may_join(o) &&
        !(cpu && o->ranks_per_node > 1))
        s.side = sp_gen_stencil(o->matrix, &s.dimensions, &s.star);
    return s;
}

static spmm_status job_generate(const sp_options *o, const sp_place *place, sp_job_input *input)
{
    input->info = (sp_mtx_info){.format = "generated", .field = "real", .symmetry = "general"};
    input->a = (spmm_csr){.precision = o->precision};
    if (sp_job_stencil(o, place).side > 0) {
        sp_sizes sizes;
        TRY(sp_gen_sizes(o->matrix, &sizes));
        input->a.rows = input->a.cols = sizes.rows;
        input->a.nnz = sizes.entries;
        return SPMM_OK;
    }
    sp_job_phase(place, "generating");
    const spmm_status status = sp_gen_csr(o->matrix, o->precision, place->binding.threads, &input->a);
    sp_job_phase(place, NULL);
    input->facts.stored = input->a.nnz;
    return status;
}

static void row_facts(const spmm_csr *a, sp_matrix_facts *facts)
{
    for (int64_t i = 0; i < a->rows && a->irp; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n > facts->longest) facts->longest = n;
        facts->empty += n == 0;
    }
    facts->rows = a->rows;
    facts->cols = a->cols;
    facts->nnz = a->nnz;
}

spmm_status sp_job_read(const sp_options *o, const sp_place *place, sp_job_input *input)
{
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) {
        status = sp_gen_is_spec(o->matrix) ? job_generate(o, place, input) : read_file(input);
        if (status == SPMM_OK) row_facts(&input->a, &input->facts);
        if (status == SPMM_OK && o->cache) status = write_cache(o, place, input);
    }
    TRY(sp_agree(place->grid.comm, "read", status));
    return sp_bcast(place->grid.comm, SP_ROOT, &input->facts, sizeof input->facts);
}

spmm_status sp_job_convert(const sp_options *o, const sp_place *place, const sp_job_input *input)
{
    const spmm_csr *const a = &input->a;
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) status = sp_matrix_write(o->convert, a);
    if (status == SPMM_OK && place->verbosity >= 0 && sp_is_root(place))
        printf("converted  %s to %s: %lld x %lld, %lld entries\n", SHOWN_WHOLE(o->matrix),
               SHOWN_WHOLE(o->convert), (long long)a->rows, (long long)a->cols, (long long)a->nnz);
    return sp_agree(place->grid.comm, "read", status);
}

/** Rounds values to the nearest f32. \return the index of an entry beyond the range of f32; -1: none */
static int64_t round_values(const spmm_csr *a, int threads)
{
    double *const value = a->as;
    const int parts = sp_type_of(a->precision).parts;
    int64_t beyond = -1;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : beyond)
    for (int64_t e = 0; e < a->nnz * parts; e++) {
        const double rounded = (double)(float)value[e];
        if (isinf(rounded) && isfinite(value[e]))
            beyond = e / parts;
        else
            value[e] = rounded;
    }
    return beyond;
}

spmm_status sp_job_round(const sp_options *o, const sp_place *place, int64_t first, spmm_csr *a)
{
    spmm_status status = SPMM_OK;
    if (!o->round_values || !sp_rounds(o->precision, SPMM_F32)) return SPMM_OK;
    const int64_t e = round_values(a, place->binding.threads);
    if (e >= 0) {
        int64_t row = 0;
        while (a->irp[row + 1] <= e) row++;
        status = sp_fail(SPMM_ERR_USAGE,
                         "--values f32: the value %g in row %lld (rows are counted from 1) is beyond the "
                         "range of f32: omit --values",
                         ((const double *)a->as)[e], (long long)(first + row + 1));
    }
    return sp_agree(place->grid.comm, "read", status);
}

static spmm_status read_x(const char *path, sp_read_options options, int64_t cols, spmm_multivector *x)
{
    options.progress = NULL;
    TRY(sp_dense_file_read(path, &options, x));
    if (x->rows != cols)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: X has %lld rows, expected as many as the %lld columns of A",
                       path, (long long)x->rows, (long long)cols);
    if (x->k < 1) return sp_fail(SPMM_ERR_SYNTAX, "%s: X has no columns, expected at least 1", path);
    return SPMM_OK;
}

spmm_status sp_job_read_x(const sp_options *o, const sp_place *place, sp_job_input *input)
{
    spmm_status status = SPMM_OK;
    input->columns = o->columns;
    if (!o->x_file) return SPMM_OK;
    if (sp_is_root(place))
        status = read_x(o->x_file, sp_job_read_options(o, place), input->facts.cols, &input->x);
    TRY(sp_agree(place->grid.comm, "read", status));
    int64_t k = input->x.k;
    TRY(sp_bcast(place->grid.comm, SP_ROOT, &k, sizeof k));
    if (o->k_given && (o->columns.count != 1 || o->columns.k[0] != k))
        return sp_fail(SPMM_ERR_USAGE, "%s has %lld columns: omit --columns, or give %lld", o->x_file,
                       (long long)k, (long long)k);
    input->columns = (sp_columns){{k}, 1};
    return sp_options_check_column_blocks(o, &input->columns);
}

/* ---- scatter ---- */

spmm_status sp_job_scatter(const sp_options *o, const sp_place *place, const sp_reference *reference,
                           sp_job_input *input, sp_distribution *dist, sp_record *record)
{
    const sp_scatter_options options = {.mode = reference->mode == SP_VERIFY_FULL ? SP_SCATTER_BORROW
                                                                                  : SP_SCATTER_CONSUME,
                                        .two_stage = o->two_stage,
                                        .padded = o->scatter_padded,
                                        .ell_limit = o->ell_limit,
                                        .threads = place->binding.threads,
                                        .progress = sp_job_progress(place),
                                        .context = "scattering"};
    sp_scatter_times times;
    TRY(sp_scatter(&place->grid, SP_ROOT, &input->a, &dist->ranges, &options, &dist->block, &dist->slice,
                   &times));
    record->memory.load_peak_bytes = sp_peak_bytes();
    record->seconds.bands = times.bands;
    record->seconds.pad = times.pad;
    record->seconds.unpad = times.unpad;
    return SPMM_OK;
}

/* ---- sample and renumbering ---- */

spmm_status sp_job_list_sample(const sp_grid *grid, const sp_ranges *ranges, sp_reference *reference)
{
    const int blocks = ranges->p, me = grid->coords[0];
    const int64_t most = SP_SAMPLE_ROWS + blocks;
    int64_t *first = NULL;
    spmm_status status = sp_alloc((void **)&first, blocks + 1, sizeof *first, "sample rows");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&reference->sampled, 2 * most, sizeof *first, "sample rows");
    status = sp_agree(grid->comm, "sample", status);
    if (status == SPMM_OK) {
        sp_sample_rows(ranges->row_begin, blocks, reference->sampled, first);
        reference->count = first[blocks];
        reference->own = reference->sampled + most;
        reference->own_count = first[me + 1] - first[me];
        for (int64_t i = 0; i < reference->own_count; i++)
            reference->own[i] = reference->sampled[first[me] + i] - ranges->row_begin[me];
    }
    sp_free(first);
    return status;
}

spmm_status sp_job_permute(const int64_t *perm, spmm_multivector *x)
{
    spmm_multivector renumbered;
    TRY(spmm_multivector_create(x->rows, x->k, x->precision, SPMM_CPU, &renumbered));
    const spmm_status status = sp_multivector_permute(x, perm, 0, &renumbered);
    spmm_multivector_destroy(status == SPMM_OK ? x : &renumbered);
    if (status == SPMM_OK) *x = renumbered;
    return status;
}

/* ---- report before the products ---- */

static const char *x_text(const sp_options *o, char *buf, size_t n)
{
    if (o->x_file) return o->x_file;
    if (o->x_kind == SP_X_ONES) return "ones";
    if (o->x_kind == SP_X_INDEX) return "index";
    snprintf(buf, n, "uniform:%llu", (unsigned long long)o->x_seed);
    return buf;
}

/** Returns the number of ranks from which this rank receives rows of X or partial rows of Y. */
static int neighbors(const sp_ghosted_block *b)
{
    const sp_moves *const x = &b->moves, *const other = b->joint ? &b->joint->moves : NULL;
    int count = x->sources;
    for (int i = 0, j = 0; other && i < other->sources; i++) {
        while (j < x->sources && x->source[j].rank < other->source[i].rank) j++;
        count += j == x->sources || x->source[j].rank != other->source[i].rank;
    }
    return count;
}

spmm_status sp_job_note_moves(const sp_ghosted_block *b, sp_record *record)
{
    const sp_grid *const grid = b->grid;
    const sp_moves *const x = &b->moves, *const partial = b->joint ? &b->joint->moves : NULL;
    const int64_t rows = partial ? partial->ghost_low + partial->ghost_high : 0;
    double all = (double)(b->local.csr.nnz + (partial ? b->joint->partial.nnz : 0));
    double most[3] = {(double)(x->ghost_low + x->ghost_high + rows), neighbors(b), all};
    TRY(sp_slowest(grid->comm, most, 3));
    TRY(sp_sum(grid->comm, &all, 1));
    record->imbalance = all > 0 ? most[2] * grid->size / all : 1;
    record->moved.rows = (int64_t)most[0];
    record->moved.neighbors = (int)most[1];
    record->moved.all_rows = sp_ghosted_block_moved(b);
    record->moved.partial_rows = partial ? partial->all_moved : 0;
    record->moved.bcast_rows = b->all_bcast;
    record->run.exchange = record->moved.all_rows > 0 ? sp_exchange_word(b->kind) : "none";
    return SPMM_OK;
}

static void note_run(const sp_job *job, sp_record *r)
{
    static char x[48];
    const sp_options *const o = &job->options;
    r->matrix = job->input.facts;
    r->matrix.source = o->matrix;
    r->matrix.field = job->input.info.field;
    r->matrix.symmetry = job->input.info.symmetry;
    r->run.ranks = job->place.grid.size;
    memcpy(r->run.grid, job->place.grid.dims, sizeof r->run.grid);
    r->run.binding = &job->place.binding;
    r->run.repeat = o->repeat;
    r->run.warmup = o->warmup;
    r->run.precision = sp_precision_word(o->precision);
    r->run.partition = sp_partition_word(job->dist.cut.taken);
    r->cut = job->dist.cut.why;
    r->moved.nnz_rows = job->dist.cut.nnz_rows;
    r->run.overlap = !o->no_overlap;
    r->run.x = x_text(o, x, sizeof x);
    r->scatter.way = o->io_parallel ? "none" : sp_scatter_word(o);
    r->scatter.format = o->io_parallel ? "none" : sp_format_word(o->scatter_padded ? SPMM_ELL : SPMM_CSR);
    r->run.verify = sp_verify_words[job->reference.mode];
    r->mode = job->reference.mode;
}

spmm_status sp_job_preamble(const sp_job *job, sp_record *record)
{
    const sp_options *const o = &job->options;
    const sp_grid *const grid = &job->place.grid;
    const spmm_block *const block = &job->dist.block;
    const sp_moves *const x = &job->dist.ghosted.moves;
    const sp_rank_row mine = {job->place.binding,
                              {grid->coords[0], grid->coords[1]},
                              block->row_begin,
                              block->csr.rows,
                              block->col_begin,
                              block->csr.cols,
                              block->csr.nnz,
                              sp_csr_bytes(&block->csr),
                              block->x_rows,
                              x->ghost_low + x->ghost_high,
                              x->sent,
                              x->sources,
                              x->targets};
    sp_rank_row *all = NULL;
    note_run(job, record);
    TRY(sp_job_note_moves(&job->dist.ghosted, record));
    TRY(sp_job_slowest(grid, &record->seconds));
    spmm_status status = SPMM_OK;
    if (sp_is_root(&job->place))
        status = sp_alloc((void **)&all, grid->size, sizeof *all, "one row per rank");
    TRY(sp_agree(grid->comm, "report", status));
    status = sp_collect(grid->comm, &mine, sizeof mine, all);
    if (status == SPMM_OK && job->place.verbosity >= 0) {
        if (!o->brief) {
            sp_report_preamble(stdout, o, record);
            if (job->reference.mode != o->verify)
                printf("verify     a sample of %d rows: the whole Y and X would not fit in rank 0's memory\n",
                       SP_SAMPLE_ROWS);
        }
        if (o->action == SP_ACTION_SCATTER_ONLY) sp_report_exchange(stdout, record);
        if (o->verbosity > 0 || o->action == SP_ACTION_SCATTER_ONLY) sp_report_ranks(stdout, all, grid->size);
        fflush(stdout);
    }
    sp_free(all);
    return status;
}

/* ---- --check-conversions ---- */

static spmm_status coo_of_csr(const spmm_csr *a, sp_coo *coo)
{
    TRY(sp_coo_create(a->rows, a->cols, a->nnz, SP_GENERAL, a->precision, 1, coo));
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) coo->I[e] = (int32_t)i;
    memcpy(coo->J, a->ja, (size_t)a->nnz * sizeof *a->ja);
    memcpy(coo->val, a->as, (size_t)(a->nnz * sp_value_size(a->precision)));
    return SPMM_OK;
}

spmm_status sp_job_check_conversions(const sp_place *place, const spmm_csr *a, double ell_limit)
{
    enum { SECONDS_LIMIT = 60 };
    sp_coo coo;
    spmm_status status = SPMM_OK;
    if (sp_is_root(place)) {
        status = coo_of_csr(a, &coo);
        if (status == SPMM_OK) {
            status = sp_check_conversions(&coo, place->binding.threads, ell_limit, SECONDS_LIMIT, stdout);
            sp_coo_destroy(&coo);
        }
    }
    return sp_agree(place->grid.comm, "conversions", status);
}

void sp_job_destroy(sp_job *job)
{
    sp_distribution *const d = &job->dist;
    sp_ghosted_block_destroy(&d->ghosted);
    sp_ghosted_block_destroy(&d->joint);
    sp_matrix_destroy(&d->slice);
    spmm_block_destroy(&d->block); /* destroyed before input.a, whose arrays the block may share */
    sp_ranges_destroy(&d->ranges);
    sp_free(d->perm);
    sp_free(d->x_old);
    sp_matrix_file_close(&job->input.file);
    spmm_csr_destroy(&job->input.a);
    spmm_multivector_destroy(&job->input.x);
    spmm_csr_destroy(&job->reference.rows);
    sp_free(job->reference.sampled);
    sp_place_destroy(&job->place);
    sp_device_close();
}
