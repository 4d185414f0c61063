/** Parses one line of a Matrix Market body in any spelling (the careful path); writes the error messages. */
#include "io/mtx_parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "io/numparse.h"

/** The current position in the line being parsed, and data for error messages. */
typedef struct cursor {
    const sp_header *header;
    const char *p;
    int64_t line;
    sp_read_error *error;
} cursor;

enum { QUOTE_BYTES = 96 };

static sp_line_kind wrong(const cursor *c, const char *found, const char *expected)
{
    sp_error_set(c->error, SPMM_ERR_SYNTAX, c->line, "found %s, expected %s", found, expected);
    return SP_LINE_WRONG;
}

static sp_line_kind wrong_word(const cursor *c, const char *expected)
{
    char quote[QUOTE_BYTES];
    const char *const end = sp_word_end(c->p);
    if (c->header->first_edge && memchr(c->p, ',', (size_t)(end - c->p)))
        expected = "blanks or tabs between numbers, and no commas (tr ',' ' ' < FILE > OTHER)";
    return wrong(c, sp_quote(quote, sizeof quote, c->p, end), expected);
}

/** Parses one of `size` row or column indices and moves c->p past it.
 *  \param [in] what    name of the index in the error message, such as "row index"
 *  \param [in] before  what precedes the index in the line, for the error message: "after the row index" or
 *                      "" */
static sp_line_kind parse_index(cursor *c, const char *what, const char *before, int64_t size, int64_t *value)
{
    const char *stop;
    char expected[160], found[96];
    const int64_t least = !c->header->from_zero, most = size - 1 + least;
    const char *const names = c->header->first_edge == c->line &&
                                      isalpha((unsigned char)*sp_skip_blanks(c->p))
                                  ? "; if these are column names, remove them (tail -n +2 FILE > OTHER)"
                                  : "";
    snprintf(expected, sizeof expected, "a %s from %lld to %lld%s", what, (long long)least, (long long)most,
             names);
    c->p = sp_skip_blanks(c->p);
    if (*c->p == '\n') {
        snprintf(found, sizeof found, "the end of the line %s", before);
        return wrong(c, found, expected);
    }
    const int kind = sp_parse_int64(c->p, &stop, value);
    if (kind == 0 || stop != sp_word_end(c->p)) return wrong_word(c, expected);
    if (kind < 0 || *value < least || *value > most) {
        char quote[QUOTE_BYTES];
        snprintf(found, sizeof found, "the %s %.60s", what, sp_quote(quote, sizeof quote, c->p, stop));
        return wrong(c, found, expected);
    }
    c->p = stop;
    return SP_LINE_ENTRY;
}

static sp_line_kind parse_value(cursor *c, const sp_parse_output *t, const char *before, double *value)
{
    const int integer = t->header->field == SP_FIELD_INTEGER;
    char weight[96];
    const char *expected = integer                                ? "an integer value"
                           : t->header->field == SP_FIELD_COMPLEX ? "the two parts of a complex value"
                                                                  : "a real value";
    const char *stop;
    c->p = sp_skip_blanks(c->p);
    if (*c->p == '\n' && t->header->first_edge) {
        snprintf(weight, sizeof weight, "a weight, as the first edge, in line %lld, has one",
                 (long long)t->header->first_edge);
        expected = weight;
    }
    if (*c->p == '\n') return wrong(c, before, expected);
    const sp_number_kind kind = integer ? sp_parse_integer(c->p, &stop, value)
                                        : sp_parse_real(c->p, &stop, value);
    if (kind == SP_NUMBER_NONE || stop != sp_word_end(c->p)) return wrong_word(c, expected);
    if (!t->allow_nonfinite) {
        if (kind == SP_NUMBER_OVERFLOW)
            return wrong_word(c, "a value within the range of a double (or --allow-nonfinite)");
        if (kind != SP_NUMBER_FINITE) return wrong_word(c, "a finite value (or --allow-nonfinite)");
        if (isinf(sp_rounded(*value, t->precision)))
            return wrong_word(c, "a value within the range of a float (or --allow-nonfinite)");
    }
    if (integer) *value += 0.0; /* turns -0 into 0, as the fast path does */
    c->p = stop;
    return SP_LINE_ENTRY;
}

/** Parses the two indices of an entry. */
static sp_line_kind parse_place(cursor *c, sp_entry *entry)
{
    const sp_header *const h = c->header;
    const int edge = h->first_edge > 0;
    const sp_line_kind kind = parse_index(c, edge ? "vertex id" : "row index", "", h->rows, &entry->i);
    if (kind == SP_LINE_WRONG) return kind;
    return parse_index(c, edge ? "vertex id" : "column index",
                       edge ? "after the first vertex id" : "after the row index", h->cols, &entry->j);
}

/** Reports the text after an entry as an error. */
static sp_line_kind wrong_end(const cursor *c)
{
    char expected[96];
    const sp_header *const h = c->header;
    if (!h->first_edge) return wrong_word(c, "the end of the line");
    if (h->field != SP_FIELD_PATTERN)
        return wrong_word(c, "the end of the line after the weight (awk '{print $1, $2, $3}' FILE > OTHER)");
    snprintf(expected, sizeof expected, "the end of the line, as the first edge, in line %lld, has no weight",
             (long long)h->first_edge);
    return wrong_word(c, expected);
}

sp_line_kind sp_parse_line(const sp_parse_output *t, const char *p, int64_t line, sp_entry *entry,
                           sp_read_error *error)
{
    const sp_header *const h = t->header;
    cursor c = {h, p, line, error};
    if (!sp_is_entry_line(p, h->comment)) return SP_LINE_SKIP;
    double part[2] = {1.0, 0.0};
    if (!h->array && parse_place(&c, entry) == SP_LINE_WRONG) return SP_LINE_WRONG;
    if (h->field != SP_FIELD_PATTERN &&
        parse_value(&c, t, "the end of the line after the indices", &part[0]) == SP_LINE_WRONG)
        return SP_LINE_WRONG;
    if (h->field == SP_FIELD_COMPLEX &&
        parse_value(&c, t, "the end of the line after the real part", &part[1]) == SP_LINE_WRONG)
        return SP_LINE_WRONG;
    entry->value = __builtin_complex(part[0], part[1]);
    c.p = sp_skip_blanks(c.p);
    if (*c.p != '\n') return wrong_end(&c);
    if (!h->array && h->symmetry == SP_SKEW && entry->i == entry->j && entry->value != 0) {
        char found[96];
        snprintf(found, sizeof found, "the diagonal entry (%lld, %lld)", (long long)entry->i,
                 (long long)entry->j);
        return wrong(&c, found, "none but zeros in a skew-symmetric matrix");
    }
    return SP_LINE_ENTRY;
}
