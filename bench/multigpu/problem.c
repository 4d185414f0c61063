#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/random.h"
#include "io/generators.h"
#include "bench.h"

enum { X_SEED = 1 };

static spmm_status make_whole(const char *name, spmm_precision precision, int cores, spmm_csr *a)
{
    const int threads = omp_get_max_threads();
    omp_set_num_threads(cores); /* the other ranks wait */
    const spmm_status status = sp_gen_is_spec(name) ? spmm_csr_generate(name, precision, a)
                                                    : spmm_csr_read(name, precision, a);
    omp_set_num_threads(threads);
    if (status == SPMM_OK && a->rows != a->cols) {
        const spmm_status oblong = sp_fail(SPMM_ERR_USAGE, "%s: %lld x %lld, and it is to be square", name,
                                           (long long)a->rows, (long long)a->cols);
        spmm_csr_destroy(a);
        return oblong;
    }
    return status;
}

static spmm_status weigh_rows(problem *p)
{
    const spmm_csr *const a = &p->block.csr;
    TRY(sp_alloc((void **)&p->row_weight, a->rows, sizeof *p->row_weight, "weights of rows"));
#pragma omp parallel for schedule(guided)
    for (int64_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (int64_t e = a->irp[i]; e < a->irp[i + 1]; e++)
            sum += fabs(a->precision == SPMM_F64 ? ((const double *)a->as)[e]
                                                 : (double)((const float *)a->as)[e]);
        p->row_weight[i] = sum;
    }
    return SPMM_OK;
}

static spmm_status distribute(const sp_binding *place, problem *p)
{
    spmm_csr whole = {0};
    spmm_status status = p->rank == 0 ? make_whole(p->name, p->precision, place->cores, &whole) : SPMM_OK;
    status = sp_agree(p->comm, "read", status);
    if (status == SPMM_OK) status = spmm_csr_scatter(p->comm, 0, &whole, p->size, 1, &p->block);
    p->nnz = whole.nnz;
    spmm_csr_destroy(&whole);
    TRY(status);
    return sp_bcast(p->comm, 0, &p->nnz, sizeof p->nnz);
}

spmm_status problem_create(MPI_Comm comm, const sp_binding *place, const char *name, spmm_precision precision,
                           problem *p)
{
    *p = (problem){.comm = comm, .name = name, .precision = precision, .threads = place->threads};
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->size);
    spmm_status status = distribute(place, p);
    if (status == SPMM_OK) status = sp_agree(comm, "read", weigh_rows(p));
    if (status != SPMM_OK) problem_destroy(p);
    return status;
}

void problem_destroy(problem *p)
{
    spmm_block_destroy(&p->block);
    sp_free(p->row_weight);
    memset(p, 0, sizeof *p);
}

double problem_x(int64_t row, int64_t column)
{
    return sp_random_unit(X_SEED, (uint64_t)row, (uint64_t)column);
}

spmm_status problem_fill(const problem *p, int64_t first, int64_t rows, int64_t k, int by_column, int64_t ld,
                         void *data)
{
    spmm_multivector host,
        there = {by_column ? k : rows, by_column ? rows : k, ld, p->precision, SPMM_CUDA, data, 0, 0};
    if (rows == 0) return SPMM_OK;
    TRY(spmm_multivector_create(there.rows, there.k, p->precision, SPMM_CPU, &host));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < host.rows; i++)
        for (int64_t j = 0; j < host.k; j++) {
            const double x = by_column ? problem_x(first + j, i) : problem_x(first + i, j);
            if (p->precision == SPMM_F64)
                ((double *)host.data)[i * host.ld + j] = x;
            else
                ((float *)host.data)[i * host.ld + j] = (float)x;
        }
    const spmm_status status = spmm_multivector_copy(&host, &there);
    spmm_multivector_destroy(&host);
    return status;
}
