/** Implements --io parallel: every rank reads its own block from the file. No rank holds the whole matrix,
 *  unless rank 0 verifies in full. */
#include <string.h>

#include "base/memory.h"
#include "distribute/gather.h"
#include "io/spmm_file.h"
#include "parallel_io/parallel_read.h"
#include "spmm_mpi/job.h"

/** Copies the row and column blocks from *l to job->ranges, and derives the owners of the rows of X. */
static spmm_status take_ranges(sp_job *job, const sp_load *l)
{
    sp_ranges *const r = &job->ranges;
    TRY(sp_agree(job->grid.comm, "partition", sp_ranges_create(job->grid.dims[0], job->grid.dims[1], r)));
    memcpy(r->row_begin, l->row_begin, (size_t)(r->p + 1) * sizeof *r->row_begin);
    memcpy(r->col_begin, l->col_begin, (size_t)(r->q + 1) * sizeof *r->col_begin);
    return sp_ranges_share(&job->grid, SP_ROOT, l->rows, l->cols, r);
}

/** Moves this rank's block from *l to job->block. */
static void take_block(sp_job *job, sp_load *l)
{
    sp_block_place(&job->grid, &job->ranges, l->rows, l->cols, &job->block);
    job->block.csr = l->csr;
    memset(&l->csr, 0, sizeof l->csr);
}

static void take_facts(sp_job *job, const sp_load *l)
{
    sp_record *const r = &job->record;
    job->info = l->info;
    job->preamble.stored = l->stored;
    job->preamble.duplicates = l->duplicates;
    job->preamble.longest = l->longest;
    job->preamble.empty = l->empty;
    r->matrix.source = job->options.matrix;
    r->matrix.field = job->info.field;
    r->matrix.symmetry = job->info.symmetry;
    r->matrix.rows = l->rows;
    r->matrix.cols = l->cols;
    r->matrix.nnz = l->nnz;
}

static spmm_status load(sp_job *job, sp_load *l)
{
    const sp_read_options options = sp_job_read_options(job);
    const double start = MPI_Wtime();
    int64_t binary = 0;
    if (sp_is_root(job)) binary = sp_spmm_file_is(job->options.matrix);
    TRY(sp_bcast(job->grid.comm, SP_ROOT, &binary, sizeof binary));
    TRY((binary ? sp_load_spmm : sp_load_text)(&job->grid, job->options.matrix, &options,
                                               job->options.partition, l));
    job->preamble.binary = (int)binary;
    job->preamble.parse_seconds = MPI_Wtime() - start;
    job->preamble.read_bytes = binary ? 12.0 * (double)l->nnz + 8.0 * (double)l->rows : (double)l->info.bytes;
    return SPMM_OK;
}

/* ---- what rank 0 verifies with ---- */

/** Returns the mode in which rank 0 verifies. With --io parallel, verification in full must gather the whole
 *  matrix on rank 0. It is done only if --verify full is given explicitly and rank 0 has enough memory.
 *  Otherwise rank 0 verifies a sample. */
static sp_verify_mode mode_of(const sp_job *job)
{
    const sp_record *const r = &job->record;
    const sp_options *const o = &job->options;
    if (o->verify != SP_VERIFY_FULL) return o->verify;
    const double size = (double)sp_value_size(o->precision);
    const double whole = (double)r->matrix.nnz * (size + 4) + 8 * (double)r->matrix.rows;
    const double need = whole + sp_job_verify_bytes(job);
    return o->verify_given && need < 0.8 * (double)sp_available_bytes() ? SP_VERIFY_FULL : SP_VERIFY_SAMPLE;
}

static spmm_status collect_sample(sp_job *job)
{
    spmm_csr mine = {0};
    int64_t count;
    TRY(sp_agree(job->grid.comm, "sample", sp_is_root(job) ? sp_job_list_sample(job, &count) : SPMM_OK));
    TRY(sp_job_own_sample(job));
    spmm_status status = sp_csr_pick(&job->block.csr, job->sample_rows, job->sample_count, &mine);
    status = sp_agree(job->grid.comm, "sample", status);
    if (status == SPMM_OK) status = sp_gather_csr(&job->grid, &mine, job->ranges.col_begin, &job->sample);
    spmm_csr_destroy(&mine);
    return status;
}

static spmm_status collect_reference(sp_job *job)
{
    int64_t mode = mode_of(job);
    TRY(sp_bcast(job->grid.comm, SP_ROOT, &mode, sizeof mode)); /* the mode depends on the memory of rank 0 */
    job->verify = (sp_verify_mode)mode;
    if (job->verify == SP_VERIFY_SAMPLE) return collect_sample(job);
    if (job->verify == SP_VERIFY_FULL)
        return sp_gather_csr(&job->grid, &job->block.csr, job->ranges.col_begin, &job->a);
    return SPMM_OK;
}

spmm_status sp_job_load(sp_job *job)
{
    const double start = MPI_Wtime();
    sp_load l = {.rows = 0};
    spmm_status status;
    TRY_GOTO(load(job, &l), done);
    take_facts(job, &l);
    TRY_GOTO(take_ranges(job, &l), done);
    take_block(job, &l);
    job->record.memory.load_peak_bytes = sp_peak_bytes();
    TRY_GOTO(sp_job_read_x(job), done);
    job->record.seconds.read = MPI_Wtime() - start;
    status = collect_reference(job);
done:
    sp_load_destroy(&l);
    return status;
}
