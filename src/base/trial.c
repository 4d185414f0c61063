/** Creates, times and compares candidates. */
#include "base/trial.h"

#include <stdio.h>
#include <time.h>

#include "base/status.h"
#include "base/words.h"

/** ROWS: number of batches that all candidates share. A candidate gets LEAST_ROWS batches even if none of the
 *  ROWS batches are left.
 *  LEAST_ROWS, MOST_ROWS: bounds on the number of batches of a candidate, without the warm-up.
 *  ROWS_ALONE: number of batches if only one object is timed.
 *  RUNS: maximum number of runs in a batch.
 *  SHORT: maximum duration in seconds of a batch with several runs. Small products get ten to forty
 *  runs, because a processor needs some to predict the branches at the ends of rows (cpu_sorted with
 *  wiki-Vote, K = 1: 0.033 ms in the first ten runs, 0.017 ms later). */
enum { ROWS = 15, LEAST_ROWS = 2, MOST_ROWS = 6, ROWS_ALONE = 3, RUNS = 10 };
static const double SHORT = 2e-4;

/** Timing of a candidate stops early if each of its first two runs takes more than HOPELESS times as long as
 *  the best candidate so far, or if each of two batches takes more than BEHIND times as long. */
static const double HOPELESS = 4, BEHIND = 1.5;

/** A time is clearly less than another if their ratio is below this. Times of a few runs vary by some
 *  percent. */
static const double CLEARLY = 0.95;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/** Runs the candidate n times. A failure does not end the batch, because the other ranks continue. */
static spmm_status run_row(const sp_trial_ops *ops, void *of, void *made, int n)
{
    spmm_status status = SPMM_OK;
    for (int i = 0; i < n; i++) {
        const spmm_status one = ops->run(of, made);
        if (status == SPMM_OK) status = one;
    }
    const spmm_status ended = ops->wait ? ops->wait(of) : SPMM_OK;
    return status == SPMM_OK ? ended : status;
}

/** Times a batch of n runs, and returns the seconds of one run. */
static spmm_status time_row(const sp_together *all, const sp_trial_ops *ops, void *of, void *made, int n,
                            double *seconds)
{
    if (all) TRY(all->start(all->comm));
    const double start = now();
    const spmm_status status = run_row(ops, of, made, n);
    *seconds = (now() - start) / n;
    if (!all) return status;
    TRY(all->agree(all->comm, ops->stage, status));
    return all->slowest(all->comm, seconds);
}

/** Times one candidate with a number of batches.
 *  \param [out] had  number of batches that were run, including the warm-up */
static spmm_status time_rows(const sp_together *all, const sp_trial_ops *ops, void *of, void *made, int rows,
                             double least, int *had, double *seconds)
{
    *had = 1;
    TRY(time_row(all, ops, of, made, 1, seconds));
    if (*seconds > HOPELESS * least) { /* the run may have been interrupted: repeat it */
        double again;
        *had = 2;
        TRY(time_row(all, ops, of, made, 1, &again));
        *seconds = fmin(*seconds, again);
        if (*seconds > HOPELESS * least) return SPMM_OK;
    }
    const double fit = *seconds > 0 ? SHORT / *seconds : RUNS;
    const int n = fit > RUNS ? RUNS : fit < 1 ? 1 : (int)fit;
    for (int i = 0; i < rows; i++) {
        double took;
        ++*had;
        TRY(time_row(all, ops, of, made, n, &took));
        if (i == 0 || took < *seconds) *seconds = took;
        if (i > 0 && *seconds > BEHIND * least) break;
    }
    return SPMM_OK;
}

spmm_status sp_trial_time(const sp_together *all, const sp_trial_ops *ops, void *of, void *made,
                          double *seconds)
{
    int had;
    return time_rows(all, ops, of, made, ROWS_ALONE, INFINITY, &had, seconds);
}

void sp_trial_add(sp_trial *trial, const char *name)
{
    if (trial->count == SP_MOST_TRIED) return;
    sp_tried *const t = &trial->tried[trial->count++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->seconds = NAN;
}

static int left_out(const sp_trial_ops *ops, spmm_status status)
{
    return ops->unsure || status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT || status == SPMM_ERR_DEVICE;
}

/** Times the best candidate so far again, because a later one took less time: the processor may have been
 *  slower when the earlier one was timed, for example after a pause. If the best candidate fails now, its
 *  time becomes infinity.
 *  \return SPMM_OK also for a failure that only excludes the candidate */
static spmm_status time_again(const sp_together *all, const sp_trial_ops *ops, void *of, void *best, int rows,
                              double least, sp_trial *trial)
{
    double *const seconds = &trial->tried[trial->chosen].seconds, again;
    int had;
    const spmm_status status = time_rows(all, ops, of, best, rows, least, &had, &again);
    if (status != SPMM_OK && !left_out(ops, status)) return status;
    *seconds = status == SPMM_OK ? fmin(*seconds, again) : INFINITY;
    return SPMM_OK;
}

/** Creates and times candidate i, and keeps it if it is the best so far. Batches that slow candidates did not
 *  use are available to later ones.
 *  \param [in,out] left  number of remaining batches for all candidates */
static spmm_status try_one(const sp_together *all, const sp_trial_ops *ops, void *of, int i, double brief,
                           int *left, sp_trial *trial, void **best)
{
    void *made = NULL;
    int had = 0;
    double *const seconds = &trial->tried[i].seconds;
    const double least = trial->chosen >= 0 ? trial->tried[trial->chosen].seconds : INFINITY;
    const int share = *left / (trial->count - i) - 1;
    const int rows = isinf(brief)         ? 0
                     : share < LEAST_ROWS ? LEAST_ROWS
                     : share > MOST_ROWS  ? MOST_ROWS
                                          : share;
    spmm_status status = ops->make(of, i, &made);
    if (status == SPMM_OK && (trial->count > 1 || ops->unsure))
        status = time_rows(all, ops, of, made, rows, least, &had, seconds);
    *left -= had;
    if (status == SPMM_OK && trial->chosen >= 0 && *seconds < CLEARLY * least)
        status = time_again(all, ops, of, *best, rows, *seconds, trial);
    const int better = status == SPMM_OK &&
                       (trial->chosen < 0 || *seconds < CLEARLY * trial->tried[trial->chosen].seconds);
    if (status != SPMM_OK) *seconds = INFINITY;
    ops->destroy(of, better ? *best : made);
    if (better) {
        *best = made;
        trial->chosen = i;
    }
    return status;
}

/** The failure to report if no candidate works: a lack of memory, if there was one, rather than the failure
 *  of the last candidate. */
typedef struct failure {
    spmm_status status;
    char text[SP_MESSAGE_BYTES];
} failure;

static void remember(spmm_status status, failure *f)
{
    if (f->status == SPMM_ERR_MEMORY) return;
    f->status = status;
    snprintf(f->text, sizeof f->text, "%s", spmm_error_message());
}

void (*sp_trial_begins)(const sp_trial *trial, int i);

spmm_status sp_trial_run(const sp_together *all, const sp_trial_ops *ops, void *of, double brief,
                         sp_trial *trial, void **best)
{
    const double start = now();
    failure failed = {.status = SPMM_ERR_INTERNAL};
    int left = ROWS;
    trial->chosen = -1;
    *best = NULL;
    for (int i = 0; i < trial->count; i++) {
        if (trial->chosen >= 0 && trial->tried[trial->chosen].seconds < brief) break;
        if (sp_trial_begins && trial->count > 1) sp_trial_begins(trial, i);
        const spmm_status status = try_one(all, ops, of, i, brief, &left, trial, best);
        if (status != SPMM_OK) remember(status, &failed);
        if (status == SPMM_OK || left_out(ops, status)) continue;
        ops->destroy(of, *best);
        *best = NULL;
        trial->chosen = -1;
        return status;
    }
    trial->took = now() - start;
    return trial->chosen >= 0 ? SPMM_OK : sp_fail(failed.status, "%s", failed.text);
}

/* ---- descriptions ---- */

void sp_trial_words(const sp_trial *trial, char *text, size_t n)
{
    /* faster: 1 if a candidate took less time than the chosen one, but by so little that the difference
     * may be noise */
    int timed = 0, faster = 0;
    size_t used = 0;
    const double least = trial->chosen >= 0 ? trial->tried[trial->chosen].seconds : NAN;
    for (int i = 0; i < trial->count; i++) {
        timed += isfinite(trial->tried[i].seconds);
        faster |= isless(trial->tried[i].seconds, least); /* no trap if either is NaN */
    }
    if (timed < 2) return;
    sp_text_add(text, n, &used,
                faster ? "the first candidate, within 5 %% of the fastest of %d in a trial (others took: "
                       : "fastest of %d in a trial (others took: ",
                timed);
    for (int i = 0, first = 1; i < trial->count; i++) {
        const sp_tried *const t = &trial->tried[i];
        if (i == trial->chosen || !isfinite(t->seconds)) continue;
        sp_text_add(text, n, &used, "%s%s %.2fx", first ? "" : ", ", t->name,
                    least > 0 ? t->seconds / least : 1);
        first = 0;
    }
    sp_text_add(text, n, &used, ")");
}

void sp_trial_list(const sp_trial *trial, char *text, size_t n)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < trial->count; i++) {
        const sp_tried *const t = &trial->tried[i];
        sp_text_add(text, n, &used, "%s%s:", i > 0 ? " " : "", t->name);
        if (isfinite(t->seconds))
            sp_text_add(text, n, &used, "%.3e", t->seconds);
        else
            sp_text_add(text, n, &used, isnan(t->seconds) ? "-" : "failed");
    }
}
