/** Groups rows that share columns into panels (formats/panel.h), on the GPU. Along a space-filling curve,
 *  consecutive rows are close to one another, but the best eight rows for a panel are seldom consecutive. So
 *  panels are filled greedily within windows of consecutive rows: the next row of a panel is the one with the
 *  largest share of its columns in the panel already. One warp processes a window. For each column of the
 *  window it keeps a bit mask of the rows that contain the column. */
#include "kernels/cuda/cuda_passes.cuh"

extern "C" {
#include "formats/panel.h"
#include "formats/summation.h"
}

namespace {

/* ROWS: rows of a window; with twice as many, regrouping would save a few percent more tiles.
 * TABLE: size of the hash table of the window's columns; a window with more than MOST columns keeps its
 * order. */
enum { WARP = 32, ROWS = 2 * WARP, TABLE = 1024, MOST = TABLE * 3 / 4 };
constexpr int32_t NO_COLUMN = -1;
constexpr unsigned ALL_LANES = 0xffffffffu;

/** A warp's data for its window. */
struct window {
    int32_t key[TABLE];           /* columns, or NO_COLUMN */
    unsigned long long of[TABLE]; /* bit mask of the rows that have the column */
    /* table indices of the columns that the last added row has added to the panel */
    int16_t added[SP_CHAIN];
    int columns, added_count;
    int32_t row[ROWS]; /* row numbers; -1: none */
    int length[ROWS];  /* number of entries; 0 for long rows, whose entries are not in panels */
};

__device__ inline void load_window(window &w, const int64_t *row_start, int64_t rows, const int32_t *order,
                                   int64_t first)
{
    const int lane = threadIdx.x;
    for (int i = lane; i < TABLE; i += WARP) {
        w.key[i] = NO_COLUMN;
        w.of[i] = 0;
    }
    for (int i = lane; i < ROWS; i += WARP) {
        const int64_t at = first + i, row = at >= rows ? -1 : order ? order[at] : at;
        const int64_t length = row < 0 ? 0 : row_start[row + 1] - row_start[row];
        w.row[i] = (int32_t)row;
        w.length[i] = length > SP_CHAIN ? 0 : (int)length;
    }
    if (lane == 0) w.columns = 0;
    __syncwarp();
}

/** Fills the table. Returns false if the columns do not fit. */
__device__ inline bool list_columns(window &w, const int64_t *row_start, const int32_t *col)
{
    const int lane = threadIdx.x;
    for (int i = 0; i < ROWS; i++) {
        if (w.columns > MOST) return false;
        __syncwarp(); /* all lanes have read w.columns; now it may grow */
        const int64_t begin = w.row[i] < 0 ? 0 : row_start[w.row[i]];
        for (int e = lane; e < w.length[i]; e += WARP) {
            bool added;
            const int p = table_place(w.key, col[begin + e], NO_COLUMN, &added);
            atomicOr(w.of + p, 1ull << i);
            if (added) atomicAdd(&w.columns, 1);
        }
        __syncwarp();
    }
    return w.columns <= MOST;
}

/** Adds the columns of row i to the panel, and lists the columns that are new in the panel. */
__device__ inline void add_columns(window &w, const int64_t *row_start, const int32_t *col, int i,
                                   uint32_t *in_panel)
{
    const int64_t begin = w.row[i] < 0 ? 0 : row_start[w.row[i]];
    __syncwarp(); /* all lanes have read the columns of the previous row */
    if (threadIdx.x == 0) w.added_count = 0;
    __syncwarp();
    for (int e = threadIdx.x; e < w.length[i]; e += WARP) {
        bool added;
        /* the column is in the table already */
        const int p = table_place(w.key, col[begin + e], NO_COLUMN, &added);
        const uint32_t bit = 1u << p % 32;
        if (!(atomicOr(in_panel + p / 32, bit) & bit)) w.added[atomicAdd(&w.added_count, 1)] = (int16_t)p;
    }
    __syncwarp();
}

/** Orders the rows of the window, panel by panel. */
__device__ inline void take_rows(window &w, const int64_t *row_start, const int32_t *col, uint32_t *in_panel,
                                 int32_t *out, int count)
{
    constexpr unsigned SCALE = 1 << 16, TAKEN = 0;
    const int lane = threadIdx.x;
    unsigned long long left = count < ROWS ? (1ull << count) - 1 : ~0ull;
    for (int n = 0; n < count; n += SP_PANEL) {
        int shared[2] = {0, 0}; /* number of columns of rows `lane` and `lane + WARP` that are in the panel */
        for (int i = lane; i < TABLE / 32; i += WARP) in_panel[i] = 0;
        int next = __ffsll((long long)left) - 1;
        for (int k = n; k < count && k < n + SP_PANEL; k++) {
            left &= ~(1ull << next);
            if (lane == 0) out[k] = w.row[next];
            if (k + 1 == n + SP_PANEL || left == 0) continue;
            add_columns(w, row_start, col, next, in_panel);
            for (int j = 0; j < w.added_count; j++) {
                const unsigned long long of = w.of[w.added[j]];
                for (int h = 0; h < 2; h++) shared[h] += (int)(of >> (lane + h * WARP) & 1);
            }
            /* the share of the columns and, in the lower bits, the row: of equal shares, the first row's is
             * chosen */
            unsigned best = TAKEN;
            for (int h = 0; h < 2; h++) {
                const int i = lane + h * WARP;
                const unsigned share = (unsigned)shared[h] * SCALE / (unsigned)(w.length[i] + 1);
                if (left >> i & 1) best = max(best, share * ROWS + (unsigned)(ROWS - 1 - i) + 1);
            }
            for (int step = WARP / 2; step > 0; step /= 2)
                best = max(best, __shfl_xor_sync(ALL_LANES, best, step));
            next = ROWS - 1 - (int)((best - 1) % ROWS);
        }
        __syncwarp();
    }
}

__global__ void __launch_bounds__(WARP) regroup_window(const int64_t *row_start, const int32_t *col,
                                                       int64_t rows, const int32_t *order, int32_t *out)
{
    __shared__ window w;
    __shared__ uint32_t in_panel[TABLE / 32];
    const int64_t first = (int64_t)blockIdx.x * ROWS;
    const int count = (int)min((int64_t)ROWS, rows - first);
    load_window(w, row_start, rows, order, first);
    if (list_columns(w, row_start, col))
        take_rows(w, row_start, col, in_panel, out + first, count);
    else
        for (int i = threadIdx.x; i < count; i += WARP) out[first + i] = w.row[i];
}

} // namespace

spmm_status sp_cuda_regroup_rows(const sp_matrix *a, const int32_t *order, int32_t **regrouped)
{
    *regrouped = NULL;
    cudaStream_t stream = (cudaStream_t)sp_device_stream(SP_STREAM_MAIN);
    if (!stream) return SPMM_ERR_NO_DEVICE; /* sp_device_stream() has set the message */
    if (a->rows == 0) return SPMM_OK;
    int32_t *rows;
    TRY(sp_device_alloc((void **)&rows, a->rows * (int64_t)sizeof *rows, "order of rows"));
    regroup_window<<<(unsigned)((a->rows + ROWS - 1) / ROWS), WARP, 0, stream>>>(a->row_start, a->col,
                                                                                 a->rows, order, rows);
    const spmm_status status = sp_device_launched("rows of panels");
    if (status == SPMM_OK)
        *regrouped = rows;
    else
        sp_device_free(rows);
    return status;
}
