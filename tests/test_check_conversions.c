/* limit: 60 */
#include "formats/csr.h"
#include "spmm_mpi/check_conversions.h"
#include "sample.h"
#include "test.h"

/** Returns the table of sp_check_conversions(), valid until the next call. */
static const char *table_of(const sp_coo *coo, int threads, double ell_limit, double seconds_limit,
                            spmm_status *status)
{
    static char text[8192];
    memset(text, 0, sizeof text);
    FILE *const out = fmemopen(text, sizeof text - 1, "w");
    if (!out) abort();
    *status = sp_check_conversions(coo, threads, ell_limit, seconds_limit, out);
    fclose(out);
    return text;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part)) n++;
    return n;
}

/** Makes the sample's triplets from last to first, without duplicates. */
static void distinct_coo(sample s, spmm_precision precision, sp_coo *coo)
{
    spmm_csr a;
    sample_csr(s, SAMPLE_REALS, precision, &a);
    if (sp_coo_create(a.rows, a.cols, a.nnz, SP_GENERAL, precision, 1, coo) != SPMM_OK) abort();
    int64_t t = 0;
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++, t++) {
            const int64_t to = a.nnz - 1 - t; /* backwards: every row has to be sorted */
            coo->I[to] = (int32_t)i;
            coo->J[to] = a.ja[e];
            sample_set(coo->val, precision, to, sample_get(a.as, precision, e));
        }
    spmm_csr_destroy(&a);
}

int main(void)
{
    spmm_status status;
    sp_coo coo;
    const char *text;

    TEST("all nine conversions agree on every sample, in both precisions, with 1, 2 and 5 threads") {
        static const int threads[] = {1, 2, 5};
        for (int s = 0; s < SAMPLES; s++)
            for (int p = 0; p < 2; p++)
                for (int n = 0; n < 3; n++) {
                    distinct_coo((sample)s, p ? SPMM_F32 : SPMM_F64, &coo);
                    text = table_of(&coo, threads[n], 1e9, 60, &status);
                    CHECK_INT(status, SPMM_OK);
                    CHECK_INT(count(text, "  yes\n"), 9);
                    CHECK_INT(count(text, "NO\n"), 0);
                    sp_coo_destroy(&coo);
                }
    }
    TEST("a pattern is converted as ones") {
        CHECK_INT(sp_coo_create(3, 3, 2, SP_GENERAL, SPMM_F64, 0, &coo), SPMM_OK);
        coo.I[0] = 2, coo.J[0] = 1, coo.I[1] = 0, coo.J[1] = 2;
        text = table_of(&coo, 2, 1e9, 60, &status);
        CHECK_INT(status, SPMM_OK);
        CHECK_INT(count(text, "  yes\n"), 9);
        sp_coo_destroy(&coo);
    }
    TEST("padded ELLPACK beyond the limit is a refused line, not a failure") {
        distinct_coo(SAMPLE_DENSE_ROW, SPMM_F64, &coo);
        text = table_of(&coo, 2, 3, 60, &status);
        CHECK_INT(status, SPMM_OK);
        CHECK_TEXT(text, "refused: padded ELLPACK would take");
        CHECK_INT(count(text, "  yes\n"), 6);
        sp_coo_destroy(&coo);
    }
    TEST("an algorithm that would take too long is skipped with an estimate") {
        enum { N = 300000 };
        CHECK_INT(sp_coo_create(N, N, N, SP_GENERAL, SPMM_F64, 0, &coo), SPMM_OK);
        for (int64_t t = 0; t < N; t++) coo.I[t] = coo.J[t] = (int32_t)(N - 1 - t);
        text = table_of(&coo, 2, 3, 0.2, &status);
        CHECK_INT(status, SPMM_OK);
        CHECK(count(text, "skipped (estimate)") >= 3);
        CHECK_TEXT(text, "counting sort (ours)");
        sp_coo_destroy(&coo);
    }
    TEST("a result that differs is reported and fails") {
        /* a duplicate: the baseline conversions keep both entries, sp_csr_from_coo() sums them */
        CHECK_INT(sp_coo_create(2, 2, 2, SP_GENERAL, SPMM_F64, 0, &coo), SPMM_OK);
        coo.I[0] = coo.I[1] = coo.J[0] = coo.J[1] = 1;
        text = table_of(&coo, 1, 1e9, 60, &status);
        CHECK_INT(status, SPMM_ERR_VERIFY);
        CHECK_TEXT(text, "NO\n");
        sp_coo_destroy(&coo);
    }
    TEST("a matrix that is not expanded is refused") {
        CHECK_INT(sp_coo_create(2, 2, 0, SP_SYMMETRIC, SPMM_F64, 0, &coo), SPMM_OK);
        text = table_of(&coo, 1, 3, 60, &status);
        CHECK_INT(status, SPMM_ERR_USAGE);
        sp_coo_destroy(&coo);
    }
    return test_end();
}
