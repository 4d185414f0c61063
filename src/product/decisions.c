/** Stores and prints the decisions about a product. */
#include "product/decisions.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define WORD(id, word) word,
const char *const sp_decision_words[SP_DECISIONS] = {SP_DECISION_LIST(WORD)};
#undef WORD

void sp_decided(sp_decision *d, const char *why, const char *taken, ...)
{
    va_list list;
    va_start(list, taken);
    vsnprintf(d->taken, sizeof d->taken, taken, list);
    va_end(list);
    if (why != d->why) snprintf(d->why, sizeof d->why, "%s", why);
    sp_trial_words(&d->trial, d->why, sizeof d->why);
}

double sp_decisions_repaid(const sp_decisions *decisions, double seconds)
{
    const sp_trial *const t = &decisions->row[SP_DECIDES_KERNEL].trial;
    for (int i = 0; i < t->count && t->chosen >= 0; i++) {
        const sp_tried *const d = &t->tried[i];
        if (strcmp(d->name, "cpu_csr") != 0 && strcmp(d->name, "csr_balanced") != 0) continue;
        const double gain = d->seconds - t->tried[t->chosen].seconds;
        return isnan(gain) ? NAN : gain > 0 ? ceil(seconds / gain) : INFINITY;
    }
    return NAN;
}

static double on_ranks(const sp_parts_seconds *m, int ranks, int q)
{
    if (q == 1) return m->kernels;
    const double shorter = fmin(m->local, m->exchange),
                 hidden = shorter > 0 ? (m->local + m->exchange - m->product) / shorter : 0;
    const double local = m->local + m->kernels * (1.0 / q - 1.0 / ranks),
                 exchange = m->exchange * (1 - 1.0 / q) / (1 - 1.0 / ranks);
    return local + exchange - fmin(1, fmax(0, hidden)) * fmin(local, exchange);
}

int sp_fewer_ranks(const sp_parts_seconds *measured, int ranks, int most, double *seconds)
{
    double least = measured->product;
    int found = 0;
    if (isnan(measured->kernels + measured->local + measured->exchange + least)) return 0;
    for (int q = 1; q < ranks && q <= most; q++) {
        if (ranks % q != 0 && (q & (q - 1)) != 0) continue;
        const double t = on_ranks(measured, ranks, q);
        if (t >= least) continue;
        least = *seconds = t;
        found = q;
    }
    return found;
}

void sp_decisions_print(const sp_decisions *decisions, int alone, const char *indent, FILE *f)
{
    enum { ONE_RANK = 1 << SP_DECIDES_COLUMNS | 1 << SP_DECIDES_KERNEL | 1 << SP_DECIDES_NARROW };
    for (int i = 0; i < SP_DECISIONS; i++) {
        const sp_decision *const d = &decisions->row[i];
        /* one rank does not cut X into column blocks, unless the options ask for that */
        if (!d->taken[0] || (alone && (!(ONE_RANK >> i & 1) || strcmp(d->taken, "1") == 0))) continue;
        fprintf(f, "%s%-12s%s, %s", indent, sp_decision_words[i], d->taken, d->why);
        if (d->trial.count > 1 && d->trial.took > 0) fprintf(f, ", in %.2f ms", 1e3 * d->trial.took);
        fprintf(f, "\n");
    }
}
