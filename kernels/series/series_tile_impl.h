/* Operations on one column of a tile with elements of type T. series_tile.c includes this file once per type;
 * NAME(x) appends a suffix for the type to x. */

/** Turns the numerators of column j into coefficients and counts these in *histogram. A pair with a constant
 *  series gets the coefficient NaN and is not counted. */
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
        r = r < -1 ? -1 : r > 1 ? 1 : r; /* rounding errors may give |r| > 1 */
        c[i] = (T)r;
        r = (double)c[i];
        histogram->pairs++;
        histogram->bin[sp_bin(r)]++;
        if (r < histogram->low) histogram->low = r;
        if (r > histogram->high) histogram->high = r;
    }
}

/** Finds the coefficients in column j that are at most `low` or at least `high`, and appends their pairs to
 *  `pair`, up to `room` pairs. *found counts all such pairs, also those beyond `room`. */
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
