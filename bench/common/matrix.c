/** Makes a matrix and distributes it by rows. */
#include <limits.h>
#include <mpi.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value_type.h"
#include "comm/comm.h"
#include "io/generators.h"
#include "files/matrix_file.h"
#include "bench.h"

spmm_status matrix_make(const char *name, spmm_precision precision, spmm_csr *a)
{
    const sp_read_options options = {.precision = precision, .threads = omp_get_max_threads()};
    sp_matrix_file file;
    if (sp_gen_is_spec(name)) return spmm_csr_generate(name, precision, a);
    TRY(sp_matrix_file_open(name, &options, &file));
    return sp_matrix_file_read(&file, a, NULL, NULL, NULL);
}

/** Gives complex values with imaginary parts to a matrix that has none, e.g. a real one from a file. */
static void add_imaginary_parts(spmm_csr *a)
{
    enum { SEED = 2 };
    for (int64_t e = 0; e < a->nnz; e++)
        if (__imag__ sp_value_at(a->as, a->precision, e) != 0) return;
    for (int64_t e = 0; e < a->nnz; e++) {
        const double re = __real__ sp_value_at(a->as, a->precision, e);
        sp_value_set(a->as, a->precision, e, __builtin_complex(re, sp_random_unit(SEED, 0, (uint64_t)e)));
    }
}

/** Makes the matrix with all cores: the other ranks wait meanwhile. */
static spmm_status make_whole(const bench_matrix *p, spmm_csr *a)
{
    char path[PATH_MAX];
    const int threads = omp_get_max_threads();
    snprintf(path, sizeof path, "%s%s%s", p->folder ? p->folder : "", p->folder ? "/" : "", p->name);
    omp_set_num_threads(omp_get_num_procs());
    const spmm_status status = matrix_make(path, p->precision, a);
    omp_set_num_threads(threads);
    if (status == SPMM_OK && sp_is_complex(p->precision)) add_imaginary_parts(a);
    return status;
}

static spmm_status create(bench_matrix *p)
{
    int rank, size;
    spmm_csr whole = {.rows = 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    spmm_status status = sp_agree(MPI_COMM_WORLD, "read", rank == 0 ? make_whole(p, &whole) : SPMM_OK);
    p->nnz = whole.nnz;
    if (status == SPMM_OK && size == 1) {
        p->block = (spmm_block){
            .csr = whole, .rows = whole.rows, .cols = whole.cols, .x_rows = whole.cols, .p = 1, .q = 1};
    } else {
        if (status == SPMM_OK) status = spmm_csr_scatter(MPI_COMM_WORLD, 0, &whole, size, 1, &p->block);
        spmm_csr_destroy(&whole);
        TRY(status);
    }
    const spmm_csr *const a = &p->block.csr;
    if (a->nnz <= INT32_MAX)
        status = sp_alloc((void **)&p->start, a->rows + 1, sizeof *p->start, "row starts");
    for (int64_t i = 0; p->start && i <= a->rows; i++) p->start[i] = (int32_t)a->irp[i];
    TRY(sp_agree(MPI_COMM_WORLD, "read", status));
    return sp_bcast(MPI_COMM_WORLD, 0, &p->nnz, sizeof p->nnz);
}

spmm_status bench_matrix_create(const char *folder, const char *name, spmm_precision precision,
                                bench_matrix *p)
{
    const double start = MPI_Wtime();
    *p = (bench_matrix){.name = name, .folder = folder, .precision = precision};
    const spmm_status status = create(p);
    p->seconds = MPI_Wtime() - start;
    if (status != SPMM_OK) bench_matrix_destroy(p);
    return status;
}

void bench_matrix_destroy(bench_matrix *p)
{
    spmm_block_destroy(&p->block);
    sp_free(p->start);
    memset(p, 0, sizeof *p);
}
