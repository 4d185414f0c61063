/** Reads a Matrix Market file: the header, then the body by all threads, in one or more passes. */
#ifndef SP_MTX_BODY_H
#define SP_MTX_BODY_H

#include <pthread.h>

#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** Consumes the entries of one chunk; called by several threads at once, in no particular order. Returns 0 if the
 *  entries are not those of an earlier pass. */
typedef int (*sp_read_sink)(void *context, const sp_entries *entries);

/** A contiguous range of the body, which threads read chunk by chunk. */
typedef struct sp_region {
    sp_text *stream;
    pthread_mutex_t lock; /**< not an OpenMP lock, which spins: threads may wait while one inflates a chunk */
    int done;             /**< the region has no further chunks */
} sp_region;

/** State that the threads share; whatever changes during a pass is accessed under the lock. */
typedef struct sp_reading {
    sp_text stream;
    sp_header header;
    sp_read_error error; /**< the first one in the file, so far */
    sp_triangles first;  /**< lines of the body's first entries in the strict triangles, so far */
    int stop;            /**< an error is certain: no further chunks are handed out */
    pthread_mutex_t lock;
    sp_region *region; /**< regions of the current pass, [regions] */
    int regions;
    int64_t bytes, handed; /**< bytes of text in the body, and of those handed out to threads */
    sp_read_options options;
    double progress_from, progress_to; /**< fractions of the whole work at the ends of the current pass */
    double next_progress;              /**< time of the next report, seconds; used by thread 0 only */
    int64_t body, body_lines;          /**< where the body begins: bytes and lines before it */
} sp_reading;

/** Opens the file and reads its header. The caller must call sp_reading_end(), also on failure.
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED, _MEMORY */
spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options);

/** Closes the file and frees what r holds.
 *  \return the status of r->error, with its message prefixed by the file and the line, if there is one; else
 *          `status` */
spmm_status sp_reading_end(sp_reading *r, const char *path, spmm_status status);

/** Returns whether the body can be read again. */
int sp_reading_repeatable(const sp_reading *r);

/** Returns to the beginning of the body and forgets errors. */
void sp_reading_repeat(sp_reading *r);

/** Returns an upper bound on the number of entries: the size line's, but never more than the file's length allows, so
 *  that a false size line ends in "too few entries" and not in a huge allocation. To be called before the body is
 *  read. */
int64_t sp_reading_capacity(const sp_reading *r);

/** Returns an output for this header, these options and sp_reading_capacity() entries, without arrays. */
sp_parse_output sp_reading_target(const sp_reading *r);

/** Reads the body into the target's arrays by all threads.
 *  \return r->error.status */
spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target);

/** Reads the body of a coordinate file and passes the entries, in the options' precision, to the sink.
 *
 *  \param [in] anywhere  1: if the text can be read again, each thread starts in a region of its own, so that threads
 *                        do not work on the same rows at once; an error then tells only that there is one, neither
 *                        its line nor whether it is the first (line 0: an error that no line causes)
 *  \return r->error.status */
spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context);

/** Sets the error that a pass found other entries than the pass before; returns its status. */
spmm_status sp_reading_changed(sp_reading *r);

/** Fills *info with what the header said. */
void sp_reading_describe(const sp_reading *r, sp_mtx_info *info);

#endif
