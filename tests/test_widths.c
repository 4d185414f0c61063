/* MPI: 1 2 3 4
 * limit: 300
 *
 * A plan computes products of fewer columns than it was made for, with the bits of plans made for these
 * numbers of columns. --cuda: on GPUs. */
#include "widths_cases.h"

static const char graph[] = "rmat:8,7", mesh[] = "lap3d7:7", uneven[] = "longrows:300,5,3,280";

/** Tests the library's choice (NULL) and each exact kernel: every third with the broadcast, the others with
 *  the exchange of ghost rows. */
static void test_kernels(void)
{
    int count, n = 0;
    const sp_kernel *const kernels = sp_kernels(&count);
    for (int i = -1; i < count; i++) {
        if (i >= 0 && (kernels[i].device != device || !sp_kernel_is_exact(&kernels[i], SPMM_F64, INT64_MAX)))
            continue;
        for (int f32 = 0; f32 < 2; f32++)
            test_way(&(way){
                .matrix = n % 2 ? graph : uneven,
                .kernel = i < 0 ? NULL : kernels[i].id,
                .precision = f32 ? SPMM_F32 : SPMM_F64,
                .options = {.exchange = n % 3 ? SPMM_EXCHANGE_HALO : SPMM_EXCHANGE_BCAST, .no_overlap = f32},
                .study = {.ell_limit = 100},
                .q = 1});
        n++;
    }
}

static void test_exchanges(const spmm_transport *transports, int count)
{
    for (int n = 0; n < count; n++)
        for (int joint = 0; joint < 2; joint++)
            test_way(&(way){.matrix = joint ? graph : mesh,
                            .options = {.exchange = joint ? SPMM_EXCHANGE_JOINT : SPMM_EXCHANGE_HALO,
                                        .transport = transports[n]},
                            .study = {.quick_plan = 1},
                            .q = 1});
}

static void test_blocks_of_columns(void)
{
    test_way(&(way){.matrix = mesh, .options = {.column_blocks = 4}, .q = 1});
    test_way(&(way){.matrix = graph, .precision = SPMM_F32, .options = {.column_blocks = 2}, .q = 1});
}

static void test_sums(void)
{
    static const spmm_reduce all[] = {SPMM_REDUCE_LINEAR, SPMM_REDUCE_TREE, SPMM_REDUCE_BUTTERFLY,
                                      SPMM_REDUCE_MPI};
    for (int q = 2; q <= size; q++)
        for (int n = 0; n < 4 && size % q == 0; n++)
            test_way(&(way){.matrix = uneven, .options = {.reduce = all[n]}, .q = q});
}

/** A second matrix serves products of one column. */
static void test_second(void)
{
    const way timed = {.matrix = "rmat:10,9", .q = 1};
    const way ruled = {.matrix = "rmat:9,9", .study = {.quick_plan = 1}, .q = 1};
    wide w = {.how = &ruled};
    test_way(&timed);
    test_way(&ruled);
    if (device != SPMM_CPU) return;
    TEST("a plan has a second matrix if the rules have another kernel for one column") {
        distributed_create(ruled.matrix, SPMM_F64, 1, &w.of);
        if (make_plan(&w, MOST, &w.plan)) {
            CHECK_TEXT(spmm_plan_kernel(w.plan), "cpu_csr");
            CHECK_INT(spmm_plan_set_k(w.plan, 1), SPMM_OK);
            CHECK_TEXT(spmm_plan_kernel(w.plan), "cpu_sell");
            CHECK_INT(spmm_plan_set_k(w.plan, 33), SPMM_OK);
            CHECK_TEXT(spmm_plan_kernel(w.plan), "cpu_csr");
            spmm_plan_destroy(w.plan);
        }
        distributed_destroy(&w.of);
    }
}

int main(int argc, char **argv)
{
    static const spmm_transport of_cpu[] = {SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_MPI, SPMM_TRANSPORT_SHARED};
    static const spmm_transport of_gpu[] = {SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_MPI, SPMM_TRANSPORT_STAGED,
                                            SPMM_TRANSPORT_PEER};
    test_mpi_begin(&argc, &argv, &size);
    const int cuda = argc > 1 && strcmp(argv[1], "--cuda") == 0;
    if (cuda) {
        device = SPMM_CUDA;
        CHECK_INT(spmm_device_open(MPI_COMM_WORLD), SPMM_OK);
    }
    test_kernels();
    test_exchanges(cuda ? of_gpu : of_cpu, cuda ? 4 : 3);
    test_blocks_of_columns();
    test_sums();
    test_second();
    if (cuda) spmm_device_close();
    return test_mpi_end();
}
