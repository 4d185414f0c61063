/** Runs: consecutive rows whose columns have something in common, found once per matrix. */
#ifndef SP_CPU_RUNS_H
#define SP_CPU_RUNS_H

#include "kernels/cpu/cpu_loops.h"

/** A run; it ends where the next one begins. */
typedef struct sp_run {
    int64_t first; /**< row */
    sp_run_kind kind;
    int shifted; /**< 1: row i (of BLOCKs the first of a group) has the columns of row `first`, + i - first */
} sp_run;

/** All runs of a matrix, by row. */
typedef struct sp_runs {
    int64_t count;
    sp_run *run;    /**< [count + 1]; the last one begins after the last row */
    int64_t blocks; /**< rows in runs of SP_RUN_BLOCK2 and SP_RUN_BLOCK3 */
} sp_runs;

/** Finds the runs of `rows` rows; row i has the entries begin[i] .. end[i] - 1 of col. Rows of more than `longest`
 *  entries are in SP_RUN_ANY. The result does not depend on the number of `threads`.
 *  \param [out] runs  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_runs_find(const int64_t *begin, const int64_t *end, const int32_t *col, int64_t rows,
                         int64_t longest, int threads, sp_runs *runs);

/** Returns the index of the run that row i is in. */
int64_t sp_runs_at(const sp_runs *runs, int64_t i);

/** Frees the runs and zeroes *runs; accepts NULL and zeroed objects. */
void sp_runs_destroy(sp_runs *runs);

#endif
