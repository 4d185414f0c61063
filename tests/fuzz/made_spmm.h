/** A .spmm file made of a fuzz target's input, with its checksums put right. The input is, byte by byte,
 *
 *      f32 in the file ('1') or f64 ('0')
 *      the size of chunks: 64 * (1 + byte % 16), from 0xf0 on one of odd_chunks
 *      rows, columns
 *      entries beyond those that the rows have, from '0'
 *      three that choose the block: the first row, the first column, the columns
 *      for each row its length, from '0'
 *      for each entry the distance from the column before, from '0'
 *      for each entry one of 16 values
 *
 *  and then patches of 4 bytes. */
#ifndef SP_FUZZ_MADE_SPMM_H
#define SP_FUZZ_MADE_SPMM_H

#include "files/spmm_file_layout.h"
#include "fuzz.h"

enum { MOST_ENTRIES = 3000, MOST_FILE = 1 << 17 };

/** What a patch does; its first byte % 8. */
typedef enum patch_kind {
    PATCH_FIELD, /**< a field of the header, before the file is laid out: which, one of odd_numbers, what is
                      added */
    PATCH_LAID_OUT, /**< the same, behind that */
    PATCH_BYTE,     /**< a byte before checksums are made: where (2 bytes), which */
    PATCH_DAMAGE,   /**< the same, behind that */
    PATCH_LENGTH,   /**< the file's length: 2 bytes, what is added, the third: its sign */
    PATCH_NONE
} patch_kind;

/** The file that an input stands for. */
typedef struct made_spmm {
    sp_spmm_file_header header;
    uint8_t bytes[MOST_FILE];
    int64_t size;
    int64_t start[257];
    int32_t column[MOST_ENTRIES];
    double value[MOST_ENTRIES];
    int64_t entries;
    int block[3];
    int patched; /* there are patches: whether it is right is not known */
    int right;   /* row starts and columns are */
} made_spmm;

/** Makes the file of what is behind the head. */
void made_spmm_make(const fuzz_input *input, made_spmm *m);

/** Whether a file without patches must be accepted. */
int made_spmm_acceptable(const fuzz_input *in, const made_spmm *m);

#endif
