/** Implements --io parallel: every rank reads its own block from the file. No rank holds the whole matrix,
 *  unless rank 0 verifies in full. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "distribute/gather.h"
#include "distribute/parallel_read.h"
#include "spmm_mpi/job.h"

/** Copies the row and column blocks from *l to *r, and derives the owners of the rows of X. Collective. */
static spmm_status take_ranges(const sp_grid *grid, const sp_load *l, sp_ranges *r)
{
    TRY(sp_agree(grid->comm, "partition", sp_ranges_create(grid->dims[0], grid->dims[1], r)));
    memcpy(r->row_begin, l->row_begin, (size_t)(r->p + 1) * sizeof *r->row_begin);
    memcpy(r->col_begin, l->col_begin, (size_t)(r->q + 1) * sizeof *r->col_begin);
    return sp_ranges_share(grid, SP_ROOT, l->rows, l->cols, r);
}

static void take_facts(const sp_load *l, int binary, sp_job_input *input)
{
    sp_matrix_facts *const facts = &input->facts;
    input->info = l->info;
    facts->rows = l->rows;
    facts->cols = l->cols;
    facts->nnz = l->nnz;
    facts->stored = l->stored;
    facts->duplicates = l->duplicates;
    facts->longest = l->longest;
    facts->empty = l->empty;
    facts->binary = binary;
    facts->read_bytes = binary ? 12.0 * (double)l->nnz + 8.0 * (double)l->rows : (double)l->info.bytes;
}

spmm_status sp_job_load(const sp_options *o, const sp_place *place, sp_job_input *input,
                        sp_distribution *dist)
{
    const sp_grid *const grid = &place->grid;
    const sp_read_options options = sp_job_read_options(o, place);
    const double start = MPI_Wtime();
    int64_t way = sp_matrix_file_way(&input->file); /* set on rank 0 */
    sp_load l = {.rows = 0};
    spmm_status status;
    TRY(sp_bcast(grid->comm, SP_ROOT, &way, sizeof way));
    dist->cut = (sp_cut){.taken = o->partition, .nnz_rows = -1};
    if (o->partition == SP_PARTITION_AUTO) {
        dist->cut.taken = SP_PARTITION_NNZ;
        snprintf(dist->cut.why, sizeof dist->cut.why, "auto: by entries, as --io parallel reads the blocks");
    }
    TRY_GOTO(
        (way == SP_FILE_TEXT ? sp_load_text : sp_load_csr)(grid, o->matrix, &options, dist->cut.taken, &l),
        done);
    input->facts.parse_seconds = MPI_Wtime() - start;
    take_facts(&l, way != SP_FILE_TEXT, input);
    TRY_GOTO(take_ranges(grid, &l, &dist->ranges), done);
    sp_block_place(grid, &dist->ranges, l.rows, l.cols, &dist->block);
    dist->block.csr = l.csr;
    memset(&l.csr, 0, sizeof l.csr);
done:
    sp_load_destroy(&l);
    return status;
}

/* ---- the reference of rank 0 ---- */

/** Returns the mode in which rank 0 verifies. With --io parallel, verification in full must gather the whole
 *  matrix on rank 0. It is done only if --verify full is given explicitly and rank 0 has enough memory.
 *  Otherwise rank 0 verifies a sample. */
static sp_verify_mode mode_of(const sp_options *o, const sp_job_input *input)
{
    const sp_matrix_facts *const m = &input->facts;
    if (o->verify != SP_VERIFY_FULL) return o->verify;
    const double whole = (double)m->nnz * (double)(sp_value_size(o->precision) + 4) + 8 * (double)m->rows;
    const double need = whole + sp_job_verify_bytes(input, o->precision);
    return o->verify_given && need < 0.8 * (double)sp_available_bytes() ? SP_VERIFY_FULL : SP_VERIFY_SAMPLE;
}

static spmm_status collect_sample(const sp_grid *grid, const sp_distribution *dist, sp_reference *reference)
{
    spmm_csr mine = {0};
    TRY(sp_job_list_sample(grid, &dist->ranges, reference));
    spmm_status status = sp_csr_pick(&dist->block.csr, reference->own, reference->own_count, &mine);
    status = sp_agree(grid->comm, "sample", status);
    if (status == SPMM_OK) status = sp_gather_csr(grid, &mine, dist->ranges.col_begin, &reference->rows);
    spmm_csr_destroy(&mine);
    return status;
}

spmm_status sp_job_collect_reference(const sp_options *o, const sp_place *place, const sp_distribution *dist,
                                     sp_job_input *input, sp_reference *reference)
{
    const sp_grid *const grid = &place->grid;
    reference->mode = mode_of(o, input);
    /* mode_of() depends on the memory of the rank, so all ranks use the mode of rank 0 */
    TRY(sp_bcast(grid->comm, SP_ROOT, &reference->mode, sizeof reference->mode));
    if (reference->mode == SP_VERIFY_SAMPLE) return collect_sample(grid, dist, reference);
    if (reference->mode == SP_VERIFY_FULL)
        return sp_gather_csr(grid, &dist->block.csr, dist->ranges.col_begin, &input->a);
    return SPMM_OK;
}
