#include <float.h>
#include <omp.h>
#include <string.h>

#include "bench.h"

enum { LEAST_ROUNDS = 3, MOST_BATCH = 50 };
/* Seconds. A batch is long enough that the start of its first product, which waits for the host, is little
 * of it; rounds end when enough was spent; what is hopelessly slow gets one product. */
static const double BATCH = 0.5e-3, ENOUGH = 60e-3, SLOW = 0.2, HOPELESS = 20;

/* ---- set-up ---- */

static spmm_status prepare_own(problem *p, contender *c)
{
    TRY(problem_format(p, c->kernel->format));
    const sp_setup setup = {&p->a[c->kernel->format], &p->csr, c->x.k, p->threads, {0}};
    const double start = omp_get_wtime();
    if (c->kernel->ops->prepare) TRY(c->kernel->ops->prepare(&setup, &c->state));
    TRY(sp_device_sync());
    c->prepare = p->made[c->kernel->format].seconds + omp_get_wtime() - start;
    return SPMM_OK;
}

spmm_status contender_prepare(problem *p, int64_t k, contender *c)
{
    c->problem = p;
    c->layout = c->form ? c->form->layout : ROW_MAJOR;
    c->x = problem_x(p, k, c->layout);
    c->y = problem_y(p, k, c->layout);
    if (c->kernel) return prepare_own(p, c);
    return peer_product_create(p->peer, c->form, &c->x, &c->y, &c->product, &c->prepare);
}

void contender_release(contender *c)
{
    if (c->kernel && c->kernel->ops->release) c->kernel->ops->release(c->state);
    peer_product_destroy(c->product);
    c->state = NULL;
    c->product = NULL;
}

spmm_status contender_run(const contender *c)
{
    if (!c->kernel) return peer_product_run(c->product);
    spmm_multivector y = c->y;
    const sp_launch launch = {.a = &c->problem->a[c->kernel->format],
                              .state = c->state,
                              .x = &c->x,
                              .y = &y,
                              .stream = sp_device_stream(SP_STREAM_MAIN)};
    return c->kernel->ops->run(&launch);
}

/* ---- timing ---- */

/** Seconds of one of `batch` products that follow one another. */
static spmm_status time_batch(const contender *c, int batch, sp_timer *timer, double *seconds)
{
    TRY(sp_timer_start(timer, SP_STREAM_MAIN));
    for (int i = 0; i < batch; i++) TRY(contender_run(c));
    TRY(sp_timer_stop(timer, SP_STREAM_MAIN));
    TRY(sp_timer_seconds(timer, seconds));
    *seconds /= batch;
    return SPMM_OK;
}

/** The first product, checked, and a second: the first one also loads the kernel's code. Finds the batch. */
static spmm_status warm_up(contender *c, reference *r, sp_timer *timer, double *best)
{
    const int64_t size = c->y.precision == SPMM_F64 ? 8 : 4;
    double seconds;
    TRY(sp_device_zero(c->y.data, (c->layout == ROW_MAJOR ? c->y.rows : c->y.k) * c->y.ld * size));
    TRY(time_batch(c, 1, timer, &seconds));
    TRY(reference_check(r, c, &c->ok));
    if (seconds < SLOW || seconds < HOPELESS * *best) TRY(time_batch(c, 1, timer, &seconds));
    if (seconds < *best) *best = seconds;
    c->batch = seconds > 0 && seconds * MOST_BATCH > BATCH ? (int)(BATCH / seconds) + 1 : MOST_BATCH;
    c->seconds[0] = seconds;
    return SPMM_OK;
}

static int is_done(const contender *c)
{
    double spent = 0;
    if (c->is_out || c->rounds == MAX_ROUNDS) return 1;
    for (int i = 0; i < c->rounds; i++) spent += c->seconds[i] * c->batch;
    return c->rounds >= LEAST_ROUNDS && spent > ENOUGH;
}

/** Takes contender i off the list. */
static void drop(contender *c, int *n, int i)
{
    contender_release(&c[i]);
    memmove(c + i, c + i + 1, (size_t)(*n - i - 1) * sizeof *c);
    --*n;
}

/** A failure: of a peer, a remark; of ours, what the caller returns in the end. */
static void note_failure(const contender *c, spmm_status failure, spmm_status *ours)
{
    fprintf(stderr, "bench_gpu: %s, %s, K = %lld: %s\n", c->problem->name, c->name, (long long)c->x.k,
            spmm_error_message());
    if (c->kernel && *ours == SPMM_OK) *ours = failure;
}

/** The reference serves contenders of one layout and K that follow one another. */
static spmm_status renew(reference *r, const contender *c)
{
    if (r->k == c->x.k && r->layout == c->layout) return SPMM_OK;
    reference_destroy(r);
    return reference_create(c->problem, c->x.k, c->layout, r);
}

static spmm_status warm_up_all(contender *c, int *n, sp_timer *timer, spmm_status *failed)
{
    double best = DBL_MAX; /* seconds */
    reference r = {0};
    spmm_status status = SPMM_OK;
    for (int i = 0; i < *n;) {
        TRY_GOTO(renew(&r, &c[i]), done);
        const spmm_status failure = warm_up(&c[i], &r, timer, &best);
        if (failure == SPMM_OK) {
            i++;
            continue;
        }
        note_failure(&c[i], failure, failed);
        drop(c, n, i);
    }
    for (int i = 0; i < *n; i++) {
        c[i].is_out = c[i].seconds[0] > HOPELESS * best;
        c[i].rounds = c[i].is_out; /* that one is all it gets */
    }
done:
    reference_destroy(&r);
    return status;
}

static void time_rounds(contender *c, int n, sp_timer *timer, spmm_status *failed)
{
    for (int busy = 1; busy;) {
        busy = 0;
        for (int i = 0; i < n; i++) {
            if (is_done(&c[i])) continue;
            const spmm_status failure = time_batch(&c[i], c[i].batch, timer, &c[i].seconds[c[i].rounds]);
            if (failure == SPMM_OK) {
                c[i].rounds++;
                busy = 1;
                continue;
            }
            note_failure(&c[i], failure, failed);
            c[i].ok = 0; /* what it showed before counts for nothing */
            c[i].is_out = 1;
        }
    }
}

spmm_status contenders_time(contender *c, int *n)
{
    sp_timer *timer;
    spmm_status failed = SPMM_OK;
    TRY(sp_timer_create(&timer));
    const spmm_status status = warm_up_all(c, n, timer, &failed);
    if (status == SPMM_OK) time_rounds(c, *n, timer, &failed);
    sp_timer_destroy(timer);
    for (int i = 0; i < *n; i++) c[i].time = sp_stats_of(c[i].seconds, c[i].rounds);
    return status != SPMM_OK ? status : failed;
}
