#include <string.h>

#include "base/enum_words.h"
#include "plan/exchange.h"
#include "plan/plan.h"
#include "bench.h"

/* seconds of a round of a contender, and how many products that may be */
enum { ROUNDS = 3, LEAST = 3, MOST = MAX_REPEATS / ROUNDS, PARTS = 9 };
static const double ROUND = 0.1;

/* ---- set-up ---- */

static spmm_status create_ours(const problem *p, int64_t k, contender *c)
{
    const spmm_plan_options options = {.device = SPMM_CUDA,
                                       .format = SPMM_FORMAT_AUTO,
                                       .threads = p->threads,
                                       .transport = c->transport,
                                       .no_overlap = c->no_overlap};
    TRY(spmm_plan_create(p->comm, &p->block, k, &options, &c->plan));
    spmm_status status = spmm_plan_x_create(c->plan, &c->x);
    if (status == SPMM_OK) status = spmm_plan_y_create(c->plan, &c->y);
    if (status == SPMM_OK)
        status = problem_fill(p, p->block.x_begin, p->block.x_rows, k, 0, c->x.ld, c->x.data);
    return sp_agree(p->comm, "ours", status);
}

spmm_status contender_create(const problem *p, int64_t k, contender *c)
{
    const double start = MPI_Wtime();
    const spmm_status status = strcmp(c->name, "theirs") == 0 ? theirs_create(p, k, &c->theirs)
                                                              : create_ours(p, k, c);
    c->set_up = MPI_Wtime() - start;
    if (status != SPMM_OK) contender_destroy(c);
    return status;
}

void contender_destroy(contender *c)
{
    theirs_destroy(c->theirs);
    spmm_multivector_destroy(&c->x);
    spmm_multivector_destroy(&c->y);
    spmm_plan_destroy(c->plan);
    c->theirs = NULL;
    c->plan = NULL;
}

const char *contender_way(const contender *c)
{
    return c->theirs ? theirs_form(c->theirs) : spmm_plan_kernel(c->plan);
}

const char *contender_transport(const contender *c)
{
    sp_plan_facts facts;
    if (c->theirs) return "nccl";
    sp_plan_facts_of(c->plan, &facts);
    return facts.transport == SPMM_TRANSPORT_AUTO ? "none" : sp_transport_words[facts.transport];
}

/* ---- times ---- */

typedef enum what { PRODUCT, EXCHANGE, NO_EXCHANGE } what;

static spmm_status run(contender *c, what w)
{
    if (c->theirs) return theirs_run(c->theirs);
    if (w == NO_EXCHANGE) return sp_plan_apply_local(c->plan, &c->x, &c->y);
    return w == PRODUCT ? spmm_apply(c->plan, 1, &c->x, 0, &c->y) : sp_plan_exchange(c->plan, &c->x);
}

/** `count` of them, one at a time, the clock of each from barrier to barrier; the slowest rank's seconds. */
static spmm_status time_some(const problem *p, contender *c, what w, int count, double *seconds)
{
    spmm_status failed = SPMM_OK;
    for (int i = 0; i < count; i++) {
        MPI_Barrier(p->comm);
        const double start = MPI_Wtime();
        const spmm_status status = run(c, w);
        MPI_Barrier(p->comm);
        seconds[i] = MPI_Wtime() - start;
        if (status != SPMM_OK) failed = status;
    }
    TRY(sp_agree(p->comm, "time", failed));
    return sp_slowest(p->comm, seconds, count);
}

/** All-gather and product apart, by the GPU's clock: medians of the slowest rank's. */
static spmm_status time_parts(const problem *p, contender *c)
{
    double gather[PARTS] = {0}, product[PARTS] = {0};
    spmm_status failed = SPMM_OK;
    for (int i = 0; i < PARTS; i++) {
        MPI_Barrier(p->comm);
        const spmm_status status = theirs_run_parts(c->theirs, &gather[i], &product[i]);
        if (status != SPMM_OK) failed = status;
    }
    TRY(sp_agree(p->comm, "time", failed));
    TRY(sp_slowest(p->comm, gather, PARTS));
    TRY(sp_slowest(p->comm, product, PARTS));
    c->gather = sp_stats_of(gather, PARTS).median;
    c->product = sp_stats_of(product, PARTS).median;
    return SPMM_OK;
}

static spmm_status time_exchange(const problem *p, contender *c)
{
    double seconds[PARTS + 1];
    TRY(time_some(p, c, EXCHANGE, PARTS + 1, seconds));
    c->exchange = sp_stats_of(seconds + 1, PARTS).median; /* the first warms up */
    return SPMM_OK;
}

static spmm_status time_no_exchange(const problem *p, contender *c)
{
    double seconds[2 * PARTS + 1];
    TRY(time_some(p, c, NO_EXCHANGE, 2 * PARTS + 1, seconds));
    c->no_exchange = sp_stats_of(seconds + 1, 2 * PARTS).median;
    return SPMM_OK;
}

/** How many products make a round; the same on every rank, as the seconds are. */
static int round_of(double seconds)
{
    const double many = ROUND / seconds;
    return many < LEAST ? LEAST : many > MOST ? MOST : (int)many;
}

spmm_status contenders_time(const problem *p, contender *c, int n)
{
    int many[MAX_CONTENDERS];
    double warm[2];
    for (int i = 0; i < n; i++) {
        TRY(time_some(p, &c[i], PRODUCT, 2, warm));
        many[i] = round_of(warm[1]);
        c[i].count = 0;
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int s = 0; s < n; s++) {
            contender *const one = &c[(r + s) % n]; /* another one begins each round */
            const int count = many[(r + s) % n];
            TRY(time_some(p, one, PRODUCT, 1, warm));
            TRY(time_some(p, one, PRODUCT, count, one->seconds + one->count));
            one->count += count;
        }
    for (int i = 0; i < n; i++) {
        TRY(c[i].theirs ? time_parts(p, &c[i]) : time_exchange(p, &c[i]));
        if (!c[i].theirs) TRY(time_no_exchange(p, &c[i]));
        c[i].time = sp_stats_of(c[i].seconds, c[i].count);
    }
    return SPMM_OK;
}
