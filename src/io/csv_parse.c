/** Parses CSV lines: determines the separator and the number of values, parses the series and writes the
 *  error messages. */
#include "io/csv_parse.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "io/mtx_header.h"
#include "io/numparse.h"

enum { QUOTE_BYTES = 96 };

static int64_t count_fields(const char *p, char separator)
{
    int64_t fields = 1;
    for (; *p != '\n'; p++) fields += *p == separator;
    return fields;
}

int sp_csv_find_format(const sp_chunk *c, sp_csv_format *f)
{
    const char *p = c->text, *const end = p + c->bytes;
    for (int64_t line = c->first_line; p < end; line++, p = sp_line_end(p, end) + 1) {
        const char *const first = sp_skip_blanks(p);
        if (*first == '\n' || *first == '#') continue;
        const char *at = p, *const newline = sp_line_end(p, end);
        while (at < newline && *at != ',' && *at != ';') at++;
        if (at < newline)
            f->separator = *at;
        else if (memchr(p, '\t', (size_t)(newline - p)))
            f->separator = '\t';
        f->values = count_fields(p, f->separator);
        f->first_line = line;
        return 1;
    }
    return 0;
}

/** Returns the first nonblank character at or after p. If the separator is the tab, a tab is not a blank. */
static inline const char *skip_blanks(const char *p, char separator)
{
    while (*p <= ' ' && sp_is_blank(*p) && *p != separator) p++;
    return p;
}

/** Sets *error to describe a wrong field, and returns NULL. The message omits the field's trailing blanks.
 *  \param [in] p  the field's first character that is not blank */
static const char *wrong_field(const sp_csv_format *f, const char *p, int64_t line, int64_t field,
                               const char *expected, sp_read_error *error)
{
    char quote[QUOTE_BYTES];
    const char *end = p;
    while (*end != f->separator && *end != '\n') end++;
    while (end > p && sp_is_blank(end[-1])) end--;
    if (p == end)
        sp_error_set(error, SPMM_ERR_SYNTAX, line, "found nothing in field %lld, expected %s",
                     (long long)field, expected);
    else
        sp_error_set(error, SPMM_ERR_SYNTAX, line, "found %s in field %lld, expected %s",
                     sp_quote(quote, sizeof quote, p, end), (long long)field, expected);
    return NULL;
}

static inline int beyond_float(const sp_csv_format *f, double value)
{
    return !f->allow_nonfinite && isinf(sp_rounded(value, f->precision));
}

/** Parses a field on the slow path, which accepts any spelling of a number. Returns the separator or newline
 *  after the field; if the field is wrong, sets *error and returns NULL. */
static const char *parse_field(const sp_csv_format *f, const char *p, int64_t line, int64_t field,
                               double *value, sp_read_error *error)
{
    const char *stop;
    const sp_number_kind kind = sp_parse_real(p, &stop, value);
    stop = skip_blanks(stop, f->separator);
    if (kind == SP_NUMBER_NONE || (*stop != f->separator && *stop != '\n'))
        return wrong_field(f, p, line, field, "a number (a header line begins with #)", error);
    if (f->allow_nonfinite) return stop;
    if (kind == SP_NUMBER_OVERFLOW)
        return wrong_field(f, p, line, field, "a value within the range of a double (or --allow-nonfinite)",
                           error);
    if (kind != SP_NUMBER_FINITE)
        return wrong_field(f, p, line, field, "a finite value (or --allow-nonfinite)", error);
    if (beyond_float(f, *value))
        return wrong_field(f, p, line, field, "a value within the range of a float (or --allow-nonfinite)",
                           error);
    return stop;
}

static const char *wrong_count(const sp_csv_format *f, const char *begin, int64_t line, sp_read_error *error)
{
    const int64_t found = count_fields(begin, f->separator);
    sp_error_set(error, SPMM_ERR_SYNTAX, line, "found %lld value%s, expected %lld as in line %lld",
                 (long long)found, found == 1 ? "" : "s", (long long)f->values, (long long)f->first_line);
    return NULL;
}

/** Parses the series in the line at `begin` into `values`. Returns the newline that ends the line; if the
 *  line is wrong, sets *error and returns NULL. */
static const char *parse_series(const sp_csv_format *f, const char *begin, int64_t line, void *values,
                                sp_read_error *error)
{
    const char separator = f->separator, *p = begin;
    for (int64_t k = 0; k < f->values; k++) {
        double value;
        p = skip_blanks(p, separator);
        const char *stop = sp_parse_real_fast(p, &value);
        if (stop) stop = skip_blanks(stop, separator);
        if (!stop || (*stop != separator && *stop != '\n') || beyond_float(f, value)) {
            stop = parse_field(f, p, line, k + 1, &value, error);
            if (!stop) return NULL;
        }
        sp_value_set(values, f->precision, k, value);
        p = stop + 1;
        if (*stop == '\n') return k + 1 == f->values ? stop : wrong_count(f, begin, line, error);
    }
    return wrong_count(f, begin, line, error);
}

void sp_csv_parse(const sp_csv_format *f, const sp_chunk *c, sp_csv_values *out, sp_read_error *error)
{
    const char *p = c->text, *const end = p + c->bytes;
    const int64_t row_bytes = f->values * sp_value_size(f->precision);
    /* The length of the text limits the size of the buffer, because each value takes at least two bytes.
     * Without this limit, a long first series followed by many short (hence wrong) lines would need lines x
     * values elements, far too many. */
    const int64_t most = c->bytes / 2 + 1;
    const int64_t room = f->values == 0 || c->lines <= most / f->values ? c->lines * f->values : most;
    if (sp_alloc(&out->values, room, sp_value_size(f->precision), "the values of a CSV file") != SPMM_OK) {
        sp_error_set(error, SPMM_ERR_MEMORY, 0, "%s", spmm_error_message());
        return;
    }
    for (int64_t line = c->first_line; p < end; line++, p++) {
        const char *const first = skip_blanks(p, f->separator);
        if (*first == '\n' || *first == '#') {
            p = sp_line_end(first, end);
            continue;
        }
        p = parse_series(f, p, line, (char *)out->values + out->series * row_bytes, error);
        if (!p) return;
        out->series++;
    }
}
