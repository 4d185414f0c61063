/* limit: 60 */
#include "order/comm_volume.h"
#include "order/partition.h"
#include "io/generators.h"
#include "sample.h"
#include "test.h"

enum { MOST_RANKS = 12, PER_NODE = 3 };

/** A grid with its boundaries. */
typedef struct blocks {
    int P, Q;
    int64_t rows[MOST_RANKS + 1], cols[MOST_RANKS + 1], x[MOST_RANKS * (MOST_RANKS + 1)];
} blocks;

/** Returns the rank that owns row j of X, by linear search. */
static int owner(const blocks *b, int64_t j)
{
    for (int q = 0; q < b->Q; q++)
        for (int p = 0; p < b->P; p++)
            if (b->x[q * (b->P + 1) + p] <= j && j < b->x[q * (b->P + 1) + p + 1]) return p * b->Q + q;
    return -1;
}

static int holder(const blocks *b, int64_t i, int64_t j)
{
    int p = 0, q = 0;
    while (i >= b->rows[p + 1]) p++;
    while (j >= b->cols[q + 1]) q++;
    return p * b->Q + q;
}

/** Counts entry by entry, with a table of the columns that each rank needs. */
static void brute_force(const spmm_csr *a, const blocks *b, int once, sp_rank_count *counts)
{
    const int ranks = b->P * b->Q;
    int64_t run[MOST_RANKS] = {0};
    char *const needs = calloc((size_t)(ranks * a->cols) + 1, 1);
    memset(counts, 0, (size_t)ranks * sizeof *counts);
    for (int64_t i = 0; i < a->rows; i++) {
        char waits[MOST_RANKS] = {0};
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            const int rank = holder(b, i, a->ja[e]);
            counts[rank].nnz++;
            if (owner(b, a->ja[e]) == rank) continue;
            needs[rank * a->cols + a->ja[e]] = 1;
            waits[rank] = 1;
        }
        for (int r = 0; r < ranks; r++) {
            const int has = b->rows[r / b->Q] <= i && i < b->rows[r / b->Q + 1];
            counts[r].boundary_rows += waits[r];
            run[r] = has && !waits[r] ? run[r] + 1 : 0;
            if (run[r] > counts[r].interior_run) counts[r].interior_run = run[r];
        }
    }
    for (int r = 0; r < ranks; r++) {
        int64_t from[MOST_RANKS] = {0}, low[MOST_RANKS], high[MOST_RANKS];
        for (int64_t j = 0; j < a->cols; j++) {
            if (owner(b, j) == r) counts[r].x_rows++;
            if (!needs[r * a->cols + j]) continue;
            if (from[owner(b, j)]++ == 0) low[owner(b, j)] = j;
            high[owner(b, j)] = j;
        }
        for (int64_t i = 0; i < a->rows; i++)
            counts[r].rows += b->rows[r / b->Q] <= i && i < b->rows[r / b->Q + 1];
        counts[r].partial_rows = b->Q > 1 ? counts[r].rows : 0;
        for (int s = 0; s < ranks; s++) {
            counts[r].halo_rows += from[s];
            counts[r].receives_from += from[s] > 0;
            counts[s].sent_rows += from[s];
            counts[s].sends_to += from[s] > 0;
            counts[s].packed_rows += from[s] > 0 && high[s] - low[s] + 1 != from[s] ? from[s] : 0;
            if (s / PER_NODE == r / PER_NODE) continue;
            for (int64_t j = 0; j < a->cols && once;
                 j++) { /* without rows that an earlier rank of the node needs, too */
                int before = 0;
                for (int o = r / PER_NODE * PER_NODE; o < r; o++) before |= needs[o * a->cols + j];
                from[s] -= before && needs[r * a->cols + j] && owner(b, j) == s;
            }
            counts[r].far_rows += from[s];
            counts[r].far_from += from[s] > 0;
            counts[s].far_sent += from[s];
            counts[s].far_to += from[s] > 0;
        }
    }
    free(needs);
}

static void check_same(const sp_rank_count *found, const sp_rank_count *expected, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        CHECK_INT(found[r].rows, expected[r].rows);
        CHECK_INT(found[r].nnz, expected[r].nnz);
        CHECK_INT(found[r].x_rows, expected[r].x_rows);
        CHECK_INT(found[r].halo_rows, expected[r].halo_rows);
        CHECK_INT(found[r].sent_rows, expected[r].sent_rows);
        CHECK_INT(found[r].partial_rows, expected[r].partial_rows);
        CHECK_INT(found[r].boundary_rows, expected[r].boundary_rows);
        CHECK_INT(found[r].interior_run, expected[r].interior_run);
        CHECK_INT(found[r].receives_from, expected[r].receives_from);
        CHECK_INT(found[r].sends_to, expected[r].sends_to);
        CHECK_INT(found[r].packed_rows, expected[r].packed_rows);
        CHECK_INT(found[r].far_rows, expected[r].far_rows);
        CHECK_INT(found[r].far_from, expected[r].far_from);
        CHECK_INT(found[r].far_sent, expected[r].far_sent);
        CHECK_INT(found[r].far_to, expected[r].far_to);
    }
}

static void check_count(const spmm_csr *a, const blocks *b, int threads, int once)
{
    sp_rank_count found[MOST_RANKS], expected[MOST_RANKS];
    memset(found, 0x55, sizeof found);
    brute_force(a, b, once, expected);
    const sp_crossing crossing = {PER_NODE, once};
    CHECK_INT(sp_comm_volume(a, b->P, b->Q, b->rows, b->cols, b->x, crossing, threads, found), SPMM_OK);
    check_same(found, expected, b->P * b->Q);
}

/** Returns boundaries that balance entries, and the program's ranges of X. */
static blocks usual_blocks(const spmm_csr *a, int P, int Q)
{
    blocks b = {.P = P, .Q = Q};
    sp_partition_entries(a->irp, a->rows, P, b.rows);
    CHECK_INT(sp_partition_columns(a, 2, Q, b.cols), SPMM_OK);
    sp_x_ranges(a->rows, a->cols, P, Q, b.rows, b.cols, b.x);
    return b;
}

/** Draws boundaries from first to last, some of them equal. */
static void random_cuts(uint64_t key, int parts, int64_t first, int64_t last, int64_t *begin)
{
    begin[0] = first;
    for (int p = 1; p < parts; p++) {
        const int64_t left = last - begin[p - 1];
        begin[p] = begin[p - 1] +
                   (int64_t)sp_random_below(key, (uint64_t)p, 0, (uint64_t)(2 * left / (parts - p + 1) + 1));
        if (begin[p] > last) begin[p] = last;
    }
    begin[parts] = last;
}

static blocks random_blocks(const spmm_csr *a, int P, int Q, uint64_t key)
{
    blocks b = {.P = P, .Q = Q};
    random_cuts(key, P, 0, a->rows, b.rows);
    random_cuts(key + 1, Q, 0, a->cols, b.cols);
    for (int q = 0; q < Q; q++)
        random_cuts(key + 2 + (uint64_t)q, P, b.cols[q], b.cols[q + 1], b.x + q * (P + 1));
    return b;
}

/** Checks all grids of up to 12 ranks, with the usual boundaries and with random ones. */
static void check_grids(const spmm_csr *a)
{
    for (int P = 1; P <= MOST_RANKS; P++)
        for (int Q = 1; P * Q <= MOST_RANKS; Q++) {
            blocks b = usual_blocks(a, P, Q);
            for (int once = 0; once < 2; once++) {
                check_count(a, &b, 1, once);
                check_count(a, &b, 3, once);
            }
            b = random_blocks(a, P, Q, 100 * (uint64_t)P + (uint64_t)Q);
            check_count(a, &b, 2, P % 2);
        }
}

static void test_brute_force(void)
{
    spmm_csr a;
    TEST("the counts of samples are the brute force's, for every grid of up to 12 ranks") {
        for (int s = 0; s < SAMPLES; s++) {
            sample_csr((sample)s, SAMPLE_INTEGERS, SPMM_F64, &a);
            check_grids(&a);
            spmm_csr_destroy(&a);
        }
    }
    TEST("and those of a matrix with fewer rows than ranks, and of a 0 x 0 one") {
        const int64_t row[] = {0, 0, 1, 4, 4, 2}, col[] = {4, 1, 0, 2, 4, 3};
        CHECK_INT(spmm_csr_from_triplets(5, 5, 6, row, col, NULL, SPMM_F32, &a), SPMM_OK);
        check_grids(&a);
        spmm_csr_destroy(&a);
        CHECK_INT(spmm_csr_from_triplets(0, 0, 0, NULL, NULL, NULL, SPMM_F64, &a), SPMM_OK);
        check_grids(&a);
        spmm_csr_destroy(&a);
    }
}

static void test_many(void)
{
    spmm_csr a;
    TEST("thousands of ranks are counted, most of them without rows") {
        CHECK_INT(sp_gen_csr("lap2d5:40", SPMM_F64, 1, &a), SPMM_OK);
        enum { P = 5000 };
        static int64_t rows[P + 1], x[P + 1];
        static sp_rank_count c[P];
        const int64_t cols[] = {0, 1600};
        sp_partition_even(1600, P, rows);
        sp_x_ranges(1600, 1600, P, 1, rows, cols, x);
        CHECK_INT(sp_comm_volume(&a, P, 1, rows, cols, x, (sp_crossing){1, 0}, 2, c), SPMM_OK);
        int64_t halo = 0;
        for (int p = 0; p < P; p++) {
            CHECK_INT(c[p].halo_rows, c[p].sent_rows); /* the pattern is symmetric */
            CHECK_INT(c[p].halo_rows, c[p].receives_from);
            halo += c[p].halo_rows;
        }
        CHECK_INT(halo, a.nnz - a.rows); /* one row per rank: each entry off the diagonal is a ghost row */
        spmm_csr_destroy(&a);
    }
}

/** Checks the counts of a stencil with blocks b against the counts of its matrix. */
static void check_stencil(const sp_stencil *stencil, const spmm_csr *a, const blocks *b, int threads)
{
    sp_rank_count found[MOST_RANKS], expected[MOST_RANKS];
    CHECK_INT(sp_stencil_volume(stencil, b->P, b->Q, b->rows, b->cols, b->x, PER_NODE, threads, found),
              SPMM_OK);
    CHECK_INT(sp_comm_volume(a, b->P, b->Q, b->rows, b->cols, b->x, (sp_crossing){PER_NODE, 0}, 1, expected),
              SPMM_OK);
    check_same(found, expected, b->P * b->Q);
}

static void test_stencils(void)
{
    static const char *const kinds[] = {"lap2d5", "lap3d7", "lap3d27"};
    TEST("a stencil is counted without its matrix as with it, for every grid of up to 12 ranks") {
        for (int kind = 0; kind < 3; kind++)
            for (int side = 1; side <= 6; side++) {
                char spec[32];
                spmm_csr a;
                sp_stencil stencil;
                snprintf(spec, sizeof spec, "%s:%d", kinds[kind], side);
                CHECK_INT(sp_gen_csr(spec, SPMM_F64, 1, &a), SPMM_OK);
                CHECK_INT(stencil.side = sp_gen_stencil(spec, &stencil.dimensions, &stencil.star), side);
                for (int64_t i = 0; i <= a.rows; i++) CHECK_INT(sp_stencil_start(&stencil, i), a.irp[i]);
                for (int P = 1; P <= MOST_RANKS; P++)
                    for (int Q = 1; P * Q <= MOST_RANKS; Q++) {
                        blocks b = usual_blocks(&a, P, Q);
                        check_stencil(&stencil, &a, &b, 1 + P % 2);
                        b = random_blocks(&a, P, Q, 100 * (uint64_t)P + (uint64_t)Q);
                        check_stencil(&stencil, &a, &b, 1);
                    }
                spmm_csr_destroy(&a);
            }
        sp_stencil none;
        CHECK_INT(sp_gen_stencil("fem3:4", &none.dimensions, &none.star), 0);
        CHECK_INT(sp_gen_stencil("lap3d7", &none.dimensions, &none.star), 0);
        CHECK_INT(sp_gen_stencil("lap2d5.mtx", &none.dimensions, &none.star), 0);
    }
}

static void test_refused(void)
{
    spmm_csr a;
    TEST("boundaries that do not cover the matrix in order are refused") {
        sample_csr(SAMPLE_RANDOM, SAMPLE_INTEGERS, SPMM_F64, &a);
        sp_rank_count c[4];
        for (int n = 0; n < 6; n++) {
            blocks b = usual_blocks(&a, 2, 2);
            if (n == 1) b.rows[2]--;
            if (n == 2) b.cols[1] = a.cols + 1;
            if (n == 3) b.x[1] = b.x[2] + 1;
            if (n == 4) b.x[3]++;
            if (n == 5) b.rows[0] = 1;
            CHECK_INT(sp_comm_volume(&a, 2, 2, b.rows, b.cols, b.x, (sp_crossing){1, 0}, 1, c),
                      n == 0 ? SPMM_OK : SPMM_ERR_USAGE);
        }
        const blocks b = usual_blocks(&a, 1, 1);
        CHECK_INT(sp_comm_volume(&a, 0, 1, b.rows, b.cols, b.x, (sp_crossing){1, 0}, 1, c), SPMM_ERR_USAGE);
        CHECK_INT(sp_comm_volume(&a, 1, 1, b.rows, b.cols, b.x, (sp_crossing){1, 0}, 0, c), SPMM_ERR_USAGE);
        CHECK_INT(sp_comm_volume(&a, 1, 1, b.rows, b.cols, b.x, (sp_crossing){0, 0}, 1, c), SPMM_ERR_USAGE);
        CHECK_INT(sp_comm_volume(&a, 1 << 16, 1 << 16, b.rows, b.cols, b.x, (sp_crossing){1, 0}, 1, c),
                  SPMM_ERR_LIMIT);
        spmm_csr_destroy(&a);
    }
}

int main(void)
{
    test_brute_force();
    test_many();
    test_stencils();
    test_refused();
    return test_end();
}
