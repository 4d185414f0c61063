#include <omp.h>

#include "csr.h"
#include "read.h"

spmm_status spmm_csr_read(const char *path, spmm_precision precision, spmm_csr *a)
{
    *a = (spmm_csr){0};
    const int threads = omp_get_max_threads();
    const sp_read_options options = {.precision = precision, .threads = threads};
    sp_coo coo;
    TRY(sp_read_coo(path, &options, &coo, NULL));
    return sp_csr_from_coo(&coo, threads, a, NULL);
}
