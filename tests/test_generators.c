#include "base/random.h"
#include "io/generators.h"
#include "sample.h"
#include "test.h"

/** Specifications of matrices, and the digests of these. */
static const struct {
    const char *text;
    int64_t digest;
} specs[] = {{"lap2d5:1", 1966438769369602852},
             {"lap2d5:7", 4559152911210942047},
             {"lap3d7:1", -1696873575092729347},
             {"lap3d7:5", 3469918423823891861},
             {"lap3d27:4", -3309057090461841811},
             {"fem3:3", -3067746939302014212},
             {"band:100,5,9", -368839439709477535},
             {"band:50,9,9", 6051298983551562912},
             {"band:3,3,100", -9041160018717072454},
             {"uniform:60,4", 7621453712744038861},
             {"uniform:20,20", -6494002119885502996},
             {"rmat:6,5", 2994409605245359696},
             {"longrows:300,3,4,250", -6297153930759803098},
             {"longrows:10,2,10,5", -7069824327282968824}};
enum { SPECS = sizeof specs / sizeof specs[0] };

/** Returns a number that depends on all bits of a matrix in f64. */
static int64_t digest(const spmm_csr *a)
{
    uint64_t found = 0, bits;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            memcpy(&bits, (const double *)a->as + e, sizeof bits);
            found = sp_random(found ^ bits, (uint64_t)i, (uint64_t)a->ja[e]);
        }
    return (int64_t)found;
}

static void test_threads_and_precisions(void)
{
    spmm_csr a, b;
    TEST("every generator makes a valid matrix, the same as always, for any number of threads") {
        for (int n = 0; n < SPECS; n++)
            for (int threads = 1; threads <= 3; threads++) {
                CHECK_INT(sp_gen_csr(specs[n].text, SPMM_F64, threads, &a), SPMM_OK);
                CHECK_INT(sp_csr_check(&a, 1), SPMM_OK);
                CHECK_INT(digest(&a), specs[n].digest);
                spmm_csr_destroy(&a);
            }
    }
    TEST("f32 values are the f64 ones, rounded") {
        for (int n = 0; n < SPECS; n++) {
            if (strncmp(specs[n].text, "rmat", 4) == 0) continue; /* repeated edges are summed in f32 there */
            CHECK_INT(sp_gen_csr(specs[n].text, SPMM_F64, 2, &a), SPMM_OK);
            CHECK_INT(sp_gen_csr(specs[n].text, SPMM_F32, 2, &b), SPMM_OK);
            CHECK_INT(a.nnz, b.nnz);
            for (int64_t e = 0; e < a.nnz; e++)
                CHECK((float)sample_get(a.as, a.precision, e) == (float)sample_get(b.as, b.precision, e));
            spmm_csr_destroy(&a);
            spmm_csr_destroy(&b);
        }
    }
}

static void test_sizes(void)
{
    spmm_csr a;
    TEST("the sizes that a spec says are those of its matrix; of a band the entries at least") {
        char sized[] = "lap2d5:1 lap2d5:7 lap3d7:1 lap3d7:6 lap3d27:1 lap3d27:2 lap3d27:9 fem3:1 fem3:5 "
                       "uniform:50,7 longrows:300,3,4,250 longrows:5,2,5,5 band:100,5,9 band:100,9,9 "
                       "band:7,5,2000 band:1,1,1 band:50,40,90";
        for (const char *spec = strtok(sized, " "); spec; spec = strtok(NULL, " ")) {
            sp_sizes sizes;
            CHECK_INT(sp_gen_csr(spec, SPMM_F32, 2, &a), SPMM_OK);
            CHECK_INT(sp_gen_sizes(spec, &sizes), SPMM_OK);
            CHECK(sizes.rows == a.rows && sizes.cols == a.cols);
            if (spec[0] != 'b') CHECK_INT(sizes.entries, a.nnz);
            CHECK(sizes.entries <= a.nnz && 2 * sizes.entries >= a.nnz);
            spmm_csr_destroy(&a);
        }
        sp_sizes sizes;
        CHECK_INT(sp_gen_sizes("lap2d5:46340", &sizes), SPMM_OK);
        CHECK_INT(sizes.entries, 5 * INT64_C(2147395600) - 4 * 46340);
        CHECK_INT(sp_gen_sizes("lap2d5:x", &sizes), SPMM_ERR_USAGE);
    }
    TEST("sizes beyond 2^31 rows are refused") {
        CHECK_INT(sp_gen_check("lap3d7:1291"), SPMM_ERR_LIMIT);
        CHECK_INT(sp_gen_check("lap3d7:1290"), SPMM_OK);
        CHECK_INT(sp_gen_check("fem3:1290"), SPMM_ERR_LIMIT);
        CHECK_INT(sp_gen_check("uniform:99999999999999999999,1"), SPMM_ERR_USAGE);
        CHECK_INT(sp_gen_check("rmat:31,1"), SPMM_ERR_LIMIT);
    }
}

static void test_names(void)
{
    TEST("a spec is told from a file name") {
        CHECK(sp_gen_is_spec("lap3d7:5") && sp_gen_is_spec("band:x") && !sp_gen_is_spec("lap3d7") &&
              !sp_gen_is_spec("a/lap3d7:5"));
    }
}

int main(void)
{
    test_threads_and_precisions();
    test_sizes();
    test_names();
    return test_end();
}
