/** Distributes the blocks of A and the rows of X from one rank to their owners. */
#ifndef SP_SCATTER_H
#define SP_SCATTER_H

#include "comm/grid.h"
#include "formats/csr.h"
#include "formats/matrix.h"

/** Ranges of all blocks, the same on every rank: block (p, q) consists of rows [row_begin[p], row_begin[p+1])
 *  and columns [col_begin[q], col_begin[q+1]) of A; rank (p, q) owns rows [x_begin[q*(P+1)+p],
 *  x_begin[q*(P+1)+p+1]) of X. */
typedef struct sp_ranges {
    int p, q;           /**< rows and columns of the process grid, P and Q */
    int64_t *row_begin; /**< first row of each row block, [P + 1] */
    int64_t *col_begin; /**< first column of each column block, [Q + 1] */
    int64_t *x_begin;   /**< first row of X of each rank, [Q * (P + 1)] */
} sp_ranges;

/** Allocates the arrays of *ranges, zeroed, for a p x q grid; the caller destroys *ranges. Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_ranges_create(int p, int q, sp_ranges *ranges);

/** Frees the arrays of *ranges; accepts zeroed ranges. Local. */
void sp_ranges_destroy(sp_ranges *ranges);

/** Broadcasts row_begin and col_begin of root, and computes x_begin from them on every rank.
 *  Collective over grid->comm.
 *  \param [in]     rows, cols  size of the whole matrix, the same on every rank
 *  \param [in,out] ranges      created on every rank for the P x Q of the grid
 *  \return SPMM_OK, SPMM_ERR_MPI */
spmm_status sp_ranges_share(const sp_grid *grid, int root, int64_t rows, int64_t cols, sp_ranges *ranges);

/** Returns the first row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_first(const sp_ranges *r, int p, int q) { return r->x_begin[q * (r->p + 1) + p]; }

/** Returns the row after the last row of X that rank (p, q) owns. Local. */
static inline int64_t sp_x_end(const sp_ranges *r, int p, int q) { return sp_x_first(r, p + 1, q); }

/** Sets all members of this rank's *block except csr, which is zeroed: the size of the matrix, the position
 *  of the block, the rows of X that this rank owns, and the grid. Local.
 *  \param [in]  rows, cols  size of the whole matrix */
void sp_block_place(const sp_grid *grid, const sp_ranges *ranges, int64_t rows, int64_t cols,
                    spmm_block *block);

/** How sp_scatter() treats the matrix on root. */
typedef enum sp_scatter_mode {
    SP_SCATTER_COPY,   /**< the caller keeps the matrix; root's block is a copy */
    SP_SCATTER_BORROW, /**< the caller keeps the matrix; if Q is 1, root's block shares the arrays ja and as
                            of the matrix, and must not outlive the matrix */
    SP_SCATTER_CONSUME /**< root's block takes over the arrays of the matrix, shrunk to the block's entries,
                            so that root never stores entries twice */
} sp_scatter_mode;

/** Callback on root, called after root has sent each block (also after its own block), with the fraction of
 *  all entries distributed so far. */
typedef void (*sp_scatter_progress)(void *context, double fraction);

/** Options of a scatter. Zeroed: root keeps the matrix, and sends every rank its block as CSR. */
typedef struct sp_scatter_options {
    sp_scatter_mode mode;
    int two_stage; /**< 1: root sends bands of rows to the ranks of its process column, and each of these
                        sends the blocks of its band along its process row. Same as 0 if P or Q is 1 */
    int padded;    /**< 1: blocks are sent in padded ELLPACK, as one slice per rank whose width is the length
                        of its longest row */
    double ell_limit; /**< with padded: the scatter fails if a slice takes more than ell_limit times the
                           memory of its CSR; <= 0: 3.0 times */
    int threads;      /**< with padded: OpenMP threads for the conversion */
    sp_scatter_progress progress; /**< called on root only; may be NULL */
    void *context;                /**< passed on to progress */
} sp_scatter_options;

/** Seconds that parts of the scatter took on this rank. */
typedef struct sp_scatter_times {
    double bands; /**< the first of two stages; 0: there was only one stage */
    double pad;   /**< senders: conversion of CSR to slices in ELLPACK */
    double unpad; /**< receivers: conversion of the slice to CSR, from which the halo is created */
} sp_scatter_times;

/** Checks on each rank that root is a rank of comm and, on root, that the matrix is given, valid, and in host
 *  memory. Local.
 *  \param [in] function  public function, for the messages
 *  \return SPMM_OK, SPMM_ERR_USAGE, _MPI */
spmm_status sp_root_matrix_check(const char *function, MPI_Comm comm, int root, const spmm_csr *a);

/** Distributes a matrix: each rank gets its block of the matrix on root. The blocks are the same, bit for
 *  bit, for all options.
 *
 *  Additional memory, allocated in each stage before anything is sent:
 *  - root: row starts of the largest block and of its own block; if blocks are packed (Q > 1, or padded), up
 *    to 2^20 entries, or one padded row if that is longer
 *  - two_stage: each rank of root's process column stores a band until it has sent the blocks of its process
 *    row. A band is the rows of the rank's block with the columns of all blocks. The rank's own block takes
 *    over the arrays of the band. On root the band is part of the matrix, or the matrix's arrays shrunk
 *    (SP_SCATTER_CONSUME)
 *  - padded: each rank stores its slice, rows * width entries, in addition to its block
 *
 *  Collective over grid->comm.
 *  \param [in]     ranges  the same on every rank
 *  \param [in,out] a       on root: the whole matrix; SP_SCATTER_CONSUME destroys it, also on failure.
 *                          Ignored on other ranks
 *  \param [out]    block   the caller destroys it with spmm_block_destroy()
 *  \param [out]    slice   padded: the block as SPMM_ELL, with the columns of the block, in host memory;
 *                          the caller destroys it. Otherwise ignored, and may be NULL
 *  \param [out]    times   may be NULL
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, _LIMIT (ell_limit is exceeded; detected
 *          before slices are allocated or sent), _MPI */
spmm_status sp_scatter(const sp_grid *grid, int root, spmm_csr *a, const sp_ranges *ranges,
                       const sp_scatter_options *options, spmm_block *block, sp_matrix *slice,
                       sp_scatter_times *times);

/** Distributes the rows of an array on rank 0 as the rows of X are distributed: each rank receives the rows
 *  whose indices are those of the rows of X that the rank owns.
 *
 *  Collective over grid->comm.
 *  \param [in]  two_stage  1: rank 0 sends the rows of each process column to its rank in the first process
 *                          row. That rank stores them, and sends the other ranks of the process column their
 *                          rows
 *  \param [in]  all   on rank 0: the array, one row of row_bytes bytes per row of X; ignored on other ranks
 *  \param [out] mine  the rows of the array that this rank receives
 *  \param [in]  tag   MPI tag of the messages
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_scatter_rows(const sp_grid *grid, const sp_ranges *ranges, int two_stage, const void *all,
                            int64_t row_bytes, void *mine, int tag);

/** Distributes X from rank 0: each rank gets the rows of X that the rank owns.
 *
 *  Collective over grid->comm.
 *  \param [in]     two_stage  as in sp_scatter_rows()
 *  \param [in]     whole  on rank 0: X, [n x k], in host memory; on other ranks not NULL, but its data is not
 *                         used
 *  \param [in,out] x      receives this rank's rows of X; the caller has created it, in host memory, for this
 *                         number of rows, with the precision and leading dimension of `whole`
 *  \return the same status on every rank: SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_MPI */
spmm_status sp_scatter_x(const sp_grid *grid, const sp_ranges *ranges, int two_stage,
                         const spmm_multivector *whole, spmm_multivector *x);

#endif
