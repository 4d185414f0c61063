/* The two baseline conversions of triplets to CSR or ELLPACK. check_conversions.c includes this file once per
 * value type: VALUE is the type, and the macro NAME appends the type to the name of a function. */

/** Fills rows [begin, end) of the target: scans all triplets once for each row, and copies the triplets of
 *  that row. */
static void NAME(fill_scan)(target *f, int64_t begin, int64_t end)
{
    const sp_coo *const coo = f->coo;
    const VALUE *const val = coo->val;
    VALUE *const to = f->val;
#pragma omp parallel for schedule(static) num_threads(f->threads)
    for (int64_t i = begin; i < end; i++) {
        int64_t position = row_position(f, i);
        for (int64_t t = 0; t < coo->nnz; t++)
            if (coo->I[t] == i) {
                f->col[position] = coo->J[t];
                to[position++] = val ? val[t] : 1;
            }
    }
}

/** Inserts triplets [begin, end) into the target. A critical section assigns each triplet the next free
 *  position of its row. */
static void NAME(fill_single_pass)(target *f, int64_t begin, int64_t end)
{
    const sp_coo *const coo = f->coo;
    const VALUE *const val = coo->val;
    VALUE *const to = f->val;
#pragma omp parallel for schedule(static) num_threads(f->threads)
    for (int64_t t = begin; t < end; t++) {
        const int32_t i = coo->I[t];
        int32_t place;
#pragma omp critical(sp_conversions_place)
        place = f->next[i]++;
        const int64_t position = row_position(f, i) + place;
        f->col[position] = coo->J[t];
        to[position] = val ? val[t] : 1;
    }
}
