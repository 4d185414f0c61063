/** The CSV file, the table of a case, and means over cases. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/enum_words.h"
#include "base/value_type.h"
#include "bench.h"

void date_text(char *text, size_t size, int milliseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const size_t n = strftime(text, size, "%Y-%m-%dT%H:%M:%S", gmtime(&now.tv_sec));
    snprintf(text + n, size - n, milliseconds ? ".%03ldZ" : "Z", now.tv_nsec / 1000000);
}

/* ---- a case ---- */

double over(double a, double b) { return a > 0 && b > 0 ? a / b : 0; }

double per_second(const run *r, double seconds)
{
    return over(1e-9 * sp_operations(r->matrix.precision) * (double)r->matrix.nnz * (double)r->k, seconds);
}

const char *contender_way(const contender *c)
{
    const char *const way = c->library->peer->way && c->product ? c->library->peer->way(c->product) : NULL;
    return way ? way : "";
}

const char *layout_word(const contender *c) { return c->form->layout == PEER_ROW ? "row" : "column"; }

void report_table(const run *r)
{
    const bench_matrix *const p = &r->matrix;
    const double ours = r->contender[0].time.median;
    printf("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " entries, K = %" PRId64 ", %s\n", p->name,
           p->block.rows, p->block.cols, p->nnz, r->k, sp_precision_word(p->precision));
    printf("  %-17s %-14s %-7s %7s %11s %10s %10s %9s %9s %8s\n", "contender", "kernel", "layout", "threads",
           "median ms", "min", "max", "GFLOP/s", "error", "/ ours");
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++) {
        if (!c->time.n) continue;
        printf("  %-17s %-14s %-7s %7d %11.4f %10.4f %10.4f %9.2f %9.1e", c->name, contender_way(c),
               layout_word(c), c->threads, c->time.median * 1e3, c->time.min * 1e3, c->time.max * 1e3,
               per_second(r, c->time.median), c->difference.error);
        if (ours > 0) printf(" %8.2f", c->time.median / ours);
        printf("\n");
    }
    if (r->disturbed)
        printf("  other processes disturbed %d of %d timed products to the last\n", r->disturbed, r->timed);
    printf("\n");
    fflush(stdout);
}

/* ---- means ---- */

result results[MAX_RESULTS];
int result_count;

result *result_add(const run *r)
{
    static result none;
    result *const one = result_count < MAX_RESULTS ? &results[result_count++] : &none;
    *one = (result){.matrix = r->matrix.name, .precision = r->matrix.precision, .k = r->k};
    return one;
}

int structure_of(const char *matrix, const char **name)
{
    const size_t n = strcspn(matrix, ":");
    const char *const slash = matrix[n] ? NULL : strrchr(matrix, '/');
    *name = slash ? slash + 1 : matrix;
    return (int)(matrix + n - *name);
}

int same_structure(const char *a, const char *b)
{
    const char *x, *y;
    const int n = structure_of(a, &x);
    return n == structure_of(b, &y) && strncmp(x, y, (size_t)n) == 0;
}

int results_mean(const selection *s, int which, double *mean, const result **worst)
{
    double logs = 0;
    int n = 0;
    const result *least = NULL;
    for (const result *r = results; r < results + result_count; r++) {
        const double v = r->value[which];
        if (!(v > 0) || r->k < s->least || r->k > s->most) continue;
        if (s->precision >= 0 && (int)r->precision != s->precision) continue;
        if (s->matrix &&
            !(s->structure ? same_structure(r->matrix, s->matrix) : !strcmp(r->matrix, s->matrix)))
            continue;
        logs += log(v);
        n++;
        if (!least || v < least->value[which]) least = r;
    }
    *mean = n ? exp(logs / n) : 0;
    if (worst) *worst = least;
    return n;
}
