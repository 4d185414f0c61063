/** Y := alpha X R + beta Y in one precision. The file that includes this one defines
 *
 *      VALUE        double or float
 *      NAME(name)   the names of the functions
 *      WIDTH        columns of a tile
 *      TILE         member of small_product: the loop of a tile (tile.h) */

/** Packs R in the order in which tiles read it: all rows of the first WIDTH columns, then all rows of the
 *  next WIDTH columns, and so on. Columns beyond the last one of R are 0. */
static void NAME(pack)(const small_product *p, const double *r, int64_t ldr, void *packed)
{
    VALUE *out = packed;
    const int64_t rows = p->x->k, cols = p->y->k;
    for (int64_t first = 0; first < cols; first += WIDTH)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = first; j < first + WIDTH; j++) *out++ = j < cols ? (VALUE)r[i * ldr + j] : 0;
}

/** Computes rows [row, row + n) of X R.
 *  \param [out] work  [CHUNK x p->cols] the rows, followed by space for SP_TILE_ROWS rows of x */
static void NAME(multiply)(const small_product *p, int64_t row, int64_t n, VALUE *work)
{
    const spmm_multivector *const x = p->x;
    const int64_t k = x->k, cols = p->cols, whole = n / SP_TILE_ROWS * SP_TILE_ROWS;
    const VALUE *const first = (const VALUE *)x->data + row * x->ld, *const r = p->packed;
    VALUE *const last = work + CHUNK * cols;
    memset(work, 0, sizeof *work * (size_t)(CHUNK * cols));
    if (whole < n) memset(last, 0, sizeof *last * (size_t)(SP_TILE_ROWS * k));
    for (int64_t i = whole; i < n; i++)
        memcpy(last + (i - whole) * k, first + i * x->ld, sizeof *last * (size_t)k);
    for (int64_t j = 0; j < cols; j += WIDTH) {
        for (int64_t i = 0; i < whole; i += SP_TILE_ROWS)
            p->TILE(k, first + i * x->ld, x->ld, 1, r + j * k, WIDTH, work + i * cols + j, cols);
        if (whole < n) p->TILE(k, last, k, 1, r + j * k, WIDTH, work + whole * cols + j, cols);
    }
}

/** Computes rows [row, row + n) of Y, which may share the memory of X. */
static void NAME(chunk)(const small_product *p, int64_t row, int64_t n, void *memory)
{
    VALUE *const work = memory;
    const spmm_multivector *const y = p->y;
    const VALUE alpha = *(const VALUE *)&p->alpha, beta = *(const VALUE *)&p->beta;
    NAME(multiply)(p, row, n, work);
    for (int64_t i = 0; i < n; i++) {
        VALUE *const to = (VALUE *)y->data + (row + i) * y->ld;
        const VALUE *const xr = work + i * p->cols;
        if (beta == 0)
            for (int64_t j = 0; j < y->k; j++) to[j] = alpha * xr[j];
        else
            for (int64_t j = 0; j < y->k; j++) to[j] = beta * to[j] + alpha * xr[j];
    }
}

#undef VALUE
#undef NAME
#undef WIDTH
#undef TILE
