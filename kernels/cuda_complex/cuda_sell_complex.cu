/** sell_rows and sell_deep for complex values. */
#include "kernels/cuda/cuda_sell.cuh"

template <bool deep, typename T> void sp_cuda_sell_complex(const sp_launch *l, cudaStream_t stream)
{
    run_sell<deep, T>(l, stream);
}

template void sp_cuda_sell_complex<false, c128>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_sell_complex<false, c64>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_sell_complex<true, c128>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_sell_complex<true, c64>(const sp_launch *l, cudaStream_t stream);
