/** What an adaptor to another sparse library gives bench_cpu: peer_NAME.so defines `spmm_peer`.
 *
 *  Each of its functions returns NULL, or one line that says what went wrong. Plain C, without the project's
 *  headers, so that an adaptor may be C or C++ and knows nothing but its library. */
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
} peer_form;

/** A in CSR, columns increasing within a row. The arrays are 64-byte aligned and belong to the driver; they
 *  outlive load .. unload and are never changed. */
typedef struct peer_matrix {
    int f32; /**< val is float; else double */
    int64_t rows, cols, nnz;
    const int32_t *row_start, *col;
    const void *val;
} peer_matrix;

/** One product of a form with K columns, dense without padding: the leading dimension is k in PEER_ROW, the
 *  number of rows in PEER_COLUMN. The arrays outlive begin .. end; x is never changed. y is shared by the
 *  contenders. */
typedef struct peer_product {
    const peer_form *form;
    int64_t k;
    const void *x; /**< [cols x k] */
    void *y;       /**< [rows x k] */
} peer_product;

typedef struct peer {
    const char *package; /**< "eigen" */
    const peer_form *forms;
    int form_count;

    /** Once, before all else. \param [in] folder  where the adaptor lies \param [out] version  [size] */
    const char *(*open)(int threads, const char *folder, char *version, size_t size);

    /** Makes the library's matrix; what it takes is not timed. *handle is given to begin and unload. */
    const char *(*load)(const peer_matrix *a, void **handle);
    void (*unload)(void *handle);

    /** Makes what a product needs: dense matrices, hints, analysis; not timed. *product stays NULL where the
     *  form does not offer this K. */
    const char *(*begin)(void *handle, const peer_product *p, void **product);
    void (*end)(void *product);

    /** Y := A X, by one call of the library where that is possible; timed by the driver's clock, unless the
     *  adaptor sets *seconds itself. */
    const char *(*run)(void *product, double *seconds);

    /** Puts the library's Y into the product's y; NULL where it is there already. Called after the first run
     *  only. */
    const char *(*fetch)(void *product);

    void (*close)(void);
} peer;

extern const peer spmm_peer;

#ifdef __cplusplus
}
#endif
#endif
