/** Selects the converted matrix that a product uses if it has fewer columns than it was created for. A
 *  product has at most two.
 *
 *  The exchange, the reduction and each matrix's kernel stay as chosen. sp_kernel_ops.set_k adapts the row
 *  blocks to the new number of columns, or they are prepared again. The exchange lists its messages again
 *  (sp_exchange_set_rows()). Column blocks, partial rows, copies of X and Y and the list of steps are
 *  adapted. Elements are summed in the same order as in a plan created for that number of columns. Whether
 *  there is a second matrix is decided at one column, because a matrix that is the fastest for a few columns
 *  can be slow for one. */
#ifndef SP_WIDTHS_H
#define SP_WIDTHS_H

#include "base/trial.h"
#include "product/row_blocks.h"

/** Number of ranges of columns for which a choice is stored: 1, 2, 3 to 4, 5 to 8, and so on. */
enum { SP_WIDTHS = 64 };

/** The matrix that a product uses for a number of columns. */
typedef enum sp_width_choice { SP_WIDTH_UNKNOWN, SP_WIDTH_FIRST, SP_WIDTH_SECOND } sp_width_choice;

/** The matrices of a product. The first one is created with the product. When products of few columns are
 *  requested, a second matrix in the format of another kernel is created if that kernel is clearly faster for
 *  one column. */
typedef struct sp_widths {
    int64_t most; /**< number of columns for which the product was created, at least 1 */
    int64_t k;    /**< current number of columns, at least 1, even if products have 0 columns; 0: undefined
                       after a failure */
    int column_blocks;   /**< number of column blocks into which an X of `most` columns is cut */
    int decided;         /**< 1: the choice of a second matrix has been made */
    int second;          /**< 1: `parts` of the product is the second matrix, and `other` the first one */
    sp_row_blocks other; /**< the matrix that is not in use; zeroed: there is none */
    unsigned char choice[SP_WIDTHS]; /**< the sp_width_choice of each range of columns */
} sp_widths;

#endif
