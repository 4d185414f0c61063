/** Measures the time of messages by round trips, and of floating-point operations by serial products. */
#include "spmm_mpi/probe.h"

#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"

enum { SMALL = 8, MIDDLE = 64 << 10, LARGE = 4 << 20, TRIALS = 9 };

/* ---- messages ---- */

/** Measures the time of a message between the first and the last rank: half a round trip, averaged over
 *  `count` round trips. The other ranks do nothing, and their *seconds is meaningless. */
static spmm_status to_and_fro(const sp_grid *g, char *data, int bytes, int count, double *seconds)
{
    const int last = g->size - 1, other = g->rank == 0 ? last : 0;
    const double start = MPI_Wtime();
    for (int i = 0; i < count && (g->rank == 0 || g->rank == last); i++) {
        if (g->rank == 0) TRY(SP_MPI(MPI_Send(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm)));
        TRY(SP_MPI(MPI_Recv(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm, MPI_STATUS_IGNORE)));
        if (g->rank != 0) TRY(SP_MPI(MPI_Send(data, bytes, MPI_BYTE, other, SP_TAG_PROBE, g->comm)));
    }
    *seconds = (MPI_Wtime() - start) / (2.0 * count);
    return SPMM_OK;
}

static spmm_status one_way(const sp_grid *g, char *data, int bytes, int count, double *median)
{
    double seconds[TRIALS];
    double warm;
    TRY(to_and_fro(g, data, bytes, count, &warm));
    for (int i = 0; i < TRIALS; i++) TRY(to_and_fro(g, data, bytes, count, &seconds[i]));
    *median = sp_stats_of(seconds, TRIALS).median;
    return SPMM_OK;
}

static spmm_status probe_messages(const sp_grid *g, sp_probe *p)
{
    char *data;
    double middle = 0, large = 0;
    TRY(sp_agree(g->comm, "probe", sp_alloc((void **)&data, LARGE, 1, "a message")));
    memset(data, 1, LARGE); /* pages never written map to one shared zero page: reads would be too fast */
    spmm_status status = one_way(g, data, SMALL, 100, &p->latency);
    if (status == SPMM_OK) status = one_way(g, data, MIDDLE, 10, &middle);
    if (status == SPMM_OK) status = one_way(g, data, LARGE, 2, &large);
    sp_free(data);
    p->per_byte = large > middle ? (large - middle) / (LARGE - MIDDLE) : large / LARGE;
    return status;
}

/* ---- operations ---- */

/** Returns the number of rows at the beginning of the matrix a that have at most `entries` entries in total;
 *  at least 1 if a has rows. */
static int64_t first_rows(const spmm_csr *a, int64_t entries)
{
    int64_t rows = 0;
    while (rows < a->rows && a->irp[rows + 1] <= entries) rows++;
    return rows > 0 || a->rows == 0 ? rows : 1;
}

static double time_product(const spmm_csr *a, int64_t rows, const spmm_multivector *x, spmm_multivector *y)
{
    double seconds[TRIALS];
    sp_matrix m;
    sp_matrix_view_csr(a, &m);
    sp_serial_product(&m, 0, rows, x, y);
    for (int i = 0; i < TRIALS; i++) {
        const double start = MPI_Wtime();
        sp_serial_product(&m, 0, rows, x, y);
        seconds[i] = MPI_Wtime() - start;
    }
    return sp_stats_of(seconds, TRIALS).median;
}

static spmm_status probe_operations(const spmm_csr *a, int64_t k, double *per_flop)
{
    enum { OPERATIONS = 1 << 23, MOST_X = 64 << 20 };
    const int64_t fits = a->cols > 0 ? MOST_X / (8 * a->cols) : k;
    const int64_t columns = fits < 1 ? 1 : fits < k ? fits : k;
    const int64_t rows = first_rows(a, OPERATIONS / columns);
    spmm_multivector x, y;
    *per_flop = 0;
    if (rows == 0 || a->irp[rows] == 0) return SPMM_OK;
    TRY(spmm_multivector_create(a->cols, columns, a->precision, SPMM_CPU, &x));
    const spmm_status status = spmm_multivector_create(rows, columns, a->precision, SPMM_CPU, &y);
    if (status == SPMM_OK) {
        sp_multivector_generate(&x, SP_X_ONES, 1, 0, 1);
        *per_flop = time_product(a, rows, &x, &y) / (2.0 * (double)a->irp[rows] * (double)columns);
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

spmm_status sp_probe_machine(const sp_grid *grid, const spmm_csr *block, int64_t k, sp_probe *probe)
{
    memset(probe, 0, sizeof *probe);
    if (grid->size > 1) TRY(sp_agree(grid->comm, "probe", probe_messages(grid, probe)));
    /* only rank 0 computes; the other ranks wait, since on a shared core they would slow rank 0 down */
    TRY(sp_agree(grid->comm, "probe",
                 grid->rank == 0 ? probe_operations(block, k, &probe->per_flop) : SPMM_OK));
    return sp_bcast(grid->comm, 0, probe, sizeof *probe);
}
