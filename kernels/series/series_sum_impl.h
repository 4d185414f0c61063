/* Sums, deviations and centered copies of series with values of type T. cpu_series_sum.c includes this file
 * once per type; NAME(x) appends a suffix for the type to x. */

enum { NAME(PAIRWISE) = 128 };

/** Sums n values in LANES partial sums, which are added pairwise at the end. */
static T NAME(sum_lanes)(const T *v, int64_t n)
{
    enum { LANES = 32 };
    T sum[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += v[i + l];
    for (int l = 0; i + l < n; l++) sum[l] += v[i + l];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

static T NAME(sum_plain)(const T *v, int64_t stride, int64_t n)
{
    T sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i * stride];
    return sum;
}

/** Pairwise summation (Higham: The accuracy of floating point summation, SIAM J. Sci. Comput. 14(4), 1993).
 *  Splits the values at multiples of 128, so that the order of additions does not depend on their memory
 *  address. */
static T NAME(sum_pairwise)(const T *v, int64_t n)
{
    if (n <= NAME(PAIRWISE)) return NAME(sum_plain)(v, 1, n);
    const int64_t half = (n / 2 + NAME(PAIRWISE) - 1) / NAME(PAIRWISE) * NAME(PAIRWISE);
    return NAME(sum_pairwise)(v, half) + NAME(sum_pairwise)(v + half, n - half);
}

/** Kahan's compensated summation in Neumaier's form (Zeitschrift fuer Angewandte Mathematik und Mechanik 54,
 *  1974). Returns the sum without its correction, which is stored in *rest: the caller adds the two. */
static T NAME(sum_compensated)(const T *v, int64_t n, T *rest)
{
    T sum = 0, lost = 0;
    for (int64_t i = 0; i < n; i++) {
        const T x = v[i], total = sum + x, big = total - sum;
        /* Knuth's two-sum: it needs no branch on which operand is larger. */
        lost += (sum - (total - big)) + (x - big);
        sum = total;
    }
    *rest = lost;
    return sum;
}

/** Sums series number `from` to `to` - 1 of x, which is index-major, and divides the sums by `divisor`.
 *  Processes WIDE series at a time. */
static void NAME(columns)(const sp_series *x, int64_t from, int64_t to, double divisor, double *mean)
{
    enum { WIDE = 64 };
    for (int64_t m = from; m < to; m += WIDE) {
        const int width = to - m < WIDE ? (int)(to - m) : WIDE;
        T sum[WIDE] = {0};
        for (int64_t i = 0; i < x->length; i++) {
            const T *const row = (const T *)x->v.data + i * x->v.ld + m;
            for (int l = 0; l < width; l++) sum[l] += row[l];
        }
        for (int l = 0; l < width; l++) mean[m + l] = (double)(sum[l] / (T)divisor);
    }
}

/** Returns the sum of series m divided by `divisor`; `how` selects the summation algorithm. */
static double NAME(one)(const sp_series *x, way how, int64_t m, double divisor)
{
    const int rows = x->layout == SP_SERIES_MAJOR;
    const T *const v = (const T *)x->v.data + m * (rows ? x->v.ld : 1);
    T rest = 0, sum = 0;
    switch (how) {
    case LANES_WAY: sum = NAME(sum_lanes)(v, x->length); break;
    case SERIAL_WAY: sum = NAME(sum_plain)(v, rows ? 1 : x->v.ld, x->length); break;
    case PAIRWISE_WAY: sum = NAME(sum_pairwise)(v, x->length); break;
    case COMPENSATED_WAY: sum = NAME(sum_compensated)(v, x->length, &rest); break;
    }
    return (double)((sum + rest) / (T)divisor);
}

/** Reduces series m by an operator other than SP_SUM, value after value, and stores the components of the
 *  result at out[0], out[count], .., where count is x->count. */
static void NAME(reduce)(const sp_series *x, sp_operator op, int64_t m, double *out)
{
    const int rows = x->layout == SP_SERIES_MAJOR;
    const int64_t stride = rows ? 1 : x->v.ld, count = x->count;
    const T *const v = (const T *)x->v.data + m * (rows ? x->v.ld : 1);
    T result = op == SP_MINIMUM || op == SP_MAXIMUM ? v[0] : op == SP_PRODUCT ? 1 : 0;
    int64_t exponent = 0;
    sp_square matrix = {1, 0, 0, 1};
    for (int64_t i = 0; i < x->length; i++) {
        const T value = v[i * stride];
        int two[2];
        switch (op) {
        case SP_MINIMUM: result = value < result ? value : result; break;
        case SP_MAXIMUM: result = value > result ? value : result; break;
        case SP_PRODUCT:
            result = (T)frexp(result * (T)frexp(value, &two[0]), &two[1]);
            exponent += two[0] + two[1];
            break;
        case SP_DOT: result += value * value; break;
        case SP_MATRIX: matrix = sp_square_product(matrix, sp_square_of(value)); break;
        case SP_SUM:
        case SP_OPERATORS: break;
        }
    }
    out[0] = (double)result;
    if (op == SP_PRODUCT) out[count] = result == 0 ? 0 : (double)exponent;
    if (op != SP_MATRIX) return;
    const uint32_t entry[] = {matrix.a, matrix.b, matrix.c, matrix.d};
    for (int c = 0; c < 4; c++) out[c * count] = entry[c];
}

/** Sums the differences d = (v - about) * one * two, and their squares. With lanes = 32, uses 32 partial sums
 *  as sum_lanes does; with lanes = 1, only one. */
static void NAME(differences)(const T *v, int64_t n, T about, T one, T two, int lanes, T *sum, T *squares)
{
    enum { LANES = 32 };
    T off[LANES] = {0}, square[LANES] = {0};
    int64_t i = 0;
    if (lanes == LANES)
        for (; i + LANES <= n; i += LANES)
            for (int l = 0; l < LANES; l++) {
                const T d = (v[i + l] - about) * one * two;
                off[l] += d;
                square[l] += d * d;
            }
    for (; i < n; i++) {
        const T d = (v[i] - about) * one * two;
        off[0] += d;
        square[0] += d * d;
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) {
            off[l] += off[l + half];
            square[l] += square[l + half];
        }
    *sum = off[0];
    *squares = square[0];
}

/** Computes the deviation of a series: determines the extremes and the center, then sums squared differences.
 *  The differences are scaled so that the largest is in [1, 2): then squares do not overflow, and their sum
 *  does not underflow. */
static sp_spread NAME(spread)(const void *series, int64_t n, double mean, int lanes)
{
    const T *const v = series;
    T low = v[0], high = v[0], off, squares;
    sp_spread s = {.center = mean};
    for (int64_t i = 0; i < n; i++) {
        low = v[i] < low ? v[i] : low;
        high = v[i] > high ? v[i] : high;
    }
    if (low == high) {
        s.center = (double)low;
        s.constant = 1;
        return s;
    }
    NAME(differences)(v, n, (T)mean, 1, 1, lanes, &off, &squares);
    const T center = (T)mean + off / (T)n, below = center - low, above = high - center;
    s.center = (double)center;
    s.exponent = ilogb((double)(below > above ? below : above));
    const T one = (T)sp_scale(s.exponent, 0), two = (T)sp_scale(s.exponent, 1);
    NAME(differences)(v, n, center, one, two, lanes, &off, &squares);
    s.deviation = sqrt((double)squares);
    return s;
}

/** Writes the series v, centered and scaled, to z, a row of n values. */
static void NAME(center)(const void *series, int64_t n, const sp_spread *s, void *row)
{
    const T *const v = series;
    T *const z = row;
    const T about = (T)s->center, one = (T)sp_scale(s->exponent, 0), two = (T)sp_scale(s->exponent, 1);
    for (int64_t i = 0; i < n; i++) z[i] = s->constant ? 0 : (v[i] - about) * one * two;
}

#undef T
#undef NAME
