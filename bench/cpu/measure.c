#include <dirent.h>
#include <inttypes.h>

#include "base/status.h"
#include "spmm_mpi/verify.h"
#include "bench.h"

/* a contender that is HOPELESS times slower than the fastest after FEW products is not timed further */
enum { FEW = 3, HOPELESS = 4 };
/* seconds: that a case may spend on doing disturbed products again; below which a product is short; see settle */
static const double AGAIN = 2, SHORT = 0.03, SETTLE = 0.003;
/* share of a product's time that its threads may have waited for a core */
static const double TOLERATED = 0.02;

/** The first product, against the serial one; Y is full of NaN before it. */
static const char *check(contender *c, const settings *s, const spmm_csr *a, const dense *x, dense *y)
{
    static char text[200];
    sp_error error;
    spmm_multivector found = y->own;
    dense_poison(y);
    const char *problem = contender_run(c, x, y, &c->least);
    if (!problem) problem = contender_fetch(c);
    if (problem) return problem;
    if (c->library) {
        if (c->layout == PEER_COLUMN) dense_rows_from_columns(y, s->threads);
        found.data = y->row;
        found.ld = found.k;
    }
    if (sp_verify(a, &x->own, &found, s->threads, &error) != SPMM_OK) return spmm_error_message();
    if (error.wrong == 0) return NULL;
    snprintf(text, sizeof text,
             "WRONG: %" PRId64 " of %" PRId64 " elements, first (%" PRId64 ", %" PRId64 "): %g, not %g",
             error.wrong, error.checked, error.row, error.column, error.found, error.expected);
    return text;
}

static void tell(field *f, const contender *c, const char *what, const char *problem)
{
    printf("  %-20s %-7s %s: %s\n", c->name, c->layout == PEER_ROW ? "row" : "column", what, problem);
    f->trouble |= !c->left_out;
}

/** Sets a contender up and checks it. */
static void admit(field *f, contender *c, const settings *s, const spmm_csr *a, int64_t k, const dense *x,
                  dense *y)
{
    const char *problem = contender_start(c, s, a, k, x, y);
    /* a format of ours may refuse a matrix, as ELLPACK does one with long rows; a library's form some K */
    c->left_out = problem ? c->kernel != NULL : !c->plan && !c->product;
    if (!problem && !c->left_out) problem = check(c, s, a, x, y);
    c->ok = !problem && !c->left_out;
    c->count = 0;
    c->time = (sp_stats){.n = 0};
    if (problem) tell(f, c, c->left_out ? "left out" : "FAILED", problem);
    if (!c->ok) contender_stop(c);
}

/** Seconds that threads of ours were ready to run, but waited for a core, so far; 0 where Linux does not count
 *  that. */
static double waited(void)
{
    double sum = 0;
    DIR *const tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300];
        double nanoseconds = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
        FILE *const f = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%*f %lf", &nanoseconds) == 1) sum += nanoseconds * 1e-9;
        if (f) fclose(f);
    }
    if (tasks) closedir(tasks);
    return sum;
}

/** A short product is timed after others of the same contender, for SETTLE, so that it finds its own matrix and
 *  vectors in the caches, not its neighbour's, and its threads awake; for a long one that is too little to
 *  matter. */
static const char *settle(contender *c, const dense *x, dense *y)
{
    const char *problem = NULL;
    double seconds, left = c->least < SHORT ? SETTLE : 0;
    for (; left > 0 && !problem; left -= seconds + 1e-6) problem = contender_run(c, x, y, &seconds);
    return problem;
}

/** One product, timed. One that other processes disturbed is done again, as long as *again lasts. */
static const char *time_product(contender *c, const dense *x, dense *y, outcome *o, double *again)
{
    double *const seconds = &c->seconds[c->count];
    const char *problem = settle(c, x, y);
    int disturbed = 1;
    while (!problem && disturbed) {
        const double before = waited();
        problem = contender_run(c, x, y, seconds);
        disturbed = waited() - before > TOLERATED * *seconds;
        if (!disturbed || (*again -= *seconds) < 0) break;
    }
    if (problem) return problem;
    o->timed++;
    o->disturbed += disturbed;
    if (*seconds < c->least) c->least = *seconds;
    c->count++;
    return NULL;
}

/** One product of each contender; another one begins each round. */
static void time_round(field *f, int round, const dense *x, dense *y, outcome *o, double *again)
{
    double best = 1e300;
    for (int i = 0; i < f->count; i++)
        if (f->contender[i].ok && f->contender[i].least < best) best = f->contender[i].least;
    for (int i = 0; i < f->count; i++) {
        contender *const c = &f->contender[(round + i) % f->count];
        if (!c->ok || (c->count >= FEW && c->least > HOPELESS * best)) continue;
        const char *const problem = time_product(c, x, y, o, again);
        if (!problem) continue;
        tell(f, c, "FAILED", problem);
        c->ok = 0;
    }
}

spmm_status measure(field *f, const settings *s, const spmm_csr *a, int64_t k, outcome *o)
{
    dense x, y = {.row = NULL};
    double again = AGAIN;
    spmm_status status;
    *o = (outcome){.timed = 0};
    TRY_GOTO(dense_create(a->cols, k, s, &x), done);
    TRY_GOTO(dense_create(a->rows, k, s, &y), done);
    dense_fill(&x, s->threads);
    for (int i = 0; i < f->count; i++) admit(f, &f->contender[i], s, a, k, &x, &y);
    for (int r = 0; r < s->repeat; r++) time_round(f, r, &x, &y, o, &again);
    for (contender *c = f->contender; c < f->contender + f->count; c++) {
        if (c->ok) c->time = sp_stats_of(c->seconds, c->count);
        contender_stop(c);
    }
done:
    dense_destroy(&x);
    dense_destroy(&y);
    return status;
}
