/* MPI: 1 2 3. Trials: which candidate is chosen, which are left out, and that all ranks choose the same
 * one. */
#include "base/trial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/comm.h"
#include "formats/multivector.h"
#include "io/generators.h"
#include "product/choose.h"
#include "test_mpi.h"

enum { MOST = 4 };

/** Candidates of given times. */
typedef struct faked {
    int64_t microseconds[MOST];
    spmm_status make[MOST], run[MOST]; /* how each ends, on the last rank */
    int made, runs[MOST];              /* made: number of candidates not yet destroyed */
    int slow[MOST];                    /* as many runs at first take ten times as long */
    int good[MOST];                    /* not 0: later runs than this many end with `later` */
    spmm_status later;
} faked;

static int size;

static spmm_status make(void *of, int i, void **made)
{
    faked *const f = of;
    int *const number = malloc(sizeof *number);
    if (!number) abort();
    *number = i;
    *made = number;
    f->made++;
    return sp_agree(MPI_COMM_WORLD, "trial",
                    test_.rank == size - 1 && f->make[i] ? sp_fail(f->make[i], "no %d", i) : SPMM_OK);
}

static spmm_status run(void *of, void *made)
{
    faked *const f = of;
    const int i = *(int *)made;
    const int64_t factor = f->runs[i]++ < f->slow[i] ? 10 : 1;
    const struct timespec pause = {0, 1000 * factor * f->microseconds[i]};
    nanosleep(&pause, NULL);
    if (f->good[i] && f->runs[i] > f->good[i]) return test_.rank == size - 1 ? f->later : SPMM_OK;
    return test_.rank == size - 1 ? f->run[i] : SPMM_OK;
}

static void destroy(void *of, void *made)
{
    if (made) ((faked *)of)->made--;
    free(made);
}

static sp_trial_ops ops = {"trial", make, run, NULL, destroy, 0};

/** Runs a trial of `count` candidates. \return number of the chosen one; -1: none */
static int taken(faked *f, int count, double brief, sp_trial *trial, spmm_status expected)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    const sp_together all = sp_ranks_together(&comm);
    void *best = NULL;
    int number = -1;
    *trial = (sp_trial){.count = 0};
    for (int i = 0; i < count; i++) sp_trial_add(trial, (const char *[]){"a", "b", "c", "d"}[i]);
    CHECK_INT(sp_trial_run(&all, &ops, f, brief, trial, &best), expected);
    CHECK((best != NULL) == (expected == SPMM_OK));
    if (best) number = *(int *)best;
    CHECK_INT(number, trial->chosen);
    int most = number;
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_INT(number, most);
    destroy(f, best);
    CHECK_INT(f->made, 0); /* all other candidates are destroyed */
    return number;
}

static void test_choice(void)
{
    sp_trial trial;
    char text[200] = "as it was";
    TEST("the fastest candidate is taken, wherever it stands, and the record has all times") {
        for (int best = 0; best < 3; best++) {
            faked f = {.microseconds = {20000, 20000, 20000}};
            f.microseconds[best] = 2000;
            CHECK_INT(taken(&f, 3, 0, &trial, SPMM_OK), best);
            CHECK(trial.count == 3 && trial.took > 0);
            for (int i = 0; i < 3; i++) CHECK(trial.tried[i].seconds >= 1e-6 * (double)f.microseconds[i]);
        }
    }
    TEST("one that was slow at first is timed again before another takes its place") {
        faked f = {.microseconds = {3000, 10000, 12000}, .slow = {6}};
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_OK), 0);
        CHECK(f.runs[0] > f.slow[0] && trial.tried[0].seconds < trial.tried[1].seconds);
    }
    TEST("one that is far behind in its first two runs is run no more") {
        faked f = {.microseconds = {2000, 60000}};
        CHECK_INT(taken(&f, 2, 0, &trial, SPMM_OK), 0);
        CHECK_INT(f.runs[1], 2);
        CHECK_INT(f.runs[0], 7);
    }
    TEST("a first one that is brief enough is taken unseen of the others, and an only one is not timed") {
        faked f = {.microseconds = {3000, 10}};
        CHECK_INT(taken(&f, 2, 10, &trial, SPMM_OK), 0);
        CHECK(f.runs[1] == 0 && isnan(trial.tried[1].seconds));
        f.runs[0] = 0;
        CHECK_INT(taken(&f, 1, 0, &trial, SPMM_OK), 0);
        CHECK_INT(f.runs[0], 0);
        sp_trial_words(&trial, text, sizeof text);
        CHECK_TEXT(text, "as it was");
    }
    TEST("where nothing is to be timed the first that works is taken, and runs once") {
        faked f = {.microseconds = {20, 20, 20}, .make = {SPMM_ERR_MEMORY}};
        CHECK_INT(taken(&f, 3, INFINITY, &trial, SPMM_OK), 1);
        CHECK(f.runs[1] == 1 && f.runs[2] == 0);
    }
    TEST("of about equal ones the first is taken") {
        /* 20 and 19.8 ms: a difference of 1 % is noise to a trial. On busy cores pauses vary more: retry */
        for (int count = 3; count <= 4; count++) {
            faked f;
            int number = -1, runs = 0;
            for (int again = 0; again < 10 && (number != 0 || runs != 15); again++) {
                f = (faked){.microseconds = {20000, 19800, 19800, 19800}};
                number = taken(&f, count, 0, &trial, SPMM_OK);
                runs = f.runs[0] + f.runs[1] + f.runs[2] + f.runs[3];
            }
            CHECK_INT(number, 0);
            CHECK_INT(runs, 15); /* the most runs of a trial with candidates of similar speed */
        }
    }
}

static void test_failures(void)
{
    sp_trial trial;
    char text[200];
    TEST("what does not fit into memory is left out, on every rank, and the record says so") {
        faked f = {.microseconds = {100, 100, 100}, .make = {SPMM_ERR_MEMORY}, .run = {0, SPMM_ERR_LIMIT}};
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_OK), 2);
        sp_trial_list(&trial, text, sizeof text);
        CHECK_TEXT(text, "a:failed b:failed c:");
    }
    TEST("if all are left out, too little memory is the trial's failure, else the last one's") {
        faked f = {.make = {SPMM_ERR_LIMIT, SPMM_ERR_MEMORY, SPMM_ERR_DEVICE}};
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_ERR_MEMORY), -1);
        CHECK_TEXT(spmm_error_message(), "no 1");
        f.make[1] = SPMM_ERR_LIMIT;
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_ERR_DEVICE), -1);
        CHECK_TEXT(spmm_error_message(), "no 2");
    }
    TEST("if the best one fails when it is timed again, another takes its place, or the trial ends") {
        faked f = {.microseconds = {10000, 2000}, .good = {8}, .later = SPMM_ERR_DEVICE};
        CHECK_INT(taken(&f, 2, 0, &trial, SPMM_OK), 1);
        CHECK(isinf(trial.tried[0].seconds) && isfinite(trial.tried[1].seconds));
        f = (faked){.microseconds = {10000, 2000}, .good = {8}, .later = SPMM_ERR_INTERNAL};
        CHECK_INT(taken(&f, 2, 0, &trial, SPMM_ERR_INTERNAL), -1);
    }
    TEST("another failure ends the trial, unless the candidates are not sure to work") {
        faked f = {.microseconds = {100, 100, 100}, .run = {0, SPMM_ERR_MPI}};
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_ERR_MPI), -1);
        CHECK_INT(f.runs[2], 0);
        ops.unsure = 1;
        f.run[0] = SPMM_ERR_MPI;
        CHECK_INT(taken(&f, 3, 0, &trial, SPMM_OK), 2);
        CHECK_INT(taken(&f, 1, 0, &trial, SPMM_ERR_MPI), -1); /* a single candidate is run, too */
        ops.unsure = 0;
    }
}

static void test_words(void)
{
    sp_trial trial = {.count = 0};
    char text[200] = "", list[200], small[12];
    for (int i = 0; i < 4; i++) sp_trial_add(&trial, (const char *[]){"csr", "ell", "sell", "panel"}[i]);
    TEST("in words: how many were timed, and how much slower the others were") {
        trial.tried[0].seconds = 2e-3;
        trial.tried[1].seconds = 1e-3;
        trial.tried[2].seconds = INFINITY;
        trial.chosen = 1;
        sp_trial_words(&trial, text, sizeof text);
        CHECK(strcmp(text, "fastest of 2 in a trial (others took: csr 2.00x)") == 0);
        trial.tried[0].seconds = 0.96e-3;
        sp_trial_words(&trial, text, sizeof text);
        CHECK(
            strcmp(
                text,
                "the first candidate, within 5 % of the fastest of 2 in a trial (others took: csr 0.96x)") ==
            0);
        trial.tried[0].seconds = 2e-3;
        sp_trial_list(&trial, list, sizeof list);
        CHECK(strcmp(list, "csr:2.000e-03 ell:1.000e-03 sell:failed panel:-") == 0);
        sp_trial_list(&trial, small, sizeof small);
        CHECK(strcmp(small, "csr:2.000e-") == 0);
    }
    TEST("more candidates than there is room for are left out, and long names are cut") {
        char name[100];
        memset(name, 'n', sizeof name);
        name[99] = 0;
        for (int i = 0; i < 2 * SP_MOST_TRIED; i++) sp_trial_add(&trial, name);
        CHECK_INT(trial.count, SP_MOST_TRIED);
        CHECK_INT((int64_t)strlen(trial.tried[SP_MOST_TRIED - 1].name), SP_TRIED_NAME_BYTES - 1);
    }
}

/** Multiplies the row blocks by columns of ones, and returns the number of elements that are not sums of rows
 *  of a. */
static int64_t wrong_sums(const spmm_csr *a, const sp_row_blocks *parts, int64_t k)
{
    spmm_multivector x, y;
    int64_t wrong = 0;
    CHECK_INT(spmm_multivector_create(a->cols, k, SPMM_F64, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(a->rows, k, SPMM_F64, SPMM_CPU, &y), SPMM_OK);
    sp_multivector_generate(&x, SP_X_ONES, 1, 0, 1);
    CHECK_INT(sp_row_blocks_run(parts, 0, parts->count, (sp_shape){0}, 0, &x, &y, SP_STREAM_MAIN), SPMM_OK);
    for (int64_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) sum += ((const double *)a->as)[e];
        for (int64_t j = 0; j < k; j++) wrong += ((const double *)sp_row(&y, i))[j] != sum;
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return wrong;
}

static void test_kernels(void)
{
    TEST(
        "of a large matrix the fastest kernel is converted for all rows, also if it was found with some rows") {
        /* the rows in the middle of a mesh show what others cost, random columns do not */
        static const char *const specs[] = {"lap3d27:55", "uniform:500000,9"};
        const sp_kernel *const list[] = {sp_kernel_find("cpu_csr"), sp_kernel_find("cpu_sorted")};
        for (int s = 0; s < 2; s++) {
            spmm_csr a;
            CHECK_INT(sp_gen_csr(specs[s], SPMM_F64, 1, &a), SPMM_OK);
            CHECK(a.nnz > 1 << 22);
            sp_row_blocks parts = {.count = 1, .part[0].rows = a.rows};
            const sp_kernel_trial t = {.comm = MPI_COMM_WORLD,
                                       .a = &a,
                                       .list = list,
                                       .count = 2,
                                       .k = 2,
                                       .most = 2,
                                       .threads = 1,
                                       .products = 1000};
            sp_trial trial;
            CHECK_INT(sp_kernel_trial_run(&t, &parts, &trial), SPMM_OK);
            CHECK_INT(trial.count, 2);
            CHECK(trial.tried[0].seconds > 0 && trial.tried[1].seconds > 0);
            CHECK(parts.kernel == list[trial.chosen]);
            CHECK_INT(wrong_sums(&a, &parts, 2), 0);
            sp_row_blocks_destroy(&parts);
            spmm_csr_destroy(&a);
        }
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    test_choice();
    test_failures();
    test_words();
    test_kernels();
    return test_mpi_end();
}
