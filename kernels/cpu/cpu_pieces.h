/** Pieces of a CSR matrix: the segments of its long rows (formats/summation.h), and its other rows. Kernels
 *  order and compute them as if each piece was a row; then the sums of each long row's segments are added in
 *  the canonical order. */
#ifndef SP_CPU_PIECES_H
#define SP_CPU_PIECES_H

#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/summation.h"

/** A piece: entries begin .. end - 1 of the matrix, at most SP_CHAIN. */
typedef struct sp_piece {
    int64_t begin, end;
    int32_t target; /**< destination of the sum: a row of sp_pieces.partial for a segment, else a row of Y */
} sp_piece;

typedef struct sp_pieces {
    int64_t segments, count; /**< number of segments, and of all pieces */
    sp_piece *list;          /**< [count] first the segments in the order of the entries, then the other rows;
                                  NULL after sp_pieces_forget() */
    int64_t long_rows;       /**< number of rows of more than SP_CHAIN entries */
    int32_t *long_row;       /**< [long_rows] their row numbers, increasing */
    int64_t *first;          /**< [long_rows + 1] the first segment of each long row */
    void *partial;           /**< [segments x partial_ld] the sums of the segments */
    int64_t partial_ld;
} sp_pieces;

/** Lists the pieces of a matrix and allocates memory for the sums of its segments. Local.
 *  \param [in]  kernel      the kernel's name for messages
 *  \param [in]  partial_ld  number of elements of Y per segment
 *  \param [out] p           the caller destroys it, also on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (more than 2^31 - 1 pieces) */
spmm_status sp_pieces_create(const spmm_csr *a, const char *kernel, int64_t partial_ld, sp_pieces *p);

/** Frees the list of pieces, which products do not need. Local. */
void sp_pieces_forget(sp_pieces *p);

/** Frees the memory of *p. Local. */
void sp_pieces_destroy(sp_pieces *p);

/** Computes the row of Y for long row number g: adds the sums of its segments. Local. */
void sp_pieces_add(const sp_pieces *p, int64_t g, spmm_multivector *y);

#endif
