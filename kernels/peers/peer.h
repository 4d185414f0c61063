/** What an adaptor to another sparse library gives its driver, which is spmm_mpi
 *  (kernels/peers/peer_kernels.c) or a bench. Most are shared objects, peer_NAME.so; some are linked to a
 *  bench: to PETSc, to libspmm (bench/common/own.c), to the kernels of the registry
 *  (bench/gpu/own_kernels.c).
 *
 *  Its functions return NULL, or one line that says what went wrong; where A is distributed all but move()
 *  and way() are collective. Plain C, without the project's headers: an adaptor may be C++ and knows its
 *  library alone. */
#ifndef SP_PEER_H
#define SP_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum peer_layout { PEER_ROW, PEER_COLUMN } peer_layout;

/** One way to call the library: a line of the table. */
typedef struct peer_form {
    const char *contender; /**< name in tables: the library's, unless it is called in an unusual way */
    peer_layout layout;    /**< of X and Y */
    int f64, f32;          /**< 1: offers that precision */
    int threads;           /**< that it runs on, whatever is asked for; 0: as many as are asked for */
    int distributed;       /**< 1: for bench_mpi, 0: for bench_cpu; the others ask for all forms */
} peer_form;

/** What an adaptor for GPUs uses of its driver, so that it needs no CUDA runtime of its own: the driver has
 *  made its GPU current, and pools and counts the memory. */
typedef struct peer_gpu {
    /** Memory for what is queued in the product's stream at begin; free() accepts NULL. */
    const char *(*alloc)(void **p, int64_t bytes);
    void (*free)(void *p);
    const char *(*upload)(void *to, const void *from,
                          int64_t bytes); /**< from host memory; complete on return */
    const char *(*wait)(void);            /**< for all that is queued in that stream */
} peer_gpu;

/** This rank's rows of A in CSR, columns increasing within a row. The arrays belong to the driver and are
 *  never changed. They outlive load .. unload; where there is a GPU, those in host memory may be gone after
 *  begin. */
typedef struct peer_matrix {
    int f32; /**< val is float; else double */
    int64_t rows, cols, nnz;
    const int32_t *row_start, *col; /**< row_start: NULL beyond 2^31 - 1 entries */
    const void *val;
    int64_t all_rows, x_rows; /**< rows of the whole matrix; rows of X that this rank owns */
    const void *block;   /**< benches: the same as libspmm's spmm_block, column indices from col_begin 0 on */
    const peer_gpu *gpu; /**< NULL: X and Y are in host memory */
    /** The arrays in the GPU's memory, of an adaptor for GPUs. */
    const int32_t *gpu_row_start, *gpu_col;
    const void *gpu_val;
} peer_matrix;

/** One product of a form with K columns. x is never changed. y is shared by the contenders. They are in host
 *  memory or, with a->gpu, in the GPU's, and outlive begin .. end. Where ldx is k or rows, there is no
 *  padding.
 *
 *  The driver of an adaptor that `rebinds` may change x, y, ldx, ldy and stream after begin. */
typedef struct peer_product {
    const peer_form *form;
    const peer_matrix *a; /**< the first member of the adaptor's matrix */
    int64_t k;
    const void *x;    /**< [x_rows x k] */
    void *y;          /**< [rows x k] */
    int64_t ldx, ldy; /**< distance between rows in PEER_ROW, between columns in PEER_COLUMN */
    void *stream;     /**< with a->gpu: the cudaStream_t in which run() queues the product */
    int left_out;     /**< begin sets it where the form is not for this A or K; the line that it returns says
                       why */
    double earlier;   /**< begin may set it: seconds that an earlier begin spent on what this product needs,
                         too */
    double seconds;   /**< run may set it, by a clock of its own */
} peer_product;

typedef struct peer_adaptor {
    const char *package; /**< "eigen" */
    const peer_form *forms;
    int form_count;
    /** Bytes of the adaptor's structs, whose first members are a peer_matrix and a peer_product; the driver
     *  allocates them, zeroed but for those. 0: there is nothing else in them. */
    size_t matrix_bytes, product_bytes;

    /** Once, before all else. The library's products have that many threads from then on. It does not need a
     *  GPU. NULL: not needed, like all that are not said to be needed.
     *  \param [in] folder  where the adaptor lies \param [out] version  [size] */
    const char *(*open)(int threads, const char *folder, char *version, size_t size);

    /** Makes the library's matrix; what it takes is not timed. unload also follows a load that failed. */
    const char *(*load)(void *matrix);
    void (*unload)(void *matrix);

    /** Makes what a product needs: dense matrices, hints, analysis; benches do not time it. Needed. end also
     *  follows a begin that failed. */
    const char *(*begin)(void *product);
    void (*end)(void *product);

    /** Y := A X, by one call of the library where that is possible. With a->gpu it is queued. Needed. */
    const char *(*run)(void *product);
    int rebinds; /**< 1: run() uses x, y, ldx, ldy and stream as they are then; 0: as they were at begin */

    /** Copies the library's Y to the product's y or, with `in`, y to the library's; NULL where it is y
     *  itself. */
    const char *(*move)(void *product, int in);
    int adds; /**< 1: run adds A X to Y, so that only the first product can be checked */
    /** What run() consists of, where bench_multigpu times it apart. */
    const char *(*part[2])(void *product);

    /** The kernel, type or algorithm that runs. */
    const char *(*way)(const void *product);
    void (*close)(void);
} peer_adaptor;

extern const peer_adaptor spmm_peer;

#ifdef __cplusplus
}
#endif
#endif
