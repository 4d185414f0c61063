/** A file being read: its header, then its body by all threads; twice, where the file can be read again. */
#ifndef SP_MTX_BODY_H
#define SP_MTX_BODY_H

#include <pthread.h>

#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** Takes the entries of one chunk; several threads call it at once, in no particular order. Returns 0 when
 *  they are not those that came in an earlier pass. */
typedef int (*sp_read_sink)(void *context, const sp_entries *entries);

/** A stretch of the body, which threads read chunk by chunk. */
typedef struct sp_region {
    sp_text *stream;
    pthread_mutex_t lock; /* not OpenMP's, which spins: a thread may wait for all of an inflation */
    int done;             /* no further chunks */
} sp_region;

/** What the threads share; all that changes is touched under the lock only. */
typedef struct sp_reading {
    sp_text stream;
    sp_header header;
    sp_read_error error; /* the first one in the file, so far */
    sp_triangles first;
    int stop; /* no further chunks: an error is certain */
    pthread_mutex_t lock;
    sp_region *region; /* of the pass at hand, [regions] */
    int regions;
    int64_t bytes, handed; /* of text: in the body, and taken by threads */
    sp_read_options options;
    double progress_from, progress_to; /* of the pass at hand */
    double next_progress;              /* seconds; thread 0's */
    int64_t body, body_lines;          /* where the body begins: bytes and lines before it */
} sp_reading;

/** Opens the file and reads its header; the caller ends it by sp_reading_end(), also on failure. */
spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options);

/** The outcome as the caller's status and message; frees what reading held. */
spmm_status sp_reading_end(sp_reading *r, const char *path, spmm_status status);

/** Whether the body can be read again. */
int sp_reading_repeatable(const sp_reading *r);

/** Goes back to where the body begins, and forgets errors. */
void sp_reading_repeat(sp_reading *r);

/** Entries that there can be: no size line is believed beyond what the file's length allows, so a
 *  false one ends as "too few entries" and not as an allocation. Before the body is read. */
int64_t sp_reading_capacity(const sp_reading *r);

/** A target without arrays. */
sp_parse_output sp_reading_target(const sp_reading *r);

/** Reads the body into the target's arrays by all threads.
 *  \return r->error.status */
spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target);

/** Reads the body of a coordinate file and gives the entries, of the options' precision, to the sink.
 *
 *  \param [in] anywhere  1: of a repeatable text every thread reads a part of its own, so that threads are not at the
 *                        same rows; of an error neither the line nor whether it is the first one is then known,
 *                        only that there is one (line 0: it has none)
 *  \return r->error.status */
spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context);

/** Makes it an error that a pass found other entries than the one before; returns its status. */
spmm_status sp_reading_changed(sp_reading *r);

/** What the header said. */
void sp_reading_describe(const sp_reading *r, sp_mtx_info *info);

#endif
