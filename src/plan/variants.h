/** Variants of a product: the ways of moving rows between ranks that it could take, ranked by a model and
 *  timed for a moment. */
#ifndef SP_VARIANTS_H
#define SP_VARIANTS_H

#include "product/product.h"

/** A way in which a product can move rows between ranks. */
typedef struct sp_variant {
    spmm_exchange exchange; /**< never SPMM_EXCHANGE_AUTO */
    int column_blocks;
    int overlap;     /**< 1: interior rows are computed during the exchange */
    double modeled;  /**< seconds of a product by the model; NaN: it was not needed */
    double measured; /**< seconds of a product, least of a few, slowest rank; NaN: not timed; infinity: there
                          was not enough memory */
} sp_variant;

enum { SP_MOST_VARIANTS = 8 };

/** The variants that a product was chosen from. */
typedef struct sp_variants {
    int count;  /**< 0: it was made as the options say */
    int chosen; /**< number of the one that was taken */
    sp_variant variant[SP_MOST_VARIANTS];
} sp_variants;

/** Creates a product of each variant that may be the fastest, times a few of each, and keeps the fastest.
 *  Variants differ in what is not given by the options: the exchange and, on GPUs, the number of column
 *  blocks, and whether interior rows are computed during the exchange. The model's times are made of the
 *  parts that the first variant, the one of sp_product_create(), was measured to take: its kernels, and its
 *  exchange; see docs/SCALING.md. Only variants with a modeled time near the least are created. Nothing is
 *  timed if there is only one variant, or if the study has quick_plan set: then the product is of the joint
 *  exchange if `joint` moves clearly fewer rows.
 *
 *  Collective over grid->comm. Parameters and status as of sp_product_create(), with two more:
 *  \param [in]  joint  the halo of the joint exchange; NULL: no variant has it. Must outlive the product, as
 *                      `halo` must
 *  \param [out] all    what the product was chosen from */
spmm_status sp_product_create_fastest(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                      const sp_halo *joint, int64_t k, const spmm_plan_options *options,
                                      const spmm_plan_study *study, sp_variants *all, sp_product **product);

/** Creates the halo of the joint exchange beside another one, if it is worth a product: if options->exchange
 *  leaves the choice, options->any_order allows it, and it moves clearly fewer rows.
 *
 *  Collective over grid->comm.
 *  \param [in]  halo   the halo without partial rows
 *  \param [out] joint  the caller destroys it; zeroed if it is not worth it, or on failure
 *  \return status as for sp_halo_create() */
spmm_status sp_joint_halo_create(const sp_grid *grid, const spmm_block *block, const sp_halo *halo,
                                 const spmm_plan_options *options, sp_halo *joint);

#endif
