/** Makes blocks from rows that another library has distributed. */
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "device/device.h"
#include "formats/csr.h"
#include "formats/csr_sort.h"

static const char function[] = "spmm_block_from_rows";

static int64_t index_at(const void *array, int bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* ---- checks ---- */

/** Checks that an array is present and in host memory, and that its integers have 4 or 8 bytes. For
 *  values, `bytes` is 8. */
static spmm_status check_array(int part, const char *name, const void *array, int bytes)
{
    if (!array)
        return sp_fail(SPMM_ERR_USAGE, "%s: part[%d].%s is NULL, expected an array", function, part, name);
    if (bytes != 4 && bytes != 8)
        return sp_fail(SPMM_ERR_USAGE, "%s: part[%d].%s_bytes is %d, expected 4 or 8", function, part, name,
                       bytes);
    if (sp_device_reach(array) == SP_REACH_GPU)
        return sp_fail(SPMM_ERR_USAGE, "%s: part[%d].%s is in GPU memory, expected host memory", function,
                       part, name);
    return SPMM_OK;
}

static spmm_status check_starts(int part, const spmm_rows *p, int64_t rows)
{
    int64_t before = index_at(p->irp, p->irp_bytes, 0);
    if (before < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: part[%d].irp[0] is %lld, expected 0 or more", function, part,
                       (long long)before);
    for (int64_t i = 1; i <= rows; i++) {
        const int64_t start = index_at(p->irp, p->irp_bytes, i);
        if (start < before)
            return sp_fail(
                SPMM_ERR_USAGE,
                "%s: part[%d].irp[%lld] is %lld, expected at least %lld: row starts must not decrease",
                function, part, (long long)i, (long long)start, (long long)before);
        before = start;
    }
    return SPMM_OK;
}

static spmm_status check_part(int part, const spmm_rows *p, int64_t rows)
{
    TRY(check_array(part, "irp", p->irp, p->irp_bytes));
    TRY(check_starts(part, p, rows));
    if (index_at(p->irp, p->irp_bytes, rows) > index_at(p->irp, p->irp_bytes, 0)) {
        TRY(check_array(part, "ja", p->ja, p->ja_bytes));
        if (p->as) TRY(check_array(part, "as", p->as, 8));
    }
    if (p->map) TRY(check_array(part, "map", p->map, p->map_bytes));
    if (p->map && p->map_size < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: part[%d].map_size is %lld, expected 0 or more", function, part,
                       (long long)p->map_size);
    return SPMM_OK;
}

static spmm_status block_from_rows_check(int64_t rows, int64_t x_rows, spmm_precision precision,
                                         const spmm_rows *part, int parts, const spmm_block *block)
{
    TRY(sp_fork_check(function));
    TRY(sp_given(function, "block", block, "a place for the block"));
    TRY(sp_precision_check(function, precision));
    if (rows < 0 || x_rows < 0)
        return sp_fail(SPMM_ERR_USAGE, "%s: %s is %lld, expected 0 or more", function,
                       rows < 0 ? "rows" : "x_rows", (long long)(rows < 0 ? rows : x_rows));
    if (parts < 0) return sp_fail(SPMM_ERR_USAGE, "%s: parts is %d, expected 0 or more", function, parts);
    if (parts > 0) TRY(sp_given(function, "part", part, "the rows"));
    for (int n = 0; n < parts; n++) TRY(check_part(n, &part[n], rows));
    return SPMM_OK;
}

/* ---- the place of the rows ---- */

/** Numbers of rows of A and of X: of one rank, or summed over ranks. */
typedef struct counts {
    int64_t rows, x_rows;
} counts;

/** Computes this rank's position from the numbers of rows of all ranks. Collective.
 *  \param [out] block  all members except csr are set */
static spmm_status find_place(MPI_Comm comm, counts mine, spmm_block *block)
{
    int rank, ranks;
    counts *all = NULL, sum = {0, 0};
    TRY(SP_MPI(MPI_Comm_rank(comm, &rank)));
    TRY(SP_MPI(MPI_Comm_size(comm, &ranks)));
    spmm_status status = sp_alloc((void **)&all, ranks, sizeof *all, "the ranks' numbers of rows");
    TRY_GOTO(sp_agree(comm, "block", status), done);
    TRY_GOTO(sp_collect_everywhere(comm, &mine, sizeof mine, all), done);
    for (int r = 0; r < ranks; r++) {
        if (r == rank) block->row_begin = sum.rows, block->x_begin = sum.x_rows;
        if (__builtin_add_overflow(sum.rows, all[r].rows, &sum.rows) ||
            __builtin_add_overflow(sum.x_rows, all[r].x_rows, &sum.x_rows)) {
            status = sp_fail(SPMM_ERR_LIMIT, "%s: the total number of rows does not fit 64 bits", function);
            goto done;
        }
    }
    block->rows = sum.rows;
    block->cols = sum.x_rows;
    block->x_rows = mine.x_rows;
    block->p = ranks;
    block->q = 1;
done:
    sp_free(all);
    return status;
}

/* ---- the entries ---- */

/** Returns the global column for an index of a part; the column may be out of range. Returns -1 if the index
 *  is outside the map, or if its sum with first_column exceeds 64 bits. */
static int64_t column_of(const spmm_rows *p, int64_t index)
{
    int64_t column;
    if (!p->map) return __builtin_add_overflow(p->first_column, index, &column) ? -1 : column;
    return index >= 0 && index < p->map_size ? index_at(p->map, p->map_bytes, index) : -1;
}

/** Fails with a message about the first entry of row i whose column is out of range. */
static spmm_status blame(const spmm_rows *part, int parts, int64_t i, int64_t cols)
{
    for (int n = 0; n < parts; n++) {
        const spmm_rows *const p = &part[n];
        const int64_t end = index_at(p->irp, p->irp_bytes, i + 1);
        for (int64_t e = index_at(p->irp, p->irp_bytes, i); e < end; e++) {
            const int64_t index = index_at(p->ja, p->ja_bytes, e), column = column_of(p, index);
            if (column >= 0 && column < cols) continue;
            if (p->map && (index < 0 || index >= p->map_size))
                return sp_fail(SPMM_ERR_USAGE,
                               "%s: part[%d].ja[%lld] is %lld, expected an index of map, below %lld",
                               function, n, (long long)e, (long long)index, (long long)p->map_size);
            if (p->map)
                return sp_fail(SPMM_ERR_USAGE,
                               "%s: part[%d].map[%lld] is %lld, expected a column, below %lld", function, n,
                               (long long)index, (long long)column, (long long)cols);
            return sp_fail(
                SPMM_ERR_USAGE,
                "%s: part[%d].ja[%lld] is %lld and first_column %lld, expected their sum to be a column, "
                "below %lld",
                function, n, (long long)e, (long long)index, (long long)p->first_column, (long long)cols);
        }
    }
    return SPMM_OK;
}

/** Writes the entries of row i, one part after another. \return 1; 0: a column is out of range */
static int write_row(const spmm_rows *part, int parts, int64_t i, spmm_csr *a)
{
    int64_t at = a->irp[i];
    for (int n = 0; n < parts; n++) {
        const spmm_rows *const p = &part[n];
        const int64_t end = index_at(p->irp, p->irp_bytes, i + 1);
        for (int64_t e = index_at(p->irp, p->irp_bytes, i); e < end; e++, at++) {
            const int64_t column = column_of(p, index_at(p->ja, p->ja_bytes, e));
            if (column < 0 || column >= a->cols) return 0;
            a->ja[at] = (int32_t)column;
            sp_value_set(a->as, a->precision, at, p->as ? sp_value_get(p->as, a->precision, e) : 1);
        }
    }
    return 1;
}

/** Counts the entries of all parts. */
static spmm_status block_from_rows_count(const spmm_rows *part, int parts, int64_t rows, int64_t *entries)
{
    *entries = 0;
    for (int n = 0; n < parts; n++) {
        const spmm_rows *const p = &part[n];
        const int64_t more = index_at(p->irp, p->irp_bytes, rows) - index_at(p->irp, p->irp_bytes, 0);
        if (__builtin_add_overflow(*entries, more, entries))
            return sp_fail(SPMM_ERR_LIMIT, "%s: the number of entries of all parts exceeds 64 bits",
                           function);
    }
    return SPMM_OK;
}

/** Makes the block's CSR: rows sorted by column, duplicates summed. Local. */
static spmm_status block_from_rows_build(const spmm_rows *part, int parts, int64_t rows,
                                         spmm_precision precision, spmm_block *block)
{
    spmm_csr *const a = &block->csr;
    const int threads = sp_threads_default();
    int64_t entries, bad = rows, duplicates;
    TRY(block_from_rows_count(part, parts, rows, &entries));
    TRY(sp_csr_create(rows, block->cols, entries, precision, a));
    for (int n = 0; n < parts; n++) {
        const spmm_rows *const p = &part[n];
        const int64_t first = index_at(p->irp, p->irp_bytes, 0);
        for (int64_t i = 1; i <= rows; i++) a->irp[i] += index_at(p->irp, p->irp_bytes, i) - first;
    }
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : bad)
    for (int64_t i = 0; i < rows; i++)
        if (!write_row(part, parts, i, a) && i < bad) bad = i;
    if (bad < rows) return blame(part, parts, bad, block->cols);
    return sp_csr_sort_sum_duplicates(a, threads, &duplicates);
}

spmm_status spmm_block_from_rows(MPI_Comm comm, int64_t rows, int64_t x_rows, spmm_precision precision,
                                 const spmm_rows *part, int parts, spmm_block *block)
{
    SP_DEFAULT_FP;
    const sp_common common[] = {{"precision", precision, 1}};
    if (block) memset(block, 0, sizeof *block);
    TRY(sp_comm_check(comm, function));
    spmm_status status = block_from_rows_check(rows, x_rows, precision, part, parts, block);
    TRY(sp_agree_common(comm, "block", status, function, common, 1));
    spmm_block made = {.csr = {0}};
    TRY(find_place(comm, (counts){rows, x_rows}, &made));
    status = sp_agree(comm, "block", block_from_rows_build(part, parts, rows, precision, &made));
    if (status == SPMM_OK)
        *block = made;
    else
        spmm_block_destroy(&made);
    return status;
}
