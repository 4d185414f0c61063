/** Interface between the kernels and the rest of the library. A kernel gets a matrix in one format, X, Y, the
 *  OpenMP threads' row ranges (on the CPU), and a state that it prepared itself. A kernel does not use MPI.
 *  To add a kernel, write a file in a subfolder of kernels/, and add a line to kernels.def (some files define
 *  several kernels). */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include "formats/matrix.h"
#include "formats/thread_ranges.h"

/** Launch shape of a CUDA kernel. In each member, 0 lets the kernel choose (`block` then usually comes from
 *  CUDA's occupancy calculator). */
typedef struct sp_shape {
    int block;   /**< threads per CUDA block: a multiple of 32 up to 1024, or 0 */
    int subwarp; /**< lanes per element of Y: a power of two up to 32, or 0; many kernels ignore it */
} sp_shape;

/** Checks a launch shape. Local.
 *  \return SPMM_OK, or SPMM_ERR_USAGE with a message that says what is allowed */
spmm_status sp_shape_check(sp_shape shape);

/** Arguments of a kernel's prepare(). */
typedef struct sp_setup {
    const sp_matrix *a;  /**< the matrix in the kernel's format and memory; outlives the kernel's state */
    const spmm_csr *csr; /**< the matrix `a` in host memory; the state must not keep a pointer to it. Its
                              arrays may be NULL if the matrix was given in GPU memory */
    int64_t k;           /**< number of columns of X in later products, for which prepare() makes its
                              choices */
    int threads;         /**< OpenMP threads, for prepare() and for a CPU kernel's products */
    sp_shape shape;
    int64_t most; /**< maximum number of columns of later products, for which workspaces are sized; at least
                       k */
    /** Number of entries of the longest row, if few products follow, so that prepare() should take less time
     *  than one of them; 0: many products follow */
    int64_t longest;
} sp_setup;

/** Arguments of a kernel's run(), which computes one product y := a x. x and y are in the memory a->space and
 *  do not overlap; run() may write y's padding columns (k <= j < ld). On a GPU, run() queues the kernel in
 *  `stream`, whose GPU the caller has made current, checks the launch by sp_device_launched(), and returns
 *  without waiting for the kernel. run() allocates nothing: prepare() has allocated all workspaces. */
typedef struct sp_launch {
    const sp_matrix *a;
    const sp_thread_ranges *ranges; /**< row ranges of the OpenMP threads; NULL on a GPU */
    void *state;                    /**< the state from the kernel's prepare(); NULL if it has no prepare() */
    sp_shape shape;
    int conjugate; /**< 1: y := conj(a) x; only for kernels that multiply complex values */
    const spmm_multivector *x;
    spmm_multivector *y;
    void *stream; /**< the cudaStream_t to launch in; NULL on the CPU */
} sp_launch;

enum { SP_MOST_COPIES = 2 };

/** An array in a kernel's state that contains values of the matrix, in the matrix's memory and precision. */
typedef struct sp_value_copy {
    void *val;
    int64_t count;
} sp_value_copy;

/** Operations of a kernel. The source file of the kernel named ID defines them in a variable sp_kernel_ID. */
typedef struct sp_kernel_ops {
    spmm_status (*run)(const sp_launch *launch); /**< computes one product; on a GPU queues it */
    /** Creates the data that products need in addition to the matrix, such as work lists and workspaces. Sets
     *  *state to NULL on failure. The member is NULL if products need no such data. */
    spmm_status (*prepare)(const sp_setup *setup, void **state);
    void (*release)(void *state); /**< frees the state from prepare(); accepts a NULL state. May be NULL */
    /** Lists the arrays in a state that contain copies of values of the matrix, so that new values can be
     *  written there. NULL: there are none. Accepts a NULL state.
     *  \param [out] copies  [SP_MOST_COPIES]
     *  \return the number of arrays; -1: the places of values are unknown, and new values require a new
     *  state */
    int (*values)(void *state, sp_value_copy *copies);
    /** Adapts a state from prepare() to products of setup->k columns, at most the `most` with which it was
     *  prepared. NULL: another number of columns requires a new state. Accepts a NULL state. */
    spmm_status (*set_k)(const sp_setup *setup, void *state);
    /** Informs the state that the matrix, and the arrays that values() lists, have new values. NULL: the
     *  state does not depend on values. Accepts a NULL state. */
    spmm_status (*new_values)(const sp_setup *setup, void *state);
} sp_kernel_ops;

/** The set_k() of kernels whose states support any number of columns. \return SPMM_OK */
spmm_status sp_kernel_any_k(const sp_setup *setup, void *state);

/** Whether a kernel's Y equals the serial product bit for bit, i.e. whether each element of Y is summed in
 *  the canonical order of formats/summation.h. */
typedef enum sp_exactness {
    SP_EXACT_NO,
    SP_EXACT_YES,
    SP_EXACT_F64,    /**< in f64, equal except for the sign of a zero after an underflow; f32 is summed in f64
                          and rounded once, so not equal */
    SP_EXACT_UNSPLIT /**< equal, except in rows of more than SP_CHAIN entries, which are summed as one chain
                          instead of by leaves */
} sp_exactness;

typedef struct sp_question sp_question;

/** How well a kernel suits the products of a question (features.h). */
typedef enum sp_suitability {
    SP_SUITS_NOT,   /**< is not listed */
    SP_SUITS_LAST,  /**< follows the kernels that are worth a trial */
    SP_SUITS_TRIAL, /**< is worth a trial */
    SP_SUITS_JOIN,  /**< is worth a trial, even if a decision tree lists it late */
    SP_SUITS_FIRST  /**< is expected to be the fastest */
} sp_suitability;

/** The conditions of a kernel. Local.
 *  \param [out] why  the reason, for SP_SUITS_FIRST; may be NULL if n is 0 */
typedef sp_suitability sp_suits(const sp_question *q, char *why, size_t n);

/** How `--kernel auto` finds a kernel: column `auto` of kernels.def. */
typedef enum sp_auto { SP_AUTO_NO, SP_AUTO_TREE, SP_AUTO_RULE, SP_AUTO_BOTH } sp_auto;

/** Sets of types of values, a bit for each value of spmm_precision. */
enum {
    SP_TYPES_REAL = 1 << SPMM_F64 | 1 << SPMM_F32,
    SP_TYPES_ALL = SP_TYPES_REAL | 1 << SPMM_C128 | 1 << SPMM_C64
};

/** An entry of the registry of kernels. */
typedef struct sp_kernel {
    const char *id; /**< the kernel's name, as used in --kernel and printed by --list-kernels */
    spmm_device device;
    spmm_format format;
    unsigned types; /**< bit p is set if it multiplies values of type p */
    sp_exactness exact;
    sp_auto chosen;
    sp_suits *suits;  /**< the conditions; NULL: it has none */
    const char *what; /**< description for --list-kernels */
    const sp_kernel_ops *ops;
    const char *library; /**< the library that contains the kernel, e.g. "MKL"; NULL: this library */
} sp_kernel;

/** Begins the definition of the operations of kernel `id`; an initializer follows. The declaration gives them
 *  external linkage, also in C++. */
#define SP_KERNEL(id)                          \
    extern const sp_kernel_ops sp_kernel_##id; \
    const sp_kernel_ops sp_kernel_##id

enum { SP_MOST_ADDED = 8 };

/** Returns the registry of this library's kernels, *count kernels in the order of kernels.def. A build
 *  without CUDA also lists the CUDA kernels; their run() returns SPMM_ERR_NO_DEVICE. Local. */
const sp_kernel *sp_kernels(int *count);

/** Adds a kernel of another library, which sp_kernel_find() then finds; the automatic choice ignores it.
 *  Local; must be called before other threads use the registry. A kernel beyond SP_MOST_ADDED is ignored.
 *  \param [in] kernel  is copied; its texts and operations stay the caller's and must stay valid */
void sp_kernels_add(const sp_kernel *kernel);

/** Returns the registry including added kernels: first the kernels of sp_kernels(), then the added ones,
 *  *count in total. Local. */
const sp_kernel *sp_kernels_all(int *count);

/** Returns the kernel whose name is `id`, including added kernels; NULL if there is none. Local. */
const sp_kernel *sp_kernel_find(const char *id);

/** Returns 1 if `id` is the name of a baseline kernel, also in a build without them, else 0. Local. */
int sp_kernel_is_baseline(const char *id);

/** Returns 1 if `id` is the name of a baseline kernel that this build does not contain (make BASELINE=0),
 *  else 0. Local. */
int sp_kernel_left_out(const char *id);

/** Returns 1 if the kernel multiplies values of this type, else 0. Local. */
int sp_kernel_takes(const sp_kernel *kernel, spmm_precision precision);

/** Returns 1 if a product with this kernel and precision has the bits of the serial product in each row of Y
 *  whose row of A has at most `longest` entries, else 0. Local. */
int sp_kernel_is_exact(const sp_kernel *kernel, spmm_precision precision, int64_t longest);

/** Returns the default kernel for the given device and format, i.e. the first one in the registry; NULL if
 *  there is none. Local. */
const sp_kernel *sp_kernel_default(spmm_device device, spmm_format format);

/** Computes the gradient of the values of a: values[e] := sum of g(i, c) x(j, c) over the columns c, for each
 *  entry e = (i, j) of a, in the order of SP_SUMS. Local.
 *  \param [in]  a        its values are not read. Columns of a row may be in any order
 *  \param [in]  g        [a->rows x k], row-major, in host memory and f64 or f32, as x and values are
 *  \param [in]  x        [a->cols x k], row-major; k > 0
 *  \param [out] values   [a->nnz x 1] in either layout
 *  \param [in]  threads  OpenMP threads */
void sp_cpu_values_gradient(const spmm_csr *a, const spmm_multivector *g, const spmm_multivector *x,
                            spmm_multivector *values, int threads);

#endif
