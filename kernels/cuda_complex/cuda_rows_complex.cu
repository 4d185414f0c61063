/** csr_rows for complex values. */
#include "kernels/cuda/cuda_rows.cuh"

template <typename T> void sp_cuda_rows_complex(const sp_launch *l, cudaStream_t stream)
{
    run_typed<FROM_CSR, T>(l, stream);
}

template void sp_cuda_rows_complex<c128>(const sp_launch *l, cudaStream_t stream);
template void sp_cuda_rows_complex<c64>(const sp_launch *l, cudaStream_t stream);
