/** Products of plans: Y := alpha A X + beta Y and with the transpose, by one call or by begin and end, after
 *  new values, and after a rank passed invalid arguments. */
#ifndef SP_DIFFERENTIAL_PRODUCTS_H
#define SP_DIFFERENTIAL_PRODUCTS_H

#include "differential_operands.h"
#include "differential_plans.h"

/** A product. `in` and `out` are X and Y; in a product with the transpose `in` has Y's distribution, `out`
 *  has X's. */
typedef struct product {
    planned *of;
    spmm_operation op;
    int transposed; /* op is not SPMM_NO_TRANSPOSE */
    spmm_complex alpha, beta;
    operand in, out;
    int64_t in_first, out_first; /* global indices of their first rows */
    diff_values out_values;      /* Y before the product; not read if beta is 0 */
    uint64_t out_key;
} product;

/** Fills Y with its elements from before the product, or with NaNs if they are not read. */
static inline void product_reset(product *r)
{
    if (r->beta == 0)
        operand_fill_nan(&r->out);
    else
        operand_fill(&r->out, r->out_first, r->out_values, r->out_key);
}

/** The number of rows of Y that this rank has. */
static inline int64_t rows_of_y(const planned *t)
{
    spmm_multivector y;
    if (!went_well(spmm_plan_y_create(t->plan, &y), "spmm_plan_y_create()")) return 0;
    const int64_t rows = y.rows;
    if (rows != t->block.csr.rows && (rows != 0 || diff_.rank % t->q == 0))
        differs("Y has %lld rows here, the block %lld", (long long)rows, (long long)t->block.csr.rows);
    spmm_multivector_destroy(&y);
    return rows;
}

static inline void product_make(planned *t, product *r)
{
    memset(r, 0, sizeof *r);
    r->of = t;
    r->transposed = draw_percent(30);
    r->op = r->transposed ? (spmm_operation)(SPMM_TRANSPOSE + draw_below(2)) : SPMM_NO_TRANSPOSE;
    r->alpha = draw_factor(t->precision);
    const spmm_complex beta = draw_factor(t->precision);
    r->beta = draw_percent(50) ? 0 : beta;
    const diff_values in_values = draw_values(8);
    const uint64_t in_key = draw();
    r->out_values = draw_values(5);
    r->out_key = draw();
    const operand_kind x_kind = draw_operand(OPERAND_X_OF_PLAN), y_kind = draw_operand(OPERAND_Y_OF_PLAN);
    const int64_t x_pad = draw_percent(50) ? 0 : draw_below(9), y_pad = draw_percent(50) ? 0 : draw_below(9);
    operand *const x = r->transposed ? &r->out : &r->in, *const y = r->transposed ? &r->in : &r->out;
    operand_make(x, x_kind, t->plan, t->block.x_rows, t->k, t->precision, x_pad);
    operand_make(y, y_kind, t->plan, rows_of_y(t), t->k, t->precision, y_pad);
    r->in_first = r->transposed ? t->block.row_begin : t->block.x_begin;
    r->out_first = r->transposed ? t->block.x_begin : t->block.row_begin;
    operand_fill(&r->in, r->in_first, in_values, in_key);
    product_reset(r);
}

static inline void product_destroy(product *r)
{
    operand_destroy(&r->in);
    operand_destroy(&r->out);
}

static inline void step_of(const product *r, const char *how)
{
    static const char *const operations[] = {"", " with the transpose", " with the conjugate transpose"};
    diff_step("%s%s, alpha %g%+gi, beta %g%+gi, x of kind %d with values %d, ld %lld, y of kind %d, ld %lld",
              how, operations[r->op], __real__ r->alpha, __imag__ r->alpha, __real__ r->beta,
              __imag__ r->beta, (int)r->in.kind, (int)r->in.values, (long long)r->in.view.ld,
              (int)r->out.kind, (long long)r->out.view.ld);
}

/** Whether spmm_apply_begin(), which takes no complex factors, computes the product. */
static inline int begins(const product *r)
{
    return !r->transposed && __imag__ r->alpha == 0 && __imag__ r->beta == 0;
}

static inline spmm_status product_compute(const product *r, const spmm_multivector *x, spmm_multivector *y)
{
    const double alpha = __real__ r->alpha, beta = __real__ r->beta;
    if (r->op == SPMM_CONJUGATE_TRANSPOSE || alpha != r->alpha || beta != r->beta || r->out_key % 4 == 0)
        return spmm_apply_complex(r->of->plan, r->op, r->alpha, x, r->beta, y);
    return r->transposed ? spmm_apply_transposed(r->of->plan, alpha, x, beta, y)
                         : spmm_apply(r->of->plan, alpha, x, beta, y);
}

/* ---- comparing ---- */

/** Adds to sum[] what the entries of the whole matrix contribute to column j of this rank's rows of the
 *  result.
 *  \param [in,out] sum  [rows x parts] */
static inline void sum_column(const product *r, int64_t j, exact *sum)
{
    const whole *const w = &r->of->matrix;
    const spmm_precision precision = r->of->precision;
    const int64_t rows = r->out.view.rows;
    const int rounds = plan_rounds(r->of) && !r->transposed, parts = diff_parts(precision);
    const int64_t begin = r->transposed ? 0 : r->out_first,
                  end = r->transposed ? w->a.rows : r->out_first + rows;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t e = w->a.irp[i]; e < w->a.irp[i + 1]; e++) {
            const int64_t to = (r->transposed ? w->a.ja[e] : i) - r->out_first;
            if (to < 0 || to >= rows) continue;
            const int64_t from = r->transposed ? i : w->a.ja[e];
            const int rounded = rounds && (from < r->in_first || from >= r->in_first + r->in.view.rows);
            double x[2];
            for (int p = 0; p < parts; p++) {
                x[p] = diff_element(r->in.values, r->in.key, from, j * parts + p, precision);
                if (rounded) x[p] = (double)(float)x[p];
            }
            exact_add_product(&sum[to * parts], parts, &w->values[e * parts], x,
                              r->op == SPMM_CONJUGATE_TRANSPOSE);
        }
    }
}

/** Compares column j of the result. */
static inline void judge_column(const product *r, int64_t j)
{
    const spmm_precision precision = r->of->precision;
    const spmm_complex alpha = diff_factor_rounded(r->alpha, precision),
                       beta = diff_factor_rounded(r->beta, precision);
    const int parts = diff_parts(precision);
    const int64_t numbers = r->out.view.rows * parts;
    exact *const sum = diff_malloc((size_t)numbers * sizeof *sum);
    for (int64_t n = 0; n < numbers; n++) sum[n] = (exact){.roundings = diff_.ranks, .scale = 1};
    sum_column(r, j, sum);
    for (int64_t i = 0; i < r->out.view.rows; i++) {
        exact *const y = &sum[i * parts];
        double before[2];
        for (int p = 0; p < parts; p++)
            before[p] = diff_element(r->out_values, r->out_key, r->out_first + i, j * parts + p, precision);
        exact_scale(y, parts, alpha, beta, beta == 0 ? NULL : before);
        for (int p = 0; p < parts; p++)
            judge(element(&r->out, i, j * parts + p), &y[p], precision, "Y", i, j * parts + p);
    }
    free(sum);
}

/** Compares the bits of the result with those of a product on one rank alone. */
static inline void judge_bits(const product *r)
{
    planned *const t = r->of;
    spmm_multivector x, y;
    if (!t->alone || r->transposed) return;
    /* across devices only A X has the same bits, not alpha A X + beta Y */
    if (diff_.device == SPMM_CUDA && (r->alpha != 1 || r->beta != 0)) return;
    const int underflows = exact_of(spmm_plan_kernel(t->plan)) == SP_EXACT_F64; /* to a zero of either sign */
    if (t->precision == SPMM_F32 && underflows) return;
    if (!went_well(spmm_plan_x_create(t->alone, &x), "X alone")) return;
    if (!went_well(spmm_plan_y_create(t->alone, &y), "Y alone")) return;
    operand alone_x = {.view = x, .image = x, .here = x}, alone_y = {.view = y, .image = y, .here = y};
    operand_fill(&alone_x, 0, r->in.values, r->in.key);
    if (r->beta != 0) operand_fill(&alone_y, 0, r->out_values, r->out_key);
    if (went_well(spmm_apply_complex(t->alone, SPMM_NO_TRANSPOSE, r->alpha, &x, r->beta, &y),
                  "a product alone"))
        for (int64_t i = 0; i < r->out.view.rows; i++)
            for (int64_t j = 0; j < numbers_of(&r->out); j++) {
                const double found = element(&r->out, i, j), one = element(&alone_y, r->out_first + i, j);
                diff_.counts.bits++;
                if (!same_bits(found, one) && !(underflows && found == 0 && one == 0))
                    differs("Y(%lld, %lld) is %a, on one rank alone %a", (long long)i, (long long)j, found,
                            one);
            }
    operand_destroy(&alone_x);
    operand_destroy(&alone_y);
}

/** If results are to be spoiled, makes one element wrong, which the comparison must find. */
static inline void spoil(product *r)
{
    if (!diff_.spoil || r->out.view.rows == 0 || r->out.view.k == 0) return;
    const int64_t i = r->out.view.rows / 2;
    const double v = element(&r->out, i, 0);
    element_set(&r->out, i, 0, isnan(v) ? 0 : v * 1.001 + 1);
}

/** Compares all of a result: some columns element by element, all bits if they are promised. */
static inline void product_judge(product *r)
{
    const int64_t k = r->of->k;
    diff_.counts.products++;
    is_unchanged(&r->in, "X");
    padding_stands(&r->out, 0, "Y");
    operand_fetch(&r->out);
    spoil(r);
    for (int64_t n = 0; n < (k < 6 ? k : 6); n++)
        judge_column(r, k <= 6   ? n
                        : n == 0 ? 0
                        : n == 1 ? k - 1
                                 : (int64_t)(diff_hash(r->out_key, n, k) % (uint64_t)k));
    judge_bits(r);
}

/** Computes the product again: the bits must be the same, because every sum has a fixed order. */
static inline void product_repeat(product *r)
{
    const int64_t rows = r->out.view.rows, k = numbers_of(&r->out);
    double *const first = diff_malloc((size_t)(rows * k) * sizeof *first);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) first[i * k + j] = element(&r->out, i, j);
    product_reset(r);
    if (went_well(product_compute(r, &r->in.view, &r->out.view), "the product again")) {
        operand_fetch(&r->out);
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < k; j++) {
                diff_.counts.repeated++;
                if (!same_bits(element(&r->out, i, j), first[i * k + j]))
                    differs("Y(%lld, %lld) is %a the second time, %a the first", (long long)i, (long long)j,
                            element(&r->out, i, j), first[i * k + j]);
            }
    }
    free(first);
}

/* ---- steps ---- */

/** A product by one call, some of them twice. */
static inline void step_product(planned *t)
{
    product r;
    product_make(t, &r);
    step_of(&r, "a product");
    const spmm_status status = product_compute(&r, &r.in.view, &r.out.view);
    const int repeated = draw_percent(25) && !diff_.spoil;
    went_well(status, "the product");
    if (same_status(status, "the product") == SPMM_OK) {
        product_judge(&r);
        if (repeated) product_repeat(&r);
    }
    product_destroy(&r);
}

/** Sets another number of columns. */
static inline void step_columns(planned *t)
{
    const int64_t any = draw_below(t->most + 1), few = draw_below(t->most < 8 ? t->most + 1 : 9);
    const int most = draw_percent(20), narrow = draw_percent(50);
    t->k = most ? t->most : narrow ? few : any;
    diff_step("%lld columns", (long long)t->k);
    const spmm_status status = spmm_plan_set_k(t->plan, t->k);
    same_status(status, "spmm_plan_set_k()");
    went_well(status, "spmm_plan_set_k()");
    if (t->alone) went_well(spmm_plan_set_k(t->alone, t->k), "columns alone");
}

/** Sets new values of A and computes a product with them. */
static inline void step_update(planned *t)
{
    const diff_values kind = draw_values(5);
    const uint64_t key = draw();
    diff_step("new values");
    for (int64_t e = 0; e < t->matrix.a.nnz * diff_parts(t->precision); e++)
        t->matrix.values[e] = diff_element(kind, key, e, 7, t->precision);
    block_take_values(&t->matrix, &t->block);
    const spmm_status status = spmm_plan_update_values(t->plan);
    same_status(status, "spmm_plan_update_values()");
    went_well(status, "spmm_plan_update_values()");
    if (t->alone) {
        block_take_values(&t->matrix, &t->alone_block);
        went_well(spmm_plan_update_values(t->alone), "new values alone");
    }
    diff_.counts.updates++;
}

/** Makes one rank's operands wrong in one way.
 *  \param [in,out] x, y  the call's arguments; may become NULL
 *  \return what is wrong; NULL if the mistake is impossible with this product */
static inline const char *draw_mistake(const product *r, spmm_multivector *vx, spmm_multivector *vy,
                                       const spmm_multivector **x, spmm_multivector **y)
{
    enum { X_NULL, Y_NULL, X_K, Y_LD, Y_PRECISION, X_ROWS, Y_ROWS, X_SPACE, X_LAYOUT, OVERLAP, MISTAKES };
    const int line = vy->layout == SPMM_COLUMN_MAJOR ? (int)vy->rows : (int)vy->k;
    switch (draw_below(MISTAKES)) {
    case X_NULL: *x = NULL; return "x is NULL";
    case Y_NULL: *y = NULL; return "y is NULL";
    case X_K:
        vx->k++;
        if (vx->layout == SPMM_ROW_MAJOR) vx->ld += 8;
        return "x has a column more";
    case Y_LD: vy->ld = line - 1; return line > 0 ? "the leading dimension of y is too small" : NULL;
    case Y_PRECISION:
        vy->precision = (spmm_precision)((vy->precision + 1 + draw_below(3)) % 4);
        return "y has another precision";
    case X_ROWS:
        vx->rows++;
        if (vx->layout == SPMM_COLUMN_MAJOR) vx->ld++;
        return "x has a row more";
    case Y_ROWS:
        vy->rows++;
        if (vy->layout == SPMM_COLUMN_MAJOR) vy->ld++;
        return "y has a row more";
    case X_SPACE:
        vx->space = vx->space == SPMM_CUDA ? SPMM_CPU : SPMM_CUDA;
        return "x says it is in other memory";
    case X_LAYOUT: vx->layout = (spmm_layout)7; return "x has a layout that there is not";
    default:
        vy->data = vx->data;
        return r->in.view.rows > 0 && r->out.view.rows > 0 ? "x and y overlap" : NULL;
    }
}

/** Checks the status of a product in which rank `bad` passed an invalid argument, if `made` is 1. That rank
 *  is refused; with the transpose also its process row, unless all of the row's ranks have X (butterfly).
 *  Other ranks may report that a neighbor failed. */
static inline void mistake_answered(const product *r, int bad, int made, spmm_status status)
{
    const int q = r->of->q, row = r->transposed && q > 1 && diff_.rank / q == bad / q &&
                                  r->of->options.reduce != SPMM_REDUCE_BUTTERFLY;
    if (made && (diff_.rank == bad || row))
        was_refused(status, "the product");
    else if (status != SPMM_OK && status != SPMM_ERR_MPI && !(status == SPMM_ERR_USAGE && r->transposed))
        differs("the product gave status %d: %s", (int)status, spmm_error_message());
}

/** One rank passes an invalid argument: it is refused, no rank hangs, and the next product is correct. */
static inline void step_mistake(planned *t)
{
    if (t->k == 0) return; /* operands without elements have no memory and cannot overlap */
    product r;
    product_make(t, &r);
    const int bad = (int)draw_below(diff_.ranks), begun = draw_percent(40) && begins(&r);
    spmm_multivector vx = r.in.view, vy = r.out.view;
    const spmm_multivector *x = &vx;
    spmm_multivector *y = &vy;
    const char *const mistake = draw_mistake(&r, &vx, &vy, &x, &y);
    if (diff_.rank != bad || !mistake) {
        vx = r.in.view;
        vy = r.out.view;
        x = &vx;
        y = &vy;
    }
    char how[120];
    snprintf(how, sizeof how, "%s on rank %d%s", mistake ? mistake : "no mistake", bad,
             begun ? ", begun" : "");
    step_of(&r, how);
    spmm_status status;
    if (begun) {
        status = spmm_apply_begin(t->plan, __real__ r.alpha, x, __real__ r.beta, y);
        const spmm_status end = spmm_apply_end(t->plan);
        if (status == SPMM_OK) status = end;
    } else {
        status = product_compute(&r, x, y);
    }
    int made = mistake != NULL; /* on rank `bad` */
    MPI_Bcast(&made, 1, MPI_INT, bad, diff_.comm);
    mistake_answered(&r, bad, made, status);
    product_destroy(&r);
    MPI_Barrier(diff_.comm);
    step_product(t);
}

/** Makes a call between the begin and the end of a product: one that is allowed, or one that must be
 *  refused. */
static inline void between(planned *t, product *r, planned *other)
{
    spmm_multivector made;
    switch (draw_below(7)) {
    case 0: was_refused(spmm_apply(t->plan, 1, &r->in.view, 0, &r->out.view), "a product meanwhile"); break;
    case 1: was_refused(spmm_apply_begin(t->plan, 1, &r->in.view, 0, &r->out.view), "another begin"); break;
    case 2: was_refused(spmm_plan_update_values(t->plan), "new values meanwhile"); break;
    case 3:
        if (went_well(spmm_plan_x_create(t->plan, &made), "X meanwhile")) spmm_multivector_destroy(&made);
        break;
    case 4:
        if (spmm_plan_kernel(t->plan)[0] == 0) differs("the plan has no kernel");
        break;
    default:
        if (other) step_product(other);
    }
}

/** A product by begin and end, with other calls in between; a few are never ended. */
static inline void step_begun(planned *t, planned *other)
{
    product r;
    char step[sizeof diff_.step];
    for (product_make(t, &r); !begins(&r); product_make(t, &r)) product_destroy(&r);
    step_of(&r, "a product begun and ended");
    memcpy(step, diff_.step, sizeof step);
    spmm_multivector x = r.in.view, y = r.out.view;
    const spmm_status begun = spmm_apply_begin(t->plan, __real__ r.alpha, &x, __real__ r.beta, &y);
    memset(&x, 0xEE, sizeof x); /* the structs need not outlive the begin */
    memset(&y, 0xEE, sizeof y);
    same_status(begun, "spmm_apply_begin()");
    went_well(begun, "spmm_apply_begin()");
    for (int64_t n = draw_below(4); n > 0; n--) {
        between(t, &r, other);
        memcpy(diff_.step, step, sizeof step);
    }
    if (draw_percent(3)) {
        spmm_plan_destroy(t->plan);
        t->plan = NULL;
    } else {
        const spmm_status ended = spmm_apply_end(t->plan);
        same_status(ended, "spmm_apply_end()");
        if (went_well(ended, "spmm_apply_end()")) product_judge(&r);
        if (draw_percent(20)) was_refused(spmm_apply_end(t->plan), "a second end");
    }
    product_destroy(&r);
}

#endif
