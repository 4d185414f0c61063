/** Finds runs: one pass compares each row with the three before it, another joins rows to runs. */
#include "kernels/cpu/cpu_runs.h"

#include <string.h>

#include "base/memory.h"

/** What a row has in common with the row before it; SHIFT_2 and SHIFT_3: with the row two or three before it. */
enum { SAME_LENGTH = 1, SAME_COLUMNS = 2, SHIFT_1 = 4, SHIFT_2 = 8, SHIFT_3 = 16 };

enum {
    LEAST = 16,          /* fewest rows of a run */
    LEAST_OF_BLOCKS = 3, /* the same for BLOCKs that are not shifted */
    SHORT = 4            /* entries: shorter rows gain nothing from having the same columns */
};

typedef struct rows {
    const int64_t *begin, *end;
    const int32_t *col;
    int64_t count, longest;
    uint8_t *common; /* [count + 1]: flags of each row; the last is 0, for looking one row ahead */
} rows;

/** Tells whether row i has the columns of row j, + shift. */
static int is_shifted(const rows *r, int64_t i, int64_t j, int32_t shift)
{
    const int64_t n = r->end[i] - r->begin[i];
    const int32_t *const a = r->col + r->begin[i], *const b = r->col + r->begin[j];
    if (n != r->end[j] - r->begin[j]) return 0;
    for (int64_t e = 0; e < n; e++)
        if (a[e] - shift != b[e]) return 0;
    return 1;
}

/** Returns the flags of row i. */
static uint8_t find_common(const rows *r, int64_t i)
{
    const int64_t n = r->end[i] - r->begin[i];
    if (i == 0 || n > r->longest || n != r->end[i - 1] - r->begin[i - 1]) return 0;
    int found = SAME_LENGTH;
    if (n >= SHORT && is_shifted(r, i, i - 1, 0)) found |= SAME_COLUMNS;
    if (is_shifted(r, i, i - 1, 1)) found |= SHIFT_1;
    if (i >= 2 && is_shifted(r, i, i - 2, 2)) found |= SHIFT_2;
    if (i >= 3 && is_shifted(r, i, i - 3, 3)) found |= SHIFT_3;
    return (uint8_t)found;
}

/** Returns the end of the rows from i on of which all but row i have the flag `bit`; at most i + most. */
static int64_t chain_end(const rows *r, int64_t i, int bit, int64_t most)
{
    const int64_t limit = most < r->count - i ? i + most : r->count;
    int64_t j = i + 1;
    while (j < limit && (r->common[j] & bit)) j++;
    return j < limit ? j : limit;
}

/** Counts the rows from i on with the same columns, up to 7: enough to choose between pairs and triples. */
static int64_t same_rows(const rows *r, int64_t i)
{
    return i < r->count ? chain_end(r, i, SAME_COLUMNS, 7) - i : 0;
}

/** Returns the end of the groups of `height` rows with the same columns from row i on. The rows of each group are as
 *  long as those of the group before and, if `shift`, have its columns + height. Stops looking at i + most. */
static int64_t blocks_end(const rows *r, int64_t i, int64_t height, int shift, int64_t most)
{
    const int bit = !shift ? SAME_LENGTH : height == 2 ? SHIFT_2 : SHIFT_3;
    int64_t j = i;
    while (j - i < most && same_rows(r, j) >= height && (j == i || (r->common[j] & bit))) j += height;
    return j;
}

/** Finds a run of SHIFT or BLOCKs that begins at row i and returns its end; without one the kind is ANY, and i is
 *  returned. Stops looking at i + most. */
static int64_t run_at(const rows *r, int64_t i, int64_t most, sp_run *run)
{
    int64_t end = chain_end(r, i, SHIFT_1, most);
    *run = (sp_run){i, SP_RUN_SHIFT, 1};
    if (end - i >= LEAST) return end;
    const int64_t same = same_rows(r, i), height = same % 3 == 0 || same % 2 ? 3 : 2;
    run->kind = height == 3 ? SP_RUN_BLOCK3 : SP_RUN_BLOCK2;
    end = blocks_end(r, i, height, 1, most);
    if (end - i >= LEAST) return end;
    run->shifted = 0;
    /* group by group, until a run of shifted groups begins */
    for (end = i; end - i < most; end += height) {
        if (blocks_end(r, end, height, 0, height) == end || (end > i && !(r->common[end] & SAME_LENGTH)))
            break;
        if (end > i && blocks_end(r, end, height, 1, LEAST) - end >= LEAST) break;
    }
    if (end - i >= LEAST_OF_BLOCKS) return end;
    run->kind = SP_RUN_ANY;
    return i;
}

/** Returns the end of the rows of equal length from i on; a run of a better kind ends them, too. */
static int64_t equal_end(const rows *r, int64_t i)
{
    int64_t j = i + 1;
    for (; j < r->count && (r->common[j] & SAME_LENGTH); j++) {
        sp_run run;
        if ((r->common[j + 1] & (SHIFT_1 | SAME_COLUMNS)) && run_at(r, j, LEAST, &run) > j) break;
    }
    return j;
}

/** Fills runs->run: consecutive rows that are in no run of another kind become one of SP_RUN_ANY. */
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
    list[count] = (sp_run){r->count, SP_RUN_ANY, 0};
    runs->count = count;
}

spmm_status sp_runs_find(const int64_t *begin, const int64_t *end, const int32_t *col, int64_t row_count,
                         int64_t longest, int threads, sp_runs *runs)
{
    rows r = {begin, end, col, row_count, longest, NULL};
    spmm_status status;
    memset(runs, 0, sizeof *runs);
    TRY_GOTO(sp_alloc_zero((void **)&r.common, row_count + 1, 1, "what rows have in common"), failed);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < row_count; i++) r.common[i] = find_common(&r, i);
    /* At least every other run has LEAST_OF_BLOCKS rows or more; list_runs() also writes one past the last. */
    TRY_GOTO(sp_alloc((void **)&runs->run, 2 * (row_count / LEAST_OF_BLOCKS) + 3, sizeof *runs->run,
                      "runs of rows"),
             failed);
    list_runs(&r, runs);
    sp_free(r.common);
    return SPMM_OK;
failed:
    sp_free(r.common);
    sp_runs_destroy(runs);
    return status;
}

int64_t sp_runs_at(const sp_runs *runs, int64_t i)
{
    int64_t low = 0, high = runs->count; /* run[low].first <= i < run[high].first */
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
