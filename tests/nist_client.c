/** A program as written for NIST's mmio.h: it includes no header of this project but that one. It reads a
 *  matrix in coordinate format entry by entry, writes it to the second file, reads the second file with one
 *  call, and compares. Exit status 0 if both are the same.
 *
 *      nist_client in.mtx out.mtx */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mmio.h"

static int fail(const char *what, int code)
{
    fprintf(stderr, "nist_client: %s (%d)\n", what, code);
    return 1;
}

int main(int argc, char *argv[])
{
    MM_typecode matcode, again;
    int code, M, N, nz, M2, N2, nz2;
    int *I, *J, *I2, *J2;
    double *val, *val2;

    if (argc != 3) {
        fprintf(stderr, "usage: %s in.mtx out.mtx\n", argv[0]);
        return 2;
    }
    FILE *f = fopen(argv[1], "r");
    if (f == NULL) return fail("cannot open the first file", MM_COULD_NOT_READ_FILE);
    if ((code = mm_read_banner(f, &matcode)) != 0) return fail("no banner", code);
    if (!mm_is_valid(matcode) || !mm_is_matrix(matcode) || !mm_is_sparse(matcode) || mm_is_complex(matcode)) {
        char *text = mm_typecode_to_str(matcode);
        fprintf(stderr, "nist_client: cannot handle [%s]\n", text ? text : "?");
        free(text);
        return 1;
    }
    if ((code = mm_read_mtx_crd_size(f, &M, &N, &nz)) != 0) return fail("no sizes", code);

    I = (int *)malloc((size_t)nz * sizeof(int) + 1);
    J = (int *)malloc((size_t)nz * sizeof(int) + 1);
    val = (double *)malloc((size_t)nz * sizeof(double) + 1);
    if (I == NULL || J == NULL || val == NULL) return fail("no memory", 0);
    for (int k = 0; k < nz; k++) {
        double imag;
        val[k] = 1.0;
        if (k % 2) { /* every other entry by the library, the rest by fscanf(), as real programs mix them */
            code = mm_read_mtx_crd_entry(f, &I[k], &J[k], &val[k], &imag, matcode);
            if (code != 0) return fail("an entry cannot be read", code);
        } else if (mm_is_pattern(matcode) ? fscanf(f, "%d %d\n", &I[k], &J[k]) != 2
                                          : fscanf(f, "%d %d %lg\n", &I[k], &J[k], &val[k]) != 3) {
            return fail("an entry cannot be scanned", k);
        }
    }
    fclose(f);

    if ((code = mm_write_mtx_crd(argv[2], M, N, nz, I, J, val, matcode)) != 0)
        return fail("cannot write", code);
    if ((code = mm_read_mtx_crd(argv[2], &M2, &N2, &nz2, &I2, &J2, &val2, &again)) != 0)
        return fail("cannot read what was written", code);
    if (M2 != M || N2 != N || nz2 != nz || memcmp(matcode, again, sizeof(MM_typecode)) != 0)
        return fail("other sizes or another kind", 0);
    for (int k = 0; k < nz; k++)
        if (I2[k] != I[k] || J2[k] != J[k] || (val2 != NULL && val2[k] != val[k]))
            return fail("another entry", k);

    mm_write_banner(stdout, matcode);
    mm_write_mtx_crd_size(stdout, M, N, nz);
    free(I);
    free(J);
    free(val);
    free(I2);
    free(J2);
    free(val2);
    return 0;
}
