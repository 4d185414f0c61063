/** Simulates how often the thread blocks of a GPU would read each row of X if they kept rows of X in shared
 *  memory, for several orders of the rows of A. Times no kernel. The results show for which matrices and
 *  orders a kernel that stages rows of X can pay.
 *
 *      bench_walks [MATRIX...]      MATRIX: a generator's spec, a Matrix Market file or an .npz file
 *
 *  The model: the order of the rows is cut into UNITS units of consecutive rows, which BLOCKS blocks share,
 *  one block per multiprocessor. A block processes its units as panels of SP_PANEL rows, in steps of as many
 *  panels as the slots can serve, at most capacity.panels. A row of X stays in its slot until another row
 *  needs the slot. Rows that the block will not need again are evicted first, then the row used longest ago.
 *  Rows that the last step used are not evicted, since its products are computed while the rows of the next
 *  step are copied. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "common/bench.h"
#include "order/reorder.h"
#include "formats/matrix.h"
#include "order/row_clusters.h"
#include "formats/summation.h"

enum { BLOCKS = 132, UNITS = 2 * BLOCKS, MOST_SLOTS = 608 };

/** Slots of shared memory for rows of X, and panels per step, that fit into 227 kB in addition to the matrix
 *  entries of two steps. */
typedef struct capacity {
    int columns; /* K, in f64 */
    int slots, panels;
} capacity;
static const capacity capacities[] = {{64, 372, 8}, {32, MOST_SLOTS, 16}};
enum { CAPACITIES = sizeof capacities / sizeof *capacities };

/** Rows in the order in which they are processed; unit u consists of rows order[unit[u]] .. order[unit[u + 1]
 *  - 1]. */
typedef struct walk {
    int32_t *order; /* [rows] */
    int64_t unit[UNITS + 1];
} walk;

/** The slots of the block that is being simulated. The arrays per column are reused for all blocks. */
typedef struct cache {
    int slots;
    int32_t column[MOST_SLOTS]; /* column in each slot; -1: none */
    int64_t used[MOST_SLOTS];   /* last step that used each slot */
    int64_t step;
    int32_t *slot;   /* [cols] slot of each column; -1: none */
    int32_t *uses;   /* [cols] number of panels of the block that will still use each column */
    int64_t *needed; /* [cols] last step that needs each column */
} cache;

/** The distinct columns of a block's panels. Panel p needs column[start[p]] .. column[start[p + 1] - 1]. */
typedef struct panels {
    int64_t count;
    int64_t *start;
    int32_t *column;
} panels;

/** Sums over the blocks: rows of X that were read, steps, distinct columns of all panels. */
typedef struct traffic {
    int64_t reads, steps, columns;
} traffic;

static int by_column(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/** Adds the panel of `rows` rows from `row` on; leaves out long rows, which the kernels sum in another
 *  way. */
static void add_panel(const spmm_csr *a, const int32_t *row, int64_t rows, cache *c, panels *p)
{
    int32_t *const own = p->column + p->start[p->count];
    int64_t n = 0, distinct = 0;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t length = a->irp[row[r] + 1] - a->irp[row[r]];
        if (length > SP_CHAIN) continue;
        memcpy(own + n, a->ja + a->irp[row[r]], (size_t)length * sizeof *own);
        n += length;
    }
    qsort(own, (size_t)n, sizeof *own, by_column);
    for (int64_t e = 0; e < n; e++)
        if (e == 0 || own[e] != own[distinct - 1]) own[distinct++] = own[e];
    for (int64_t e = 0; e < distinct; e++) c->uses[own[e]]++;
    p->start[p->count + 1] = p->start[p->count] + distinct;
    p->count++;
}

/** Returns the panel after the step that begins with panel `first`, and marks the columns that the step
 *  needs. */
static int64_t end_of_step(const panels *p, int64_t first, int most, cache *c)
{
    int held = 0;
    for (int s = 0; s < c->slots; s++) held += c->column[s] >= 0 && c->used[s] >= c->step - 1;
    int64_t end = first;
    for (; end < p->count && end - first < most; end++) {
        int more = 0;
        for (int64_t e = p->start[end]; e < p->start[end + 1]; e++) {
            const int32_t slot = c->slot[p->column[e]];
            more += c->needed[p->column[e]] != c->step && (slot < 0 || c->used[slot] < c->step - 1);
        }
        if (held + more > c->slots) break;
        held += more;
        for (int64_t e = p->start[end]; e < p->start[end + 1]; e++) c->needed[p->column[e]] = c->step;
    }
    return end;
}

/** Returns the slot to be filled next: an empty one, else one whose column is not needed again, else the one
 *  used longest ago. */
static int victim(const cache *c)
{
    int best = -1, best_useful = 2;
    for (int s = 0; s < c->slots; s++) {
        if (c->column[s] >= 0 && c->used[s] >= c->step - 1) continue;
        const int useful = c->column[s] >= 0 && c->uses[c->column[s]] > 0;
        if (useful < best_useful || (useful == best_useful && c->used[s] < c->used[best])) {
            best = s;
            best_useful = useful;
        }
    }
    return best;
}

/** Processes the panels of one block. \return 0 if a panel has more columns than there are slots */
static int take_panels(const panels *p, int most, cache *c, traffic *r)
{
    for (int64_t first = 0; first < p->count; c->step++) {
        const int64_t end = end_of_step(p, first, most, c);
        const int waits = end == first; /* a step without panels, which frees the slots of the step before */
        if (waits && p->start[first + 1] - p->start[first] > c->slots) return 0;
        for (int64_t e = p->start[first]; e < p->start[end]; e++) {
            const int32_t column = p->column[e];
            c->uses[column]--;
            if (c->slot[column] >= 0) c->used[c->slot[column]] = c->step;
        }
        for (int64_t e = p->start[first]; e < p->start[end]; e++) {
            const int32_t column = p->column[e];
            if (c->slot[column] >= 0) continue;
            const int s = victim(c);
            if (c->column[s] >= 0) c->slot[c->column[s]] = -1;
            c->column[s] = column;
            c->slot[column] = s;
            c->used[s] = c->step;
            r->reads++;
        }
        r->steps += !waits;
        first = end;
    }
    r->columns += p->start[p->count];
    return 1;
}

static void empty_cache(cache *c)
{
    for (int s = 0; s < c->slots; s++) {
        if (c->column[s] >= 0) c->slot[c->column[s]] = -1;
        c->column[s] = -1;
        c->used[s] = -2;
    }
}

/** Processes the units of block b: b, b + BLOCKS, .. */
static int take_units(const spmm_csr *a, const walk *w, int b, int most, cache *c, panels *p, traffic *r)
{
    p->count = 0;
    for (int u = b; u < UNITS; u += BLOCKS)
        for (int64_t i = w->unit[u]; i < w->unit[u + 1]; i += SP_PANEL) {
            const int64_t rows = w->unit[u + 1] - i < SP_PANEL ? w->unit[u + 1] - i : SP_PANEL;
            add_panel(a, w->order + i, rows, c, p);
        }
    empty_cache(c);
    c->step += 2; /* so that no slot counts as used by the step before the first */
    return take_panels(p, most, c, r);
}

static spmm_status simulate(const spmm_csr *a, const walk *w, const capacity *of, traffic *r, int *fits)
{
    cache c = {.slots = of->slots};
    panels p = {0};
    spmm_status status;
    TRY_GOTO(sp_alloc((void **)&c.slot, a->cols, sizeof *c.slot, "slots"), done);
    TRY_GOTO(sp_alloc_zero((void **)&c.uses, a->cols, sizeof *c.uses, "uses"), done);
    TRY_GOTO(sp_alloc((void **)&c.needed, a->cols, sizeof *c.needed, "steps"), done);
    TRY_GOTO(sp_alloc_zero((void **)&p.start, a->rows + 2, sizeof *p.start, "panels"), done);
    TRY_GOTO(sp_alloc((void **)&p.column, a->nnz + 1, sizeof *p.column, "panels"), done);
    for (int64_t i = 0; i < a->cols; i++) {
        c.slot[i] = -1;
        c.needed[i] = -1;
    }
    for (int s = 0; s < c.slots; s++) c.column[s] = -1;
    *r = (traffic){0};
    *fits = 1;
    for (int b = 0; b < BLOCKS && *fits; b++) *fits = take_units(a, w, b, of->panels, &c, &p, r);
done:
    sp_free(c.slot);
    sp_free(c.uses);
    sp_free(c.needed);
    sp_free(p.start);
    sp_free(p.column);
    return status;
}

/** Cuts the order into units of equal numbers of panels. */
static void cut_evenly(int64_t rows, walk *w)
{
    const int64_t all = (rows + SP_PANEL - 1) / SP_PANEL;
    for (int u = 0; u <= UNITS; u++) {
        const int64_t at = sp_partition_share(all, UNITS, u) * SP_PANEL;
        w->unit[u] = at < rows ? at : rows;
    }
}

/** Visits the rows that can be reached from `start` within a unit, level by level: adds them to list[0 ..]
 *  and marks them.
 *  \param number [rows] the unit of each row; -1 - unit once visited \return number of rows visited */
static int64_t visit(const spmm_csr *a, int32_t start, int32_t unit, int32_t *number, int32_t *list)
{
    int64_t count = 1;
    list[0] = start;
    number[start] = -1 - unit;
    for (int64_t at = 0; at < count; at++) {
        const int32_t i = list[at];
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++) {
            if (number[a->ja[e]] != unit) continue;
            number[a->ja[e]] = -1 - unit;
            list[count++] = a->ja[e];
        }
    }
    return count;
}

/** Orders the rows of each unit by their distance from a row at an end of the unit. Two searches find that
 *  row: the row farthest from the first row, then the row farthest from that one (the pseudo-peripheral
 *  vertex of George and Liu, without its iteration). */
static spmm_status order_by_levels(const spmm_csr *a, walk *w)
{
    int32_t *number, *list;
    TRY(sp_alloc((void **)&number, a->rows, sizeof *number, "units"));
    const spmm_status status = sp_alloc((void **)&list, a->rows, sizeof *list, "rows");
    for (int u = 0; u < UNITS; u++)
        for (int64_t i = w->unit[u]; i < w->unit[u + 1]; i++) number[w->order[i]] = u;
    for (int u = 0; u < UNITS && status == SPMM_OK; u++) {
        const int64_t first = w->unit[u], n = w->unit[u + 1] - first;
        int32_t *const own = w->order + first;
        int64_t done = 0;
        for (int64_t i = 0; i < n;) { /* i stays: if the pattern is not symmetric, row i may not be reached */
            if (number[own[i]] != u) {
                i++;
                continue;
            }
            int64_t count = 0;
            int32_t start = own[i];
            for (int pass = 0; pass < 3; pass++) {
                for (int64_t k = 0; k < count; k++) number[list[done + k]] = u;
                count = visit(a, start, u, number, list + done);
                start = list[done + count - 1];
            }
            done += count;
        }
        memcpy(own, list, (size_t)n * sizeof *own);
    }
    sp_free(number);
    if (status == SPMM_OK) sp_free(list);
    return status;
}

/** Makes the units by cutting the graph of the pattern with METIS. */
static spmm_status cut_graph(const spmm_csr *a, walk *w)
{
    int64_t *position, cut;
    TRY(sp_alloc((void **)&position, a->rows, sizeof *position, "a permutation"));
    const spmm_status status = sp_graph_partition(a, UNITS, NULL, omp_get_max_threads(), position, w->unit,
                                                  &cut);
    for (int64_t i = 0; i < a->rows && status == SPMM_OK; i++) w->order[position[i]] = (int32_t)i;
    sp_free(position);
    return status;
}

static spmm_status print(const char *name, const char *how, const spmm_csr *a, const walk *w, double seconds)
{
    printf("%-24s %-18s", name, how);
    for (int n = 0; n < CAPACITIES; n++) {
        traffic r;
        int fits;
        TRY(simulate(a, w, &capacities[n], &r, &fits));
        if (!fits)
            printf("  a panel does not fit      ");
        else
            printf("  %6.2f %6.1f %6.0f    ", (double)r.reads / (double)a->cols,
                   (double)r.columns / (double)a->rows, (double)a->rows / (double)r.steps);
    }
    printf("  %6.2f\n", seconds);
    return SPMM_OK;
}

/** Measures the rows in the order of their numbers and in clusters. If the matrix is square, also orders them
 *  by levels within the units of the clusters and within units cut by METIS. */
static spmm_status measure(const char *name, const spmm_csr *a, walk *w)
{
    double start, seconds;
    for (int64_t i = 0; i < a->rows; i++) w->order[i] = (int32_t)i;
    cut_evenly(a->rows, w);
    TRY(print(name, "own", a, w, 0));
    start = omp_get_wtime();
    TRY(sp_cluster_rows(a, omp_get_max_threads(), w->order));
    seconds = omp_get_wtime() - start;
    TRY(print("", "clusters", a, w, seconds));
    if (a->rows != a->cols) return SPMM_OK;
    start = omp_get_wtime();
    TRY(order_by_levels(a, w));
    TRY(print("", "clusters, levels", a, w, seconds + omp_get_wtime() - start));
    start = omp_get_wtime();
    TRY(cut_graph(a, w));
    TRY(order_by_levels(a, w));
    return print("", "cut, levels", a, w, omp_get_wtime() - start);
}

static spmm_status bench_one(const char *name)
{
    spmm_csr a;
    walk w = {0};
    TRY(matrix_make(name, SPMM_F32, &a));
    spmm_status status = sp_alloc((void **)&w.order, a.rows, sizeof *w.order, "rows");
    if (status == SPMM_OK) status = measure(strrchr(name, '/') ? strrchr(name, '/') + 1 : name, &a, &w);
    sp_free(w.order);
    spmm_csr_destroy(&a);
    return status;
}

int main(int argc, char **argv)
{
    static const settings defaults = {.matrix = {"lap3d7:60", "lap3d27:44", "fem3:24", "uniform:50000,8"},
                                      .matrices = 4};
    settings s;
    if (!settings_ready(OF_GRAPH, "bench_walks [MATRIX...]", argc, argv, &defaults, &s))
        return s.help ? 0 : 2;
    const settings *const of = s.matrices > 0 ? &s : &defaults;
    printf(
        "reads: of each row of X; columns: distinct ones per row of a panel of %d; rows: per step; s: to find the order\n"
        "%-24s %-18s  %-26s  %-26s  %6s\n%-24s %-18s",
        SP_PANEL, "", "", "K = 64, f64", "K = 32, f64", "", "matrix", "order");
    for (int n = 0; n < CAPACITIES; n++) printf("  %6s %7s %5s    ", "reads", "columns", "rows");
    printf("  %6s\n", "s");
    for (int n = 0; n < of->matrices; n++)
        if (bench_one(of->matrix[n]) != SPMM_OK) {
            fprintf(stderr, "bench_walks: %s: %s\n", of->matrix[n], spmm_error_message());
            return 1;
        }
    return 0;
}
