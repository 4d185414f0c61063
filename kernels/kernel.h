/** What a kernel sees: a matrix in one format, X, Y, on the CPU the threads' row ranges, and what it
 *  prepared itself. Kernels never see MPI. A kernel is one file here plus one line of kernels.def. */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include "spmm.h"

enum {
    SP_FORMATS = SPMM_PANEL + 1,
    SP_PIECE = 512, /**< entries of the longest row that a GPU sub-warp sums alone; longer ones are cut */
    SP_CPU_PIECE = 65536, /**< the same for a CPU's core */
    SP_SLICE = 32,        /**< pieces of a slice of SPMM_SELL: a warp's */
    SP_PANEL = 8,         /**< rows of a panel of SPMM_PANEL: those of an FP64 tensor-core operand */
    SP_TILE_COLUMNS = 4   /**< columns of a tile of SPMM_PANEL: likewise */
};

/** A row that was cut into pieces: its sum is partial[first] + ... + partial[first + count - 1], in that
 *  order. */
typedef struct sp_split {
    int32_t row, count;
    int64_t first;
} sp_split;

/** A block of A in one storage format, arrays in the memory of `space`.
 *
 *  SPMM_CSR        row_start [rows+1], col [nnz], val [nnz].
 *  SPMM_ELL        padded ELLPACK, row-major: entry j of row i at i*width + j. Rows shorter than
 *                  width end in col = -1, val = 0: a kernel stops at the first -1, so a non-finite
 *                  X never meets a padding zero. The seeds' (values, col_indices).
 *  SPMM_ELL_NOPAD  rows of their own length nz_per_row[i], behind one another from row_start[i].
 *  SPMM_SELL       sliced ELLPACK (Kreutzer et al.: SIAM J. Sci. Comput. 36(5), 2014) of pieces: rows,
 *                  and rows of more than SP_PIECE entries cut into pieces. Slice s has
 *                  SP_SLICE pieces, stored by columns: entry j of its piece r at row_start[s] +
 *                  j*SP_SLICE + r, padded by col = -1 up to its longest; row_start [groups+1]. target
 *                  [groups*SP_SLICE]: the row of Y that the piece is, or ~p for partial sum p, or
 *                  INT32_MIN for a piece that pads the last slice.
 *  SPMM_PANEL      SP_PANEL consecutive rows share the list of their distinct columns, in increasing
 *                  order, in tiles of SP_TILE_COLUMNS (after Wang et al.: TC-GNN, USENIX ATC 2023). Panel p
 *                  has tiles tile_start[p] .. tile_start[p+1]; tile t's columns are col[4t .. 4t+3] (a
 *                  panel's last tile repeats its last column), its entries are the set bits of mask[t],
 *                  bit 4*row + column, and their values follow in bit order from val[row_start[p]] on
 *                  over the tiles of the panel. row_start, tile_start [groups+1].
 */
typedef struct sp_matrix {
    spmm_format format;
    spmm_precision precision;
    spmm_device space;
    int borrowed; /**< 1: the arrays belong to somebody else */
    int64_t rows, cols, nnz;
    int64_t width;       /**< SPMM_ELL: the longest row; else 0 */
    int64_t groups;      /**< SPMM_SELL: slices; SPMM_PANEL: panels; else 0 */
    int64_t partials;    /**< SPMM_SELL: pieces that are partial sums */
    int64_t splits;      /**< SPMM_SELL: rows that were cut */
    int64_t *row_start;  /**< all but SPMM_ELL */
    int32_t *nz_per_row; /**< SPMM_ELL_NOPAD */
    int32_t *col;        /**< column indices, increasing within a row */
    void *val;
    int32_t *target;     /**< SPMM_SELL */
    sp_split *split;     /**< SPMM_SELL, [splits] */
    int64_t *tile_start; /**< SPMM_PANEL */
    uint32_t *mask;      /**< SPMM_PANEL */
} sp_matrix;

/** What each OpenMP thread computes, balanced by entries + 2 rows: thread t rows [begin[t], begin[t+1]), and
 *  pieces [piece[t], piece[t+1]) of those rows that have more than SP_CPU_PIECE entries, which its range may
 *  hold but does not count. The pieces of all of those are numbered on: giant[0]'s, then giant[1]'s, ... */
typedef struct sp_work {
    int threads;
    int64_t *begin; /**< [threads + 1] */
    int64_t giants;
    int64_t *giant; /**< [giants], the rows, increasing */
    int64_t *piece; /**< [threads + 1] */
} sp_work;

/** Launch shapes that a user may set; 0: the kernel's own choice (CUDA: the occupancy calculator's). */
typedef struct sp_shape {
    int block;   /**< threads of a CUDA block, a multiple of 32 up to 1024 */
    int subwarp; /**< lanes that share an element, where a kernel has that as a parameter: 1, 2, .. 32 */
} sp_shape;

/** \return SPMM_OK, or SPMM_ERR_USAGE with what is allowed */
spmm_status sp_shape_check(sp_shape shape);

/** What a kernel may look at before its products. */
typedef struct sp_setup {
    const sp_matrix *a;  /**< in the kernel's format and memory; outlives the state */
    const spmm_csr *csr; /**< the same in host memory; not to be kept */
    int64_t k;           /**< columns of X in the products to come */
    int threads;         /**< OpenMP threads, for the set-up and of a CPU kernel's products */
    sp_shape shape;
} sp_setup;

/** One product. x and y are in the memory of a->space, y does not overlap x; y's padding columns
 *  (k <= j < ld) may be written. GPU kernels are queued on the device's one stream
 *  (sp_device_stream) and do not wait; the launcher checks cudaGetLastError. Nothing is allocated: what a
 *  product needs, prepare() made. */
typedef struct sp_launch {
    const sp_matrix *a;
    const sp_work *work; /**< CPU only; NULL on a GPU */
    void *state;         /**< what prepare() made; NULL for a kernel without one */
    sp_shape shape;
    const spmm_multivector *x;
    spmm_multivector *y;
} sp_launch;

/** What a kernel's file defines: sp_kernel_ID. */
typedef struct sp_kernel_ops {
    spmm_status (*run)(const sp_launch *launch);
    /** Makes what the products need beside the matrix: work lists, workspaces. NULL: nothing.
     *  *state is NULL on failure. */
    spmm_status (*prepare)(const sp_setup *setup, void **state);
    void (*release)(void *state); /**< accepts NULL */
} sp_kernel_ops;

/** Is Y bit for bit the serial product: one fma chain a row in column order from +0? */
typedef enum sp_exactness {
    SP_EXACT_NO,
    SP_EXACT_YES,
    SP_EXACT_F64,    /**< yes in f64, but for the sign of a zero that an underflow left; no in f32 */
    SP_EXACT_UNSPLIT /**< yes, but for rows of more than sp_kernel_piece() entries: they are cut into pieces */
} sp_exactness;

typedef struct sp_kernel {
    const char *id;
    spmm_device device;
    spmm_format format;
    sp_exactness exact;
    const char *what;
    const sp_kernel_ops *ops;
} sp_kernel;

#define KERNEL(id, device, format, exact, what) extern const sp_kernel_ops sp_kernel_##id;
#include "kernels/kernels.def"
#undef KERNEL

/** The registry, in the order of kernels.def; *count rows. A kernel that this build lacks is listed
 *  too, and its run returns SPMM_ERR_NO_DEVICE. */
const sp_kernel *sp_kernels(int *count);

/** The kernel of that name, or NULL. */
const sp_kernel *sp_kernel_find(const char *id);

/** The entries of the longest row that a kernel of SP_EXACT_UNSPLIT does not cut: SP_PIECE or SP_CPU_PIECE. The
 *  partial sums of the others are added in order, the same for any number of threads. */
int64_t sp_kernel_piece(const sp_kernel *kernel);

/** The kernel that `auto` means for a device and a format; NULL if there is none. */
const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format);

#endif
