/* limit: 300 */
#include <omp.h>

#include "base/cpu_isa.h"
#include "canonical.h"
#include "formats/format.h"
#include "formats/matrix.h"
#include "formats/thread_ranges.h"
#include "io/generators.h"
#ifndef SP_NO_BASELINE
#include "kernels/baseline/cpu_baseline.h"
#endif
#include "kernels/cpu/cpu_rows.h"
#include "kernels/cpu/cpu_slices.h"
#include "test.h"

static const int64_t all_k[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128};
static const int all_threads[] = {1, 3, 2, 5}; /* most checks use only the first FEW_THREADS */
enum {
    ALL_K = sizeof all_k / sizeof *all_k,
    ALL_THREADS = sizeof all_threads / sizeof *all_threads,
    FEW_THREADS = 2,
    GUARD = 64,
    LINE = 64
};

/** How many of all_threads are checked. */
static int threads_checked = FEW_THREADS;

/** 1: every K of a list is checked; n: every n-th K, starting at another one each time, because kernels are
 *  slow. */
static int k_step = 1;

static int first_k(void)
{
    static int calls;
    return calls++ % k_step;
}

/** 1: Y is aligned for streaming stores and written with them, whatever its size. */
static int streaming;

/** 1: the baseline kernels of is_plain() have been tested. They do not depend on the instruction set, so they
 *  are not tested again with the next one. */
static int plain_done;

/** Not NULL: only this kernel is checked, with one column. */
static const char *only;

static int is_plain(const sp_kernel *kernel)
{
    return strstr(kernel->id, "_static") || strstr(kernel->id, "_transposed");
}

static void set_streaming(int on)
{
    streaming = on;
    sp_rows_stream_from(on ? 0 : -1);
}

/** A matrix in all formats that are made on the host; the others are zeroed. */
typedef struct formats {
    spmm_csr csr;
    sp_matrix matrix[SP_FORMATS]; /* by spmm_format */
} formats;

static void formats_convert(formats *f)
{
    memset(f->matrix, 0, sizeof f->matrix);
    for (int n = SP_FIRST_FORMAT; n < SP_FORMATS; n++)
        if (sp_formats[n]->convert &&
            sp_matrix_create(&f->csr, (spmm_format)n, SPMM_CPU, 1e9, 0, 2, &f->matrix[n]) != SPMM_OK)
            abort();
}

static void formats_create(sample s, sample_values kind, spmm_precision precision, formats *f)
{
    sample_csr(s, kind, precision, &f->csr);
    formats_convert(f);
}

static void formats_destroy(formats *f)
{
    for (int n = SP_FIRST_FORMAT; n < SP_FORMATS; n++) sp_matrix_destroy(&f->matrix[n]);
    spmm_csr_destroy(&f->csr);
}

/** An aligned multivector of one column, of exactly `rows` elements of NaN. */
static spmm_multivector aligned_column(int64_t rows, spmm_precision precision)
{
    spmm_multivector v = {rows, 1, 1, precision, SPMM_CPU, NULL, 0, 0, SPMM_ROW_MAJOR};
    if (posix_memalign(&v.data, LINE, (size_t)rows * sp_value_size(precision)) != 0) abort();
    for (int64_t e = 0; e < rows; e++) sample_set(v.data, precision, e, (double)NAN);
    return v;
}

/** Runs the kernel into a Y of NaN with guards before and behind it, and compares Y with `expected`. */
static void check_kernel(const sp_kernel *kernel, const formats *f, const sp_thread_ranges *work,
                         const spmm_multivector *x, int64_t ldy, const spmm_multivector *expected)
{
    const sp_matrix *const m = &f->matrix[kernel->format];
    const sp_setup setup = {m, &f->csr, x->k, work->threads, {0}, x->k, 0};
    void *state = NULL;
    const int64_t n = m->rows * ldy, size = (int64_t)sp_value_size(m->precision);
    spmm_multivector room = streaming ? aligned_column(n + 2 * GUARD, m->precision)
                                      : sample_multivector(n + 2 * GUARD, 1, 1, m->precision);
    spmm_multivector y = {
        m->rows, x->k, ldy, m->precision, SPMM_CPU, (char *)room.data + GUARD * size, 0, 0, SPMM_ROW_MAJOR};
    for (int64_t e = 0; e < GUARD; e++) {
        sample_set(room.data, m->precision, e, 12345);
        sample_set(room.data, m->precision, GUARD + n + e, 12345);
    }
    if (kernel->ops->prepare) CHECK_INT(kernel->ops->prepare(&setup, &state), SPMM_OK);
    const sp_launch launch = {.a = m, .ranges = work, .state = state, .x = x, .y = &y};
    CHECK_INT(kernel->ops->run(&launch), SPMM_OK);
    if (kernel->ops->release) kernel->ops->release(state);
    const int same = sample_same(&y, expected);
    if (!same)
        printf("  %s, k %d, ldx %d, ldy %d, threads %d:\n", kernel->id, (int)x->k, (int)x->ld, (int)ldy,
               work->threads);
    CHECK(same);
    for (int64_t e = 0; e < GUARD; e++) {
        CHECK(sample_get(room.data, m->precision, e) == 12345);
        CHECK(sample_get(room.data, m->precision, GUARD + n + e) == 12345);
    }
    free(room.data);
}

/** Checks every CPU kernel of the registry on f, for one k, one pair of leading dimensions and all
 *  threads. */
static void check_kernels(const formats *f, sample_values kind, int64_t k, int64_t ldx, int64_t ldy)
{
    const spmm_csr *const a = &f->csr;
    if (only && k != 1) return;
    spmm_multivector x = sample_multivector(a->cols, k, ldx, a->precision); /* NaN in the padding */
    sample_fill(&x, kind, 17);
    /* the bits that kernels must compute: the canonical order, or one chain per row for kernels that do not
     * cut rows */
    spmm_multivector expected[] = {naive_product(a, &x, 0), naive_product(a, &x, 1)};
    int kernels;
    const sp_kernel *const kernel = sp_kernels(&kernels);
    for (int n = 0; n < kernels; n++) {
        if (kernel[n].device != SPMM_CPU || (plain_done && is_plain(&kernel[n]))) continue;
        if (only && strcmp(kernel[n].id, only) != 0) continue;
        for (int t = 0; t < threads_checked; t++) {
            sp_thread_ranges work;
            CHECK_INT(sp_thread_ranges_create(a->irp, a->rows, all_threads[t], &work), SPMM_OK);
            check_kernel(&kernel[n], f, &work, &x, ldy, &expected[kernel[n].exact == SP_EXACT_UNSPLIT]);
            sp_thread_ranges_destroy(&work);
        }
    }
    free(expected[0].data);
    free(expected[1].data);
    free(x.data);
}

static void check_samples(sample_values kind)
{
    threads_checked = kind == SAMPLE_REALS ? ALL_THREADS : FEW_THREADS;
    for (int s = 0; s < SAMPLES; s++)
        for (int p = 0; p < 2; p++) {
            formats f;
            formats_create((sample)s, kind, p ? SPMM_F32 : SPMM_F64, &f);
            for (int n = first_k(); n < ALL_K; n += k_step + streaming) {
                const int64_t k = all_k[n], padded = (k + 7) / 8 * 8;
                check_kernels(&f, kind, k, k, k);
                check_kernels(&f, kind, k, padded, k < 4 ? k : padded);
                if (kind == SAMPLE_REALS) check_kernels(&f, kind, k, k + 1, padded);
            }
            formats_destroy(&f);
        }
    threads_checked = FEW_THREADS;
}

/* The values of the matrices below: any; all equal; all exact in f32; all exact in f32 except the last
 * one. */
static enum { REALS, EQUAL, NARROW, NARROW_BUT_LAST } values;
enum { MOST_FEW = 17 }; /* with more columns, kernels ignore the kind of values */

/** A value that is 0 or a normal number in f32; a third are -0 or have the least or greatest magnitude. */
static double narrow_value(int64_t e)
{
    static const double special[] = {-0.0, 0x1p-126, -0x1.000002p-126, 0x1.fffffep+127};
    const uint64_t r = sp_random_below(5, (uint64_t)e, 0, 12);
    return r < 4 ? special[r] : (double)(float)sp_random_unit(5, (uint64_t)e, 0);
}

static void set_value(spmm_csr *a, int64_t e)
{
    sample_set(a->as, a->precision, e,
               values == EQUAL                                ? 1.0 / 3
               : values == REALS                              ? sp_random_unit(5, (uint64_t)e, 0)
               : values == NARROW_BUT_LAST && e == a->nnz - 1 ? (e % 2 ? 1.0 / 3 : 0x1.fffffcp-127)
                                                              : narrow_value(e));
}

/** Checks a matrix large enough that every loop reaches its steady state, also those over chunks of rows. */
static void check_large(void)
{
    enum { ROWS = 3000, ENTRIES = 100000 };
    for (int p = 0; p < 2; p++) {
        sp_coo coo;
        formats f;
        if (sp_coo_create(ROWS, ROWS, ENTRIES, SP_GENERAL, p ? SPMM_F32 : SPMM_F64, 1, &coo) != SPMM_OK)
            abort();
        for (int64_t t = 0; t < ENTRIES; t++) {
            coo.I[t] = (int32_t)(t < ENTRIES / 4 ? 77 : sp_random_below(3, (uint64_t)t, 0, ROWS));
            coo.J[t] = (int32_t)sp_random_below(3, (uint64_t)t, 1, ROWS);
            sample_set(coo.val, coo.precision, t, sp_random_unit(3, (uint64_t)t, 2));
        }
        if (sp_csr_from_coo(&coo, 2, &f.csr, NULL) != SPMM_OK) abort();
        formats_convert(&f);
        static const int64_t ks[] = {1, 4, 13, 64, 130, 257};
        for (int n = first_k() % 2; n < 6; n += (k_step + 1) / 2)
            check_kernels(&f, SAMPLE_REALS, ks[n], (ks[n] + 3) / 4 * 4, (ks[n] + 3) / 4 * 4);
        formats_destroy(&f);
    }
}

/** Checks rows that share columns with their neighbors, which kernels process together. */
static void check_structures(void)
{
    static const char *const spec[] = {"lap2d5:23",       "lap3d7:20",           "lap3d27:7",
                                       "fem3:6",          "band:300,7,40",       "uniform:3000,16",
                                       "uniform:700,150", "longrows:500,5,3,300"};
    static const int64_t ks[] = {1, 2, 4, 8, 12, 16, 20, 32, 40, 64, 128};
    for (int p = 0; p < 2; p++)
        for (int n = 0; n < (int)(sizeof spec / sizeof *spec); n++) {
            formats f;
            if (sp_gen_csr(spec[n], p ? SPMM_F32 : SPMM_F64, 2, &f.csr) != SPMM_OK) abort();
            /* every 97th row is changed, which breaks a group of like rows */
            for (int64_t e = 0; e < f.csr.nnz; e++) set_value(&f.csr, e);
            for (int64_t i = 40; i < f.csr.rows; i += 97)
                if (f.csr.irp[i] < f.csr.irp[i + 1] && f.csr.ja[f.csr.irp[i]] > 0) f.csr.ja[f.csr.irp[i]]--;
            formats_convert(&f);
            for (int k = first_k(); k < (int)(sizeof ks / sizeof *ks); k += k_step) {
                const int64_t padded = (ks[k] + 3) / 4 * 4;
                if (values != REALS && ks[k] > MOST_FEW) continue;
                check_kernels(&f, SAMPLE_REALS, ks[k], padded, padded);
                if (ks[k] == 1) check_kernels(&f, SAMPLE_REALS, 1, 1, 1);
            }
            formats_destroy(&f);
        }
}

/** Checks rows of n entries each, of every kind of like rows that kernels process together. */
static void check_long_runs(int64_t n, spmm_precision precision)
{
    enum { EACH = 24, KINDS = 5 };
    static const int64_t ks[] = {1, 2, 4, 8, 13, 16, 40, 64, 130};
    formats f;
    if (sp_csr_create(EACH * KINDS, 2 * n + EACH + 1, EACH * KINDS * n, precision, &f.csr) != SPMM_OK)
        abort();
    for (int64_t i = 0; i < f.csr.rows; i++) {
        const int64_t r = i % EACH, first[KINDS] = {r, r / 2 * 2, r / 3 * 3, 0, 0}, kind = i / EACH;
        f.csr.irp[i + 1] = f.csr.irp[i] + n;
        for (int64_t e = 0; e < n; e++) {
            const int64_t at = f.csr.irp[i] + e, like = kind == 3 ? i : i / 3;
            f.csr.ja[at] = (int32_t)(first[kind] + 2 * e +
                                     (kind < 3 ? 0 : sp_random_below(9, (uint64_t)like, (uint64_t)e, 2)));
            set_value(&f.csr, at);
        }
    }
    formats_convert(&f);
    for (int k = first_k(); k < (int)(sizeof ks / sizeof *ks); k += k_step)
        if (values == REALS || ks[k] <= MOST_FEW)
            check_kernels(&f, SAMPLE_REALS, ks[k], (ks[k] + 3) / 4 * 4, (ks[k] + 3) / 4 * 4);
    check_kernels(&f, SAMPLE_REALS, 1, 1, 1);
    formats_destroy(&f);
}

/** Checks rows with lengths around all bounds of the canonical order, and rows that threads share. */
static void check_lengths(void)
{
    static const int64_t ks[] = {1, 2, 3, 4, 8, 9, 12, 17, 24, 32, 64, 100},
                         giants[] = {3, 65535, 0, 65536, 65537, 147456}, giant_ks[] = {1, 3, 8, 17},
                         equal[] = {129, 160, 1057};
    for (int p = 0; p < 2; p++) {
        const spmm_precision precision = p ? SPMM_F32 : SPMM_F64;
        formats f;
        sample_lengths(canonical_lengths, CANONICAL_LENGTHS, precision, &f.csr);
        for (int64_t e = 0; values != REALS && e < f.csr.nnz; e++) set_value(&f.csr, e);
        formats_convert(&f);
        for (int n = first_k(); n < 12 && !(values != REALS && ks[n] > MOST_FEW); n += k_step)
            check_kernels(&f, SAMPLE_REALS, ks[n], ks[n], (ks[n] + 7) / 8 * 8);
        formats_destroy(&f);
        sample_lengths(giants, 6, precision, &f.csr);
        for (int64_t e = 0; values != REALS && e < f.csr.nnz; e++) set_value(&f.csr, e);
        formats_convert(&f);
        /* (Threads share long rows in the same way whatever the values are and however Y is stored, so few
         * cases suffice when this function runs again.) */
        const int again = values != REALS || streaming;
        threads_checked = again ? FEW_THREADS : ALL_THREADS;
        for (int n = again; n < (again ? 2 : 4); n += (k_step + 1) / 2)
            check_kernels(&f, SAMPLE_REALS, giant_ks[n], giant_ks[n], giant_ks[n]);
        threads_checked = FEW_THREADS;
        formats_destroy(&f);
        for (int n = 0; n < 3; n++) check_long_runs(equal[n], precision);
    }
}

/** Checks that rows of X to which no entry refers do not change Y, even if they are inf or NaN. */
static void check_leaks(void)
{
    for (int p = 0; p < 2; p++) {
        const int64_t i[] = {0, 0, 0, 2, 4}, j[] = {1, 3, 6, 3, 1};
        const spmm_precision precision = p ? SPMM_F32 : SPMM_F64;
        formats f;
        CHECK_INT(spmm_csr_from_triplets(5, 8, 5, i, j, NULL, precision, &f.csr), SPMM_OK);
        formats_convert(&f);
        int kernels;
        const sp_kernel *const kernel = sp_kernels(&kernels);
        for (int64_t k = 1; k <= 40; k++)
            for (int n = 0; n < kernels; n++) {
                if (kernel[n].device != SPMM_CPU) continue;
                spmm_multivector x = sample_multivector(8, k, k, precision),
                                 y = sample_multivector(5, k, k, precision);
                for (int64_t r = 0; r < 8; r++)
                    for (int64_t c = 0; c < k; c++)
                        sample_set(x.data, precision, r * k + c,
                                   r == 1 || r == 3 || r == 6 ? 1
                                   : r % 2                    ? (double)INFINITY
                                                              : (double)NAN);
                sp_thread_ranges work;
                CHECK_INT(sp_thread_ranges_create(NULL, 5, 2, &work), SPMM_OK);
                const sp_matrix *const m = &f.matrix[kernel[n].format];
                const sp_setup setup = {m, &f.csr, k, 2, {0}, k, 0};
                void *state = NULL;
                if (kernel[n].ops->prepare) CHECK_INT(kernel[n].ops->prepare(&setup, &state), SPMM_OK);
                const sp_launch launch = {.a = m, .ranges = &work, .state = state, .x = &x, .y = &y};
                CHECK_INT(kernel[n].ops->run(&launch), SPMM_OK);
                if (kernel[n].ops->release) kernel[n].ops->release(state);
                static const double expected[] = {3, 0, 1, 0, 1};
                for (int64_t e = 0; e < 5 * k; e++)
                    CHECK(sample_get(y.data, precision, e) == expected[e / k]);
                sp_thread_ranges_destroy(&work);
                free(x.data);
                free(y.data);
            }
        formats_destroy(&f);
    }
}

#ifndef SP_NO_BASELINE
/** Writes the number of the thread to Y, for the rows that it computes. */
static void note_thread(const sp_launch *l, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) ((double *)l->y->data)[i] += omp_get_thread_num();
}

/** Checks the rows of each thread of the report's product: those that schedule(static, chunk) gives it in a
 *  loop over the rows. */
static void check_baseline_rows(int64_t rows, int threads, const int64_t *expected)
{
    const sp_matrix a = {.rows = rows};
    const sp_thread_ranges ranges = {.threads = threads};
    const int64_t chunk = sp_baseline_chunk(rows, threads);
    spmm_multivector y = sample_multivector(rows, 1, 1, SPMM_F64);
    int64_t *const found = calloc((size_t)threads, sizeof *found);
    if (!found) abort();
    memset(y.data, 0, (size_t)rows * sizeof(double));
    sp_baseline_rows(&(sp_launch){.a = &a, .ranges = &ranges, .y = &y}, note_thread);
#pragma omp parallel for schedule(static, chunk) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) ((double *)y.data)[i] -= omp_get_thread_num();
    for (int64_t i = 0; i < rows; i++) CHECK(((const double *)y.data)[i] == 0);
#pragma omp parallel for schedule(static, chunk) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) found[omp_get_thread_num()]++;
    for (int t = 0; expected && t < threads; t++) CHECK_INT(found[t], expected[t]);
    free(found);
    free(y.data);
}
#endif

/** \param [in] all  1: also long rows, and Y written with streaming stores */
static void check_few_columns(int kind, int all)
{
    values = kind;
    test_traps(0); /* some values overflow in f32 */
    check_structures();
    if (all) {
        check_lengths();
        set_streaming(1);
        check_structures();
        set_streaming(0);
    }
    values = REALS;
}

/** Checks slices of a matrix larger than the caches: with prefetching, and with column indices of 16 bits if
 *  the columns of each slice span at most 65536. */
static void check_large_slices(void)
{
    only = "cpu_sell";
    sp_sell_large_from(0);
    check_few_columns(REALS, 1);
    check_few_columns(EQUAL, 0);
    for (int32_t last = UINT16_MAX; last <= UINT16_MAX + 1; last++)
        for (int p = 0; p < 2; p++) {
            formats f;
            if (sp_gen_csr("lap2d5:300", p ? SPMM_F32 : SPMM_F64, 2, &f.csr) != SPMM_OK) abort();
            f.csr.ja[f.csr.irp[1] - 1] = last; /* row 0 has column 0, too */
            formats_convert(&f);
            check_kernels(&f, SAMPLE_REALS, 1, 1, 1);
            check_kernels(&f, SAMPLE_REALS, 1, 2, 3);
            formats_destroy(&f);
        }
    sp_sell_large_from(-1);
    only = NULL;
}

/** Overwrites the values with NaN, including the copies in a kernel's state. */
static void spoil(const sp_kernel *kernel, sp_matrix *m, void *state)
{
    sp_value_copy copies[SP_MOST_COPIES] = {{m->val, m->bytes[SP_VAL] / 8}};
    const int count = kernel->ops->values(state, copies);
    for (int n = 0; n < (count > 0 ? count : 1); n++)
        memset(copies[n].val, 0xff, (size_t)copies[n].count * 8);
}

/** Checks one product after the f64 values have been overwritten with NaN: Y must be wrong if the kernel
 *  reads these values (`is_read`), else right.
 *  \param [in] equal  1: all values are equal */
static void check_spoiled(const sp_kernel *kernel, int64_t k, int equal, int is_read)
{
    formats f;
    sp_thread_ranges work;
    void *state;
    if (sp_gen_csr("lap2d5:23", SPMM_F64, 2, &f.csr) != SPMM_OK) abort();
    for (int64_t e = 0; e < f.csr.nnz; e++)
        sample_set(f.csr.as, SPMM_F64, e, equal ? 3.5 : (double)(e % 7) - 3.5);
    formats_convert(&f);
    spmm_multivector x = sample_multivector(f.csr.cols, k, k, SPMM_F64),
                     y = sample_multivector(f.csr.rows, k, k, SPMM_F64);
    sample_fill(&x, SAMPLE_REALS, 17);
    spmm_multivector expected = naive_product(&f.csr, &x, 0);
    sp_matrix *const m = &f.matrix[kernel->format];
    const sp_setup setup = {m, &f.csr, k, 2, {0}, k, 0};
    CHECK_INT(sp_thread_ranges_create(f.csr.irp, f.csr.rows, 2, &work), SPMM_OK);
    CHECK_INT(kernel->ops->prepare(&setup, &state), SPMM_OK);
    spoil(kernel, m, state);
    CHECK_INT(kernel->ops->run(&(sp_launch){.a = m, .ranges = &work, .state = state, .x = &x, .y = &y}),
              SPMM_OK);
    CHECK_INT(sample_same(&y, &expected), !is_read);
    kernel->ops->release(state);
    sp_thread_ranges_destroy(&work);
    free(expected.data);
    free(x.data);
    free(y.data);
    formats_destroy(&f);
}

static void check_unread(sp_isa isa)
{
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    static const int64_t ks[] = {1, 2, 3, 4, 8, 9};
    const int64_t most = isa == SP_ISA_GENERIC ? 0 : isa == SP_ISA_AVX2 ? 4 : 8;
    for (int large = 0; large < 2; large++)
        for (int n = 0; n < count; n++)
            for (int k = 0; k < 6 && kernels[n].ops->run == sp_rows_run; k++) {
                sp_rows_narrow_from(large ? 0 : -1);
                check_spoiled(&kernels[n], ks[k], 0, !large || ks[k] > most);
            }
    sp_rows_narrow_from(-1);
    /* the common value of all entries is not in the copies that are overwritten */
    for (int equal = 0; equal < 2; equal++) check_spoiled(sp_kernel_find("cpu_sell"), 1, equal, !equal);
}

/** Runs all tests with the instructions that `isa` allows. */
static void test_isa(sp_isa isa)
{
#define NAMED(text) test_name("%s: %s", sp_isa_name(isa), text)
    setenv("SPMM_ISA", sp_isa_name(isa), 1);
    if (sp_cpu_isa() != isa) {
        SKIP(NAMED("the CPU kernels give the serial product"), "this machine lacks the instructions");
        return;
    }
    /* generic loops are slow, and so is memory that a sanitizer watches */
    k_step = (isa == SP_ISA_GENERIC ? 3 : 1) + (TEST_SANITIZED ? 5 : 0);
    TEST(NAMED("products of small integers are exact, whatever Y held, and nothing beside Y is written")) {
        check_samples(SAMPLE_INTEGERS);
    }
    TEST(
        NAMED("products of reals have the canonical order, bit for bit, for every k and number of threads")) {
        check_samples(SAMPLE_REALS);
    }
    TEST(NAMED("so they are with long rows and many chunks of rows")) { check_large(); }
    TEST(NAMED("so they are where rows share columns")) { check_structures(); }
    TEST(NAMED("so they are for rows of all lengths, alone and with others of the same columns")) {
        check_lengths();
    }
    TEST(NAMED("so they are where all values are equal, and also if Y is stored past the caches")) {
        check_few_columns(EQUAL, 1);
    }
    TEST(NAMED("so they are where f32 has all values of f64, or all but one")) {
        sp_rows_narrow_from(0);
        k_step *= 3;
        check_samples(SAMPLE_INTEGERS);
        k_step /= 3;
        check_few_columns(NARROW, 1);
        check_few_columns(NARROW_BUT_LAST, 0);
        sp_rows_narrow_from(-1);
    }
    TEST(NAMED("so they are where slices are prefetched and may have short column indices")) {
        check_large_slices();
    }
    TEST(NAMED("with few columns, values that f32 has are not read in f64")) { check_unread(isa); }
    TEST(NAMED("stored past the caches, Y is the same and nothing beside it is written")) {
        set_streaming(1);
        check_samples(SAMPLE_INTEGERS);
        check_structures();
        check_lengths();
        set_streaming(0);
    }
    TEST(NAMED("inf and NaN in rows of X that A does not use stay out of Y")) { check_leaks(); }
    plain_done = 1;
}

int main(void)
{
    TEST("the registry finds each kernel by its name, and the first of a format is its default") {
        int count;
        const sp_kernel *const kernel = sp_kernels(&count);
        CHECK(count >= 3);
        for (int n = 0; n < count; n++) {
            CHECK(sp_kernel_find(kernel[n].id) == &kernel[n]);
            const sp_kernel *const chosen = sp_kernel_default(kernel[n].device, kernel[n].format);
            CHECK(chosen && chosen <= &kernel[n] && chosen->device == kernel[n].device &&
                  chosen->format == kernel[n].format);
        }
        CHECK(!sp_kernel_find("no_such_kernel"));
        CHECK(strcmp(sp_kernel_default(SPMM_CPU, SPMM_CSR)->id, "cpu_csr") == 0);
    }
    /* what threads share does not depend on the instructions: the thread sanitizer needs only one set */
    for (int isa = TEST_THREADS_WATCHED ? (int)sp_cpu_isa() : SP_ISA_GENERIC; isa <= SP_ISA_AVX512; isa++)
        test_isa((sp_isa)isa);
    unsetenv("SPMM_ISA");
#ifndef SP_NO_BASELINE
    TEST("threads of the report's product share rows that their chunks do not divide") {
        /* bcsstk16, cage9, lap3d7:60 */
        check_baseline_rows(4884, 2, (int64_t[]){2452, 2432});
        check_baseline_rows(4884, 4, (int64_t[]){1236, 1216, 1216, 1216});
        check_baseline_rows(3534, 2, (int64_t[]){1774, 1760});
        check_baseline_rows(216000, 8, (int64_t[]){27056, 26992, 26992, 26992, 26992, 26992, 26992, 26992});
        for (int64_t rows = 0; rows < 100; rows++)
            for (int threads = 1; threads <= 5; threads++) check_baseline_rows(rows, threads, NULL);
    }
#endif
    TEST("a kernel is right with fewer threads than row ranges") {
        omp_set_max_active_levels(1);
        formats f;
        formats_create(SAMPLE_RANDOM, SAMPLE_REALS, SPMM_F64, &f);
#pragma omp parallel num_threads(2)
#pragma omp single
        {
            check_kernels(&f, SAMPLE_REALS, 8, 8, 8);
            check_lengths();
        }
        formats_destroy(&f);
    }
    return test_end();
}
