/** Fuzz targets: functions that take any bytes, feed them to a reader, and abort where it does wrong.
 *
 *  `make fuzz` links each with libFuzzer; tests/test_fuzz_corpus.c runs all of them on the files of
 *  tests/fuzz/corpus.tar.gz.
 *
 *  An input begins with four bytes that say how it is read, printable ones in files written by hand:
 *
 *      byte 0   the size of the pieces that a file is read in, [byte % 16] of a list ('0' is 1 byte)
 *      byte 1   bits 0, 1: threads (1, 2, 3, 1); bit 2: f32; bit 3: inf and nan are allowed; bits 4 to 7:
 *               `extra`, the target's, 4 bits, of which the lower two are turned round ('0': none is set)
 *      byte 2   which calls fail, byte % 16: 0 to 7 none, 8 to 15 a kind of fuzz_fault ('0': none)
 *      byte 3   how many of those calls succeed before, byte % 64 ('@': none)
 *
 *  The rest is the target's: mostly the file itself. */
#ifndef SP_FUZZ_H
#define SP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "io/mtx_read.h"

/** The targets; each takes an input, of any length, and returns 0. */
#define FUZZ_TARGETS(X) \
    X(mtx)              \
    X(gzip) X(spmm) X(csv) X(options) X(mmio) X(tune) X(numbers) X(petsc) X(npz) X(edges) X(harwell_boeing)
#define FUZZ_DECLARE(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_TARGETS(FUZZ_DECLARE)
#undef FUZZ_DECLARE

enum {
    FUZZ_HEAD = 4,
    FUZZ_WHOLE = 1 << 13 /**< bytes of a piece that has all of a file */
};

/** What the system does to the code under test. */
typedef enum fuzz_fault {
    FUZZ_NO_FAULT,
    FUZZ_ALLOC_ONCE = 8, /**< one allocation fails */
    FUZZ_ALLOC_FROM,     /**< all do from there on */
    FUZZ_IO_ONCE,        /**< one call on a file fails */
    FUZZ_IO_FROM,
    FUZZ_SHORT,  /**< reads and writes move half of what is asked for: changes nothing */
    FUZZ_INTR,   /**< one read or write is interrupted: changes nothing */
    FUZZ_CHANGE, /**< what is read is another text than a moment before */
    FUZZ_CUT     /**< the file has become shorter */
} fuzz_fault;

typedef struct fuzz_input {
    const uint8_t *data; /**< behind the head */
    size_t size;
    int64_t chunk;        /**< SPMM_READ_CHUNK_BYTES */
    sp_read_options read; /**< threads, precision, allow_nonfinite */
    unsigned extra;       /**< 4 bits, whose meaning is the target's */
    fuzz_fault fault;
    int fault_after;
} fuzz_input;

/** Reads the head and notes what is allocated and open. Returns 0 where the input is too short to have
 *  one. */
int fuzz_begin(fuzz_input *in, const char *target, const uint8_t *data, size_t size);

/** Aborts if anything that was allocated or opened since fuzz_begin() still is. Returns 0. */
int fuzz_end(void);

/** Says what is wrong, and aborts. */
void fuzz_fail(const char *format, ...) SP_PRINTF(1, 2) __attribute__((noreturn));
#define FUZZ_CHECK(condition) \
    ((condition) ? (void)0 : fuzz_fail("%s:%d: not true: %s", __FILE__, __LINE__, #condition))

/** Puts bytes into a file in memory; returns its name, the same for all inputs. */
const char *fuzz_file(const void *data, size_t size);

/** A name in a folder of its own, for what is written. */
const char *fuzz_folder_file(const char *name);

/** Removes that file, if it is there, and aborts when anything else is left in the folder. Returns whether it
 *  was. */
int fuzz_folder_clean(const char *path);

/** Sets the size of the pieces in which files are read. */
void fuzz_chunk(int64_t bytes);

/** Puts bytes into a file of that name. */
void fuzz_put(const char *path, const void *data, size_t size);

/** Calls a program's function that prints its help. */
void fuzz_help(void (*help)(int, FILE *));

/** Parses arguments of series_mpi, reordering argv, and aborts unless what comes out is sound. Returns the
 *  status; SPMM_OK, without parsing, in a build without series_mpi. */
spmm_status fuzz_series_options(int argc, char **argv);

/** From here to fuzz_fault_off() the input's fault is at work. */
void fuzz_fault_on(const fuzz_input *in);
void fuzz_fault_off(void);

/** Whether the input's fault must not change the outcome. */
static inline int fuzz_harmless(const fuzz_input *in)
{
    return in->fault == FUZZ_SHORT || in->fault == FUZZ_INTR;
}

/** How a message must begin. */
typedef enum fuzz_message {
    FUZZ_ANY,  /**< anyhow */
    FUZZ_PATH, /**< "PATH: ", errors of the file at least */
    FUZZ_LINE  /**< "PATH:LINE: ", errors of the text at least */
} fuzz_message;

/** Aborts unless status is an error with a message of one printable line that begins as it must. */
void fuzz_refused(spmm_status status, const char *path, fuzz_message begins);

/** Aborts unless two CSR matrices are the same, bit for bit. */
void fuzz_same_csr(const spmm_csr *a, const spmm_csr *b);

#endif
