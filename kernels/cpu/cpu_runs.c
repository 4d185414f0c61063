/** Finds runs of rows. One pass compares each row with the three rows before it. A second pass joins rows
 *  into runs. */
#include "kernels/cpu/cpu_runs.h"

#include <string.h>

#include "base/memory.h"

/** Flags of row i. SAME_LENGTH: it has as many entries as row i - 1. SAME_COLUMNS: it has the column indices
 *  of row i - 1. SHIFT_d: it has the column indices of row i - d, each plus d. */
enum { SAME_LENGTH = 1, SAME_COLUMNS = 2, SHIFT_1 = 4, SHIFT_2 = 8, SHIFT_3 = 16 };

enum {
    LEAST = 16,          /* minimum number of rows of a run, except for SP_RUN_ANY and runs under
                            LEAST_OF_BLOCKS */
    LEAST_OF_BLOCKS = 3, /* minimum number of rows of a run of BLOCK2 or BLOCK3 that is not shifted */
    SHORT = 4            /* sharing the column indices gains nothing for rows with fewer entries */
};

typedef struct rows {
    const int64_t *begin, *end;
    const int32_t *col;
    int64_t count, longest;
    uint8_t *common; /* [count + 1]: flags of each row, then a 0, so that row i + 1 can be read */
} rows;

/** Returns 1 if row i has the column indices of row j, each plus `shift`; otherwise 0. */
static int is_shifted(const rows *r, int64_t i, int64_t j, int32_t shift)
{
    const int64_t n = r->end[i] - r->begin[i];
    const int32_t *const a = r->col + r->begin[i], *const b = r->col + r->begin[j];
    if (n != r->end[j] - r->begin[j]) return 0;
    for (int64_t e = 0; e < n; e++)
        if (a[e] - shift != b[e]) return 0;
    return 1;
}

/** Returns the flags SAME_LENGTH, SAME_COLUMNS and SHIFT_1 to SHIFT_3 of row i. With SHIFT_1, SHIFT_2 and
 *  SHIFT_3 are not needed: row i begins no pair or triple that follows another. */
static uint8_t find_common(const rows *r, int64_t i)
{
    const int64_t n = r->end[i] - r->begin[i];
    if (i == 0 || n > r->longest || n != r->end[i - 1] - r->begin[i - 1]) return 0;
    int found = SAME_LENGTH;
    if (n >= SHORT && is_shifted(r, i, i - 1, 0)) found |= SAME_COLUMNS;
    if (is_shifted(r, i, i - 1, 1)) return (uint8_t)(found | SHIFT_1);
    if (i >= 2 && is_shifted(r, i, i - 2, 2)) found |= SHIFT_2;
    if (i >= 3 && is_shifted(r, i, i - 3, 3)) found |= SHIFT_3;
    return (uint8_t)found;
}

/** Returns the end of the longest range of rows that begins with row i and in which all rows after row i have
 *  the flag `bit`. The range is cut off after `most` rows. */
static int64_t chain_end(const rows *r, int64_t i, int bit, int64_t most)
{
    const int64_t limit = most < r->count - i ? i + most : r->count;
    int64_t j = i + 1;
    while (j < limit && (r->common[j] & bit)) j++;
    return j < limit ? j : limit;
}

/** Returns the number of consecutive rows, from row i on, with the same column indices. Counts only up to 7,
 *  which is enough to choose between pairs and triples of rows. */
static int64_t same_rows(const rows *r, int64_t i)
{
    return i < r->count ? chain_end(r, i, SAME_COLUMNS, 7) - i : 0;
}

/** Returns the end of a sequence of groups of rows that begins at row i. Each group has `height` rows with
 *  the same column indices. All rows have equal lengths; if `shift` is 1, the column indices of each group
 *  are those of the previous group, each plus `height`. No group begins at row i + most or later. */
static int64_t blocks_end(const rows *r, int64_t i, int64_t height, int shift, int64_t most)
{
    const int bit = !shift ? SAME_LENGTH : height == 2 ? SHIFT_2 : SHIFT_3;
    int64_t j = i;
    while (j - i < most && same_rows(r, j) >= height && (j == i || (r->common[j] & bit))) j += height;
    return j;
}

/** Checks whether a run of SP_RUN_SHIFT, SP_RUN_BLOCK2 or SP_RUN_BLOCK3 begins at row i; checks at most the
 *  rows before row i + most. Sets *run and returns the end of the run. If no such run begins there, sets
 *  run->kind to SP_RUN_ANY and returns i. */
static int64_t run_at(const rows *r, int64_t i, int64_t most, sp_run *run)
{
    int64_t end = chain_end(r, i, SHIFT_1, most);
    *run = (sp_run){.first = i, .kind = SP_RUN_SHIFT, .shifted = 1};
    if (end - i >= LEAST) return end;
    const int64_t same = same_rows(r, i), height = same % 3 == 0 || same % 2 ? 3 : 2;
    run->kind = height == 3 ? SP_RUN_BLOCK3 : SP_RUN_BLOCK2;
    end = blocks_end(r, i, height, 1, most);
    if (end - i >= LEAST) return end;
    run->shifted = 0;
    /* Extends the run group by group, until a run of shifted groups begins. */
    for (end = i; end - i < most; end += height) {
        if (blocks_end(r, end, height, 0, height) == end || (end > i && !(r->common[end] & SAME_LENGTH)))
            break;
        if (end > i && blocks_end(r, end, height, 1, LEAST) - end >= LEAST) break;
    }
    if (end - i >= LEAST_OF_BLOCKS) return end;
    run->kind = SP_RUN_ANY;
    return i;
}

/** Returns the end of the range of rows of equal length that begins with row i. A range also ends where a run
 *  of SP_RUN_SHIFT, SP_RUN_BLOCK2 or SP_RUN_BLOCK3 begins. */
static int64_t equal_end(const rows *r, int64_t i)
{
    int64_t j = i + 1;
    for (; j < r->count && (r->common[j] & SAME_LENGTH); j++) {
        sp_run run;
        if ((r->common[j + 1] & (SHIFT_1 | SAME_COLUMNS)) && run_at(r, j, LEAST, &run) > j) break;
    }
    return j;
}

/** Fills runs->run. Consecutive rows that are in no run of another kind form a run of SP_RUN_ANY. */
static void list_runs(const rows *r, sp_runs *runs)
{
    sp_run *const list = runs->run;
    int64_t count = 0;
    for (int64_t i = 0, end; i < r->count; i = end) {
        end = run_at(r, i, r->count, &list[count]);
        if (end > i) {
            if (list[count].kind != SP_RUN_SHIFT) runs->blocks += end - i;
            count++;
            continue;
        }
        end = equal_end(r, i);
        if (end - i >= LEAST)
            list[count++].kind = SP_RUN_EQUAL;
        else if (count == 0 || list[count - 1].kind != SP_RUN_ANY)
            count++;
    }
    list[count] = (sp_run){.first = r->count, .kind = SP_RUN_ANY};
    runs->count = count;
}

spmm_status sp_runs_find(const int64_t *begin, const int64_t *end, const int32_t *col, int64_t row_count,
                         int64_t longest, int threads, sp_runs *runs)
{
    rows r = {begin, end, col, row_count, longest, NULL};
    spmm_status status;
    memset(runs, 0, sizeof *runs);
    TRY_GOTO(sp_alloc_zero((void **)&r.common, row_count + 1, 1, "what rows have in common"), done);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < row_count; i++) r.common[i] = find_common(&r, i);
    /* At least one of two consecutive runs has LEAST_OF_BLOCKS rows or more, which limits the number of runs.
     * list_runs() also writes one element after the last run. */
    TRY_GOTO(sp_alloc((void **)&runs->run, 2 * (row_count / LEAST_OF_BLOCKS) + 3, sizeof *runs->run,
                      "runs of rows"),
             done);
    list_runs(&r, runs);
done:
    sp_free(r.common);
    if (status != SPMM_OK) sp_runs_destroy(runs);
    return status;
}

spmm_status sp_runs_single(int64_t row_count, sp_runs *runs)
{
    memset(runs, 0, sizeof *runs);
    TRY(sp_alloc_zero((void **)&runs->run, 2, sizeof *runs->run, "runs of rows"));
    runs->count = 1;
    runs->run[0].kind = SP_RUN_ANY;
    runs->run[1].first = row_count;
    return SPMM_OK;
}

int64_t sp_runs_at(const sp_runs *runs, int64_t i)
{
    int64_t low = 0, high = runs->count; /* always: run[low].first <= i < run[high].first */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (runs->run[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void sp_runs_destroy(sp_runs *runs)
{
    if (!runs) return;
    sp_free(runs->run);
    memset(runs, 0, sizeof *runs);
}

/* ---- rows of X that a group of two or three rows reads and the previous group does not ---- */

int sp_find_newly_touched(const int32_t *list, int64_t n, int height, int bytes, int64_t *newly)
{
    enum { PREFETCHED_BYTES_OF_BLOCK = 8192 };
    int count = 0;
    for (int64_t e = 0; e < n && count < SP_NEWLY_TOUCHED; e++) {
        int64_t m = e + 1;
        while (m < n && list[m] < list[e] + height) m++;
        if (m == n || list[m] != list[e] + height) newly[count++] = list[e];
    }
    const int64_t groups = count ? PREFETCHED_BYTES_OF_BLOCK / ((int64_t)count * bytes) : 0;
    for (int f = 0; f < count; f++) newly[f] += (groups > 0 ? groups : 1) * height;
    return count;
}
