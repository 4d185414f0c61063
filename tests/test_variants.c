/* MPI: 1 2 3 4. The exchanges among which a plan chooses: which exist, that all ranks choose the same one,
 * and that the product is right with each. */
#include "plan/plan_struct.h"

#include <math.h>

#include "formats/multivector.h"
#include "sample.h"
#include "test_mpi.h"

enum { K = 8 };

static int size;
static spmm_plan_study study; /* of the plans that make() makes */

/** A plan as sp_plan_create() makes it, and what it needs. */
typedef struct made {
    spmm_csr a;
    spmm_block block;
    sp_grid grid;
    sp_ghosted_block ghosted, joint;
    spmm_plan *plan;
    sp_plan_facts facts;
} made;

static void make(const char *spec, const spmm_plan_options *options, made *m)
{
    memset(m, 0, sizeof *m);
    CHECK_INT(spmm_csr_generate(spec, SPMM_F64, &m->a), SPMM_OK);
    for (int64_t e = 0; e < m->a.nnz; e++) sample_set(m->a.as, SPMM_F64, e, (double)(1 + e % 7));
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &m->a, size, 1, &m->block), SPMM_OK);
    CHECK_INT(sp_grid_create(MPI_COMM_WORLD, size, 1, &m->grid), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create(&m->grid, &m->block, options->exchange, 1, &m->ghosted), SPMM_OK);
    CHECK_INT(sp_ghosted_block_create_joint(&m->ghosted, options, &m->joint), SPMM_OK);
    CHECK_INT(sp_plan_create(&m->ghosted, &m->joint, NULL, K, options, &study, &m->plan), SPMM_OK);
    sp_plan_facts_of(m->plan, &m->facts);
}

static void destroy(made *m)
{
    spmm_plan_destroy(m->plan);
    sp_ghosted_block_destroy(&m->ghosted);
    sp_ghosted_block_destroy(&m->joint);
    sp_grid_destroy(&m->grid);
    spmm_block_destroy(&m->block);
    spmm_csr_destroy(&m->a);
}

static const sp_trial *variants_of(const made *m)
{
    return &m->facts.decisions->row[SP_DECIDES_VARIANT].trial;
}

/** Returns how many variants have been timed, and checks the properties of all. */
static int check_variants(const made *m)
{
    const sp_trial *const all = variants_of(m);
    int timed = 0, chosen[2] = {all->chosen, -all->chosen};
    CHECK(all->count >= 1 && all->count <= SP_MOST_VARIANTS && all->chosen < all->count);
    for (int i = 0; i < all->count; i++) timed += !isnan(all->tried[i].seconds);
    MPI_Allreduce(MPI_IN_PLACE, chosen, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK_INT(chosen[0], -chosen[1]);
    const int joint = strncmp(all->tried[all->chosen].name, "joint:", 6) == 0;
    CHECK(m->facts.ghosted == (joint ? &m->joint : &m->ghosted));
    CHECK(!joint || m->joint.joint);
    return timed;
}

static void check_product(made *m)
{
    spmm_multivector x, y;
    CHECK_INT(spmm_plan_x_create(m->plan, &x), SPMM_OK);
    CHECK_INT(spmm_plan_y_create(m->plan, &y), SPMM_OK);
    sp_multivector_generate(&x, SP_X_INDEX, 0, m->block.x_begin, 1);
    CHECK_INT(sp_plan_apply(m->plan, 1, &x, 0, &y), SPMM_OK);
    for (int64_t i = 0; i < y.rows; i++) {
        double sum = 0;
        const int64_t g = m->block.row_begin + i;
        for (int64_t e = m->a.irp[g]; e < m->a.irp[g + 1]; e++)
            sum += sample_get(m->a.as, SPMM_F64, e) * sp_x_element(SP_X_INDEX, 0, m->a.ja[e], K - 1);
        CHECK(sp_multivector_get(&y, i, K - 1) == sum);
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
}

static int has(const made *m, const char *variant)
{
    const sp_trial *const all = variants_of(m);
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->tried[i].name, variant) == 0) return 1;
    return 0;
}

static void test_options(void)
{
    made m;
    TEST("quick plans, and plans for few products, are not timed: rows decide") {
        const spmm_plan_options few[] = {{.any_order = 1, .threads = 1},
                                         {.any_order = 1, .products = 5, .threads = 1}};
        for (int i = 0; i < 2; i++) {
            study.quick_plan = i == 0;
            make("rmat:9,8", &few[i], &m);
            study.quick_plan = 0;
            CHECK_INT(check_variants(&m), 0);
            CHECK(m.facts.ghosted == (size > 1 ? &m.joint : &m.ghosted));
            check_product(&m);
            destroy(&m);
        }
    }
    TEST("the public function takes the options, which must be the same on all ranks") {
        spmm_plan_options options = {.any_order = 1, .threads = 1};
        spmm_plan *plan;
        make("rmat:9,8", &options, &m);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &m.block, K, &options, &plan), SPMM_OK);
        spmm_plan_destroy(plan);
        options.any_order = test_.rank == 0;
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &m.block, K, &options, &plan),
                  size > 1 ? SPMM_ERR_USAGE : SPMM_OK);
        if (size > 1) CHECK_TEXT(spmm_error_message(), "options.any_order");
        spmm_plan_destroy(plan);
        destroy(&m);
    }
}

static void test_fault(void)
{
    made m;
    static const char fault_sentence[] = "a fault while ways are tried is every rank's, and leaves no plan";
    if (size == 1) {
        SKIP(fault_sentence, "one rank has nothing to exchange");
        return;
    }
    TEST(fault_sentence) {
        spmm_plan *plan;
        char fault[32];
        make("rmat:9,8", &(spmm_plan_options){.products = 1, .any_order = 1, .threads = 1}, &m);
        snprintf(fault, sizeof fault, "plan:%d", size - 1);
        setenv("SPMM_FAULT", fault, 1);
        CHECK_INT(sp_plan_create(&m.ghosted, &m.joint, NULL, K,
                                 &(spmm_plan_options){.any_order = 1, .threads = 1}, NULL, &plan),
                  SPMM_ERR_INTERNAL);
        CHECK(plan == NULL);
        unsetenv("SPMM_FAULT");
        destroy(&m);
    }
}

/** Returns the number of ranks that is estimated to be faster. \param [in] m  in any unit of time */
static int fewer(sp_parts_seconds m, int ranks, int most, double seconds)
{
    double found = 0;
    const int q = sp_fewer_ranks(&m, ranks, most, &found);
    CHECK(fabs(found - seconds) <= 1e-3);
    return q;
}

static void test_fewer(void)
{
    TEST("fewer ranks are faster if the exchange takes longer than what they share") {
        /* longrows:2000000,5,4,1000000 with K = 64 on 4 H200, ms; it took 1.950 on two */
        CHECK_INT(fewer((sp_parts_seconds){4 * 0.844, 0.844, 2.131, 2.325}, 4, 4, 2.0147), 2);
        CHECK_INT(fewer((sp_parts_seconds){4 * 0.844, 0.844, 2.131, 2.325}, 4, 1, 0), 0);
        CHECK_INT(fewer((sp_parts_seconds){4, 1, 6, 7}, 4, 4, 4), 1);
        CHECK_INT(fewer((sp_parts_seconds){13.2, 2.2, 7.5, 7.5}, 6, 6, 6), 3); /* all is hidden */
    }
    TEST("fewer ranks are not faster if the kernels take most of the time, or nothing is known") {
        CHECK_INT(fewer((sp_parts_seconds){4, 1, 0.5, 1.5}, 4, 4, 0), 0);
        CHECK_INT(fewer((sp_parts_seconds){4, 1.2, 0, 1.2}, 4, 4, 0), 0);
        CHECK_INT(fewer((sp_parts_seconds){NAN, NAN, 1, 2}, 4, 4, 0), 0);
        CHECK_INT(fewer((sp_parts_seconds){1, 2, 0, 2}, 1, 1, 0), 0);
    }
}

/** Returns 1 if a plan's view says that one rank would be faster. Checks the time that it names.
 *  \param [in] kernel, product  the measured times, in ms */
static int view_says(const made *m, double kernel, double product)
{
    char expected[80], *text = NULL;
    sp_product *const p = m->plan->forward;
    p->decisions.row[SP_DECIDES_KERNEL].trial = (sp_trial){.count = 1,
                                                           .tried = {{"a kernel", 1e-3 * kernel}}};
    p->times = (sp_product_times){
        .products = 1, .seconds = 1e-3 * product, .least = 1e-3 * product, .greatest = 1e-3 * product};
    CHECK_INT(spmm_plan_view_text(m->plan, &text), SPMM_OK);
    snprintf(expected, sizeof expected, "fewer ranks 1 would take about %.4g ms or less\n", size * kernel);
    const int says = text && strstr(text, "fewer ranks");
    if (says) CHECK_TEXT(text, expected);
    free(text);
    return says;
}

static void test_view(void)
{
    TEST("a view says whether one rank would be faster") {
        made m;
        make("uniform:300,5", &(spmm_plan_options){.threads = 1}, &m);
        CHECK_INT(view_says(&m, 1, 10), size > 1 && test_.rank == 0);
        CHECK_INT(view_says(&m, 1, 1.5), 0);
        CHECK_INT(view_says(&m, NAN, 10), 0);
        destroy(&m);
    }
}

int main(int argc, char **argv)
{
    made m;
    test_mpi_begin(&argc, &argv, &size);
    test_fewer();
    test_view();
    TEST("a skewed graph: the joint exchange is a variant if its order of summation is allowed, else not") {
        make("rmat:9,8", &(spmm_plan_options){.any_order = 1, .threads = 1}, &m);
        CHECK_INT(has(&m, "joint:1:overlap"), size > 1);
        CHECK_INT(check_variants(&m), size > 1 ? variants_of(&m)->count : 0);
        check_product(&m);
        destroy(&m);
        make("rmat:9,8", &(spmm_plan_options){.threads = 1}, &m);
        CHECK(!has(&m, "joint:1:overlap"));
        destroy(&m);
        make("rmat:9,8", &(spmm_plan_options){.any_order = 1, .exchange = SPMM_EXCHANGE_HALO, .threads = 1},
             &m);
        CHECK(!has(&m, "joint:1:overlap"));
        destroy(&m);
    }
    TEST("a stencil on CPUs: there is nothing to choose") {
        for (int wait = 0; wait < 2; wait++) {
            make("lap3d7:16", &(spmm_plan_options){.any_order = 1, .no_overlap = wait, .threads = 1}, &m);
            CHECK_INT(variants_of(&m)->count, 1);
            CHECK_INT(m.facts.overlap, !wait);
            CHECK(size == 1 || has(&m, wait ? "halo:1:wait" : "halo:1:overlap"));
            CHECK_INT(check_variants(&m), 0);
            check_product(&m);
            destroy(&m);
        }
    }
    test_options();
    test_fault();
    return test_mpi_end();
}
