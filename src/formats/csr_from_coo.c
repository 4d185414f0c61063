/** Converts triplets to CSR by a parallel, stable counting sort in bounded memory.
 *
 *  Each thread owns a range of consecutive rows and is the only one to write them, in file order: no atomics, no
 *  critical section. So that a thread need not read every triplet, the triplets of a group of blocks are first listed
 *  by owner (2 bytes per entry, for a bounded number of blocks), then each owner walks its own lists. A block whose
 *  triplets all have one owner, as in a file sorted by row, needs no lists. */
#include "formats/csr.h"

#include <string.h>

#include "base/memory.h"
#include "formats/csr_sort.h"

enum {
    BLOCK = 1 << 15,      /* triplets in a block: an index within one fits uint16_t */
    BLOCKS_PER_OWNER = 4, /* least blocks of a group: enough to balance the lists */
    GROUPS = 16,          /* approximate number: few barriers, and a group's lists take 1 % of the CSR */
    BUCKETS_LOG2 = 14,    /* rows per bucket are chosen for at most 2^14 buckets: their owners stay in L1 */
    MAX_OWNERS = 4096     /* an owner fits uint16_t, and the histograms stay small */
};

typedef struct builder {
    const sp_coo *coo; /* its arrays are freed after their last use */
    spmm_csr *a;
    int owners; /* threads, each with a range of rows */
    int shift;  /* row >> shift is the bucket of a row; owners' ranges are cut between buckets */
    int64_t buckets;
    uint16_t *owner;       /* of each bucket, [buckets] */
    int64_t *first_row;    /* of each owner, [owners + 1] */
    int64_t *first_entry;  /* of each owner in the CSR arrays, [owners + 1] */
    int64_t blocks, group; /* number of blocks; of blocks in a group */
    int64_t slots;         /* list elements per block */
    uint16_t *list;        /* [group][slots]: triplets of a block, by owner, in file order */
    int32_t *cut;          /* [group][stride]: where the list of each owner begins, [owners + 1] */
    int64_t stride;        /* whole cache lines, so that threads do not share one */
    int32_t *whole;        /* [group]: the one owner of a block, which then has no lists; or -1 */
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
    sp_free(b->whole);
}

/** Counts the entries per row bucket, implied ones included, over share `part` of `parts` of the triplets. */
static void count_buckets(const builder *b, int part, int parts, int64_t *count)
{
    const sp_coo *const coo = b->coo;
    const int mirrored = is_mirrored(coo);
    const int64_t begin = coo->nnz / parts * part + coo->nnz % parts * part / parts;
    const int64_t end = coo->nnz / parts * (part + 1) + coo->nnz % parts * (part + 1) / parts;
    for (int64_t t = begin; t < end; t++) {
        count[coo->I[t] >> b->shift]++;
        if (mirrored && coo->I[t] != coo->J[t]) count[coo->J[t] >> b->shift]++;
    }
}

/** Assigns an owner to each bucket, so that owners have about the same number of entries + rows; count [buckets]. */
static void assign_owners(builder *b, const int64_t *count)
{
    const int64_t rows = b->coo->rows, bucket_rows = INT64_C(1) << b->shift;
    int64_t total = 0, before = 0,
            entries = 0; /* weight: entries + rows, where the last bucket counts as full */
    for (int64_t q = 0; q < b->buckets; q++) total += count[q] + bucket_rows;
    int last = 0;
    b->first_row[0] = b->first_entry[0] = 0;
    for (int64_t q = 0; q < b->buckets; q++) {
        const int64_t weight = count[q] + bucket_rows;
        const int o = (int)(((double)before + 0.5 * (double)weight) / (double)total * b->owners);
        while (last < o) {
            last++;
            b->first_row[last] = q << b->shift;
            b->first_entry[last] = entries;
        }
        b->owner[q] = (uint16_t)last;
        before += weight;
        entries += count[q];
    }
    while (last < b->owners) {
        last++;
        b->first_row[last] = rows;
        b->first_entry[last] = entries;
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
        TRY(sp_alloc((void **)&b->whole, b->group, sizeof *b->whole, "lists of triplets"));
    }
    return find_owners(b);
}

static int block_size(const builder *b, int64_t block)
{
    const int64_t rest = b->coo->nnz - block * BLOCK;
    return rest < BLOCK ? (int)rest : BLOCK;
}

/** Returns the owner of all entries of a block, or -1. Owners increase with the rows, so that the least and the
 *  greatest row decide. */
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

/** Lists the triplets of a block by owner; one whose implied entry has another owner is in the lists of both. */
static void list_block(const builder *b, int64_t block, uint16_t *list, int32_t *cut)
{
    const int mirrored = is_mirrored(b->coo), n = block_size(b, block);
    const int32_t *const I = b->coo->I + block * BLOCK, *const J = b->coo->J + block * BLOCK;
    memset(cut, 0, (size_t)(b->owners + 1) * sizeof *cut);
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
    /* each cut has advanced to the value of the next one */
    memmove(cut + 1, cut, (size_t)b->owners * sizeof *cut);
    cut[0] = 0;
}

/* What a scan of the triplets does with each entry. While they are inserted, irp[row] is the row's next position. */
enum { COUNT, COLUMNS, VALUES_F64, VALUES_F32 };

__attribute__((always_inline)) static inline void put(const builder *b, const int what, int64_t t,
                                                      int32_t row, int32_t column, int negated)
{
    const spmm_csr *const a = b->a;
    const void *const val = b->coo->val;
    if (what == COUNT) {
        a->irp[row + 1]++;
    } else if (what == COLUMNS) {
        a->ja[a->irp[row]++] = column;
    } else if (what == VALUES_F64) {
        const double v = val ? ((const double *)val)[t] : 1.0;
        ((double *)a->as)[a->irp[row]++] = negated ? -v : v;
    } else {
        const float v = val ? ((const float *)val)[t] : 1.0f;
        ((float *)a->as)[a->irp[row]++] = negated ? -v : v;
    }
}

/** Visits n listed triplets of a block (list NULL: n consecutive ones) on behalf of an owner. */
__attribute__((always_inline)) static inline void visit(const builder *b, const int what, int owner,
                                                        int64_t base, const uint16_t *list, int64_t n)
{
    const int32_t *const I = b->coo->I, *const J = b->coo->J;
    const int negated = b->coo->symmetry == SP_SKEW;
    if (!is_mirrored(b->coo)) {
        for (int64_t k = 0; k < n; k++) {
            const int64_t t = base + (list ? list[k] : k);
            put(b, what, t, I[t], J[t], 0);
        }
        return;
    }
    const int64_t begin = b->first_row[owner], end = b->first_row[owner + 1];
    for (int64_t k = 0; k < n; k++) {
        const int64_t t = base + (list ? list[k] : k);
        const int32_t i = I[t], j = J[t];
        if (i >= begin && i < end) put(b, what, t, i, j, 0);
        if (j >= begin && j < end && i != j) put(b, what, t, j, i, negated);
    }
}

typedef void (*visitor)(const builder *b, int owner, int64_t base, const uint16_t *list, int64_t n);
#define VISITOR(name, what)                                                                      \
    static void name(const builder *b, int owner, int64_t base, const uint16_t *list, int64_t n) \
    {                                                                                            \
        visit(b, what, owner, base, list, n);                                                    \
    }
VISITOR(visit_count, COUNT)
VISITOR(visit_columns, COLUMNS)
VISITOR(visit_values_f64, VALUES_F64)
VISITOR(visit_values_f32, VALUES_F32)
#undef VISITOR

/** Visits the triplets of owner o in the `count` listed blocks from block g on. */
static void visit_blocks(const builder *b, visitor visit_block, int o, int64_t g, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int32_t *const cut = b->cut + k * b->stride + o;
        if (b->whole[k] < 0)
            visit_block(b, o, (g + k) * BLOCK, b->list + k * b->slots + cut[0], cut[1] - cut[0]);
        else if (b->whole[k] == o)
            visit_block(b, o, (g + k) * BLOCK, NULL, block_size(b, g + k));
    }
}

/** Visits all triplets, group by group: lists the blocks by owner, then each owner visits its own triplets. */
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
        for (int64_t k = 0; k < count; k++) {
            b->whole[k] = whole_owner(b, g + k);
            if (b->whole[k] < 0) list_block(b, g + k, b->list + k * b->slots, b->cut + k * b->stride);
        }
#pragma omp for schedule(static, 1)
        for (int o = 0; o < b->owners; o++) visit_blocks(b, visit_block, o, g, count);
    }
}

/** Turns the counts in irp[row + 1] into row starts. */
static void sum_counts(const builder *b)
{
#pragma omp parallel for schedule(static, 1) num_threads(b->owners)
    for (int o = 0; o < b->owners; o++) {
        int64_t sum = b->first_entry[o];
        for (int64_t i = b->first_row[o]; i < b->first_row[o + 1]; i++)
            b->a->irp[i + 1] = sum += b->a->irp[i + 1];
    }
}

/** Moves the row starts back: after inserting, irp[row] is the end of the row, that is the start of the next one. */
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

/** Fills a from coo, with the entries of each row in file order; frees val of coo after its last use. */
static spmm_status place(sp_coo *coo, int threads, spmm_csr *a)
{
    builder b;
    spmm_status status = builder_create(coo, threads, a, &b);
    if (status != SPMM_OK) goto done;
    a->nnz = b.first_entry[b.owners];
    TRY_GOTO(sp_alloc((void **)&a->irp, a->rows + 1, sizeof *a->irp, "row starts"), done);
    TRY_GOTO(sp_alloc(&a->as, a->nnz, sp_value_size(a->precision), "values"), done);
    memset(a->irp, 0,
           (size_t)(a->rows + 1) * sizeof *a->irp); /* once both are allocated: no page is touched in vain */
    scan(&b, visit_count);
    sum_counts(&b);
    scan(&b, a->precision == SPMM_F64 ? visit_values_f64 : visit_values_f32);
    restore_row_starts(&b);
    sp_free(coo->val); /* before ja is allocated: the peak is I + J + val + as */
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
    spmm_status status = threads >= 1 ? place(coo, threads, a)
                                      : sp_fail(SPMM_ERR_USAGE, "%d threads: must be >= 1", threads);
    sp_coo_destroy(coo); /* before the sort, which allocates too */
    if (status == SPMM_OK) status = sp_csr_sort_sum_duplicates(a, threads, &summed);
    if (status != SPMM_OK) spmm_csr_destroy(a);
    if (duplicates) *duplicates = summed;
    return status;
}
