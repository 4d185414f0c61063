/* Sorts the entries of CSR rows and sums duplicates. csr_sort.c includes this file once per value type,
 * with the macros VALUE (the type), LESS (the order of its values, a function) and NAME (appends a suffix).
 * Entries are ordered by column, and entries of the same column by value. Entries that compare equal are
 * identical, so that the result does not depend on the sorting algorithm. */

static inline int NAME(before)(int32_t column, VALUE value, int32_t other_column, VALUE other)
{
    return column != other_column ? column < other_column : LESS(value, other);
}

static inline void NAME(swap)(int32_t *ja, VALUE *as, int64_t x, int64_t y)
{
    const int32_t column = ja[x];
    const VALUE value = as[x];
    ja[x] = ja[y];
    as[x] = as[y];
    ja[y] = column;
    as[y] = value;
}

/** Sorts n entries by insertion and returns 1; if that needs more than `moves` moves, stops and returns 0
 *  with the entries partly sorted. */
static int NAME(insertion_sort)(int32_t *ja, VALUE *as, int64_t n, int64_t moves)
{
    for (int64_t e = 1; e < n; e++) {
        const int32_t column = ja[e];
        const VALUE value = as[e];
        int64_t to = e;
        for (; to > 0 && NAME(before)(column, value, ja[to - 1], as[to - 1]); to--) {
            ja[to] = ja[to - 1];
            as[to] = as[to - 1];
        }
        ja[to] = column;
        as[to] = value;
        moves -= e - to;
        if (moves < 0) return 0;
    }
    return 1;
}

/** Sifts the entry at `root` down a heap of n entries, whose greatest entry is on top. */
static void NAME(sink)(int32_t *ja, VALUE *as, int64_t root, int64_t n)
{
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= n) return;
        if (child + 1 < n && NAME(before)(ja[child], as[child], ja[child + 1], as[child + 1])) child++;
        if (!NAME(before)(ja[root], as[root], ja[child], as[child])) return;
        NAME(swap)(ja, as, root, child);
        root = child;
    }
}

static void NAME(heap_sort)(int32_t *ja, VALUE *as, int64_t n)
{
    for (int64_t root = n / 2; root-- > 0;) NAME(sink)(ja, as, root, n);
    for (int64_t end = n; end-- > 1;) {
        NAME(swap)(ja, as, 0, end);
        NAME(sink)(ja, as, 0, end);
    }
}

/** Partitions n > 2 entries at the median of three (Hoare): no entry in [0, m) is greater than any entry in
 *  [m, n), and neither part is empty. Returns m. */
static int64_t NAME(split)(int32_t *ja, VALUE *as, int64_t n)
{
    const int64_t middle = (n - 1) / 2, last = n - 1;
    if (NAME(before)(ja[middle], as[middle], ja[0], as[0])) NAME(swap)(ja, as, middle, 0);
    if (NAME(before)(ja[last], as[last], ja[0], as[0])) NAME(swap)(ja, as, last, 0);
    if (NAME(before)(ja[last], as[last], ja[middle], as[middle])) NAME(swap)(ja, as, last, middle);
    const int32_t column = ja[middle];
    const VALUE value = as[middle];
    for (int64_t low = -1, high = n;;) {
        do low++;
        while (NAME(before)(ja[low], as[low], column, value));
        do high--;
        while (NAME(before)(column, value, ja[high], as[high]));
        if (low >= high) return high + 1;
        NAME(swap)(ja, as, low, high);
    }
}

/** Sorts n entries by introsort: by quicksort, which switches to heapsort for any part that is still longer
 *  than SHORT_ROW after `depth` nested, mostly unbalanced partitions. */
static void NAME(quick_sort)(int32_t *ja, VALUE *as, int64_t n, int depth)
{
    while (n > SHORT_ROW) {
        if (depth-- == 0) {
            NAME(heap_sort)(ja, as, n);
            return;
        }
        const int64_t m = NAME(split)(ja, as, n);
        if (m < n - m) { /* recurse on the smaller part only, for logarithmic depth */
            NAME(quick_sort)(ja, as, m, depth);
            ja += m;
            as += m;
            n -= m;
        } else {
            NAME(quick_sort)(ja + m, as + m, n - m, depth);
            n = m;
        }
    }
    NAME(insertion_sort)(ja, as, n, INT64_MAX);
}

/** Sorts a row of n entries. Works in place: a row may hold nearly all entries of the matrix, so that a copy
 *  would be large. */
static void NAME(sort_row)(int32_t *ja, VALUE *as, int64_t n)
{
    /* try insertion sort first: it is fast if the row is nearly sorted, and gives up after MOVES * n moves */
    if (NAME(insertion_sort)(ja, as, n, n <= SHORT_ROW ? INT64_MAX : MOVES * n)) return;
    int depth = 0;
    for (int64_t left = n; left > 0; left /= 2) depth += 2;
    NAME(quick_sort)(ja, as, n, depth);
}

/** Moves the sorted entries [from, end) of a row down to position `to`, and sums entries of the same column
 *  in their order. Returns the end of the entries that remain. */
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

/** Sorts rows [begin, end), whose entries are [first, last), and sums duplicates. The rows are then stored
 *  without gaps, beginning at entry `first`. Returns the number of entries that remain. Accesses irp[i] only
 *  for begin < i < end, so that threads with adjacent ranges do not race. */
static int64_t NAME(sort_rows)(spmm_csr *a, int64_t begin, int64_t end, int64_t first, int64_t last)
{
    SP_DEFAULT_FP;
    int32_t *const ja = a->ja;
    VALUE *const as = a->as;
    int64_t start = first, to = first;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row_end = i + 1 < end ? a->irp[i + 1] : last;
        int sound = sp_columns_sound(ja + start, row_end - start, a->cols);
        if (!sound) {
            NAME(sort_row)(ja + start, as + start, row_end - start);
            sound = sp_columns_sound(ja + start, row_end - start, a->cols);
        }
        if (i > begin) a->irp[i] = to;
        to = sound && to == start ? row_end : NAME(keep_row)(ja, as, start, row_end, to);
        start = row_end;
    }
    return to - first;
}

#undef VALUE
#undef LESS
#undef NAME
