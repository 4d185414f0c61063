/** What a kernel sees: a matrix in one format, X, Y, on the CPU the threads' row ranges, and what it
 *  prepared itself. Kernels never see MPI. A kernel is one file here plus one line of kernels.def. */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include "formats/matrix.h"
#include "formats/thread_ranges.h"

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
    const sp_thread_ranges *work; /**< CPU only; NULL on a GPU */
    void *state;                  /**< what prepare() made; NULL for a kernel without one */
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
    SP_EXACT_F64, /**< yes in f64, but for the sign of a zero that an underflow left; no in f32 */
    SP_EXACT_UNSPLIT /**< yes, but for rows of more than sp_kernel_row_segment() entries: they are cut into segments */
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

/** The entries of the longest row that a kernel of SP_EXACT_UNSPLIT does not cut: SP_ROW_SEGMENT or SP_CPU_ROW_SEGMENT. The
 *  partial sums of the others are added in order, the same for any number of threads. */
int64_t sp_kernel_row_segment(const sp_kernel *kernel);

/** The kernel that `auto` means for a device and a format; NULL if there is none. */
const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format);

#endif
