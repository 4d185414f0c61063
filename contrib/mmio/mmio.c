/** Implements the NIST Matrix Market I/O functions that include/mmio.h declares.
 *
 *  libspmm itself reads matrices with io/mtx_*.c instead, because this interface reads from a FILE with one
 *  thread, into triplets of int and double, returns a number for an error, does not decompress, and leaves
 *  the other triangle of a symmetric matrix to its caller. Both readers use io/mtx_banner.h and
 *  io/numparse.h: they know the same banners and sizes, and their values have the same bits. */
#include "mmio.h"

#include <ctype.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/fp_environment.h"
#include "io/mtx_banner.h"
#include "io/numparse.h"

/* ---- typecodes: the four letters that describe a matrix ---- */

char *mm_typecode_to_str(MM_typecode matcode)
{
    char text[MM_MAX_LINE_LENGTH];
    size_t n = 0;
    if (!mm_is_matrix(matcode)) return NULL;
    for (int k = 0; k < SP_BANNER_WORDS; k++) {
        const char *const t = sp_banner_text(k, matcode[k]);
        if (!t) return NULL;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", k ? " " : "", t);
    }
    return strdup(text);
}

int mm_is_valid(MM_typecode matcode)
{
    if (!mm_is_matrix(matcode)) return 0;
    if (mm_is_dense(matcode) && mm_is_pattern(matcode)) return 0;
    if (mm_is_real(matcode) && mm_is_hermitian(matcode)) return 0;
    return !(mm_is_pattern(matcode) && (mm_is_hermitian(matcode) || mm_is_skew(matcode)));
}

/* ---- reading words; no text after the word is consumed, so that callers may use fscanf() in between ---- */

/** WORD_BYTES: buffer size for any number that a person or a program writes; longer words are refused.
 *  LINE_BYTES: buffer size for any banner or size line. The other constants are results of read_word(). */
enum { WORD_BYTES = 1100, LINE_BYTES = 4 * WORD_BYTES, WORD_NONE = 0, WORD_FOUND = 1, WORD_TOO_LONG = 2 };

static int skip_line(FILE *f)
{
    int c;
    do c = getc_unlocked(f);
    while (c != '\n' && c != EOF);
    return c;
}

/** Reads the next word of f that is not in a comment, which begins with %, and appends the padding that
 *  io/numparse.h needs. \return WORD_NONE, WORD_FOUND, WORD_TOO_LONG */
static int read_word(FILE *f, char text[WORD_BYTES + SP_PARSE_PAD])
{
    int c, n = 0;
    do {
        c = getc_unlocked(f);
        if (c == '%') c = skip_line(f);
    } while (c != EOF && isspace(c));
    for (; c != EOF && !isspace(c); c = getc_unlocked(f)) {
        if (n == WORD_BYTES - 1) return WORD_TOO_LONG;
        text[n++] = (char)c;
    }
    if (c != EOF) ungetc(c, f);
    memset(text + n, 0, SP_PARSE_PAD + 1);
    return n > 0 ? WORD_FOUND : WORD_NONE;
}

static int read_integer(FILE *f, int64_t *value)
{
    char text[WORD_BYTES + SP_PARSE_PAD];
    const char *stop;
    *value = 0;
    if (read_word(f, text) != WORD_FOUND) return MM_PREMATURE_EOF;
    return sp_parse_int64(text, &stop, value) > 0 && *stop == '\0' ? 0 : MM_PREMATURE_EOF;
}

static int read_real(FILE *f, double *value)
{
    char text[WORD_BYTES + SP_PARSE_PAD];
    const char *stop;
    if (read_word(f, text) != WORD_FOUND) return MM_PREMATURE_EOF;
    return sp_parse_real(text, &stop, value) == SP_NUMBER_NONE || *stop != '\0' ? MM_PREMATURE_EOF : 0;
}

/* ---- reading and writing the banner and the size line ---- */

static void skip_byte_order_mark(FILE *f)
{
    const int c = getc_unlocked(f);
    if (c != 0xEF) {
        if (c != EOF) ungetc(c, f);
        return;
    }
    (void)getc_unlocked(f);
    (void)getc_unlocked(f);
}

/** Reads the rest of a line, of which only the first LINE_BYTES - 1 bytes are kept: no banner and no sizes
 *  are longer. The line ends with a newline, and with the padding that io/numparse.h needs. */
static void read_line(FILE *f, char line[LINE_BYTES + SP_PARSE_PAD])
{
    int c, n = 0;
    for (c = getc_unlocked(f); c != '\n' && c != EOF; c = getc_unlocked(f))
        if (n < LINE_BYTES - 1) line[n++] = (char)c;
    line[n++] = '\n';
    memset(line + n, 0, SP_PARSE_PAD);
}

int mm_read_banner(FILE *f, MM_typecode *matcode)
{
    char line[LINE_BYTES + SP_PARSE_PAD];
    const char *p = line;
    mm_clear_typecode(matcode);
    skip_byte_order_mark(f);
    read_line(f, line);
    const sp_word mark = sp_next_word(&p);
    if (mark.begin == mark.end) return MM_PREMATURE_EOF;
    if (!sp_is_banner_mark(mark)) return MM_NO_HEADER;
    for (int k = 0; k < SP_BANNER_WORDS; k++) {
        const sp_word word = sp_next_word(&p);
        const char letter = sp_banner_letter(k, word);
        if (word.begin == word.end) return MM_PREMATURE_EOF;
        if (!letter || (k == SP_BANNER_OBJECT && letter != 'M')) return MM_UNSUPPORTED_TYPE;
        (*matcode)[k] = letter;
    }
    return 0;
}

/** Reads `count` numbers, each from 0 to `limit`, from the first line that is neither blank nor a comment. */
static int read_sizes(FILE *f, int count, int64_t limit, int64_t *size)
{
    char line[LINE_BYTES + SP_PARSE_PAD];
    const char *p = line;
    for (int c;;) { /* skips to the first character of the size line */
        c = getc_unlocked(f);
        if (c == '%') c = skip_line(f);
        if (c == EOF) return MM_PREMATURE_EOF;
        if (isspace(c)) continue;
        ungetc(c, f);
        break;
    }
    read_line(f, line);
    for (int k = 0; k < count; k++) {
        const sp_size_kind kind = sp_parse_size(sp_next_word(&p), limit, &size[k]);
        if (kind == SP_SIZE_NONE || kind == SP_SIZE_NO_NUMBER) return MM_PREMATURE_EOF;
        if (kind != SP_SIZE_FOUND) return MM_UNSUPPORTED_TYPE;
    }
    return 0;
}

int mm_read_mtx_crd_size64(FILE *f, int64_t *M, int64_t *N, int64_t *nz)
{
    int64_t size[3] = {0, 0, 0};
    const int status = read_sizes(f, 3, INT64_MAX, size);
    *M = status ? 0 : size[0];
    *N = status ? 0 : size[1];
    *nz = status ? 0 : size[2];
    return status;
}

int mm_read_mtx_crd_size(FILE *f, int *M, int *N, int *nz)
{
    int64_t size[3] = {0, 0, 0};
    const int status = read_sizes(f, 3, INT_MAX, size);
    *M = status ? 0 : (int)size[0];
    *N = status ? 0 : (int)size[1];
    *nz = status ? 0 : (int)size[2];
    return status;
}

int mm_read_mtx_array_size64(FILE *f, int64_t *M, int64_t *N)
{
    int64_t size[2] = {0, 0};
    const int status = read_sizes(f, 2, INT64_MAX, size);
    *M = status ? 0 : size[0];
    *N = status ? 0 : size[1];
    return status;
}

int mm_read_mtx_array_size(FILE *f, int *M, int *N)
{
    int64_t size[2] = {0, 0};
    const int status = read_sizes(f, 2, INT_MAX, size);
    *M = status ? 0 : (int)size[0];
    *N = status ? 0 : (int)size[1];
    return status;
}

static int written(int characters) { return characters < 0 ? MM_COULD_NOT_WRITE_FILE : 0; }

int mm_write_banner(FILE *f, MM_typecode matcode)
{
    char *const text = mm_typecode_to_str(matcode);
    const int status = text ? written(fprintf(f, "%s %s\n", MatrixMarketBanner, text))
                            : MM_COULD_NOT_WRITE_FILE;
    free(text);
    return status;
}

int mm_write_mtx_crd_size64(FILE *f, int64_t M, int64_t N, int64_t nz)
{
    return written(fprintf(f, "%lld %lld %lld\n", (long long)M, (long long)N, (long long)nz));
}

int mm_write_mtx_crd_size(FILE *f, int M, int N, int nz) { return mm_write_mtx_crd_size64(f, M, N, nz); }

int mm_write_mtx_array_size64(FILE *f, int64_t M, int64_t N)
{
    return written(fprintf(f, "%lld %lld\n", (long long)M, (long long)N));
}

int mm_write_mtx_array_size(FILE *f, int M, int N) { return mm_write_mtx_array_size64(f, M, N); }

/* ---- reading entries ---- */

static int values_of(const char *matcode)
{
    if (mm_is_pattern(matcode)) return 0;
    if (mm_is_real(matcode) || mm_is_integer(matcode)) return 1;
    return mm_is_complex(matcode) ? 2 : -1;
}

static int read_index(FILE *f, int *index)
{
    int64_t value;
    const int status = read_integer(f, &value);
    *index = (int)value;
    return status != 0 || value < INT_MIN || value > INT_MAX ? MM_PREMATURE_EOF : 0;
}

int mm_read_mtx_crd_entry(FILE *f, int *I, int *J, double *real, double *imag, MM_typecode matcode)
{
    SP_DEFAULT_FP;
    const int values = values_of(matcode);
    if (values < 0) return MM_UNSUPPORTED_TYPE;
    sp_numparse_init();
    if (read_index(f, I) != 0 || read_index(f, J) != 0) return MM_PREMATURE_EOF;
    if (values > 0 && read_real(f, real) != 0) return MM_PREMATURE_EOF;
    if (values > 1 && read_real(f, imag) != 0) return MM_PREMATURE_EOF;
    return 0;
}

int mm_read_mtx_crd_data(FILE *f, int M, int N, int nz, int I[], int J[], double val[], MM_typecode matcode)
{
    const int values = values_of(matcode);
    if (values < 0) return MM_UNSUPPORTED_TYPE;
    for (int k = 0; k < nz; k++) {
        double value[2] = {0, 0};
        const int status = mm_read_mtx_crd_entry(f, &I[k], &J[k], &value[0], &value[1], matcode);
        if (status != 0) return status;
        if (I[k] < 1 || I[k] > M || J[k] < 1 || J[k] > N) return MM_PREMATURE_EOF;
        for (int c = 0; c < values; c++) val[(size_t)k * (size_t)values + (size_t)c] = value[c];
    }
    return 0;
}

/* ---- reading and writing whole files ---- */

/** The matrix in a file that is being read; its arrays grow as entries are read. */
typedef struct matrix {
    int rows, cols, nz, values;
    int *I, *J;
    double *val;
} matrix;

static void free_matrix(matrix *m)
{
    free(m->I);
    free(m->J);
    free(m->val);
    m->I = m->J = NULL;
    m->val = NULL;
}

/** Grows the arrays of m to n entries. Callers grow the arrays step by step while they read entries, so that
 *  a false size line does not cause a huge allocation. */
static int grow(matrix *m, size_t n)
{
    int *const i = realloc(m->I, n * sizeof *i);
    if (i) m->I = i;
    int *const j = realloc(m->J, n * sizeof *j);
    if (j) m->J = j;
    if (!i || !j) return MM_COULD_NOT_READ_FILE;
    if (m->values == 0) return 0;
    double *const v = realloc(m->val, n * (size_t)m->values * sizeof *v);
    if (v) m->val = v;
    return v ? 0 : MM_COULD_NOT_READ_FILE;
}

static int read_entries(FILE *f, matrix *m, MM_typecode matcode)
{
    enum { FIRST = 1 << 16 };
    int done = 0;
    int status = grow(m, m->nz > 0 ? (size_t)(m->nz < FIRST ? m->nz : FIRST) : 1);
    for (int room = m->nz < FIRST ? m->nz : FIRST; status == 0 && done < m->nz;) {
        double *const val = m->val ? m->val + (size_t)done * (size_t)m->values : NULL;
        status = mm_read_mtx_crd_data(f, m->rows, m->cols, room - done, m->I + done, m->J + done, val,
                                      matcode);
        done = room;
        room = m->nz - room < room ? m->nz : 2 * room;
        if (status == 0 && done < m->nz) status = grow(m, (size_t)room);
    }
    return status;
}

static int read_file(const char *fname, matrix *m, MM_typecode *matcode)
{
    const int standard = strcmp(fname, "stdin") == 0;
    FILE *const f = standard ? stdin : fopen(fname, "r");
    memset(m, 0, sizeof *m);
    if (!f) return MM_COULD_NOT_READ_FILE;
    int status = mm_read_banner(f, matcode);
    if (status == 0 && !(mm_is_valid(*matcode) && mm_is_sparse(*matcode))) status = MM_UNSUPPORTED_TYPE;
    if (status == 0) status = mm_read_mtx_crd_size(f, &m->rows, &m->cols, &m->nz);
    m->values = values_of(*matcode);
    if (status == 0) status = read_entries(f, m, *matcode);
    if (!standard) fclose(f);
    if (status != 0) free_matrix(m);
    return status;
}

int mm_read_mtx_crd(const char *fname, int *M, int *N, int *nz, int **I, int **J, double **val,
                    MM_typecode *matcode)
{
    matrix m;
    const int status = read_file(fname, &m, matcode);
    *M = m.rows;
    *N = m.cols;
    *nz = m.nz;
    *I = m.I;
    *J = m.J;
    *val = m.val;
    return status;
}

int mm_read_unsymmetric_sparse(const char *fname, int *M_, int *N_, int *nz_, double **val_, int **I_,
                               int **J_)
{
    MM_typecode matcode;
    matrix m;
    int status = read_file(fname, &m, &matcode);
    if (status == 0 && !mm_is_real(matcode) && !mm_is_integer(matcode)) {
        free_matrix(&m);
        status = MM_UNSUPPORTED_TYPE;
    }
    for (int k = 0; status == 0 && k < m.nz; k++) {
        m.I[k]--;
        m.J[k]--;
    }
    *M_ = m.rows;
    *N_ = m.cols;
    *nz_ = m.nz;
    *val_ = m.val;
    *I_ = m.I;
    *J_ = m.J;
    return status == 0 ? 0 : -1;
}

static int write_entries(FILE *f, int nz, const int *I, const int *J, const double *val, int values)
{
    SP_DEFAULT_FP;
    for (int k = 0; k < nz; k++) {
        fprintf(f, "%d %d", I[k], J[k]);
        for (int c = 0; c < values; c++) fprintf(f, " %.17g", val[(size_t)k * (size_t)values + (size_t)c]);
        if (putc('\n', f) == EOF) return MM_COULD_NOT_WRITE_FILE;
    }
    return ferror(f) ? MM_COULD_NOT_WRITE_FILE : 0;
}

int mm_write_mtx_crd(const char *fname, int M, int N, int nz, int I[], int J[], double val[],
                     MM_typecode matcode)
{
    const int values = values_of(matcode), standard = strcmp(fname, "stdout") == 0;
    if (values < 0) return MM_UNSUPPORTED_TYPE;
    FILE *const f = standard ? stdout : fopen(fname, "w");
    if (!f) return MM_COULD_NOT_WRITE_FILE;
    /* this thread writes in the C locale, because the locale of the program may use a decimal comma */
    const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    int status = mm_write_banner(f, matcode);
    if (status == 0) status = mm_write_mtx_crd_size(f, M, N, nz);
    if (status == 0) status = write_entries(f, nz, I, J, val, values);
    if (c_locale) {
        uselocale(before);
        freelocale(c_locale);
    }
    if (standard ? fflush(f) != 0 : fclose(f) != 0) status = MM_COULD_NOT_WRITE_FILE;
    return status;
}
