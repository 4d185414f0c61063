/** Reads a Matrix Market file: first the header, then the body, with all threads and in one or more
 *  passes. */
#ifndef SP_MTX_BODY_H
#define SP_MTX_BODY_H

#include <pthread.h>

#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** A callback that receives the entries of one chunk. Several threads call it at the same time, with the
 *  chunks in no particular order. Returns 1, or 0 if it finds that the entries differ from those of an
 *  earlier pass. */
typedef int (*sp_read_sink)(void *context, const sp_entries *entries);

/** Arrays for the entries of a piece of text. */
typedef struct sp_batch {
    int32_t *I, *J; /**< row and column indices, [room] */
    void *val;      /**< values, [room] */
    int64_t room;
} sp_batch;

/** Enlarges *b, zeroed at first, to room for `entries` entries of the given precision; its contents are lost.
 *  Local.
 *  \return SPMM_OK, SPMM_ERR_MEMORY */
spmm_status sp_batch_reserve(sp_batch *b, int64_t entries, spmm_precision precision);

/** Frees the arrays of *b and zeroes it. Local. */
void sp_batch_destroy(sp_batch *b);

/** A contiguous range of the body of a file, which the threads read chunk by chunk. */
typedef struct sp_region {
    sp_text *stream;
    pthread_mutex_t lock; /**< not an OpenMP lock, which would spin while another thread inflates a chunk */
    int done;             /**< 1: the region has no more chunks to hand out */
} sp_region;

/** A Matrix Market file being read: the state that all threads share. During a pass, `lock` protects the
 *  members error, first, stop and handed; the lock of each region protects the region's stream. */
typedef struct sp_reading {
    sp_text stream;
    sp_header header;
    sp_read_error error; /**< the error with the smallest line number found so far */
    sp_triangles first;  /**< line numbers of the first entries found so far below and above the diagonal */
    int stop;            /**< 1: an error is certain, so that no further chunks are handed out */
    pthread_mutex_t lock;
    sp_region *region; /**< the regions of the current pass, [regions] */
    int regions;
    int64_t bytes, handed; /**< bytes: size of the body; handed: bytes of it handed out to threads so far */
    sp_read_options options;
    double progress_from, progress_to; /**< progress to report at the start and at the end of the pass */
    double next_progress;              /**< time of the next progress report, seconds; used by thread 0 */
    int64_t body, body_lines;          /**< body: offset of the body in bytes; body_lines: lines before it */
} sp_reading;

/** Opens the file and reads its header. The caller must call sp_reading_end(), even if this function fails.
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED, _MEMORY */
spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options);

/** Closes the file and frees the memory that r owns.
 *  \param [in] status  the status to return if r->error is not set
 *  \return r->error.status if r->error is set (the error message then begins with the file and the line),
 *          else `status` */
spmm_status sp_reading_end(sp_reading *r, const char *path, spmm_status status);

/** Returns 1 if the body can be read again, which is so unless the file is gzipped; else 0. */
int sp_reading_repeatable(const sp_reading *r);

/** Moves back to the beginning of the body, for another pass, and clears r->error. */
void sp_reading_repeat(sp_reading *r);

/** Returns an upper bound on the number of entries in the body: the number in the size line, or fewer if the
 *  file is too short for that number. So a false size line ends in an error message and not in a huge
 *  allocation. Must be called before the body is read. */
int64_t sp_reading_capacity(const sp_reading *r);

/** Returns an sp_parse_output for r's header and options with a capacity of sp_reading_capacity(r) entries.
 *  Its array pointers are NULL; the caller sets them. */
sp_parse_output sp_reading_target(const sp_reading *r);

/** Reads the body with all threads and stores its entries in the arrays of *target.
 *  \return r->error.status */
spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target);

/** Reads the body of a coordinate file once and passes its entries to `sink`; values have the precision
 *  r->options.precision.
 *
 *  \param [in] wanted    which numbers of a line (indices, value) the sink needs
 *  \param [in] anywhere  0: chunks are read in file order. 1: each thread starts in a region of its own, so
 *                        that threads do not work on the same rows at once; a gzipped file is nevertheless
 *                        read in order. With 1, r->error need not be the first error of the file, and
 *                        r->error.line says only whether a line causes the error (0: none does).
 *  \param [in] context   passed to the sink
 *  \return r->error.status */
spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context);

/** Sets r->error: the file has changed between two passes. Returns r->error.status. */
spmm_status sp_reading_changed(sp_reading *r);

/** Reads the body of a coordinate file in order, after an earlier pass has found an error: sets r->error to
 *  the first error or, if there is none now, as sp_reading_changed() does.
 *  \return r->error.status */
spmm_status sp_reading_find_error(sp_reading *r);

/** Fills *info from the header and from the number of bytes of text that have been read. */
void sp_reading_describe(const sp_reading *r, sp_mtx_info *info);

#endif
