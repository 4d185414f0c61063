/** Chooses a kernel by the kernels' conditions and by decision trees. */
#include "product/choose.h"

#include <stdio.h>
#include <string.h>

#include "base/enum_words.h"
#include "base/threads.h"

#include "product/choose_trees.h"

/** The arguments and results of sp_order_kernels(). */
typedef struct choice {
    sp_question q;
    spmm_device device;
    spmm_format format;
    const sp_kernel **list;
    int count;
    char why[256];
} choice;

/** Returns how well the kernel suits.
 *  \param [out] why  see sp_suits */
static sp_suitability suitability(const choice *c, const sp_kernel *kernel, char *why, size_t n)
{
    if (kernel->device != c->device || !sp_kernel_takes(kernel, c->q.precision) ||
        (c->format != SPMM_FORMAT_AUTO && kernel->format != c->format))
        return SP_SUITS_NOT;
    /* a kernel that is exact only in f64 sums values of every type in f64 */
    if (kernel->exact == SP_EXACT_F64 && !sp_kernel_is_exact(kernel, c->q.precision, INT64_MAX) &&
        c->q.f->f64_slow > 0)
        return SP_SUITS_NOT;
    return kernel->suits ? kernel->suits(&c->q, why, n) : SP_SUITS_TRIAL;
}

/** Appends the kernel to the list if it suits as well as `least` or better, unless it is already in the list.
 *  \param [in] kernel  NULL: nothing is appended */
static void choose_append(choice *c, const sp_kernel *kernel, sp_suitability least)
{
    const int tells = least == SP_SUITS_FIRST;
    if (!kernel || suitability(c, kernel, tells ? c->why : NULL, tells ? sizeof c->why : 0) < least) return;
    for (int i = 0; i < c->count; i++)
        if (c->list[i] == kernel) return;
    c->list[c->count++] = kernel;
}

/** Appends kernels by their conditions, as choose_append() does, until the list has `most` kernels. If a
 *  tree lists a kernel, too, the kernel is appended only if it joins the trial. \return how many were
 *  appended */
static int append_by_rule(choice *c, sp_suitability least, int most)
{
    const int before = c->count;
    int count;
    const sp_kernel *const kernels = sp_kernels(&count);
    for (int i = 0; i < count && c->count < most; i++)
        if (kernels[i].chosen == SP_AUTO_RULE)
            choose_append(c, &kernels[i], least);
        else if (kernels[i].chosen == SP_AUTO_BOTH && least == SP_SUITS_TRIAL)
            choose_append(c, &kernels[i], SP_SUITS_JOIN);
    return c->count - before;
}

/* ---- kernels for GPUs ---- */

#define TREE(argument, word, ...) word##_tree,
static const choice_node *const trees[] = {SP_REAL_TYPES(TREE, )};

/** Returns the leaf of the decision tree for the matrix. Sets c->why to the compared traits, each once, such
 *  as "f64, 0.25 of the entries ..". */
static const choice_node *leaf_of(choice *c, int timed)
{
#define PHRASE(id, column, phrase) phrase,
    static const char *const phrases[] = {SP_TRAIT_LIST(PHRASE)};
#undef PHRASE
    const sp_question *const q = &c->q;
    /* complex values have the tree of their parts, whose bounds are of bytes and entries */
    const choice_node *const tree = trees[sp_type_of(q->precision).real], *node = tree;
    const size_t n = sizeof c->why;
    snprintf(c->why, n, "%s%s", sp_precision_word(q->precision), timed ? "" : ", few products");
    while (!node->order[0]) {
        const double trait = sp_trait_of(q->f, node->trait, q->k, q->precision);
        const size_t used = strlen(c->why);
        if (!strstr(c->why, phrases[node->trait]))
            snprintf(c->why + used, n - used, ", %.3g %s", trait, phrases[node->trait]);
        node = trait <= node->bound ? node + 1 : tree + node->other;
    }
    return node;
}

/** Lists the CUDA kernel that its conditions expect to be the fastest, if there is one, and the others in the
 *  order of the leaf for the matrix. Kernels of suitability SP_SUITS_LAST follow, and, if too few products
 *  are expected for a trial, kernels that need a conversion. Kernels that no leaf lists either join a trial
 *  or come last.
 *  \return the number of kernels that are worth a trial, if there are so many */
static int order_on_gpu(choice *c)
{
    const int timed = c->q.products >= SP_PRODUCTS_TIMED;
    const choice_node *const leaf = leaf_of(c, timed);
    int joined = 0;
    append_by_rule(c, SP_SUITS_FIRST, 1);
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < CHOICES; i++) {
            const sp_kernel *const kernel = sp_kernel_find(leaf->order[i]);
            const int is_late = suitability(c, kernel, NULL, 0) == SP_SUITS_LAST ||
                                (!timed && kernel->format != SPMM_CSR);
            if (c->count == SP_TRIED) joined += append_by_rule(c, SP_SUITS_TRIAL, SP_MAX_CANDIDATES);
            if (is_late == late) choose_append(c, kernel, SP_SUITS_LAST);
        }
    joined += append_by_rule(c, SP_SUITS_TRIAL, SP_MAX_CANDIDATES);
    append_by_rule(c, SP_SUITS_LAST, SP_MAX_CANDIDATES);
    return SP_TRIED + joined;
}

/* ---- kernels for CPUs ---- */

/** Lists the CPU kernels: the first one that is expected to be the fastest, the default, and the others.
 *  \return the number of kernels that are worth a trial */
static int order_on_cpu(choice *c)
{
    snprintf(c->why, sizeof c->why, "no other order of rows is expected to be faster");
    append_by_rule(c, SP_SUITS_FIRST, 1);
    choose_append(c, sp_kernel_default(SPMM_CPU, SPMM_CSR), SP_SUITS_TRIAL);
    append_by_rule(c, SP_SUITS_TRIAL, SP_MAX_CANDIDATES);
    const int tried = c->count;
    append_by_rule(c, SP_SUITS_LAST, SP_MAX_CANDIDATES);
    return tried;
}

int sp_order_kernels(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                     spmm_device device, spmm_format format, int all,
                     const sp_kernel *list[SP_MAX_CANDIDATES], char *why, size_t n)
{
    const double rows = sp_ratio(f->sum.rows, f->sum.blocks),
                 row_bytes = sp_trait_of(f, SP_X_BYTES, k, precision);
    choice c = {{.f = f,
                 .k = k,
                 .products = sp_products_of(products),
                 .precision = precision,
                 .many_rows = 2 * rows > INT32_MAX,
                 .row_bytes = row_bytes,
                 .x_bytes = row_bytes * rows,
                 .shared = sp_trait_of(f, SP_SHARED, k, precision),
                 .reuse = sp_features_reuse(f),
                 .changes = sp_ratio(f->sum.changes, f->sum.rows),
                 .in_long_rows = sp_trait_of(f, SP_OVER_128, k, precision)},
                device,
                format,
                list,
                0,
                ""};
    const int tried = (device == SPMM_CUDA ? order_on_gpu : order_on_cpu)(&c);
    if (!all && c.count > tried) c.count = tried;
    for (int other = SPMM_CSR + 1; all && other < SP_FORMATS; other++)
        choose_append(&c, sp_kernel_default(device, (spmm_format)other), SP_SUITS_LAST);
    /* the caller requires a format for which the rules list no kernel */
    const sp_kernel *const only = sp_kernel_default(device, format);
    if (c.count == 0 && only && sp_kernel_takes(only, precision)) choose_append(&c, only, SP_SUITS_NOT);
    if (why)
        snprintf(why, n, "%s", c.count == 1 && format > SPMM_CSR ? "the only kernel for the format" : c.why);
    return c.count;
}

int sp_keep_exact(spmm_precision precision, const sp_kernel **list, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (sp_kernel_is_exact(list[i], precision, INT64_MAX)) list[kept++] = list[i];
    return kept;
}

spmm_status sp_no_kernel(spmm_precision precision)
{
    return sp_fail(SPMM_ERR_USAGE,
                   "no kernel multiplies %s values in this format on this device: see --list-kernels",
                   sp_precision_word(precision));
}

spmm_status sp_choose(const sp_features *f, int64_t k, int64_t products, spmm_precision precision,
                      spmm_device device, spmm_format format, const sp_kernel **kernel, char *why, size_t n)
{
    const sp_kernel *list[SP_MAX_CANDIDATES];
    const int count = sp_order_kernels(f, k, products, precision, device, format, 0, list, why, n);
    *kernel = count > 0 ? list[0] : NULL;
    if (count > 0) return SPMM_OK;
    return sp_no_kernel(precision);
}

spmm_status sp_features_of_blocks(MPI_Comm comm, const spmm_block *block, const spmm_csr *on_gpu, int threads,
                                  sp_features *f)
{
    const int64_t diagonal = block->row_begin - block->col_begin;
    if (on_gpu)
        TRY(sp_cuda_features(on_gpu, diagonal, f));
    else
        sp_features_of(&block->csr, diagonal, block->any_order, sp_threads_of(threads), f);
    TRY(sp_sum(comm, (double *)&f->sum, sizeof f->sum / sizeof(double)));
    /* the members after the sums are all double; the maximum of each over the ranks is used */
    return sp_slowest(comm, &f->longest, (sizeof *f - sizeof f->sum) / sizeof(double));
}
