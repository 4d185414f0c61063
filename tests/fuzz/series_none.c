#include "fuzz.h"

spmm_status fuzz_series_options(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return SPMM_OK;
}
