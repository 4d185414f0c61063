/* Eigen: Y = A * X. The CSR matrix A and the row-major or column-major X and Y are maps of the driver's
 * memory, with its leading dimensions. Eigen's OpenMP loop is over the rows of A. At K = 1 the column-major
 * form is Eigen's product with a vector. In eigen-fixed, K is a compile-time constant in the types of X and
 * Y, as it can be in a program that needs only one K. */
#include <Eigen/SparseCore>
#include <cstdio>
#include <omp.h>

#include "kernels/peers/peer.h"

namespace {

template <class T> using csr = Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>>;
template <class T, int k, int order> using dense = Eigen::Matrix<T, Eigen::Dynamic, k, order>;

struct product;
using multiply_fn = void (*)(const product *);
struct product {
    peer_product p;
    multiply_fn multiply;
    const char *way;
};

const peer_form forms[] = {{"eigen", PEER_ROW, 1, 1, 0, 0},
                           {"eigen", PEER_COLUMN, 1, 1, 0, 0},
                           {"eigen-fixed", PEER_ROW, 1, 1, 0, 0}};

template <class T, class Dense> void multiply(const product *q)
{
    const peer_matrix *const m = q->p.a;
    const csr<T> a(m->rows, m->cols, m->nnz, m->row_start, m->col, static_cast<const T *>(m->val));
    using stride = Eigen::OuterStride<>;
    const Eigen::Map<const Dense, 0, stride> x(static_cast<const T *>(q->p.x), a.cols(), q->p.k,
                                               stride(q->p.ldx));
    Eigen::Map<Dense, 0, stride> y(static_cast<T *>(q->p.y), a.rows(), q->p.k, stride(q->p.ldy));
    y.noalias() = a * x;
}

/** Returns the instance of multiply() that has k as a compile-time constant; null if there is none. */
template <class T> multiply_fn fixed(int64_t k)
{
    switch (k) {
    case 2: return multiply<T, dense<T, 2, Eigen::RowMajor>>;
    case 4: return multiply<T, dense<T, 4, Eigen::RowMajor>>;
    case 8: return multiply<T, dense<T, 8, Eigen::RowMajor>>;
    case 16: return multiply<T, dense<T, 16, Eigen::RowMajor>>;
    case 32: return multiply<T, dense<T, 32, Eigen::RowMajor>>;
    case 64: return multiply<T, dense<T, 64, Eigen::RowMajor>>;
    case 128: return multiply<T, dense<T, 128, Eigen::RowMajor>>;
    default: return nullptr;
    }
}

template <class T> multiply_fn choose(const peer_product &p)
{
    if (p.form == &forms[2]) return fixed<T>(p.k);
    if (p.form->layout == PEER_ROW) return multiply<T, dense<T, Eigen::Dynamic, Eigen::RowMajor>>;
    if (p.k == 1) return multiply<T, dense<T, 1, Eigen::ColMajor>>;
    return multiply<T, dense<T, Eigen::Dynamic, Eigen::ColMajor>>;
}

/** Returns the name of an instruction set that the compiler was told to use and that this processor lacks;
 *  null if there is none. */
const char *lacking()
{
#if defined(__x86_64__)
    __builtin_cpu_init();
#ifdef __AVX512F__
    if (!__builtin_cpu_supports("avx512f")) return "AVX-512";
#endif
#ifdef __AVX2__
    if (!__builtin_cpu_supports("avx2")) return "AVX2";
#endif
#endif
    return nullptr;
}

const char *open(int threads, const char *, char *version, size_t size)
{
    static char line[128];
    if (const char *const what = lacking()) {
        std::snprintf(line, sizeof line, "compiled for %s, which this processor lacks: build it here", what);
        return line;
    }
    Eigen::setNbThreads(threads);
    std::snprintf(version, size, "Eigen %d.%d.%d, %s", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                  EIGEN_MINOR_VERSION, Eigen::SimdInstructionSetsInUse());
    return nullptr;
}

const char *begin(void *handle)
{
    product *const q = static_cast<product *>(handle);
    q->multiply = q->p.a->f32 ? choose<float>(q->p) : choose<double>(q->p);
    q->p.left_out = !q->multiply;
    q->way = q->p.form == &forms[2]                            ? "K fixed"
             : q->p.form->layout == PEER_COLUMN && q->p.k == 1 ? "vector"
                                                               : "any K";
    return nullptr;
}

const char *run(void *handle)
{
    const product *const q = static_cast<const product *>(handle);
    q->multiply(q);
    return nullptr;
}

const char *way(const void *handle) { return static_cast<const product *>(handle)->way; }

/** Sets the members by name: C++17 has no designated initializers. */
constexpr peer_adaptor adaptor()
{
    peer_adaptor p = {};
    p.package = "eigen";
    p.forms = forms;
    p.form_count = sizeof forms / sizeof *forms;
    p.product_bytes = sizeof(product);
    p.open = open;
    p.begin = begin;
    p.run = run;
    p.rebinds = 1;
    p.way = way;
    return p;
}

} // namespace

extern "C" const peer_adaptor spmm_peer = adaptor();
