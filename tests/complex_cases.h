/** Complex matrices: products with A, A^T and A^H, complex factors, what solvers compute between products. */
#ifndef SP_COMPLEX_CASES_H
#define SP_COMPLEX_CASES_H

#include <complex.h>
#undef I /* a name in headers of this project */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "distribute/scatter.h"
#include "formats/csr.h"
#include "formats/multivector.h"
#include "formats/serial.h"
#include "planned.h"

#ifndef CMPLX /* by clang with glibc's header */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

static int size;
static spmm_device device;

static int says(const char *text) { return strstr(spmm_error_message(), text) != NULL; }

/** Element (i, j) of X. */
static sp_c128 element(int64_t i, int64_t j)
{
    return CMPLX(sp_x_element(SP_X_UNIFORM, 5, i, j), sp_x_element(SP_X_UNIFORM, 6, i, j));
}

/** Returns a copy of v in host memory; the caller destroys it. */
static spmm_multivector on_host(const spmm_multivector *v)
{
    spmm_multivector host;
    CHECK_INT(spmm_multivector_create(v->rows, v->k, v->precision, SPMM_CPU, &host), SPMM_OK);
    CHECK_INT(spmm_multivector_copy(v, &host), SPMM_OK);
    return host;
}

/** Sets element (i, j) of v to element(first + i, first_column + j), or to `all` if first is negative. */
static void fill(spmm_multivector *v, int64_t first, int64_t first_column, sp_c128 all)
{
    spmm_multivector host = on_host(v);
    for (int64_t i = 0; i < v->rows; i++)
        for (int64_t j = 0; j < v->k; j++)
            sp_value_set(host.data, v->precision, i * host.ld + j,
                         first < 0 ? all : element(first + i, first_column + j));
    CHECK_INT(spmm_multivector_copy(&host, v), SPMM_OK);
    spmm_multivector_destroy(&host);
}

/** The whole matrix, on every rank, and its blocks. */
typedef struct whole {
    spmm_csr a;
    spmm_block block;
} whole;

static void whole_create(const char *spec, spmm_precision precision, int q, whole *w)
{
    CHECK_INT(spmm_csr_generate(spec, precision, &w->a), SPMM_OK);
    CHECK_INT(spmm_csr_scatter(MPI_COMM_WORLD, 0, &w->a, size / q, q, &w->block), SPMM_OK);
}

static void whole_destroy(whole *w)
{
    spmm_block_destroy(&w->block);
    spmm_csr_destroy(&w->a);
}

/** Computes, for all rows, op(A) X and a bound of the error, with doubles, entry by entry. */
static void reference(const spmm_csr *a, spmm_operation op, int64_t k, sp_c128 *y, double *bound)
{
    const int64_t rows = op == SPMM_NO_TRANSPOSE ? a->rows : a->cols;
    const double unit = sp_type_of(a->precision).unit;
    for (int64_t e = 0; e < rows * k; e++) y[e] = bound[e] = 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const sp_c128 v = sp_value_at(a->as, a->precision, e);
            const int64_t to = op == SPMM_NO_TRANSPOSE ? i : a->ja[e],
                          from = op == SPMM_NO_TRANSPOSE ? a->ja[e] : i;
            for (int64_t j = 0; j < k; j++) {
                y[to * k + j] += (op == SPMM_CONJUGATE_TRANSPOSE ? conj(v) : v) * element(from, j);
                bound[to * k + j] += 300 * unit * cabs(v) * cabs(element(from, j));
            }
        }
}

/** Checks y = alpha op(A) X + beta Y0, where Y0 is all 1 + 2i. */
static void check_product(const whole *w, const planned *p, spmm_operation op, sp_c128 alpha, sp_c128 beta)
{
    const spmm_csr *const a = &w->a;
    const int forward = op == SPMM_NO_TRANSPOSE;
    const spmm_multivector *const x = forward ? &p->x : &p->y;
    spmm_multivector *const y = forward ? (spmm_multivector *)&p->y : (spmm_multivector *)&p->x;
    const int64_t k = x->k, rows = forward ? a->rows : a->cols;
    const int64_t first = forward ? w->block.row_begin : w->block.x_begin;
    sp_c128 *const expected = malloc(sizeof *expected * (size_t)(rows * k + 1));
    double *const bound = malloc(sizeof *bound * (size_t)(rows * k + 1));
    reference(a, op, k, expected, bound);
    fill((spmm_multivector *)x, forward ? w->block.x_begin : w->block.row_begin, 0, 0);
    fill(y, -1, 0, CMPLX(1, 2));
    CHECK_INT(spmm_apply_complex(p->plan, op, alpha, x, beta, y), SPMM_OK);
    int wrong = 0;
    spmm_multivector host = on_host(y);
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < k; j++) {
            const int64_t at = (first + i) * k + j;
            const sp_c128 right = alpha * expected[at] + beta * CMPLX(1, 2);
            wrong += !(cabs(sp_multivector_at(&host, i, j) - right) <=
                       2 * cabs(alpha) * bound[at] + 10 * sp_type_of(y->precision).unit * cabs(beta));
        }
    CHECK_INT(wrong, 0);
    spmm_multivector_destroy(&host);
    free(expected);
    free(bound);
}

/** Checks that Y on P x 1 ranks has the bits of the serial product. */
static void check_bits(const whole *w, const planned *p)
{
    sp_matrix m;
    spmm_multivector x, y;
    const int64_t k = p->x.k;
    int different = 0;
    sp_matrix_view_csr(&w->a, &m);
    CHECK_INT(spmm_multivector_create(w->a.cols, k, w->a.precision, SPMM_CPU, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_create(w->a.rows, k, w->a.precision, SPMM_CPU, &y), SPMM_OK);
    fill(&x, 0, 0, 0);
    fill((spmm_multivector *)&p->x, w->block.x_begin, 0, 0);
    sp_serial_product(&m, 0, w->a.rows, &x, &y);
    CHECK_INT(spmm_apply(p->plan, 1, &p->x, 0, (spmm_multivector *)&p->y), SPMM_OK);
    spmm_multivector host = on_host(&p->y);
    for (int64_t i = 0; i < p->y.rows; i++)
        different |= memcmp(sp_row(&host, i), sp_row(&y, w->block.row_begin + i),
                            (size_t)(k * sp_value_size(y.precision))) != 0;
    CHECK_INT(different, 0);
    spmm_multivector_destroy(&host);
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
}

static void check_all(const char *spec, spmm_precision precision, int64_t k, int q, const char *kernel)
{
    whole w;
    planned p;
    const spmm_plan_options options = {.products = 1, .device = device, .kernel = kernel};
    whole_create(spec, precision, q, &w);
    planned_of(&w.block, k, &options, &p);
    check_product(&w, &p, SPMM_NO_TRANSPOSE, 1, 0);
    check_product(&w, &p, SPMM_NO_TRANSPOSE, CMPLX(0.5, -2), CMPLX(1, 3));
    check_product(&w, &p, SPMM_TRANSPOSE, 1, 0);
    check_product(&w, &p, SPMM_CONJUGATE_TRANSPOSE, CMPLX(0, 1), 2);
    check_product(&w, &p, SPMM_TRANSPOSE, CMPLX(2, 1), 1);
    if (q == 1) check_bits(&w, &p);
    planned_destroy(&p);
    whole_destroy(&w);
}

/** Returns a multivector with elements element(first + i, first_column + j); the caller destroys it. */
static spmm_multivector filled(spmm_precision precision, int64_t rows, int64_t k, int64_t first,
                               int64_t first_column)
{
    spmm_multivector v;
    CHECK_INT(spmm_multivector_create(rows, k, precision, device, &v), SPMM_OK);
    fill(&v, first, first_column, 0);
    return v;
}

/** Checks elements of v against an expression in i and j, for some i. */
#define CHECK_ELEMENTS(v, expected)                                                     \
    do {                                                                                \
        spmm_multivector host_ = on_host(&(v));                                         \
        for (int64_t i = 0; i < (v).rows; i += 50)                                      \
            for (int64_t j = 0; j < (v).k; j++)                                         \
                CHECK(cabs(sp_multivector_at(&host_, i, j) - (expected)) <= tolerance); \
        spmm_multivector_destroy(&host_);                                               \
    } while (0)

/** Returns element (i, j) of alpha X R + beta Y. */
static sp_c128 times_element(int64_t i, int64_t j, int64_t kx, int64_t ky, sp_c128 alpha, const sp_c128 *r,
                             sp_c128 beta)
{
    sp_c128 sum = beta * element(i, 100 + j);
    for (int64_t k = 0; k < kx; k++) sum += alpha * element(i, k) * r[k * ky + j];
    return sum;
}

/** Checks the functions of multivectors for X [rows x kx] and Y [rows x ky] on this rank. */
static void check_dense(spmm_precision precision, int64_t rows, int64_t kx, int64_t ky)
{
    const double tolerance = 1e4 * sp_type_of(precision).unit;
    int64_t first = 0;
    for (int r = 0; r < test_.rank; r++) first += 700 + r;
    int64_t all = 0;
    for (int r = 0; r < size; r++) all += 700 + r;
    spmm_multivector x = filled(precision, rows, kx, first, 0), y = filled(precision, rows, ky, first, 100);
    sp_c128 *const g = malloc(sizeof *g * (size_t)(kx * (ky + 2)));
    double *const norm = malloc(sizeof *norm * (size_t)kx);
    CHECK_INT(spmm_multivector_dot_complex(MPI_COMM_WORLD, &x, &y, g, ky + 2), SPMM_OK);
    CHECK_INT(spmm_multivector_norms(MPI_COMM_WORLD, &x, norm), SPMM_OK);
    CHECK_INT(spmm_multivector_dot(MPI_COMM_WORLD, &x, &y, norm, ky), SPMM_ERR_USAGE);
    CHECK(says("spmm_multivector_dot: x is ") &&
          says("expected real values: call spmm_multivector_dot_complex()"));
    for (int64_t i = 0; i < kx; i += 3) {
        sp_c128 sum = 0;
        double squares = 0;
        for (int64_t r = 0; r < all; r++) {
            sum += conj(element(r, i)) * element(r, 102);
            squares += creal(conj(element(r, i)) * element(r, i));
        }
        CHECK(cabs(g[i * (ky + 2) + 2] - sum) <= 1e-10);
        CHECK(fabs(norm[i] - sqrt(squares)) <= 1e-10);
    }
    const sp_c128 alpha = CMPLX(1, -2), beta = CMPLX(0.5, 1);
    sp_c128 *const r = malloc(sizeof *r * (size_t)(kx * ky));
    for (int64_t e = 0; e < kx * ky; e++) r[e] = element(e, 55);
    CHECK_INT(spmm_multivector_times_complex(alpha, &x, r, ky, beta, &y), SPMM_OK);
    CHECK_ELEMENTS(y, times_element(first + i, j, kx, ky, alpha, r, beta));
    CHECK_INT(spmm_multivector_times(1, &x, norm, ky, 0, &y), SPMM_ERR_USAGE);
    spmm_multivector z = filled(precision, rows, kx, first, 7);
    CHECK_INT(spmm_multivector_axpby_complex(alpha, &x, beta, &z), SPMM_OK);
    CHECK_ELEMENTS(z, alpha * element(first + i, j) + beta * element(first + i, 7 + j));
    CHECK_INT(spmm_multivector_axpby(2, &x, 0, &z), SPMM_OK);
    CHECK_ELEMENTS(z, 2 * element(first + i, j));
    spmm_multivector d = filled(precision, rows, 1, first, 9);
    CHECK_INT(spmm_multivector_scale_complex(r, &x), SPMM_OK);
    CHECK_INT(spmm_multivector_scale_rows(&d, &x), SPMM_OK);
    CHECK_ELEMENTS(x, element(first + i, j) * r[j] * element(first + i, 9));
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    spmm_multivector_destroy(&z);
    spmm_multivector_destroy(&d);
    free(g);
    free(norm);
    free(r);
}

static void test_complex(void)
{
    static const spmm_precision types[] = {SPMM_C128, SPMM_C64};
    TEST(
        "products with A, A^T and A^H and complex factors are right on every grid, and have the serial bits") {
        for (int q = 1; q <= size; q = next_divisor(size, q))
            for (int t = 0; t < 2; t++) {
                for (int64_t k = 1; k <= 9; k++) check_all("uniform:150,5", types[t], k, q, NULL);
                check_all("rmat:8,16", types[t], 33, q, NULL);
                check_all("longrows:300,3,4,290", types[t], 1, q, NULL);
                check_all("longrows:300,3,4,290", types[t], 8, q, NULL);
                check_all("lap3d7:6", types[t], 16, q, NULL);
                check_all("fem3:5", types[t], 12, q, NULL);
            }
    }
    TEST("inner products, norms, X R, sums and scaled columns and rows of complex multivectors are right") {
        for (int t = 0; t < 2; t++)
            for (int64_t kx = 1; kx <= 70; kx += kx < 4 ? 1 : 22)
                check_dense(types[t], 700 + test_.rank, kx, 5);
    }
    TEST("a complex factor for a real matrix is an error on the rank that passes it, and no rank waits") {
        whole w;
        planned p;
        const spmm_plan_options options = {.device = device};
        whole_create("lap2d5:12", SPMM_F64, 1, &w);
        planned_of(&w.block, 3, &options, &p);
        const sp_c128 alpha = test_.rank == 0 ? CMPLX(1, 1) : 1;
        for (int op = 0; op < 3; op++) {
            const int forward = op == SPMM_NO_TRANSPOSE;
            CHECK_INT(spmm_apply_complex(p.plan, (spmm_operation)op, alpha, forward ? &p.x : &p.y, 0,
                                         forward ? &p.y : &p.x),
                      test_.rank == 0 ? SPMM_ERR_USAGE : SPMM_OK);
            if (test_.rank == 0) CHECK(says("spmm_apply_complex: alpha has an imaginary part"));
        }
        CHECK_INT(spmm_apply_complex(p.plan, (spmm_operation)3, 1, &p.x, 0, &p.y), SPMM_ERR_USAGE);
        CHECK_INT(spmm_apply_complex(p.plan, SPMM_TRANSPOSE, 1, NULL, 0, &p.x), SPMM_ERR_USAGE);
        CHECK(says("spmm_apply_complex: x"));
        CHECK_INT(spmm_apply_complex(p.plan, SPMM_CONJUGATE_TRANSPOSE, 1, &p.y, 0, &p.x), SPMM_OK);
        planned_destroy(&p);
        whole_destroy(&w);
    }
}

#endif
