#include "fuzz.h"
#include "series_mpi/options.h"

spmm_status fuzz_series_options(int argc, char **argv)
{
    sp_series_options o;
    const spmm_status status = sp_series_options_parse(argc, argv, &o);
    if (status != SPMM_OK) return status;
    FUZZ_CHECK(o.series >= 1 && o.length >= 1 && o.threads >= 0 && o.warmup >= 0 && o.top >= 0);
    FUZZ_CHECK(o.kernels >= 0 && o.kernels <= SP_SERIES_KERNELS && o.tolerances >= 1 && o.tolerances <= 8);
    FUZZ_CHECK(o.walk.epsilon >= 0 && o.bound >= -1 && o.bound <= 1);
    if (o.action == SP_SERIES_HELP) fuzz_help(sp_series_options_help);
    for (int k = 0; k < o.kernels; k++) FUZZ_CHECK(o.kernel[k] != NULL);
    return SPMM_OK;
}
