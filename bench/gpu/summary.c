#include <math.h>
#include <string.h>

#include "bench.h"

/** A quotient of two times of a case: above 1, the second is the faster. */
typedef enum quotient {
    PEER_BEST,   /**< SpMM over our best kernel */
    PEER_AUTO,   /**< SpMM over what auto takes */
    VECTOR_BEST, /**< the faster of SpMM and SpMV over our best kernel */
    VECTOR_AUTO,
    BEST_AUTO /**< our best kernel over what auto takes: at most 1 */
} quotient;

/** Cases of a precision, a range of K and, if not NULL, a matrix. */
typedef struct filter {
    spmm_precision precision;
    int64_t least, most;
    const char *matrix;
} filter;

/** Less of two times, where 0 is none. */
static double less(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

static double value(const result *r, quotient q)
{
    const double any = less(r->peer, r->vector);
    double above = 0, below = 0;
    switch (q) {
    case PEER_BEST: above = r->peer, below = r->best; break;
    case PEER_AUTO: above = r->peer, below = r->automatic; break;
    case VECTOR_BEST: above = r->vector > 0 ? any : 0, below = r->best; break;
    case VECTOR_AUTO: above = r->vector > 0 ? any : 0, below = r->automatic; break;
    case BEST_AUTO: above = r->best, below = r->automatic; break;
    }
    return above > 0 && below > 0 ? above / below : 0;
}

static int is_in(const result *r, const filter *f)
{
    return r->precision == f->precision && r->k >= f->least && r->k <= f->most &&
           (!f->matrix || strcmp(r->matrix, f->matrix) == 0);
}

/** Number of cases, geometric mean, and the least with its case. */
static int gather(const report *r, const filter *f, quotient q, double *mean, const result **worst)
{
    double logs = 0;
    int n = 0;
    *worst = NULL;
    for (int i = 0; i < r->count; i++) {
        const double v = is_in(&r->results[i], f) ? value(&r->results[i], q) : 0;
        if (v <= 0) continue;
        logs += log(v);
        n++;
        if (!*worst || v < value(*worst, q)) *worst = &r->results[i];
    }
    *mean = n > 0 ? exp(logs / n) : 0;
    return n;
}

static void line(const report *r, const char *label, const filter *f, quotient q)
{
    static const char *const names[] = {"SpMM / our best", "SpMM / auto", "SpMM or SpMV / our best",
                                        "SpMM or SpMV / auto", "our best / auto"};
    const result *worst;
    double mean;
    const int n = gather(r, f, q, &mean, &worst);
    if (n == 0) return;
    printf("%-4s %-27.27s %-24s %4d  %7.2f  %7.2f  %s K = %lld\n", precision_name(f->precision), label,
           names[q], n, mean, value(worst, q), worst->matrix, (long long)worst->k);
}

static void all_matrices(const report *r, spmm_precision precision)
{
    static const struct {
        const char *label;
        int64_t least, most;
    } ranges[] = {{"K = 4 .. 128", 4, 128}, {"K = 1 .. 3", 1, 3}, {"every K", 1, INT64_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const filter f = {precision, ranges[i].least, ranges[i].most, NULL};
        line(r, ranges[i].label, &f, PEER_BEST);
        line(r, ranges[i].label, &f, PEER_AUTO);
        line(r, ranges[i].label, &f, BEST_AUTO);
    }
    const filter one = {precision, 1, 1, NULL};
    line(r, "K = 1", &one, VECTOR_BEST);
    line(r, "K = 1", &one, VECTOR_AUTO);
}

static void per_matrix(const report *r, spmm_precision precision)
{
    for (int i = 0; i < r->count; i++) {
        const char *const matrix = r->results[i].matrix;
        char label[64];
        if (r->results[i].precision != precision) continue;
        if (i > 0 && r->results[i - 1].precision == precision && r->results[i - 1].matrix == matrix) continue;
        const filter many = {precision, 4, 128, matrix}, few = {precision, 1, 3, matrix};
        snprintf(label, sizeof label, "%.14s K = 4 .. 128", matrix);
        line(r, label, &many, PEER_BEST);
        line(r, label, &many, PEER_AUTO);
        snprintf(label, sizeof label, "%.14s K = 1 .. 3", matrix);
        line(r, label, &few, PEER_BEST);
        line(r, label, &few, PEER_AUTO);
    }
}

void summary_print(const report *r)
{
    if (r->count == 0) return;
    printf("\n%-4s %-27s %-24s %4s  %7s  %7s\n", "", "cases", "times", "n", "geomean", "worst");
    for (int precision = SPMM_F64; precision <= SPMM_F32; precision++)
        all_matrices(r, (spmm_precision)precision);
    for (int precision = SPMM_F64; precision <= SPMM_F32; precision++)
        per_matrix(r, (spmm_precision)precision);
}
