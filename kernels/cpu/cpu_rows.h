/** Implements the kernels cpu_csr, cpu_clustered, cpu_sorted, cpu_ell and cpu_ell_nopad, cpu_sell for several
 *  columns, and cpu_segmented if its copy does not fit in memory: products that the CPU computes row by row,
 *  for formats that store the entries of each row of A contiguously. */
#ifndef SP_CPU_ROWS_H
#define SP_CPU_ROWS_H

#include "kernels/kernel.h"

/** The prepare() of a kernel: finds runs of rows, cuts long rows into parts, and chooses the prefetch
 *  distance.
 *
 *  \param [in] begin, end  row i of A has the entries begin[i] .. end[i] - 1 of col and val; consecutive rows
 *                          of equal length must begin at equal distances. Both arrays must outlive the state.
 *  \param [in] owned       memory from sp_alloc() that the state takes over and frees, or NULL; also freed on
 *                          failure
 *  \param [out] state      to be passed to sp_rows_run() and sp_rows_destroy(); NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_rows_create(const sp_setup *setup, const int64_t *begin, const int64_t *end, void *owned,
                           void **state);

/** Like sp_rows_create(), for a kernel on CSR that computes the rows in another order.
 *
 *  \param [in,out] copy  the matrix with its rows in that order; the state takes ownership, also on failure
 *  \param [in]     row   [rows] from sp_alloc(): the row of Y for each row of *copy; the state takes
 *                        ownership, also on failure */
spmm_status sp_rows_create_ordered(const sp_setup *setup, spmm_csr *copy, int32_t *row, void **state);

/** Returns the number of row ranges into which these kernels divide the rows: one per thread or, if lengths
 *  vary much, several per thread. Thread t computes ranges t, t + threads and so on.
 *  \param [in] begin, end  [rows] as in sp_rows_create() */
int sp_rows_ranges(const int64_t *begin, const int64_t *end, int64_t rows, int threads);

/** Returns the address of a value that all entries of A have, bit for bit; NULL if values differ or there are
 *  none. Local.
 *  \param [in] begin, end  [rows] row i has the entries begin[i] .. end[i] - 1 of val */
const void *sp_common_value(const void *val, spmm_precision precision, const int64_t *begin,
                            const int64_t *end, int64_t rows, int threads);

/** The run() of a kernel: computes Y := A X. launch->state must come from sp_rows_create().
 *  \return SPMM_OK */
spmm_status sp_rows_run(const sp_launch *launch);

/** The set_k() of a kernel: adapts a state to setup->k columns; accepts NULL.
 *  \return SPMM_OK */
spmm_status sp_rows_set_k(const sp_setup *setup, void *state);

/** Frees a state from sp_rows_create() and the memory that it owns, as the release() of a kernel; accepts
 *  NULL. */
void sp_rows_destroy(void *state);

/** The values() of a kernel: lists the values of the copy that sp_rows_create_ordered() took over. */
int sp_rows_values(void *state, sp_value_copy *copies);

/** The new_values() of a kernel: checks whether all values are equal; if so, products read a single value.
 *  After this call, products with few columns read the values in f64; before it, they may read a copy in f32.
 *  Accepts NULL.
 *  \return SPMM_OK */
spmm_status sp_rows_new_values(const sp_setup *setup, void *state);

/** For tests: sets the minimum size, in bytes, of a Y that is written by streaming stores. A negative size
 *  restores the default, the size of the last-level cache. */
void sp_rows_stream_from(int64_t bytes);

/** For tests: sets the minimum size, in bytes of values and column indices per thread, of a matrix whose
 *  values are copied to f32. A negative size restores the default. */
void sp_rows_narrow_from(int64_t bytes);

#endif
