/** Functions of spmm.h that have communicators or files as arguments, for Fortran. */
#include "plan/fortran.h"

#include <stdio.h>

#include "base/status.h"

spmm_status spmm_fortran_block_from_rows(int comm, int64_t rows, int64_t x_rows, spmm_precision precision,
                                         const spmm_rows *part, int parts, spmm_block *block)
{
    return spmm_block_from_rows(MPI_Comm_f2c(comm), rows, x_rows, precision, part, parts, block);
}

spmm_status spmm_fortran_csr_scatter(int comm, int root, const spmm_csr *a, int p, int q, spmm_block *block)
{
    return spmm_csr_scatter(MPI_Comm_f2c(comm), root, a, p, q, block);
}

spmm_status spmm_fortran_cut_create(int comm, int root, const spmm_csr *a, spmm_cut_by by, int64_t k,
                                    const spmm_plan_options *options, spmm_cut *cut)
{
    return spmm_cut_create(MPI_Comm_f2c(comm), root, a, by, k, options, cut);
}

spmm_status spmm_fortran_cut_scatter(int comm, int root, const spmm_csr *a, const spmm_cut *cut,
                                     spmm_block *block)
{
    return spmm_cut_scatter(MPI_Comm_f2c(comm), root, a, cut, block);
}

spmm_status spmm_fortran_device_open(int comm) { return spmm_device_open(MPI_Comm_f2c(comm)); }

spmm_status spmm_fortran_multivector_dot(int comm, const spmm_multivector *x, const spmm_multivector *y,
                                         double *g, int64_t ldg)
{
    return spmm_multivector_dot(MPI_Comm_f2c(comm), x, y, g, ldg);
}

spmm_status spmm_fortran_multivector_dot_complex(int comm, const spmm_multivector *x,
                                                 const spmm_multivector *y, spmm_complex *g, int64_t ldg)
{
    return spmm_multivector_dot_complex(MPI_Comm_f2c(comm), x, y, g, ldg);
}

spmm_status spmm_fortran_multivector_norms(int comm, const spmm_multivector *x, double *norm)
{
    return spmm_multivector_norms(MPI_Comm_f2c(comm), x, norm);
}

spmm_status spmm_fortran_plan_create(int comm, const spmm_block *block, int64_t k,
                                     const spmm_plan_options *options, spmm_plan **plan)
{
    return spmm_plan_create(MPI_Comm_f2c(comm), block, k, options, plan);
}

spmm_status spmm_fortran_plan_create_extended(int comm, const spmm_block *block, int64_t k,
                                              const spmm_plan_options *options, const spmm_plan_study *study,
                                              spmm_plan **plan)
{
    return spmm_plan_create_extended(MPI_Comm_f2c(comm), block, k, options, study, plan);
}

spmm_status spmm_fortran_plan_view(const spmm_plan *plan) { return spmm_plan_view(plan, stdout); }

spmm_status spmm_fortran_usage(const char *message) { return sp_fail(SPMM_ERR_USAGE, "%s", message); }
