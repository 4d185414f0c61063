/* Plans and threads: first calls of several threads may coincide, a plan refuses a second thread, and threads
 * with plans of their own do not disturb one another. Processes that are forked after a product are
 * refused.
 *
 * MPI: 1 2 3
 * limit: 240 */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/threads.h"
#include "distributed.h"
#include "plan/plan_struct.h"

enum { THREADS = 3, TURNS = 60, K = 5 };

/** A thread's work and its results; only the main thread checks them. */
typedef struct worker {
    distributed *d;
    MPI_Comm comm;
    spmm_plan *plan; /* the plan of all threads, or the thread's own */
    void (*turn)(struct worker *w, int n);
    spmm_multivector x, y;
    int64_t right, wrong, refused, odd;
} worker;

static void put(spmm_multivector *v, double value)
{
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            ((double *)v->data)[v->layout == SPMM_COLUMN_MAJOR ? j * v->ld + i : i * v->ld + j] = value;
}

/** Counts a product with an X whose elements are all `value` as right, wrong, refused or odd. */
static void judge(worker *w, spmm_status status, double value)
{
    if (status != SPMM_OK) {
        const int known = status == SPMM_ERR_USAGE &&
                          (strstr(spmm_error_message(), "another thread uses the plan") ||
                           strstr(spmm_error_message(), "has begun"));
        w->refused += known;
        w->odd += !known;
        return;
    }
    int64_t wrong = 0;
    const spmm_csr *const a = &w->d->block.csr;
    for (int64_t i = 0; i < w->y.rows; i++) {
        double sum = 0;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) sum += ((double *)a->as)[e];
        for (int64_t j = 0; j < K; j++) wrong += ((double *)w->y.data)[i * w->y.ld + j] != sum * value;
    }
    w->wrong += wrong > 0;
    w->right += wrong == 0;
}

static void by_apply(worker *w, int n)
{
    put(&w->x, n);
    judge(w, spmm_apply(w->plan, 1, &w->x, 0, &w->y), n);
}

static void by_columns(worker *w, int n)
{
    static const spmm_layout layout = SPMM_COLUMN_MAJOR;
    spmm_multivector x = {.rows = w->x.rows, .k = K, .ld = w->x.rows, .layout = layout};
    x.data = malloc((size_t)(x.rows * K + 1) * sizeof(double));
    put(&x, n);
    judge(w, spmm_apply(w->plan, 1, &x, 0, &w->y), n);
    free(x.data);
}

/** The matrix is symmetric: the result is that of by_apply(). */
static void by_transpose(worker *w, int n)
{
    put(&w->x, n);
    judge(w, spmm_apply_transposed(w->plan, 1, &w->x, 0, &w->y), n);
}

static void by_halves(worker *w, int n)
{
    put(&w->x, n);
    const spmm_status begun = spmm_apply_begin(w->plan, 1, &w->x, 0, &w->y);
    const spmm_status ended = begun == SPMM_OK ? spmm_apply_end(w->plan) : begun;
    w->odd += begun == SPMM_OK && ended != SPMM_OK; /* no other thread can use the plan in between */
    judge(w, ended, n);
}

static void by_all(worker *w, int n)
{
    FILE *const f = fopen("/dev/null", "w");
    spmm_multivector x;
    const spmm_status seen[] = {spmm_plan_update_values(w->plan), spmm_plan_view(w->plan, f),
                                spmm_plan_x_create(w->plan, &x)};
    fclose(f);
    spmm_multivector_destroy(&x);
    for (int i = 0; i < 3; i++) w->odd += seen[i] != SPMM_OK && seen[i] != SPMM_ERR_USAGE;
    by_apply(w, n);
}

/** Makes every call with the thread's own plan, on its own communicator. */
static void by_own_plan(worker *w, int n)
{
    double g[K * K];
    if (n % 20 == 0) {
        spmm_plan_destroy(w->plan);
        w->odd += spmm_plan_create(w->comm, &w->d->block, K, NULL, &w->plan) != SPMM_OK;
    }
    by_apply(w, n);
    by_columns(w, n);
    by_transpose(w, n);
    by_halves(w, n);
    by_all(w, n);
    w->odd += spmm_multivector_dot(w->comm, &w->x, &w->x, g, K) != SPMM_OK;
    w->odd += g[0] != (double)w->d->a.rows * n * n;
}

static void *work(void *of)
{
    worker *const w = of;
    for (int n = 1; n <= TURNS; n++) w->turn(w, n);
    return NULL;
}

/** Runs all threads at the same time. \param [in] own  1: each has its own plan */
static void run(distributed *d, MPI_Comm comm, spmm_plan *plan, void (*turn)(worker *, int), int own)
{
    worker w[THREADS];
    pthread_t thread[THREADS];
    for (int t = 0; t < THREADS; t++) {
        w[t] = (worker){.d = d, .plan = plan, .turn = turn};
        CHECK_INT(MPI_Comm_dup(comm, &w[t].comm), MPI_SUCCESS);
        if (own) CHECK_INT(spmm_plan_create(w[t].comm, &d->block, K, NULL, &w[t].plan), SPMM_OK);
        CHECK_INT(spmm_plan_x_create(w[t].plan, &w[t].x), SPMM_OK);
        CHECK_INT(spmm_plan_y_create(w[t].plan, &w[t].y), SPMM_OK);
    }
    for (int t = 0; t < THREADS; t++) CHECK_INT(pthread_create(&thread[t], NULL, work, &w[t]), 0);
    for (int t = 0; t < THREADS; t++) CHECK_INT(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        CHECK_INT(w[t].wrong, 0);
        CHECK_INT(w[t].odd, 0);
        CHECK(w[t].right > 0 || !own);
        if (own) CHECK_INT(w[t].refused, 0);
        spmm_multivector_destroy(&w[t].x);
        spmm_multivector_destroy(&w[t].y);
        if (own) spmm_plan_destroy(w[t].plan);
        MPI_Comm_free(&w[t].comm);
    }
}

/** Makes the matrix, on one rank alone. */
static void alone(distributed *d, const char *spec)
{
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &d->a), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_SELF, 0, &d->a, 1, 1, &d->block), SPMM_OK);
}

static atomic_int early; /* calls of MPI_Cart_create() during the process's first one */

#ifndef SPMM_ONE_RANK_MPI_H
/** Counts such calls, in a first one that takes a moment. (Open MPI 4 crashes at some of them.) */
int MPI_Cart_create(MPI_Comm comm, int n, const int *dims, const int *periods, int reorder, MPI_Comm *cart)
{
    static const struct timespec moment = {.tv_nsec = 50000000};
    static atomic_int calls, returned;
    const int first = atomic_fetch_add(&calls, 1) == 0;
    if (first)
        nanosleep(&moment, NULL);
    else
        early += !returned;
    const int error = PMPI_Cart_create(comm, n, dims, periods, reorder, cart);
    if (first) returned = 1;
    return error;
}
#endif

/** Makes a matrix, its block, a plan and a product by this thread's communicator. */
static void *call_first(void *of)
{
    worker *const w = of;
    distributed d = {.a = {0}};
    w->d = &d;
    w->odd += spmm_csr_generate("lap2d5:9", SPMM_F64, &d.a) != SPMM_OK;
    w->odd += spmm_csr_scatter(w->comm, 0, &d.a, 0, 0, &d.block) != SPMM_OK;
    w->odd += spmm_plan_create(w->comm, &d.block, K, NULL, &w->plan) != SPMM_OK;
    w->odd += spmm_plan_x_create(w->plan, &w->x) != SPMM_OK;
    w->odd += spmm_plan_y_create(w->plan, &w->y) != SPMM_OK;
    by_apply(w, 1);
    spmm_multivector_destroy(&w->x);
    spmm_multivector_destroy(&w->y);
    spmm_plan_destroy(w->plan);
    spmm_block_destroy(&d.block);
    spmm_csr_destroy(&d.a);
    return NULL;
}

static void test_first_calls(void)
{
    enum { FIRST = 8 };
    TEST("the first calls of a process may be those of several threads, on communicators of their own") {
        worker w[FIRST] = {{.d = NULL}};
        pthread_t thread[FIRST];
        for (int t = 0; t < FIRST; t++) CHECK_INT(MPI_Comm_dup(MPI_COMM_WORLD, &w[t].comm), MPI_SUCCESS);
        for (int t = 0; t < FIRST; t++) CHECK_INT(pthread_create(&thread[t], NULL, call_first, &w[t]), 0);
        for (int t = 0; t < FIRST; t++) {
            CHECK_INT(pthread_join(thread[t], NULL), 0);
            CHECK_INT(w[t].odd, 0);
            CHECK_INT(w[t].right, 1);
            MPI_Comm_free(&w[t].comm);
        }
        CHECK_INT(early, 0);
    }
}

static void test_one_plan(void)
{
    static void (*const turns[])(worker *, int) = {by_apply, by_columns, by_transpose, by_halves, by_all};
    TEST("several threads with one plan get right products, or are told that another one uses it") {
        distributed d;
        alone(&d, "lap2d5:30");
        for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
            spmm_plan *plan;
            CHECK_INT(spmm_plan_create(MPI_COMM_SELF, &d.block, K, NULL, &plan), SPMM_OK);
            run(&d, MPI_COMM_SELF, plan, turns[i], 0);
            spmm_plan_destroy(plan);
        }
        distributed_destroy(&d);
    }
}

static void test_own_plans(void)
{
    TEST("threads with plans of their own compute at a time, on communicators of their own") {
        distributed d;
        alone(&d, "lap2d5:30");
        run(&d, MPI_COMM_SELF, NULL, by_own_plan, 1);
        distributed_destroy(&d);
        CHECK_INT(spmm_csr_generate("lap2d5:30", SPMM_F64, &d.a), SPMM_OK);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d.a, 0, 0, &d.block), SPMM_OK);
        run(&d, MPI_COMM_WORLD, NULL, by_own_plan, 1);
        distributed_destroy(&d);
    }
}

/* the calls with a plan that a thread or a process may have no right to make */
#define CALLS(CALL)                                                           \
    CALL("spmm_apply", spmm_apply(plan, 1, x, 0, y));                         \
    CALL("spmm_apply_begin", spmm_apply_begin(plan, 1, x, 0, y));             \
    CALL("spmm_apply_end", spmm_apply_end(plan));                             \
    CALL("spmm_apply_transposed", spmm_apply_transposed(plan, 1, y, 0, x));   \
    CALL("spmm_plan_update_values", spmm_plan_update_values(plan));           \
    CALL("spmm_plan_update_rows", spmm_plan_update_rows(plan, &rows, &same)); \
    CALL("spmm_plan_view", spmm_plan_view(plan, stdout));                     \
    CALL("spmm_plan_diagonal", spmm_plan_diagonal(plan, y));                  \
    CALL("spmm_plan_view_text", spmm_plan_view_text(plan, &text));

/** Checks that the functions refuse a plan that another thread is using, all except spmm_plan_y_create(). */
static void check_refused(spmm_plan *plan, spmm_multivector *x, spmm_multivector *y)
{
    const spmm_rows rows = {.irp_bytes = 4};
    spmm_multivector more;
    char *text;
    int same;
#define REFUSED(name, call)                                                      \
    do {                                                                         \
        CHECK_INT(call, SPMM_ERR_USAGE);                                         \
        CHECK_TEXT(spmm_error_message(), name ": another thread uses the plan"); \
    } while (0)
    CALLS(REFUSED)
    REFUSED("spmm_apply", spmm_apply(plan, 1, NULL, 0, NULL));
    if (size > 1) REFUSED("spmm_plan_x_create", spmm_plan_x_create(plan, &more));
    CHECK_INT(spmm_plan_y_create(plan, &more), SPMM_OK); /* Y's shape never changes */
    spmm_multivector_destroy(&more);
}

static void *destroy(void *of)
{
    spmm_plan **const plan = of;
    spmm_plan_destroy(*plan);
    *plan = NULL;
    return NULL;
}

/** Checks that destroying a plan that another thread is using waits for that thread. */
static void check_destroy(spmm_plan *plan)
{
    spmm_plan *volatile left = plan;
    pthread_t thread;
    CHECK(sp_plan_try(plan));
    CHECK_INT(pthread_create(&thread, NULL, destroy, (void *)&left), 0);
    usleep(30000);
    CHECK(left == plan);
    CHECK_INT(sp_plan_give(plan, SPMM_OK), SPMM_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(left == NULL);
}

static void test_refusal(void)
{
    TEST("what is refused has no effect on any rank: the next product is right, also of one that has begun") {
        distributed d;
        planned p;
        const spmm_plan_options options = {.device = device};
        distributed_create("uniform:60,4", SPMM_F64, 1, &d);
        planned_create(&d, K, &options, &p);
        for (int half = 0; half < 2; half++) {
            fill(&p.x, d.block.x_begin);
            if (half) CHECK_INT(spmm_apply_begin(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
            CHECK(sp_plan_try(p.plan));
            check_refused(p.plan, &p.x, &p.y);
            (void)sp_plan_give(p.plan, SPMM_OK);
            CHECK_INT(half ? spmm_apply_end(p.plan) : spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
            check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
        }
        check_destroy(p.plan);
        p.plan = NULL;
        planned_destroy(&p);
        distributed_destroy(&d);
    }
}

/** Returns a plan's default number of threads, and whether its view reports that cores are oversubscribed. */
static void default_threads(distributed *d, int *threads, int *crowded)
{
    spmm_plan *plan;
    char *text;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &d->block, K, NULL, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_view_text(plan, &text), SPMM_OK);
    *threads = plan->forward->threads;
    *crowded = text && strstr(text, "oversubscribed");
    CHECK(test_.rank > 0 || size == 1 || strstr(text, "per rank"));
    free(text);
    spmm_plan_destroy(plan);
}

static void test_share(void)
{
    TEST("ranks of a node divide its cores, unless the program or OMP_NUM_THREADS chose; too many are told") {
        const char *const told = getenv("OMP_NUM_THREADS");
        char *const kept = told ? strdup(told) : NULL;
        const int before = omp_get_max_threads(), cores = omp_get_num_procs();
        const int node = (int)sysconf(_SC_NPROCESSORS_ONLN), most = cores + 1;
        int threads, crowded;
        distributed d;
        distributed_create("uniform:60,4", SPMM_F64, 1, &d);
        unsetenv("OMP_NUM_THREADS");
        omp_set_num_threads(cores);
        default_threads(&d, &threads, &crowded);
        CHECK(threads == 1 || threads * size <= node);
        CHECK(size > 1 || sp_cgroup_cores("/") > 0 || threads == cores);
        CHECK(test_.rank > 0 || !crowded);
        omp_set_num_threads(most);
        default_threads(&d, &threads, &crowded);
        CHECK_INT(threads, most);
        CHECK(test_.rank > 0 || crowded);
        setenv("OMP_NUM_THREADS", "any", 1); /* (the runtime has read it at the start of the program) */
        omp_set_num_threads(cores);
        default_threads(&d, &threads, &crowded);
        CHECK_INT(threads, cores);
        omp_set_num_threads(before);
        unsetenv("OMP_NUM_THREADS");
        if (kept) setenv("OMP_NUM_THREADS", kept, 1);
        free(kept);
        distributed_destroy(&d);
    }
}

/** Waits for a forked process. Returns its exit code; -1: a signal ended it, possibly that of alarm(). */
static int code_of(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** Calls every function that returns a status, in a forked process. Returns how many did not report the
 *  fork. */
static int not_refused(distributed *d, spmm_plan *plan, spmm_multivector *x, spmm_multivector *y)
{
    static const int64_t zero;
    const double one[K] = {1};
    double g[K * K];
    spmm_plan *other;
    spmm_block block;
    spmm_multivector v;
    spmm_csr a;
    const spmm_rows rows = {.irp_bytes = 4};
    char *text;
    int same, failed = 0;
#define FORKED(name, call)                \
    failed += (call) != SPMM_ERR_USAGE || \
              strstr(spmm_error_message(), name ": this process was forked") != spmm_error_message()
    CALLS(FORKED)
    FORKED("spmm_plan_x_create", spmm_plan_x_create(plan, &v));
    FORKED("spmm_multivector_create", spmm_plan_y_create(plan, &v));
    FORKED("spmm_plan_create", spmm_plan_create(MPI_COMM_SELF, &d->block, K, NULL, &other));
    FORKED("spmm_csr_scatter", spmm_csr_scatter(MPI_COMM_SELF, 0, &d->a, 1, 1, &block));
    FORKED("spmm_block_from_rows", spmm_block_from_rows(MPI_COMM_SELF, 0, 0, SPMM_F64, NULL, 0, &block));
    FORKED("spmm_device_open", spmm_device_open(MPI_COMM_SELF));
    FORKED("spmm_multivector_dot", spmm_multivector_dot(MPI_COMM_SELF, x, x, g, K));
    FORKED("spmm_multivector_norms", spmm_multivector_norms(MPI_COMM_SELF, x, g));
    FORKED("spmm_multivector_times", spmm_multivector_times(1, x, g, K, 0, x));
    FORKED("spmm_multivector_axpby", spmm_multivector_axpby(1, x, 0, x));
    FORKED("spmm_multivector_scale", spmm_multivector_scale(one, x));
    FORKED("spmm_multivector_scale_rows", spmm_multivector_scale_rows(x, y));
    FORKED("spmm_multivector_copy", spmm_multivector_copy(x, y));
    FORKED("spmm_multivector_create", spmm_multivector_create(9, K, SPMM_F64, SPMM_CPU, &v));
    FORKED("spmm_csr_generate", spmm_csr_generate("lap2d5:300", SPMM_F64, &a));
    FORKED("spmm_csr_read", spmm_csr_read("/nowhere", SPMM_F64, &a));
    FORKED("spmm_csr_read_edges", spmm_csr_read_edges("/nowhere", 0, SPMM_F64, &a));
    FORKED("spmm_csr_from_triplets", spmm_csr_from_triplets(1, 1, 1, &zero, &zero, one, SPMM_F64, &a));
    return failed;
}

/** In a forked process: checks that every call is refused, and that everything can be freed. */
static int in_fork(distributed *d, spmm_plan *plan, spmm_multivector *x, spmm_multivector *y)
{
    alarm(60);
    const int failed = not_refused(d, plan, x, y);
    spmm_multivector_destroy(x);
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(y);
    distributed_destroy(d);
    return failed;
}

static void test_fork(void)
{
    TEST("a process that is forked after a product with threads is refused, and its parent computes on") {
        distributed d;
        planned p;
        const spmm_plan_options options = {.threads = 3};
        distributed_create("lap2d5:90", SPMM_F64, 1, &d);
        planned_of(&d.block, K, &options, &p);
        for (int n = 0; n < 3; n++) {
            fill(&p.x, d.block.x_begin);
            CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
            check_rows(&d.a, 0, 1, 0, &p.y, d.block.row_begin);
            if (n == 1)
                CHECK(sp_plan_try(p.plan)); /* by a thread that does not exist in the forked process */
            const pid_t child = fork();
            if (child == 0) _exit(in_fork(&d, p.plan, &p.x, &p.y));
            CHECK_INT(code_of(child), 0);
            if (n == 1) (void)sp_plan_give(p.plan, SPMM_OK);
        }
        planned_destroy(&p);
        distributed_destroy(&d);
    }
}

/** Uses the library in a process that is forked before its parent uses it. Returns 0 if that works. */
static int fork_first(void)
{
    const pid_t child = fork();
    if (child != 0) return code_of(child);
    spmm_csr a;
    alarm(60);
    const int failed = spmm_csr_generate("lap2d5:300", SPMM_F64, &a) != SPMM_OK;
    spmm_csr_destroy(&a);
    _exit(failed);
}

/** Computes by teams of sp_threads_now() threads until that is less than a team of all cores, or for 20 s.
 *  \return the last number of threads */
static int threads_beside_others(int all)
{
    const double start = omp_get_wtime();
    int now = all;
    while (now == all && omp_get_wtime() - start < 20) {
        now = sp_threads_now(all);
#pragma omp parallel num_threads(now)
        for (volatile int i = 0; i < 100000; i++) (void)0;
    }
    return now;
}

/** Returns 1 if the system counts running threads, of which this one is one. */
static int running_are_counted(void)
{
    int running = 0;
    FILE *const f = fopen("/proc/loadavg", "r");
    const int read = f ? fscanf(f, "%*f %*f %*f %d", &running) : 0;
    if (f) fclose(f);
    return read == 1 && running > 0;
}

static void test_beside_others(void)
{
    enum { EACH = 4 };
    const int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), all = cores > 1 ? cores : 2;
    pid_t busy[EACH * 64];
    const int count = cores < 64 ? EACH * cores : 0;
    if (count == 0 || size > 1 || !running_are_counted()) {
        SKIP("busy processes", "one rank starts them, on few cores, where /proc/loadavg counts what runs");
        return;
    }
    TEST("a team has fewer threads while other processes keep all cores busy") {
        for (int i = 0; i < count; i++)
            if ((busy[i] = fork()) == 0) {
                alarm(60);
                for (;;) (void)0;
            }
        CHECK(threads_beside_others(all) < all);
        for (int i = 0; i < count; i++) {
            kill(busy[i], SIGKILL);
            waitpid(busy[i], NULL, 0);
        }
    }
}

int main(int argc, char **argv)
{
    const int first = fork_first();
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test_.any = test_any_;
    if (level == MPI_THREAD_MULTIPLE) test_first_calls();
    test_refusal();
    test_share();
    test_beside_others();
    TEST("a process that is forked before the library is used may use it") CHECK_INT(first, 0);
    test_fork();
    if (level == MPI_THREAD_MULTIPLE) {
        test_one_plan();
        test_own_plans();
    } else {
        SKIP("threads with plans", "this MPI has no MPI_THREAD_MULTIPLE");
    }
    return test_mpi_end();
}
