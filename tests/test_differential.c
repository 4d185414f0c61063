/** Random products through the library's interface, each compared with exact arithmetic (differential.h lists
 *  the parts). As a test it runs a few cases, and checks that a wrong result is found. By hand, or by `make
 *  soak`:
 *
 *      mpirun -np N build/cpu/tests/test_differential [--seed S] [--from I] [--cases C] [--seconds T]
 *                                                     [--limit L] [--words FILE] [--cuda] [--spoil]
 *                                                     [--verbose]
 *
 *  runs cases I, I + 1, .. of seed S on N ranks, C of them (default 1) or until T seconds have passed. A
 *  seed, a case and a number of ranks determine all random numbers. --limit: seconds after which a running
 *  case counts as hanging (60); --words: a file to which a rank that hangs or crashes also appends its line,
 *  because mpirun may lose it; --cuda: on GPUs; --spoil: makes results wrong. Differences are printed, failed
 *  cases in lines that begin with FAIL; the last line has the counts. Exit status 1 if a case failed, 77 if
 *  one hung.
 *
 *  MPI: 1 2 3 4
 *  limit: 300 */
#define TEST_TRAPS 0 /* cases draw their environments */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>

#include "differential_dense.h"
#include "differential_products.h"
#include "test_mpi.h"

typedef struct settings {
    uint64_t seed, from, cases;
    double seconds; /* 0: no limit but the number of cases */
    int limit, cuda, spoil, verbose;
    const char *program;
} settings;

static MPI_Comm reversed;

/* ---- cases ---- */

/** What a signal's handler writes after "HANG: " or "CRASH: ", formatted in advance because a signal's
 *  handler may not call snprintf(). */
static char last_words[200];
static int words_file = -1; /* the file of --words */

static void write_texts(int to, const char *const *texts, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (write(to, texts[k], strlen(texts[k])) < 0) return;
}

/** Writes in which case the program ended; for a signal's handler. Then waits: mpirun may drop unread output
 *  of a rank that ends abnormally. */
static void write_last_words(const char *what)
{
    const char *const texts[] = {what, last_words, diff_.plan, "; ", diff_.step, "\n"};
    write_texts(STDERR_FILENO, texts, sizeof texts / sizeof *texts);
    if (words_file >= 0) write_texts(words_file, texts, sizeof texts / sizeof *texts);
    sleep(2);
}

static void on_alarm(int number)
{
    (void)number;
    write_last_words("HANG: ");
    _exit(77);
}

static void on_crash(int number)
{
    write_last_words("CRASH: ");
    signal(number, SIG_DFL);
    raise(number);
}

/** Begins a case: its random numbers, its communicator, and its watchdog. */
static void case_begin(const settings *s, uint64_t number)
{
    diff_.seed = s->seed;
    diff_.number = number;
    diff_.differences = 0;
    diff_.spoil = s->spoil;
    diff_.plan[0] = diff_.step[0] = 0;
    diff_.drawn = diff_mix(diff_hash(s->seed, (int64_t)number, diff_.ranks));
    diff_.comm = draw_percent(20) ? reversed : MPI_COMM_WORLD;
    MPI_Comm_rank(diff_.comm, &diff_.rank);
    diff_draw_environments();
    snprintf(last_words, sizeof last_words,
             "case %llu of seed %llu, rank %d of %d: ", (unsigned long long)number,
             (unsigned long long)s->seed, diff_.rank, diff_.ranks);
    alarm((unsigned)s->limit);
}

static void one_step(planned *t, planned *other)
{
    switch (draw_below(13)) {
    case 0:
    case 1:
    case 2: step_product(t); break;
    case 3:
        step_update(t);
        step_product(t);
        break;
    case 4:
    case 5: step_begun(t, other); break;
    case 6: step_mistake(t); break;
    case 7:
    case 8:
        step_columns(t);
        step_product(t);
        break;
    case 9: refused_plan(t); break;
    default: step_dense();
    }
}

/** Runs a case: one plan or two, and steps with them in random order. Returns the number of differences on
 *  all ranks. Collective. */
static int64_t run_case(const settings *s, uint64_t number)
{
    planned plans[2] = {0};
    int have = 0;
    case_begin(s, number);
    for (int64_t n = 1 + draw_below(2); n > 0; n--) {
        if (draw_plan(&plans[have]))
            have++;
        else
            planned_destroy(&plans[have]);
    }
    for (int64_t n = 2 + draw_below(7); n > 0 && have > 0; n--) {
        planned *const t = &plans[draw_below(have)], *const other = have == 1 ? NULL : &plans[t == plans];
        if (!t->plan) continue;
        describe_plan(t);
        one_step(t, other && other->plan ? other : NULL);
        if (s->verbose && diff_.rank == 0)
            fprintf(stderr, "case %llu: %s; %s\n", (unsigned long long)number, diff_.plan, diff_.step);
    }
    const int last_first = draw_percent(50);
    diff_step("destroying the plans");
    for (int n = 0; n < have; n++) planned_destroy(&plans[last_first ? have - 1 - n : n]);
    int64_t all = diff_.differences;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    alarm(0);
    return all;
}

/* ---- as a test ---- */

/** Checks the bound on the error of an element in a case that can be computed by hand: the sum 1 + 1 + 1 in
 *  f64 may have the rounding errors of three terms and four more operations. */
static void test_judge(void)
{
    exact sum = {.scale = 1}, none = {.scale = 1};
    for (int k = 0; k < 3; k++) exact_add(&sum, 1);
    TEST("the judge takes what rounding can explain, and nothing beyond") {
        CHECK(is_rounded(3, &sum, SPMM_F64));
        CHECK(is_rounded(3 + 20 * 0x1p-53, &sum, SPMM_F64));
        CHECK(!is_rounded(3 + 24 * 0x1p-53, &sum, SPMM_F64)); /* 7 roundings of 3 are 21 units */
        CHECK(is_rounded(3 + 24 * 0x1p-53, &sum, SPMM_F32));
        CHECK(!is_rounded(3 - 24 * 0x1p-24, &sum, SPMM_F32));
        CHECK(is_rounded(-0.0, &none, SPMM_F64) && !is_rounded(0x1p-1060, &none, SPMM_F64));
    }
    TEST("the judge knows NaNs, infinities and the sign of zero") {
        exact special = sum;
        exact_add(&special, INFINITY);
        CHECK(is_rounded(INFINITY, &special, SPMM_F64) && !is_rounded(-INFINITY, &special, SPMM_F64));
        CHECK(!is_rounded(NAN, &special, SPMM_F64) && !is_rounded(3, &special, SPMM_F64));
        exact_add(&special, -(quad)INFINITY);
        CHECK(is_rounded(NAN, &special, SPMM_F64) && !is_rounded(INFINITY, &special, SPMM_F64));
        exact_scale(&special, 1, 0, 0, NULL);
        CHECK(is_rounded(0, &special, SPMM_F64) && !is_rounded(NAN, &special, SPMM_F64));
        const double third = 1.0 / 3;
        exact_scale(&special, 1, 0, 3, &third);
        CHECK(is_rounded(1, &special, SPMM_F64) && !is_rounded(1 - 0x1p-53, &special, SPMM_F64));
        CHECK(!is_rounded(NAN, &sum, SPMM_F64) && !is_rounded(INFINITY, &sum, SPMM_F64));
        CHECK(same_bits(NAN, -NAN) && same_bits(1, 1) && !same_bits(0.0, -0.0) && !same_bits(1, 1 + 0x1p-52));
    }
}

static void test_judge_complex(void)
{
    const double a[] = {1, 2}, b[] = {3, 4};
    exact sum[2] = {{.scale = 1}, {.scale = 1}};
    TEST("the judge multiplies complex values") {
        exact_add_product(sum, 2, a, b, 0);
        CHECK(sum[0].value == -5 && sum[1].value == 10);
        exact_add_product(sum, 2, a, b, 1);
        CHECK(sum[0].value == 6 && sum[1].value == 8 && sum[0].magnitude == 22 && sum[1].magnitude == 20);
        exact_scale(sum, 2, __builtin_complex(0.0, 2.0), __builtin_complex(1.0, 1.0), b);
        CHECK(sum[0].value == -17 && sum[1].value == 19 && sum[0].magnitude == 47 && sum[0].scale == 2);
        exact_scale(sum, 2, 0, __builtin_complex(0.0, 1.0), a);
        CHECK(sum[0].value == -2 && sum[1].value == 1 && !sum[0].once);
    }
}

static void test_cases(void)
{
    enum { CASES = TEST_SANITIZED ? 15 : 60 };
    settings s = {.seed = 1, .limit = 200};
    int64_t wrong = 0, found = 0;
    for (uint64_t i = 0; i < CASES; i++) wrong += run_case(&s, i);
    TEST("random products, sums and mistakes come to what exact arithmetic and spmm.h say of them") {
        CHECK_INT(wrong, 0);
        CHECK(diff_.counts.products > CASES && diff_.counts.elements > 0 && diff_.counts.bits > 0);
        CHECK(diff_.counts.mistakes > 0 && diff_.counts.updates > 0 && diff_.counts.dense > 0);
    }
    s.spoil = 1;
    for (uint64_t i = 0; i < 8; i++) found += run_case(&s, i) > 0;
    TEST("a wrong element of a result is found") CHECK(found >= 4); /* the other cases may have no element */
}

/* ---- by hand ---- */

static uint64_t number_of(const char *text)
{
    char *end;
    errno = 0;
    const uint64_t n = strtoull(text, &end, 10);
    if (*end || end == text || errno) {
        fprintf(stderr, "test_differential: %s: expected a whole number\n", text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return n;
}

static settings parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"seed", 1, NULL, 's'},  {"from", 1, NULL, 'f'}, {"cases", 1, NULL, 'c'}, {"seconds", 1, NULL, 't'},
        {"limit", 1, NULL, 'l'}, {"cuda", 0, NULL, 'g'}, {"spoil", 0, NULL, 'w'}, {"verbose", 0, NULL, 'v'},
        {"words", 1, NULL, 'o'}, {NULL, 0, NULL, 0}};
    settings s = {.seed = 1, .limit = 60, .program = argv[0]};
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 's': s.seed = number_of(optarg); break;
        case 'f': s.from = number_of(optarg); break;
        case 'c': s.cases = number_of(optarg); break;
        case 't': s.seconds = (double)number_of(optarg); break;
        case 'l': s.limit = (int)number_of(optarg); break;
        case 'g': s.cuda = 1; break;
        case 'w': s.spoil = 1; break;
        case 'v': s.verbose = 1; break;
        case 'o': words_file = open(optarg, O_WRONLY | O_APPEND | O_CLOEXEC); break;
        default: MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    if (s.cases == 0) s.cases = s.seconds > 0 ? UINT64_MAX : 1;
    return s;
}

static void print_counts(int64_t cases, int64_t failed)
{
    const diff_counts *const c = &diff_.counts;
    int64_t sums[3] = {c->elements, c->bits, c->repeated};
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (diff_.world_rank > 0) return;
    printf("%d ranks: %lld cases, %lld failed; %lld plans, %lld of them refused, %lld products, "
           "%lld new values, %lld dense "
           "operations, %lld mistakes; %lld elements and %lld bit patterns compared, %lld of a second time\n",
           diff_.ranks, (long long)cases, (long long)failed, (long long)c->plans, (long long)c->refused,
           (long long)c->products, (long long)c->updates, (long long)c->dense, (long long)c->mistakes,
           (long long)sums[0], (long long)sums[1], (long long)sums[2]);
}

/** Runs the cases that were asked for. Returns the exit status. */
static int run_cases(const settings *s)
{
    const double begin = MPI_Wtime();
    int64_t cases = 0, failed = 0;
    int more = 1;
    for (uint64_t i = s->from; more; i++) {
        const int64_t wrong = run_case(s, i);
        cases++;
        failed += wrong > 0;
        if (wrong > 0 && diff_.world_rank == 0) {
            printf("FAIL case %llu of seed %llu: %lld differences; again: "
                   "mpirun -np %d %s --seed %llu --from %llu%s%s\n",
                   (unsigned long long)i, (unsigned long long)s->seed, (long long)wrong, diff_.ranks,
                   s->program, (unsigned long long)s->seed, (unsigned long long)i, s->cuda ? " --cuda" : "",
                   s->spoil ? " --spoil" : "");
            fflush(stdout);
        }
        more = (uint64_t)cases < s->cases && (s->seconds == 0 || MPI_Wtime() - begin < s->seconds);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    print_counts(cases, failed);
    return failed > 0;
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &diff_.ranks);
    diff_.world_rank = test_.rank;
    if (diff_.ranks > DIFF_RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_.rank, &reversed);
    signal(SIGALRM, on_alarm);
    if (!TEST_SANITIZED)
        for (int k = 0; k < 4; k++) signal((int[]){SIGSEGV, SIGBUS, SIGFPE, SIGABRT}[k], on_crash);
    int failed = 0;
    if (argc == 1) {
        test_judge();
        test_judge_complex();
        test_cases();
    } else {
        const settings s = parse(argc, argv);
        diff_.device = s.cuda ? SPMM_CUDA : SPMM_CPU;
        if (s.cuda && spmm_device_open(MPI_COMM_WORLD) != SPMM_OK) {
            fprintf(stderr, "test_differential: %s\n", spmm_error_message());
            MPI_Abort(MPI_COMM_WORLD, 4);
        }
        failed = run_cases(&s);
        if (s.cuda) spmm_device_close();
    }
    MPI_Comm_free(&reversed);
    return test_mpi_end() || failed;
}
