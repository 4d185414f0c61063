/* Rounds of one product of each contender, from the barrier that all ranks leave to the one that all reach. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

/* seconds: below which a product is short, and how long others of the same contender precede it then */
static const double SHORT = 0.03, SETTLE = 0.003;
/* a product is disturbed when a rank was without a core for this share of it and these seconds; it is done again
 * up to AGAIN times */
static const double TOLERATED = 0.02, SLACK = 5e-6;
enum { AGAIN = 3, WARMUP = 2 };

static double cpu_seconds(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(trial *t, const char *problem) { snprintf(t->problem, sizeof t->problem, "%s", problem); }

/** One product: the slowest rank's seconds, the same on all. A rank whose thread waits for messages spins; without
 *  a core it is only when others have it. */
static double run(trial *t, int threads, int *disturbed)
{
    double both[2];
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime(), cpu = cpu_seconds();
    const char *problem = t->c->run(t->state);
    MPI_Barrier(MPI_COMM_WORLD);
    both[0] = MPI_Wtime() - start;
    both[1] = both[0] - (cpu_seconds() - cpu);
    problem = agree(problem);
    if (problem) fail(t, problem);
    MPI_Allreduce(MPI_IN_PLACE, both, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *disturbed = threads == 1 && both[1] > TOLERATED * both[0] + SLACK;
    if (both[0] < t->least) t->least = both[0];
    return both[0];
}

/** X, and NaN in Y. */
static void fill(trial *t, const spmm_block *block, int64_t k)
{
    view x = {0}, y = {0};
    const char *problem = t->c->view(t->state, SIDE_X, &x);
    if (!problem) problem = t->c->view(t->state, SIDE_Y, &y);
    for (int64_t i = 0; !problem && i < block->x_rows; i++)
        for (int64_t j = 0; j < k; j++)
            x.data[i * x.row_step + j * x.column_step] = x_element(block->x_begin + i, j);
    for (int64_t i = 0; !problem && i < block->csr.rows; i++)
        for (int64_t j = 0; j < k; j++) y.data[i * y.row_step + j * y.column_step] = NAN;
    if (!problem) problem = t->c->release(t->state, SIDE_X, &x);
    if (!problem) problem = t->c->release(t->state, SIDE_Y, &y);
    problem = agree(problem);
    if (problem) fail(t, problem);
}

static void admit(outcome *o, const contender *c, const settings *s, const spmm_block *block, int64_t k)
{
    if (c->most_columns && k > c->most_columns) return;
    trial *const t = &o->trial[o->count++];
    int disturbed;
    *t = (trial){.c = c, .least = INFINITY};
    const char *const problem = agree(c->begin(block, k, s->threads, &t->state));
    if (problem) fail(t, problem);
    if (!t->problem[0]) fill(t, block, k);
    for (int i = 0; i < WARMUP && !t->problem[0]; i++) run(t, s->threads, &disturbed);
}

static void time_product(trial *t, const settings *s, outcome *o)
{
    int disturbed = 1;
    double seconds = 0;
    /* least is the same on every rank, and so is the number of products */
    for (double left = t->least < SHORT ? SETTLE : 0; left > 0 && !t->problem[0]; left -= t->least + 1e-6)
        run(t, s->threads, &disturbed);
    disturbed = 1;
    for (int i = 0; i <= AGAIN && disturbed && !t->problem[0]; i++) seconds = run(t, s->threads, &disturbed);
    t->seconds[t->count++] = seconds;
    o->timed++;
    o->disturbed += disturbed;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(trial *t)
{
    if (t->count == 0) return;
    qsort(t->seconds, (size_t)t->count, sizeof *t->seconds, ascending);
    t->min = t->seconds[0];
    t->max = t->seconds[t->count - 1];
    t->median = (t->seconds[(t->count - 1) / 2] + t->seconds[t->count / 2]) / 2;
}

void measure(const settings *s, const peer *other, const spmm_block *block, int64_t k, outcome *o)
{
    memset(o, 0, sizeof *o);
    admit(o, &own, s, block, k);
    for (int i = 0; other && i < other->form_count; i++) admit(o, &other->forms[i], s, block, k);
    for (int round = 0; round < s->repeat; round++)
        for (int i = 0; i < o->count; i++) { /* another one begins each round */
            trial *const t = &o->trial[(round + i) % o->count];
            if (!t->problem[0]) time_product(t, s, o);
        }
    for (trial *t = o->trial; t < o->trial + o->count; t++) {
        int disturbed;
        summarise(t);
        /* what is checked is one more product into a Y of NaN */
        if (!t->problem[0]) fill(t, block, k);
        if (!t->problem[0]) run(t, s->threads, &disturbed);
    }
    check(block, k, o);
}

void measure_end(outcome *o)
{
    for (trial *t = o->trial; t < o->trial + o->count; t++) t->c->end(t->state);
    o->count = 0;
}

int in_trouble(const outcome *o)
{
    for (const trial *t = o->trial; t < o->trial + o->count; t++)
        if (t->wrong || t->problem[0]) return 1;
    return 0;
}
