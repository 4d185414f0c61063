/** Parses one line of a Matrix Market body in any spelling (the careful path); writes the error messages. */
#include "io/mtx_parse.h"

#include <math.h>
#include <stdio.h>

#include "io/numparse.h"

/** The current position in the line being parsed, and what an error message needs. */
typedef struct cursor {
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
    return wrong(c, sp_quote(quote, sizeof quote, c->p, sp_word_end(c->p)), expected);
}

/** Parses a row or column index from 1 to `size` and moves c->p past it.
 *  \param [in] what    "row" or "column", for the error message
 *  \param [in] before  what precedes the index in the line, for the error message: "after the row index"
 *                      or "" */
static sp_line_kind parse_index(cursor *c, const char *what, const char *before, int64_t size, int64_t *value)
{
    const char *stop;
    char expected[96], found[96];
    snprintf(expected, sizeof expected, "a %s index from 1 to %lld", what, (long long)size);
    c->p = sp_skip_blanks(c->p);
    if (*c->p == '\n') {
        snprintf(found, sizeof found, "the end of the line %s", before);
        return wrong(c, found, expected);
    }
    const int kind = sp_parse_int64(c->p, &stop, value);
    if (kind == 0 || stop != sp_word_end(c->p)) return wrong_word(c, expected);
    if (kind < 0 || *value < 1 || *value > size) {
        char quote[QUOTE_BYTES];
        snprintf(found, sizeof found, "the %s index %.60s", what, sp_quote(quote, sizeof quote, c->p, stop));
        return wrong(c, found, expected);
    }
    c->p = stop;
    return SP_LINE_ENTRY;
}

static sp_line_kind parse_value(cursor *c, const sp_parse_output *t, const char *before, double *value)
{
    const int integer = t->header->field == SP_FIELD_INTEGER;
    const char *const expected = integer ? "an integer value" : "a real value";
    const char *stop;
    c->p = sp_skip_blanks(c->p);
    if (*c->p == '\n') return wrong(c, before, expected);
    const sp_number_kind kind = integer ? sp_parse_integer(c->p, &stop, value)
                                        : sp_parse_real(c->p, &stop, value);
    if (kind == SP_NUMBER_NONE || stop != sp_word_end(c->p)) return wrong_word(c, expected);
    if (!t->allow_nonfinite) {
        if (kind == SP_NUMBER_OVERFLOW)
            return wrong_word(c, "a value within the range of a double (or --allow-nonfinite)");
        if (kind != SP_NUMBER_FINITE) return wrong_word(c, "a finite value (or --allow-nonfinite)");
        if (t->precision == SPMM_F32 && isinf((float)*value))
            return wrong_word(c, "a value within the range of a float (or --allow-nonfinite)");
    }
    if (integer) *value += 0.0; /* turns -0 into 0, as the fast path does */
    c->p = stop;
    return SP_LINE_ENTRY;
}

sp_line_kind sp_parse_line(const sp_parse_output *t, const char *p, int64_t line, sp_entry *entry,
                           sp_read_error *error)
{
    const sp_header *const h = t->header;
    cursor c = {p, line, error};
    if (!sp_is_entry_line(p)) return SP_LINE_SKIP;
    entry->value = 1.0;
    if (!h->array) {
        if (parse_index(&c, "row", "", h->rows, &entry->i) == SP_LINE_WRONG) return SP_LINE_WRONG;
        if (parse_index(&c, "column", "after the row index", h->cols, &entry->j) == SP_LINE_WRONG)
            return SP_LINE_WRONG;
    }
    if (h->field != SP_FIELD_PATTERN &&
        parse_value(&c, t, "the end of the line after the indices", &entry->value) == SP_LINE_WRONG)
        return SP_LINE_WRONG;
    c.p = sp_skip_blanks(c.p);
    if (*c.p != '\n') return wrong_word(&c, "the end of the line");
    if (!h->array && h->symmetry == SP_SKEW && entry->i == entry->j && entry->value != 0) {
        char found[96];
        snprintf(found, sizeof found, "the diagonal entry (%lld, %lld)", (long long)entry->i,
                 (long long)entry->j);
        return wrong(&c, found, "none but zeros in a skew-symmetric matrix");
    }
    return SP_LINE_ENTRY;
}
