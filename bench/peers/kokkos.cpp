/* Kokkos Kernels: KokkosSparse::spmv on rank-2 views, row-major (LayoutRight) and column-major (LayoutLeft),
 * in the execution space for which the package was built; Debian's has only Kokkos::Serial, one thread.
 *
 * kokkos-blocks shows what Kokkos could do with all threads: each thread calls spmv on its own block of rows,
 * balanced by entries. A user of the package would have to write that. */
#include <Kokkos_Core.hpp>
#include <KokkosSparse_spmv.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <omp.h>
#include <vector>

#include "kernels/peers/peer.h"

namespace {

using device = Kokkos::Device<Kokkos::DefaultHostExecutionSpace, Kokkos::HostSpace>;
using unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
/* with offsets of type int or size_t, the library's compiled code for any x86-64 would be called; with this
   type, its headers are compiled here, for this processor */
using offset = uint32_t;
template <class T>
using csr = KokkosSparse::CrsMatrix<const T, const int32_t, device, unmanaged, const offset>;
template <class T, class Layout> using dense = Kokkos::View<T **, Layout, device, unmanaged>;

constexpr bool serial = std::is_same<Kokkos::DefaultHostExecutionSpace, Kokkos::Serial>::value;
const peer_form forms[] = {{"kokkos", PEER_ROW, 1, 1, serial, 0},
                           {"kokkos", PEER_COLUMN, 1, 1, serial, 0},
                           {"kokkos-blocks", PEER_ROW, 1, 1, 0, 0}};
const int form_count = serial ? 3 : 2;
int all_threads = 1;

struct work {
    virtual ~work() {}
    virtual void run() = 0;
};

struct product {
    peer_product p;
    work *it;
};

/** Returns rows begin to end - 1 of A. Row offsets stay absolute; thus the views of columns and values
 *  contain all entries. */
template <class T> csr<T> rows_of(const peer_matrix *a, int64_t begin, int64_t end)
{
    using graph = typename csr<T>::staticcrsgraph_type;
    const typename graph::row_map_type start(reinterpret_cast<const offset *>(a->row_start) + begin,
                                             end - begin + 1);
    const typename graph::entries_type col(const_cast<int32_t *>(a->col), a->nnz);
    const typename csr<T>::values_type val(static_cast<const T *>(a->val), a->nnz);
    return csr<T>("A", a->cols, val, graph(col, start));
}

/** Computes rows begin to end - 1 of Y. A column-major Y must be computed as a whole. */
template <class T, class Layout> struct piece : work {
    csr<T> a;
    dense<const T, Layout> x;
    dense<T, Layout> y;
    piece(const peer_matrix *m, const peer_product *p, int64_t begin, int64_t end)
        : a(rows_of<T>(m, begin, end)), x(static_cast<const T *>(p->x), m->cols, p->k),
          y(static_cast<T *>(p->y) + begin * p->k, end - begin, p->k)
    {
    }
    void run() override { KokkosSparse::spmv("N", T(1), a, x, T(0), y); }
};

template <class T> struct blocks : work {
    std::vector<std::unique_ptr<work>> part;
    blocks(const peer_matrix *m, const peer_product *p)
    {
        for (int t = 0; t < all_threads; t++)
            part.emplace_back(new piece<T, Kokkos::LayoutRight>(m, p, first_row(m, t), first_row(m, t + 1)));
    }
    static int64_t first_row(const peer_matrix *m, int t)
    {
        const int64_t entry = m->nnz * t / all_threads;
        if (t == all_threads) return m->rows;
        return std::lower_bound(m->row_start, m->row_start + m->rows, entry) - m->row_start;
    }
    void run() override
    {
#pragma omp parallel num_threads(all_threads)
        part[omp_get_thread_num()]->run();
    }
};

template <class T> work *make(const peer_product *p)
{
    const peer_matrix *const a = p->a;
    if (p->form == &forms[2]) return new blocks<T>(a, p);
    if (p->form->layout == PEER_ROW) return new piece<T, Kokkos::LayoutRight>(a, p, 0, a->rows);
    return new piece<T, Kokkos::LayoutLeft>(a, p, 0, a->rows);
}

const char *open(int threads, const char *, char *version, size_t size)
{
    Kokkos::InitArguments arguments;
    arguments.num_threads = serial ? -1 : threads;
    arguments.disable_warnings = true;
    all_threads = threads;
    if (!Kokkos::is_initialized()) Kokkos::initialize(arguments);
    std::snprintf(version, size, "Kokkos Kernels with Kokkos %d.%d.%d, %s", KOKKOS_VERSION / 10000,
                  KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
                  Kokkos::DefaultHostExecutionSpace::name());
    return nullptr;
}

const char *begin(void *handle)
{
    product *const q = static_cast<product *>(handle);
    q->it = q->p.a->f32 ? make<float>(&q->p) : make<double>(&q->p);
    return nullptr;
}

void end(void *q) { delete static_cast<product *>(q)->it; }

const char *run(void *q)
{
    static_cast<product *>(q)->it->run();
    return nullptr;
}

void close()
{
    if (Kokkos::is_initialized()) Kokkos::finalize();
}

/** Sets the members by name: C++17 has no designated initializers. */
constexpr peer_adaptor adaptor()
{
    peer_adaptor p = {};
    p.package = "kokkos";
    p.forms = forms;
    p.form_count = form_count;
    p.product_bytes = sizeof(product);
    p.open = open;
    p.begin = begin;
    p.end = end;
    p.run = run;
    p.close = close;
    return p;
}

} // namespace

extern "C" const peer_adaptor spmm_peer = adaptor();
