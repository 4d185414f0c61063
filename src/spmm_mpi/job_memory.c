/** Computes lower bounds of the memory that a run needs, so that a matrix that cannot fit is rejected before
 *  it is read. The sizes come from the header of the matrix file or the name of the generator. Each bound is
 *  the total for all ranks that share memory with rank 0. */
#include <math.h>

#include "base/budget.h"
#include "base/memory.h"
#include "io/generators.h"
#include "files/dense_file.h"
#include "spmm_mpi/job.h"

/** Data about a run that are known before the matrix is read. */
typedef struct outlook {
    sp_sizes a;
    int binary;
    double share; /* number of ranks that share memory with rank 0 / number of all ranks */
    spmm_precision precision;
    double value;  /* size of a matrix value in bytes */
    double p, q;   /* process grid p x q */
    int64_t k;     /* the largest K of the run; 1 if K is unknown */
    double x_file; /* size in bytes of the whole X on rank 0 if X is read from a file, else 0 */
} outlook;

/** Returns the size in bytes of `rows` rows of X or Y. */
static double rows_bytes(const outlook *l, double rows)
{
    return rows * (double)sp_multivector_ld(l->k, l->precision) * l->value;
}

static spmm_status look_ahead(const sp_options *o, const sp_grid *grid, const sp_matrix_file *file,
                              outlook *l)
{
    sp_sizes x;
    *l = (outlook){.share = (double)sp_budget_sharers() / grid->size,
                   .precision = o->precision,
                   .value = (double)sp_value_size(o->precision),
                   .p = o->grid_auto ? grid->size : grid->dims[0],
                   .q = o->grid_auto ? 1 : grid->dims[1],
                   .binary = sp_matrix_file_binary(file),
                   .k = o->x_file ? 1 : sp_most_columns(&o->columns)};
    if (sp_gen_is_spec(o->matrix))
        TRY(sp_gen_sizes(o->matrix, &l->a));
    else
        l->a = sp_matrix_file_sizes(file);
    if (!o->x_file) return SPMM_OK;
    TRY(sp_dense_file_sizes(o->x_file, &x));
    if (x.cols > 1) l->k = x.cols;
    l->x_file = rows_bytes(l, (double)x.rows);
    return SPMM_OK;
}

/** Returns the size in bytes of the row starts, column indices and values of all blocks of A. */
static double blocks_bytes(const outlook *l)
{
    return 8 * l->q * (double)l->a.rows + (double)l->a.entries * (4 + l->value);
}

/** Returns the number of bytes needed while rank 0 distributes the matrix. */
static double sending_bytes(const outlook *l, const sp_options *o, int ranks)
{
    const double whole = sp_csr_bytes_of(&l->a, o->precision), rows = (double)l->a.rows;
    /* memory peaks when rank 0 sends the last block: it then stores the matrix and two copies of that block's
       row starts */
    double peak = whole + 2 * 8 * rows / l->p + blocks_bytes(l) * (l->share - 1.0 / ranks);
    /* ELLPACK: all ranks store their entries a second time, with padding */
    if (o->scatter_padded) peak += l->share * (double)l->a.entries * (4 + l->value);
    /* Two stages: the bands are stored in addition to the matrix or, later, in addition to all blocks except
       those of the ranks with bands. It is unknown which ranks these are, so this is counted only if all
       ranks share memory */
    if (!o->two_stage || l->share < 1 || l->p == 1 || l->q == 1) return peak;
    return fmax(peak, fmax(whole * (2 - 1 / l->p), whole + blocks_bytes(l) * (1 - 1 / l->q)));
}

/** Returns the number of bytes needed while the matrix is read and distributed. */
static double reading_bytes(const outlook *l, const sp_options *o, int ranks)
{
    const double rows = (double)l->a.rows, entries = (double)l->a.entries;
    const double whole = sp_csr_bytes_of(&l->a, o->precision);
    if (o->io_parallel) {
        /* a text file needs, in addition to the row starts, an array with the number of entries of each
           row */
        const int counts = !l->binary && o->partition != SP_PARTITION_ROWS;
        const double starts = 8 * (l->q + counts) * rows, blocks = blocks_bytes(l);
        return l->share * (starts > blocks ? starts : blocks);
    }
    /* in addition to the matrix: its triplets, and a copy of them that is converted to CSR */
    if (o->action == SP_ACTION_CHECK_CONVERSIONS) return whole + 2 * entries * (8 + l->value) + 8 * rows;
    if (o->action == SP_ACTION_DRY_RUN) return whole;
    return sending_bytes(l, o, ranks);
}

/** Returns the number of bytes needed during the products. */
static double product_bytes(const outlook *l, const sp_options *o, spmm_device device)
{
    const double rows = l->q * (double)l->a.rows, cols = (double)l->a.cols;
    const double of_x = device == SPMM_CPU ? rows_bytes(l, rows + cols) : 0;
    /* the joint exchange splits each block, and keeps the block and its parts */
    const int copies = o->exchange == SPMM_EXCHANGE_JOINT && l->p > 1 ? 2 : 1;
    return l->share * (copies * blocks_bytes(l) + of_x) + l->x_file;
}

spmm_status sp_job_check_memory(const sp_options *o, const sp_place *place, const sp_matrix_file *file)
{
    char what[SP_MESSAGE_BYTES / 2];
    outlook l;
    if (sp_job_stencil(o, place).side > 0) return SPMM_OK;
    if (look_ahead(o, &place->grid, file, &l) != SPMM_OK)
        return SPMM_OK; /* the reader of X reports the error */
    snprintf(what, sizeof what, "%.300s (%lld rows%s%lld entries)", o->matrix, (long long)l.a.rows,
             l.a.entries > 0 ? ", " : " and more than ", (long long)l.a.entries);
    TRY(sp_memory_needs(reading_bytes(&l, o, place->grid.size), what));
    if (o->action != SP_ACTION_MULTIPLY) return SPMM_OK;
    snprintf(what, sizeof what, "a multivector X, a multivector Y (K = %lld) and %.300s", (long long)l.k,
             o->matrix);
    return sp_memory_needs(product_bytes(&l, o, place->binding.device), what);
}
