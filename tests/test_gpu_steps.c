/* The steps of a product, in their order: on CPUs and GPUs, without and with an exchange, partial rows and
 * sums.
 * MPI: 1 2 4 */
#include <stdio.h>
#include <string.h>

#include "planned.h"

/** Makes a plan for a generated matrix. \return the plan's steps as its view prints them, on rank 0; "" on
 *  other ranks */
static const char *steps_of(const char *spec, int p, int q, const spmm_plan_options *o)
{
    static char steps[1 << 10];
    spmm_block block;
    spmm_plan *plan;
    char *text;
    scattered(spec, SPMM_F64, p, q, &block);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 32, o, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_view_text(plan, &text), SPMM_OK);
    spmm_plan_destroy(plan);
    spmm_block_destroy(&block);
    const char *const line = text ? strstr(text, "\nsteps       ") : NULL;
    if (!line || sscanf(line, "\nsteps       %1023[^\n]", steps) != 1) *steps = '\0';
    free(text);
    return steps;
}

static void check_steps(const char *spec, int p, int q, const spmm_plan_options *o, const char *expected)
{
    const char *const steps = steps_of(spec, p, q, o);
    if (test_.rank == 0 && strcmp(steps, expected) != 0) {
        printf("      %s\n", steps);
        CHECK_TEXT(steps, expected);
    }
}

static void test_cpu(int size)
{
    const spmm_plan_options halo = {.exchange = SPMM_EXCHANGE_HALO, .transport = SPMM_TRANSPORT_MPI},
                            joint = {.exchange = SPMM_EXCHANGE_JOINT, .transport = SPMM_TRANSPORT_MPI};
    spmm_plan_options blocks = halo;
    blocks.column_blocks = 2;
    TEST(
        "on one rank a product is its rows, and on several the interior ones are computed during the exchange") {
        check_steps("lap2d5:20", size, 1, &halo,
                    size == 1 ? "interior rows | boundary rows | alpha, beta"
                              : "begin X | interior rows | end X | boundary rows | finish X | alpha, beta");
    }
    TEST("partial rows travel together with X, and are added last") {
        check_steps("rmat:8,16", size, 1, &joint,
                    size == 1
                        ? "interior rows | boundary rows | alpha, beta"
                        : "begin X | partial rows | begin partial | interior rows | end X | boundary rows | "
                          "end partial | finish X | add partial | alpha, beta");
    }
    TEST("column blocks follow one another") {
        check_steps("lap2d5:20", size, 1, &blocks,
                    size == 1
                        ? "interior rows | boundary rows | interior rows 2 | boundary rows 2 | alpha, beta"
                        : "begin X | interior rows | end X | boundary rows | finish X | begin X 2 | "
                          "interior rows 2 | end X 2 | boundary rows 2 | finish X 2 | alpha, beta");
    }
    TEST("process columns add their products") {
        check_steps("lap2d5:20", 1, size, &halo,
                    size == 1 ? "interior rows | boundary rows | alpha, beta"
                              : "interior rows | boundary rows | reduce | alpha, beta");
    }
}

static void test_gpu(int size)
{
    const spmm_plan_options halo = {.device = SPMM_CUDA, .exchange = SPMM_EXCHANGE_HALO, .column_blocks = 1},
                            joint = {
                                .device = SPMM_CUDA, .exchange = SPMM_EXCHANGE_JOINT, .column_blocks = 1};
    if (!gpu_opened("on a GPU the interior rows are queued before anything is waited for")) return;
    TEST("on a GPU the interior rows are queued before anything is waited for") {
        check_steps("lap2d5:20", size, 1, &halo,
                    size == 1 ? "interior rows | boundary rows | alpha, beta"
                              : "begin X | interior rows | end X | boundary rows | finish X | alpha, beta");
        if (size == 2) /* with more ranks, ranks of a node may add partial rows */
            check_steps("rmat:8,16", size, 1, &joint,
                        "begin X | partial rows | begin partial | interior rows | end X | boundary rows | "
                        "end partial | finish X | add partial | alpha, beta");
    }
    spmm_device_close();
}

int main(int argc, char **argv)
{
    int size;
    test_mpi_begin(&argc, &argv, &size);
    test_cpu(size);
    test_gpu(size);
    return test_mpi_end();
}
