/** Runs: ranges of consecutive rows whose column indices are related. They are found once per matrix. */
#ifndef SP_CPU_RUNS_H
#define SP_CPU_RUNS_H

#include "kernels/loops/cpu_loops.h"

/** A run of rows; it ends where the next run begins. */
typedef struct sp_run {
    int64_t first; /**< first row of the run */
    sp_run_kind kind;
    /** 1: row i has the column indices of row `first`, each plus i - first; in a run of SP_RUN_BLOCK2 or
     *  SP_RUN_BLOCK3 this holds for the first row i of each pair or triple. */
    uint8_t shifted;
    uint8_t prefetch; /**< 1: X is prefetched in this run. Set by the kernel's preparation, not by
                           sp_runs_find() */
} sp_run;

/** All runs of a matrix, ordered by row. */
typedef struct sp_runs {
    int64_t count;
    sp_run *run;    /**< [count + 1]; run[count].first is the number of rows of the matrix */
    int64_t blocks; /**< number of rows in runs of kind SP_RUN_BLOCK2 or SP_RUN_BLOCK3 */
} sp_runs;

/** Finds the runs of a matrix with `rows` rows; row i has the entries begin[i] .. end[i] - 1 of col. Rows of
 *  more than `longest` entries are put into runs of kind SP_RUN_ANY. The result does not depend on the number
 *  of `threads`.
 *  \param [out] runs  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_runs_find(const int64_t *begin, const int64_t *end, const int32_t *col, int64_t rows,
                         int64_t longest, int threads, sp_runs *runs);

/** Returns the rows as a single run of SP_RUN_ANY, without examining them.
 *  \param [out] runs  the caller destroys it; zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_runs_single(int64_t row_count, sp_runs *runs);

/** Returns the index in runs->run of the run that contains row i. */
int64_t sp_runs_at(const sp_runs *runs, int64_t i);

/** Frees the runs and zeroes *runs; accepts NULL and zeroed objects. */
void sp_runs_destroy(sp_runs *runs);

#endif
