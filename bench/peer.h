/** What an adaptor gives the benches: to another sparse library, in peer_NAME.so or linked, to libspmm
 *  (common/own.c), to the kernels of the registry (gpu/own_kernels.c).
 *
 *  Its functions return NULL, or one line that says what went wrong; where A is distributed all but move() and way()
 *  are collective. Plain C, without the project's headers: an adaptor may be C++ and knows its library alone. */
#ifndef SP_BENCH_PEER_H
#define SP_BENCH_PEER_H

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

/** This rank's rows of A in CSR, columns increasing within a row. The arrays are 64-byte aligned and belong to the
 *  driver; they outlive load .. unload and are never changed. */
typedef struct peer_matrix {
    int f32; /**< val is float; else double */
    int64_t rows, cols, nnz;
    const int32_t *row_start, *col; /**< row_start: NULL beyond 2^31 - 1 entries */
    const void *val;
    int64_t all_rows, x_rows; /**< rows of the whole matrix; rows of X that this rank owns */
    const void *block;        /**< the same as libspmm's spmm_block, column indices from col_begin 0 on */
} peer_matrix;

/** One product of a form with K columns. The arrays outlive begin .. end; x is never changed. y is shared by the
 *  contenders. They are in host memory (bench_gpu: the GPU's). Where ldx is k or rows, there is no padding. */
typedef struct peer_product {
    const peer_form *form;
    const peer_matrix *a; /**< the first member of the adaptor's matrix */
    int64_t k;
    const void *x;    /**< [x_rows x k] */
    void *y;          /**< [rows x k] */
    int64_t ldx, ldy; /**< distance between rows in PEER_ROW, between columns in PEER_COLUMN */
    int left_out; /**< begin sets it where the form is not for this A or K; the line that it returns says why */
    double
        earlier; /**< begin may set it: seconds that an earlier begin spent on what this product needs, too */
    double seconds; /**< run may set it, by a clock of its own */
} peer_product;

typedef struct peer {
    const char *package; /**< "eigen" */
    const peer_form *forms;
    int form_count;
    /** Bytes of the adaptor's structs, whose first members are a peer_matrix and a peer_product; the driver
     *  allocates them, zeroed but for those. 0: there is nothing else in them. */
    size_t matrix_bytes, product_bytes;

    /** Once, before all else; NULL: not needed, like all that are not said to be needed.
     *  \param [in] folder  where the adaptor lies \param [out] version  [size] */
    const char *(*open)(int threads, const char *folder, char *version, size_t size);

    /** Makes the library's matrix; what it takes is not timed. unload also follows a load that failed. */
    const char *(*load)(void *matrix);
    void (*unload)(void *matrix);

    /** Makes what a product needs: dense matrices, hints, analysis; not timed. Needed. end also follows a begin
     *  that failed. */
    const char *(*begin)(void *product);
    void (*end)(void *product);

    /** Y := A X, by one call of the library where that is possible. In bench_gpu it is queued. Needed. */
    const char *(*run)(void *product);

    /** Copies the library's Y to the product's y or, with `in`, y to the library's; NULL where it is y itself. */
    const char *(*move)(void *product, int in);
    int adds; /**< 1: run adds A X to Y, so that only the first product can be checked */
    /** What run() consists of, where bench_multigpu times it apart. */
    const char *(*part[2])(void *product);

    /** The kernel, type or algorithm that runs. */
    const char *(*way)(const void *product);
    void (*close)(void);
} peer;

extern const peer spmm_peer;

#ifdef __cplusplus
}
#endif
#endif
