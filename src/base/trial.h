/** Trials: several candidates for the same operation are created, timed briefly and compared, and all ranks
 *  select the same one. Every choice by timing uses sp_trial_run(): kernels, exchanges, variants of a plan,
 *  reductions. Also for functions of other libraries, which each rank chooses for itself. */
#ifndef SP_TRIAL_H
#define SP_TRIAL_H

#include <math.h>
#include <stddef.h>

#include "base/status.h"

enum { SP_MOST_TRIED = 16, SP_TRIED_NAME_BYTES = 48 };

/** A candidate of a trial, and its result. */
typedef struct sp_tried {
    char name[SP_TRIED_NAME_BYTES];
    double seconds; /**< seconds of one run on the slowest rank, minimum of several; NaN: not timed; infinity:
                         the candidate failed */
} sp_tried;

/** The candidates and the result of a trial. The same on all ranks, except `took`. */
typedef struct sp_trial {
    int count;   /**< number of candidates; 0: there was no choice */
    int chosen;  /**< index of the selected candidate; -1: none */
    double took; /**< duration of the trial in seconds on this rank, including the set-up of the candidates */
    sp_tried tried[SP_MOST_TRIED];
} sp_trial;

/** How candidates are created and run. All functions get the caller's object `of`. */
typedef struct sp_trial_ops {
    const char *stage; /**< stage of agreements after a run, see sp_agree() */
    /** Creates candidate number i. Collective. \return the same status on every rank */
    spmm_status (*make)(void *of, int i, void **made);
    /** Runs a candidate once. All ranks call it equally often, also after a failure. */
    spmm_status (*run)(void *of, void *made);
    /** Waits until runs that run() only starts have ended; NULL if run() itself waits. */
    spmm_status (*wait)(void *of);
    /** Frees a candidate; accepts NULL, and the remains of a failed make(). Collective if make() is. */
    void (*destroy)(void *of, void *made);
    int unsure; /**< 1: only the first run shows whether a candidate works. Then a single candidate is also
                     run, and a candidate that fails in any way is skipped */
} sp_trial_ops;

/** The processes that run a trial together; sp_ranks_together() creates it from a communicator. Functions
 *  return the same status in every process, and get `comm`. */
typedef struct sp_together {
    void *comm;
    spmm_status (*start)(void *comm);                                       /**< waits for all processes */
    spmm_status (*agree)(void *comm, const char *stage, spmm_status local); /**< as sp_agree() */
    spmm_status (*slowest)(void *comm, double *seconds); /**< sets *seconds to the maximum over all
                                                              processes */
} sp_together;

/** Adds a candidate that has not been timed; its name is truncated to SP_TRIED_NAME_BYTES - 1 bytes.
 *  Candidates beyond SP_MOST_TRIED are ignored. Local. */
void sp_trial_add(sp_trial *trial, const char *name);

/** Called before candidate i of a trial of several is created, on every rank. A program that displays its
 *  progress sets it before it creates plans. NULL: nothing is called. */
extern void (*sp_trial_begins)(const sp_trial *trial, int i);

/** Creates and times the candidates one after another, and keeps the fastest one. The order matters: a
 *  candidate replaces an earlier one only if it takes less than 0.95 of its time, so that noise does not
 *  decide between candidates of equal speed. Before that, the earlier one is timed again. A candidate that
 *  fails for lack of memory, at a limit or at its device is skipped. If there is only one candidate, it is
 *  created and not timed.
 *
 *  Each candidate is run once as a warm-up. Unless it is far slower than the best one so far, two to six
 *  batches follow. A batch is one run or, for short runs, up to ten runs with a total of 200 microseconds. Up
 *  to five candidates together have about 15 batches, plus those for timing again.
 *
 *  Collective over `all`.
 *  \param [in]     all    NULL: only this process
 *  \param [in]     brief  as soon as a run of the best candidate so far takes less than this number of
 *                         seconds, the remaining candidates are not tried; infinity: the first candidate that
 *                         can be created and run once is selected
 *  \param [in,out] trial  candidates added with sp_trial_add(); their seconds, `chosen` and `took` are set
 *  \param [out]    best   the chosen candidate, created by make(); the caller destroys it. NULL on failure
 *  \return the same status on every rank: SPMM_OK; if every candidate was skipped, SPMM_ERR_MEMORY if memory
 *          was lacking for any of them, else the status of the last one; if a candidate failed and was not
 *          skipped, its status */
spmm_status sp_trial_run(const sp_together *all, const sp_trial_ops *ops, void *of, double brief,
                         sp_trial *trial, void **best);

/** Times one object as sp_trial_run() does.
 *
 *  Collective over `all`.
 *  \param [in]  all      NULL: only this process
 *  \param [out] seconds  the same on every rank
 *  \return the same status on every rank: SPMM_OK, the worst status of run(), SPMM_ERR_MPI */
spmm_status sp_trial_time(const sp_together *all, const sp_trial_ops *ops, void *of, void *made,
                          double *seconds);

/** Writes a human-readable description of the choice: e.g. "fastest of 3 in a trial (others took:
 *  csr_balanced 1.08x, ..)". Local.
 *  \param [out] text  buffer of n bytes; unchanged if fewer than two candidates were timed */
void sp_trial_words(const sp_trial *trial, char *text, size_t n);

/** Lists the candidates for records: "NAME:SECONDS" separated by spaces. SECONDS is `-` for a candidate that
 *  was not timed, and `failed` for a candidate that failed. Local. */
void sp_trial_list(const sp_trial *trial, char *text, size_t n);

#endif
