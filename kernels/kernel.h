/** Interface of the kernels: a kernel sees a matrix in one format, X, Y, on the CPU the threads' row ranges, and
 *  what it prepared itself, but never MPI. A kernel is a file in a folder beside this one (a few files have two
 *  kernels) plus one line of kernels.def per kernel. */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include "formats/matrix.h"
#include "formats/thread_ranges.h"

/** Launch shape, which a user may set; 0: the kernel's own choice (for block that of CUDA's occupancy calculator). */
typedef struct sp_shape {
    int block;   /**< threads per CUDA block, a multiple of 32 up to 1024 */
    int subwarp; /**< lanes per element of Y, where a kernel has that parameter: a power of two up to 32 */
} sp_shape;

/** Checks a launch shape. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says what is allowed */
spmm_status sp_shape_check(sp_shape shape);

/** What a kernel may use to prepare its products. */
typedef struct sp_setup {
    const sp_matrix *a;  /**< in the kernel's format and memory; outlives the state */
    const spmm_csr *csr; /**< the same matrix in host memory; the state must not keep a pointer to it */
    int64_t k;           /**< columns of X in the products to come */
    int threads;         /**< OpenMP threads, for preparing and for a CPU kernel's products */
    sp_shape shape;
} sp_setup;

/** One product y := a x. x and y are in the memory of a->space and do not overlap; y's padding columns (k <= j < ld)
 *  may be written. GPU kernels are queued in the stream sp_device_stream(), and run() does not wait for them; it
 *  checks the launch (sp_device_launched()). run() allocates nothing: prepare() has made what a product needs. */
typedef struct sp_launch {
    const sp_matrix *a;
    const sp_thread_ranges *ranges; /**< the threads' row ranges; NULL on a GPU */
    void *state;                    /**< what prepare() made; NULL for a kernel without a prepare() */
    sp_shape shape;
    const spmm_multivector *x;
    spmm_multivector *y;
} sp_launch;

/** Operations of a kernel; its file defines them as sp_kernel_ID. */
typedef struct sp_kernel_ops {
    spmm_status (*run)(const sp_launch *launch); /**< computes one product; on a GPU queues it */
    /** Makes what the products need besides the matrix: work lists, workspaces; *state is NULL on failure. The
     *  pointer is NULL where they need nothing. */
    spmm_status (*prepare)(const sp_setup *setup, void **state);
    void (*release)(void *state); /**< frees the state; accepts NULL. May be NULL */
} sp_kernel_ops;

/** Whether Y equals the serial product bit for bit: per element one chain of fused multiply-adds, in column order,
 *  that starts from +0. */
typedef enum sp_exactness {
    SP_EXACT_NO,
    SP_EXACT_YES,
    SP_EXACT_F64,    /**< in f64 yes, except for the sign of a zero after an underflow; in f32 no */
    SP_EXACT_UNSPLIT /**< yes, except for rows of more than sp_kernel_row_segment() entries: they are cut */
} sp_exactness;

/** A row of the registry. */
typedef struct sp_kernel {
    const char *id; /**< the name in --kernel and --list-kernels */
    spmm_device device;
    spmm_format format;
    sp_exactness exact;
    const char *what; /**< description for --list-kernels */
    const sp_kernel_ops *ops;
} sp_kernel;

#define KERNEL(id, device, format, exact, what) extern const sp_kernel_ops sp_kernel_##id;
#include "kernels/kernels.def"
#undef KERNEL

/** Returns the registry: *count kernels in the order of kernels.def. It also lists kernels that this build lacks;
 *  their run() returns SPMM_ERR_NO_DEVICE. Local. */
const sp_kernel *sp_kernels(int *count);

/** Returns the kernel of that name, or NULL. Local. */
const sp_kernel *sp_kernel_find(const char *id);

/** Returns the number of entries of the longest row that a kernel of SP_EXACT_UNSPLIT does not cut into row segments:
 *  SP_ROW_SEGMENT, or on the CPU SP_CPU_ROW_SEGMENT. The partial sums of longer rows are added in order, so that the
 *  result is the same for any number of threads. Local. */
int64_t sp_kernel_row_segment(const sp_kernel *kernel);

/** Returns the first kernel of the registry with that device and format, the one to use where no rule of sp_choose()
 *  applies; NULL if there is none. Local. */
const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format);

#endif
