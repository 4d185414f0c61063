/** Parses the banner and the size line of a Matrix Market file and writes the error messages about them. */
#include "io/mtx_header.h"

#include <stdio.h>

#include "io/input_kind.h"

enum { QUOTE_BYTES = 96, QUOTED = 32 };

const char *sp_quote(char *buf, size_t n, const char *p, const char *end)
{
    size_t used = 0;
    const char *const cut = end - p > QUOTED ? p + QUOTED : end;
    if (n < QUOTE_BYTES / 2) return "";
    buf[used++] = '"';
    for (; p < cut && used + 10 < n; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\') buf[used++] = '\\';
        if (c >= ' ' && c < 0x7f)
            buf[used++] = (char)c;
        else
            used += (size_t)snprintf(buf + used, n - used, "\\x%02X", c);
    }
    snprintf(buf + used, n - used, p < end ? "...\"" : "\"");
    return buf;
}

/* ---- the banner ---- */

/* the words that may stand at each place of the banner; `taken` has the initials of the supported words, in
 * the order of their enumerators */
static const struct {
    const char *what, *taken, *allowed;
} places[SP_BANNER_WORDS] = {
    [SP_BANNER_OBJECT] = {"object", "M", "matrix"},
    [SP_BANNER_FORMAT] = {"format", "CA", "coordinate or array"},
    [SP_BANNER_FIELD] = {"field", "RIPC", "real, complex, integer or pattern"},
    [SP_BANNER_SYMMETRY] = {"symmetry", "GSKH", "general, symmetric, skew-symmetric or hermitian"},
};

/** Parses word number `which` of the banner at *p, moves *p past the word, and sets *value to the place of
 *  its letter in `taken`. */
static spmm_status banner_word(const char **p, int which, int64_t line, int *value, sp_read_error *error)
{
    const char *const what = places[which].what, *const allowed = places[which].allowed;
    char quote[QUOTE_BYTES];
    const sp_word word = sp_next_word(p);
    if (word.begin == word.end)
        return sp_error_set(error, SPMM_ERR_SYNTAX, line, "found the end of the banner, expected the %s: %s",
                            what, allowed);
    const char letter = sp_banner_letter(which, word);
    if (!letter)
        return sp_error_set(error, SPMM_ERR_SYNTAX, line, "found the unknown %s %s, expected %s", what,
                            sp_quote(quote, sizeof quote, word.begin, word.end), allowed);
    const char *const place = strchr(places[which].taken, letter);
    if (!place)
        return sp_error_set(error, SPMM_ERR_UNSUPPORTED, line, "found the %s \"%s\", expected %s", what,
                            sp_banner_text(which, letter), allowed);
    *value = (int)(place - places[which].taken);
    return SPMM_OK;
}

/** Like sp_text_line(), for the lines up to the size line, whose number is limited. */
static spmm_status header_line(sp_text *stream, const char **line, const char **end, sp_read_error *error)
{
    if (stream->lines < SP_BLANK_MAX) return sp_text_line(stream, line, end, error);
    return sp_error_set(error, SPMM_ERR_SYNTAX, stream->lines,
                        "found %d lines, blank or comments, expected the size line", SP_BLANK_MAX);
}

/** Reads lines up to the first nonblank line and sets *p to the first nonblank character of that line, *end
 *  to its newline. Skips a byte order mark. */
static spmm_status find_banner(sp_text *stream, const char **p, const char **end, sp_read_error *error)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* the byte order mark in UTF-8 */
    do {
        TRY(header_line(stream, p, end, error));
        if (!*p)
            return sp_error_set(error, SPMM_ERR_SYNTAX, stream->lines > 0 ? stream->lines : 1,
                                "found %s, expected the banner: %%%%MatrixMarket matrix ...",
                                stream->bytes == 0 ? "an empty file" : "only blank lines");
        if (stream->lines == 1 && strncmp(*p, mark, 3) == 0) *p += 3;
        *p = sp_skip_blanks(*p);
    } while (**p == '\n');
    return SPMM_OK;
}

static spmm_status read_banner(sp_text *stream, sp_header *h, sp_read_error *error)
{
    const char *p, *line_end;
    char quote[QUOTE_BYTES];
    int value[SP_BANNER_WORDS];
    TRY(find_banner(stream, &p, &line_end, error));
    const int64_t line = stream->lines;
    const sp_word mark = sp_next_word(&p);
    if (!sp_is_banner_mark(mark))
        return sp_error_set(
            error, SPMM_ERR_SYNTAX, line, "found %s, expected the banner: %%%%MatrixMarket matrix ...%s",
            sp_quote(quote, sizeof quote, mark.begin, mark.end), sp_text_kind(mark.begin, line_end));
    const char *const cr = memchr(p, '\r', (size_t)(line_end - p));
    if (cr && cr + 1 < line_end)
        return sp_error_set(
            error, SPMM_ERR_SYNTAX, line,
            "found lines that end in CR alone, expected LF or CR LF (tr '\\r' '\\n' < FILE > OTHER)");
    for (int k = 0; k < SP_BANNER_WORDS; k++) TRY(banner_word(&p, k, line, &value[k], error));
    h->array = value[SP_BANNER_FORMAT];
    h->field = (sp_field)value[SP_BANNER_FIELD];
    h->symmetry = (sp_symmetry)value[SP_BANNER_SYMMETRY];
    if (h->array && h->field == SP_FIELD_PATTERN)
        return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                            "found an array of field pattern, expected real, complex or integer values");
    return SPMM_OK;
}

/* ---- the size line ---- */

static spmm_status size_number(const char **p, const char *what, int64_t limit, int64_t line, int64_t *value,
                               sp_read_error *error)
{
    char quote[QUOTE_BYTES];
    const sp_word word = sp_next_word(p);
    const sp_size_kind kind = sp_parse_size(word, limit, value);
    sp_quote(quote, sizeof quote, word.begin, word.end);
    switch (kind) {
    case SP_SIZE_FOUND: break;
    case SP_SIZE_NONE:
        return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                            "found the end of the size line, expected the number of %s", what);
    case SP_SIZE_NO_NUMBER:
        return sp_error_set(error, SPMM_ERR_SYNTAX, line, "found %s, expected the number of %s", quote, what);
    case SP_SIZE_NEGATIVE:
        return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                            "found %s, expected a number of %s that is not negative", quote, what);
    case SP_SIZE_OVERFLOW:
    case SP_SIZE_TOO_LARGE:
        return sp_error_set(error, kind == SP_SIZE_OVERFLOW ? SPMM_ERR_SYNTAX : SPMM_ERR_UNSUPPORTED, line,
                            "found %s %s, expected at most %lld", quote, what, (long long)limit);
    }
    return SPMM_OK;
}

/** Returns the number of values that an array file with this header stores. */
static int64_t array_entries(const sp_header *h)
{
    switch (h->symmetry) {
    case SP_SYMMETRIC:
    case SP_HERMITIAN: return h->rows * (h->rows + 1) / 2;
    case SP_SKEW: return h->rows * (h->rows - 1) / 2;
    case SP_GENERAL: break;
    }
    return h->rows * h->cols; /* no overflow: both factors are below 2^31 */
}

static spmm_status parse_sizes(const char *p, sp_header *h, sp_read_error *error)
{
    char quote[QUOTE_BYTES];
    const int64_t line = h->size_line;
    TRY(size_number(&p, "rows", INT32_MAX, line, &h->rows, error));
    TRY(size_number(&p, "columns", INT32_MAX, line, &h->cols, error));
    if (!h->array) TRY(size_number(&p, "entries", INT64_MAX, line, &h->entries, error));
    p = sp_skip_blanks(p);
    if (*p != '\n')
        return sp_error_set(error, SPMM_ERR_SYNTAX, line, "found %s, expected the end of the size line: %s",
                            sp_quote(quote, sizeof quote, p, sp_word_end(p)),
                            h->array ? "rows columns" : "rows columns entries");
    if (h->symmetry != SP_GENERAL && h->rows != h->cols)
        return sp_error_set(error, SPMM_ERR_SYNTAX, line,
                            "found %lld x %lld, expected a square matrix: it is %s", (long long)h->rows,
                            (long long)h->cols,
                            h->symmetry == SP_SKEW        ? "skew-symmetric"
                            : h->symmetry == SP_HERMITIAN ? "hermitian"
                                                          : "symmetric");
    if (h->array) h->entries = array_entries(h);
    return SPMM_OK;
}

spmm_status sp_read_header(sp_text *stream, sp_header *header, sp_read_error *error)
{
    const char *p, *end;
    *header = (sp_header){.comment = '%'};
    TRY(read_banner(stream, header, error));
    do {
        TRY(header_line(stream, &p, &end, error));
        if (!p)
            return sp_error_set(error, SPMM_ERR_SYNTAX, stream->lines,
                                "found the end of the file, expected the size line: rows columns%s",
                                header->array ? "" : " entries");
    } while (!sp_is_entry_line(p, '%'));
    header->size_line = stream->lines;
    header->body = sp_text_position(stream);
    header->bytes = sp_text_bytes_left_at_most(stream);
    return parse_sizes(p, header, error);
}
