/* Sorting and summing within rows; included once per type with VALUE and NAME. */

static void NAME(insertion_sort)(int32_t *ja, VALUE *as, int64_t n)
{
    for (int64_t e = 1; e < n; e++) {
        const int32_t column = ja[e];
        const VALUE value = as[e];
        int64_t to = e;
        for (; to > 0 && ja[to - 1] > column; to--) {
            ja[to] = ja[to - 1];
            as[to] = as[to - 1];
        }
        ja[to] = column;
        as[to] = value;
    }
}

/** Merges the sorted [0, middle) and [middle, n); of equal columns the left one comes first. */
static void NAME(merge)(int32_t *ja, VALUE *as, int64_t middle, int64_t n, const scratch *s)
{
    VALUE *const value = s->value;
    memcpy(s->column, ja, (size_t)middle * sizeof *ja);
    memcpy(value, as, (size_t)middle * sizeof *as);
    int64_t left = 0, right = middle, to = 0;
    while (left < middle && right < n) {
        if (s->column[left] <= ja[right]) {
            ja[to] = s->column[left];
            as[to++] = value[left++];
        } else {
            ja[to] = ja[right];
            as[to++] = as[right++];
        }
    }
    /* what is left of the right half is in its place already */
    memcpy(ja + to, s->column + left, (size_t)(middle - left) * sizeof *ja);
    memcpy(as + to, value + left, (size_t)(middle - left) * sizeof *as);
}

/** Stable; s has room for n / 2 entries. Halves in order already cost one comparison. */
static void NAME(merge_sort)(int32_t *ja, VALUE *as, int64_t n, const scratch *s)
{
    if (n <= SHORT_ROW) {
        NAME(insertion_sort)(ja, as, n);
        return;
    }
    const int64_t middle = n / 2;
    NAME(merge_sort)(ja, as, middle, s);
    NAME(merge_sort)(ja + middle, as + middle, n - middle, s);
    if (ja[middle - 1] > ja[middle]) NAME(merge)(ja, as, middle, n, s);
}

/** Moves the sorted entries [from, end) down to `to`, adding those of equal column in their order.
 *  Returns the end of what was kept. */
static int64_t NAME(keep_row)(int32_t *ja, VALUE *as, int64_t from, int64_t end, int64_t to)
{
    while (from < end) {
        const int32_t column = ja[from];
        VALUE sum = as[from++];
        while (from < end && ja[from] == column) sum += as[from++];
        ja[to] = column;
        as[to++] = sum;
    }
    return to;
}

/** Sorts rows [begin, end), whose entries are [first, last), and sums duplicates: the rows then lie
 *  without gaps from `first`, *kept entries in all. Touches irp only strictly between begin and end,
 *  so that threads with neighbouring ranges do not meet. */
static spmm_status NAME(tidy_rows)(spmm_csr *a, int64_t begin, int64_t end, int64_t first, int64_t last,
                                   int64_t *kept)
{
    int32_t *const ja = a->ja;
    VALUE *const as = a->as;
    scratch s = {0};
    spmm_status status = SPMM_OK;
    int64_t start = first, to = first;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row_end = i + 1 < end ? a->irp[i + 1] : last, n = row_end - start;
        int sorted = 1, strictly = 1;
        for (int64_t e = start + 1; e < row_end; e++) {
            sorted &= ja[e - 1] <= ja[e];
            strictly &= ja[e - 1] < ja[e];
        }
        if (!sorted) {
            if (n > SHORT_ROW) TRY_GOTO(scratch_reserve(&s, n / 2, a->precision), done);
            NAME(merge_sort)(ja + start, as + start, n, &s);
        }
        if (i > begin) a->irp[i] = to;
        to = strictly && to == start ? row_end : NAME(keep_row)(ja, as, start, row_end, to);
        start = row_end;
    }
done:
    *kept = to - first;
    scratch_destroy(&s);
    return status;
}
