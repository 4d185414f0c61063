/** Decides how products are computed, and creates them. */
#ifndef SP_DECIDE_H
#define SP_DECIDE_H

#include "product/product.h"

/** Maximum number of variants among which a plan chooses. */
enum { SP_MOST_VARIANTS = 4 };

/** Creates a product: takes its decisions in the order of product/decisions.h, up to SP_DECIDES_REDUCE, and
 *  lists its steps. spmm_plan_create_extended() explains the options. options->exchange is ignored;
 *  a->kind is used instead.
 *
 *  Collective over a->grid->comm.
 *  \param [in]  a        must outlive the product
 *  \param [in]  slice    see sp_conversion
 *  \param [in]  study    not NULL
 *  \param [out] product  the caller destroys it; NULL on failure
 *  \return status as for spmm_plan_create_extended(), the same on every rank */
spmm_status sp_product_create(const sp_ghosted_block *a, const sp_matrix *slice, int64_t k,
                              const spmm_plan_options *options, const spmm_plan_study *study,
                              sp_product **product);

/** Creates a product for each variant, times a few products with each, and keeps the fastest. A variant is a
 *  combination of an exchange, a number of column blocks and an overlap; on GPUs variants differ in all three
 *  as far as the options leave them open, on CPUs only in the exchange. The first is the product of
 *  sp_product_create(). Nothing is timed if there is only one variant, if the study has quick_plan set, or if
 *  too few products are expected to repay a trial; in the last two cases the joint exchange is selected if
 *  `joint` is not NULL. The names of variants are "EXCHANGE:COLUMN BLOCKS:overlap", or "..:wait" without
 *  overlap.
 *
 *  Collective over a->grid->comm. Parameters and status as for sp_product_create(), with one more:
 *  \param [in]  joint  as `a`, but with the joint exchange; NULL or zeroed: no variant uses it.
 *                      Must outlive the product */
spmm_status sp_product_create_fastest(const sp_ghosted_block *a, const sp_ghosted_block *joint,
                                      const sp_matrix *slice, int64_t k, const spmm_plan_options *options,
                                      const spmm_plan_study *study, sp_product **product);

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
