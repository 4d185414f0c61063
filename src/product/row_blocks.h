/** Splits a rank's block of A into a few row blocks, each with a kernel state of its own. The interior row
 *  blocks, which need only owned rows of X, come first. */
#ifndef SP_ROW_BLOCKS_H
#define SP_ROW_BLOCKS_H

#include "device/device.h"
#include "halo/halo.h"
#include "kernels/kernel.h"

enum { SP_MOST_INTERIOR = 4, SP_MOST_ROW_BLOCKS = 2 * SP_MOST_INTERIOR + 1 };

/** Where new values of a row block go (row_block_values.c). */
typedef struct sp_value_maps sp_value_maps;

/** A row block: rows [first, first + rows) of the rank's block of A, converted to the kernel's format. */
typedef struct sp_row_block {
    int64_t first, rows;
    spmm_csr csr;          /**< the row block in CSR; its ja and as point into halo->local */
    int64_t entry;         /**< number of the row block's first entry in halo->local */
    int borrowed;          /**< 1: csr.irp belongs to the halo; 0: to this row block */
    sp_matrix a;           /**< the row block in the kernel's format and memory */
    sp_thread_ranges work; /**< row ranges of the OpenMP threads; zeroed on a GPU */
    void *state;           /**< private to the kernel */
    sp_value_maps *maps;   /**< NULL before the first update of values */
    int unmapped;          /**< 1: no maps can be made, so that each update converts the block again */
    int lost;              /**< 1: an update of values failed, and left no matrix */
} sp_row_block;

/** The row blocks of a rank's block of A. */
typedef struct sp_row_blocks {
    const sp_kernel *kernel;
    int64_t made; /**< number of columns of X that the format was chosen for */
    int64_t k;    /**< of products */
    int64_t most; /**< greatest k of sp_row_blocks_set_k() */
    double ell_limit;
    int threads;
    sp_shape shape;
    const sp_matrix
        *slice; /**< of the halo (sp_halo.slice): ELLPACK takes its values from there; NULL: none */
    int count;
    int interior; /**< number of interior row blocks: part[0] to part[interior - 1] */
    sp_row_block part[SP_MOST_ROW_BLOCKS];
} sp_row_blocks;

/** Determines the row blocks: sets `first` and `rows` of each, and zeroes their other members. Local.
 *
 *  The interior row blocks are the longest runs of interior rows, at most SP_MOST_INTERIOR runs, trimmed to
 *  whole panels of SP_PANEL rows. Interior rows outside of these runs are computed with the boundary rows.
 *  There is only one row block if this rank has no ghost rows, if the runs hold too few rows to be worth a
 *  kernel launch of their own, or if `overlap` is 0. */
void sp_row_blocks_find(const sp_halo *halo, int overlap, sp_row_blocks *parts);

/** Converts each row block to the kernel's format and memory, and calls the kernel's prepare(). Local.
 *  \param [in]     halo   must outlive *parts
 *  \param [in]     k      number of columns of X in later products
 *  \param [in]     most   greatest k of sp_row_blocks_set_k()
 *  \param [in,out] parts  from sp_row_blocks_find(), `slice` set where there is one; the caller destroys
 *                         them, also on failure
 *  \return the status of sp_matrix_create(), sp_thread_ranges_create() or the kernel's prepare();
 *          SPMM_ERR_MEMORY */
spmm_status sp_row_blocks_create(const sp_halo *halo, const sp_kernel *kernel, int64_t k, int64_t most,
                                 double ell_limit, int threads, sp_shape shape, sp_row_blocks *parts);

/** Makes the row blocks ones for products of k columns. Local.
 *  \return SPMM_OK; otherwise the status of the kernel's prepare(), and products are undefined until the next
 *          call */
spmm_status sp_row_blocks_set_k(sp_row_blocks *parts, int64_t k);

/** Returns 1 if sp_row_blocks_set_k() makes states anew, from the values in host memory. Local. */
int sp_row_blocks_made_anew(const sp_row_blocks *parts, int64_t k);

/** Returns the bytes of the row blocks in the kernel's format, and of entries that the kernel has copied,
 *  without arrays that belong to the block of A. Local. */
int64_t sp_row_blocks_bytes(const sp_row_blocks *parts);

/** Converts one row block, whose CSR is set, as sp_row_blocks_create() does. Local.
 *  \param [in,out] part  the caller releases it, also on failure */
spmm_status sp_row_block_convert(const sp_row_blocks *parts, sp_row_block *part);

/** Makes the kernel's state of a converted row block one for parts->k columns. Local.
 *  \param [in] anew  1: the state is freed, and prepared again; also where there is none
 *  \return the status of the kernel's prepare() or set_k() */
spmm_status sp_row_block_set_k(const sp_row_blocks *parts, sp_row_block *part, int anew);

/** Informs the kernel's state of a converted row block that the values have changed. Local. */
void sp_row_block_new_values(const sp_row_blocks *parts, sp_row_block *part);

/** Frees what sp_row_block_convert() has allocated. Local. */
void sp_row_block_release(const sp_row_blocks *parts, sp_row_block *part);

/** Finds out where values of the row blocks go, if that is not known yet: what sp_row_blocks_update() does in
 *  its first call. Local.
 *  \param [out] all  1: updates copy values, whose entries in host memory they need not read; 0: some convert
 *  \return SPMM_OK; otherwise the status of sp_row_blocks_create(), and nothing has changed */
spmm_status sp_row_blocks_map(sp_row_blocks *parts, int *all);

/** Takes over the values that the matrix given to sp_row_blocks_create() has now, on the same pattern. The
 *  first call converts each row block again to find out where values go, and keeps four bytes for each; later
 *  calls copy the values. Where a kernel's values are not known (sp_kernel_ops.values), memory is lacking, or
 *  a row block has 2^31 - 1 entries or more, every call converts. Local.
 *  \param [in] on_gpu  if sp_row_blocks_map() says that all are copied, the values of the matrix in GPU
 *                      memory, which are read in place of those in host memory; NULL: those in host memory
 *                      are
 *  \return SPMM_OK; otherwise the status of sp_row_blocks_create(), and products are undefined */
spmm_status sp_row_blocks_update(sp_row_blocks *parts, const void *on_gpu);

/** Frees the maps; accepts NULL. Local. */
void sp_value_maps_destroy(sp_value_maps *maps);

/** Frees the row blocks and zeroes *parts; accepts zeroed objects. Local. */
void sp_row_blocks_destroy(sp_row_blocks *parts);

/** Runs the kernel on row blocks [begin, end), which computes their rows of y. Local; on a GPU the kernels
 *  are queued.
 *  \param [in] x       X with its ghost rows counted as rows: row 0 is the first ghost row
 *  \param [in] stream  the stream to queue the kernels in; ignored on a CPU
 *  \return the status of the kernel's run() */
spmm_status sp_row_blocks_run(const sp_row_blocks *parts, int begin, int end, sp_shape shape,
                              const spmm_multivector *x, const spmm_multivector *y, sp_stream stream);

/** Returns the number of rows in the interior row blocks. Local. */
int64_t sp_row_blocks_interior_rows(const sp_row_blocks *parts);

/** Returns 1 if there are both interior and boundary rows. Local. */
static inline int sp_row_blocks_both_kinds(const sp_row_blocks *parts)
{
    return parts->interior > 0 && parts->interior < parts->count;
}

#endif
