/** Fuzz targets: functions that pass any bytes to a reader, and abort if it behaves wrongly.
 *
 *  `make fuzz` links each with libFuzzer; tests/test_fuzz_corpus.c runs all of them on the files of
 *  tests/fuzz/corpus.tar.gz.
 *
 *  An input begins with a head of four bytes, which sets how it is read; printable in files written by hand:
 *
 *      byte 0   the size of the pieces in which a file is read: [byte % 16] of a list ('0' is 1 byte)
 *      byte 1   bits 0, 1: threads (1, 2, 3, 1); bit 2: f32; bit 3: inf and nan are allowed; bits 4 to 7:
 *               `extra`, with a meaning for each target; its lower two bits are inverted ('0': none is set)
 *      byte 2   which calls fail, byte % 16: 0 to 7 none, 8 to 15 a kind of fuzz_fault ('0': none)
 *      byte 3   how many of those calls succeed first, byte % 64 ('@': none)
 *
 *  The meaning of the rest depends on the target: mostly it is the file itself. */
#ifndef SP_FUZZ_H
#define SP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io/mtx_read.h"

/** The targets; each accepts an input of any length, and returns 0. */
#define FUZZ_TARGETS(X) \
    X(mtx)              \
    X(gzip) X(csv) X(options) X(mmio) X(numbers) X(petsc) X(npz) X(edges) X(harwell_boeing)
#define FUZZ_DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)
#undef FUZZ_DECLARE

enum {
    FUZZ_HEAD = 4,
    FUZZ_WHOLE = 1 << 13 /**< size of pieces, larger than any file, in bytes */
};

/** A fault that system calls and allocations of the code under test have. */
typedef enum fuzz_fault {
    FUZZ_NO_FAULT,
    FUZZ_ALLOC_ONCE = 8, /**< one allocation fails */
    FUZZ_ALLOC_FROM,     /**< all fail from one on */
    FUZZ_IO_ONCE,        /**< one call on a file fails */
    FUZZ_IO_FROM,
    FUZZ_SHORT,  /**< reads and writes transfer half of the bytes asked for: the outcome is the same */
    FUZZ_INTR,   /**< one read or write is interrupted: the outcome is the same */
    FUZZ_CHANGE, /**< the text of the file changes between reads */
    FUZZ_CUT     /**< the file has become shorter */
} fuzz_fault;

typedef struct fuzz_input {
    const uint8_t *data; /**< after the head */
    size_t size;
    int64_t chunk;        /**< SPMM_READ_CHUNK_BYTES */
    sp_read_options read; /**< threads, precision, allow_nonfinite */
    unsigned extra;       /**< 4 bits, with a meaning for each target */
    fuzz_fault fault;
    int fault_after;
} fuzz_input;

/** Reads the head, and records what is allocated and open. Returns 0 if the input is too short for a
 *  head. */
int fuzz_begin(fuzz_input *in, const char *target, const uint8_t *data, size_t size);

/** Aborts if memory or files from after fuzz_begin() are still allocated or open. Returns 0. */
int fuzz_end(void);

/** Prints what is wrong, and aborts. */
void fuzz_fail(const char *format, ...) SP_PRINTF(1, 2) __attribute__((noreturn));
#define FUZZ_CHECK(condition) \
    ((condition) ? (void)0 : fuzz_fail("%s:%d: not true: %s", __FILE__, __LINE__, #condition))

/** Puts bytes into a file in memory; returns its name, the same for all inputs. */
const char *fuzz_file(const void *data, size_t size);

/** Returns the path of the file `name` in a temporary folder, for files that the code under test writes. */
const char *fuzz_folder_file(const char *name);

/** Removes the file `path` of fuzz_folder_file(), if it exists, and aborts if anything else is left in the
 *  folder. Returns whether the file existed. */
int fuzz_folder_clean(const char *path);

/** Sets the size of the pieces in which files are read. */
void fuzz_chunk(int64_t bytes);

/** Writes bytes to the file `path`. */
void fuzz_put(const char *path, const void *data, size_t size);

/** Calls a program's function that prints its help. */
void fuzz_help(void (*help)(int, FILE *));

/** Parses arguments of series_mpi, reordering argv, and aborts if the result is invalid. Returns the status;
 *  SPMM_OK, without parsing, in a build without series_mpi. */
spmm_status fuzz_series_options(int argc, char **argv);

/** Activates the input's fault, until fuzz_fault_off(). */
void fuzz_fault_on(const fuzz_input *in);
void fuzz_fault_off(void);

/** Whether the input's fault must not change the outcome. */
static inline int fuzz_harmless(const fuzz_input *in)
{
    return in->fault == FUZZ_SHORT || in->fault == FUZZ_INTR;
}

/** How an error message must begin. */
typedef enum fuzz_message {
    FUZZ_ANY,  /**< with any text */
    FUZZ_PATH, /**< with "PATH:" */
    FUZZ_LINE  /**< errors in the text: with "PATH:LINE: "; others: with "PATH:" */
} fuzz_message;

/** Aborts unless status is an error whose message is one printable line that begins as required. */
void fuzz_refused(spmm_status status, const char *path, fuzz_message begins);

/** Aborts unless two CSR matrices are the same, bit for bit. */
void fuzz_same_csr(const spmm_csr *a, const spmm_csr *b);

#endif
