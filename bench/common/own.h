/** libspmm as an adaptor (kernels/peers/peer.h), by spmm.h alone. */
#ifndef BENCH_OWN_H
#define BENCH_OWN_H

#include <spmm.h>
#include "kernels/peers/peer.h"

/** A form of calling libspmm; each program defines its own forms. */
typedef struct own_form {
    peer_form shown; /**< the first member; PEER_ROW */
    spmm_plan_options options;
    int may_refuse; /**< 1: a plan that cannot be made is no failure */
} own_form;

typedef struct own_product {
    peer_product p;
    spmm_plan *plan;
    spmm_multivector x, y; /**< in the plan's memory */
    int shares;            /**< 1: shares x and y with other products */
} own_product;

extern const peer_adaptor own_peer;

#endif
