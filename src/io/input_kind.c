/** Recognizes files that are not text, by their first bytes, and tells the user what to do with them. */
#include "io/input_kind.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MATRIX_MARKET "write it as Matrix Market first, as SciPy's scipy.io.mmwrite does"
#define UNPACK(command) "unpack it first (" command ")"

#define FROM_NPZ                                                                                                                           \
    "an .npz is read only for A, and uncompressed; else write it as Matrix Market first (python3 -c \"import scipy.io as i, scipy.sparse " \
    "as s; i.mmwrite('A.mtx', s.load_npz('FILE'))\")"
#define FROM_MAT                                                                                                    \
    "convert it first, with the name of its variable for A (python3 -c \"import scipy.io as i, scipy.sparse as s; " \
    "s.save_npz('A.npz', s.csr_matrix(i.loadmat('FILE')['A']))\")"
#define FROM_HDF5                                                                                                            \
    "convert it first, with the names of its datasets (python3 -c \"import h5py, scipy.sparse as s; f = h5py.File('FILE'); " \
    "s.save_npz('A.npz', s.csr_matrix((f['data'][:], f['indices'][:], f['indptr'][:])))\")"
#define SWAPPED "write it in big-endian byte order, as PETSc's MatView() and VecView() do on every machine"
#define DOWNLOAD "a download may have returned it instead of the file"

/** The known file types that are not text, in addition to the compressed ones of codec.h. */
static const struct {
    const char *what, *do_what;
    int at, bytes;
    const char *magic;
} kinds[] = {
    {"lzma data", UNPACK("xz -dk --format=lzma FILE"), 0, 3, "\x5D\0\0"},
    {"lz4 data", UNPACK("lz4 -d FILE"), 0, 4, "\x04\x22\x4D\x18"},
    {"lzip data", UNPACK("lzip -dk FILE"), 0, 4, "LZIP"},
    {"compress data", UNPACK("zcat FILE > OTHER"), 0, 2, "\x1F\x9D"},
    {"a .npz file of SciPy", FROM_NPZ, 30, 11, "indices.npy"},
    {"a .npz file of SciPy", FROM_NPZ, 30, 7, "row.npy"},
    {"a .npz file of NumPy", MATRIX_MARKET, 30, 9, "arr_0.npy"},
    {"a zip archive", UNPACK("unzip FILE"), 0, 4, "PK\3\4"},
    {"an empty zip archive", "give the matrix itself", 0, 4, "PK\5\6"},
    {"a 7z archive", UNPACK("7z x FILE"), 0, 6, "7z\xBC\xAF\x27\x1C"},
    {"a RAR archive", UNPACK("unrar x FILE"), 0, 6, "Rar!\x1A\x07"},
    {"a tar archive", UNPACK("tar -xf FILE") " and give its matrix", 257, 5, "ustar"},
    {"HDF5 data", FROM_HDF5, 0, 8, "\x89HDF\r\n\x1A\n"},
    {"a MATLAB file", FROM_MAT, 0, 7, "MATLAB "},
    {"a NumPy array", MATRIX_MARKET, 0, 6, "\x93NUMPY"},
    {"a PETSc matrix", MATRIX_MARKET, 0, 4, "\0\x12\x7B\x50"},
    {"a PETSc matrix", MATRIX_MARKET, 0, 8, "\0\0\0\0\0\x12\x7B\x50"},
    {"a PETSc vector", MATRIX_MARKET, 0, 4, "\0\x12\x7B\x4E"},
    {"a PETSc vector", MATRIX_MARKET, 0, 8, "\0\0\0\0\0\x12\x7B\x4E"},
    {"a byte-swapped PETSc matrix", SWAPPED, 0, 4, "\x50\x7B\x12\0"},
    {"a byte-swapped PETSc vector", SWAPPED, 0, 4, "\x4E\x7B\x12\0"},
    {"a .spmm file of an earlier version", "convert it with that version (--convert FILE.npz)", 0, 8,
     "SPMMfile"},
    {"UTF-16 text", "convert it first (iconv -f UTF-16 -t UTF-8 FILE > OTHER)", 0, 2, "\xFF\xFE"},
    {"UTF-16 text", "convert it first (iconv -f UTF-16 -t UTF-8 FILE > OTHER)", 0, 2, "\xFE\xFF"},
    {"a web page", DOWNLOAD, 0, 2, "<!"},
    {"a web page", DOWNLOAD, 0, 5, "<html"},
    {"JSON", DOWNLOAD, 0, 2, "{\""},
    {"a Git LFS pointer", "fetch the file that it stands for (git lfs pull)", 0, 24,
     "version https://git-lfs."},
    {"a PDF", "give the matrix itself", 0, 5, "%PDF-"},
};

/** Writes a message about data, compressed by `packed`, that are not decompressed here.
 *  \param [in] outer  NULL: the file itself is compressed by `packed`, which this build cannot decompress;
 *                     else the codec of the file, inside whose data the data compressed by `packed` were
 *                     found */
static void describe_packed(const sp_codec *packed, const sp_codec *outer, char *text, size_t n)
{
    if (outer)
        snprintf(text, n, "found %s data inside %s data, expected text in it: " UNPACK("%s FILE"),
                 packed->name, outer->name, outer->unpack);
    else
        snprintf(text, n,
                 "found %s data, which this build cannot read, expected text, plain or compressed by %s:"
                 " " UNPACK("%s FILE") ", or build with %s",
                 packed->name, sp_codec_names(), packed->unpack, packed->library);
}

/** Returns 1 if the bytes begin a MATLAB file of version 4. Instead of a magic number, it has five int32
 *  numbers (type, rows, columns, imaginary part, length of the name) and a name. */
static int is_matlab_4(const unsigned char *head, int64_t n)
{
    int32_t number[5];
    if (n < (int64_t)sizeof number + 1) return 0;
    memcpy(number, head, sizeof number);
    const int32_t type = number[0], length = number[4];
    return type >= 0 && type <= 52 && type % 10 <= 2 && number[1] >= 0 && number[2] >= 0 &&
           (number[3] | 1) == 1 && length > 1 && length <= n - (int64_t)sizeof number &&
           head[sizeof number + (size_t)length - 1] == 0 && isalpha(head[sizeof number]);
}

/** Returns 1 if a file of this kind can be read when it is not compressed. */
static int is_readable(const char *what) { return strncmp(what, "a PETSc ", 8) == 0; }

const char *sp_foreign_kind(const unsigned char *head, int64_t n, const sp_codec *outer)
{
    static _Thread_local char text[512];
    const sp_codec *const packed = sp_codec_of(head, n);
    if (packed) {
        describe_packed(packed, outer, text, sizeof text);
        return text;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (n < kinds[i].at + kinds[i].bytes) continue;
        if (memcmp(head + kinds[i].at, kinds[i].magic, (size_t)kinds[i].bytes) != 0) continue;
        if (outer && is_readable(kinds[i].what)) {
            snprintf(text, sizeof text, "found %s inside %s data, expected it plain: " UNPACK("%s FILE"),
                     kinds[i].what, outer->name, outer->unpack);
            return text;
        }
        snprintf(text, sizeof text, "found %s, expected text, plain or compressed by %s: %s", kinds[i].what,
                 sp_codec_names(), kinds[i].do_what);
        return text;
    }
    if (!is_matlab_4(head, n)) return NULL;
    snprintf(text, sizeof text, "found a MATLAB file, expected text: " FROM_MAT);
    return text;
}

/** What a line of text consists of. */
typedef struct line_words {
    size_t bytes;
    int words;
    int numbers; /* words that consist only of digits and . + - e E */
    int names;   /* words of letters and _ alone */
} line_words;

static line_words words_of(const char *p, const char *end)
{
    const char *const newline = memchr(p, '\n', (size_t)(end - p)), *const last = newline ? newline : end;
    line_words w = {.bytes = (size_t)(last - p)};
    while (p < last) {
        const char *q = p;
        int digits = 0, letters = 0;
        for (; q < last && !isspace((unsigned char)*q); q++) {
            digits += isdigit((unsigned char)*q) || strchr(".+-eE", *q);
            letters += isalpha((unsigned char)*q) || *q == '_';
        }
        w.words += q > p;
        w.numbers += q > p && digits == q - p && digits > letters;
        w.names += q > p && letters == q - p;
        p = q + 1;
    }
    return w;
}

#define CSV                                                                                                  \
    "comma-separated values: convert them to an edge list without column names (tr ',' ' ' < FILE > OTHER)," \
    " for --read-as edges, or write Matrix Market"

/** Returns what a text without the banner of Matrix Market looks like, and what to do; NULL: unknown. */
static const char *text_kind(const char *p, const char *end)
{
    const line_words w = words_of(p, end);
    /* a Harwell-Boeing file begins with a title of 72 characters and a key of at most 8 */
    const int card = w.bytes >= 73 && w.bytes <= 81, few = w.words >= 2 && w.words <= 4;
    if (*p == '#' || (*p == '%' && w.bytes > 1 && p[1] != '%') ||
        (w.numbers == w.words && few && w.words < 4))
        return "an edge list: --read-as edges reads it";
    if (w.bytes >= 11 && (memcmp(p, "Mat Object:", 11) == 0 || memcmp(p, "Vec Object:", 11) == 0))
        return "PETSc's ASCII output: write it to a binary viewer, e.g. by -mat_view binary:A.petsc";
    if (memchr(p, ',', w.bytes)) return CSV;
    if (w.numbers == 4 && few)
        return "output of hypre's IJ interface, or an edge list of four columns: remove the first line of "
               "the output (tail -n +2 FILE > OTHER), or the fourth column of the list (awk '{print $1, "
               "$2, $3}' FILE > OTHER), and add --read-as edges";
    if (w.names == w.words && few)
        return "column names: remove them (tail -n +2 FILE > OTHER), and add --read-as edges for an edge "
               "list";
    return card ? "a Harwell-Boeing or Rutherford-Boeing file: " MATRIX_MARKET : NULL;
}

const char *sp_text_kind(const char *p, const char *end)
{
    static _Thread_local char text[320];
    const char *const kind = text_kind(p, end);
    if (!kind) return "";
    snprintf(text, sizeof text, " (this looks like %s)", kind);
    return text;
}
