/* The serial product. serial.c includes this file once per value type and instruction set, with the macros
 * VALUE, FMA, NAME and TARGET. */

TARGET static void NAME(product)(const sp_matrix *m, int64_t begin, int64_t end, const spmm_multivector *x,
                                 spmm_multivector *y)
{
    const VALUE *const val = m->val;
    const int64_t k = x->k;
    for (int64_t i = begin; i < end; i++) {
        const sp_row_range r = row_of(m, i);
        VALUE *restrict const yi = (VALUE *)y->data + i * y->ld;
        for (int64_t j = 0; j < k; j++) yi[j] = 0;
        for (int64_t e = r.begin; e < r.end; e++) {
            const VALUE *restrict const xc = (const VALUE *)x->data + m->col[e] * x->ld;
            const VALUE a = val[e];
            for (int64_t j = 0; j < k; j++) yi[j] = FMA(a, xc[j], yi[j]);
        }
    }
}

#undef VALUE
#undef FMA
#undef NAME
#undef TARGET
