/** Trials: several ways to do the same are made, timed for a moment and compared, and all ranks take the
 *  same one. Every choice by timing goes through sp_trial_run(): kernels, exchanges, variants of a plan,
 *  reductions, products of other libraries. */
#ifndef SP_TRIAL_H
#define SP_TRIAL_H

#include <math.h>
#include <stddef.h>

#include "base/status.h"

enum { SP_MOST_TRIED = 16, SP_TRIED_NAME_BYTES = 48 };

/** A candidate of a trial, and what became of it. */
typedef struct sp_tried {
    char name[SP_TRIED_NAME_BYTES];
    double seconds; /**< of one run on the slowest rank, least of a few; NaN: not timed; infinity: it could
                      not be set up */
} sp_tried;

/** What was tried. The same on all ranks, but for `took`. */
typedef struct sp_trial {
    int count;   /**< number of candidates; 0: nothing was to be chosen */
    int chosen;  /**< number of the candidate that was taken; -1: none */
    double took; /**< seconds that all of it took on this rank, set-up of the candidates included */
    sp_tried tried[SP_MOST_TRIED];
} sp_trial;

/** How candidates are made and run. All functions get the caller's object `of`. */
typedef struct sp_trial_ops {
    const char *stage; /**< of agreements after a run, see sp_agree() */
    /** Makes candidate number i. Collective. \return the same status on every rank */
    spmm_status (*make)(void *of, int i, void **made);
    /** Runs what was made once. Called by all ranks equally often, also after a failure. */
    spmm_status (*run)(void *of, void *made);
    /** Waits for the end of runs that run() only starts; NULL where it ends them itself. */
    spmm_status (*wait)(void *of);
    /** Frees what was made; accepts NULL, and what is left of a failed make(). Collective if make() is. */
    void (*destroy)(void *of, void *made);
    int unsure; /**< 1: the first run shows whether a candidate works. A single candidate is run as well, and
                     a candidate that fails in any way is left out */
} sp_trial_ops;

/** How all processes that choose together act as one; sp_ranks_together() makes one of a communicator.
 *  Functions return the same status in every process, and get `comm`. */
typedef struct sp_together {
    void *comm;
    spmm_status (*start)(void *comm);                                       /**< waits for all */
    spmm_status (*agree)(void *comm, const char *stage, spmm_status local); /**< as sp_agree() */
    spmm_status (*slowest)(void *comm, double *seconds); /**< makes *seconds the greatest one of all */
} sp_together;

/** Adds a candidate that was not timed; the name is cut to SP_TRIED_NAME_BYTES - 1 bytes. Those beyond
 *  SP_MOST_TRIED are left out. Local. */
void sp_trial_add(sp_trial *trial, const char *name);

/** Makes and times the candidates in turn, and keeps the fastest one. The order matters: a candidate is
 *  taken in place of an earlier one only if it takes less than 0.95 of its time, so that noise does not
 *  decide between equal ones. A candidate that fails for lack of memory, at a limit or at its device is
 *  left out. Where there is one candidate it is made and not timed.
 *
 *  A candidate takes a run that warms it up and, unless it is far behind the best one so far, two to six
 *  rows of runs more: one run each, or up to ten of short ones, 65 microseconds in all. Up to five
 *  candidates thus have no more than 15 rows: of candidates of about the same time that is 15 runs or a
 *  millisecond, whichever is more.
 *
 *  Collective over `all`.
 *  \param [in]     all    NULL: this process alone
 *  \param [in]     brief  if a run of the first candidate takes fewer seconds, the others are not tried;
 *                         infinity: the first candidate that can be made, and run once, is taken
 *  \param [in,out] trial  candidates by sp_trial_add(); their seconds, `chosen` and `took` are set
 *  \param [out]    best   what make() made of the chosen candidate; the caller destroys it. NULL on failure
 *  \return the same status on every rank: SPMM_OK; if every candidate was left out SPMM_ERR_MEMORY where
 *          memory was short for one, else the status of the last one; the status of another failure */
spmm_status sp_trial_run(const sp_together *all, const sp_trial_ops *ops, void *of, double brief,
                         sp_trial *trial, void **best);

/** Times what was made as sp_trial_run() does.
 *
 *  Collective over `all`.
 *  \param [in]  all      NULL: this process alone
 *  \param [out] seconds  the same on every rank
 *  \return the same status on every rank: SPMM_OK, the worst of those of run(), SPMM_ERR_MPI */
spmm_status sp_trial_time(const sp_together *all, const sp_trial_ops *ops, void *of, void *made,
                          double *seconds);

/** Says in words what was chosen, for people: "fastest of 3 in a trial (others took: csr_balanced 1.08x, ..".
 *  Local.
 *  \param [out] text  buffer of n bytes; unchanged if fewer than two candidates were timed */
void sp_trial_words(const sp_trial *trial, char *text, size_t n);

/** Lists what was tried, for records: "NAME:SECONDS" separated by spaces; SECONDS is `-` for a candidate
 *  that was not timed, and `failed` for one that could not be set up. Local. */
void sp_trial_list(const sp_trial *trial, char *text, size_t n);

#endif
