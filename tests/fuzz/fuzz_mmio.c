/** mmio.h: a matrix that is read, written and read again is the same.
 *
 *  Bit 0 of extra: with the functions for banner, sizes and entries, else with those for whole matrices; bits
 *  1 and 2 select further checks. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mmio.h"

typedef struct matrix {
    int status, rows, cols, nz;
    int *I, *J;
    double *val;
    MM_typecode code;
} matrix;

static void destroy(matrix *m)
{
    free(m->I);
    free(m->J);
    free(m->val);
}

/** Returns whether a status is one that mmio.h defines. */
static int known(int status)
{
    return status == 0 || (status >= MM_COULD_NOT_READ_FILE && status <= MM_COULD_NOT_WRITE_FILE);
}

static void read_matrix(const char *path, matrix *m)
{
    memset(m, 0, sizeof *m);
    m->status = mm_read_mtx_crd(path, &m->rows, &m->cols, &m->nz, &m->I, &m->J, &m->val, &m->code);
    FUZZ_CHECK(known(m->status));
    if (m->status != 0) FUZZ_CHECK(!m->I && !m->J && !m->val);
    for (int k = 0; k < m->nz && m->status == 0; k++)
        FUZZ_CHECK(m->I[k] >= 1 && m->I[k] <= m->rows && m->J[k] >= 1 && m->J[k] <= m->cols);
}

static int values_of(const matrix *m) { return mm_is_pattern(m->code) ? 0 : mm_is_complex(m->code) ? 2 : 1; }

static void same_matrix(const matrix *a, const matrix *b)
{
    const size_t n = (size_t)a->nz, values = (size_t)values_of(a);
    FUZZ_CHECK(a->status == b->status && memcmp(a->code, b->code, sizeof a->code) == 0);
    if (a->status != 0) return;
    FUZZ_CHECK(a->rows == b->rows && a->cols == b->cols && a->nz == b->nz);
    FUZZ_CHECK(memcmp(a->I, b->I, n * sizeof *a->I) == 0 && memcmp(a->J, b->J, n * sizeof *a->J) == 0);
    for (size_t k = 0; k < n * values; k++) /* nan: the sign may be lost in writing */
        FUZZ_CHECK(memcmp(&a->val[k], &b->val[k], sizeof *a->val) == 0 || a->val[k] != a->val[k]);
}

static void write_and_read(const fuzz_input *in, const matrix *m)
{
    static const char *const nowhere[] = {"/dev/full", "/no/such/folder/m"};
    matrix copy = *m, again;
    const char *const path = fuzz_folder_file("m.mtx");
    FUZZ_CHECK(mm_write_mtx_crd(path, m->rows, m->cols, m->nz, copy.I, copy.J, copy.val, copy.code) == 0);
    read_matrix(path, &again);
    same_matrix(m, &again);
    destroy(&again);
    fuzz_fault_on(in);
    const int status = mm_write_mtx_crd(path, m->rows, m->cols, m->nz, copy.I, copy.J, copy.val, copy.code);
    fuzz_fault_off();
    FUZZ_CHECK(known(status));
    unlink(path);
    FUZZ_CHECK(mm_write_mtx_crd(nowhere[in->extra >> 1 & 1], m->rows, m->cols, m->nz, copy.I, copy.J,
                                copy.val, copy.code) == MM_COULD_NOT_WRITE_FILE);
}

/** Checks the other function for whole matrices: its indices begin at 0, and it reads only real and integer
 *  matrices. */
static void check_unsymmetric(const char *path, const matrix *m)
{
    matrix o = {0};
    o.status = mm_read_unsymmetric_sparse(path, &o.rows, &o.cols, &o.nz, &o.val, &o.I, &o.J);
    FUZZ_CHECK((o.status == 0) == (m->status == 0 && (mm_is_real(m->code) || mm_is_integer(m->code))));
    if (o.status != 0) FUZZ_CHECK(!o.I && !o.J && !o.val);
    for (int k = 0; k < o.nz && o.status == 0; k++)
        FUZZ_CHECK(o.I[k] == m->I[k] - 1 && o.J[k] == m->J[k] - 1);
    destroy(&o);
}

static void whole_matrices(const fuzz_input *in)
{
    matrix m, other;
    const char *const path = fuzz_file(in->data, in->size);
    read_matrix(path, &m);
    if (m.status == 0 && in->extra & 6) write_and_read(in, &m);
    if (in->extra & 2) check_unsymmetric(path, &m);
    if (in->fault != FUZZ_NO_FAULT) {
        fuzz_fault_on(in);
        read_matrix(path, &other);
        fuzz_fault_off();
        if (other.status == 0 && in->fault != FUZZ_CHANGE) same_matrix(&m, &other);
        destroy(&other);
    }
    destroy(&m);
}

/** Checks that a code survives writing its banner to a file in memory and reading it back. */
static void check_banner(const fuzz_input *in, const MM_typecode code)
{
    char text[256] = "";
    MM_typecode again, copy;
    memcpy(copy, code, sizeof copy);
    FILE *const f = fmemopen(text, sizeof text, "w+");
    if (!f) return;
    fuzz_fault_on(in);
    const int status = mm_write_banner(f, copy);
    fuzz_fault_off();
    FUZZ_CHECK(known(status));
    if (status == 0) {
        rewind(f);
        FUZZ_CHECK(mm_read_banner(f, &again) == 0 && memcmp(code, again, sizeof again) == 0);
    }
    fclose(f);
    /* a code with an invalid letter has no banner, and writing it fails */
    copy[in->extra >> 1 & 3] = '?';
    FUZZ_CHECK(mm_typecode_to_str(copy) == NULL && mm_write_banner(stderr, copy) == MM_COULD_NOT_WRITE_FILE);
    (void)mm_is_valid(copy);
}

static void check_sizes(int64_t rows, int64_t cols, int64_t nz)
{
    char text[256] = "";
    int64_t size[3] = {-1, -1, -1};
    int narrow[3];
    FILE *const f = fmemopen(text, sizeof text, "w+");
    if (!f) return;
    FUZZ_CHECK(mm_write_mtx_crd_size64(f, rows, cols, nz) == 0 &&
               mm_write_mtx_array_size64(f, rows, cols) == 0);
    rewind(f);
    FUZZ_CHECK(mm_read_mtx_crd_size64(f, &size[0], &size[1], &size[2]) == 0);
    FUZZ_CHECK(size[0] == rows && size[1] == cols && size[2] == nz);
    FUZZ_CHECK(mm_read_mtx_array_size64(f, &size[0], &size[1]) == 0 && size[0] == rows && size[1] == cols);
    rewind(f);
    const int fits = rows <= INT32_MAX && cols <= INT32_MAX && nz <= INT32_MAX;
    FUZZ_CHECK((mm_read_mtx_crd_size(f, &narrow[0], &narrow[1], &narrow[2]) == 0) == fits);
    if (fits) {
        rewind(f);
        FUZZ_CHECK(mm_write_mtx_crd_size(f, narrow[0], narrow[1], narrow[2]) == 0);
        FUZZ_CHECK(mm_write_mtx_array_size(f, narrow[0], narrow[1]) == 0);
    }
    fclose(f);
}

/** Reads the entries of a stream one by one, up to the first invalid one. */
static void read_entries(FILE *f, MM_typecode code)
{
    for (int status = 0, k = 0; status == 0 && k < 10000; k++) {
        int i, j;
        double real = 0, imag = 0;
        status = mm_read_mtx_crd_entry(f, &i, &j, &real, &imag, code);
        FUZZ_CHECK(known(status));
    }
}

static void in_parts(const fuzz_input *in)
{
    MM_typecode code;
    int64_t rows = 0, cols = 0, nz = 0;
    int m, n;
    FILE *const f = fmemopen((void *)(uintptr_t)in->data, in->size, "r");
    if (!f) return;
    int status = mm_read_banner(f, &code);
    FUZZ_CHECK(known(status));
    if (status == 0) {
        char *const text = mm_typecode_to_str(code);
        FUZZ_CHECK(text != NULL);
        free(text);
        check_banner(in, code);
        if (mm_is_sparse(code))
            status = mm_read_mtx_crd_size64(f, &rows, &cols, &nz);
        else
            status = in->extra & 2 ? mm_read_mtx_array_size(f, &m, &n)
                                   : mm_read_mtx_array_size64(f, &rows, &cols);
        FUZZ_CHECK(known(status) && rows >= 0 && cols >= 0 && nz >= 0);
        if (status == 0) check_sizes(rows, cols, nz);
    }
    if (status == 0 && in->extra & 4) code[2] = '?';
    if (status == 0) read_entries(f, code);
    fclose(f);
}

int fuzz_mmio(const uint8_t *data, size_t size)
{
    fuzz_input in;
    if (!fuzz_begin(&in, "mmio", data, size)) return 0;
    if (in.extra & 1 && in.size > 0)
        in_parts(&in);
    else
        whole_matrices(&in);
    return fuzz_end();
}
