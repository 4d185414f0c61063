/** A .spmm file made from a fuzz target's input, with correct checksums. The input is, byte by
 *  byte ("from '0'": the byte is '0' + the number),
 *
 *      f32 in the file ('1') or f64 ('0')
 *      the size of chunks: 64 * (1 + byte % 16); for 0xf0 and above one of odd_chunks
 *      rows, columns
 *      number of entries in the header beyond those of the rows, from '0'
 *      three bytes that select the block: first row, first column, number of columns
 *      for each row its length, from '0'
 *      for each entry the distance from the column before, from '0'
 *      for each entry one of 16 values
 *
 *  followed by patches of 4 bytes. */
#ifndef SP_FUZZ_MADE_SPMM_H
#define SP_FUZZ_MADE_SPMM_H

#include "files/spmm_file_layout.h"
#include "fuzz.h"

enum { MOST_ENTRIES = 3000, MOST_FILE = 1 << 17 };

/** The kind of a patch: its first byte % 8. */
typedef enum patch_kind {
    PATCH_FIELD,    /**< changes a field of the header before the layout is computed: which field, which of
                      odd_numbers, a number to add */
    PATCH_LAID_OUT, /**< the same, after the layout is computed */
    PATCH_BYTE,     /**< changes a byte before checksums are computed: place (2 bytes), value */
    PATCH_DAMAGE,   /**< the same, after checksums are computed */
    PATCH_LENGTH,   /**< changes the file's length: 2 bytes, the change; third byte: its sign */
    PATCH_NONE
} patch_kind;

/** The file that is made from an input. */
typedef struct made_spmm {
    sp_spmm_file_header header;
    uint8_t bytes[MOST_FILE];
    int64_t size;
    int64_t start[257];
    int32_t column[MOST_ENTRIES];
    double value[MOST_ENTRIES];
    int64_t entries;
    int block[3];
    int patched; /* there are patches: the file may be invalid */
    int right;   /* row starts and columns are valid */
} made_spmm;

/** Makes the file from the input after its head. */
void made_spmm_make(const fuzz_input *input, made_spmm *m);

/** Returns whether a file without patches must be accepted. */
int made_spmm_acceptable(const fuzz_input *in, const made_spmm *m);

#endif
