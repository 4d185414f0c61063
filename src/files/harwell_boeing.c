/** Reads Harwell-Boeing and Rutherford-Boeing files. */
#include "files/harwell_boeing.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "files/csr_file.h"
#include "io/mtx_header.h"
#include "io/numparse.h"

enum { CARD = 72, CARD_INT = 14, TYPE_AT = 14, FORMAT_WIDTH = 16, VALUES_WIDTH = 20, FIELD_MAX = 64 };
enum { POWER_LIMIT = 1000000000 }; /* with a larger exponent, any number overflows or underflows */

/** A Fortran format such as "(1P,4E20.12)", which describes the fields of one kind. */
typedef struct field_format {
    int count, width; /* fields of a line; characters of a field */
    int decimals;     /* number of last digits that are decimals if a number has no point */
    int scale;        /* numbers without an exponent are divided by 10^scale */
} field_format;

typedef struct hb_file {
    const char *path;
    sp_text text;
    sp_read_error error;
    char type[4]; /* "RUA", in upper case */
    int64_t rows, cols, entries;
    field_format starts, indices, values;
    const char *line, *end; /* the line that fields are read from */
    int at;                 /* number of fields read from this line */
    /* NULL: the position in the line delimits a field. Else: blanks separate the fields, and the next field
     * is searched from here on. */
    const char *word;
} hb_file;

/** Sets the error, which names the current line. */
static spmm_status wrong(hb_file *f, spmm_status status, const char *begin, const char *end,
                         const char *expected)
{
    char quote[64];
    return sp_error_set(&f->error, status, f->text.lines, "found %s, expected %s",
                        sp_quote(quote, sizeof quote, begin, end), expected);
}

static spmm_status next_line(hb_file *f)
{
    TRY(sp_text_line(&f->text, &f->line, &f->end, &f->error));
    f->at = 0;
    if (f->line) return SPMM_OK;
    return sp_error_set(&f->error, SPMM_ERR_SYNTAX, f->text.lines + 1,
                        "found the end of the file, expected more: "
                        "it is cut short");
}

/** Sets [*begin, *end) to characters [from, from + width) of the current line, without leading and trailing
 *  blanks. */
static void columns(const hb_file *f, int64_t from, int64_t width, const char **begin, const char **end)
{
    const int64_t bytes = f->end - f->line;
    const char *b = f->line + (from < bytes ? from : bytes);
    const char *e = f->line + (from + width < bytes ? from + width : bytes);
    while (b < e && sp_is_blank(*b)) b++;
    while (e > b && sp_is_blank(e[-1])) e--;
    *begin = b;
    *end = e;
}

/** Parses the text [b, e) as an integer from `least` to `most`. */
static spmm_status integer(hb_file *f, const char *b, const char *e, int64_t least, int64_t most,
                           const char *expected, int64_t *value)
{
    const char *stop;
    char word[FIELD_MAX + SP_PARSE_PAD + 1] = "";
    if (e - b <= FIELD_MAX) memcpy(word, b, (size_t)(e - b));
    if (e - b > FIELD_MAX || sp_parse_int64(word, &stop, value) != 1 || stop != word + (e - b) ||
        *value < least || *value > most)
        return wrong(f, SPMM_ERR_SYNTAX, b, e, expected);
    return SPMM_OK;
}

/** Reads integer number k, from 0 on, of the integers that begin at character `from` of the current line.
 *  Each integer takes CARD_INT characters. */
static spmm_status card_integer(hb_file *f, int from, int k, int64_t most, const char *expected,
                                int64_t *value)
{
    const char *b, *e;
    columns(f, from + k * CARD_INT, CARD_INT, &b, &e);
    return integer(f, b, e, 0, most, expected, value);
}

/** Reads a number of at most 4 digits at *p, and moves *p past it. Returns -1 if there is no digit. */
static int small_number(const char **p)
{
    int n = 0, digits = 0;
    for (; isdigit((unsigned char)**p) && digits < 4; digits++) n = 10 * n + *(*p)++ - '0';
    return digits > 0 ? n : -1;
}

/** Parses "(nP,rFw.dEe)" in upper case. Only the parentheses, the letter F and the width w are required.
 *  Returns 1; 0: the text has another form.
 *  \param [in] letters  the letters that are accepted in place of F */
static int parse_format(const char *p, const char *letters, field_format *format)
{
    *format = (field_format){.count = 1};
    if (*p++ != '(') return 0;
    const int minus = *p == '-';
    p += minus;
    int n = small_number(&p);
    if (*p == 'P') {
        if (n < 0) return 0;
        format->scale = minus ? -n : n;
        p++;
        if (*p == ',') p++;
        n = small_number(&p);
    } else if (minus) {
        return 0;
    }
    if (n >= 0) format->count = n;
    if (*p == 0 || !strchr(letters, *p++)) return 0;
    format->width = small_number(&p);
    if (*p == '.') {
        p++;
        format->decimals = small_number(&p);
    }
    if (*p == 'E') {
        p++;
        if (small_number(&p) < 0) return 0;
    }
    return strcmp(p, ")") == 0 && format->count > 0 && format->width > 0 && format->width <= FIELD_MAX &&
           format->decimals >= 0;
}

/** Reads the Fortran format in characters [from, from + width) of the fourth line, the current one. */
static spmm_status format_at(hb_file *f, int64_t from, int64_t width, const char *letters,
                             const char *expected, field_format *format)
{
    const char *b, *e;
    char word[VALUES_WIDTH + 1];
    int n = 0;
    columns(f, from, width, &b, &e);
    for (const char *p = b; p < e; p++)
        if (!sp_is_blank(*p)) word[n++] = (char)toupper((unsigned char)*p);
    word[n] = 0;
    if (strlen(word) == (size_t)n && parse_format(word, letters, format)) return SPMM_OK;
    return wrong(f, SPMM_ERR_UNSUPPORTED, b, e, expected);
}

static spmm_status check_type(hb_file *f)
{
    const char *const b = f->line, *const e = f->line + 3;
    for (int k = 0; k < 3; k++) f->type[k] = (char)toupper((unsigned char)b[k]);
    if (f->type[2] != 'A')
        return wrong(f, SPMM_ERR_UNSUPPORTED, b, e,
                     "an assembled matrix (A): this one is of finite elements");
    if (!strchr("RIPC", f->type[0]))
        return wrong(
            f, SPMM_ERR_UNSUPPORTED, b, e,
            "a real, complex, integer or pattern matrix (R, C, I, P): the values are in another file");
    return SPMM_OK;
}

/** Reads the lines before the column starts. */
static spmm_status read_head(hb_file *f)
{
    int64_t right_sides = 0, value_lines = 0;
    const char *b, *e;
    TRY(next_line(f));
    TRY(next_line(f));
    TRY(card_integer(f, 0, 3, INT64_MAX, "the number of lines of values", &value_lines));
    columns(f, 4 * CARD_INT, CARD_INT, &b, &e);
    if (b < e) TRY(card_integer(f, 0, 4, INT64_MAX, "the number of lines of right-hand sides", &right_sides));
    TRY(next_line(f));
    if (f->end - f->line < 3) return wrong(f, SPMM_ERR_SYNTAX, f->line, f->end, "a type of matrix");
    TRY(check_type(f));
    TRY(card_integer(f, TYPE_AT, 0, INT64_MAX, "the number of rows", &f->rows));
    TRY(card_integer(f, TYPE_AT, 1, INT64_MAX, "the number of columns", &f->cols));
    TRY(card_integer(f, TYPE_AT, 2, INT64_MAX / 64, "the number of entries", &f->entries));
    if (f->rows > INT32_MAX || f->cols > INT32_MAX)
        return wrong(f, SPMM_ERR_UNSUPPORTED, f->line, f->end, "at most 2147483647 rows and columns");
    if (strchr("SZH", f->type[1]) && f->rows != f->cols)
        return wrong(f, SPMM_ERR_SYNTAX, f->line, f->end, "as many rows as columns in a symmetric matrix");
    if (f->type[0] != 'P' && value_lines == 0 && f->entries > 0)
        return sp_error_set(&f->error, SPMM_ERR_UNSUPPORTED, 2,
                            "found no lines of values, expected some in a matrix of "
                            "type %s (P: only a pattern)",
                            f->type);
    TRY(next_line(f));
    TRY(format_at(f, 0, FORMAT_WIDTH, "I", "a format of integers like (16I5)", &f->starts));
    TRY(format_at(f, FORMAT_WIDTH, FORMAT_WIDTH, "I", "a format of integers like (16I5)", &f->indices));
    if (f->type[0] != 'P')
        TRY(format_at(f, 2 * FORMAT_WIDTH, VALUES_WIDTH, "EDFGI", "a format of numbers like (1P,4E20.12)",
                      &f->values));
    if (right_sides > 0) TRY(next_line(f));
    const int64_t most = sp_text_bytes_left_at_most(&f->text);
    if (f->cols >= most || f->entries > most - f->cols)
        return sp_error_set(
            &f->error, SPMM_ERR_SYNTAX, 3,
            "found %lld columns and %lld entries, which need more bytes than the file has: it is cut short",
            (long long)f->cols, (long long)f->entries);
    return SPMM_OK;
}

/** Sets [*begin, *end) to the next word at or after p in the text that ends at `limit`. Returns 1; 0: there
 *  is no word. */
static int word_after(const char *p, const char *limit, const char **begin, const char **end)
{
    while (p < limit && sp_is_blank(*p)) p++;
    *begin = p;
    while (p < limit && !sp_is_blank(*p)) p++;
    *end = p;
    return *end > *begin;
}

/** Decides whether the `fields` fields of a new line are found by blanks or by position, and sets f->word
 *  accordingly. SciPy's hb_write writes fields that are one character narrower than the header's format says.
 *  So if a line has as many words as fields, the words are read. In a line that follows the format, the words
 *  are then the same as the fields. */
static void choose_words(hb_file *f, const field_format *format, int64_t fields)
{
    const int64_t width = (int64_t)format->count * format->width;
    const char *const limit = f->end - f->line > width ? f->line + width : f->end;
    const char *b, *e = f->line;
    int64_t words = 0;
    while (word_after(e, limit, &b, &e)) words++;
    const int cut = limit < f->end && e == limit && !sp_is_blank(*limit);
    f->word = words == fields && !cut ? f->line : NULL;
}

/** Fails if numbers follow the fields of a new line. Columns 73 and following may have the card's number. */
static spmm_status check_rest(hb_file *f, const field_format *format)
{
    const int64_t width = (int64_t)format->count * format->width;
    char expected[128];
    const char *b, *e;
    if (f->end - f->line <= width || !word_after(f->line + width, f->end, &b, &e)) return SPMM_OK;
    if (!isdigit((unsigned char)b[*b == '-' || *b == '+']) || (width <= CARD && b - f->line >= CARD))
        return SPMM_OK;
    snprintf(expected, sizeof expected,
             "the end of the line after %d numbers of %d characters, which the format in line 4 states",
             format->count, format->width);
    return wrong(f, SPMM_ERR_SYNTAX, b, e, expected);
}

/** Advances to the next field, and sets [*b, *e) to it.
 *  \param [in] left  number of fields of this format still to be read, the next one included */
static spmm_status next_field(hb_file *f, const field_format *format, int64_t left, const char **b,
                              const char **e)
{
    if (f->at == format->count) {
        TRY(next_line(f));
        choose_words(f, format, left < format->count ? left : format->count);
        TRY(check_rest(f, format));
    }
    const int64_t k = f->at++;
    if (!f->word) {
        columns(f, k * format->width, format->width, b, e);
        return SPMM_OK;
    }
    word_after(f->word, f->end, b, e);
    f->word = *e;
    return *e - *b <= FIELD_MAX ? SPMM_OK : wrong(f, SPMM_ERR_SYNTAX, *b, *e, "a number");
}

/** Reads the next number. As in Fortran, the last f->values.decimals digits of a number without a point are
 *  decimals, and a number without an exponent is divided by 10^scale. Both corrections change the exponent
 *  in the text before the text is parsed, so that the value is correctly rounded. */
static spmm_status next_value(hb_file *f, const sp_read_options *options, int64_t left, double *value)
{
    char field[FIELD_MAX + SP_PARSE_PAD + 1] = "", word[2 * FIELD_MAX] = "";
    const char *b, *e, *p;
    char *after;
    const char *stop;
    int n = 0, point = 0, shift = 0;
    long long exponent = 0;
    TRY(next_field(f, &f->values, left, &b, &e));
    memcpy(field, b, (size_t)(e - b)); /* the next field may follow without a blank */
    for (p = field; isdigit((unsigned char)*p) || *p == '.' || (p == field && (*p == '-' || *p == '+'));
         p++) {
        point |= *p == '.';
        word[n++] = *p;
    }
    const int numeric = n > 0 && !isalpha((unsigned char)p[strcspn(p, "iInN")]), has_exponent = numeric && *p;
    if (has_exponent) { /* E+05, D5, +05 */
        if (strchr("EeDdQq", *p)) p++;
        exponent = strtoll(p, &after, 10); /* a blank may stand for the sign; LLONG_MAX on overflow */
        p = after == p ? field : after;
    } else {
        shift = f->values.scale;
    }
    if (!point) shift += f->values.decimals;
    if (exponent > POWER_LIMIT) exponent = POWER_LIMIT;
    if (exponent < -POWER_LIMIT) exponent = -POWER_LIMIT;
    if (shift != 0 || has_exponent) snprintf(word + n, sizeof word - (size_t)n, "e%lld", exponent - shift);
    const sp_number_kind kind = sp_parse_real(numeric ? word : field, &stop, value);
    if (kind == SP_NUMBER_NONE || *stop || (numeric ? p : stop) != field + (e - b))
        return wrong(f, SPMM_ERR_SYNTAX, b, e, "a number");
    if (!options->allow_nonfinite &&
        (kind != SP_NUMBER_FINITE || isinf(sp_rounded(*value, options->precision))))
        return wrong(f, SPMM_ERR_SYNTAX, b, e,
                     "a finite value in the range of its type (or --allow-nonfinite)");
    return SPMM_OK;
}

/** Reads the column starts and row indices into the triplets. */
static spmm_status read_pattern(hb_file *f, int64_t *starts, sp_coo *coo)
{
    const char *b, *e;
    int64_t row;
    int upper = 0, lower = 0;
    f->at = f->starts.count;
    for (int64_t j = 0; j <= f->cols; j++) {
        TRY(next_field(f, &f->starts, f->cols + 1 - j, &b, &e));
        TRY(integer(f, b, e, j ? starts[j - 1] : 1, j ? f->entries + 1 : 1,
                    "a start of a column: from 1 to the number of entries + 1, ascending", &starts[j]));
    }
    if (starts[f->cols] != f->entries + 1)
        return sp_error_set(&f->error, SPMM_ERR_SYNTAX, f->text.lines,
                            "found %lld as the end of the last column, expected %lld",
                            (long long)starts[f->cols], (long long)f->entries + 1);
    f->at = f->indices.count;
    for (int64_t j = 0; j < f->cols; j++)
        for (int64_t k = starts[j] - 1; k < starts[j + 1] - 1; k++) {
            TRY(next_field(f, &f->indices, f->entries - k, &b, &e));
            TRY(integer(f, b, e, 1, f->rows, "a row index from 1 to the number of rows", &row));
            coo->I[k] = (int32_t)(row - 1);
            coo->J[k] = (int32_t)j;
            upper |= row - 1 < j;
            lower |= row - 1 > j;
            if (coo->symmetry != SP_GENERAL && upper && lower)
                return sp_error_set(&f->error, SPMM_ERR_SYNTAX, f->text.lines,
                                    "found entries of both triangles, expected one "
                                    "triangle of a symmetric matrix");
        }
    return SPMM_OK;
}

static spmm_status read_values(hb_file *f, const sp_read_options *options, sp_coo *coo)
{
    const int parts = f->type[0] == 'C' ? 2 : 1;
    f->at = f->values.count;
    for (int64_t k = 0; k < coo->nnz; k++) {
        double part[2] = {1.0, 0.0};
        for (int n = 0; f->type[0] != 'P' && n < parts; n++)
            TRY(next_value(f, options, (coo->nnz - k) * parts - n, &part[n]));
        if (coo->symmetry == SP_SKEW && coo->I[k] == coo->J[k] && (part[0] != 0 || part[1] != 0))
            return sp_error_set(&f->error, SPMM_ERR_SYNTAX, f->text.lines,
                                "found an entry of the diagonal, expected none but "
                                "zeros in a skew-symmetric matrix");
        sp_value_set(coo->val, coo->precision, k, __builtin_complex(part[0], part[1]));
    }
    return SPMM_OK;
}

static spmm_status read_body(hb_file *f, const sp_read_options *options, sp_coo *coo)
{
    int64_t *starts;
    const int symmetric = f->type[1] == 'S', skew = f->type[1] == 'Z', hermitian = f->type[1] == 'H';
    if (f->type[0] == 'C' && !sp_is_complex(options->precision))
        return sp_error_set(&f->error, SPMM_ERR_UNSUPPORTED, 3, SP_FOUND_COMPLEX);
    TRY(sp_memory_needs((double)f->cols * 8 +
                            (double)f->entries * (double)(8 + sp_value_size(options->precision)),
                        "its matrix"));
    TRY(sp_alloc((void **)&starts, f->cols + 1, sizeof *starts, "column starts"));
    spmm_status status = sp_coo_create(f->rows, f->cols, f->entries,
                                       symmetric   ? SP_SYMMETRIC
                                       : skew      ? SP_SKEW
                                       : hermitian ? SP_HERMITIAN
                                                   : SP_GENERAL,
                                       options->precision, f->type[0] != 'P' || skew, coo);
    if (status == SPMM_OK) status = read_pattern(f, starts, coo);
    if (status == SPMM_OK && coo->val) status = read_values(f, options, coo);
    sp_free(starts);
    return status;
}

/* ---- as a format of matrix files ---- */

static spmm_status told(hb_file *f, spmm_status status)
{
    return f->error.status != SPMM_OK ? sp_error_tell(&f->error, f->path) : status;
}

/** Returns 1 if lines three and four of the text have the form of a Harwell-Boeing header. */
static int is_head(sp_text *text)
{
    sp_read_error error = {0};
    const char *p, *end;
    for (int k = 1; k <= 4; k++) {
        if (sp_text_line(text, &p, &end, &error) != SPMM_OK || !p) return 0;
        if (k <= 2 && end - p > 256) return 0;
        if (k == 3 && (end - p < TYPE_AT + 2 * CARD_INT || !memchr("RCPIQrcpiq", *p, 10) ||
                       !memchr("USHZRushzr", p[1], 10) || !memchr("AEae", p[2], 4) || !sp_is_blank(p[3])))
            return 0;
        if (k == 4) return *sp_skip_blanks(p) == '(';
    }
    return 0;
}

static int is_hb(int fd, const sp_read_options *options)
{
    char head[2];
    sp_text text;
    (void)options;
    if (sp_file_peek(fd, head, 2, 0) == 2 && memcmp(head, "%%", 2) == 0) return 0;
    const int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (other < 0 || sp_text_open("", other, SP_LINE_MAX, &text) != SPMM_OK) return 0;
    const int is = is_head(&text);
    sp_text_close(&text);
    return is;
}

static void close_hb(void *file)
{
    hb_file *const f = file;
    sp_text_close(&f->text);
    sp_free(f);
}

static spmm_status open_hb(const char *path, int fd, const sp_read_options *options, void **file)
{
    hb_file *f;
    (void)options;
    *file = NULL;
    const spmm_status made = sp_alloc_zero((void **)&f, 1, sizeof *f, "a matrix file");
    if (made != SPMM_OK) {
        close(fd);
        return made;
    }
    f->path = path;
    sp_numparse_init();
    spmm_status status = sp_text_open(path, fd, SP_LINE_MAX, &f->text);
    if (status == SPMM_OK) status = told(f, read_head(f));
    if (status == SPMM_OK)
        *file = f;
    else
        close_hb(f);
    return status;
}

static sp_sizes sizes_of_hb(const void *file)
{
    const hb_file *const f = file;
    return (sp_sizes){f->rows, f->cols, f->entries};
}

static spmm_status read_hb(void *file, const sp_read_options *options, spmm_csr *a, sp_mtx_info *info,
                           int64_t *stored, int64_t *duplicates)
{
    hb_file *const f = file;
    sp_coo coo = {0};
    *a = (spmm_csr){0};
    spmm_status status = told(f, read_body(f, options, &coo));
    *stored = f->entries;
    *info = (sp_mtx_info){
        .format = "harwell-boeing", .stored = f->entries, .bytes = sp_text_position(&f->text)};
    snprintf(info->field, sizeof info->field, "%s",
             f->type[0] == 'R'   ? "real"
             : f->type[0] == 'C' ? "complex"
             : f->type[0] == 'I' ? "integer"
                                 : "pattern");
    snprintf(info->symmetry, sizeof info->symmetry, "%s",
             f->type[1] == 'S'   ? "symmetric"
             : f->type[1] == 'Z' ? "skew-symmetric"
             : f->type[1] == 'H' ? "hermitian"
                                 : "general");
    if (status == SPMM_OK) status = sp_csr_from_coo(&coo, options->threads, a, duplicates);
    sp_coo_destroy(&coo);
    return status;
}

const sp_matrix_format sp_file_format_harwell_boeing = {.name = "Harwell-Boeing",
                                                        .way = SP_FILE_WHOLE,
                                                        .is = is_hb,
                                                        .open = open_hb,
                                                        .sizes = sizes_of_hb,
                                                        .read = read_hb,
                                                        .close = close_hb};
