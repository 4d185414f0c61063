/** csr_balanced, csr_clustered and csr_deep for complex values. */
#include "kernels/cuda/cuda_rows.cuh"

template <bool deep, typename T> void sp_cuda_lists_complex(const sp_launch *l, cudaStream_t stream)
{
    run_lists<deep, T>(l, stream);
}

template void sp_cuda_lists_complex<false, c128>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_lists_complex<false, c64>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_lists_complex<true, c128>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_lists_complex<true, c64>(const sp_launch *l, cudaStream_t stream);
