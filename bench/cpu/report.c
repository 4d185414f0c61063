#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>

#include "bench.h"

static const char *precision_name(const settings *s) { return s->precision == SPMM_F64 ? "f64" : "f32"; }

/** "AMD EPYC (2 cores)", without commas. */
static const char *machine(void)
{
    static char text[128];
    char line[256], model[96] = "unknown processor";
    FILE *const f = text[0] ? NULL : fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %95[^\n,]", model) == 1) break;
    if (f) fclose(f);
    if (!text[0]) snprintf(text, sizeof text, "%s (%d cores)", model, omp_get_num_procs());
    return text;
}

int report_open(const settings *s, FILE **csv)
{
    *csv = NULL;
    if (!s->csv) return 1;
    *csv = fopen(s->csv, "a");
    if (!*csv) {
        perror(s->csv);
        return 0;
    }
    if (fseek(*csv, 0, SEEK_END) == 0 && ftell(*csv) == 0)
        fprintf(*csv,
                "date,commit,machine,threads,precision,matrix,rows,cols,nnz,k,contender,layout,median_ms,"
                "min_ms,max_ms,gflops,ok\n");
    return 1;
}

void report_header(const settings *s)
{
    printf("bench_cpu: %s, %d threads, %s, median of %d\n", machine(), s->threads, precision_name(s),
           s->repeat);
}

static void row(FILE *csv, const settings *s, const contender *c, const char *matrix, const spmm_csr *a,
                int64_t k, double gflops, const char *date)
{
    const char *const commit = getenv("COMMIT");
    fprintf(csv, "%s,%s,%s,%d,%s,\"%s\",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, date,
            commit ? commit : "", machine(), c->threads, precision_name(s), matrix, a->rows, a->cols, a->nnz,
            k);
    fprintf(csv, ",%s,%s,%.6f,%.6f,%.6f,%.4f,%d\n", c->name, c->layout == PEER_ROW ? "row" : "column",
            c->time.median * 1e3, c->time.min * 1e3, c->time.max * 1e3, gflops, c->ok);
}

void report_case(const field *f, const settings *s, const char *matrix, const spmm_csr *a, int64_t k,
                 const outcome *o, const char *date, FILE *csv)
{
    const double flop = 2.0 * (double)a->nnz * (double)k, ours = f->contender[0].time.median;
    printf("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " entries, K = %" PRId64 ", %s\n", matrix, a->rows,
           a->cols, a->nnz, k, precision_name(s));
    printf("  %-20s %-7s %7s %11s %10s %10s %9s %8s\n", "contender", "layout", "threads", "median ms", "min",
           "max", "GFLOP/s", "/ ours");
    for (const contender *c = f->contender; c < f->contender + f->count; c++) {
        const double gflops = c->ok && flop > 0 ? flop / c->time.median / 1e9 : 0;
        if (csv && !c->left_out) row(csv, s, c, matrix, a, k, gflops, date);
        if (!c->ok) continue;
        printf("  %-20s %-7s %7d %11.4f %10.4f %10.4f %9.2f", c->name,
               c->layout == PEER_ROW ? "row" : "column", c->threads, c->time.median * 1e3, c->time.min * 1e3,
               c->time.max * 1e3, gflops);
        if (ours > 0) printf(" %8.2f", c->time.median / ours);
        printf("\n");
    }
    if (o->disturbed) printf("  other processes disturbed %d of %d timed products\n", o->disturbed, o->timed);
    printf("\n");
    fflush(stdout);
    if (csv) fflush(csv);
}
