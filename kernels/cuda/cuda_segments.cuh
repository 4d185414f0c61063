/** Long rows of the CUDA kernels: rows of more than SP_CHAIN entries are cut into the leaves or segments of
 *  summation.h, which csr_balanced's kernel sums. The other kernels leave long rows to it. */
#ifndef SP_CUDA_SEGMENTS_CUH
#define SP_CUDA_SEGMENTS_CUH

#include "kernels/cuda/cuda_vector.cuh"

/** State of a kernel: the segments that it sums, and the partial sums of long rows, in device memory. */
struct sp_segment_list {
    int64_t segments, cut; /* the first `cut` ones are segments of long rows, the others rows and leaves */
    int64_t sections, splits;
    sp_segment *segment;
    sp_split *split;
    void *partial; /* [number of partial sums x partial_ld(k)] */
    int leaves;    /* 1: long rows are cut into leaves; 0: into segments */
    int32_t *col;  /* copy of the entries of the long rows; NULL: they are read in the matrix */
    void *val;
};

/** Cuts the long rows of a matrix, as prepare() of the kernels that leave them out. Local.
 *  \param [in]  start  index of the first entry of each row in setup->a's arrays; NULL: setup->a->width
 *                      entries per row
 *  \param [out] state  the caller frees it by sp_cuda_release_segments(); NULL on failure, and if no row is
 *                      long
 *  \return SPMM_OK, SPMM_ERR_MEMORY, _LIMIT, _NO_DEVICE, _DEVICE */
spmm_status sp_cuda_prepare_long_rows(const sp_setup *setup, const int64_t *start, void **state);

/** Like sp_cuda_prepare_long_rows(), for a format that does not store the entries of long rows: copies these
 *  to the device. */
spmm_status sp_cuda_prepare_copied_rows(const sp_setup *setup, void **state);

/** Frees a segment list; accepts NULL. Local. */
void sp_cuda_release_segments(void *state);

/** Queues the sums of all segments of a list, and then those of the long rows. Does nothing if `list` is
 *  NULL. Local. */
void sp_cuda_launch_segments(const sp_launch *l, const sp_segment_list *list, cudaStream_t stream);

#endif
