/** Splits a rank's block of A into a few row blocks, each with a kernel state of its own. The interior row
 *  blocks, which need only owned rows of X, come first. */
#ifndef SP_ROW_BLOCKS_H
#define SP_ROW_BLOCKS_H

#include "device/device.h"
#include "halo/local_block.h"
#include "kernels/kernel.h"

enum { SP_MOST_INTERIOR = 4, SP_MOST_ROW_BLOCKS = 2 * SP_MOST_INTERIOR + 1 };

/** The places of new values of a row block (row_block_values.c). */
typedef struct sp_value_maps sp_value_maps;

/** A row block: rows [first, first + rows) of the rank's block of A, converted to the kernel's format. */
typedef struct sp_row_block {
    int64_t first, rows;
    spmm_csr csr;          /**< the row block in CSR; its ja and as point into those of the block */
    int64_t entry;         /**< number of the row block's first entry in the block */
    int borrowed;          /**< 1: csr.irp belongs to the block; 0: to this row block */
    sp_matrix a;           /**< the row block in the kernel's format and memory */
    sp_thread_ranges work; /**< row ranges of the OpenMP threads; zeroed on a GPU */
    void *state;           /**< private to the kernel */
    sp_value_maps *maps;   /**< NULL before the first update of values */
    int unmapped;          /**< 1: no maps can be made, so each update converts the block again */
    int lost;              /**< 1: an update of values failed, and there is no matrix */
} sp_row_block;

/** How a block is converted. Zeroed: with the default limit. */
typedef struct sp_conversion {
    double limit; /**< the ell_limit of sp_matrix_create() */
    /** The CSR of the block in GPU memory, which is converted there, and which kernels for SPMM_CSR read in
     *  place. Must outlive the row blocks. NULL: it is copied from host memory. */
    const spmm_csr *on_gpu;
    int64_t longest; /**< number of entries of the longest row, if on_gpu is set; 0: unknown */
    /** The block as it was scattered in padded ELLPACK (distribute/scatter.h), with the columns of the block.
     *  Kernels for SPMM_ELL use its values in place, so that the plan cannot take new values. NULL: the block
     *  was not scattered in this format. Must outlive the row blocks. */
    const sp_matrix *slice;
} sp_conversion;

/** The row blocks of a rank's block of A. */
typedef struct sp_row_blocks {
    const sp_kernel *kernel;
    int64_t made; /**< number of columns of X for which the format was chosen */
    int64_t k;    /**< number of columns of products */
    int64_t most; /**< maximum k of sp_row_blocks_set_k() */
    sp_conversion conversion;
    int threads;
    sp_shape shape;
    int count;
    int interior; /**< number of interior row blocks: part[0] to part[interior - 1] */
    sp_row_block part[SP_MOST_ROW_BLOCKS];
} sp_row_blocks;

/** Determines the row blocks: sets `first` and `rows` of each, and zeroes their other members. Local.
 *
 *  The interior row blocks are the longest runs of interior rows, at most SP_MOST_INTERIOR runs, trimmed to
 *  whole panels of SP_PANEL rows. Interior rows outside of these runs are computed with the boundary rows.
 *  There is only one row block if this rank has no ghost rows, if the runs have too few rows to be worth a
 *  separate kernel launch, or if `overlap` is 0. */
void sp_row_blocks_find(const sp_local_block *local, int overlap, sp_row_blocks *parts);

/** Converts each row block to the kernel's format and memory, and calls the kernel's prepare(). Local.
 *  \param [in]     a      the block with local column indices, whose arrays must outlive *parts
 *  \param [in]     k      number of columns of X in later products
 *  \param [in]     most   maximum k of sp_row_blocks_set_k()
 *  \param [in,out] parts  from sp_row_blocks_find(); the caller destroys them, also on failure
 *  \return the status of sp_matrix_create(), sp_thread_ranges_create() or the kernel's prepare();
 *          SPMM_ERR_MEMORY */
spmm_status sp_row_blocks_create(const spmm_csr *a, const sp_kernel *kernel, int64_t k, int64_t most,
                                 sp_conversion conversion, int threads, sp_shape shape, sp_row_blocks *parts);

/** Adapts the row blocks to products of k columns. Local.
 *  \return SPMM_OK; otherwise the status of the kernel's prepare(), and products are undefined until the next
 *          call */
spmm_status sp_row_blocks_set_k(sp_row_blocks *parts, int64_t k);

/** Returns 1 if sp_row_blocks_set_k() prepares the kernel states anew from the values in host memory.
 *  Local. */
int sp_row_blocks_made_anew(const sp_row_blocks *parts, int64_t k);

/** Returns the size in bytes of the row blocks in the kernel's format and of copies of entries in the
 *  kernel's state, whose column indices count as 4 bytes. Arrays that belong to the block of A are not
 *  counted. Local. */
int64_t sp_row_blocks_bytes(const sp_row_blocks *parts);

/** Converts one row block, whose CSR is set, as sp_row_blocks_create() does. Local.
 *  \param [in,out] part  the caller releases it, also on failure */
spmm_status sp_row_block_convert(const sp_row_blocks *parts, sp_row_block *part);

/** Adapts the kernel's state of a converted row block to parts->k columns. Local.
 *  \param [in] anew  1: the state is freed, if there is one, and prepared again
 *  \return the status of the kernel's prepare() or set_k() */
spmm_status sp_row_block_set_k(const sp_row_blocks *parts, sp_row_block *part, int anew);

/** Informs the kernel's state of a converted row block that the values have changed. Local.
 *  \return the status of the kernel's new_values() */
spmm_status sp_row_block_new_values(const sp_row_blocks *parts, sp_row_block *part);

/** Frees what sp_row_block_convert() has allocated. Local. */
void sp_row_block_release(const sp_row_blocks *parts, sp_row_block *part);

/** Determines the places of the values in the row blocks, if they are not known yet. sp_row_blocks_update()
 *  does the same in its first call. Local.
 *  \param [out] all  1: updates copy all values, and need no values in host memory; 0: some row blocks are
 *                    converted again
 *  \return SPMM_OK; otherwise the status of sp_row_blocks_create(), and nothing has changed */
spmm_status sp_row_blocks_map(sp_row_blocks *parts, int *all);

/** Updates the row blocks with the current values of the matrix given to sp_row_blocks_create(), on the same
 *  pattern. The first call converts each row block again to determine the places of values, and keeps four
 *  bytes for each. Later calls copy the values. Every call converts again if the places of a kernel's values
 *  are not known (sp_kernel_ops.values), if memory is lacking, or if a row block has 2^31 - 1 entries or
 *  more. Local.
 *  \param [in] on_gpu  the values of the matrix in GPU memory, which are read instead of those in host
 *                      memory; only if sp_row_blocks_map() set *all to 1. NULL: the values in host memory are
 *                      read
 *  \return SPMM_OK; otherwise the status of sp_row_blocks_create(), and products are undefined */
spmm_status sp_row_blocks_update(sp_row_blocks *parts, const void *on_gpu);

/** Frees the maps; accepts NULL. Local. */
void sp_value_maps_destroy(sp_value_maps *maps);

/** Frees the row blocks and zeroes *parts; accepts zeroed objects. Local. */
void sp_row_blocks_destroy(sp_row_blocks *parts);

/** Runs the kernel on row blocks [begin, end), which computes their rows of y. Local; on a GPU the kernels
 *  are queued.
 *  \param [in] conjugate  1: the kernel multiplies by the conjugate of the matrix
 *  \param [in] x          X with its ghost rows counted as rows: row 0 is the first ghost row
 *  \param [in] stream     the stream to queue the kernels in; ignored on a CPU
 *  \return the status of the kernel's run() */
spmm_status sp_row_blocks_run(const sp_row_blocks *parts, int begin, int end, sp_shape shape, int conjugate,
                              const spmm_multivector *x, const spmm_multivector *y, sp_stream stream);

/** Returns the number of rows in the interior row blocks. Local. */
int64_t sp_row_blocks_interior_rows(const sp_row_blocks *parts);

/** Returns 1 if there are both interior and boundary rows. Local. */
static inline int sp_row_blocks_both_kinds(const sp_row_blocks *parts)
{
    return parts->interior > 0 && parts->interior < parts->count;
}

#endif
