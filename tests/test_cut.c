/* Cuts of the library: each rank's list of rows, the number of rows that products move, and the bits of Y.
 * MPI: 1 2 3 4 8 */
#include <malloc.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "files.h"
#include "formats/csr.h"
#include "base/memory.h"
#include "made_nodes.h"
#include "order/reorder.h"
#include "plan/plan.h"
#include "planned.h"

enum { K = 5, SIDE = 40 };
static int size, root;

/** Number of calls of METIS, and whether they fail: the linker uses this METIS_PartGraphKway() for the whole
 *  program. Its parameters are pointers, so the size of METIS's integers does not matter. */
static int metis_called, metis_fails;

int METIS_PartGraphKway(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *);

int METIS_PartGraphKway(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i,
                        void *j, void *k, void *l, void *m)
{
    static const int ok = 1, error = -4;
    int (*real)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                void *, void *);
    *(void **)&real = dlsym(RTLD_NEXT, "METIS_PartGraphKway");
    metis_called++;
    if (metis_fails || !real) return error;
    CHECK_INT(real(a, b, c, d, e, f, g, h, i, j, k, l, m), ok);
    return ok;
}

static int64_t *shuffled(int64_t n)
{
    int64_t *perm = malloc((size_t)(n + 1) * sizeof *perm);
    uint64_t state = 7;
    for (int64_t i = 0; i < n; i++) perm[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + 1;
        const int64_t j = (int64_t)((state >> 33) % (uint64_t)(i + 1)), old = perm[i];
        perm[i] = perm[j];
        perm[j] = old;
    }
    return perm;
}

/** A matrix numbered at random, whole on every rank, with values that make the order of summation visible. */
static void make(const char *spec, spmm_precision precision, spmm_csr *a)
{
    spmm_csr in_order;
    CHECK_INT(spmm_csr_generate(spec, precision, &in_order), SPMM_OK);
    int64_t *const perm = shuffled(in_order.rows);
    CHECK_INT(sp_csr_permute(&in_order, perm, 1, a), SPMM_OK);
    for (int64_t e = 0; e < a->nnz; e++)
        sp_value_set(a->as, precision, e, (double)((e * 37 + 11) % 101 - 50) / 7);
    free(perm);
    spmm_csr_destroy(&in_order);
}

static void make_empty(int64_t rows, int64_t cols, spmm_csr *a)
{
    CHECK_INT(spmm_csr_from_triplets(rows, cols, 0, NULL, NULL, NULL, SPMM_F64, a), SPMM_OK);
}

static double x_value(int64_t i, int64_t j) { return (double)((i * 7 + j * 13) % 33 - 16) / 3; }

/** Element (i, j) of the serial product. Each row of A has at most 128 entries, so the element is one chain
 *  in column order. */
static double serial(const spmm_csr *a, int64_t i, int64_t j)
{
    double d = 0;
    float f = 0;
    for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
        const double value = sp_value_get(a->as, a->precision, e), x = x_value(a->ja[e], j);
        d = fma(value, x, d);
        f = fmaf((float)value, (float)x, f);
    }
    return a->precision == SPMM_F64 ? d : (double)f;
}

static double at(const spmm_multivector *v, int64_t i, int64_t j)
{
    return sp_value_get(v->data, v->precision, i * v->ld + j);
}

/** Checks that every row is on one rank, at the place given by `begin` and, on root, by `number`. */
static void check_lists(const spmm_csr *a, const spmm_cut *cut)
{
    int *const owners = calloc((size_t)a->rows + 1, sizeof *owners);
    CHECK(cut->rows == a->rows && cut->ranks == size && cut->by != SPMM_CUT_AUTO);
    CHECK(cut->begin[0] == 0 && cut->begin[size] == a->rows);
    CHECK_INT(cut->row_begin, cut->begin[test_.rank]);
    CHECK_INT(cut->row_begin + cut->row_count, cut->begin[test_.rank + 1]);
    for (int64_t i = 0; i < cut->row_count; i++)
        if (cut->row[i] >= 0 && cut->row[i] < a->rows) owners[cut->row[i]]++;
    MPI_Allreduce(MPI_IN_PLACE, owners, (int)a->rows, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int64_t i = 0; i < a->rows; i++) CHECK_INT(owners[i], 1);
    const int renumbers = cut->by == SPMM_CUT_LAYOUT || cut->by == SPMM_CUT_GRAPH;
    CHECK((cut->number != NULL) == (renumbers && test_.rank == root));
    for (int64_t i = 0; i < cut->row_count; i++)
        CHECK_INT(cut->number ? cut->number[cut->row[i]]
                  : renumbers ? cut->row_begin + i
                              : cut->row[i],
                  cut->row_begin + i);
    free(owners);
}

/** Checks products with the block of a cut: each row of Y must equal the serial result of the row with the
 *  caller's number cut->row[i]. With a halo exchange a product must move cut->moved rows of X. */
static void check_products(const spmm_csr *a, const spmm_cut *cut, const spmm_plan_options *o)
{
    spmm_block block;
    planned p;
    spmm_multivector d;
    sp_plan_facts facts;
    CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, a, cut, &block), SPMM_OK);
    CHECK_INT(block.any_order, cut->by == SPMM_CUT_LAYOUT || cut->by == SPMM_CUT_GRAPH);
    CHECK(block.row_begin == cut->row_begin && block.csr.rows == cut->row_count);
    planned_of(&block, K, o, &p);
    if (!p.plan) return;
    sp_plan_facts_of(p.plan, &facts);
    if (o->exchange == SPMM_EXCHANGE_HALO) CHECK_INT(facts.ghosted->moves.all_moved, cut->moved);
    for (int64_t i = 0; i < p.x.rows; i++)
        for (int64_t j = 0; j < K; j++)
            sp_value_set(p.x.data, p.x.precision, i * p.x.ld + j, x_value(cut->row[i], j));
    CHECK_INT(spmm_apply(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
    int unlike = 0;
    for (int64_t i = 0; i < p.y.rows; i++)
        for (int64_t j = 0; j < K; j++) unlike += at(&p.y, i, j) != serial(a, cut->row[i], j);
    CHECK_INT(unlike, 0);
    CHECK_INT(spmm_multivector_create(cut->row_count, 1, a->precision, SPMM_CPU, &d), SPMM_OK);
    CHECK_INT(spmm_plan_diagonal(p.plan, &d), SPMM_OK);
    for (int64_t i = 0; i < d.rows; i++) {
        double expected = 0;
        for (int64_t e = a->irp[cut->row[i]]; e < a->irp[cut->row[i] + 1]; e++)
            if (a->ja[e] == cut->row[i]) expected = sp_value_get(a->as, a->precision, e);
        CHECK(at(&d, i, 0) == expected);
    }
    CHECK_INT(spmm_apply_transposed(p.plan, 1, &p.x, 0, &p.y), SPMM_OK);
    double *const column = calloc((size_t)a->rows + 1, sizeof *column);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            column[a->ja[e]] += sp_value_get(a->as, a->precision, e) * x_value(i, 1);
    for (int64_t i = 0; i < p.y.rows; i++) CHECK(fabs(at(&p.y, i, 1) - column[cut->row[i]]) < 1e-3);
    free(column);
    spmm_multivector_destroy(&d);
    planned_destroy(&p);
    spmm_block_destroy(&block);
}

/** Checks all cuts of a matrix. */
static void check_cuts(const spmm_csr *a, const spmm_plan_options *o)
{
    for (int by = SPMM_CUT_AUTO; by <= SPMM_CUT_GRAPH; by++) {
        spmm_cut cut;
        if (by == SPMM_CUT_GRAPH && sp_graph_ready() != SPMM_OK) continue;
        const spmm_csr *const mine = test_.rank == root ? a : NULL;
        CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, root, mine, (spmm_cut_by)by, K, o, &cut), SPMM_OK);
        if (!cut.begin) continue;
        if (by == SPMM_CUT_GRAPH && size == 1)
            CHECK_INT(cut.by, SPMM_CUT_ENTRIES);
        else
            CHECK(by == SPMM_CUT_AUTO || (int)cut.by == by);
        CHECK((cut.why[0] != 0) == (by == SPMM_CUT_AUTO));
        check_lists(a, &cut);
        check_products(a, &cut, o);
        spmm_cut_destroy(&cut);
        CHECK(!cut.row && !cut.begin && !cut.number);
    }
}

static void test_cuts(void)
{
    const spmm_plan_options shared = {.exact = 1};
    const spmm_plan_options sent = {
        .exact = 1, .exchange = SPMM_EXCHANGE_HALO, .transport = SPMM_TRANSPORT_MPI, .products = 100000000};
    static const char *const specs[] = {"lap2d5:12", "uniform:60,4", "lap2d5:1"};
    spmm_csr a;
    TEST("by every cut the lists are a permutation, and Y has the bits of the serial product") {
        for (int n = 0; n < 3; n++)
            for (int precision = SPMM_F64; precision <= SPMM_F32; precision++) {
                make(specs[n], (spmm_precision)precision, &a);
                check_cuts(&a, &sent);
                check_cuts(&a, &shared);
                spmm_csr_destroy(&a);
            }
    }
    TEST("matrices of no entries and of no rows are cut, too") {
        for (int64_t rows = 0; rows < 4; rows++) {
            make_empty(rows, rows, &a);
            check_cuts(&a, &sent);
            spmm_csr_destroy(&a);
        }
    }
    TEST("a mesh numbered at random: a layout and auto move far fewer rows than the cut by entries") {
        spmm_cut cut[2];
        char spec[16];
        snprintf(spec, sizeof spec, "lap2d5:%d", SIDE);
        make(spec, SPMM_F64, &a);
        for (int n = 0; n < 2; n++) {
            CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, 0, &a, n ? SPMM_CUT_LAYOUT : SPMM_CUT_AUTO, K, &sent,
                                      &cut[n]),
                      SPMM_OK);
            CHECK(4 * cut[n].moved <= cut[n].moved_by_entries);
            CHECK(cut[n].moved_by_entries >= (size > 1 ? SIDE * SIDE / 2 : 0));
            CHECK(cut[n].moved <= 6 * SIDE * (size - 1));
        }
        CHECK(size == 1 ? cut[0].by == SPMM_CUT_ENTRIES : cut[0].by >= SPMM_CUT_LAYOUT);
        CHECK_TEXT(cut[0].why, size == 1 ? "as there is one rank" : "renumbered by ");
        spmm_cut_destroy(&cut[0]), spmm_cut_destroy(&cut[1]);
        CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, 0, &a, SPMM_CUT_AUTO, K, NULL, &cut[0]), SPMM_OK);
        CHECK_TEXT(cut[0].why, size == 1 ? "as there is one rank" : "as the ranks share X in memory");
        CHECK_INT(cut[0].by, SPMM_CUT_ENTRIES);
        spmm_cut_destroy(&cut[0]);
        spmm_csr_destroy(&a);
    }
}

/** Limits the address space to `bytes` more than this process uses. \return the limit before */
static struct rlimit leave(int64_t bytes)
{
    struct rlimit old, now;
    CHECK_INT(getrlimit(RLIMIT_AS, &old), 0);
    now = old;
    now.rlim_cur = (rlim_t)(status_bytes("VmSize") + bytes);
    CHECK_INT(setrlimit(RLIMIT_AS, &now), 0);
    return old;
}

/** Checks cases in which SPMM_CUT_AUTO does not renumber, although that would repay. */
static void test_kept(void)
{
    static const char memory[] = "auto cuts by entries if root has no memory for the renumbered matrix";
    spmm_plan_options sent = {.transport = SPMM_TRANSPORT_MPI, .products = 20000, .threads = 1};
    spmm_csr a = {0};
    spmm_cut cut;
    spmm_block block;
    if (TEST_SANITIZED) {
        SKIP(memory, "sanitizers take memory of their own");
    } else if (size > 1) {
        TEST(memory) {
            if (test_.rank == root) make("lap2d5:400", SPMM_F64, &a);
            (void)mallopt(M_MMAP_THRESHOLD, 128 << 10); /* free() returns large arrays to the system */
            for (int small = 0; small < 2; small++) {
                struct rlimit old = {0};
                /* 8 MB suffice neither for a layout (18 MB) nor for the renumbered matrix (12 MB) */
                if (small && test_.rank == root) old = leave(8 << 20);
                CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, root, &a, SPMM_CUT_AUTO, K, &sent, &cut), SPMM_OK);
                if (small && test_.rank == root) CHECK_INT(setrlimit(RLIMIT_AS, &old), 0);
                CHECK_TEXT(cut.why,
                           small ? "by entries, as there is no memory to renumber" : "renumbered by");
                CHECK_INT(cut.by == SPMM_CUT_ENTRIES, small);
                CHECK(!small || (!cut.number && cut.moved == cut.moved_by_entries));
                for (int64_t i = 0; small && i < cut.row_count; i++)
                    if (cut.row[i] != cut.row_begin + i) CHECK_INT(cut.row[i], cut.row_begin + i);
                CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, &block), SPMM_OK);
                CHECK_INT(block.any_order, !small);
                spmm_block_destroy(&block);
                spmm_cut_destroy(&cut);
            }
            spmm_csr_destroy(&a);
        }
    }
    TEST("for the joint exchange auto cuts by entries, and a plan can be made of that cut") {
        sent.exchange = SPMM_EXCHANGE_JOINT;
        sent.products = 100000000;
        make("lap2d5:12", SPMM_F64, &a);
        CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, root, &a, SPMM_CUT_AUTO, K, &sent, &cut), SPMM_OK);
        CHECK_TEXT(cut.why, size == 1 ? "as there is one rank"
                                      : "by entries, as the joint exchange needs increasing columns");
        check_products(&a, &cut, &(spmm_plan_options){.exchange = SPMM_EXCHANGE_HALO, .exact = 1});
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, &block), SPMM_OK);
        spmm_plan *plan;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, &sent, &plan), SPMM_OK);
        spmm_plan_destroy(plan);
        spmm_block_destroy(&block);
        spmm_cut_destroy(&cut);
        spmm_csr_destroy(&a);
    }
}

static void test_metis(void)
{
    static const char what[] = "a failure of METIS is none of auto, which takes the cut by layout";
    const spmm_plan_options sent = {.transport = SPMM_TRANSPORT_MPI, .products = 100000000};
    char spec[16];
    spmm_csr a;
    spmm_cut cut;
    if (sp_graph_ready() != SPMM_OK) {
        SKIP(what, "this build was made without METIS");
        return;
    }
    TEST(what) {
        snprintf(spec, sizeof spec, "lap2d5:%d", SIDE);
        make(spec, SPMM_F64, &a);
        metis_fails = 1;
        metis_called = 0;
        CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, root, &a, SPMM_CUT_AUTO, K, &sent, &cut), SPMM_OK);
        CHECK_INT(metis_called > 0, test_.rank == root);
        CHECK_INT(cut.by, SPMM_CUT_LAYOUT);
        CHECK_TEXT(cut.why, "renumbered by layout");
        CHECK(!strstr(cut.why, "METIS"));
        check_lists(&a, &cut);
        spmm_cut_destroy(&cut);
        CHECK_ERROR(spmm_cut_create(MPI_COMM_WORLD, root, &a, SPMM_CUT_GRAPH, K, &sent, &cut),
                    SPMM_ERR_INTERNAL, "METIS failed");
        metis_fails = 0;
        spmm_csr_destroy(&a);
    }
}

static void test_nodes(void)
{
    spmm_csr a;
    spmm_cut cut, other;
    TEST("rows count once for a node if all nodes have as many ranks, else for each rank, for any root") {
        make("lap2d5:12", SPMM_F64, &a);
        const spmm_plan_options often = {.products = 100000000};
        for (node_size = 2; node_size < size; node_size++) {
            CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, 0, &a, SPMM_CUT_ENTRIES, K, NULL, &other), SPMM_OK);
            for (int r = 0; r < size; r += size - 1) {
                CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, r, &a, SPMM_CUT_AUTO, K, &often, &cut), SPMM_OK);
                if (size % node_size)
                    CHECK_INT(cut.moved_by_entries, other.moved);
                else
                    CHECK(cut.moved_by_entries < other.moved);
                spmm_cut_destroy(&cut);
            }
            spmm_cut_destroy(&other);
        }
        node_size = 0;
        spmm_csr_destroy(&a);
    }
}

/** Checks that each rank gets the status, a message that contains the text, and a zeroed cut. */
#define REFUSED(call, expected, text)                    \
    do {                                                 \
        memset(&cut, 1, sizeof cut);                     \
        CHECK_ERROR(call, expected, text);               \
        CHECK(!cut.row && !cut.begin && cut.ranks == 0); \
    } while (0)
#define CREATE(root, a, by, k, o) spmm_cut_create(MPI_COMM_WORLD, root, a, by, k, o, &cut)

static void test_mistakes(void)
{
    const spmm_plan_options one = {.products = test_.rank ? 1 : 2};
    static const struct {
        spmm_plan_options o;
        const char *text;
    } wrong[] = {{{.device = (spmm_device)7}, "options.device is 7"},
                 {{.exchange = (spmm_exchange)77}, "options.exchange is 77"},
                 {{.transport = (spmm_transport)99}, "options.transport is 99"},
                 {{.exchange_precision = (spmm_precision)55}, "options.exchange_precision is 55"},
                 {{.column_blocks = -3}, "options.column_blocks is -3"}};
    const spmm_plan_options joint = {.exchange = SPMM_EXCHANGE_JOINT};
    spmm_csr a, wide;
    spmm_cut cut;
    spmm_block block;
    TEST("mistakes are SPMM_ERR_USAGE on every rank") {
        make("lap2d5:6", SPMM_F64, &a);
        make_empty(3, 4, &wide);
        REFUSED(CREATE(root, &wide, SPMM_CUT_LAYOUT, K, NULL), SPMM_ERR_USAGE,
                "a is 3 x 4, expected a square");
        REFUSED(CREATE(root, NULL, SPMM_CUT_AUTO, K, NULL), SPMM_ERR_USAGE, "spmm_cut_create: a is NULL");
        REFUSED(CREATE(size, &a, SPMM_CUT_AUTO, K, NULL), SPMM_ERR_USAGE, "root is");
        REFUSED(CREATE(root, &a, (spmm_cut_by)9, K, NULL), SPMM_ERR_USAGE, "by is 9");
        REFUSED(CREATE(root, &a, SPMM_CUT_AUTO, -1, NULL), SPMM_ERR_USAGE, "k is -1");
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            REFUSED(CREATE(root, &a, SPMM_CUT_AUTO, K, &wrong[i].o), SPMM_ERR_USAGE, wrong[i].text);
        for (int by = SPMM_CUT_LAYOUT; by <= SPMM_CUT_GRAPH; by++)
            REFUSED(CREATE(root, &a, (spmm_cut_by)by, K, &joint), SPMM_ERR_USAGE,
                    "SPMM_EXCHANGE_JOINT, which needs increasing columns");
        CHECK_INT(spmm_cut_create(MPI_COMM_WORLD, root, &a, SPMM_CUT_AUTO, K, NULL, NULL), SPMM_ERR_USAGE);
        CHECK_INT(spmm_cut_create(MPI_COMM_NULL, 0, &a, SPMM_CUT_AUTO, K, NULL, &cut), SPMM_ERR_USAGE);
        a.ja[1] = a.ja[0];
        REFUSED(CREATE(root, &a, SPMM_CUT_AUTO, K, NULL), SPMM_ERR_USAGE, "spmm_cut_create: ");
        spmm_csr_destroy(&a);
        make("lap2d5:6", SPMM_F64, &a);
        if (size > 1) {
            REFUSED(CREATE(root, &a, SPMM_CUT_AUTO, test_.rank, NULL), SPMM_ERR_USAGE, "k is ");
            REFUSED(CREATE(root, &a, SPMM_CUT_AUTO, K, &one), SPMM_ERR_USAGE, "options.products is ");
            REFUSED(spmm_cut_create(MPI_COMM_SELF, 1, &a, SPMM_CUT_AUTO, K, NULL, &cut), SPMM_ERR_USAGE,
                    "root is 1, expected a rank of comm, 0 to 0");
        }
        if (sp_graph_ready() != SPMM_OK && size > 1)
            REFUSED(CREATE(root, &a, SPMM_CUT_GRAPH, K, NULL), SPMM_ERR_USAGE, "METIS");
        CHECK_INT(CREATE(root, &a, SPMM_CUT_LAYOUT, K, NULL), SPMM_OK);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, NULL, &cut, &block), SPMM_ERR_USAGE);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &wide, &cut, &block), SPMM_ERR_USAGE);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, NULL, &block), SPMM_ERR_USAGE);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, NULL), SPMM_ERR_USAGE);
        if (size > 1) {
            CHECK_ERROR(spmm_cut_scatter(MPI_COMM_SELF, 0, &a, &cut, &block), SPMM_ERR_USAGE,
                        "ranks, expected the 1 of comm");
            CHECK_ERROR(spmm_cut_scatter(MPI_COMM_WORLD, (root + 1) % size, &a, &cut, &block), SPMM_ERR_USAGE,
                        "cut.number is NULL");
        }
        CHECK(!block.csr.irp);
        spmm_cut_destroy(&cut);
        spmm_cut_destroy(&cut);
        spmm_cut_destroy(NULL);
        spmm_csr_destroy(&a), spmm_csr_destroy(&wide);
    }
    TEST("a rank that fails at an agreement fails all") {
        make("lap2d5:6", SPMM_F64, &a);
        setenv("SPMM_FAULT", size > 1 ? "partition:1" : "partition:0", 1);
        REFUSED(CREATE(root, &a, SPMM_CUT_LAYOUT, K, NULL), SPMM_ERR_INTERNAL, "failing in stage partition");
        unsetenv("SPMM_FAULT");
        CHECK_INT(CREATE(root, &a, SPMM_CUT_LAYOUT, K, NULL), SPMM_OK);
        setenv("SPMM_FAULT", size > 1 ? "scatter:1" : "scatter:0", 1);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, &block), SPMM_ERR_INTERNAL);
        CHECK(!block.csr.irp);
        unsetenv("SPMM_FAULT");
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, &block), SPMM_OK);
        spmm_block_destroy(&block);
        spmm_cut_destroy(&cut);
        spmm_csr_destroy(&a);
    }
}

static void test_any_order(void)
{
    const spmm_plan_options joint = {.exchange = SPMM_EXCHANGE_JOINT}, any = {.any_order = 1};
    spmm_csr a;
    spmm_cut cut;
    spmm_block block;
    spmm_plan *plan;
    TEST("plans check blocks whose columns are in any order") {
        make("lap2d5:6", SPMM_F64, &a);
        CHECK_INT(CREATE(root, &a, SPMM_CUT_LAYOUT, K, NULL), SPMM_OK);
        CHECK_INT(spmm_cut_scatter(MPI_COMM_WORLD, root, &a, &cut, &block), SPMM_OK);
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &block, K, &joint, &plan), SPMM_ERR_USAGE,
                    "block.any_order is set");
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, &any, &plan), SPMM_OK);
        spmm_plan_destroy(plan);
        block.any_order = 0;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, NULL, &plan), SPMM_ERR_USAGE);
        block.any_order = size > 1 && test_.rank == 0;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, NULL, &plan), SPMM_ERR_USAGE);
        if (size > 1) CHECK_TEXT(spmm_error_message(), "block.any_order is 0 on one rank and 1 on another");
        block.any_order = 1;
        if (block.csr.nnz > 0) block.csr.ja[0] = 36;
        CHECK_ERROR(spmm_plan_create(MPI_COMM_WORLD, &block, K, NULL, &plan), SPMM_ERR_USAGE,
                    "outside 0 to 35");
        spmm_block_destroy(&block);
        spmm_cut_destroy(&cut);
        CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, root, &a, 1, size, &block), SPMM_OK);
        block.any_order = 1;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &block, K, NULL, &plan),
                  size > 1 ? SPMM_ERR_USAGE : SPMM_OK);
        spmm_plan_destroy(plan);
        spmm_block_destroy(&block);
        spmm_csr_destroy(&a);
    }
}

int main(int argc, char **argv)
{
    test_mpi_begin(&argc, &argv, &size);
    root = size - 1;
    test_cuts();
    test_kept();
    if (size > 1) test_metis();
    if (size > 2) test_nodes();
    test_mistakes();
    test_any_order();
    return test_mpi_end();
}
