/** The kernels sell_rows and sell_deep: run the kernel of cuda_sell.cuh. */
#include "kernels/cuda/cuda_sell.cuh"

namespace {

spmm_status prepare_rows(const sp_setup *setup, void **state)
{
    TRY(sp_cuda_prepare_sums(setup, state));
    const spmm_status status = sp_cuda_short_columns(setup, (sp_work_lists *)*state);
    if (status == SPMM_OK) return status;
    sp_cuda_release_lists(*state);
    *state = NULL;
    return status;
}

template <bool deep> spmm_status run(const sp_launch *l, const char *id)
{
    TRY(check_pitch(l, id));
    return launch_product<run_sell<deep, double>, run_sell<deep, float>, sp_cuda_sell_complex<deep, c128>,
                          sp_cuda_sell_complex<deep, c64>>(l, id);
}

spmm_status run_rows(const sp_launch *l) { return run<false>(l, "sell_rows"); }

spmm_status run_deep(const sp_launch *l) { return run<true>(l, "sell_deep"); }

} // namespace

SP_KERNEL(sell_deep) = {run_deep, sp_cuda_prepare_sums, sp_cuda_release_lists,
                        NULL,     sp_cuda_set_k,        sp_cuda_new_values};
SP_KERNEL(sell_rows) = {run_rows, prepare_rows,  sp_cuda_release_lists,
                        NULL,     sp_cuda_set_k, sp_cuda_new_values};
