/** Measures the time of messages, and of floating-point operations in serial products. */
#include "spmm_mpi/probe.h"

#include <string.h>

#include "base/memory.h"
#include "cli/stats.h"
#include "cli/copy_bandwidth.h"
#include "cli/message_times.h"
#include "formats/matrix.h"
#include "formats/multivector.h"
#include "formats/serial.h"

enum { TRIALS = 9 };

/** Returns the number of rows at the beginning of the matrix a that have at most `entries` entries in total;
 *  at least 1 if `a` has rows. */
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
        *per_flop = time_product(a, rows, &x, &y) /
                    (sp_operations(a->precision) * (double)a->irp[rows] * (double)columns);
    }
    spmm_multivector_destroy(&x);
    spmm_multivector_destroy(&y);
    return status;
}

spmm_status sp_probe_machine(const sp_grid *grid, spmm_device device, const spmm_csr *block, int64_t k,
                             sp_probe *probe)
{
    sp_message_times messages;
    spmm_status status = SPMM_OK;
    memset(probe, 0, sizeof *probe);
    TRY(sp_time_messages(grid, &messages));
    probe->latency = messages.latency;
    probe->per_byte = messages.per_byte;
    /* only rank 0 computes and copies; the other ranks wait, since on a shared core they would slow rank 0
     * down */
    if (grid->rank == 0) status = probe_operations(block, k, &probe->per_flop);
    if (grid->rank == 0 && device == SPMM_CUDA && status == SPMM_OK)
        status = sp_time_host_copies(&probe->copies);
    TRY(sp_agree(grid->comm, "probe", status));
    return sp_bcast(grid->comm, 0, probe, sizeof *probe);
}
