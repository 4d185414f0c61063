/** What a product takes for fewer columns than it was created for: which of at most two converted
 *  matrices.
 *
 *  Kernel, exchange and reduction stay as they were chosen. Row blocks get the new number by
 *  sp_kernel_ops.set_k or are prepared again; the exchange lists its messages again (sp_exchange_set_rows());
 *  column blocks, partial rows, copies of X and Y and the list of steps follow. Elements are summed in the
 *  order of a plan for that number of columns. Whether there is a second matrix is decided at one column,
 *  because a matrix that is the fastest for a few columns can be slow for one. */
#ifndef SP_WIDTHS_H
#define SP_WIDTHS_H

#include "base/trial.h"
#include "product/row_blocks.h"

/** Number of ranges of columns that are told apart: 1, 2, 3 to 4, 5 to 8, and so on. */
enum { SP_WIDTHS = 64 };

/** Which matrix a product takes for a number of columns. */
typedef enum sp_width_choice { SP_WIDTH_UNKNOWN, SP_WIDTH_FIRST, SP_WIDTH_SECOND } sp_width_choice;

/** Of a product: the matrix that it has been created with is the first one. A second one in another kernel's
 *  format is made for one column, when products of few columns are asked for, if its kernel is clearly faster
 *  then. */
typedef struct sp_widths {
    int64_t most; /**< columns that the product was created for, at least 1 */
    int64_t k;    /**< columns, at least 1, that all but the product's k follow; 0: none, after a failure */
    int column_blocks;   /**< that X of `most` columns is cut into */
    int decided;         /**< 1: it is known whether there is a second matrix */
    int second;          /**< 1: the product's `parts` are the second matrix, and `other` the first one */
    sp_row_blocks other; /**< the matrix that is not taken now; zeroed: there is none */
    unsigned char choice[SP_WIDTHS]; /**< sp_width_choice of each range of columns */
    sp_trial trial;                  /**< what the second one was chosen from */
} sp_widths;

#endif
