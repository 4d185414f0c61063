#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mmio.h"
#include "multivector.h"

static void write_values(FILE *f, const spmm_multivector *v)
{
    const int digits = v->precision == SPMM_F64 ? 17 : 9;
    for (int64_t j = 0; j < v->k && !ferror(f); j++)
        for (int64_t i = 0; i < v->rows; i++) fprintf(f, "%.*g\n", digits, sp_multivector_get(v, i, j));
}

static spmm_status cannot(const char *path)
{
    return sp_fail(SPMM_ERR_OUTPUT, "%s: cannot write: %s", path, strerror(errno));
}

spmm_status sp_multivector_write(const spmm_multivector *v, const char *path)
{
    char part[4096];
    MM_typecode code;
    struct stat existing;
    /* a device or a pipe is written to, never replaced */
    const int in_place = stat(path, &existing) == 0 && !S_ISREG(existing.st_mode);
    if (snprintf(part, sizeof part, "%s%s", path, in_place ? "" : ".part") >= (int)sizeof part)
        return sp_fail(SPMM_ERR_OUTPUT, "the output's file name is too long");
    FILE *f = fopen(part, "w");
    if (!f) return cannot(path);
    mm_initialize_typecode(&code);
    mm_set_matrix(&code);
    mm_set_array(&code);
    mm_set_real(&code);
    mm_set_general(&code);
    int bad = mm_write_banner(f, code) != 0 || mm_write_mtx_array_size64(f, v->rows, v->k) != 0;
    if (!bad) write_values(f, v);
    bad |= ferror(f) != 0;
    bad |= fclose(f) != 0;
    if (!bad && (in_place || rename(part, path) == 0)) return SPMM_OK;
    const int reason = errno; /* unlink may change it */
    if (!in_place) unlink(part);
    errno = reason;
    return cannot(path);
}
