/** The launchers of kernels for complex values. Files of this folder define them, apart from the kernels for
 *  real values: if one file contained both, the compiler would allocate other registers for the real ones, and
 *  files compile in parallel. */
#ifndef SP_CUDA_COMPLEX_CUH
#define SP_CUDA_COMPLEX_CUH

#include "kernels/cuda/cuda_vector.cuh"

/** Queues a product of csr_rows; of csr_balanced and csr_clustered, or of csr_deep; of sell_rows, or of
 *  sell_deep. T: c128 or c64. */
template <typename T> void sp_cuda_rows_complex(const sp_launch *l, cudaStream_t stream);
template <bool deep, typename T> void sp_cuda_lists_complex(const sp_launch *l, cudaStream_t stream);
template <bool deep, typename T> void sp_cuda_sell_complex(const sp_launch *l, cudaStream_t stream);

#endif
