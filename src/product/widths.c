/** Adapts products to other numbers of columns: chooses between two converted matrices, and passes the new
 *  row size to all parts of a product. */
#include "product/widths.h"

#include <math.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/memory.h"
#include "formats/multivector.h"
#include "product/product.h"
#include "product/steps.h"

/** A second matrix (widths.h) is considered only when products of at most this many columns, and of at most
 *  half the plan's columns, are requested. */
enum { NARROW = 8 };
/** A kernel on the second matrix is selected if it takes less than this share of the time of the kernel on
 *  the first matrix. */
static const double CLEARLY = 0.9;

static int range_of(int64_t k)
{
    int n = 0;
    while (n < SP_WIDTHS - 1 && (int64_t)1 << n < k) n++;
    return n;
}

/** Number of columns that one kernel launch computes. */
static int64_t launched(const sp_product *p, int64_t k)
{
    return k / sp_column_blocks_fitting(k, p->precision, p->widths.column_blocks);
}

/* ---- the second matrix ---- */

static void swap(sp_product *p)
{
    const sp_row_blocks other = p->widths.other;
    p->widths.other = p->parts;
    p->parts = other;
    p->widths.second = !p->widths.second;
}

static sp_row_blocks *first_of(sp_product *p) { return p->widths.second ? &p->widths.other : &p->parts; }

static sp_row_blocks *second_of(sp_product *p) { return p->widths.second ? &p->parts : &p->widths.other; }

static int has_second(const sp_product *p) { return p->widths.second || p->widths.other.kernel != NULL; }

/** Returns 1 if the choice of a second matrix is still open for products of k columns. */
static int undecided(const sp_product *p, int64_t k)
{
    return !p->widths.decided && !p->options.kernel && k <= NARROW && 2 * k <= p->widths.most;
}

sp_kernel_trial sp_product_trial(const sp_product *p, int64_t k)
{
    return (sp_kernel_trial){.comm = p->grid->comm,
                             .a = &p->local->csr,
                             .k = k,
                             .most = p->widths.most,
                             .conversion = p->conversion,
                             .threads = p->threads,
                             .shape = p->shape,
                             .products = p->study.all_kernels ? INFINITY
                                                              : (double)sp_products_of(p->options.products)};
}

/** Lists the kernels that may be faster for k columns than the kernel of the first matrix.
 *  \return the number of kernels */
static int list_others(sp_product *p, const sp_features *f, int64_t k, const sp_kernel **list)
{
    const sp_kernel *all[SP_MAX_CANDIDATES];
    const int tries = sp_plan_tries(&p->options, &p->study);
    int count = sp_order_kernels(f, k, p->options.products, p->precision, p->options.device,
                                 p->options.format, p->study.all_kernels, all, NULL, 0);
    int others = 0;
    if (p->options.exact) count = sp_keep_exact(p->precision, all, count);
    if (count > 1 && !tries) count = 1;
    for (int i = 0; i < count; i++)
        if (all[i] != first_of(p)->kernel) list[others++] = all[i];
    return others;
}

/** Times the kernel of one matrix. Collective. */
static spmm_status time_matrix(const sp_product *p, sp_row_blocks *parts, int64_t k, double *seconds)
{
    const sp_kernel_trial t = sp_product_trial(p, k);
    TRY(sp_agree(p->grid->comm, "convert", sp_row_blocks_set_k(parts, k)));
    return sp_kernel_trial_time(&t, parts, seconds);
}

static void find_again(const sp_row_blocks *parts, sp_row_blocks *found)
{
    memset(found, 0, sizeof *found);
    found->count = parts->count;
    found->interior = parts->interior;
    for (int i = 0; i < parts->count; i++) {
        found->part[i].first = parts->part[i].first;
        found->part[i].rows = parts->part[i].rows;
    }
}

/** Creates the second matrix if another kernel is clearly faster for one column or, without timing, if
 *  another kernel is expected to be the fastest. Creates none if memory is lacking. Collective. */
static spmm_status decide(sp_product *p, sp_decision *row)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    const int tries = sp_plan_tries(&p->options, &p->study);
    sp_kernel_trial t = sp_product_trial(p, 1);
    sp_row_blocks second;
    sp_features f;
    double first = INFINITY, seconds = 0;
    p->widths.decided = 1;
    sp_decided(row, "no other kernel is expected to be faster", "none");
    TRY(sp_features_of_blocks(p->grid->comm, p->block, p->given->on_gpu, p->options.threads, &f));
    t.list = list;
    t.count = list_others(p, &f, 1, list);
    if (t.count == 0) return SPMM_OK;
    if (tries) TRY(time_matrix(p, &p->parts, 1, &first));
    sp_decided(row, "the expected products do not repay a trial", "none");
    if (!sp_kernel_trial_pays(&t, first)) return SPMM_OK;
    find_again(&p->parts, &second);
    spmm_status status = sp_kernel_trial_run(&t, &second, &row->trial);
    if (status == SPMM_OK && tries) status = time_matrix(p, &second, 1, &seconds);
    if (status == SPMM_OK && seconds < CLEARLY * first) {
        sp_decided(row, "the first one that is expected to be faster", "%s on %s", second.kernel->id,
                   sp_format_word(second.kernel->format));
        p->widths.other = second;
        return SPMM_OK;
    }
    sp_row_blocks_destroy(&second);
    row->trial.count = 0;
    sp_decided(row, status == SPMM_OK ? "no other kernel is clearly faster" : "memory is lacking", "none");
    return status == SPMM_ERR_MEMORY || status == SPMM_ERR_LIMIT ? SPMM_OK : status;
}

/** Chooses between the two matrices for k > 1 columns. Collective. */
static spmm_status widths_compare(sp_product *p, int64_t k, unsigned char *choice)
{
    double first, second;
    if (sp_plan_tries(&p->options, &p->study)) {
        TRY(time_matrix(p, first_of(p), launched(p, k), &first));
        TRY(time_matrix(p, second_of(p), launched(p, k), &second));
        *choice = second < CLEARLY * first ? SP_WIDTH_SECOND : SP_WIDTH_FIRST;
        return SPMM_OK;
    }
    sp_features f;
    const sp_kernel *list[SP_MAX_CANDIDATES];
    TRY(sp_features_of_blocks(p->grid->comm, p->block, p->given->on_gpu, p->options.threads, &f));
    const int others = list_others(p, &f, k, list);
    *choice = others > 0 && list[0] == second_of(p)->kernel ? SP_WIDTH_SECOND : SP_WIDTH_FIRST;
    return SPMM_OK;
}

/** Sets p->parts to the matrix for k columns. Collective. */
static spmm_status take_matrix(sp_product *p, int64_t k)
{
    unsigned char *const choice = &p->widths.choice[range_of(k)];
    if (undecided(p, k)) TRY(decide(p, &p->decisions.row[SP_DECIDES_NARROW]));
    if (!has_second(p)) return SPMM_OK;
    if (range_of(k) == range_of(p->widths.most)) *choice = SP_WIDTH_FIRST;
    if (k == 1) *choice = SP_WIDTH_SECOND;
    if (*choice == SP_WIDTH_UNKNOWN) TRY(widths_compare(p, k, choice));
    if (p->widths.second != (*choice == SP_WIDTH_SECOND)) swap(p);
    return SPMM_OK;
}

/* ---- values ---- */

int sp_product_converts(const sp_product *p, int64_t k)
{
    const sp_row_blocks *const other = &p->widths.other;
    if (k == 0 || k == p->widths.k) return 0;
    return undecided(p, k) || sp_row_blocks_made_anew(&p->parts, launched(p, k)) ||
           (other->kernel && sp_row_blocks_made_anew(other, launched(p, k))) ||
           sp_partial_rows_made_anew(p->partial, k);
}

spmm_status sp_product_map_values(sp_product *p, int *all)
{
    int others = 1;
    TRY(sp_row_blocks_map(&p->parts, all));
    if (p->widths.other.kernel) TRY(sp_row_blocks_map(&p->widths.other, &others));
    *all = *all && others;
    return SPMM_OK;
}

spmm_status sp_product_update_values(sp_product *p, const void *on_gpu)
{
    TRY(sp_row_blocks_update(&p->parts, on_gpu));
    return p->widths.other.kernel ? sp_row_blocks_update(&p->widths.other, on_gpu) : SPMM_OK;
}

/* ---- set_k ---- */

static spmm_status widths_set_k(sp_product *p, int64_t k)
{
    const int count = sp_column_blocks_fitting(k, p->precision, p->widths.column_blocks);
    const int64_t size = sp_value_size(p->precision), ld = sp_multivector_ld(k, p->precision);
    TRY(take_matrix(p, k));
    TRY(sp_agree(p->grid->comm, "convert", sp_row_blocks_set_k(&p->parts, k / count)));
    TRY(sp_partial_rows_set_k(p->partial, k));
    TRY(sp_exchange_set_rows(p->exchange, sp_multivector_ld(k / count, p->precision) * size, ld * size));
    sp_column_blocks_set_k(p->moves, k, p->exchange, count, &p->column_blocks);
    sp_reduction_set_elements(p->reduction, p->local->csr.rows * ld);
    if (sp_exchange_shares(p->exchange))
        spmm_multivector_destroy(&p->x); /* the row size changes, and with it the memory layout */
    else
        p->x = sp_multivector_with_k(&p->x, k);
    p->y = sp_multivector_with_k(&p->y, k);
    sp_steps_list(p);
    return SPMM_OK;
}

spmm_status sp_product_set_k(sp_product *p, int64_t k)
{
    if (k != 0 && k != p->widths.k) {
        p->k = p->widths.k = 0; /* after a failure, products have 0 columns */
        TRY(widths_set_k(p, k));
        p->widths.k = k;
    }
    p->k = k;
    return SPMM_OK;
}

spmm_status sp_product_create_copy(sp_product *p)
{
    if (sp_exchange_shares(p->exchange)) return sp_product_x_create(p, p->k, 1, &p->x);
    TRY(sp_product_x_create(p, p->widths.most, 1, &p->x));
    p->x = sp_multivector_with_k(&p->x, p->k);
    return SPMM_OK;
}
