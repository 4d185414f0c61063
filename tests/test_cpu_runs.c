#include "formats/thread_ranges.h"
#include "io/generators.h"
#include "kernels/cpu/cpu_choose.h"
#include "kernels/cpu/cpu_runs.h"
#include "sample.h"
#include "test.h"

static int shifted(const spmm_csr *a, int64_t i, int64_t j, int64_t shift)
{
    const int64_t n = a->irp[i + 1] - a->irp[i];
    if (n != a->irp[j + 1] - a->irp[j]) return 0;
    for (int64_t e = 0; e < n; e++)
        if (a->ja[a->irp[i] + e] != a->ja[a->irp[j] + e] + shift) return 0;
    return 1;
}

/** Whether row i has the properties of its run. */
static int kept(const spmm_csr *a, const sp_run *run, int64_t i)
{
    const int64_t group = (i - run->first) / SP_HEIGHT(run->kind) * SP_HEIGHT(run->kind) + run->first;
    const int64_t length = a->irp[i + 1] - a->irp[i], first = a->irp[run->first + 1] - a->irp[run->first];
    switch (run->kind) {
    case SP_RUN_SHIFT: return run->shifted && shifted(a, i, run->first, i - run->first);
    case SP_RUN_EQUAL: return length == first;
    case SP_RUN_BLOCK2:
    case SP_RUN_BLOCK3:
        return length == first && shifted(a, i, group, 0) &&
               (!run->shifted || shifted(a, group, run->first, group - run->first));
    case SP_RUN_ANY:
    case SP_RUN_KINDS: break;
    }
    return 1;
}

/** Checks the properties of the runs of `a`. \return number of rows in runs of kind `kind` */
static int64_t check_runs(const spmm_csr *a, int64_t longest, sp_run_kind kind)
{
    sp_runs one, runs;
    int64_t found = 0;
    CHECK_INT(sp_runs_find(a->irp, a->irp + 1, a->ja, a->rows, longest, 1, &one), SPMM_OK);
    CHECK_INT(sp_runs_find(a->irp, a->irp + 1, a->ja, a->rows, longest, 3, &runs), SPMM_OK);
    CHECK_INT(one.count, runs.count);
    for (int64_t n = 0; n < runs.count; n++) {
        const sp_run *const run = &runs.run[n];
        CHECK(run->first == one.run[n].first && run->kind == one.run[n].kind);
        CHECK(run[0].first < run[1].first);
        CHECK_INT((run[1].first - run->first) % (run->kind < SP_RUN_BLOCK2 ? 1 : SP_HEIGHT(run->kind)) *
                      (run->kind != SP_RUN_SHIFT),
                  0);
        for (int64_t i = run->first; i < run[1].first; i++) {
            CHECK(kept(a, run, i));
            CHECK(run->kind == SP_RUN_ANY || a->irp[i + 1] - a->irp[i] <= longest);
            CHECK_INT(sp_runs_at(&runs, i), n);
            found += run->kind == kind;
        }
    }
    CHECK_INT(runs.run[runs.count].first, a->rows);
    sp_runs_destroy(&one);
    sp_runs_destroy(&runs);
    return found;
}

static int64_t check_spec(const char *spec, int64_t longest, sp_run_kind kind)
{
    spmm_csr a;
    if (sp_gen_csr(spec, SPMM_F64, 2, &a) != SPMM_OK) abort();
    const int64_t found = check_runs(&a, longest, kind);
    spmm_csr_destroy(&a);
    return found;
}

/** Checks rows of random lengths, some of which are like the rows before them in one of several ways. */
static void check_random(uint64_t seed)
{
    enum { ROWS = 2000, MOST = 12, COLUMNS = 5000 };
    spmm_csr a;
    if (sp_csr_create(ROWS, COLUMNS, ROWS * MOST, SPMM_F64, &a) != SPMM_OK) abort();
    uint64_t like = 0, left = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        if (left-- == 0 || i < 3) {
            like = sp_random_below(seed, (uint64_t)i, 0, 6);
            left = sp_random_below(seed, (uint64_t)i, 1, 60);
        }
        const int64_t height = like == 1 ? 1 : like == 2 ? 2 : 3, from = i - (like == 4 ? 1 : height);
        const int copied = i >= 3 && ((like >= 1 && like <= 3) || (like == 4 && left % 3));
        const int64_t n = copied ? a.irp[from + 1] - a.irp[from]
                                 : (int64_t)sp_random_below(seed, (uint64_t)i, 2, like == 5 ? 1 : MOST) +
                                       (like == 5);
        a.irp[i + 1] = a.irp[i] + n;
        for (int64_t e = 0; e < n; e++)
            a.ja[a.irp[i] + e] = copied ? a.ja[a.irp[from] + e] + (like == 4 ? 0 : (int32_t)height)
                                        : (int32_t)(e * 50 + (int64_t)sp_random_below(seed, (uint64_t)i,
                                                                                      (uint64_t)(3 + e), 50));
    }
    a.nnz = a.irp[ROWS];
    for (int kind = 0; kind < SP_RUN_KINDS; kind++) CHECK(check_runs(&a, 10, (sp_run_kind)kind) >= 0);
    spmm_csr_destroy(&a);
}

static void test_runs(void)
{
    TEST("a stencil's rows are found to be one another's, shifted") {
        CHECK(check_spec("lap2d5:40", 100, SP_RUN_SHIFT) > 38 * 40 - 1);
        CHECK(check_spec("lap3d27:20", 100, SP_RUN_SHIFT) > 18 * 400 - 1);
    }
    TEST("rows of one node of a finite element matrix are found to have the same columns") {
        CHECK_INT(check_spec("fem3:8", 1000, SP_RUN_BLOCK3), 3 * 512);
    }
    TEST("rows of one length are found, and short matrices have no runs") {
        CHECK_INT(check_spec("uniform:500,7", 100, SP_RUN_EQUAL), 500);
        CHECK_INT(check_spec("uniform:15,7", 100, SP_RUN_ANY), 15);
    }
    TEST("rows beyond the length that is asked for are in no run") {
        CHECK_INT(check_spec("uniform:500,7", 6, SP_RUN_ANY), 500);
    }
    TEST("runs cover all rows and keep what they promise, on rows of all sorts") {
        for (int s = 0; s < SAMPLES; s++) {
            spmm_csr a;
            sample_csr((sample)s, SAMPLE_REALS, SPMM_F64, &a);
            CHECK(check_runs(&a, 100, SP_RUN_ANY) >= 0);
            spmm_csr_destroy(&a);
        }
        for (uint64_t seed = 0; seed < 40; seed++) check_random(seed);
    }
}

/** Cost of what thread t computes. */
static int64_t cost(const spmm_csr *a, const sp_thread_ranges *w, int t)
{
    int64_t entries = 0, piece = 0;
    for (int64_t i = w->begin[t]; i < w->begin[t + 1]; i++) {
        const int64_t n = a->irp[i + 1] - a->irp[i];
        entries += 2 + (n > SP_PART ? 0 : n);
    }
    for (int64_t g = 0; g < w->long_rows; g++) {
        int64_t left = a->irp[w->long_row[g] + 1] - a->irp[w->long_row[g]];
        for (; left > 0; left -= SP_PART, piece++)
            if (piece >= w->part[t] && piece < w->part[t + 1]) entries += left < SP_PART ? left : SP_PART;
    }
    CHECK(t < w->threads - 1 || piece == w->part[w->threads]);
    return entries;
}

int main(void)
{
    test_runs();
    TEST("X is not prefetched in runs of rows most of whose columns the row before has") {
        static const int32_t nine[] = {0, 1, 2, 10, 11, 12, 20, 21, 22},
                             seven[] = {0, 10, 19, 20, 21, 30, 40};
        CHECK_INT(sp_choose_run_prefetch(SP_ISA_AVX2, SP_RUN_SHIFT, nine, 9, 36), 0);
        CHECK_INT(sp_choose_run_prefetch(SP_ISA_AVX2, SP_RUN_SHIFT, seven, 7, 36), 36);
        CHECK_INT(sp_choose_run_prefetch(SP_ISA_AVX2, SP_RUN_ANY, nine, 9, 36), 36);
        CHECK_INT(sp_choose_run_prefetch(SP_ISA_AVX512, SP_RUN_SHIFT, nine, 9, 36), 36);
    }
    TEST("giant rows and the others together are shared out evenly") {
        static const int all_threads[] = {1, 2, 3, 7, 16};
        spmm_csr a;
        if (sp_gen_csr("longrows:600000,5,4,400000", SPMM_F64, 2, &a) != SPMM_OK) abort();
        for (int n = 0; n < 5; n++) {
            sp_thread_ranges w;
            int64_t sum = 0, most = 0;
            CHECK_INT(sp_thread_ranges_create(a.irp, a.rows, all_threads[n], &w), SPMM_OK);
            CHECK_INT(w.long_rows, 4);
            for (int t = 0; t < all_threads[n]; t++) {
                const int64_t c = cost(&a, &w, t);
                sum += c;
                most = c > most ? c : most;
            }
            CHECK_INT(sum, a.nnz + 2 * a.rows);
            CHECK(most <= sum / all_threads[n] + 100);
            sp_thread_ranges_destroy(&w);
        }
        spmm_csr_destroy(&a);
    }
    TEST("more threads than parts and rows: each part and each row is somebody's") {
        spmm_csr a;
        if (sp_csr_create(3, SP_PART * 3, 2 * SP_PART + 9, SPMM_F64, &a) != SPMM_OK) abort();
        a.irp[1] = 4;
        a.irp[2] = a.irp[3] = a.nnz;
        sp_thread_ranges w;
        CHECK_INT(sp_thread_ranges_create(a.irp, a.rows, 9, &w), SPMM_OK);
        CHECK_INT(w.long_rows, 1);
        CHECK_INT(w.long_row[0], 1);
        CHECK_INT(w.part[0], 0);
        CHECK_INT(w.part[9], 3);
        CHECK_INT(w.begin[9], 3);
        for (int t = 0; t < 9; t++) CHECK(w.part[t] <= w.part[t + 1] && w.begin[t] <= w.begin[t + 1]);
        sp_thread_ranges_destroy(&w);
        spmm_csr_destroy(&a);
    }
    return test_end();
}
