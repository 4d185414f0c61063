/** The decisions about how a product is computed: what was taken, and why. */
#ifndef SP_DECISIONS_H
#define SP_DECISIONS_H

#include <stdio.h>

#include "base/trial.h"

/** The decisions in the order in which they are taken; each may depend on the decisions before it:
 *  D(identifier, word). memory: whether the ranks of a node keep X in common memory; columns: the number of
 *  blocks of columns in which X is exchanged; kernel: the kernel and its format; transport: the transport of
 *  rows, between GPUs also its backend; reduce: the method by which partial Y are added; variant: the
 *  exchange, the blocks of columns and the overlap of a plan; narrow: the kernel for few columns, decided
 *  when products of few columns are asked for. */
#define SP_DECISION_LIST(D)              \
    D(SP_DECIDES_MEMORY, "memory")       \
    D(SP_DECIDES_COLUMNS, "columns")     \
    D(SP_DECIDES_KERNEL, "kernel")       \
    D(SP_DECIDES_TRANSPORT, "transport") \
    D(SP_DECIDES_REDUCE, "reduce")       \
    D(SP_DECIDES_VARIANT, "variant")     \
    D(SP_DECIDES_NARROW, "narrow")

#define SP_DECISION_ID(id, word) id,
enum { SP_DECISION_LIST(SP_DECISION_ID) SP_DECISIONS };
#undef SP_DECISION_ID

enum { SP_TAKEN_BYTES = 64, SP_WHY_BYTES = 320, SP_DECISION_BYTES = SP_TAKEN_BYTES + SP_WHY_BYTES + 2 };

/** One decision. The same on all ranks, except trial.took. */
typedef struct sp_decision {
    char taken[SP_TAKEN_BYTES]; /**< what was taken, in words; "": nothing has been decided */
    char why[SP_WHY_BYTES];     /**< the reason, in words */
    sp_trial trial;             /**< the timed candidates; a count of 0: nothing was timed */
} sp_decision;

typedef struct sp_decisions {
    sp_decision row[SP_DECISIONS];
} sp_decisions;

/** Words of the decisions, in the order of SP_DECISION_LIST. */
extern const char *const sp_decision_words[SP_DECISIONS];

/** Stores what was taken. The reason is `why` or, if at least two candidates were timed, the outcome of the
 *  trial. Local.
 *  \param [in] taken  a format of printf() */
void sp_decided(sp_decision *d, const char *why, const char *taken, ...)
    __attribute__((format(printf, 3, 4)));

/** Returns the number of products that repay `seconds` of set-up, by the times of the trial of kernels, over
 *  cpu_csr or csr_balanced, which need hardly any set-up. Infinity: that kernel was taken, or takes no more
 *  time; NaN: it was not timed. Local. */
double sp_decisions_repaid(const sp_decisions *decisions, double seconds);

/** Measured seconds of a product on several ranks. All except `kernels` are times of the slowest rank. */
typedef struct sp_parts_seconds {
    double kernels;                  /**< of the kernels, sum over the ranks */
    double local, exchange, product; /**< without the exchange; only the exchange; the whole product */
} sp_parts_seconds;

/** Estimates with which smaller number of ranks, a power of two or a divisor of `ranks`, a product takes the
 *  least time. Assumes that one rank takes the seconds of the kernels. On q > 1 ranks, each rank takes 1/q of
 *  them, the other work of a product apart from the exchange takes as long as now, and the exchange takes as
 *  long as if every rank received all rows of X, i.e. time in proportion to 1 - 1/q. Computation and exchange
 *  overlap by the same share of the shorter one as now. Local.
 *  \param [in]  most     maximum of the result
 *  \param [out] seconds  the estimate; not set for the result 0
 *  \return the number of ranks; 0: with none it is less than now, or a member is NaN */
int sp_fewer_ranks(const sp_parts_seconds *measured, int ranks, int most, double *seconds);

/** Prints a line per decision that has been taken: its word, what was taken, the reason. Local.
 *  \param [in] alone   1: leaves out the decisions that concern several ranks
 *  \param [in] indent  printed before each word */
void sp_decisions_print(const sp_decisions *decisions, int alone, const char *indent, FILE *f);

#endif
