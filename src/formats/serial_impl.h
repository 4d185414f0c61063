/* The serial products. serial.c includes this file once per value type and instruction set, with the macros
 * VALUE, FMA, NAME and TARGET. */

/** Sets sum[0 .. k-1] to the chain of the entries [begin, end) for each of k columns of X; x points to the
 *  first of these columns. */
TARGET static void NAME(chain)(const sp_matrix *m, int64_t begin, int64_t end, const VALUE *x, int64_t ldx,
                               int64_t k, VALUE *restrict sum)
{
    const VALUE *const val = m->val;
    for (int64_t j = 0; j < k; j++) sum[j] = 0;
    for (int64_t e = begin; e < end; e++) {
        const VALUE *restrict const xc = x + m->col[e] * ldx;
        const VALUE a = val[e];
        for (int64_t j = 0; j < k; j++) sum[j] = FMA(a, xc[j], sum[j]);
    }
}

/** Sets `sum` as chain() does, but to a sum in the canonical order: of a row of more than SP_CHAIN entries
 *  (level 4), or of one of its parts (3), sections (2), segments (1) or leaves (0). At most BLOCK columns. */
TARGET static void NAME(sum)(const sp_matrix *m, int64_t begin, int64_t end, int level, const VALUE *x,
                             int64_t ldx, int64_t k, VALUE *sum)
{
    static const int64_t part_entries[] = {0, SP_LEAF, SP_SEGMENT, SP_SECTION, SP_PART};
    const int64_t step = part_entries[level];
    VALUE part[BLOCK];
    if (level == 0) {
        NAME(chain)(m, begin, end, x, ldx, k, sum);
        return;
    }
    for (int64_t e = begin; e < end; e += step) {
        /* cppcheck-suppress legacyUninitvar ; `part` is written by the call */
        NAME(sum)(m, e, end - e < step ? end : e + step, level - 1, x, ldx, k, e == begin ? sum : part);
        if (e == begin) continue;
        for (int64_t j = 0; j < k; j++) sum[j] += part[j];
    }
}

TARGET static void NAME(product)(const sp_matrix *m, int64_t begin, int64_t end, int64_t chain,
                                 const spmm_multivector *x, spmm_multivector *y)
{
    for (int64_t i = begin; i < end; i++) {
        const sp_row_range r = row_of(m, i);
        VALUE *const yi = (VALUE *)y->data + i * y->ld;
        if (r.end - r.begin <= chain) {
            NAME(chain)(m, r.begin, r.end, x->data, x->ld, x->k, yi);
            continue;
        }
        for (int64_t j = 0; j < x->k; j += BLOCK) NAME(sum)
        (m, r.begin, r.end, 4, (const VALUE *)x->data + j, x->ld, x->k - j < BLOCK ? x->k - j : BLOCK,
         yi + j);
    }
}

#undef VALUE
#undef FMA
#undef NAME
#undef TARGET
