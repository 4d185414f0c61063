/* The GPU: device.h, device matrices and multivectors, and every CUDA kernel against the serial product.
 * Without a GPU these tests are skipped, and the functions' messages are tested.
 * limit: 600 */
#define TEST_TRAPS 0 /* values that are NaN */
#include "test.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "kernels/kernel.h"
#include "sample.h"

enum { GUARD = 512, POISON = 0xff }; /* bytes of 0xff are NaN in both precisions */

static const int64_t all_k[] = {1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17,  31,  32,
                                33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 256, 300, 0};
static const int64_t few_k[] = {1, 2, 3, 6, 8, 17, 64, 129, 0};

/* ---- matrices ---- */

typedef struct structure {
    const char *name;
    int64_t rows, cols;
    int64_t (*length)(int64_t row);
    const int64_t *k;
} structure;

static int64_t none(int64_t row) { return row * 0; }
static int64_t one(int64_t row) { return row * 0 + 1; }
static int64_t seven(int64_t row) { return row * 0 + 7; }
static int64_t every_third(int64_t row) { return row % 3 == 1 ? 1 + row % 11 : 0; }
static int64_t one_long(int64_t row) { return row == 5 ? 50000 : row % 4; }
static int64_t around_sections(int64_t row) { return row % 5 == 2 ? 129 + row * 37 % 2100 : row % 129; }
static int64_t random_length(int64_t row) { return (int64_t)sp_random_below(3, (uint64_t)row, 0, 41); }
static int64_t around_chunks(int64_t row) { return row % 70; }
static int64_t all_of_3(int64_t row) { return row % 4; }
static int64_t some_long(int64_t row) { return row % 397 == 5 ? 129 + row : row % 6 == 0 ? 0 : row % 3; }

static const structure structures[] = {
    {"no rows", 0, 10, none, few_k},
    {"rows without entries", 37, 5, none, few_k},
    {"no columns", 9, 0, none, few_k},
    {"1 x 1", 1, 1, one, all_k},
    {"most rows empty", 131, 40, every_third, all_k},
    {"a row of 50000 entries", 12, 50000, one_long, few_k},
    {"0 to 2228 entries per row", 403, 2300, around_sections, all_k},
    {"more rows than columns", 1200, 3, all_of_3, all_k},
    {"more columns than rows", 5, 3000, seven, all_k},
    {"0 to 40 entries per row", 701, 900, random_length, all_k},
    {"0 to 69 entries per row", 210, 80, around_chunks, all_k},
    {"7 entries per row", 1003, 1003, seven, all_k},
    {"0 to 2 entries per row, and 6 long rows", 2003, 2400, some_long, all_k},
};
enum { STRUCTURES = sizeof structures / sizeof *structures };

/** Fills a matrix: the j-th of a row's d columns is in the j-th of d ranges, so columns increase. Values have
 *  no short binary fraction: products and sums are rounded. */
static void fill(spmm_csr *a)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t d = a->irp[i + 1] - a->irp[i];
        for (int64_t j = 0; j < d; j++) {
            const int64_t e = a->irp[i] + j, low = j * a->cols / d, high = (j + 1) * a->cols / d;
            const double v = sp_random_unit(11, (uint64_t)i, (uint64_t)j) / 3;
            a->ja[e] = (int32_t)(low + (int64_t)sp_random_below(12, (uint64_t)i, (uint64_t)j,
                                                                (uint64_t)(high - low)));
            sample_set(a->as, a->precision, e, v);
        }
    }
}

static void make_matrix(const structure *s, spmm_precision precision, spmm_csr *a)
{
    int64_t nnz = 0;
    for (int64_t i = 0; i < s->rows; i++) nnz += s->length(i);
    *a = (spmm_csr){.rows = s->rows, .cols = s->cols, .nnz = nnz, .precision = precision};
    CHECK(sp_alloc((void **)&a->irp, s->rows + 1, sizeof *a->irp, "test") == SPMM_OK);
    CHECK(sp_alloc((void **)&a->ja, nnz, sizeof *a->ja, "test") == SPMM_OK);
    CHECK(sp_alloc(&a->as, nnz, sp_value_size(precision), "test") == SPMM_OK);
    a->irp[0] = 0;
    for (int64_t i = 0; i < s->rows; i++) a->irp[i + 1] = a->irp[i] + s->length(i);
    fill(a);
}

static void free_matrix(spmm_csr *a)
{
    sp_free(a->irp);
    sp_free(a->ja);
    sp_free(a->as);
}

/** Makes the matrix in device memory in each format: in f64 for few columns of X, in f32 for many. */
static void upload_formats(const spmm_csr *a, sp_matrix device[SP_FORMATS])
{
    const int64_t k = a->precision == SPMM_F64 ? 1 : 64;
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++)
        CHECK(sp_matrix_create(a, (spmm_format)f, SPMM_CUDA, 1e9, k, 2, &device[f]) == SPMM_OK);
}

/* ---- multivectors between guards, with any leading dimension and alignment ---- */

typedef struct guarded {
    spmm_multivector v;    /* in device memory, inside `memory` */
    char *memory, *host;   /* host: [bytes], an image of all of `memory` */
    int64_t bytes, offset; /* v.data is memory + offset */
} guarded;

static void guarded_create(int64_t rows, int64_t k, int64_t ld, int64_t shift, spmm_precision precision,
                           guarded *g)
{
    const int64_t size = (int64_t)sp_value_size(precision);
    void *p;
    g->offset = GUARD + shift * size;
    g->bytes = g->offset + rows * ld * size + GUARD;
    CHECK(sp_device_alloc(&p, g->bytes, "a test") == SPMM_OK);
    g->memory = p;
    CHECK(sp_alloc(&p, g->bytes, 1, "a test") == SPMM_OK);
    g->host = p;
    g->v = (spmm_multivector){rows, k, ld, precision, SPMM_CUDA, g->memory + g->offset, 0, 0, SPMM_ROW_MAJOR};
}

static void guarded_poison(guarded *g)
{
    memset(g->host, POISON, (size_t)g->bytes);
    CHECK(sp_device_upload(g->memory, g->host, g->bytes) == SPMM_OK);
}

static void guarded_destroy(guarded *g)
{
    sp_device_free(g->memory);
    sp_free(g->host);
}

/** Sets X, with NaN in its padding and around it: none of these may reach Y. */
static void guarded_set(guarded *g, const spmm_multivector *from)
{
    const size_t size = sp_value_size(from->precision);
    memset(g->host, POISON, (size_t)g->bytes);
    for (int64_t i = 0; i < from->rows; i++)
        memcpy(g->host + g->offset + (size_t)(i * g->v.ld) * size,
               (const char *)from->data + (size_t)(i * from->ld) * size, (size_t)from->k * size);
    CHECK(sp_device_upload(g->memory, g->host, g->bytes) == SPMM_OK);
}

static int guards_intact(const guarded *g)
{
    const int64_t end = g->bytes - GUARD;
    for (int64_t i = 0; i < g->offset; i++)
        if ((unsigned char)g->host[i] != POISON) return 0;
    for (int64_t i = end; i < g->bytes; i++)
        if ((unsigned char)g->host[i] != POISON) return 0;
    return 1;
}

/** The expected Y: the serial product. `sum` has the sum of |a||x| for each element, for the bound 2 gamma_n
 *  sum |a||x| on the error of elements whose order of summation is free. */
typedef struct expectation {
    const spmm_csr *a;
    spmm_multivector y;
    double *sum; /* [rows x k] */
} expectation;

static void expect(const spmm_csr *a, const spmm_multivector *x, expectation *e)
{
    sp_matrix host;
    void *p;
    sp_matrix_view_csr(a, &host);
    e->a = a;
    CHECK(spmm_multivector_create(a->rows, x->k, a->precision, SPMM_CPU, &e->y) == SPMM_OK);
    CHECK(sp_alloc(&p, a->rows * x->k, sizeof(double), "a test") == SPMM_OK);
    e->sum = p;
    sp_serial_product(&host, 0, a->rows, x, &e->y);
    sp_serial_bound(&host, 0, a->rows, x, e->sum);
}

static void expectation_destroy(expectation *e)
{
    spmm_multivector_destroy(&e->y);
    sp_free(e->sum);
}

/** Returns 1 if `found` is right: equal bit for bit, or within the bound if the row's order of summation is
 *  free. Two NaNs are equal (their payloads differ between processors). */
static int right(double found, const expectation *e, int64_t i, int64_t j, sp_exactness exact)
{
    const double expected = sp_multivector_get(&e->y, i, j);
    const int64_t n = e->a->irp[i + 1] - e->a->irp[i];
    if (memcmp(&found, &expected, sizeof found) == 0 || (isnan(found) && isnan(expected))) return 1;
    if (exact == SP_EXACT_F64 && e->a->precision == SPMM_F64) return found == expected; /* 0 equals -0 */
    if (exact == SP_EXACT_YES || (exact == SP_EXACT_UNSPLIT && n <= SP_CHAIN)) return 0;
    const double u = e->a->precision == SPMM_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2,
                 tiny = e->a->precision == SPMM_F64 ? DBL_TRUE_MIN : (double)FLT_TRUE_MIN;
    return found == expected ||
           (isfinite(expected) &&
            fabs(found - expected) <= 2.02 * (double)n * (u * e->sum[i * e->y.k + j] + tiny));
}

static void complain(const char *kernel, const char *name, const spmm_multivector *v, const char *what)
{
    if (test_.failed++ < 10)
        printf("  kernel %s, %s, %s, K = %lld, ld = %lld: %s\n", kernel, name,
               v->precision == SPMM_F64 ? "f64" : "f32", (long long)v->k, (long long)v->ld, what);
}

static void compare(const sp_kernel *kernel, const char *name, const guarded *y, const expectation *e)
{
    spmm_multivector found = y->v;
    char text[128];
    found.data = y->host + y->offset;
    test_check_();
    for (int64_t i = 0; i < found.rows; i++) {
        for (int64_t j = 0; j < found.k; j++) {
            const double f = sp_multivector_get(&found, i, j);
            if (right(f, e, i, j, kernel->exact)) continue;
            snprintf(text, sizeof text, "row %lld, column %lld is %.17g, expected %.17g", (long long)i,
                     (long long)j, f, sp_multivector_get(&e->y, i, j));
            complain(kernel->id, name, &found, text);
            return;
        }
    }
    if (!guards_intact(y)) complain(kernel->id, name, &found, "wrote outside Y");
}

static spmm_status run_kernel(const sp_kernel *kernel, const sp_matrix *m, const spmm_csr *csr,
                              sp_shape shape, const guarded *x, guarded *y)
{
    const sp_setup setup = {m, csr, x->v.k, 1, shape, x->v.k, 0};
    void *state = NULL;
    if (kernel->ops->prepare) TRY(kernel->ops->prepare(&setup, &state));
    const sp_launch launch = {.a = m,
                              .state = state,
                              .shape = shape,
                              .x = &x->v,
                              .y = &y->v,
                              .stream = sp_device_stream(SP_STREAM_MAIN)};
    spmm_status status = kernel->ops->run(&launch);
    if (status == SPMM_OK) status = sp_device_sync();
    if (kernel->ops->release) kernel->ops->release(state);
    return status == SPMM_OK ? sp_device_download(y->host, y->memory, y->bytes) : status;
}

/** Runs every CUDA kernel on these operands. */
static void run_kernels(const char *name, const sp_matrix device[SP_FORMATS], sp_shape shape,
                        const guarded *x, guarded *y, const expectation *e)
{
    int count;
    const sp_kernel *kernels = sp_kernels(&count);
    /* Baseline kernels, which sum in one chain or in an order of their own, take minutes on an emulated GPU,
     * where test_gpu_shapes and test_gpu_query test them. */
    for (int i = 0; i < count; i++) {
        const int baseline = kernels[i].exact == SP_EXACT_NO || kernels[i].exact == SP_EXACT_UNSPLIT;
        if (kernels[i].device != SPMM_CUDA || (baseline && sample_gpu_is_emulated())) continue;
        guarded_poison(y);
        if (run_kernel(&kernels[i], &device[kernels[i].format], e->a, shape, x, y) != SPMM_OK)
            complain(kernels[i].id, name, &x->v, spmm_error_message());
        else
            compare(&kernels[i], name, y, e);
    }
}

/** Runs the kernels with several leading dimensions: the library's, an odd one, the minimum, and the
 *  library's again with data that begin one element later. */
static void run_layouts(const char *name, const sp_matrix device[SP_FORMATS], const spmm_multivector *x,
                        const expectation *e)
{
    const int64_t k = x->k, own = sp_multivector_ld(k, x->precision);
    const int64_t ld[] = {own, k | 1, k, own}, shift[] = {0, 0, 0, 1};
    for (int v = 0; v < 4; v++) {
        guarded gx, gy;
        /* a layout that has been run already is left out */
        if (v > 0 && shift[v] == 0 && (ld[v] == own || (v == 2 && ld[v] == ld[1]))) continue;
        guarded_create(x->rows, k, ld[v], shift[v], x->precision, &gx);
        guarded_create(e->y.rows, k, ld[v], shift[v], x->precision, &gy);
        guarded_set(&gx, x);
        run_kernels(name, device, (sp_shape){0}, &gx, &gy, e);
        guarded_destroy(&gx);
        guarded_destroy(&gy);
    }
}

/** Makes f64 values exact in f32; -0 and denormals of f32 are among them.
 *  \param [in] last  1: except the last value */
static void narrow_values(spmm_csr *a, int last)
{
    static const double special[] = {-0.0, 0x1p-149, -0x1.8p-140, 0x1.fffffep+127};
    for (int64_t e = 0; e < a->nnz; e++) {
        const double value = (double)(float)sample_get(a->as, a->precision, e);
        sample_set(a->as, a->precision, e, e % 16 < 4 ? special[e % 16] : value);
    }
    if (last && a->nnz > 0) sample_set(a->as, a->precision, a->nnz - 1, 1.0 / 3);
}

/** \param [in] equal   the value of all entries; NULL: they differ
 *  \param [in] narrow  0: any values; 1: all values are exact in f32; 2: all except the last one */
static void run_structure(const structure *s, spmm_precision precision, const double *equal, int narrow,
                          const int64_t *columns)
{
    spmm_csr a;
    sp_matrix device[SP_FORMATS];
    make_matrix(s, precision, &a);
    for (int64_t e = 0; equal && e < a.nnz; e++) sample_set(a.as, precision, e, *equal);
    if (narrow) narrow_values(&a, narrow == 2);
    upload_formats(&a, device);
    for (const int64_t *k = columns; *k; k++) {
        spmm_multivector x;
        expectation e;
        CHECK(spmm_multivector_create(a.cols, *k, precision, SPMM_CPU, &x) == SPMM_OK);
        sp_multivector_generate(&x, SP_X_UNIFORM, 7, 0, 1);
        expect(&a, &x, &e);
        run_layouts(s->name, device, &x, &e);
        expectation_destroy(&e);
        spmm_multivector_destroy(&x);
    }
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) sp_matrix_destroy(&device[f]);
    free_matrix(&a);
}

static void test_kernels(void)
{
    for (int s = 0; s < STRUCTURES; s++) {
        for (int p = 0; p < 2; p++) {
            TEST(test_name("every GPU kernel gives the serial product: %s, %s", structures[s].name,
                           p == SPMM_F64 ? "f64" : "f32")) {
                run_structure(&structures[s], (spmm_precision)p, NULL, 0,
                              sample_gpu_is_emulated() ? few_k : structures[s].k);
            }
        }
    }
    TEST("and so it does where all values are equal, also NaN or -0") {
        static const double values[] = {1.0 / 3, (double)NAN, -0.0};
        static const int64_t columns[] = {1, 2, 3, 8, 0};
        for (int v = 0; v < 3; v++)
            for (int s = v > 0 ? 4 : 0; s < (v > 0 ? 5 : STRUCTURES); s++)
                for (int p = 0; p < 2; p++)
                    run_structure(&structures[s], (spmm_precision)p, &values[v], 0, columns);
    }
    TEST("and so it does where f32 has all values of f64, or all but one") {
        static const int64_t columns[] = {1, 2, 3, 8, 9, 0};
        for (int last = 0; last < 2; last++)
            for (int s = last ? 4 : 0; s < (last ? 5 : STRUCTURES); s++)
                run_structure(&structures[s], SPMM_F64, NULL, 1 + last, columns);
    }
}

/** Infinities, negative zeros and products below the smallest number. */
static void special_x(spmm_multivector *x)
{
    static const double values[] = {INFINITY, -0.0, -5e-324, -1e-45, 1e-310, -INFINITY, 0.0, 1.0};
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->k; j++) {
            const uint64_t r = sp_random_below(5, (uint64_t)i, (uint64_t)j, 40);
            const double v = r < 8 ? values[r] : (r % 2 ? -1e-30 : 1e-30) * (double)r;
            sample_set(x->data, x->precision, i * x->ld + j, v);
        }
    }
}

static void test_special_values(spmm_precision precision)
{
    spmm_csr a;
    sp_matrix device[SP_FORMATS];
    make_matrix(&structures[8], precision, &a);
    upload_formats(&a, device);
    for (int64_t k = 1; k < 200; k = 3 * k + 1) {
        spmm_multivector x;
        expectation e;
        CHECK(spmm_multivector_create(a.cols, k, precision, SPMM_CPU, &x) == SPMM_OK);
        special_x(&x);
        expect(&a, &x, &e);
        run_layouts("special values", device, &x, &e);
        expectation_destroy(&e);
        spmm_multivector_destroy(&x);
    }
    for (int f = SP_FIRST_FORMAT; f < SP_FORMATS; f++) sp_matrix_destroy(&device[f]);
    free_matrix(&a);
}

/* ---- the device ---- */

/** Returns the value of the property of that name; "" if there is none. */
static const char *property(const sp_device_property *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return list[i].value;
    return "";
}

static void test_facts(int count)
{
    sp_device_info info;
    TEST("each GPU has a name, a bus id, memory and processors") {
        for (int i = 0; i < count; i++) {
            CHECK(sp_device_describe(i, &info) == SPMM_OK);
            CHECK(info.name[0] != '\0');
            CHECK_TEXT(info.pci, ":");
            CHECK(info.major >= 7 && info.multiprocessors > 0 && info.l2_bytes > 0);
            CHECK(info.memory_bytes > 1000000000);
            CHECK_INT(info.free_bytes, 0); /* the device is not open */
        }
        CHECK(sp_device_describe(count, &info) == SPMM_ERR_NO_DEVICE);
        CHECK(sp_device_describe(-1, &info) == SPMM_ERR_NO_DEVICE);
    }
    TEST("each GPU has some forty properties, of which those agree that are told twice") {
        sp_device_property list[SP_DEVICE_PROPERTIES];
        int properties;
        for (int i = 0; i < count; i++) {
            char text[72];
            CHECK(sp_device_describe(i, &info) == SPMM_OK);
            CHECK(sp_device_properties(i, list, &properties) == SPMM_OK);
            CHECK(properties >= 40);
            for (int n = 0; n < properties; n++) {
                CHECK(list[n].value[0] != '\0' && strlen(list[n].name) <= 32);
                for (int m = 0; m < n; m++) CHECK(strcmp(list[m].name, list[n].name) != 0);
            }
            CHECK_TEXT(property(list, properties, "name"), info.name);
            snprintf(text, sizeof text, "%lld bytes", (long long)info.memory_bytes);
            CHECK_TEXT(property(list, properties, "global memory"), text);
            snprintf(text, sizeof text, "%lld bytes", (long long)info.l2_bytes);
            CHECK_TEXT(property(list, properties, "L2 cache"), text);
            CHECK_TEXT(property(list, properties, "warp size"), "32 threads");
            CHECK_TEXT(property(list, properties, "block, at most"), "1024 x 1024 x 64");
        }
        CHECK(sp_device_properties(count, list, &properties) == SPMM_ERR_NO_DEVICE && properties == 0);
    }
    TEST("before a GPU is opened memory is refused") {
        void *p = &info;
        CHECK(sp_device_alloc(&p, 100, "a test") == SPMM_ERR_NO_DEVICE);
        CHECK(p == NULL);
        CHECK_TEXT(spmm_error_message(), "no GPU is open in this process");
    }
    TEST("a GPU is opened once, a second one is refused") {
        CHECK(sp_device_open(count) == SPMM_ERR_NO_DEVICE);
        CHECK(sp_device_open(0) == SPMM_OK);
        CHECK(sp_device_open(0) == SPMM_OK);
        if (count > 1) CHECK(sp_device_open(1) == SPMM_ERR_USAGE);
        CHECK(sp_device_stream(SP_STREAM_MAIN) != NULL);
        CHECK(sp_device_describe(0, &info) == SPMM_OK);
        CHECK(info.free_bytes > 0 && info.free_bytes <= info.memory_bytes);
        printf("  %s, compute capability %d.%d, %d multiprocessors, %s\n", info.name, info.major, info.minor,
               info.multiprocessors, info.pci);
    }
}

static void round_trip(int64_t bytes)
{
    unsigned char *from, *back;
    void *p, *q;
    CHECK(sp_alloc((void **)&from, bytes + 1, 1, "a test") == SPMM_OK);
    CHECK(sp_alloc((void **)&back, bytes + 1, 1, "a test") == SPMM_OK);
    for (int64_t i = 0; i <= bytes; i++) from[i] = (unsigned char)sp_mix((uint64_t)i);
    memset(back, POISON, (size_t)bytes + 1);
    CHECK(sp_device_alloc(&p, bytes, "a test") == SPMM_OK && p != NULL);
    CHECK(sp_device_alloc(&q, bytes, "a test") == SPMM_OK && q != NULL);
    CHECK(sp_device_upload(p, from, bytes) == SPMM_OK);
    CHECK(sp_device_copy(q, p, bytes) == SPMM_OK);
    CHECK(sp_device_download(back, q, bytes) == SPMM_OK);
    CHECK(memcmp(from, back, (size_t)bytes) == 0);
    CHECK_INT(back[bytes], POISON);
    CHECK(sp_device_zero(p, bytes / 2) == SPMM_OK);
    CHECK(sp_device_download(back, p, bytes) == SPMM_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < bytes; i++) wrong += back[i] != (i < bytes / 2 ? 0 : from[i]);
    CHECK_INT(wrong, 0);
    sp_device_free(p);
    sp_device_free(q);
    sp_free(from);
    sp_free(back);
}

static void test_copies(void)
{
    TEST("what is uploaded comes back, in any size") {
        static const int64_t sizes[] = {
            0, 1, 1000, (4 << 20) - 1, 4 << 20, 16 << 20, (16 << 20) + 1, 32 << 20, (70 << 20) + 12345};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) round_trip(sizes[i]);
    }
    TEST("rows are copied between pitches, in all directions") {
        enum { ROWS = 9, BYTES = 24, HOST = 40, FIRST = 32, SECOND = 56 };
        char from[ROWS * HOST], back[ROWS * HOST];
        void *p, *q;
        for (int i = 0; i < ROWS * HOST; i++) from[i] = (char)i;
        memset(back, 77, sizeof back);
        CHECK(sp_device_alloc(&p, ROWS * FIRST, "a test") == SPMM_OK);
        CHECK(sp_device_alloc(&q, ROWS * SECOND, "a test") == SPMM_OK);
        CHECK(sp_device_copy_2d(p, FIRST, from, HOST, BYTES, ROWS, 0) == SPMM_OK);
        CHECK(sp_device_copy_2d(q, SECOND, p, FIRST, BYTES, ROWS, 2) == SPMM_OK);
        CHECK(sp_device_copy_2d(back, HOST, q, SECOND, BYTES, ROWS, 1) == SPMM_OK);
        for (int i = 0; i < ROWS * HOST; i++) CHECK_INT(back[i], i % HOST < BYTES ? from[i] : 77);
        CHECK(sp_device_copy_2d(q, SECOND, p, FIRST, BYTES, 0, 2) == SPMM_OK);
        CHECK(sp_device_copy_2d(q, SECOND, p, FIRST, BYTES, 1, 3) == SPMM_ERR_INTERNAL);
        sp_device_free(p);
        sp_device_free(q);
    }
}

static void test_memory(void)
{
    TEST("too large an allocation fails with the figures, and the next one works") {
        sp_device_info info;
        void *p;
        CHECK(sp_device_describe(0, &info) == SPMM_OK);
        CHECK(sp_device_alloc(&p, 2 * info.memory_bytes, "the test of too much") == SPMM_ERR_MEMORY);
        CHECK(p == NULL);
        CHECK_TEXT(spmm_error_message(), "cannot allocate");
        CHECK_TEXT(spmm_error_message(), info.name);
        CHECK_TEXT(spmm_error_message(), "GB free) for the test of too much");
        CHECK(sp_device_alloc(&p, 1000, "a test") == SPMM_OK && p != NULL);
        CHECK(sp_device_launched("none") == SPMM_OK); /* no error was left behind */
        CHECK(sp_device_sync() == SPMM_OK);
        sp_device_free(p);
        sp_device_free(NULL);
    }
    TEST("a matrix too large for the GPU fails whole, with the array's name") {
        static int64_t start[2] = {0, 1};
        const sp_matrix huge = {.format = SPMM_CSR,
                                .rows = 1,
                                .row_start = start,
                                .col = (int32_t *)start,
                                .bytes = {[SP_ROW_START] = sizeof start, [SP_COL] = INT64_C(1) << 42}};
        sp_matrix device;
        CHECK(sp_matrix_upload(&huge, &device) == SPMM_ERR_MEMORY);
        CHECK_TEXT(spmm_error_message(), "for column indices");
        CHECK(device.col == NULL && device.rows == 0);
        sp_matrix_destroy(&device);
        sp_matrix_destroy(NULL);
    }
    TEST("a timer's marks are in order") {
        sp_timer *timer;
        double seconds = -1;
        CHECK(sp_timer_create(&timer) == SPMM_OK);
        CHECK(sp_timer_start(timer, SP_STREAM_MAIN) == SPMM_OK);
        CHECK(sp_timer_stop(timer, SP_STREAM_MAIN) == SPMM_OK);
        CHECK(sp_timer_seconds(timer, &seconds) == SPMM_OK);
        CHECK(seconds >= 0 && seconds < 10);
        sp_timer_destroy(timer);
        sp_timer_destroy(NULL);
    }
}

static void test_multivectors(void)
{
    TEST("a multivector goes to the GPU and comes back, whatever the leading dimensions") {
        for (int64_t k = 1; k <= 40; k += 13) {
            spmm_multivector a, b, c, d, wide;
            CHECK(spmm_multivector_create(33, k, SPMM_F32, SPMM_CPU, &a) == SPMM_OK);
            CHECK(spmm_multivector_create(33, k, SPMM_F32, SPMM_CUDA, &b) == SPMM_OK);
            CHECK(spmm_multivector_create(33, 2 * k + 1, SPMM_F32, SPMM_CUDA, &wide) == SPMM_OK);
            CHECK(spmm_multivector_create(33, k, SPMM_F32, SPMM_CPU, &d) == SPMM_OK);
            sp_multivector_generate(&a, SP_X_UNIFORM, 1, 0, 1);
            c = wide; /* a view of its first k columns */
            c.k = k;
            CHECK(spmm_multivector_copy(&b, &d) == SPMM_OK);
            for (int64_t i = 0; i < 33 * k; i++) CHECK(sp_multivector_get(&d, i / k, i % k) == 0);
            CHECK(spmm_multivector_copy(&a, &b) == SPMM_OK);
            CHECK(spmm_multivector_copy(&b, &c) == SPMM_OK);
            CHECK(spmm_multivector_copy(&c, &d) == SPMM_OK);
            for (int64_t i = 0; i < 33 * k; i++)
                CHECK(sp_multivector_get(&d, i / k, i % k) == sp_multivector_get(&a, i / k, i % k));
            spmm_multivector_destroy(&a);
            spmm_multivector_destroy(&b);
            spmm_multivector_destroy(&wide);
            spmm_multivector_destroy(&d);
        }
    }
}

/* ---- a kernel that fails makes the GPU useless to its process, so it runs in a process of its own ---- */

static int crash(void)
{
    int64_t start[2] = {0, 1}, *device_start;
    void *p;
    double x = 1, y = 0;
    spmm_multivector mx = {1, 1, 1, SPMM_F64, SPMM_CUDA, &x, 0, 0, SPMM_ROW_MAJOR},
                     my = {1, 1, 1, SPMM_F64, SPMM_CUDA, &y, 0, 0, SPMM_ROW_MAJOR};
    if (sp_device_open(0) != SPMM_OK || sp_device_alloc(&p, sizeof start, "a test") != SPMM_OK ||
        sp_device_upload(p, start, sizeof start) != SPMM_OK)
        return 1;
    device_start = p;
    /* columns and values are at an invalid address */
    const sp_matrix m = {.format = SPMM_CSR,
                         .precision = SPMM_F64,
                         .space = SPMM_CUDA,
                         .rows = 1,
                         .cols = 1,
                         .nnz = 1,
                         .row_start = device_start,
                         .col = (int32_t *)4096,
                         .val = (void *)4096};
    const sp_launch launch = {.a = &m, .x = &mx, .y = &my, .stream = sp_device_stream(SP_STREAM_MAIN)};
    spmm_status status = sp_kernel_find("csr_rows")->ops->run(&launch);
    if (status == SPMM_OK) status = sp_device_sync();
    printf("status %d, %s\n", (int)status, spmm_error_message());
    sp_device_free(p);
    sp_device_close();
    return 0;
}

static void test_crash(void)
{
    char self[4096], command[4200], text[1024] = "";
    if (sample_gpu_is_emulated()) {
        SKIP("an error inside a kernel ends in a message with the GPU's and the kernel's name",
             "the GPU is emulated");
        return;
    }
    TEST("an error inside a kernel ends in a message with the GPU's and the kernel's name") {
        const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        CHECK(n > 0);
        self[n > 0 ? n : 0] = '\0';
        snprintf(command, sizeof command, "'%s' --crash", self);
        FILE *child = popen(command, "r");
        CHECK(child && fgets(text, sizeof text, child));
        CHECK(child && pclose(child) == 0);
        CHECK_TEXT(text, "GPU 0 (");
        CHECK_TEXT(text, "): kernel csr_rows: ");
        snprintf(command, sizeof command, "status %d,", (int)SPMM_ERR_DEVICE);
        CHECK_TEXT(text, command);
    }
}

static int without_gpu(const char *why)
{
    TEST("without a GPU each function refuses and says why") {
        void *p = &p;
        sp_device_info info;
        sp_timer *timer = (sp_timer *)&p;
        CHECK(why[0] != '\0');
        CHECK(sp_device_open(0) == SPMM_ERR_NO_DEVICE);
        CHECK_TEXT(spmm_error_message(), why);
        CHECK(sp_device_describe(0, &info) == SPMM_ERR_NO_DEVICE);
        CHECK(sp_device_alloc(&p, 10, "a test") == SPMM_ERR_NO_DEVICE && p == NULL);
        CHECK_TEXT(spmm_error_message(), why);
        CHECK(sp_device_upload(&info, &info, 0) == SPMM_ERR_NO_DEVICE);
        CHECK(sp_device_sync() == SPMM_ERR_NO_DEVICE);
        CHECK(sp_device_stream(SP_STREAM_MAIN) == NULL);
        CHECK(sp_timer_create(&timer) == SPMM_ERR_NO_DEVICE && timer == NULL);
        sp_device_free(NULL);
        sp_device_close();
    }
    TEST("without a GPU a CUDA kernel refuses") {
        double x = 1, y = 0;
        const sp_matrix m = {.format = SPMM_CSR, .space = SPMM_CUDA, .rows = 1, .cols = 1};
        const spmm_multivector mx = {1, 1, 1, SPMM_F64, SPMM_CUDA, &x, 0, 0, SPMM_ROW_MAJOR};
        spmm_multivector my = {1, 1, 1, SPMM_F64, SPMM_CUDA, &y, 0, 0, SPMM_ROW_MAJOR};
        const sp_launch launch = {.a = &m, .x = &mx, .y = &my};
        CHECK(sp_kernel_find("csr_rows")->ops->run(&launch) == SPMM_ERR_NO_DEVICE);
    }
    SKIP("the GPU's facts, memory and copies", why);
    SKIP("every GPU kernel gives the serial product bit for bit", why);
    SKIP("an error inside a kernel ends in a message", why);
    return test_end();
}

int main(int argc, char **argv)
{
    const char *why;
    if (argc > 1 && strcmp(argv[1], "--crash") == 0) return crash();
    const int count = sp_device_count(&why);
    if (count == 0) return without_gpu(why);
    test_facts(count);
    if (!sp_device_stream(SP_STREAM_MAIN)) return test_end();
    test_copies();
    test_memory();
    test_multivectors();
    test_kernels();
    TEST("infinities, negative zeros and underflow come out as in the serial product: f64") {
        test_special_values(SPMM_F64);
    }
    TEST("infinities, negative zeros and underflow come out as in the serial product: f32") {
        test_special_values(SPMM_F32);
    }
    test_crash();
    sp_device_close();
    return test_end();
}
