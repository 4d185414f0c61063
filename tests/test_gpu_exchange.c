/* Several GPUs through the public interface: with every available transport, exchange and reduction of rows
 * of X and partial Y, products equal those on CPUs.
 * MPI: 1 2 3 4
 * limit: 300 */
#include "comm/comm.h"
#include "device/device.h"
#include "gpu_products_cases.h"
#include "planned.h"
#include "sample.h"

static int there[6]; /* 1: available; by spmm_transport */

/** Creating NCCL's communicator, which auto may do, too, is slow: NCCL and auto are tested in fewer
 *  combinations. */
static int is_slow(int transport)
{
    return transport == SPMM_TRANSPORT_AUTO || transport == SPMM_TRANSPORT_NCCL;
}

/** Finds the available transports; the others are skipped with the library's message. */
static void find_transports(void)
{
    spmm_block block;
    make_block("lap2d5:20", SPMM_F64, REALS, 0, 0, &block);
    for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++) {
        const spmm_plan_options options = {.device = SPMM_CUDA, .transport = (spmm_transport)t};
        spmm_plan *plan;
        const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan);
        there[t] = status == SPMM_OK;
        spmm_plan_destroy(plan);
        if (!there[t]) SKIP(test_name("products by transport %s", transports[t]), spmm_error_message());
        /* (NCCL reports SPMM_ERR_DEVICE if ranks share a GPU) */
        if (!there[t])
            CHECK(t > SPMM_TRANSPORT_STAGED && (status == SPMM_ERR_USAGE || status == SPMM_ERR_DEVICE));
    }
    spmm_block_destroy(&block);
}

/** Checks every transport with every exchange, with and without overlap; slow transports only in some of
 *  these combinations. */
static void check_rows(const char *spec, spmm_precision precision, int64_t k, spmm_format format, int *turn)
{
    spmm_block block;
    reference r;
    make_block(spec, precision, REALS, 0, 0, &block);
    reference_create(&block, k, REALS, SPMM_REDUCE_AUTO, &r);
    for (int e = SPMM_EXCHANGE_HALO; e <= SPMM_EXCHANGE_BCAST; e++)
        for (int o = 0; o < 2; o++, ++*turn)
            for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++) {
                const spmm_plan_options options = {.device = SPMM_CUDA,
                                                   .format = format,
                                                   .transport = (spmm_transport)t,
                                                   .exchange = (spmm_exchange)e,
                                                   .no_overlap = o};
                /* slow transports are tried every 5th turn: 5 is coprime to 4, the number of combinations
                 * of e and o, so each combination comes up in the end */
                if (there[t] && (!is_slow(t) || *turn % 5 == (t == SPMM_TRANSPORT_NCCL)))
                    check_plan(&block, &r, &options);
            }
    reference_destroy(&r);
    spmm_block_destroy(&block);
}

/** Checks sums over process rows, with integers. */
static void check_grid(const char *spec, spmm_precision precision, int64_t k, int p, int q)
{
    spmm_block block;
    make_block(spec, precision, INTEGERS, p, q, &block);
    for (int s = SPMM_REDUCE_AUTO; s <= SPMM_REDUCE_NCCL; s++) {
        reference r;
        reference_create(&block, k, INTEGERS, (spmm_reduce)s, &r);
        for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++) {
            const spmm_plan_options options = {.device = SPMM_CUDA,
                                               .format = SPMM_FORMAT_AUTO,
                                               .transport = (spmm_transport)t,
                                               .reduce = (spmm_reduce)s,
                                               .exchange = (spmm_exchange)(s % 3),
                                               .no_overlap = s == SPMM_REDUCE_LINEAR};
            if (!there[t] || (s == SPMM_REDUCE_NCCL && !there[SPMM_TRANSPORT_NCCL])) continue;
            /* NCCL as transport and reduction, as one of the two, or as auto may choose it for both */
            const int f64 = precision == SPMM_F64, slow = is_slow(t) || s == SPMM_REDUCE_NCCL;
            const int wanted = (t == SPMM_TRANSPORT_NCCL && s == SPMM_REDUCE_NCCL && !f64) ||
                               (t == SPMM_TRANSPORT_NCCL && s == SPMM_REDUCE_TREE && f64) ||
                               (t == SPMM_TRANSPORT_MPI && s == SPMM_REDUCE_NCCL && f64) ||
                               (t == SPMM_TRANSPORT_AUTO && s == SPMM_REDUCE_AUTO);
            if (!slow || wanted) check_plan(&block, &r, &options);
        }
        reference_destroy(&r);
    }
    spmm_block_destroy(&block);
}

/** Checks successive products in which Y becomes the next X. */
static void check_steps(spmm_transport transport)
{
    enum { STEPS = 4, K = 6 };
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = transport};
    spmm_block block;
    spmm_plan *cpu, *gpu;
    spmm_multivector v[2], w[2];
    make_block("lap3d7:12", SPMM_F64, REALS, 0, 0, &block);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, NULL, &cpu), SPMM_OK);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, &options, &gpu), SPMM_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(spmm_plan_x_create(cpu, &v[i]), SPMM_OK);
        CHECK_INT(spmm_plan_x_create(gpu, &w[i]), SPMM_OK);
    }
    reference r = {.k = K, .x = v[0]};
    fill_x(&v[0], block.x_begin, REALS);
    put_x(&r, 1, &w[0]);
    for (int s = 0; s < STEPS; s++) {
        CHECK_INT(spmm_apply(cpu, 1, &v[s % 2], 0, &v[(s + 1) % 2]), SPMM_OK);
        CHECK_INT(spmm_apply(gpu, 1, &w[s % 2], 0, &w[(s + 1) % 2]), SPMM_OK);
    }
    r.y = v[STEPS % 2];
    CHECK(is_right(&r, &w[STEPS % 2], 1));
    for (int i = 0; i < 2; i++) {
        spmm_multivector_destroy(&v[i]);
        spmm_multivector_destroy(&w[i]);
    }
    spmm_plan_destroy(cpu);
    spmm_plan_destroy(gpu);
    spmm_block_destroy(&block);
}

/** Creates and destroys multivectors X while a plan exists, and destroys two of them after the plan.
 *  Neighbors may write into the memory of an X, so destroying it must not disturb them. */
static void check_lives(spmm_transport transport)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = transport};
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector x[3], y;
    reference r;
    make_block("lap2d5:40", SPMM_F64, REALS, 0, 0, &block);
    reference_create(&block, 4, REALS, SPMM_REDUCE_AUTO, &r);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            CHECK_INT(spmm_plan_x_create(plan, &x[i]), SPMM_OK);
            put_x(&r, 1 << i, &x[i]);
        }
        for (int i = 0; i < 3; i++) {
            CHECK_INT(spmm_apply(plan, 1, &x[i], 0, &y), SPMM_OK);
            CHECK(is_right(&r, &y, 1 << i));
        }
        /* ranks destroy different X */
        spmm_multivector_destroy(&x[test_.rank % 2]);
        CHECK_INT(spmm_apply(plan, 1, &x[1 - test_.rank % 2], 0, &y), SPMM_OK);
        CHECK_INT(spmm_apply(plan, 1, &x[2], 0, &y), SPMM_OK);
        CHECK(is_right(&r, &y, 4));
        if (round == 2) break;
        spmm_multivector_destroy(&x[1 - test_.rank % 2]);
        spmm_multivector_destroy(&x[2]);
    }
    spmm_plan_destroy(plan);
    spmm_multivector_destroy(&x[1 - test_.rank % 2]);
    spmm_multivector_destroy(&x[2]);
    spmm_multivector_destroy(&y);
    reference_destroy(&r);
    spmm_block_destroy(&block);
}

/** Rank 0 passes a wrong X; its neighbors do not wait for it, and the next product is right. */
static void check_failure(spmm_transport transport)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = transport};
    spmm_block block;
    planned p;
    spmm_multivector wrong;
    reference r;
    make_block("lap2d5:20", SPMM_F64, REALS, 0, 0, &block);
    reference_create(&block, 3, REALS, SPMM_REDUCE_AUTO, &r);
    planned_of(&block, 3, &options, &p);
    put_x(&r, 1, &p.x);
    wrong = p.x;
    wrong.k = 2;
    const spmm_status status = spmm_apply(p.plan, 1, test_.rank == 0 ? &wrong : &p.x, 0, &p.y);
    if (test_.rank == 0) CHECK_INT(status, SPMM_ERR_USAGE);
    if (test_.rank == 1 && transport == SPMM_TRANSPORT_NCCL) {
        CHECK_INT(status, SPMM_OK); /* no error is noticed, but NaNs arrive */
        CHECK(!is_right(&r, &p.y, 1));
    } else if (test_.rank == 1) {
        CHECK_ERROR(status, SPMM_ERR_MPI, "rank 0");
    }
    if (test_.rank > 1) CHECK_INT(status, SPMM_OK);
    for (int again = 0; again < 2; again++) {
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        CHECK(is_right(&r, &p.y, 1));
    }
    planned_destroy(&p);
    reference_destroy(&r);
    spmm_block_destroy(&block);
}

/** Checks messages and sums in pieces that end within a row. */
static void check_pieces(int size)
{
    spmm_block block;
    reference r;
    sp_set_chunk_bytes(1000);
    for (int q = 1; q <= size; q += size > 1 ? size - 1 : 1) {
        make_block("uniform:400,7", SPMM_F64, INTEGERS, size / q, q, &block);
        reference_create(&block, 5, INTEGERS, SPMM_REDUCE_AUTO, &r);
        for (int t = SPMM_TRANSPORT_MPI; t <= SPMM_TRANSPORT_PEER; t++)
            for (int s = SPMM_REDUCE_TREE; s <= SPMM_REDUCE_MPI; s += 2) {
                const spmm_plan_options options = {
                    .device = SPMM_CUDA, .transport = (spmm_transport)t, .reduce = (spmm_reduce)s};
                if (there[t] && (!is_slow(t) || s == SPMM_REDUCE_TREE)) check_plan(&block, &r, &options);
            }
        reference_destroy(&r);
        spmm_block_destroy(&block);
    }
    sp_set_chunk_bytes(0);
}

/* ---- each backend of the peer transport alone ---- */

/** Selects the backend of that name in SP_EXCHANGE_BACKENDS. Returns 1 if it is available; else skips its
 *  test with the library's message. */
static int only_backend(const char *name)
{
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = SPMM_TRANSPORT_PEER};
    spmm_block block;
    spmm_plan *plan;
    setenv("SPMM_EXCHANGE_BACKEND", name, 1);
    make_block("lap2d5:20", SPMM_F64, REALS, 0, 0, &block);
    const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan);
    if (status != SPMM_OK) SKIP(test_name("products by backend %s", name), spmm_error_message());
    spmm_plan_destroy(plan);
    spmm_block_destroy(&block);
    return status == SPMM_OK;
}

/** Checks successive products with different X, one of them in the caller's memory, with one or several
 *  column blocks. There are so many products that the numbers of exchanges wrap around. */
static void check_many(const char *spec, int64_t k, int column_blocks, int products)
{
    const spmm_plan_options options = {
        .device = SPMM_CUDA, .transport = SPMM_TRANSPORT_PEER, .column_blocks = column_blocks};
    spmm_block block;
    spmm_plan *plan;
    spmm_multivector x[3], y;
    reference r;
    make_block(spec, SPMM_F64, REALS, 0, 0, &block);
    reference_create(&block, k, REALS, SPMM_REDUCE_AUTO, &r);
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, k, &options, &plan), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(plan, &y), SPMM_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(i < 2 ? spmm_plan_x_create(plan, &x[i])
                        : spmm_multivector_create(block.x_rows, k, SPMM_F64, SPMM_CUDA, &x[i]),
                  SPMM_OK);
        put_x(&r, 1 << i, &x[i]);
    }
    for (int n = 0; n < products; n++) {
        const int i = n % 5 % 3;
        CHECK_INT(spmm_apply(plan, 1, &x[i], 0, &y), SPMM_OK);
        CHECK(is_right(&r, &y, 1 << i));
    }
    for (int i = 0; i < 3; i++) spmm_multivector_destroy(&x[i]);
    spmm_multivector_destroy(&y);
    spmm_plan_destroy(plan);
    reference_destroy(&r);
    spmm_block_destroy(&block);
}

/** Rank 1 cannot attach a neighbor's X while the others are already in the exchange: no rank waits for it, in
 *  this product or the next one. */
static void check_broken(int size, int stays_broken)
{
    /* (products = 1: no candidates are timed. Timing would have attached the memory of X when the p.plan was
     * made.) */
    const spmm_plan_options options = {.device = SPMM_CUDA, .transport = SPMM_TRANSPORT_PEER, .products = 1};
    spmm_block block;
    planned p;
    make_block("lap2d5:20", SPMM_F64, REALS, 0, 0, &block);
    planned_of(&block, 3, &options, &p);
    for (int n = 0; n < 3; n++) {
        if (test_.rank == 1) setenv("EMULATED_NO_ATTACH", "1", 1);
        if (n == 2) unsetenv("EMULATED_NO_ATTACH");
        const spmm_status status = spmm_apply(p.plan, 1, &p.x, 0, &p.y);
        const int broken = n < 2 || stays_broken;
        const int next = test_.rank == 0 || (test_.rank == 2 && size > 2);
        CHECK_INT(status, !broken           ? SPMM_OK
                          : test_.rank == 1 ? SPMM_ERR_DEVICE
                          : next            ? SPMM_ERR_MPI
                                            : SPMM_OK);
        if (broken && next) CHECK_TEXT(spmm_error_message(), "rank 1 ");
    }
    planned_destroy(&p);
    spmm_block_destroy(&block);
}

static void check_backend(const char *name, int size)
{
    int turn = 0;
    if (!only_backend(name)) return;
    TEST(test_name("backend %s alone: Y is right, and failures leave nobody waiting", name)) {
        check_rows("lap3d7:16", SPMM_F64, 5, SPMM_CSR, &turn);
        check_rows("uniform:3000,9", SPMM_F32, 32, SPMM_CSR, &turn);
        check_many("lap2d5:40", 4, 0, 24);
        check_many("uniform:500,9", 16, 4, 8);
        check_many("uniform:500,9", 64, 16, 3);
        check_steps(SPMM_TRANSPORT_PEER);
        check_lives(SPMM_TRANSPORT_PEER);
        for (int i = 0; i < 3; i++) check_failure(SPMM_TRANSPORT_PEER);
        if (sample_gpu_is_emulated()) check_broken(size, strstr(name, "stream") != NULL);
    }
}

/** Checks each backend of the peer transport. Marks the other transports as not available, so that the checks
 *  use only this one. */
static void check_backends(int size)
{
    static const char *const names[] = {"peer", "peer_stream"};
    memset(there, 0, sizeof there);
    there[SPMM_TRANSPORT_PEER] = 1;
    for (int i = 0; i < 2; i++) check_backend(names[i], size);
    setenv("SPMM_EXCHANGE_BACKEND", "per_stream", 1);
    TEST("a backend that does not exist is refused") {
        const spmm_plan_options options = {.device = SPMM_CUDA};
        spmm_block block;
        spmm_plan *plan;
        make_block("lap2d5:20", SPMM_F64, REALS, 0, 0, &block);
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &block, 4, &options, &plan), SPMM_ERR_USAGE,
                    "SPMM_EXCHANGE_BACKEND=per_stream: no such backend");
        spmm_block_destroy(&block);
    }
    unsetenv("SPMM_EXCHANGE_BACKEND");
}

int main(int argc, char **argv)
{
    int size, turn = 0;
    test_mpi_begin(&argc, &argv, &size);
    if (!gpu_opened("products on several GPUs are those on CPUs")) return test_mpi_end();
    TEST("a transport is there, or the library says why not") {
        find_transports();
        CHECK(there[SPMM_TRANSPORT_AUTO] && there[SPMM_TRANSPORT_MPI] && there[SPMM_TRANSPORT_STAGED]);
    }
    TEST("by every transport and exchange, with and without overlap, Y is the CPU's bit for bit") {
        for (int f = 0; f < 2; f++) {
            check_rows("lap3d7:16", (spmm_precision)f, 1, SPMM_CSR, &turn);
            check_rows("lap3d7:16", (spmm_precision)f, 5, SPMM_ELL, &turn);
            check_rows("uniform:3000,9", (spmm_precision)f, 32, SPMM_CSR, &turn);
            check_rows("band:2000,5,300", (spmm_precision)f, 3, SPMM_ELL_NOPAD, &turn);
        }
    }
    if (size == 1)
        SKIP("every reduction on every grid with several process columns is exact for integers",
             "there is one rank");
    else
        TEST("every reduction on every grid with several process columns is exact for integers") {
            for (int q = 2; q <= size; q++)
                if (size % q == 0) {
                    check_grid("uniform:400,9", SPMM_F64, 5, size / q, q);
                    check_grid("longrows:300,2,3,200", SPMM_F32, 8, size / q, q);
                }
        }
    TEST("Y of one product can be the X of the next") {
        for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++)
            if (there[t]) check_steps((spmm_transport)t);
    }
    TEST("an X may be destroyed before its plan, or after it") {
        for (int t = SPMM_TRANSPORT_AUTO; t <= SPMM_TRANSPORT_PEER; t++)
            if (there[t]) check_lives((spmm_transport)t);
    }
    TEST("one rank's wrong argument leaves no neighbor waiting, and the next product is right") {
        for (int t = SPMM_TRANSPORT_MPI; t <= SPMM_TRANSPORT_PEER; t++)
            if (there[t]) check_failure((spmm_transport)t);
    }
    TEST("messages longer than a bound are cut, and arrive") check_pieces(size);
    if (size == 1)
        SKIP("each backend of the peer transport alone", "there is one rank");
    else
        check_backends(size);
    spmm_device_close();
    return test_mpi_end();
}
