/** Writes a multivector as a Matrix Market array file. */
#include "base/output_file.h"
#include "formats/multivector.h"
#include "mmio.h"

static void write_values(FILE *f, const spmm_multivector *v)
{
    const int digits = v->precision == SPMM_F64 ? 17 : 9;
    for (int64_t j = 0; j < v->k; j++)
        for (int64_t i = 0; i < v->rows && !ferror(f); i++)
            fprintf(f, "%.*g\n", digits, sp_multivector_get(v, i, j));
}

spmm_status sp_multivector_write(const spmm_multivector *v, const char *path)
{
    sp_output_file out;
    MM_typecode code;
    TRY(sp_output_file_open(path, &out));
    mm_initialize_typecode(&code);
    mm_set_matrix(&code);
    mm_set_array(&code);
    mm_set_real(&code);
    mm_set_general(&code);
    if (mm_write_banner(out.file, code) == 0 && mm_write_mtx_array_size64(out.file, v->rows, v->k) == 0)
        write_values(out.file, v);
    return sp_output_file_close(&out, SPMM_OK); /* also reports write errors of the calls above */
}
