/** Counts what METIS saves: how many rows of X a product moves between ranks if the rows of A keep their
 *  order, and how many if they are renumbered by a cut of the graph of A's pattern. Runs no products. Counts
 *  for each matrix as it is, and with its rows and columns shuffled.
 *
 *      bench_graph [PARTS [MATRIX...]]      MATRIX: a generator's spec or a Matrix Market file */
#include <omp.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "order/comm_volume.h"
#include "order/partition.h"
#include "order/reorder.h"
#include "formats/csr.h"
#include "common/bench.h"

/** The communication with one order of the rows. */
typedef struct outcome {
    int64_t moved, most, boundary, most_entries, cut;
    int neighbors;
    double seconds;
} outcome;

static spmm_status count(const spmm_csr *a, int parts, const int64_t *begin, outcome *o)
{
    const int64_t cols[] = {0, a->cols};
    sp_rank_count *c;
    TRY(sp_alloc((void **)&c, parts, sizeof *c, "counts"));
    const spmm_status status = sp_comm_volume(a, parts, 1, begin, cols, begin, (sp_crossing){1, 0},
                                              omp_get_max_threads(), c);
    for (int p = 0; p < parts && status == SPMM_OK; p++) {
        o->moved += c[p].halo_rows;
        o->boundary += c[p].boundary_rows;
        if (c[p].halo_rows > o->most) o->most = c[p].halo_rows;
        if (c[p].nnz > o->most_entries) o->most_entries = c[p].nnz;
        if (c[p].receives_from > o->neighbors) o->neighbors = (int)c[p].receives_from;
    }
    sp_free(c);
    return status;
}

static spmm_status measure_cut(const spmm_csr *a, int parts, int64_t *perm, int64_t *begin, outcome *o)
{
    spmm_csr b;
    const double start = omp_get_wtime();
    TRY(sp_graph_partition(a, parts, NULL, omp_get_max_threads(), perm, begin, &o->cut));
    o->seconds = omp_get_wtime() - start;
    TRY(sp_csr_permute(a, perm, omp_get_max_threads(), &b));
    const spmm_status status = count(&b, parts, begin, o);
    spmm_csr_destroy(&b);
    return status;
}

static void print(const char *name, const char *rows, const spmm_csr *a, int parts, const outcome *o)
{
    const double n = (double)a->rows, share = (double)a->nnz / parts;
    printf("%-18s %-9s %10lld %8.4f %9lld %8.4f %10d %7.3f %11lld %8.2f\n", name, rows, (long long)o->moved,
           (double)o->moved / n, (long long)o->most, (double)o->boundary / n, o->neighbors,
           (double)o->most_entries / share, (long long)o->cut, o->seconds);
}

static spmm_status measure(const char *name, const char *how, const spmm_csr *a, int parts)
{
    int64_t *perm = NULL, *begin = NULL;
    outcome before = {0}, after = {0};
    char label[32];
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&perm, a->rows, sizeof *perm, "a permutation"), done);
    TRY_GOTO(sp_alloc((void **)&begin, (int64_t)parts + 1, sizeof *begin, "boundaries"), done);
    sp_partition_entries(a->irp, a->rows, parts, begin);
    TRY_GOTO(count(a, parts, begin, &before), done);
    TRY_GOTO(measure_cut(a, parts, perm, begin, &after), done);
    print(name, how, a, parts, &before);
    snprintf(label, sizeof label, "%s+cut", how);
    print("", label, a, parts, &after);
done:
    sp_free(perm);
    sp_free(begin);
    return status;
}

/** Makes *b, a with its rows and columns in random order (Fisher and Yates). */
static spmm_status shuffle(const spmm_csr *a, spmm_csr *b)
{
    int64_t *perm;
    TRY(sp_alloc((void **)&perm, a->rows, sizeof *perm, "a permutation"));
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t j = (int64_t)sp_random_below(1, (uint64_t)i, 0, (uint64_t)(i + 1));
        perm[i] = perm[j];
        perm[j] = i;
    }
    const spmm_status status = sp_csr_permute(a, perm, omp_get_max_threads(), b);
    sp_free(perm);
    return status;
}

static spmm_status bench_one(const char *name, int parts)
{
    spmm_csr a, b;
    TRY(matrix_make(name, SPMM_F32, &a));
    spmm_status status;
    TRY_GOTO(measure(name, "as is", &a, parts), done);
    TRY_GOTO(shuffle(&a, &b), done);
    status = measure("", "mixed", &b, parts);
    spmm_csr_destroy(&b);
done:
    spmm_csr_destroy(&a);
    return status;
}

int main(int argc, char **argv)
{
    static const settings defaults = {
        .matrix = {"8", "lap3d7:40", "fem3:20", "rmat:14,16", "uniform:20000,8"}, .matrices = 5};
    settings s;
    if (!settings_ready(OF_GRAPH, "bench_graph [PARTS [MATRIX...]]", argc, argv, &defaults, &s))
        return s.help ? 0 : 2;
    const int parts = atoi(s.matrices > 0 ? s.matrix[0] : defaults.matrix[0]);
    const settings *const of = s.matrices > 1 ? &s : &defaults;
    if (parts < 1) {
        fprintf(stderr, "usage: bench_graph [PARTS [MATRIX...]]\n");
        return 2;
    }
    printf(
        "%d parts; halo: rows of X that ranks receive; /row: of all rows of A; wait: rows with a halo column\n"
        "%-18s %-9s %10s %8s %9s %8s %10s %7s %11s %8s\n",
        parts, "matrix", "rows", "halo", "/row", "largest", "wait", "neighbors", "balance", "edge cut", "s");
    for (int n = 1; n < of->matrices; n++)
        if (bench_one(of->matrix[n], parts) != SPMM_OK) {
            fprintf(stderr, "bench_graph: %s: %s\n", of->matrix[n], spmm_error_message());
            return 1;
        }
    return 0;
}
