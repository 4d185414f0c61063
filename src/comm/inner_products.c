/** Inner products of multivectors whose rows are distributed: each rank multiplies its owned rows, and the
 *  sums of the ranks are added in the order of the ranks. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "base/fp_environment.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "dense/dense.h"
#include "formats/multivector.h"

enum { MOST_ELEMENTS = 1 << 30 };

/** The operation of a public function, and memory for the sums over the ranks. */
typedef struct job {
    const char *function;
    MPI_Comm comm;
    int size;
    const spmm_multivector *x, *y; /* y is NULL if the sums of squares of the columns of x are computed */
    int64_t count;                 /* number of sums */
    int64_t slice;                 /* a rank adds `slice` of the sums over all ranks; size * slice >= count */
    double *sums;                  /* [size * slice]: this rank's sums, later the sums over all ranks */
    double *slices;                /* [size * slice]: from each rank, the `slice` sums that this rank adds */
} job;

/** Computes this rank's sums. */
static spmm_status sum_here(job *j)
{
    const int64_t k = j->y ? j->y->k : 1;
    const int parts = sp_type_of(j->x->precision).parts; /* sums are of products of parts */
    if (k > 0 && j->x->k > MOST_ELEMENTS / (parts * parts) / k)
        return sp_fail(SPMM_ERR_LIMIT, "%s: found %lld x %lld inner products, expected at most %d",
                       j->function, (long long)j->x->k, (long long)k, MOST_ELEMENTS / (parts * parts));
    const spmm_multivector x = sp_multivector_reals(j->x), y = j->y ? sp_multivector_reals(j->y) : x;
    j->count = x.k * (j->y ? y.k : 1);
    j->slice = (j->count + j->size - 1) / j->size;
    TRY(sp_alloc_zero((void **)&j->sums, 2 * j->size * j->slice, sizeof *j->sums, "inner products"));
    j->slices = j->sums + j->size * j->slice;
    if (j->count == 0) return SPMM_OK;
    return j->y ? sp_gram(&x, &y, j->sums) : sp_squares(&x, j->sums);
}

/** Adds the sums of all ranks, in the order of the ranks: each rank receives its slice from all ranks, adds,
 *  and distributes the result. The order in MPI_Reduce would depend on the MPI library. */
static spmm_status sum_over_ranks(const job *j)
{
    const int n = (int)j->slice;
    if (j->size == 1) return SPMM_OK;
    TRY(SP_MPI(MPI_Alltoall(j->sums, n, MPI_DOUBLE, j->slices, n, MPI_DOUBLE, j->comm)));
    for (int r = 1; r < j->size; r++)
        for (int64_t i = 0; i < n; i++) j->slices[i] += j->slices[r * (int64_t)n + i];
    return SP_MPI(MPI_Allgather(j->slices, n, MPI_DOUBLE, j->sums, n, MPI_DOUBLE, j->comm));
}

/** Computes the sums over all ranks. Collective.
 *  \param [in] checked  status of the check of this rank's arguments */
static spmm_status inner_products_run(job *j, spmm_status checked)
{
    spmm_status status = SP_MPI(MPI_Comm_size(j->comm, &j->size));
    if (checked == SPMM_OK && status == SPMM_OK) checked = sum_here(j);
    const int given = checked == SPMM_OK;
    const sp_common common[] = {{"x.k", given ? j->x->k : 0, 1},
                                {"y.k", given && j->y ? j->y->k : 0, 1},
                                {"precision", given ? (int64_t)j->x->precision : 0, 1}};
    if (status == SPMM_OK) status = sp_agree_common(j->comm, "dot", checked, j->function, common, 3);
    if (status == SPMM_OK) status = sum_over_ranks(j);
    return status;
}

static spmm_status check_dot(const job *j, const void *g, int64_t ldg, int complex)
{
    TRY(sp_alike(j->x, j->y, j->function));
    TRY(sp_complex_check(j->x, complex, j->function));
    TRY(sp_given(j->function, "g", g, "memory for the inner products"));
    if (ldg < j->y->k)
        return sp_fail(SPMM_ERR_USAGE, "%s: ldg is %lld, expected at least the %lld columns of y",
                       j->function, (long long)ldg, (long long)j->y->k);
    const sp_small small = {"g", g, j->x->k, j->y->k, ldg, complex ? SPMM_C128 : SPMM_F64};
    TRY(sp_small_check(&small, j->x, "x", j->function));
    return sp_small_check(&small, j->y, "y", j->function);
}

spmm_status spmm_multivector_dot(MPI_Comm comm, const spmm_multivector *x, const spmm_multivector *y,
                                 double *g, int64_t ldg)
{
    SP_DEFAULT_FP;
    job j = {.function = __func__, .comm = comm, .x = x, .y = y};
    TRY(sp_comm_check(comm, __func__));
    const spmm_status status = inner_products_run(&j, check_dot(&j, g, ldg, 0));
    for (int64_t i = 0; status == SPMM_OK && i < x->k; i++)
        memcpy(g + i * ldg, j.sums + i * y->k, sizeof *g * (size_t)y->k);
    sp_free(j.sums);
    return status;
}

spmm_status spmm_multivector_dot_complex(MPI_Comm comm, const spmm_multivector *x, const spmm_multivector *y,
                                         spmm_complex *g, int64_t ldg)
{
    SP_DEFAULT_FP;
    job j = {.function = __func__, .comm = comm, .x = x, .y = y};
    TRY(sp_comm_check(comm, __func__));
    const spmm_status status = inner_products_run(&j, check_dot(&j, g, ldg, 1));
    for (int64_t i = 0; status == SPMM_OK && i < x->k; i++)
        for (int64_t c = 0; c < y->k; c++) {
            /* the products of both parts of x, real and imaginary, with both parts of y */
            const double *const re = j.sums + 4 * i * y->k + 2 * c, *const im = re + 2 * y->k;
            g[i * ldg + c] = __builtin_complex(re[0] + im[1], re[1] - im[0]);
        }
    sp_free(j.sums);
    return status;
}

static spmm_status check_norms(const job *j, const double *norm)
{
    TRY(sp_multivector_check(j->x, j->function, "x"));
    TRY(sp_given(j->function, "norm", norm, "memory for one norm per column"));
    return sp_small_check(&(sp_small){"norm", norm, 1, j->x->k, j->x->k, SPMM_F64}, j->x, "x", j->function);
}

spmm_status spmm_multivector_norms(MPI_Comm comm, const spmm_multivector *x, double *norm)
{
    SP_DEFAULT_FP;
    job j = {.function = __func__, .comm = comm, .x = x};
    TRY(sp_comm_check(comm, __func__));
    const spmm_status status = inner_products_run(&j, check_norms(&j, norm));
    for (int64_t i = 0; status == SPMM_OK && i < x->k; i++)
        norm[i] = sqrt(sp_is_complex(x->precision) ? j.sums[2 * i] + j.sums[2 * i + 1] : j.sums[i]);
    sp_free(j.sums);
    return status;
}
