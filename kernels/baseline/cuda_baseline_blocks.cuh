/** Row blocks for csr_adaptive and csr_queue. A row block is either a range of consecutive rows that have few
 *  enough entries for one block of threads, or a single longer row. */
#ifndef SP_CUDA_BASELINE_BLOCKS_CUH
#define SP_CUDA_BASELINE_BLOCKS_CUH

#include "kernels/baseline/cuda_baseline.cuh"

namespace {

/** Limits of a row block: at most `rows` rows, with at most `entries` entries in all. A row of more than
 *  `alone` entries is a row block by itself. */
struct cut {
    int64_t rows, entries, alone;
};

/** Cuts the rows of a CSR matrix into row blocks within the limits `most`.
 *  \param [out] first_row  [row blocks + 1], the first row of each row block, then `rows`; NULL: only count
 *                          row blocks
 *  \return the number of row blocks */
inline int64_t cut_rows(const int64_t *row_start, int64_t rows, cut most, int64_t *first_row)
{
    int64_t blocks = 0;
    for (int64_t begin = 0, end; begin < rows; begin = end) {
        end = begin + 1;
        if (row_start[end] - row_start[begin] <= most.alone)
            while (end < rows && end - begin < most.rows &&
                   row_start[end + 1] - row_start[begin] <= most.entries &&
                   row_start[end + 1] - row_start[end] <= most.alone)
                end++;
        if (first_row) first_row[blocks] = begin;
        blocks++;
    }
    if (first_row) first_row[blocks] = rows;
    return blocks;
}

/** Cuts the matrix into row blocks within the limits `most`: sets s->row_blocks, and s->first_row in device
 *  memory. */
inline spmm_status make_row_blocks(const sp_setup *setup, cut most, baseline_state *s)
{
    const spmm_csr *const a = setup->csr;
    int64_t *first_row = NULL;
    s->row_blocks = cut_rows(a->irp, a->rows, most, NULL);
    const int64_t bytes = (s->row_blocks + 1) * (int64_t)sizeof(int64_t);
    TRY(sp_device_alloc((void **)&s->first_row, bytes, "row blocks"));
    TRY(sp_alloc((void **)&first_row, s->row_blocks + 1, sizeof(int64_t), "row blocks"));
    cut_rows(a->irp, a->rows, most, first_row);
    const spmm_status status = sp_device_upload(s->first_row, first_row, bytes);
    sp_free(first_row);
    return status;
}

} // namespace

#endif
