/** Variants of a product: combinations of exchange, column blocks and overlap, which are timed briefly. */
#ifndef SP_VARIANTS_H
#define SP_VARIANTS_H

#include "product/product.h"

/** One way in which a product can exchange rows between ranks. */
typedef struct sp_variant {
    spmm_exchange exchange; /**< never SPMM_EXCHANGE_AUTO */
    int column_blocks;
    int overlap;     /**< 1: interior rows are computed during the exchange */
    double measured; /**< seconds of a product, minimum of a few, on the slowest rank; NaN: not timed;
                          infinity: there was not enough memory */
} sp_variant;

enum { SP_MOST_VARIANTS = 4 };

/** The variants among which a product was chosen. */
typedef struct sp_variants {
    int count;  /**< 0: no choice was made; the options determine the product */
    int chosen; /**< index of the selected variant */
    sp_variant variant[SP_MOST_VARIANTS];
} sp_variants;

/** Creates a product for each variant, times a few products with each, and keeps the fastest. Variants differ
 *  in the properties that the options leave open: the exchange and, on GPUs, the number of column blocks and
 *  whether interior rows are computed during the exchange. The first is the product of sp_product_create().
 *  Nothing is timed if there is only one variant, if the study has quick_plan set, or if too few products are
 *  expected to repay a trial; in the last two cases the joint exchange is selected if `joint` is not NULL.
 *
 *  Collective over a->grid->comm. Parameters and status as for sp_product_create(), with two more:
 *  \param [in]  joint  as `a`, but with the joint exchange; NULL or zeroed: no variant uses it.
 *                      Must outlive the product
 *  \param [out] all    the variants among which the product was chosen */
spmm_status sp_product_create_fastest(const sp_ghosted_block *a, const sp_ghosted_block *joint,
                                      const sp_matrix *slice, int64_t k, const spmm_plan_options *options,
                                      const spmm_plan_study *study, sp_variants *all, sp_product **product);

/** Creates the block with the joint exchange, if that exchange is worth a variant: options->exchange leaves
 *  the choice open, options->any_order allows the joint exchange, block->any_order is 0, rows of X do not
 *  travel as f32, and the joint exchange moves clearly fewer rows than that of `a`.
 *
 *  Collective over a->grid->comm.
 *  \param [in]  a      the block without the joint exchange
 *  \param [out] joint  the caller destroys it; zeroed if it is not worth a variant, or on failure
 *  \return status as for sp_ghosted_block_create() */
spmm_status sp_ghosted_block_create_joint(const sp_ghosted_block *a, const spmm_plan_options *options,
                                          sp_ghosted_block *joint);

#endif
