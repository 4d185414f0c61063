/* Operations on a column of a tile of type T. series_tile.c includes this file once per type; NAME(x) appends its
 * name. */

/** Turns the numerators of column j into coefficients and counts them; those of constant series become NaN. */
static void NAME(coefficients)(const sp_tile *t, int64_t j, sp_histogram *histogram)
{
    T *const c = (T *)t->c + j * t->rows;
    for (int64_t i = 0; i < sp_tile_pairs(t, j); i++) {
        const double weight = t->wrow[i] * t->wcol[j];
        if (weight == 0) {
            c[i] = (T)NAN;
            continue;
        }
        double r = (double)c[i] * weight;
        r = r < -1 ? -1 : r > 1 ? 1 : r; /* rounding may lead beyond */
        c[i] = (T)r;
        r = (double)c[i];
        histogram->pairs++;
        histogram->bin[sp_bin(r)]++;
        if (r < histogram->low) histogram->low = r;
        if (r > histogram->high) histogram->high = r;
    }
}

/** Appends the pairs of column j at or beyond low or high, as long as there is room; *found counts them all. */
static void NAME(find)(const sp_tile *t, int64_t j, double low, double high, sp_pair *pair, int64_t room,
                       int64_t *found)
{
    const T *const c = (const T *)t->c + j * t->rows;
    for (int64_t i = 0; i < sp_tile_pairs(t, j); i++)
        if ((double)c[i] <= low || (double)c[i] >= high) {
            if (*found < room) pair[*found] = sp_pair_of((double)c[i], t->first_row + i, t->first_col + j);
            ++*found;
        }
}

#undef T
#undef NAME
