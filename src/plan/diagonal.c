/** The diagonal of a plan's matrix. */
#include "base/status.h"
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/search.h"
#include "formats/multivector.h"
#include "plan/plan_struct.h"

/** Rows begin .. end - 1 of a block. */
typedef struct diagonal_part {
    int64_t begin, end;
} diagonal_part;

/** Returns the rows whose diagonal entries lie in the columns of the block. Among the ranks of a process row,
 *  exactly one has the diagonal entry of a given row. */
static diagonal_part piece_of(const spmm_block *b)
{
    const int64_t first = b->col_begin - b->row_begin, last = first + b->csr.cols;
    const diagonal_part p = {first > 0 ? first : 0, last < b->csr.rows ? last : b->csr.rows};
    return p.begin < p.end ? p : (diagonal_part){0, 0};
}

static void read_piece(const spmm_block *b, diagonal_part mine, int threads, void *values)
{
    const spmm_csr *const a = &b->csr;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = mine.begin; i < mine.end; i++) {
        const int64_t j = b->row_begin + i - b->col_begin, end = a->irp[i + 1];
        int64_t e = a->irp[i];
        if (b->any_order)
            while (e < end && a->ja[e] != j) e++;
        else
            e = sp_lower_bound_i32(a->ja, e, end, j);
        const int there = e < end && a->ja[e] == j;
        if (there)
            sp_values_copy(a->precision, a->as, e, 1, values, i);
        else
            sp_value_set(values, a->precision, i, 0);
    }
}

/** Sends this rank's diagonal entries to all ranks of the process row, and receives theirs. Collective over
 *  the process row. */
static spmm_status diagonal_share(const sp_grid *grid, diagonal_part *all, diagonal_part mine, int64_t size,
                                  void *values)
{
    if (grid->dims[1] == 1) return SPMM_OK;
    TRY(sp_collect_everywhere(grid->row_comm, &mine, sizeof mine, all));
    for (int q = 0; q < grid->dims[1]; q++)
        TRY(sp_bcast(grid->row_comm, q, (char *)values + all[q].begin * size,
                     (all[q].end - all[q].begin) * size));
    return SPMM_OK;
}

static spmm_status diagonal_check(const sp_product *p, const spmm_multivector *d, const char *function)
{
    TRY(sp_multivector_check_any(d, function, "d"));
    if (d->rows == p->y_rows && d->k == 1 && d->precision == p->precision) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s: d is %lld x %lld %s, expected %lld x 1 %s: a column of Y", function,
                   (long long)d->rows, (long long)d->k, sp_precision_word(d->precision), (long long)p->y_rows,
                   sp_precision_word(p->precision));
}

/** Copies the values of this rank's rows of Y to d. */
static spmm_status write(const sp_product *p, void *values, spmm_multivector *d)
{
    const spmm_multivector from = {d->rows, 1, 1, p->precision, SPMM_CPU, values, 0, 0, SPMM_ROW_MAJOR};
    spmm_multivector to = *d;
    if (d->layout == SPMM_COLUMN_MAJOR) to.ld = 1; /* one column is row-major as well */
    to.layout = SPMM_ROW_MAJOR;
    return spmm_multivector_copy(&from, &to);
}

/** Checks d, waits for products, which may read d, and updates the values of the block in host memory.
 *  Allocates `values`, one for each row of the block, and `all`, one diagonal_part for each rank of the
 *  process row. Local. */
static spmm_status diagonal_prepare(const spmm_plan *plan, const spmm_multivector *d, const char *function,
                                    void **values, diagonal_part **all)
{
    const sp_product *const p = plan->forward;
    TRY(diagonal_check(p, d, function));
    TRY(sp_product_wait(plan->forward));
    TRY(sp_plan_refresh(plan->own));
    TRY(sp_alloc(values, p->block->csr.rows, sp_value_size(p->precision), "a diagonal"));
    return sp_alloc((void **)all, p->grid->dims[1], sizeof **all, "a diagonal");
}

static spmm_status diagonal(const spmm_plan *plan, spmm_multivector *d, const char *function)
{
    const sp_product *const p = plan->forward;
    const spmm_block *const b = p->block;
    const diagonal_part mine = piece_of(b);
    void *values = NULL;
    diagonal_part *all = NULL;
    if (b->rows != b->cols)
        return sp_fail(SPMM_ERR_USAGE, "%s: the matrix is %lld x %lld, expected a square one", function,
                       (long long)b->rows, (long long)b->cols);
    spmm_status status = diagonal_prepare(plan, d, function, &values, &all);
    TRY_GOTO(sp_agree(p->grid->comm, "diagonal", status), done);
    read_piece(b, mine, p->threads, values);
    TRY_GOTO(diagonal_share(p->grid, all, mine, sp_value_size(p->precision), values), done);
    status = sp_agree(p->grid->comm, "diagonal", write(p, values, d));
done:
    sp_free(values);
    sp_free(all);
    return status;
}

spmm_status spmm_plan_diagonal(spmm_plan *plan, spmm_multivector *d)
{
    SP_DEFAULT_FP;
    TRY(sp_plan_take(plan, __func__, 1));
    return sp_plan_give(plan, diagonal(plan, d, __func__));
}
