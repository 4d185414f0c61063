/* The public interface with wrong arguments: every mistake returns a status and a message that names it, on
 * every rank although only one makes the mistake, and no rank waits forever.
 *
 * MPI: 1 2 3 4
 * limit: 240   (an MPI library whose waiting ranks spin needs long for four of them on two busy cores) */
#include <stdint.h>

#include "planned.h"
#include "spmm_extended.h"

static int ranks;

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* ---- spmm_plan_create() ---- */

/** A valid call, to be changed by a mistake. The block's arrays are copies. */
typedef struct call {
    spmm_block block;
    const spmm_block *block_given;
    int64_t k;
    spmm_plan_options options;
    spmm_plan_study study;
    spmm_plan *plan, **plan_given;
} call;

static const int32_t *row(const call *c, int64_t i) { return c->block.csr.ja + c->block.csr.irp[i]; }
static int32_t *row_of(call *c, int64_t i) { return c->block.csr.ja + c->block.csr.irp[i]; }

/** The function that makes the mistake of a line of api_mistakes.def. */
#define MADE_(kind, line) kind##_##line
#define MADE(kind, line) MADE_(kind, line)

enum { ALONE = 1, TOGETHER };

#define CALL(from, part, ...) \
    static void MADE(call, __LINE__)(call * c) { __VA_ARGS__; }
#include "api_mistakes.def"
#define CALL(from, part, ...) {part, MADE(call, __LINE__), from},
static const struct {
    const char *part; /* of the message */
    void (*make)(call *c);
    int from; /* least number of ranks */
} mistakes[] = {
#include "api_mistakes.def"
};

static void *copy_of(const void *from, int64_t bytes)
{
    void *const to = malloc((size_t)bytes + 1);
    CHECK(to != NULL);
    return memcpy(to, from, (size_t)bytes);
}

/** Returns a valid call for a block. */
static call right_call(const spmm_block *block)
{
    call c = {.block = *block, .k = 3};
    c.block.csr.irp = copy_of(block->csr.irp, (block->csr.rows + 1) * 8);
    c.block.csr.ja = copy_of(block->csr.ja, block->csr.nnz * 4);
    c.block.csr.as = copy_of(block->csr.as, block->csr.nnz * 8);
    return c;
}

static void destroy_call(const spmm_csr *arrays)
{
    free(arrays->irp);
    free(arrays->ja);
    free(arrays->as);
}

/** Checks that all ranks have the same message. */
static void check_same_message(void)
{
    char first[1024];
    snprintf(first, sizeof first, "%s", spmm_error_message());
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(strcmp(first, spmm_error_message()) == 0);
}

static void one_mistake(const spmm_block *block, int i, int who)
{
    call c = right_call(block);
    const spmm_csr arrays = c.block.csr;
    spmm_plan *const nothing = NULL;
    c.block_given = &c.block;
    c.plan_given = &c.plan;
    memset(&c.plan, 0xff, sizeof c.plan);
    if (test_.rank == who) mistakes[i].make(&c);
    const int study = strncmp(mistakes[i].part, "study.", 6) == 0 || strcmp(mistakes[i].part, "33") == 0;
    const spmm_status status = study ? spmm_plan_create_extended(MPI_COMM_WORLD, c.block_given, c.k,
                                                                 &c.options, &c.study, c.plan_given)
                                     : spmm_plan_create(MPI_COMM_WORLD, c.block_given, c.k, &c.options,
                                                        c.plan_given);
    if (status != SPMM_ERR_USAGE) printf("  mistake %d of rank %d: \"%s\"\n", i, who, mistakes[i].part);
    CHECK_ERROR(status, SPMM_ERR_USAGE, study ? "spmm_plan_create_extended: " : "spmm_plan_create: ");
    CHECK_TEXT(spmm_error_message(), mistakes[i].part);
    CHECK(!c.plan_given || c.plan == nothing);
    check_same_message();
    destroy_call(&arrays);
}

/** Checks that a product with the block succeeds after the calls that failed. */
static void right_product(const spmm_block *block)
{
    planned p;
    planned_of(block, 3, NULL, &p);
    CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
    planned_destroy(&p);
}

/** A full matrix: every row of every block has several entries. */
static void scatter(int q, spmm_block *block) { scattered("uniform:24,24", SPMM_F64, ranks / q, q, block); }

static void test_plan_create(void)
{
    for (int q = 1; q <= ranks; q = next_divisor(ranks, q)) {
        spmm_block block;
        TEST(test_name("a plan of a wrong block, K or option is refused: %d x %d", ranks / q, q)) {
            scatter(q, &block);
            for (int i = 0; i < COUNT(mistakes); i++)
                for (int who = 0; who<ranks; who += ranks> 1 ? ranks - 1 : 1) {
                    if (ranks < mistakes[i].from) continue;
                    if (strstr(mistakes[i].part, "block.p is 1") && q * q == ranks) continue;
                    one_mistake(&block, i, who);
                }
            right_product(&block);
            spmm_block_destroy(&block);
        }
    }
}

static void test_environment(void)
{
    TEST("SPMM_* variables by which ranks would exchange in different ways are refused where they differ") {
        spmm_block block;
        spmm_plan *plan = NULL;
        scatter(1, &block);
        if (test_.rank == ranks - 1) setenv("SPMM_EXCHANGE_BACKEND", "direct", 1);
        const spmm_status status = spmm_plan_create(MPI_COMM_WORLD, &block, 3, NULL, &plan);
        CHECK_INT(status, ranks > 1 ? SPMM_ERR_USAGE : SPMM_OK);
        if (ranks > 1) CHECK_TEXT(spmm_error_message(), "SPMM_EXCHANGE_BACKEND differs between ranks");
        unsetenv("SPMM_EXCHANGE_BACKEND");
        spmm_plan_destroy(plan);
        spmm_block_destroy(&block);
    }
}

static void test_empty_block(void)
{
    TEST("a block without entries needs no arrays for them") {
        spmm_block block;
        scatter(1, &block);
        if (test_.rank == ranks - 1) {
            spmm_block empty = block;
            empty.csr.nnz = 0;
            empty.csr.irp = calloc((size_t)block.csr.rows + 1, sizeof *block.csr.irp);
            empty.csr.ja = NULL;
            empty.csr.as = NULL;
            right_product(&empty);
            free(empty.csr.irp);
        } else {
            right_product(&block);
        }
        spmm_block_destroy(&block);
    }
}

/* ---- spmm_csr_scatter() ---- */

typedef struct scattering {
    spmm_csr *a;
    int root, p, q;
    spmm_block *block;
} scattering;

#define SCATTERING(from, roots, part, ...) \
    static void MADE(scattering, __LINE__)(scattering * s) { __VA_ARGS__; }
#include "api_mistakes.def"
#define SCATTERING(from, roots, part, ...) {part, MADE(scattering, __LINE__), from, roots},
static const struct {
    const char *part;
    void (*make)(scattering *s);
    int from, roots;
} scatter_mistakes[] = {
#include "api_mistakes.def"
};

static void one_scatter_mistake(int i, int who)
{
    spmm_csr a, changed;
    spmm_block block;
    CHECK_INT(spmm_csr_generate("uniform:24,24", SPMM_F64, &a), SPMM_OK);
    changed = a;
    scattering s = {&changed, 0, ranks, 1, &block};
    memset(&block, 0xff, sizeof block);
    if (test_.rank == who) scatter_mistakes[i].make(&s);
    CHECK_ERROR(spmm_csr_scatter(MPI_COMM_WORLD, s.root, s.a, s.p, s.q, s.block), SPMM_ERR_USAGE,
                "spmm_csr_scatter: ");
    CHECK_TEXT(spmm_error_message(), scatter_mistakes[i].part);
    CHECK(!s.block || (block.csr.irp == NULL && block.p == 0));
    check_same_message();
    spmm_csr_destroy(&a);
}

static void test_scatter(void)
{
    TEST("a wrong root, grid or matrix is refused by the scatter") {
        const int wrong[][2] = {{-1, -ranks}, {0, ranks}, {ranks + 1, 1}, {-ranks, 1}};
        spmm_csr a;
        spmm_block block;
        for (int i = 0; i < COUNT(scatter_mistakes); i++)
            for (int who = 0; who<(scatter_mistakes[i].roots ? 1 : ranks); who += ranks> 1 ? ranks - 1 : 1)
                if (ranks >= scatter_mistakes[i].from) one_scatter_mistake(i, who);
        CHECK_INT(spmm_csr_generate("uniform:24,24", SPMM_F64, &a), SPMM_OK);
        for (int i = 0; i < COUNT(wrong); i++)
            CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &a, wrong[i][0], wrong[i][1], &block),
                      SPMM_ERR_USAGE);
        spmm_csr_destroy(&a);
    }
}

/* ---- spmm_apply() ---- */

typedef struct operands {
    spmm_multivector x_changed, y_changed;
    const spmm_multivector *x;
    spmm_multivector *y;
} operands;

#define OPERANDS(part, ...) \
    static void MADE(operands, __LINE__)(operands * o) { __VA_ARGS__; }
#include "api_mistakes.def"
#define OPERANDS(part, ...) {part, MADE(operands, __LINE__)},
static const struct {
    const char *part;
    void (*make)(operands *o);
} apply_mistakes[] = {
#include "api_mistakes.def"
};

/** Checks the message of a mistake; the table has the figures for one rank. */
static void check_apply_message(int i)
{
    char part[128];
    snprintf(part, sizeof part, "%s", apply_mistakes[i].part);
    if (ranks > 1) { /* ranks have other numbers of rows */
        char *const figure = strstr(part, "is 2");
        if (figure) figure[3] = '\0';
    }
    CHECK_TEXT(spmm_error_message(), "spmm_apply: ");
    CHECK_TEXT(spmm_error_message(), part);
}

static void one_apply_mistake(spmm_plan *plan, const spmm_multivector *x, spmm_multivector *y, int i, int who)
{
    operands o = {*x, *y, NULL, NULL};
    o.x = &o.x_changed;
    o.y = &o.y_changed;
    if (test_.rank == who) apply_mistakes[i].make(&o);
    const spmm_status status = spmm_apply(plan, 1, o.x, 0, o.y);
    if (test_.rank == who) {
        CHECK_INT(status, SPMM_ERR_USAGE);
        check_apply_message(i);
    } else {
        CHECK_ERROR(status, SPMM_ERR_MPI, "it failed");
    }
}

static void check_ones(const spmm_multivector *y, double sum)
{
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < 3; j++) CHECK(((const double *)y->data)[i * y->ld + j] == sum);
}

static void test_apply(void)
{
    TEST("wrong X or Y of one rank is refused there, told to the others, and the next product is right") {
        spmm_block block;
        planned p;
        scatter(1, &block);
        for (int64_t e = 0; e < block.csr.nnz; e++) ((double *)block.csr.as)[e] = 1;
        planned_of(&block, 3, NULL, &p);
        for (int64_t i = 0; i < p.x.rows * p.x.ld; i++) ((double *)p.x.data)[i] = 1;
        for (int i = 0; i < COUNT(apply_mistakes); i++)
            for (int who = 0; who<ranks; who += ranks> 1 ? ranks - 1 : 1)
                one_apply_mistake(p.plan, &p.x, &p.y, i, who);
        CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
        check_ones(&p.y, 24);
        CHECK_ERROR(spmm_apply(NULL, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE, "spmm_apply: plan is NULL");
        planned_destroy(&p);
        spmm_block_destroy(&block);
    }
    TEST("X and Y that share an array, each in rows of its own, are apart") {
        spmm_block block;
        spmm_plan *plan;
        static double memory[2 * 24 * 4];
        scatter(1, &block);
        for (int64_t e = 0; e < block.csr.nnz; e++) ((double *)block.csr.as)[e] = 1;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, 3, NULL, &plan), SPMM_OK);
        for (int i = 0; i < 2 * 24 * 4; i++) memory[i] = 1;
        const spmm_multivector x = {block.x_rows, 3, 4, SPMM_F64, SPMM_CPU, memory, 0, 0, SPMM_ROW_MAJOR};
        spmm_multivector y = x;
        y.rows = block.csr.rows;
        y.data = memory + x.rows * 4;
        CHECK_INT(spmm_apply(plan, 1, &x, 0, &y), SPMM_OK);
        check_ones(&y, 24);
        spmm_plan_destroy(plan);
        spmm_block_destroy(&block);
    }
}

/* ---- sizes ---- */

/** Checks that a plan for k columns is refused on every rank. */
static void check_too_many_columns(const spmm_block *block, int64_t k, spmm_transport transport)
{
    const spmm_plan_options options = {.transport = transport, .products = 1};
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, k, &options, &plan), SPMM_ERR_LIMIT);
    CHECK(plan == NULL);
    CHECK_TEXT(spmm_error_message(), "spmm_plan_create: k is ");
    CHECK_TEXT(spmm_error_message(), "does not fit 64-bit sizes");
}

static void test_sizes(void)
{
    static const spmm_transport transports[] = {SPMM_TRANSPORT_AUTO, SPMM_TRANSPORT_MPI,
                                                SPMM_TRANSPORT_SHARED};
    TEST("columns whose bytes do not fit 64 bits are refused on any number of ranks, by any transport") {
        for (int q = 1; q <= ranks; q = next_divisor(ranks, q)) {
            spmm_block block;
            scatter(q, &block);
            for (int t = 0; t < COUNT(transports); t++)
                for (int shift = 56; shift < 63; shift++)
                    for (int64_t more = -1; more <= 1; more++)
                        check_too_many_columns(&block, (INT64_C(1) << shift) + more, transports[t]);
            check_too_many_columns(&block, INT64_MAX, SPMM_TRANSPORT_AUTO);
            spmm_block_destroy(&block);
        }
    }
    TEST("multivectors whose rows or elements do not fit 64 bits are refused, also those without rows") {
        spmm_multivector v, w = {.rows = 0, .k = 1, .ld = INT64_C(1) << 60};
        for (int64_t rows = 0; rows < 2; rows++)
            for (int shift = 58; shift < 63; shift++)
                CHECK_INT(spmm_multivector_create(rows, (INT64_C(1) << shift) + 1, SPMM_F64, SPMM_CPU, &v),
                          SPMM_ERR_LIMIT);
        CHECK_INT(spmm_multivector_create(INT64_MAX, 1, SPMM_F64, SPMM_CPU, &v), SPMM_ERR_LIMIT);
        CHECK_ERROR(spmm_multivector_axpby(1, &w, 0, &w), SPMM_ERR_USAGE, "64 bits");
        w.ld = INT64_MAX, w.precision = SPMM_F32;
        CHECK_ERROR(spmm_multivector_copy(&w, &w), SPMM_ERR_USAGE, "64 bits");
    }
}

/* ---- local functions ---- */

static const spmm_precision wrong = (spmm_precision)7;

static void test_local_matrices(void)
{
    spmm_csr a;
    TEST("a matrix is not made of wrong arguments, and *a is zeroed") {
        const int64_t index[1] = {0};
#define REFUSED(call, part)                                  \
    do {                                                     \
        memset(&a, 0xff, sizeof a);                          \
        CHECK_INT(call, SPMM_ERR_USAGE);                     \
        CHECK_TEXT(spmm_error_message(), part);              \
        CHECK(a.irp == NULL && a.ja == NULL && a.rows == 0); \
    } while (0)
        REFUSED(spmm_csr_read(NULL, SPMM_F64, &a), "spmm_csr_read: path is NULL");
        REFUSED(spmm_csr_read("matrices/cage4.mtx", wrong, &a), "spmm_csr_read: precision is 7");
        REFUSED(spmm_csr_read_edges(NULL, 0, SPMM_F64, &a), "spmm_csr_read_edges: path is NULL");
        REFUSED(spmm_csr_read_edges("A.txt", 0, wrong, &a), "spmm_csr_read_edges: precision is 7");
        REFUSED(spmm_csr_read_edges("A.txt", -1, SPMM_F64, &a), "base is -1, expected 0 or 1");
        REFUSED(spmm_csr_generate(NULL, SPMM_F64, &a), "spmm_csr_generate: spec is NULL");
        REFUSED(spmm_csr_generate("lap2d5:3", wrong, &a), "spmm_csr_generate: precision is 7");
        REFUSED(spmm_csr_from_triplets(3, 3, 1, NULL, index, NULL, SPMM_F64, &a), "row_index is NULL");
        REFUSED(spmm_csr_from_triplets(3, 3, 1, index, NULL, NULL, SPMM_F64, &a), "col_index is NULL");
        REFUSED(spmm_csr_from_triplets(3, 3, 1, index, index, NULL, wrong, &a), "precision is 7");
        REFUSED(spmm_csr_from_triplets(3, 3, -1, index, index, NULL, SPMM_F64, &a), "negative");
        REFUSED(spmm_csr_from_triplets(0, 3, 1, index, index, NULL, SPMM_F64, &a), "triplet 0");
        CHECK_INT(spmm_csr_from_triplets(3, 3, 0, NULL, NULL, NULL, SPMM_F64, &a), SPMM_OK);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_read("matrices/cage4.mtx", SPMM_F64, NULL), SPMM_ERR_USAGE);
        CHECK_INT(spmm_csr_read_edges("A.txt", 1, SPMM_F64, NULL), SPMM_ERR_USAGE);
        CHECK_INT(spmm_csr_generate("lap2d5:3", SPMM_F64, NULL), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_csr_from_triplets(3, 3, 0, NULL, NULL, NULL, SPMM_F64, NULL), SPMM_ERR_USAGE,
                    "spmm_csr_from_triplets: a is NULL");
    }
}

static void test_local_multivectors(void)
{
    spmm_multivector v, w;
    TEST("a multivector is not made or copied of wrong arguments") {
        CHECK_INT(spmm_multivector_create(3, 3, SPMM_F64, SPMM_CPU, NULL), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_multivector_create(3, 3, wrong, SPMM_CPU, &v), SPMM_ERR_USAGE,
                    "spmm_multivector_create: precision is 7");
        CHECK_ERROR(spmm_multivector_create(3, 3, SPMM_F64, (spmm_device)2, &v), SPMM_ERR_USAGE,
                    "space is 2");
        CHECK(v.data == NULL);
        CHECK_INT(spmm_multivector_create(3, 3, SPMM_F64, SPMM_CPU, &v), SPMM_OK);
        CHECK_INT(spmm_multivector_create(3, 3, SPMM_F32, SPMM_CPU, &w), SPMM_OK);
        CHECK_INT(spmm_multivector_copy(NULL, &v), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_multivector_copy(&v, NULL), SPMM_ERR_USAGE, "spmm_multivector_copy: dst is NULL");
        CHECK_ERROR(spmm_multivector_copy(&v, &w), SPMM_ERR_USAGE, "3 x 3 f64 and dst 3 x 3 f32");
        CHECK_ERROR(spmm_multivector_copy(&v, &v), SPMM_ERR_USAGE, "overlap");
        spmm_multivector_destroy(&w);
        w = v;
        w.data = NULL;
        CHECK_INT(spmm_multivector_copy(&v, &w), SPMM_ERR_USAGE);
        w = v;
        w.ld = 2;
        CHECK_ERROR(spmm_multivector_copy(&w, &v), SPMM_ERR_USAGE, "src has leading dimension 2");
        spmm_multivector_destroy(&v);
    }
}

static void test_nothing(void)
{
    spmm_multivector v;
    TEST("without a plan there is no X, no Y and no kernel, and what is destroyed may be NULL") {
        memset(&v, 0xff, sizeof v);
        CHECK_INT(spmm_plan_x_create(NULL, &v), SPMM_ERR_USAGE);
        CHECK(v.data == NULL);
        CHECK_INT(spmm_plan_x_create(NULL, NULL), SPMM_ERR_USAGE);
        CHECK_ERROR(spmm_plan_y_create(NULL, &v), SPMM_ERR_USAGE, "spmm_plan_y_create: plan is NULL");
        CHECK_INT(spmm_plan_y_create(NULL, NULL), SPMM_ERR_USAGE);
        CHECK(strcmp(spmm_plan_kernel(NULL), "") == 0);
        spmm_csr_destroy(NULL);
        spmm_block_destroy(NULL);
        spmm_multivector_destroy(NULL);
        spmm_plan_destroy(NULL);
        CHECK(strlen(spmm_status_string((spmm_status)99)) > 0);
    }
}

/* ---- communicators ---- */

/** Checks that collective functions refuse a communicator. */
static void no_communicator(MPI_Comm comm, const char *part)
{
    spmm_block block = {.p = 1, .q = 1};
    spmm_plan *plan;
    spmm_csr a = {0};
    CHECK_ERROR(spmm_csr_scatter(comm, 0, &a, 0, 0, &block), SPMM_ERR_USAGE, "spmm_csr_scatter: ");
    CHECK_TEXT(spmm_error_message(), part);
    CHECK_ERROR(spmm_plan_create(comm, &block, 1, NULL, &plan), SPMM_ERR_USAGE, "spmm_plan_create: ");
    CHECK_TEXT(spmm_error_message(), part);
    CHECK(plan == NULL);
    CHECK_ERROR(spmm_device_open(comm), SPMM_ERR_USAGE, "spmm_device_open: ");
    CHECK_TEXT(spmm_error_message(), part);
}

static void test_communicators(void)
{
    TEST("MPI_COMM_NULL and inter-communicators are refused") {
        MPI_Comm half, inter;
        no_communicator(MPI_COMM_NULL, "MPI_COMM_NULL");
        if (ranks > 1) {
            const int upper = test_.rank >= ranks / 2;
            MPI_Comm_split(MPI_COMM_WORLD, upper, test_.rank, &half);
            MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : ranks / 2, 1, &inter);
            no_communicator(inter, "inter-communicator");
            MPI_Comm_free(&inter);
            MPI_Comm_free(&half);
        }
    }
}

/** Checks calls while MPI is not running. \return number of failed checks */
static int without_mpi(void)
{
    spmm_csr a;
    no_communicator(MPI_COMM_WORLD, "MPI is not running");
    CHECK_INT(spmm_csr_generate("lap2d5:3", SPMM_F64, &a), SPMM_OK); /* needs no MPI */
    spmm_csr_destroy(&a);
    const int failed = test_.failed;
    test_.failed = 0;
    return failed;
}

/** A plan left over at MPI_Finalize(), of one of several kinds. It has computed a product and one with the
 *  transpose; the last plan has also begun a product. */
typedef struct left {
    spmm_block block;
    planned p;
} left;

enum { LEFT = 6 };

static void leave(int n, left *l)
{
    const spmm_plan_options o = {.exchange = n < 2 ? SPMM_EXCHANGE_HALO : SPMM_EXCHANGE_JOINT,
                                 .transport = n % 2           ? SPMM_TRANSPORT_MPI
                                              : n == LEFT - 1 ? SPMM_TRANSPORT_AUTO
                                                              : SPMM_TRANSPORT_SHARED,
                                 .products = 1};
    scatter(n == 4 ? ranks : 1, &l->block);
    planned *const p = &l->p;
    planned_of(&l->block, 3, n == 4 ? NULL : &o, p);
    CHECK_INT(spmm_apply(p->plan, 1, &p->x, 0, &p->y), SPMM_OK);
    CHECK_INT(spmm_apply_transposed(p->plan, 1, &p->y, 0, &p->x), SPMM_OK);
    if (n == LEFT - 1) CHECK_INT(spmm_apply_begin(p->plan, 1, &p->x, 0, &p->y), SPMM_OK);
}

static void destroy_left(left *l)
{
    planned_destroy(&l->p);
    spmm_block_destroy(&l->block);
}

/** Plans that outlive MPI: they cannot be used, but they can be freed. */
static void test_after_mpi(int failed_before)
{
    left l[LEFT];
    spmm_block block;
    planned p;
    scatter(1, &block);
    planned_of(&block, 3, NULL, &p);
    for (int n = 0; n < LEFT; n++) leave(n, &l[n]);
    MPI_Finalize();
    test_.any = NULL;
    TEST("before MPI_Init and after MPI_Finalize collective functions say so, and plans can be destroyed") {
        CHECK_INT(failed_before, 0);
        CHECK_INT(without_mpi(), 0);
        CHECK_ERROR(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE, "spmm_apply: MPI is not running");
        planned_destroy(&p);
        spmm_block_destroy(&block);
        CHECK_INT(spmm_apply_end(l[LEFT - 1].p.plan), SPMM_ERR_USAGE);
        for (int n = 0; n < LEFT; n++) destroy_left(&l[n]);
    }
}

int main(int argc, char **argv)
{
    const int failed_before = without_mpi();
    test_mpi_begin(&argc, &argv, &ranks);
    test_plan_create();
    test_environment();
    test_empty_block();
    test_scatter();
    test_apply();
    test_sizes();
    test_local_matrices();
    test_local_multivectors();
    test_nothing();
    test_communicators();
    test_after_mpi(failed_before);
    return test_end();
}
