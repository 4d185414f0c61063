/** The interface of an adaptor to another sparse library. The adaptor is called by a driver: spmm_mpi
 *  (kernels/peers/peer_kernels.c) or a bench. Most adaptors are shared objects, peer_NAME.so. Some are linked
 *  to a bench: those to PETSc, to libspmm (bench/common/own.c) and to the kernels of the registry
 *  (bench/gpu/own_kernels.c).
 *
 *  Functions return NULL, or one line that describes the error. If A is distributed, all functions of the
 *  adaptor except move() and way() are collective. This header is plain C and includes none of the project's
 *  headers: an adaptor may be C++, and uses nothing but its library and this header. */
#ifndef SP_PEER_H
#define SP_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peer_layout { PEER_ROW, PEER_COLUMN } peer_layout;

/** One way to call the library, which is a line of a bench's table. */
typedef struct peer_form {
    const char *contender; /**< name in tables: the library's name, unless the library is called in an unusual
                                way */
    peer_layout layout;    /**< of X and Y */
    int f64, f32;          /**< 1: supports that precision */
    int threads;           /**< number of threads that it uses, whatever number is requested; 0: the requested
                                number */
    int distributed;       /**< 1: for bench_mpi and bench_multigpu; 0: for bench_cpu and spmm_mpi;
                                bench_gpu uses either */
} peer_form;

/** Functions of the driver that an adaptor for GPUs calls, so that it needs no CUDA runtime of its own. The
 *  driver has made the GPU current, and pools and counts the memory. */
typedef struct peer_gpu {
    /** Allocates GPU memory for use in the product's stream, as set at begin; free() accepts NULL. */
    const char *(*alloc)(void **p, int64_t bytes);
    void (*free)(void *p);
    const char *(*upload)(void *to, const void *from,
                          int64_t bytes); /**< from host memory; complete on return */
    const char *(*wait)(void);            /**< waits for all work in that stream */
} peer_gpu;

/** This rank's rows of A in CSR, columns increasing within a row. The driver owns the arrays and never
 *  changes them. They are valid from load to unload; but if there is a GPU, the driver may free those in host
 *  memory after begin. */
typedef struct peer_matrix {
    int f32;        /**< val is float; else double */
    int is_complex; /**< 1: values and elements of X and Y are pairs of such numbers, a real and an imaginary
                         part */
    int64_t rows, cols, nnz;
    const int32_t *row_start, *col; /**< row_start: NULL if there are more than 2^31 - 1 entries */
    const void *val;
    int64_t all_rows, x_rows; /**< rows of the whole matrix; rows of X that this rank owns */
    const void *block;   /**< in benches: the same matrix as an spmm_block of libspmm, with col_begin 0 */
    const peer_gpu *gpu; /**< NULL: X and Y are in host memory */
    /** The arrays in GPU memory, for adaptors for GPUs. */
    const int32_t *gpu_row_start, *gpu_col;
    const void *gpu_val;
} peer_matrix;

/** Returns the size in bytes of a value. */
static inline size_t peer_value_bytes(const peer_matrix *a)
{
    return (a->f32 ? sizeof(float) : sizeof(double)) * (a->is_complex ? 2 : 1);
}

/** One product of a form with K columns. The contenders never change x, and share y. x and y are in host
 *  memory or, with a->gpu, in GPU memory, and are valid from begin to end. If ldx is k (PEER_ROW) or the
 *  number of rows (PEER_COLUMN), x has no padding; likewise y.
 *
 *  If the adaptor `rebinds`, the driver may change x, y, ldx, ldy and stream after begin. */
typedef struct peer_product {
    const peer_form *form;
    const peer_matrix *a; /**< the first member of the adaptor's matrix */
    int64_t k;
    const void *x;    /**< [x_rows x k] */
    void *y;          /**< [rows x k] */
    int64_t ldx, ldy; /**< distance between rows in PEER_ROW, between columns in PEER_COLUMN */
    void *stream;     /**< with a->gpu: the cudaStream_t in which run() queues the product */
    int left_out;     /**< begin sets it to 1 if the form does not support this A or K; the line that begin
                           returns gives the reason */
    double earlier;   /**< begin may set it: seconds that an earlier begin spent on data that this product
                           uses, too */
    double seconds;   /**< run may set it: seconds of the product by the adaptor's own clock */
} peer_product;

typedef struct peer_adaptor {
    const char *package; /**< "eigen" */
    const peer_form *forms;
    int form_count;
    /** Bytes of the adaptor's structs, whose first members are a peer_matrix and a peer_product. The driver
     *  allocates the structs, sets these members, and zeroes the rest. 0: the structs have no other
     *  members. */
    size_t matrix_bytes, product_bytes;

    /** Opens the library, whose products use `threads` threads from then on. Called once, before all other
     *  functions; needs no GPU. May be NULL, as may all functions below that are not marked as required.
     *  \param [in] folder  the folder that contains the adaptor
     *  \param [out] version  [size] name and version of the library */
    const char *(*open)(int threads, const char *folder, char *version, size_t size);

    /** Makes the library's matrix; not timed. unload is called even if load failed. */
    const char *(*load)(void *matrix);
    void (*unload)(void *matrix);

    /** Prepares a product: makes dense matrices, hints and an analysis. Its time does not count as a
     *  product's; bench_gpu and bench_multigpu report it as set-up. Required. end is called even if begin
     *  failed. */
    const char *(*begin)(void *product);
    void (*end)(void *product);

    /** Computes Y := A X, by one call of the library if possible; with a->gpu, only queues it. Required. */
    const char *(*run)(void *product);
    int rebinds; /**< 1: run() uses the current x, y, ldx, ldy and stream; 0: those at begin */

    /** Copies the library's Y to the product's y or, with `in`, y to the library's Y. NULL if the library
     *  writes to y itself. */
    const char *(*move)(void *product, int in);
    int complex_values; /**< 1: its forms also multiply complex values of the precisions they support */
    int adds;           /**< 1: run adds A X to Y, so that only the first product can be checked */
    /** The parts of run(), if bench_multigpu times them separately. */
    const char *(*part[2])(void *product);

    /** Returns the name of the function, algorithm or variant that runs. */
    const char *(*way)(const void *product);
    void (*close)(void);
} peer_adaptor;

extern const peer_adaptor spmm_peer;

#ifdef __cplusplus
}
#endif
#endif
