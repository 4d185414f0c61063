/** The table of steps that series_mpi prints. A row includes the ratio of its time to that of the fastest
 *  kernel of the step. Thus the rows of a step are kept until all kernels of the step have run. Only rank 0
 *  calls these functions. */
#ifndef SP_SERIES_MPI_TABLE_H
#define SP_SERIES_MPI_TABLE_H

#include "series_mpi/report.h"

/** Rows of the current step, and sums over the steps before it. A zeroed table is empty. */
typedef struct sp_series_table {
    sp_series_record *row; /**< [room] rows of the current step; the first `count` are used */
    int count, room;
    int steps;         /**< number of completed steps */
    double seconds;    /**< sum over the completed steps of the median time of each step's fastest kernel */
    double sequential; /**< sum of the times of the sequential program; NaN: some were not measured */
    int extrapolated;  /**< 1: a part of `sequential` is extrapolated */
} sp_series_table;

/** Prints the heading of the table. Local. */
void sp_series_table_head(FILE *out);

/** Sets r->total, and appends a copy of *r to the rows of the current step. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_series_table_add(sp_series_table *table, sp_series_record *r);

/** Completes the current step: adds the time of its fastest kernel to the sums, prints the rows and forgets
 *  them. Does nothing if there are no rows. Local.
 *  \param [in] out  NULL: nothing is printed */
void sp_series_table_end_step(sp_series_table *table, FILE *out);

/** Prints the row of the total over all completed steps, if there are several. Local.
 *  \param [in] out  NULL: nothing is printed */
void sp_series_table_total(const sp_series_table *table, FILE *out);

/** Frees the rows. Local. */
void sp_series_table_destroy(sp_series_table *table);

#endif
