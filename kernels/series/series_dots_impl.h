/* Dot products of rows with elements of type T. cpu_series_dots.c includes this file once per type; NAME(x)
 * appends a suffix for the type to x. */

enum { NAME(EDGE) = 4, NAME(WIDE) = 64 / sizeof(T) };

/** Computes the dot products of rows i .. i + rows - 1 of a with rows j .. j + cols - 1 of b. `rows` and
 *  `cols` are at most 4. Each dot product has WIDE partial sums. */
static void NAME(corner)(const sp_dots *d, int64_t i, int64_t j, int rows, int cols)
{
    const T *a[NAME(EDGE)], *b[NAME(EDGE)];
    T sum[NAME(EDGE)][NAME(EDGE)][NAME(WIDE)] = {{{0}}};
    for (int r = 0; r < NAME(EDGE); r++) { /* the last row is repeated if there are fewer than 4 */
        a[r] = (const T *)d->a + (i + (r < rows ? r : rows - 1)) * d->ld;
        b[r] = (const T *)d->b + (j + (r < cols ? r : cols - 1)) * d->ld;
    }
    int64_t k = 0;
    for (; k + NAME(WIDE) <= d->length; k += NAME(WIDE))
        for (int r = 0; r < NAME(EDGE); r++)
            for (int c = 0; c < NAME(EDGE); c++)
                for (int l = 0; l < NAME(WIDE); l++) sum[r][c][l] += a[r][k + l] * b[c][k + l];
    for (int l = 0; k + l < d->length; l++)
        for (int r = 0; r < NAME(EDGE); r++)
            for (int c = 0; c < NAME(EDGE); c++) sum[r][c][l] += a[r][k + l] * b[c][k + l];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            T total = 0;
            for (int l = 0; l < NAME(WIDE); l++) total += sum[r][c][l];
            ((T *)d->c)[(j + c) * d->rows + i + r] = total;
        }
}

static void NAME(dots)(const sp_dots *d)
{
#pragma omp parallel for schedule(dynamic) num_threads(d->threads)
    for (int64_t j = 0; j < d->cols; j += NAME(EDGE)) {
        const int cols = d->cols - j < NAME(EDGE) ? (int)(d->cols - j) : NAME(EDGE);
        for (int64_t i = 0; i < d->rows && !(d->triangle && i > j + cols - 1); i += NAME(EDGE))
            NAME(corner)(d, i, j, d->rows - i < NAME(EDGE) ? (int)(d->rows - i) : NAME(EDGE), cols);
    }
}

#undef T
#undef NAME
