/** Decompresses gzip, bzip2, xz and zstd data piece by piece. Linking decides which of them a
 *  build supports: of two files NAME_*.c that define the same symbols, one is linked. */
#ifndef SP_CODEC_H
#define SP_CODEC_H

#include <stdint.h>

/** Input and output of a decoder; step() advances both. */
typedef struct sp_codec_buffers {
    const unsigned char *in; /**< compressed data, [in_bytes] */
    int64_t in_bytes;
    unsigned char *out; /**< space for the text, [out_bytes] */
    int64_t out_bytes;
} sp_codec_buffers;

/** The result of step(). */
typedef enum sp_codec_result {
    SP_CODEC_GOES_ON, /**< more input or more output space is needed */
    SP_CODEC_ENDS,    /**< the member (gzip), stream (bzip2, xz) or frame (zstd) ends here: its checksum is
                           right, and all of its text has been written */
    SP_CODEC_DAMAGED, /**< the input violates the format, or a checksum is wrong */
    SP_CODEC_MEMORY   /**< decompression needs more memory than create() allows, or memory is lacking */
} sp_codec_result;

/** A decoder's functions. All members are NULL in a build without the library that they call. Local; a state
 *  may be used by one thread at a time. */
typedef struct sp_codec_ops {
    /** Creates a decoder, at the beginning of the data.
     *  \param [in] memory  upper bound in bytes on the memory for the window, whose size is stated in the
     *                      header of the data
     *  \return the state, which destroy() frees; NULL: memory is lacking */
    void *(*create)(int64_t memory);
    /** Prepares the decoder for the beginning of another member. \return 1; 0: memory is lacking */
    int (*restart)(void *state);
    /** Decompresses until the input or the output space is used up, or until a member ends. If the data are
     *  damaged, the text that the library returns before the damage is written; how much that is depends only
     *  on the sequence of buffers.
     *  \param [in,out] buffers  out_bytes is at least 1
     *  \param [out]    why      set with SP_CODEC_DAMAGED: what is wrong, in static memory */
    sp_codec_result (*step)(void *state, sp_codec_buffers *buffers, const char **why);
    /** Frees the state. */
    void (*destroy)(void *state);
} sp_codec_ops;

extern const sp_codec_ops sp_gzip_ops, sp_bzip2_ops, sp_xz_ops, sp_zstd_ops;

/** A kind of compressed data. */
typedef struct sp_codec {
    const char *name; /**< "gzip" */
    const char *magic;
    int magic_bytes;
    const char *unpack;  /**< the command that unpacks a file, "gunzip -k" */
    const char *library; /**< library with which a build can read it, "zlib (zlib1g-dev)" */
    int64_t ratio; /**< upper bound on the number of bytes of text that one compressed byte can represent */
    const sp_codec_ops *ops;
} sp_codec;

enum { SP_CODEC_HEAD = 6 }; /**< number of bytes at the start of the data that identify their kind */

/** Returns the kind of compressed data that begin with these bytes, whether or not this build can read it
 *  (ops->create); NULL if no kind begins like this.
 *  \param [in] n  number of bytes in head: SP_CODEC_HEAD, or all of the data if they are shorter */
const sp_codec *sp_codec_of(const unsigned char *head, int64_t n);

/** Returns 1 if data of this kind can begin with these bytes, even if the bytes are too few to identify it;
 *  else 0.
 *  \param [in] n  number of bytes in head, at least 1 */
int sp_codec_may_begin(const sp_codec *codec, const unsigned char *head, int64_t n);

/** Returns the names of all kinds that this build can read, "gzip, bzip2, xz or zstd". The text is in static
 *  memory of the calling thread, and valid until the thread's next call. */
const char *sp_codec_names(void);

#endif
