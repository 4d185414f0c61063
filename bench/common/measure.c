/** Sets up, checks and times the contenders of a case. */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value_type.h"
#include "bench.h"

/* seconds. AGAIN: that a case may spend on repeating disturbed products. SHORT: below this a product is
 * short, and SETTLE seconds of products of the same contender precede it. BATCH: of a batch on the GPU, so
 * that the start of its first product, which waits for the host, is a small part of it */
static const double AGAIN = 2, SHORT = 0.03, SETTLE = 0.003, BATCH = 0.5e-3;
/* share of a product's time that its threads may wait for a core; beyond this, the product is disturbed */
static const double TOLERATED = 0.02;
enum { MOST_BATCH = 50, LEAST_ROUNDS = 3 };

const char *agree(const char *problem)
{
    static char text[LINE];
    int rank, size, first;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int mine = problem ? rank : size;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size) return NULL;
    if (problem && problem != text) snprintf(text, sizeof text, "%s", problem);
    MPI_Bcast(text, LINE, MPI_CHAR, first, MPI_COMM_WORLD);
    return text;
}

static int has_failed(contender *c, const char *problem)
{
    problem = agree(problem);
    if (problem) snprintf(c->problem, sizeof c->problem, "%s", problem);
    return problem != NULL;
}

/* ---- one product ---- */

/** Returns the seconds so far that threads of this process were ready to run but waited for a core; 0 if
 *  Linux does not count them. */
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

/** Wakes the OpenMP threads, which all contenders share: they may have gone to sleep while another contender
 *  ran. */
static void wake(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
    }
}

/** Times a call between two barriers. */
static const char *time_call(timed_call call, void *of, double *seconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const char *const problem = call(of);
    MPI_Barrier(MPI_COMM_WORLD);
    *seconds = MPI_Wtime() - start;
    return problem;
}

double contender_time(run *r, contender *c)
{
    double seconds;
    const timed_call call = c->library->peer->run;
    const double *const own = &((peer_product *)c->product)->seconds;
    const int by_gpu = r->bench->method.gpu_clock;
    if (c->threads > 1) wake(c->threads);
    const char *const problem = by_gpu ? gpu_seconds(&call, 1, c->product, c->batch, &seconds)
                                       : time_call(call, c->product, &seconds);
    if (has_failed(c, problem)) return -1;
    if (*own > 0) seconds = *own;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (seconds < c->least) c->least = seconds;
    return seconds;
}

/** Times a product and stores the time. Repeats a product that other processes disturbed, until *again
 *  seconds are used up. */
static void time_product(run *r, contender *c, double *again)
{
    struct {
        double share, spent;
    } worst;
    double seconds;
    do {
        const double start = MPI_Wtime(), before = r->bench->method.watch ? waited() : 0;
        seconds = contender_time(r, c);
        if (c->problem[0]) return;
        worst.share = r->bench->method.watch ? (waited() - before) / seconds : 0;
        worst.spent = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    } while (worst.share > TOLERATED && (*again -= worst.spent) >= 0);
    r->timed++;
    r->disturbed += worst.share > TOLERATED;
    c->seconds[c->count++] = seconds;
}

const char *time_calls(timed_call call, void *of, int count, double *median)
{
    double seconds[MAX_REPEAT];
    const char *problem = NULL;
    for (int i = -1; i < count; i++) { /* the first call warms up */
        const char *const line = time_call(call, of, &seconds[i < 0 ? 0 : i]);
        if (line) problem = line;
    }
    problem = agree(problem);
    MPI_Allreduce(MPI_IN_PLACE, seconds, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *median = sp_stats_of(seconds, count).median;
    return problem;
}

/* ---- set-up and check ---- */

static void tell(const run *r, contender *c)
{
    const char *const what = c->left_out ? "left out" : c->difference.wrong ? "WRONG" : "FAILED";
    const int again = c->left_out && (c->told || !c->problem[0]);
    if (r->rank == 0 && !again) printf("  %-17s %-7s %s: %s\n", c->name, layout_word(c), what, c->problem);
    c->told |= c->left_out;
}

static void begin(run *r, contender *c)
{
    const peer_adaptor *const p = c->library->peer;
    const int row = c->form->layout == PEER_ROW, f32 = sp_type_of(r->matrix.precision).real == SPMM_F32;
    const char *problem = c->library->problem;
    memset(&c->product, 0, sizeof *c - offsetof(contender, product));
    c->batch = 1;
    c->least = INFINITY;
    c->left_out = c->skip || (f32 ? !c->form->f32 : !c->form->f64) ||
                  (sp_is_complex(r->matrix.precision) && !p->complex_values);
    if (c->left_out) return;
    if (!problem)
        problem = failed(sp_alloc_zero(&c->product, 1, p->product_bytes + sizeof(peer_product), "a product"));
    const double start = MPI_Wtime();
    if (!has_failed(c, problem)) {
        peer_product *const q = c->product;
        q->form = c->form, q->a = c->library->matrix, q->k = r->k, q->stream = r->stream;
        q->x = r->arrays[!row][0], q->ldx = row ? r->ld[0] : r->matrix.block.x_rows;
        q->y = r->arrays[!row][1], q->ldy = row ? r->ld[1] : r->matrix.block.csr.rows;
        has_failed(c, p->begin(q));
        c->left_out = q->left_out;
        c->set_up = MPI_Wtime() - start + q->earlier;
    }
    c->ok = !c->problem[0] && !c->left_out;
}

/** Runs a contender and compares its Y in host memory with all rows of the reference. Y is filled with NaN
 *  before the product, so that elements that the contender does not write are found. */
static const char *check_on_host(run *r, contender *c)
{
    const peer_adaptor *const p = c->library->peer;
    const int row = c->form->layout == PEER_ROW;
    const spmm_csr *const a = &r->matrix.block.csr;
    const dense_view y = {r->arrays[!row][1], a->precision, row ? r->k : 1, row ? 1 : a->rows};
    memset(r->arrays[!row][1], 0xff, (size_t)(a->rows * r->k) * sp_value_size(a->precision));
    const char *problem = p->move && !p->adds ? p->move(c->product, 1) : NULL;
    if (has_failed(c, problem) || contender_time(r, c) < 0) return c->problem;
    problem = p->move ? p->move(c->product, 0) : NULL;
    if (!problem) reference_compare(&r->reference, 0, r->reference.count, &y, 0, &c->difference);
    return problem;
}

/** Returns a text that describes the first wrong element, in static storage. */
static const char *difference_text(const difference *d)
{
    static char text[LINE];
    snprintf(text, sizeof text,
             "%" PRId64 " of %" PRId64 " elements, first (%" PRId64 ", %" PRId64
             "): %.17g%+.17gi, not %.17g%+.17gi +- %.1e",
             d->wrong, d->checked, d->row, d->column, __real__ d->found, __imag__ d->found,
             __real__ d->expected, __imag__ d->expected, d->bound);
    return text;
}

/** Checks a contender on all ranks. The problem of the lowest rank with a wrong element is kept. \return 1 if
 *  Y is right */
static int check(run *r, contender *c)
{
    difference *const d = &c->difference;
    long long count[2];
    *d = (difference){0};
    if (has_failed(c, (r->bench->check ? r->bench->check : check_on_host)(r, c))) return 0;
    d->row += r->matrix.block.row_begin;
    has_failed(c, d->wrong ? difference_text(d) : NULL);
    count[0] = d->wrong, count[1] = d->checked;
    MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    /* MPI_MAX may lose a NaN, but its element was counted */
    MPI_Allreduce(MPI_IN_PLACE, &d->error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    d->wrong = count[0], d->checked = count[1];
    r->wrong += d->wrong > 0;
    return d->wrong == 0;
}

/** Sets a contender up, checks it, and times a product to know how long it takes. */
static void admit(run *r, contender *c)
{
    begin(r, c);
    if (c->ok) c->ok = check(r, c) && contender_time(r, c) >= 0;
    if (c->ok && r->bench->method.gpu_clock)
        c->batch = c->least * MOST_BATCH > BATCH ? (int)(BATCH / c->least) + 1 : MOST_BATCH;
}

/* ---- rounds ---- */

/** Returns the number of products of a contender in a round. It is the same on every rank, since c->least
 *  is. */
static int round_of(const method *m, const contender *c)
{
    const double many = c->least > 0 ? m->seconds / c->least : m->most;
    return many < m->least ? m->least : many > m->most ? m->most : (int)many;
}

static int is_done(const method *m, const contender *c, double best)
{
    double spent = 0;
    for (int i = 0; i < c->count; i++) spent += c->seconds[i] * c->batch;
    if (m->enough > 0 && c->count >= LEAST_ROUNDS && spent > m->enough) return 1;
    return m->hopeless && c->count >= m->few && c->least > m->hopeless * best;
}

/** Runs untimed products before a short one. Then the caches contain its own matrix and vectors, not the
 *  previous contender's, and its threads are awake. A long product hardly depends on this. */
static void settle(run *r, contender *c)
{
    /* least is the same on every rank, and so is the number of products */
    for (double left = c->least < SHORT ? SETTLE : 0; left > 0 && !c->problem[0]; left -= c->least + 1e-6)
        contender_time(r, c);
}

/** Gives each contender its turn; each round begins with another contender. \return 0 if all are done */
static int time_round(run *r, int round, double *again)
{
    const method *const m = &r->bench->method;
    double best = INFINITY;
    int busy = 0;
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++)
        if (c->ok && c->least < best) best = c->least;
    for (int i = 0; i < r->contenders; i++) {
        contender *const c = &r->contender[(round + i) % r->contenders];
        if (!c->ok || is_done(m, c, best)) continue;
        if (!m->gpu_clock) settle(r, c);
        for (int n = round_of(m, c); n > 0 && !c->problem[0]; n--) time_product(r, c, again);
        c->ok = !c->problem[0];
        busy = 1;
    }
    return busy;
}

/** After the rounds of a contender: checks one more product, and times the parts that the bench times. */
static void finish(run *r, contender *c)
{
    const sp_stats time = sp_stats_of(c->seconds, c->count);
    if (c->ok && !c->library->peer->adds) c->ok = check(r, c);
    if (c->ok && r->bench->parts) c->ok = !has_failed(c, r->bench->parts(r, c));
    if (c->ok || c->difference.wrong) c->time = time;
    if (!c->ok) tell(r, c);
    r->failed += !c->ok && !c->left_out;
}

/* ---- a case ---- */

/* maximum number of sums in a reference; maximum number of its rows if the bench has its own check() */
enum { MOST_SUMS = 1 << 28, MOST_SAMPLED = 1536 };

static spmm_status host_arrays(run *r)
{
    const spmm_block *const b = &r->matrix.block;
    const int64_t rows[2] = {b->x_rows, b->csr.rows}, k = r->k;
    const int64_t size = (int64_t)sp_value_size(r->matrix.precision);
    r->x = (dense_view){NULL, r->matrix.precision, k, 1};
    r->ld[0] = r->ld[1] = k;
    for (const contender *c = r->contender; c < r->contender + r->contenders; c++) {
        const int column = c->form->layout == PEER_COLUMN;
        for (int y = 0; y < 2 && !r->arrays[column][y]; y++)
            TRY(sp_alloc_zero(&r->arrays[column][y], rows[y] * k, (size_t)size, y ? "Y" : "X"));
    }
    for (int column = 0; column < 2; column++) {
        const dense_view x = {r->arrays[column][0], r->matrix.precision, column ? 1 : k,
                              column ? rows[0] : 1};
        if (x.data) dense_fill(&x, b->x_begin, rows[0], k);
    }
    return SPMM_OK;
}

spmm_status case_run(run *r)
{
    const bench *const b = r->bench;
    const int rounds = b->method.rounds ? b->method.rounds : r->settings.repeat;
    double again = AGAIN;
    r->timed = r->disturbed = 0;
    spmm_status status = b->arrays ? b->arrays(r) : host_arrays(r);
    if (status == SPMM_OK)
        status = reference_create(&r->matrix.block.csr, &r->x, r->k,
                                  b->check ? MOST_SAMPLED : MOST_SUMS / r->k, &r->reference);
    const char *const problem = agree(failed(status));
    if (problem && status == SPMM_OK) status = sp_fail(SPMM_ERR_MEMORY, "%s", problem);
    if (status == SPMM_OK) {
        if (b->choose) b->choose(r);
        for (int i = 0; i < r->contenders; i++) admit(r, &r->contender[i]);
        for (int round = 0, busy = 1; busy && round < rounds; round++) busy = time_round(r, round, &again);
        for (int i = 0; i < r->contenders; i++) finish(r, &r->contender[i]);
        if (r->rank == 0) b->report(r);
    }
    for (contender *c = r->contender; c < r->contender + r->contenders; c++) {
        if (c->product && c->library->peer->end) c->library->peer->end(c->product);
        sp_free(c->product);
        c->product = NULL;
    }
    reference_destroy(&r->reference);
    for (int i = 0; i < 4 && !b->arrays; i++) sp_free(r->arrays[i / 2][i % 2]);
    memset(r->arrays, 0, sizeof r->arrays);
    return status;
}
