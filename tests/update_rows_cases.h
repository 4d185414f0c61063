/** spmm_plan_update_rows() on CPUs (test_update_rows) and GPUs (test_gpu_update_rows). */
#ifndef SP_UPDATE_ROWS_CASES_H
#define SP_UPDATE_ROWS_CASES_H

#include <math.h>

#include "distributed.h"
#include "formats/multivector.h"

/** A caller's arrays, in host memory; placed() copies them to where the block is. */
typedef struct arrays {
    int64_t rows, nnz;
    spmm_precision precision;
    void *irp, *ja, *as;
    int irp_bytes, ja_bytes;
} arrays;

/** 1: the block's arrays are in GPU memory. */
static int on_gpu;

static void set_integer(void *array, int bytes, int64_t i, int64_t to)
{
    if (bytes == 8) ((int64_t *)array)[i] = to;
    if (bytes == 4) ((int32_t *)array)[i] = (int32_t)to;
}

static int64_t get_integer(const void *array, int bytes, int64_t i)
{
    return bytes == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

static arrays arrays_of(const spmm_csr *a, int irp_bytes, int ja_bytes)
{
    arrays r = {a->rows, a->nnz, a->precision, NULL, NULL, NULL, irp_bytes, ja_bytes};
    const size_t bytes = (size_t)(a->nnz * sp_value_size(a->precision));
    r.irp = malloc((size_t)((a->rows + 1) * irp_bytes));
    r.ja = malloc((size_t)(a->nnz * ja_bytes) + 1);
    r.as = malloc(bytes + 1);
    for (int64_t i = 0; i <= a->rows; i++) set_integer(r.irp, irp_bytes, i, a->irp[i]);
    for (int64_t e = 0; e < a->nnz; e++) set_integer(r.ja, ja_bytes, e, a->ja[e]);
    memcpy(r.as, a->as, bytes);
    return r;
}

static void arrays_free(arrays *r)
{
    free(r->irp);
    free(r->ja);
    free(r->as);
}

/** Returns a copy in GPU memory if the block is there, else the array itself. */
static void *placed(void *array, int64_t bytes)
{
    void *there = array;
    if (!on_gpu) return array;
    CHECK_INT(sp_device_alloc(&there, bytes, "a test"), SPMM_OK);
    CHECK_INT(sp_device_upload(there, array, bytes), SPMM_OK);
    return there;
}

static void unplaced(const void *array)
{
    if (on_gpu) sp_device_free((void *)(uintptr_t)array);
}

enum { PATTERN = 1, VALUES = 2, BOTH = 3 };

/** Calls spmm_apply_rows(), in a stream if there is one rank on a GPU, and compares its Y with that of the
 *  next product. */
static int applied(spmm_plan *plan, const spmm_rows *a)
{
    enum { X, Y, Y_NEXT, HERE, ALL = HERE + 3 }; /* HERE: those in host memory */
    spmm_multivector v[ALL];
    int same = -1;
    for (int i = 0; i < HERE; i++) {
        CHECK_INT((i == X ? spmm_plan_x_create : spmm_plan_y_create)(plan, &v[i]), SPMM_OK);
        v[HERE + i] = sample_multivector(v[i].rows, v[i].k, v[i].k, v[i].precision);
    }
    sample_fill(&v[HERE + X], SAMPLE_REALS, 1);
    CHECK_INT(spmm_multivector_copy(&v[HERE + X], &v[X]), SPMM_OK);
    if (on_gpu && size == 1) CHECK_INT(spmm_plan_set_stream(plan, sp_device_stream(SP_STREAM_MOVE)), SPMM_OK);
    CHECK_INT(spmm_apply_rows(plan, a, &v[X], &v[Y], &same), SPMM_OK);
    if (on_gpu && size == 1) CHECK_INT(spmm_plan_set_stream(plan, NULL), SPMM_OK);
    if (same == 1) CHECK_INT(spmm_apply(plan, 1, &v[X], 0, &v[Y_NEXT]), SPMM_OK);
    for (int i = Y; same == 1 && i < HERE; i++)
        CHECK_INT(spmm_multivector_copy(&v[i], &v[HERE + i]), SPMM_OK);
    if (same == 1) CHECK(sample_same(&v[HERE + Y], &v[HERE + Y_NEXT]));
    for (int i = 0; i < HERE; i++) {
        spmm_multivector_destroy(&v[i]);
        free(v[HERE + i].data);
    }
    return same;
}

/** Calls spmm_plan_update_rows() or spmm_apply_rows() with the arrays of `what`, and checks its result. */
static void update(spmm_plan *plan, const arrays *r, int what, int expected)
{
    spmm_rows a = {.irp_bytes = r->irp_bytes, .ja_bytes = r->ja_bytes};
    int same = -1;
    if (what & PATTERN) {
        a.irp = placed(r->irp, (r->rows + 1) * r->irp_bytes);
        a.ja = placed(r->ja, get_integer(r->irp, r->irp_bytes, r->rows) * r->ja_bytes);
    }
    if (what & VALUES) a.as = placed(r->as, r->nnz * sp_value_size(r->precision));
    if (what == BOTH)
        same = applied(plan, &a);
    else
        CHECK_INT(spmm_plan_update_rows(plan, &a, &same), SPMM_OK);
    CHECK_INT(same, expected);
    if (a.irp) unplaced(a.irp), unplaced(a.ja);
    if (a.as) unplaced(a.as);
}

/** Sets the values of d->a, and this rank's part of them in r, to those of a version. The block keeps its
 *  values. */
static void other_values(distributed *d, arrays *r, int64_t version)
{
    spmm_block fresh;
    set_values(&d->a, version);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &d->a, d->block.p, d->block.q, &fresh), SPMM_OK);
    memcpy(r->as, fresh.csr.as, (size_t)(r->nnz * sp_value_size(r->precision)));
    spmm_block_destroy(&fresh);
}

/** Changes the pattern on one rank: all ranks must be told, and no value may change. */
static void check_patterns(const distributed *d, spmm_plan *plan, arrays *r, int64_t version)
{
    arrays *const mine = r;
    distributed other = *d;
    CHECK_INT(sp_csr_rows(&d->a, 0, d->a.rows, &other.a), SPMM_OK);
    other_values(&other, r, version);
    spmm_csr_destroy(&other.a);
    for (int rank = 0; rank < size; rank++)
        for (int n = 0; n < 4; n++) {
            /* the last and the first column index, a row start in the middle, and the number of entries */
            void *const array = n < 2 ? mine->ja : mine->irp;
            const int bytes = n < 2 ? mine->ja_bytes : mine->irp_bytes;
            const int64_t at = n == 0 ? mine->nnz - 1 : n == 1 ? 0 : n == 2 ? mine->rows / 2 : mine->rows;
            int there = test_.rank == rank && (n < 2 ? mine->nnz > 0 : mine->rows > 1 && mine->nnz > 1);
            const int64_t was = there ? get_integer(array, bytes, at) : 0;
            if (there) set_integer(array, bytes, at, n == 3 ? was - 1 : was + 1);
            const int changed = there;
            MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (there) update(plan, r, n % 2 ? PATTERN : BOTH, 0);
            if (changed) set_integer(array, bytes, at, was);
        }
    check_products(plan, &d->a, &d->block);
}

/** Checks that -0 instead of 0, and NaNs with other bits, are new values, in an element of the last rank. */
static void check_bits(const distributed *d, spmm_plan *plan, const spmm_csr *block, arrays *r)
{
    static const uint64_t bits[] = {0, (uint64_t)1 << 63, 0x7ff8000000000000, 0x7ff8000000000001};
    const int has = test_.rank == size - 1 && r->nnz > 0;
    if (r->precision != SPMM_F64) return;
    uint64_t *const here = has ? (uint64_t *)r->as + r->nnz / 2 : NULL, was = has ? *here : 0, found = 1;
    const uint64_t *const there = has ? (const uint64_t *)block->as + r->nnz / 2 : NULL;
    for (int n = 0; n < 4; n++) {
        if (has) *here = bits[n];
        update(plan, r, BOTH, 1);
        if (!has) continue;
        if (on_gpu) CHECK_INT(sp_device_download(&found, there, sizeof found), SPMM_OK);
        CHECK((on_gpu ? found : *there) == bits[n]);
    }
    if (has) *here = was;
    update(plan, r, VALUES, 1);
    check_products(plan, &d->a, &d->block);
}

/** \param [in] sizes  bytes of a row start and of a column index */
static void check_updates(distributed *d, const spmm_block *block, const spmm_plan_options *options,
                          const int sizes[2])
{
    arrays r = arrays_of(&d->block.csr, sizes[0], sizes[1]);
    spmm_plan *plan;
    CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, block, 4, options, &plan), SPMM_OK);
    update(plan, &r, BOTH, 1);
    check_products(plan, &d->a, &d->block);
    for (int version = 1; version < 4; version++) {
        other_values(d, &r, version);
        update(plan, &r, PATTERN, 1); /* changes no values */
        update(plan, &r, version == 2 ? VALUES : BOTH, 1);
        check_products(plan, &d->a, &d->block);
        update(plan, &r, BOTH, 1);
        check_patterns(d, plan, &r, version + 1);
        other_values(d, &r, version);
    }
    check_bits(d, plan, &block->csr, &r);
    spmm_plan_destroy(plan);
    arrays_free(&r);
}

static spmm_block block_there(const spmm_block *b)
{
    spmm_block there = *b;
    there.csr.irp = placed(b->csr.irp, (b->csr.rows + 1) * (int64_t)sizeof *b->csr.irp);
    there.csr.ja = placed(b->csr.ja, b->csr.nnz * (int64_t)sizeof *b->csr.ja);
    there.csr.as = placed(b->csr.as, b->csr.nnz * sp_value_size(b->csr.precision));
    return there;
}

static void test_updates(void)
{
    /* on a CPU one matrix has more entries than a thread compares at a time */
    const char *const specs[] = {"uniform:40,6", device == SPMM_CUDA ? "lap2d5:30" : "lap2d5:150", "rmat:7,8",
                                 "uniform:3,2", "lap2d5:1"};
    static const int sizes[][2] = {{4, 4}, {8, 8}, {8, 4}, {4, 8}};
    TEST(
        "rows are compared with the plan's, and their values taken, on every grid, with 4 and 8 bytes an index")
        for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
            for (int q = 1; q <= size; q++)
                for (int n = 0; n < 4; n++) {
                    const spmm_plan_options options = {.device = device,
                                                       .format = SPMM_FORMAT_AUTO,
                                                       .exchange = n == 3 ? SPMM_EXCHANGE_JOINT
                                                                          : SPMM_EXCHANGE_AUTO,
                                                       .products = 1 + n % 2 * 50};
                    distributed d;
                    if (size % q || (s == 1 && n > 1)) continue;
                    distributed_create(specs[s], (s + (size_t)n) % 3 ? SPMM_F64 : SPMM_F32, q, &d);
                    const spmm_block there = block_there(&d.block);
                    check_updates(&d, &there, &options, sizes[n]);
                    unplaced(there.csr.irp), unplaced(there.csr.ja), unplaced(there.csr.as);
                    distributed_destroy(&d);
                }
}

/** Checks that all ranks are refused if the last rank's argument is wrong. */
static void refused(spmm_plan *plan, const spmm_rows *good, const spmm_rows *bad, const char *said)
{
    int same;
    CHECK_ERROR(spmm_plan_update_rows(plan, test_.rank == size - 1 ? bad : good, &same), SPMM_ERR_USAGE,
                said);
}

static void test_wrong_rows(void)
{
    const spmm_plan_options options = {.device = device};
    distributed d;
    spmm_plan *plan;
    TEST("wrong rows of one rank are an error on all ranks, and nothing has changed") {
        distributed_create("lap2d5:8", SPMM_F64, 1, &d);
        const spmm_block there = block_there(&d.block);
        CHECK_INT(spmm_plan_create(MPI_COMM_WORLD, &there, 2, &options, &plan), SPMM_OK);
        arrays r = arrays_of(&d.block.csr, 8, 4);
        const spmm_rows good = {.irp = placed(r.irp, (r.rows + 1) * 8),
                                .ja = placed(r.ja, r.nnz * 4),
                                .as = placed(r.as, r.nnz * 8),
                                .irp_bytes = 8,
                                .ja_bytes = 4};
        spmm_rows bad = good;
        int same;
        refused(plan, &good, NULL, "spmm_plan_update_rows: a is NULL");
        bad.irp_bytes = 2;
        refused(plan, &good, &bad, "spmm_plan_update_rows: a->irp_bytes is 2, expected 4 or 8");
        bad = good, bad.ja_bytes = 0;
        refused(plan, &good, &bad, "spmm_plan_update_rows: a->ja_bytes is 0, expected 4 or 8");
        bad = good, bad.ja = NULL;
        refused(plan, &good, &bad, "spmm_plan_update_rows: a->ja is NULL");
        bad = good, bad.map = &same;
        refused(plan, &good, &bad, "spmm_plan_update_rows: a->map is set or a->first_column is not 0");
        bad = good, bad.first_column = 1;
        refused(plan, &good, &bad, "spmm_plan_update_rows: a->map is set or a->first_column is not 0");
        CHECK_ERROR(spmm_plan_update_rows(plan, &good, NULL), SPMM_ERR_USAGE,
                    "spmm_plan_update_rows: same is NULL");
        if (on_gpu) {
            bad = good, bad.as = r.as;
            refused(plan, &good, &bad, "spmm_plan_update_rows: a->as is in host memory");
        }
        setenv("SPMM_FAULT", "convert:0", 1);
        CHECK_INT(spmm_plan_update_rows(plan, &good, &same), SPMM_ERR_INTERNAL);
        unsetenv("SPMM_FAULT");
        CHECK_INT(spmm_plan_update_rows(NULL, &good, &same), SPMM_ERR_USAGE);
        check_products(plan, &d.a, &d.block);
        spmm_plan_destroy(plan);
        unplaced(good.irp), unplaced(good.ja), unplaced(good.as);
        unplaced(there.csr.irp), unplaced(there.csr.ja), unplaced(there.csr.as);
        arrays_free(&r);
        distributed_destroy(&d);
    }
}

#endif
