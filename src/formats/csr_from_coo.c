/** Converts triplets to CSR by a parallel, stable counting sort in bounded memory.
 *
 *  Each thread owns a range of consecutive rows. Only this owner writes the entries of the rows, in file
 *  order, so that neither atomics nor critical sections are needed. The triplets are divided into blocks of
 *  2^15 triplets, which are processed in groups of blocks. To spare each thread from reading all triplets,
 *  the triplets of each block of a group are first listed by owner (2 bytes per triplet); then each owner
 *  processes the triplets in its own lists. A block whose triplets all have one owner, as in a file sorted by
 *  row, needs no lists. */
#include "base/enum_words.h"
#include "base/fp_environment.h"
#include "formats/csr.h"

#include <string.h>

#include "base/status.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/threads.h"
#include "formats/csr_sort.h"

enum {
    BLOCK = 1 << 15,      /* triplets per block, so that an index within a block fits uint16_t */
    BLOCKS_PER_OWNER = 4, /* a group has at least this many blocks per owner, to balance the lists */
    GROUPS = 16,          /* approximate number; 16 need few barriers, and lists of 1 % of the CSR's size */
    BUCKETS_LOG2 = 14,    /* log2 of the maximum number of buckets; their table of owners stays in L1 */
    MAX_OWNERS = 4096     /* maximum, so that an owner fits uint16_t and the histograms stay small */
};

typedef struct builder {
    const sp_coo *coo; /* the input; its arrays are freed after their last use */
    spmm_csr *a;
    int owners; /* number of threads that own a range of rows */
    int shift;  /* row >> shift is the bucket of a row; all rows of a bucket have the same owner */
    int64_t buckets;
    uint16_t *owner;       /* owner of each bucket, [buckets] */
    int64_t *first_row;    /* first row of each owner, [owners + 1] */
    int64_t *first_entry;  /* where in the CSR arrays the entries of each owner begin, [owners + 1] */
    int64_t blocks, group; /* blocks: total number of blocks; group: number of blocks in a group */
    int64_t slots;         /* elements of `list` per block */
    uint16_t *list;        /* [group][slots]: indices of the triplets in a block, by owner, in file order */
    int32_t *cut;          /* [group][stride]: where in `list` the triplets of each owner begin */
    int64_t stride;        /* row length of `cut`: owners + 1, rounded up to avoid false sharing */
} builder;

static int is_mirrored(const sp_coo *coo) { return coo->symmetry != SP_GENERAL; }

static int owner_of(const builder *b, int32_t row) { return b->owner[row >> b->shift]; }

static void builder_destroy(builder *b)
{
    sp_free(b->owner);
    sp_free(b->first_row);
    sp_free(b->first_entry);
    sp_free(b->list);
    sp_free(b->cut);
}

/** Counts the entries in each row bucket, including entries that symmetry implies. Considers only one of
 *  `parts` equal shares of the triplets: share number `part`. */
static void count_buckets(const builder *b, int part, int parts, int64_t *count)
{
    const sp_coo *const coo = b->coo;
    const int mirrored = is_mirrored(coo);
    const int64_t begin = sp_partition_share(coo->nnz, parts, part);
    const int64_t end = sp_partition_share(coo->nnz, parts, part + 1);
    for (int64_t t = begin; t < end; t++) {
        count[coo->I[t] >> b->shift]++;
        if (mirrored && coo->I[t] != coo->J[t]) count[coo->J[t] >> b->shift]++;
    }
}

/** Assigns an owner to each bucket of rows, so that all owners have about the same number of entries + rows.
 *  count[q] is the number of entries in bucket q. */
static void assign_owners(builder *b, const int64_t *count)
{
    const int64_t rows = b->coo->rows, bucket_rows = INT64_C(1) << b->shift;
    int64_t total = 0, before = 0,
            entries = 0; /* total, before: sums of entries + rows of buckets; the last counts as full */
    for (int64_t q = 0; q < b->buckets; q++) total += count[q] + bucket_rows;
    int next = 0; /* the owner whose range is to begin next */
    for (int64_t q = 0; q < b->buckets; q++) {
        const int64_t weight = count[q] + bucket_rows;
        const int o = (int)(((double)before + 0.5 * (double)weight) / (double)total * b->owners);
        for (; next <= o; next++) {
            b->first_row[next] = q << b->shift;
            b->first_entry[next] = entries;
        }
        b->owner[q] = (uint16_t)(next - 1);
        before += weight;
        entries += count[q];
    }
    for (; next <= b->owners; next++) {
        b->first_row[next] = rows;
        b->first_entry[next] = entries;
    }
}

static spmm_status find_owners(builder *b)
{
    int64_t *count;
    TRY(sp_alloc_zero((void **)&count, b->buckets * b->owners, sizeof *count, "row buckets"));
#pragma omp parallel for schedule(static, 1) num_threads(b->owners)
    for (int o = 0; o < b->owners; o++) count_buckets(b, o, b->owners, count + o * b->buckets);
    for (int o = 1; o < b->owners; o++)
        for (int64_t q = 0; q < b->buckets; q++) count[q] += count[o * b->buckets + q];
    assign_owners(b, count);
    sp_free(count);
    return SPMM_OK;
}

static spmm_status builder_create(const sp_coo *coo, int threads, spmm_csr *a, builder *b)
{
    *b = (builder){.coo = coo, .a = a, .owners = threads < MAX_OWNERS ? threads : MAX_OWNERS};
    while (coo->rows >> b->shift >> BUCKETS_LOG2) b->shift++;
    b->buckets = (coo->rows >> b->shift) + 1;
    b->blocks = (coo->nnz + BLOCK - 1) / BLOCK;
    b->group = (int64_t)b->owners * BLOCKS_PER_OWNER;
    if (b->group < b->blocks / GROUPS) b->group = b->blocks / GROUPS;
    if (b->group > b->blocks) b->group = b->blocks;
    b->slots = is_mirrored(coo) ? 2 * BLOCK : BLOCK;
    b->stride = (b->owners + 16) / 16 * 16;
    TRY(sp_alloc((void **)&b->owner, b->buckets, sizeof *b->owner, "row buckets"));
    TRY(sp_alloc((void **)&b->first_row, b->owners + 1, sizeof *b->first_row, "row ranges"));
    TRY(sp_alloc((void **)&b->first_entry, b->owners + 1, sizeof *b->first_entry, "row ranges"));
    if (b->owners > 1) {
        TRY(sp_alloc((void **)&b->list, b->group * b->slots, sizeof *b->list, "lists of triplets"));
        TRY(sp_alloc((void **)&b->cut, b->group * b->stride, sizeof *b->cut, "lists of triplets"));
    }
    return find_owners(b);
}

static int block_size(const builder *b, int64_t block)
{
    const int64_t rest = b->coo->nnz - block * BLOCK;
    return rest < BLOCK ? (int)rest : BLOCK;
}

/** Returns the owner of all entries of a block, or -1 if they have several owners. Owners increase with the
 *  rows, so that only the least and the greatest row need be looked up. */
static int whole_owner(const builder *b, int64_t block)
{
    const int n = block_size(b, block);
    const int32_t *const I = b->coo->I + block * BLOCK, *const J = b->coo->J + block * BLOCK;
    int32_t low = INT32_MAX, high = 0;
    for (int k = 0; k < n; k++) {
        low = I[k] < low ? I[k] : low;
        high = I[k] > high ? I[k] : high;
    }
    for (int k = 0; k < n && is_mirrored(b->coo); k++) {
        low = J[k] < low ? J[k] : low;
        high = J[k] > high ? J[k] : high;
    }
    return owner_of(b, low) == owner_of(b, high) ? owner_of(b, low) : -1;
}

/** Lists the triplets of a block by owner. A triplet is in two lists if the mirror image that symmetry
 *  implies has another owner. If all triplets have one owner, no list is stored. */
static void list_block(const builder *b, int64_t block, uint16_t *list, int32_t *cut)
{
    const int mirrored = is_mirrored(b->coo), n = block_size(b, block);
    const int32_t *const I = b->coo->I + block * BLOCK, *const J = b->coo->J + block * BLOCK;
    const int whole = whole_owner(b, block);
    memset(cut, 0, (size_t)(b->owners + 1) * sizeof *cut);
    for (int o = whole; whole >= 0 && o < b->owners; o++) cut[o + 1] = n;
    if (whole >= 0) return;
    for (int k = 0; k < n; k++) {
        const int o = owner_of(b, I[k]);
        cut[o + 1]++;
        if (mirrored && owner_of(b, J[k]) != o) cut[owner_of(b, J[k]) + 1]++;
    }
    for (int o = 0; o < b->owners; o++) cut[o + 1] += cut[o];
    for (int k = 0; k < n; k++) {
        const int o = owner_of(b, I[k]);
        list[cut[o]++] = (uint16_t)k;
        if (mirrored && owner_of(b, J[k]) != o) list[cut[owner_of(b, J[k])]++] = (uint16_t)k;
    }
    /* cut[o] has advanced to the beginning of the list of owner o + 1: move each element up by one */
    memmove(cut + 1, cut, (size_t)b->owners * sizeof *cut);
    cut[0] = 0;
}

/* What a scan of the triplets does: it counts entries per row, or inserts column indices or values. While
 * entries are inserted, irp[row] is the position of the next entry of that row. */
enum { COUNT, COLUMNS, VALUES };

#define PUT_VALUE(T)                              \
    const T v = val ? ((const T *)val)[t] : (T)1; \
    ((T *)a->as)[a->irp[row]++] = SP_VALUE_OF_IMAGE(v, image);

__attribute__((always_inline)) static inline void put(const builder *b, const int what,
                                                      const spmm_precision p, int64_t t, int32_t row,
                                                      int32_t column, sp_image image)
{
    const spmm_csr *const a = b->a;
    const void *const val = b->coo->val;
    if (what == COUNT)
        a->irp[row + 1]++;
    else if (what == COLUMNS)
        a->ja[a->irp[row]++] = column;
    else
        SP_BY_TYPE(p, PUT_VALUE);
}

/** Processes n triplets of a block for an owner: triplets base + list[k], or base + k if list is NULL. */
__attribute__((always_inline)) static inline void visit(const builder *b, const int what,
                                                        const spmm_precision p, int owner, int64_t base,
                                                        const uint16_t *list, int64_t n)
{
    const int32_t *const I = b->coo->I, *const J = b->coo->J;
    const sp_image image = sp_image_of(b->coo->symmetry);
    if (!is_mirrored(b->coo)) {
        for (int64_t k = 0; k < n; k++) {
            const int64_t t = base + (list ? list[k] : k);
            put(b, what, p, t, I[t], J[t], SP_IMAGE_SAME);
        }
        return;
    }
    const int64_t begin = b->first_row[owner], end = b->first_row[owner + 1];
    for (int64_t k = 0; k < n; k++) {
        const int64_t t = base + (list ? list[k] : k);
        const int32_t i = I[t], j = J[t];
        if (i >= begin && i < end) put(b, what, p, t, i, j, SP_IMAGE_SAME);
        if (j >= begin && j < end && i != j) put(b, what, p, t, j, i, image);
    }
}

typedef void (*visitor)(const builder *b, int owner, int64_t base, const uint16_t *list, int64_t n);
#define VISITOR(name, what, p)                                                                   \
    static void name(const builder *b, int owner, int64_t base, const uint16_t *list, int64_t n) \
    {                                                                                            \
        visit(b, what, p, owner, base, list, n);                                                 \
    }
#define VALUES_VISITOR(argument, word, id, ...) VISITOR(visit_values_##word, VALUES, id)
VISITOR(visit_count, COUNT, SPMM_F64)
VISITOR(visit_columns, COLUMNS, SPMM_F64)
SP_VALUE_TYPES(VALUES_VISITOR, )
#undef VISITOR

/** Processes the triplets of owner o in blocks [g, g + count), whose lists have been built. */
static void visit_blocks(const builder *b, visitor visit_block, int o, int64_t g, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int32_t *const cut = b->cut + k * b->stride + o, n = cut[1] - cut[0];
        const uint16_t *const list = b->list + k * b->slots + cut[0];
        visit_block(b, o, (g + k) * BLOCK, n < block_size(b, g + k) ? list : NULL, n);
    }
}

/** Processes all triplets, group by group: lists the triplets of each block by owner, then each owner
 *  processes its own triplets. */
static void scan(const builder *b, visitor visit_block)
{
    if (b->owners == 1) {
        visit_block(b, 0, 0, NULL, b->coo->nnz);
        return;
    }
#pragma omp parallel num_threads(b->owners)
    for (int64_t g = 0; g < b->blocks; g += b->group) {
        const int64_t count = b->blocks - g < b->group ? b->blocks - g : b->group;
#pragma omp for schedule(static, 1)
        for (int64_t k = 0; k < count; k++)
            list_block(b, g + k, b->list + k * b->slots, b->cut + k * b->stride);
#pragma omp for schedule(static, 1)
        for (int o = 0; o < b->owners; o++) visit_blocks(b, visit_block, o, g, count);
    }
}

/** Turns the counts of entries in irp[row + 1] into row starts. */
static void sum_counts(const builder *b)
{
#pragma omp parallel for schedule(static, 1) num_threads(b->owners)
    for (int o = 0; o < b->owners; o++) {
        int64_t sum = b->first_entry[o];
        for (int64_t i = b->first_row[o]; i < b->first_row[o + 1]; i++)
            b->a->irp[i + 1] = sum += b->a->irp[i + 1];
    }
}

/** Restores the row starts after a scan that inserts: the scan has advanced irp[row] to the end of the row,
 *  which is the start of the next row. */
static void restore_row_starts(const builder *b)
{
#pragma omp parallel for schedule(static, 1) num_threads(b->owners)
    for (int o = 0; o < b->owners; o++) {
        int64_t *const irp = b->a->irp + b->first_row[o];
        const int64_t rows = b->first_row[o + 1] - b->first_row[o];
        if (rows == 0) continue;
        memmove(irp + 1, irp, (size_t)(rows - 1) * sizeof *irp);
        irp[0] = b->first_entry[o];
    }
}

/** Fills `a` with the entries of coo, in file order within each row. Frees coo->val after its last use. */
static spmm_status csr_from_coo_place(sp_coo *coo, int threads, spmm_csr *a)
{
    builder b;
    spmm_status status = builder_create(coo, threads, a, &b);
    if (status != SPMM_OK) goto done;
    a->nnz = b.first_entry[b.owners];
    TRY_GOTO(sp_alloc((void **)&a->irp, a->rows + 1, sizeof *a->irp, "row starts"), done);
    TRY_GOTO(sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values"), done);
    memset(a->irp, 0,
           (size_t)(a->rows + 1) * sizeof *a->irp); /* last, so that a failed allocation touches no page */
    scan(&b, visit_count);
    sum_counts(&b);
    scan(&b, SP_OF_TYPE(visit_values, a->precision));
    restore_row_starts(&b);
    sp_free(coo->val); /* freed before ja is allocated, so that the peak is I + J + val + as */
    coo->val = NULL;
    TRY_GOTO(sp_alloc((void **)&a->ja, a->nnz, sizeof *a->ja, "column indices"), done);
    scan(&b, visit_columns);
    restore_row_starts(&b);
done:
    builder_destroy(&b);
    return status;
}

spmm_status sp_csr_from_coo(sp_coo *coo, int threads, spmm_csr *a, int64_t *duplicates)
{
    int64_t summed = 0;
    *a = (spmm_csr){.rows = coo->rows, .cols = coo->cols, .precision = coo->precision};
    spmm_status status = threads >= 1
                             ? csr_from_coo_place(coo, threads, a)
                             : sp_fail(SPMM_ERR_USAGE, "threads is %d, expected at least 1", threads);
    sp_coo_destroy(coo); /* destroyed before the sort, which allocates memory too */
    if (status == SPMM_OK) status = sp_csr_sort_sum_duplicates(a, threads, &summed);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    if (duplicates) *duplicates = summed;
    return status;
}

/* ---- for users of the library ---- */

/** Copies triplets to *coo.
 *  \param [in] val  values of type `given`, [nnz]; NULL: there are none */
static spmm_status copy_triplets(int64_t nnz, const int64_t *row_index, const int64_t *col_index,
                                 const void *val, spmm_precision given, sp_coo *coo)
{
    for (int64_t t = 0; t < nnz; t++) {
        if (row_index[t] < 0 || row_index[t] >= coo->rows || col_index[t] < 0 || col_index[t] >= coo->cols)
            return sp_fail(SPMM_ERR_USAGE,
                           "triplet %lld is at (%lld, %lld), which is outside the %lld x %lld matrix",
                           (long long)t, (long long)row_index[t], (long long)col_index[t],
                           (long long)coo->rows, (long long)coo->cols);
        coo->I[t] = (int32_t)row_index[t];
        coo->J[t] = (int32_t)col_index[t];
        if (val) sp_value_set(coo->val, coo->precision, t, sp_value_at(val, given, t));
    }
    return SPMM_OK;
}

static spmm_status from_triplets(const char *function, int64_t rows, int64_t cols, int64_t nnz,
                                 const int64_t *row_index, const int64_t *col_index, const void *val,
                                 spmm_precision given, spmm_precision precision, spmm_csr *a)
{
    sp_coo coo;
    TRY(sp_given(function, "a", a, "a place for the matrix"));
    memset(a, 0, sizeof *a);
    TRY(sp_fork_check(function));
    TRY(sp_precision_check(function, precision));
    if (nnz > 0) {
        TRY(sp_given(function, "row_index", row_index, "row indices, [nnz]"));
        TRY(sp_given(function, "col_index", col_index, "column indices, [nnz]"));
    }
    if (sp_is_complex(given) && !sp_is_complex(precision))
        return sp_fail(SPMM_ERR_USAGE, "%s: precision is %s, expected a complex type", function,
                       sp_precision_word(precision));
    TRY(sp_coo_create(rows, cols, nnz, SP_GENERAL, precision, val != NULL, &coo));
    const spmm_status status = copy_triplets(nnz, row_index, col_index, val, given, &coo);
    if (status == SPMM_OK) return sp_csr_from_coo(&coo, sp_threads_default(), a, NULL);
    sp_coo_destroy(&coo);
    return status;
}

spmm_status spmm_csr_from_triplets(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                   const int64_t *col_index, const double *val, spmm_precision precision,
                                   spmm_csr *a)
{
    SP_DEFAULT_FP;
    return from_triplets(__func__, rows, cols, nnz, row_index, col_index, val, SPMM_F64, precision, a);
}

spmm_status spmm_csr_from_triplets_complex(int64_t rows, int64_t cols, int64_t nnz, const int64_t *row_index,
                                           const int64_t *col_index, const spmm_complex *val,
                                           spmm_precision precision, spmm_csr *a)
{
    SP_DEFAULT_FP;
    return from_triplets(__func__, rows, cols, nnz, row_index, col_index, val, SPMM_C128, precision, a);
}
