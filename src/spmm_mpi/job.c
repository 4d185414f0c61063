/** Implements the phases before the products if rank 0 reads the matrix: read, scatter, halo, report. */
#include "spmm_mpi/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "io/generators.h"
#include "io/spmm_file.h"
#include "spmm_mpi/check_conversions.h"

spmm_status sp_job_slowest(const sp_job *job, sp_seconds *seconds)
{
    return sp_slowest(job->grid.comm, (double *)seconds, sizeof *seconds / sizeof(double));
}

/** Shows `fraction` as a percentage, in the same place of stderr each time.
 *  \param [in] context  name of the phase */
static void show_progress(void *context, double fraction)
{
    static int last = -1;
    const int percent = (int)(100 * fraction);
    if (percent == last) return;
    last = percent;
    fprintf(stderr, percent < 100 ? "\r%s %3d%%" : "\r%s done\033[K\r", (const char *)context, percent);
    if (percent >= 100) fputs("\033[K", stderr);
    fflush(stderr);
}

static int progress_wanted(const sp_job *job)
{
    return sp_is_root(job) && job->options.verbosity >= 0 && isatty(STDERR_FILENO);
}

/* ---- read ---- */

sp_read_options sp_job_read_options(const sp_job *job)
{
    return (sp_read_options){.precision = job->options.precision,
                             .threads = job->binding.threads,
                             .allow_nonfinite = job->options.allow_nonfinite,
                             .progress = progress_wanted(job) ? show_progress : NULL,
                             .progress_context = "reading"};
}

/** Reads the matrix from a .spmm file, which an earlier run with --cache has written. */
static spmm_status read_cached(sp_job *job)
{
    const sp_read_options options = sp_job_read_options(job);
    sp_spmm_file_facts facts;
    const double start = MPI_Wtime();
    TRY(sp_spmm_file_read(job->options.matrix, &options, &job->a, &facts));
    job->info = facts.info;
    job->preamble.parse_seconds = MPI_Wtime() - start;
    job->preamble.read_bytes = (double)sp_csr_bytes(&job->a);
    job->preamble.binary = 1;
    job->preamble.stored = facts.info.stored;
    job->preamble.duplicates = facts.duplicates;
    return SPMM_OK;
}

static spmm_status write_cache(const sp_job *job)
{
    const sp_spmm_file_facts facts = {.info = job->info, .duplicates = job->preamble.duplicates};
    TRY(sp_spmm_file_write(job->options.cache, &job->a, &facts, 0, job->binding.threads));
    if (job->options.verbosity >= 0) printf("cache      %s written\n", job->options.cache);
    return SPMM_OK;
}

static spmm_status read_file(sp_job *job)
{
    const sp_read_options options = sp_job_read_options(job);
    const double start = MPI_Wtime();
    if (sp_spmm_file_is(job->options.matrix)) return read_cached(job);
    TRY(sp_read_csr(job->options.matrix, &options, &job->a, &job->info, &job->preamble.stored,
                    &job->preamble.duplicates));
    job->preamble.parse_seconds = MPI_Wtime() - start;
    job->preamble.read_bytes = (double)job->info.bytes;
    return SPMM_OK;
}

static spmm_status generate(sp_job *job)
{
    job->info = (sp_mtx_info){.format = "generated", .field = "real", .symmetry = "general"};
    TRY(sp_gen_csr(job->options.matrix, job->options.precision, job->binding.threads, &job->a));
    job->preamble.stored = job->a.nnz;
    return SPMM_OK;
}

static spmm_status read_x(sp_job *job)
{
    const sp_options *o = &job->options;
    const int64_t cols = job->record.matrix.cols;
    sp_read_options options = sp_job_read_options(job);
    options.progress = NULL;
    TRY(sp_read_dense(o->x_file, &options, &job->x_file));
    if (job->x_file.rows != cols)
        return sp_fail(SPMM_ERR_SYNTAX, "%s: X has %lld rows, and A %lld columns", o->x_file,
                       (long long)job->x_file.rows, (long long)cols);
    if (job->x_file.k < 1) return sp_fail(SPMM_ERR_SYNTAX, "%s: X has no columns", o->x_file);
    return SPMM_OK;
}

static void row_facts(sp_job *job)
{
    const spmm_csr *a = &job->a;
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        if (n > job->preamble.longest) job->preamble.longest = n;
        job->preamble.empty += n == 0;
    }
    job->record.matrix.source = job->options.matrix;
    job->record.matrix.field = job->info.field;
    job->record.matrix.symmetry = job->info.symmetry;
    job->record.matrix.rows = a->rows;
    job->record.matrix.cols = a->cols;
    job->record.matrix.nnz = a->nnz;
}

/** Sets K on every rank to the number of columns of job->x_file; fails if --columns says otherwise. */
static spmm_status columns_of_x(sp_job *job)
{
    sp_options *o = &job->options;
    int64_t k = job->x_file.k;
    TRY(sp_bcast(job->grid.comm, SP_ROOT, &k, sizeof k));
    if (o->k_given && (o->k_count != 1 || o->k[0] != k))
        return sp_fail(SPMM_ERR_USAGE, "%s has %lld columns: leave --columns out, or give %lld", o->x_file,
                       (long long)k, (long long)k);
    o->k_count = 1;
    o->k[0] = k;
    return sp_options_check_column_blocks(o);
}

spmm_status sp_job_read_x(sp_job *job)
{
    if (!job->options.x_file) return SPMM_OK;
    TRY(sp_agree(job->grid.comm, "read", sp_is_root(job) ? read_x(job) : SPMM_OK));
    return columns_of_x(job);
}

spmm_status sp_job_read(sp_job *job)
{
    const double start = MPI_Wtime();
    const sp_options *o = &job->options;
    spmm_status status = SPMM_OK;
    if (sp_is_root(job)) {
        status = sp_gen_is_spec(o->matrix) ? generate(job) : read_file(job);
        if (status == SPMM_OK) row_facts(job);
        if (status == SPMM_OK && o->cache) status = write_cache(job);
    }
    TRY(sp_agree(job->grid.comm, "read", status));
    TRY(sp_job_read_x(job));
    job->record.seconds.read = MPI_Wtime() - start;
    return SPMM_OK;
}

/* ---- scatter ---- */

spmm_status sp_job_own_sample(sp_job *job)
{
    const int blocks = job->ranges.p, me = job->grid.coords[0];
    int64_t *first = NULL;
    spmm_status status = sp_alloc((void **)&first, blocks + 1, sizeof *first, "sample rows");
    if (status == SPMM_OK)
        status = sp_alloc((void **)&job->sample_rows, SP_SAMPLE_ROWS + blocks, sizeof *first, "sample rows");
    status = sp_agree(job->grid.comm, "sample", status);
    if (status == SPMM_OK) {
        sp_sample_rows(job->ranges.row_begin, blocks, job->sample_rows, first);
        job->sample_count = first[me + 1] - first[me];
        for (int64_t i = 0; i < job->sample_count; i++)
            job->sample_rows[i] = job->sample_rows[first[me] + i] - job->block.row_begin;
    }
    sp_free(first);
    return status;
}

spmm_status sp_job_scatter(sp_job *job)
{
    const double start = MPI_Wtime();
    const int keep = job->verify == SP_VERIFY_FULL;
    TRY(sp_scatter(&job->grid, SP_ROOT, &job->a, &job->ranges, keep ? SP_SCATTER_BORROW : SP_SCATTER_CONSUME,
                   progress_wanted(job) ? show_progress : NULL, "scattering", &job->block));
    if (job->verify == SP_VERIFY_SAMPLE) TRY(sp_job_own_sample(job));
    job->record.memory.load_peak_bytes = sp_peak_bytes();
    job->record.seconds.scatter = MPI_Wtime() - start;
    return SPMM_OK;
}

spmm_status sp_job_halo(sp_job *job)
{
    const double start = MPI_Wtime();
    sp_record *r = &job->record;
    TRY(sp_halo_create(&job->grid, &job->block, job->options.exchange, job->binding.threads, &job->halo));
    double most[3] = {(double)(job->halo.ghost_low + job->halo.ghost_high), job->halo.sources,
                      (double)job->block.csr.nnz};
    double entries = most[2];
    TRY(sp_slowest(job->grid.comm, most, 3));
    TRY(sp_sum(job->grid.comm, &entries, 1));
    r->moved.rows = (int64_t)most[0];
    r->moved.neighbours = (int)most[1];
    r->moved.all_rows = job->halo.all_moved;
    r->moved.bcast_rows = job->halo.all_bcast;
    r->imbalance = entries > 0 ? most[2] * job->grid.size / entries : 1;
    r->seconds.halo = MPI_Wtime() - start;
    return SPMM_OK;
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

spmm_status sp_job_preamble(sp_job *job)
{
    static char x[48];
    sp_rank_row mine = {job->binding,
                        job->block.row_begin,
                        job->block.csr.rows,
                        job->block.csr.nnz,
                        sp_csr_bytes(&job->block.csr),
                        job->block.x_rows,
                        job->halo.ghost_low + job->halo.ghost_high,
                        job->halo.sent,
                        job->halo.sources,
                        job->halo.targets};
    sp_rank_row *all = NULL;
    sp_record *r = &job->record;
    r->run.ranks = job->grid.size;
    memcpy(r->run.grid, job->grid.dims, sizeof r->run.grid);
    r->run.device = sp_device_word(job->binding.device);
    r->run.gpu = job->binding.device == SPMM_CUDA ? job->binding.gpu.name : "";
    r->run.host = job->binding.host;
    r->run.threads = job->binding.threads;
    r->run.repeat = job->options.repeat;
    r->run.warmup = job->options.warmup;
    r->run.precision = sp_precision_word(job->options.precision);
    r->run.partition = sp_partition_word(job->options.partition);
    r->run.exchange = job->halo.all_moved > 0 ? sp_exchange_word(job->halo.kind) : "none";
    r->run.overlap = !job->options.no_overlap;
    r->run.x = x_text(&job->options, x, sizeof x);
    r->run.verify = sp_verify_words[job->verify];
    r->mode = job->verify;
    TRY(sp_job_slowest(job, &r->seconds));
    spmm_status status = SPMM_OK;
    if (sp_is_root(job)) status = sp_alloc((void **)&all, job->grid.size, sizeof *all, "a row a rank");
    TRY(sp_agree(job->grid.comm, "report", status));
    status = sp_collect(job->grid.comm, &mine, sizeof mine, all);
    if (status == SPMM_OK && sp_is_root(job) && job->options.verbosity >= 0) {
        sp_report_preamble(stdout, &job->options, r, &job->preamble, all);
        if (job->verify != job->options.verify)
            printf("verify     a sample of %d rows: the whole Y and X would not fit in rank 0's memory\n",
                   SP_SAMPLE_ROWS);
        if (job->options.verbosity > 0 || job->options.action == SP_ACTION_SCATTER_ONLY)
            sp_report_ranks(stdout, all, job->grid.size);
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

spmm_status sp_job_check_conversions(sp_job *job)
{
    enum { SECONDS_LIMIT = 60 };
    sp_coo coo;
    spmm_status status = SPMM_OK;
    if (sp_is_root(job)) {
        status = coo_of_csr(&job->a, &coo);
        if (status == SPMM_OK) {
            status = sp_check_conversions(&coo, job->binding.threads, job->options.ell_limit, SECONDS_LIMIT,
                                          stdout);
            sp_coo_destroy(&coo);
        }
    }
    return sp_agree(job->grid.comm, "conversions", status);
}

void sp_job_destroy(sp_job *job)
{
    sp_halo_destroy(&job->halo);
    spmm_block_destroy(&job->block); /* before job->a, whose arrays job->block may share */
    spmm_csr_destroy(&job->a);
    spmm_csr_destroy(&job->sample);
    spmm_multivector_destroy(&job->x_file);
    sp_ranges_destroy(&job->ranges);
    sp_free(job->perm);
    sp_free(job->x_old);
    sp_free(job->sampled);
    sp_free(job->sample_rows);
    sp_grid_destroy(&job->grid);
    sp_unshare_memory(&job->memory);
    sp_device_close();
}
