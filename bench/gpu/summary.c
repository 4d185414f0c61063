#include <string.h>

#include "base/enum_words.h"
#include "gpu.h"

static void line(const char *label, const selection *s, int which)
{
    static const char *const names[] = {"SpMM / our best", "SpMM / auto", "SpMM or SpMV / our best",
                                        "SpMM or SpMV / auto", "our best / auto"};
    const result *worst;
    double mean;
    const int n = results_mean(s, which, &mean, &worst);
    if (n > 0)
        printf("%-4s %-27.27s %-24s %4d  %7.2f  %7.2f  %s K = %lld\n", sp_precision_words[s->precision],
               label, names[which], n, mean, worst->value[which], worst->matrix, (long long)worst->k);
}

static void all_matrices(int precision)
{
    static const struct {
        const char *label;
        int64_t least, most;
        int which[4]; /* -1: no more */
    } ranges[] = {{"K = 4 .. 128", 4, 128, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"K = 1 .. 3", 1, 3, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"every K", 1, INT64_MAX, {PEER_BEST, PEER_AUTO, BEST_AUTO, -1}},
                  {"K = 1", 1, 1, {VECTOR_BEST, VECTOR_AUTO, -1, -1}}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (const int *which = ranges[i].which; *which >= 0; which++)
            line(ranges[i].label, &(selection){precision, ranges[i].least, ranges[i].most, NULL, 0}, *which);
}

static void per_matrix(const char *matrix, int precision)
{
    char label[64];
    for (int few = 0; few < 2; few++) {
        const selection s = {precision, few ? 1 : 4, few ? 3 : 128, matrix, 0};
        snprintf(label, sizeof label, "%.14s K = %s", matrix, few ? "1 .. 3" : "4 .. 128");
        line(label, &s, PEER_BEST);
        line(label, &s, PEER_AUTO);
    }
}

void summary_print(run *r)
{
    if (result_count > 0)
        printf("\n%-4s %-27s %-24s %4s  %7s  %7s\n", "", "cases", "times", "n", "geomean", "worst");
    for (int precision = SPMM_F64; precision <= SPMM_F32 && result_count > 0; precision++)
        all_matrices(precision);
    for (int precision = SPMM_F64; precision <= SPMM_F32; precision++)
        for (int i = 0; i < r->settings.matrices && result_count > 0; i++)
            per_matrix(r->settings.matrix[i], precision);
    printf("%.0f s\n", MPI_Wtime() - r->start);
}
