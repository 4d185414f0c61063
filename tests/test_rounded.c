/* Ghost rows of X that travel as f32, on CPUs.
 * MPI: 1 2 3 4 */
#define TEST_TRAPS 0 /* values that overflow in f32 */
#include "rounded_cases.h"

#include "comm/comm.h"

static void refused(const spmm_block *block, spmm_plan_options options, const char *message)
{
    spmm_plan *plan;
    options.exchange_precision = SPMM_F32;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, 3, &options, &plan), SPMM_ERR_USAGE);
    CHECK(plan == NULL);
    CHECK(strstr(spmm_error_message(), message));
}

static void test_options(void)
{
    spmm_block block;
    spmm_plan *plan;
    const spmm_plan_options options = {.exchange_precision = SPMM_F32};
    char *text;
    scattered("uniform:90,5", SPMM_F64, 0, 0, &block);
    TEST("what cannot be kept is refused with what was expected") {
        refused(&block, (spmm_plan_options){.exact = 1}, "options.exact is set: expected only one of them");
        refused(&block, (spmm_plan_options){.transport = SPMM_TRANSPORT_SHARED}, "choose another transport");
    }
    TEST("the view of a plan says what travels, and half the bytes") {
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_OK);
        CHECK_INT(spmm_plan_view_text(plan, &text), SPMM_OK);
        if (test_.rank == 0) {
            long long rows = 0;
            double megabytes = 0;
            const char *const line = strstr(text, "by mpi, rows of X as f32: ");
            CHECK(size == 1 ? !line : line != NULL);
            if (line)
                CHECK(sscanf(line, "by mpi, rows of X as f32: %lld rows, %lf MB", &rows, &megabytes) == 2 &&
                      fabs(megabytes - 16e-6 * (double)rows) < 1e-4 * megabytes + 1e-5);
        }
        free(text);
        spmm_plan_destroy(plan);
    }
    spmm_block_destroy(&block);
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    device = SPMM_CPU;
    TEST("Y is the serial product with the ghost rows rounded and owned rows as they are, bit for bit") {
        check_transport(SPMM_TRANSPORT_AUTO);
        check_transport(SPMM_TRANSPORT_MPI);
    }
    TEST("messages in pieces that end within a row") {
        sp_set_chunk_bytes(100);
        check_case("uniform:120,5", REALS, 7, (spmm_plan_options){.transport = SPMM_TRANSPORT_MPI});
        check_case("lap2d5:12", REALS, 33, (spmm_plan_options){.transport = SPMM_TRANSPORT_MPI});
        sp_set_chunk_bytes(0);
    }
    test_what_stays();
    test_options();
    return test_mpi_end();
}
