/* limit: 60 */
#include <unistd.h>

#include "order/comm_volume.h"
#include "order/layout_order.h"
#include "order/partition.h"
#include "order/reorder.h"
#include "formats/csr.h"
#include "io/generators.h"
#include "sample.h"
#include "test.h"

static int64_t *integers(int64_t n)
{
    int64_t *const p = malloc((size_t)(n + 1) * sizeof *p);
    if (!p) abort();
    return p;
}

static int64_t *shuffled(int64_t n, uint64_t key)
{
    int64_t *const perm = integers(n);
    for (int64_t i = 0; i < n; i++) perm[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)sp_random_below(key, (uint64_t)i, 0, (uint64_t)(i + 1)), t = perm[i];
        perm[i] = perm[j];
        perm[j] = t;
    }
    return perm;
}

static void generate(const char *spec, spmm_csr *a)
{
    if (sp_gen_csr(spec, SPMM_F64, 1, a) != SPMM_OK) abort();
}

/** A square matrix of reals at random places; one row in three is empty. */
static void random_square(int64_t n, int64_t nnz, uint64_t key, spmm_precision precision, spmm_csr *a)
{
    int64_t *const row = integers(nnz), *const col = integers(nnz);
    double *const value = malloc((size_t)(nnz + 1) * sizeof *value);
    for (int64_t t = 0; t < nnz; t++) {
        row[t] = (int64_t)sp_random_below(key, (uint64_t)t, 0, (uint64_t)n);
        col[t] = (int64_t)sp_random_below(key, (uint64_t)t, 1, (uint64_t)n);
        if (row[t] % 3 == 1) row[t]--;
        value[t] = sample_value(SAMPLE_REALS, key, (uint64_t)t, 2);
    }
    if (spmm_csr_from_triplets(n, n, nnz, row, col, value, precision, a) != SPMM_OK) abort();
    free(row), free(col), free(value);
}

static double *dense(const spmm_csr *a)
{
    double *const d = calloc((size_t)(a->rows * a->cols) + 1, sizeof *d);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            d[i * a->cols + a->ja[e]] = sample_get(a->as, a->precision, e);
    return d;
}

/** Checks that element (perm[i], perm[j]) of b is element (i, j) of a. */
static void check_permuted(const spmm_csr *a, const int64_t *perm, const spmm_csr *b)
{
    const int64_t n = a->rows;
    double *const d = dense(a), *const e = dense(b);
    CHECK_INT(sp_csr_check(b, 1), SPMM_OK);
    CHECK_INT(b->rows, n);
    CHECK_INT(b->cols, n);
    CHECK_INT(b->nnz, a->nnz);
    CHECK_INT(b->precision, a->precision);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) CHECK(d[i * n + j] == e[perm[i] * n + perm[j]]);
    free(d), free(e);
}

static int part_of(const int64_t *begin, int64_t row)
{
    int p = 0;
    while (row >= begin[p + 1]) p++;
    return p;
}

/** How a row is related to other parts. 0: not at all; 1: other parts need the row; 2: other parts need the
 *  row, and the row needs rows of other parts; 3: the row needs rows of other parts. */
static int kind_of(int needed, int needs) { return needs ? (needed ? 2 : 3) : needed; }

/** Checks, entry by entry, what graph.h promises of the numbering; `linked` is n x n zeros. */
static void check_numbering(const spmm_csr *a, int parts, const int64_t *perm, const int64_t *begin,
                            int64_t edge_cut, char *linked)
{
    const int64_t n = a->rows;
    int *const kind = calloc((size_t)n + 1, sizeof *kind);
    int64_t *const old = integers(n), cut = 0;
    for (int64_t i = 0; i < n; i++) old[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        CHECK(perm[i] >= 0 && perm[i] < n);
        if (perm[i] < 0 || perm[i] >= n) continue;
        CHECK_INT(old[perm[i]], -1);
        old[perm[i]] = i;
    }
    CHECK_INT(begin[0], 0);
    CHECK_INT(begin[parts], n);
    for (int p = 0; p < parts; p++) CHECK(begin[p] <= begin[p + 1]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) linked[i * n + a->ja[e]] = 1;
    for (int64_t i = 0; i < n; i++) {
        int needs = 0, needed = 0;
        for (int64_t j = 0; j < n; j++) {
            if (part_of(begin, perm[i]) == part_of(begin, perm[j])) continue;
            needs |= linked[i * n + j];
            needed |= linked[j * n + i];
            cut += i < j && (linked[i * n + j] || linked[j * n + i]);
        }
        kind[perm[i]] = kind_of(needed, needs);
    }
    CHECK_INT(edge_cut, cut);
    for (int p = 0; p < parts; p++)
        for (int64_t r = begin[p] + 1; r < begin[p + 1]; r++)
            CHECK(kind[r - 1] < kind[r] || (kind[r - 1] == kind[r] && old[r - 1] < old[r]));
    free(kind), free(old);
}

static void check_partition(const spmm_csr *a, int parts)
{
    const int64_t n = a->rows;
    int64_t *const perm = integers(n), *const begin = integers(parts), edge_cut = -1;
    char *const linked = calloc((size_t)(n * n) + 1, 1);
    spmm_csr b;
    CHECK_INT(sp_graph_partition(a, parts, NULL, 2, perm, begin, &edge_cut), SPMM_OK);
    check_numbering(a, parts, perm, begin, edge_cut, linked);
    CHECK_INT(sp_csr_permute(a, perm, 2, &b), SPMM_OK);
    check_permuted(a, perm, &b);
    spmm_csr_destroy(&b);
    free(perm), free(begin), free(linked);
}

/** Cuts a matrix, and destroys it. */
static void check_parts(spmm_csr *a)
{
    static const int parts[] = {1, 2, 3, 5, 8, 13, 40, 400};
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) check_partition(a, parts[n]);
    spmm_csr_destroy(a);
}

/** Counts the rows of X that a product moves, and the rows of Y that wait for them, on `parts` ranks. */
static void halo(const spmm_csr *a, int parts, const int64_t *begin, int64_t *moved, int64_t *waiting)
{
    const int64_t cols[] = {0, a->cols};
    sp_rank_count *const c = malloc((size_t)parts * sizeof *c);
    *moved = *waiting = 0;
    CHECK_INT(sp_comm_volume(a, parts, 1, begin, cols, begin, (sp_crossing){1, 0}, 2, c), SPMM_OK);
    for (int p = 0; p < parts; p++) {
        *moved += c[p].halo_rows;
        *waiting += c[p].boundary_rows;
    }
    free(c);
}

static void test_permute(void)
{
    spmm_csr a, b, c;
    TEST("P A P^T has every entry where it belongs, columns increase, for any number of threads") {
        for (int64_t n = 0; n <= 120; n += 24) {
            random_square(n, n ? 6 * n : 0, 3, n % 48 ? SPMM_F32 : SPMM_F64, &a);
            int64_t *const perm = shuffled(n, 17);
            CHECK_INT(sp_csr_permute(&a, perm, 1, &b), SPMM_OK);
            check_permuted(&a, perm, &b);
            CHECK_INT(sp_csr_permute(&a, perm, 5, &c), SPMM_OK);
            CHECK(memcmp(b.ja, c.ja, (size_t)b.nnz * sizeof *b.ja) == 0);
            CHECK(memcmp(b.as, c.as, (size_t)b.nnz * sp_value_size(b.precision)) == 0);
            spmm_csr_destroy(&a), spmm_csr_destroy(&b), spmm_csr_destroy(&c);
            free(perm);
        }
    }
    TEST("what is no permutation, or not square, is refused") {
        random_square(4, 10, 3, SPMM_F64, &a);
        const int64_t twice[] = {0, 2, 2, 1}, beyond[] = {0, 1, 2, 4}, negative[] = {-1, 1, 2, 3};
        CHECK_ERROR(sp_csr_permute(&a, twice, 1, &b), SPMM_ERR_USAGE, "row 2 goes to 2, as another row does");
        CHECK(b.irp == NULL);
        CHECK_INT(sp_csr_permute(&a, beyond, 1, &b), SPMM_ERR_USAGE);
        CHECK_INT(sp_csr_permute(&a, negative, 1, &b), SPMM_ERR_USAGE);
        spmm_csr_destroy(&a);
        sample_csr(SAMPLE_WIDE, SAMPLE_INTEGERS, SPMM_F64, &a);
        CHECK_ERROR(sp_csr_permute(&a, twice, 1, &b), SPMM_ERR_USAGE, "not square");
        spmm_csr_destroy(&a);
    }
}

static void test_always(void)
{
    spmm_csr a;
    TEST("one part is all rows as they are, in builds without METIS too") {
        random_square(50, 200, 5, SPMM_F64, &a);
        int64_t perm[50], begin[2], cut = -1;
        CHECK_INT(sp_graph_partition(&a, 1, NULL, 2, perm, begin, &cut), SPMM_OK);
        for (int64_t i = 0; i < 50; i++) CHECK_INT(perm[i], i);
        CHECK_INT(begin[0], 0);
        CHECK_INT(begin[1], 50);
        CHECK_INT(cut, 0);
        CHECK_INT(sp_graph_partition(&a, 0, NULL, 2, perm, begin, &cut), SPMM_ERR_USAGE);
        spmm_csr_destroy(&a);
    }
    TEST("a matrix that is not square has no graph") {
        sample_csr(SAMPLE_TALL, SAMPLE_INTEGERS, SPMM_F64, &a);
        int64_t *const perm = integers(a.rows), begin[3];
        CHECK_ERROR(sp_graph_partition(&a, 2, NULL, 2, perm, begin, NULL), SPMM_ERR_USAGE, "square");
        free(perm);
        spmm_csr_destroy(&a);
    }
}

static void test_cut(void)
{
    spmm_csr a, b;
    TEST("grids, disconnected and unsymmetric graphs keep what is promised, for 1 to 400 parts") {
        generate("lap2d5:14", &a);
        check_parts(&a);
        generate("fem3:4", &a);
        check_parts(&a);
        random_square(150, 500, 7, SPMM_F64, &a);
        check_parts(&a);
        /* mostly lone vertices and pairs */
        random_square(200, 60, 8, SPMM_F32, &a);
        check_parts(&a);
    }
    TEST("so do matrices with a dense row, with a dense column, a diagonal alone, or no entries") {
        enum { N = 160 };
        int64_t diagonal[N], zero[N];
        for (int64_t i = 0; i < N; i++) diagonal[i] = i, zero[i] = 0;
        const int64_t *const rows[] = {zero, diagonal, diagonal}, *const cols[] = {diagonal, zero, diagonal};
        for (int n = 0; n < 3; n++) {
            CHECK_INT(spmm_csr_from_triplets(N, N, N, rows[n], cols[n], NULL, SPMM_F64, &a), SPMM_OK);
            check_parts(&a);
        }
        for (int64_t n = 0; n <= 3; n++) {
            CHECK_INT(spmm_csr_from_triplets(n, n, 0, NULL, NULL, NULL, SPMM_F64, &a), SPMM_OK);
            check_parts(&a);
        }
    }
    TEST("without edges the parts are consecutive rows as they are") {
        int64_t diagonal[64], perm[64], begin[6];
        for (int64_t i = 0; i < 64; i++) diagonal[i] = i;
        CHECK_INT(spmm_csr_from_triplets(64, 64, 64, diagonal, diagonal, NULL, SPMM_F64, &a), SPMM_OK);
        CHECK_INT(sp_graph_partition(&a, 5, NULL, 2, perm, begin, NULL), SPMM_OK);
        for (int64_t i = 0; i < 64; i++) CHECK_INT(perm[i], i);
        for (int p = 0; p < 5; p++) CHECK(begin[p + 1] - begin[p] >= 12 && begin[p + 1] - begin[p] <= 13);
        spmm_csr_destroy(&a);
    }
    TEST("two grids that are not linked are cut apart") {
        generate("lap2d5:8", &a);
        const int64_t n = a.rows;
        int64_t *const row = integers(2 * a.nnz), *const col = integers(2 * a.nnz), perm[2 * 64], begin[3],
                       cut;
        for (int64_t i = 0; i < n; i++)
            for (int64_t e = a.irp[i]; e < a.irp[i + 1]; e++) {
                row[e] = 2 * i, col[e] = 2 * a.ja[e]; /* interleaved */
                row[a.nnz + e] = 2 * i + 1, col[a.nnz + e] = 2 * a.ja[e] + 1;
            }
        CHECK_INT(spmm_csr_from_triplets(2 * n, 2 * n, 2 * a.nnz, row, col, NULL, SPMM_F64, &b), SPMM_OK);
        CHECK_INT(sp_graph_partition(&b, 2, NULL, 2, perm, begin, &cut), SPMM_OK);
        CHECK_INT(cut, 0);
        CHECK_INT(begin[1], n);
        free(row), free(col);
        spmm_csr_destroy(&a), spmm_csr_destroy(&b);
    }
}

static void test_calls_of_metis(void)
{
    spmm_csr a;
    TEST("METIS writes nothing onto standard output, not for rows heavier than a part's share either") {
        static const char *const specs[] = {"longrows:2000,4,3,1500", "rmat:10,8"};
        FILE *const file = tmpfile();
        fflush(stdout);
        const int output = dup(1);
        if (!file || output < 0 || dup2(fileno(file), 1) < 0) abort();
        for (int n = 0; n < 2; n++) {
            generate(specs[n], &a);
            int64_t *const perm = integers(a.rows), begin[251];
            const spmm_status status = sp_graph_partition(&a, 250, NULL, 2, perm, begin, NULL);
            CHECK_INT(status, SPMM_OK);
            free(perm);
            spmm_csr_destroy(&a);
        }
        fflush(stdout);
        dup2(output, 1);
        close(output);
        CHECK_INT(fseek(file, 0, SEEK_END), 0);
        CHECK_INT(ftell(file), 0);
        fclose(file);
    }
    TEST("it is the same every time, whatever rand() was used for") {
        generate("lap2d5:40", &a);
        int64_t perm[2][1600], begin[2][7], cut[2];
        for (int n = 0; n < 2; n++) {
            srand(99 + (unsigned)n);
            CHECK_INT(sp_graph_partition(&a, 6, NULL, 2, perm[n], begin[n], &cut[n]), SPMM_OK);
        }
        CHECK(memcmp(perm[0], perm[1], sizeof perm[0]) == 0);
        CHECK(memcmp(begin[0], begin[1], sizeof begin[0]) == 0);
        CHECK_INT(cut[0], cut[1]);
        spmm_csr_destroy(&a);
    }
}

static void test_gain(void)
{
    spmm_csr a, b;
    TEST("of a shuffled grid far fewer rows of X are moved, by parts of about the same work") {
        enum { PARTS = 8 };
        int64_t begin[PARTS + 1], moved[2], waiting[2];
        generate("lap3d7:20", &a);
        int64_t *const mixed = shuffled(a.rows, 1), *const perm = integers(a.rows);
        CHECK_INT(sp_csr_permute(&a, mixed, 2, &b), SPMM_OK);
        spmm_csr_destroy(&a);
        sp_partition_entries(b.irp, b.rows, PARTS, begin);
        halo(&b, PARTS, begin, &moved[0], &waiting[0]);
        CHECK_INT(sp_graph_partition(&b, PARTS, NULL, 2, perm, begin, NULL), SPMM_OK);
        CHECK_INT(sp_csr_permute(&b, perm, 2, &a), SPMM_OK);
        halo(&a, PARTS, begin, &moved[1], &waiting[1]);
        printf(
            "  lap3d7:20, shuffled, %d parts: of %lld rows of X moved %lld are left, of %lld waiting %lld\n",
            PARTS, (long long)moved[0], (long long)moved[1], (long long)waiting[0], (long long)waiting[1]);
        CHECK(moved[1] > 0 && 3 * moved[1] <= moved[0]);
        CHECK(waiting[1] > 0 && 3 * waiting[1] <= waiting[0]);
        for (int p = 0; p < PARTS; p++)
            CHECK((double)(a.irp[begin[p + 1]] - a.irp[begin[p]]) <= 1.1 * (double)a.nnz / PARTS);
        free(mixed), free(perm);
        spmm_csr_destroy(&a), spmm_csr_destroy(&b);
    }
}

/** Checks that an order lists every row once. */
static void check_order(const spmm_csr *a, const int32_t *order)
{
    char *const seen = calloc((size_t)a->rows + 1, 1);
    for (int64_t i = 0; i < a->rows; i++) {
        CHECK(order[i] >= 0 && order[i] < a->rows && !seen[order[i]]);
        seen[order[i]] = 1;
    }
    free(seen);
}

/** Removes the diagonal of a grid's matrix: neighbors then share no columns, since the grid is bipartite. */
static void remove_diagonal(spmm_csr *a)
{
    double *const values = a->as;
    int64_t to = 0, from = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        for (; from < a->irp[i + 1]; from++) {
            if (a->ja[from] == i) continue;
            a->ja[to] = a->ja[from];
            values[to++] = values[from];
        }
        a->irp[i + 1] = to;
        from = to + i + 1; /* a row has one entry on the diagonal */
    }
    a->nnz = to;
}

/** Replaces *a by the square matrix of n rows with ones at these places; frees the lists. */
static void from_entries(int64_t n, int64_t nnz, int64_t *row, int64_t *col, spmm_csr *a)
{
    double *const value = malloc((size_t)(nnz + 1) * sizeof *value);
    for (int64_t e = 0; e < nnz; e++) value[e] = 1;
    spmm_csr_destroy(a);
    if (spmm_csr_from_triplets(n, n, nnz, row, col, value, SPMM_F64, a) != SPMM_OK) abort();
    free(row), free(col), free(value);
}

/** Replaces each entry by a block of unknowns x unknowns entries, as in a finite element matrix. */
static void make_blocks(spmm_csr *a, int unknowns)
{
    const int64_t nnz = a->nnz * unknowns * unknowns;
    int64_t *const row = integers(nnz), *const col = integers(nnz), to = 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            for (int b = 0; b < unknowns * unknowns; b++, to++) {
                row[to] = i * unknowns + b / unknowns;
                col[to] = (int64_t)a->ja[e] * unknowns + b % unknowns;
            }
    from_entries(a->rows * unknowns, nnz, row, col, a);
}

/** Adds an entry in column 0 to each row that has none. */
static void fill_column(spmm_csr *a)
{
    int64_t *const row = integers(a->nnz + a->rows), *const col = integers(a->nnz + a->rows), to = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++, to++) row[to] = i, col[to] = a->ja[e];
        if (a->irp[i] == a->irp[i + 1] || a->ja[a->irp[i]] > 0) row[to] = i, col[to++] = 0;
    }
    from_entries(a->rows, to, row, col, a);
}

/** Checks that sp_layout_order() with together = 2 keeps pairs of consecutive parts together: 6 parts of a
 *  shuffled grid, in 3 pairs. */
static void check_together(void)
{
    enum { PARTS = 6 };
    int64_t begin[PARTS + 1], pair[PARTS / 2 + 1], all[PARTS], between[PARTS / 2];
    spmm_csr a, b;
    generate("lap3d7:24", &a);
    int64_t *const mixed = shuffled(a.rows, 2), *const perm = integers(a.rows);
    int32_t *const order = malloc((size_t)a.rows * 4), *const part = malloc((size_t)a.rows * 4);
    CHECK_INT(sp_csr_permute(&a, mixed, 2, &b), SPMM_OK);
    CHECK_INT(sp_layout_order(&b, PARTS, 2, 2, order, part), SPMM_OK);
    CHECK_INT(sp_order_parts(&b, PARTS, part, order, 3, perm, begin), SPMM_OK);
    for (int p = 0; p <= PARTS / 2; p++) pair[p] = begin[2 * p];
    CHECK_INT(sp_cut_volume(&b, PARTS, perm, begin, 2, all), SPMM_OK);
    CHECK_INT(sp_cut_volume(&b, PARTS / 2, perm, pair, 2, between), SPMM_OK);
    /* if the 3 pairs were cut by 2 planes, 24 x 24 rows would cross each plane in both directions */
    CHECK(between[0] + between[1] + between[2] <= 1.5 * 4 * 24 * 24);
    CHECK(between[0] + between[1] + between[2] < all[0] + all[1] + all[2] + all[3] + all[4] + all[5]);
    for (int p = 0; p < PARTS; p++) CHECK((double)(begin[p + 1] - begin[p]) * PARTS <= 1.1 * (double)b.rows);
    spmm_csr_destroy(&a), spmm_csr_destroy(&b);
    free(mixed), free(perm), free(order), free(part);
}

static void test_layout(void)
{
    enum { PARTS = 4, MESHES = 6, CASES = 8 };
    static const struct {
        const char *spec;
        int fewer; /* at least so many times fewer rows move than in random order; 0: not checked */
    } cases[CASES] = {{"lap2d5:40", 3},  {"lap3d7:16", 3},  {"lap2d5:300", 20},   {"lap2d5:100", 20},
                      {"lap3d27:12", 2}, {"lap2d5:100", 4}, {"uniform:300,3", 0}, {"lap2d5:1", 0}};
    spmm_csr a, b, c;
    TEST("a layout's order has every row once; the parts of a shuffled grid need few rows") {
        for (int n = 0; n < CASES; n++) {
            int64_t begin[PARTS + 1], received[PARTS], all = 0, moved[2], waiting;
            generate(cases[n].spec, &a);
            if (n == 3) remove_diagonal(&a);
            if (n == 4) make_blocks(&a, 5); /* rows of 135 entries */
            if (n == 5) fill_column(&a);
            int64_t *const mixed = shuffled(a.rows, 1), *const perm = integers(a.rows);
            int32_t *const order = malloc((size_t)a.rows * 4), *const again = malloc((size_t)a.rows * 4);
            int32_t *const part = malloc((size_t)a.rows * 4), *const parts = malloc((size_t)a.rows * 4);
            CHECK_INT(sp_csr_permute(&a, mixed, 2, &b), SPMM_OK);
            CHECK_INT(sp_layout_order(&b, PARTS, 1, 4, again, parts), SPMM_OK);
            CHECK_INT(sp_layout_order(&b, PARTS, 1, 1, order, part), SPMM_OK);
            CHECK(memcmp(order, again, (size_t)a.rows * 4) == 0);
            CHECK(memcmp(part, parts, (size_t)a.rows * 4) == 0);
            check_order(&b, order);
            sp_partition_entries(b.irp, b.rows, PARTS, begin);
            halo(&b, PARTS, begin, &moved[0], &waiting);
            CHECK_INT(sp_cut_volume(&b, PARTS, NULL, begin, 2, received), SPMM_OK);
            for (int p = 0; p < PARTS; p++) all += received[p];
            CHECK_INT(all, moved[0]);
            CHECK_INT(sp_order_parts(&b, PARTS, part, order, 3, perm, begin), SPMM_OK);
            CHECK_INT(sp_cut_volume(&b, PARTS, perm, begin, 3, received), SPMM_OK);
            CHECK_INT(sp_csr_permute(&b, perm, 2, &c), SPMM_OK);
            halo(&c, PARTS, begin, &moved[1], &waiting);
            for (int p = 0; p < PARTS; p++) all -= received[p];
            CHECK_INT(all, moved[0] - moved[1]);
            if (cases[n].fewer * moved[1] > moved[0]) CHECK_INT(moved[1], moved[0] / cases[n].fewer);
            for (int p = 0; n < MESHES && p < PARTS; p++)
                CHECK((double)(c.irp[begin[p + 1]] - c.irp[begin[p]]) <= 1.1 * (double)c.nnz / PARTS);
            spmm_csr_destroy(&a), spmm_csr_destroy(&b), spmm_csr_destroy(&c);
            free(mixed), free(perm), free(order), free(again), free(part), free(parts);
        }
        check_together();
    }
    TEST("entries keep the order of the old columns if asked for; a matrix that is not square is refused") {
        random_square(60, 400, 3, SPMM_F64, &a);
        int64_t *const perm = shuffled(60, 5);
        CHECK_INT(sp_csr_permute_in_order(&a, perm, 3, &b), SPMM_OK);
        for (int64_t i = 0; i < a.rows; i++)
            for (int64_t e = a.irp[i], to = b.irp[perm[i]]; e < a.irp[i + 1]; e++, to++) {
                CHECK_INT(b.ja[to], perm[a.ja[e]]);
                CHECK(sp_value_get(b.as, b.precision, to) == sp_value_get(a.as, a.precision, e));
            }
        free(perm);
        spmm_csr_destroy(&a), spmm_csr_destroy(&b);
        int32_t order[4], part[4];
        sample_csr(SAMPLE_WIDE, SAMPLE_INTEGERS, SPMM_F64, &a);
        CHECK_INT(sp_layout_order(&a, 2, 1, 1, order, part), SPMM_ERR_USAGE);
        spmm_csr_destroy(&a);
    }
}

int main(void)
{
    test_permute();
    test_layout();
    test_always();
    if (sp_graph_ready() == SPMM_OK) {
        test_cut();
        test_calls_of_metis();
        test_gain();
        return test_end();
    }
    TEST("without METIS two parts are refused, and the message says what to do") {
        spmm_csr a;
        int64_t perm[9], begin[3];
        generate("lap2d5:3", &a);
        CHECK_ERROR(sp_graph_partition(&a, 2, NULL, 2, perm, begin, NULL), SPMM_ERR_USAGE, "METIS=1");
        spmm_csr_destroy(&a);
    }
    SKIP("graphs are cut", "a build without METIS");
    return test_end();
}
