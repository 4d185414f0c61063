/** Functions for fortran/spmm.f90 where Fortran cannot call spmm.h directly. They have communicators as
 *  arguments, which are integers in Fortran and which only C can convert, or they need a FILE, or they set
 *  the message for arguments that only Fortran can check. They are part of libspmm, so that the module needs
 *  no C compiler and can be compiled with any Fortran compiler. */
#ifndef SP_FORTRAN_H
#define SP_FORTRAN_H

#include "spmm_extended.h"

/** As spmm_block_from_rows(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_block_from_rows(int comm, int64_t rows, int64_t x_rows, spmm_precision precision,
                                         const spmm_rows *part, int parts, spmm_block *block);

/** As spmm_csr_scatter(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_csr_scatter(int comm, int root, const spmm_csr *a, int p, int q, spmm_block *block);

/** As spmm_cut_create(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_cut_create(int comm, int root, const spmm_csr *a, spmm_cut_by by, int64_t k,
                                    const spmm_plan_options *options, spmm_cut *cut);

/** As spmm_cut_scatter(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_cut_scatter(int comm, int root, const spmm_csr *a, const spmm_cut *cut,
                                     spmm_block *block);

/** As spmm_device_open(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_device_open(int comm);

/** As spmm_multivector_dot(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_multivector_dot(int comm, const spmm_multivector *x, const spmm_multivector *y,
                                         double *g, int64_t ldg);

/** As spmm_multivector_dot_complex(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_multivector_dot_complex(int comm, const spmm_multivector *x,
                                                 const spmm_multivector *y, spmm_complex *g, int64_t ldg);

/** As spmm_multivector_norms(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_multivector_norms(int comm, const spmm_multivector *x, double *norm);

/** As spmm_plan_create(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_plan_create(int comm, const spmm_block *block, int64_t k,
                                     const spmm_plan_options *options, spmm_plan **plan);

/** As spmm_plan_create_extended(), for a Fortran communicator. Collective over comm. */
spmm_status spmm_fortran_plan_create_extended(int comm, const spmm_block *block, int64_t k,
                                              const spmm_plan_options *options, const spmm_plan_study *study,
                                              spmm_plan **plan);

/** Prints a plan to standard output with spmm_plan_view(), because Fortran has no FILE. Collective over the
 *  plan's communicator. */
spmm_status spmm_fortran_plan_view(const spmm_plan *plan);

/** Makes `message` the calling thread's error message. Local.
 *  \return SPMM_ERR_USAGE */
spmm_status spmm_fortran_usage(const char *message);

#endif
