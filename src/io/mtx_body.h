/** Reads a Matrix Market file: first the header, then the body, with all threads and in one or more
 *  passes. */
#ifndef SP_MTX_BODY_H
#define SP_MTX_BODY_H

#include <pthread.h>

#include "formats/csr_builder.h"
#include "io/mtx_parse.h"
#include "io/mtx_read.h"

/** A callback that receives the entries of one chunk. Several threads call it at the same time, with the
 *  chunks in no particular order. Returns 1; 0 stops the pass with an error, for example because the entries
 *  differ from those of an earlier pass. The error says that the file has changed, so a caller whose sink
 *  stops the pass for another reason must ignore it. */
typedef int (*sp_read_sink)(void *context, const sp_entries *entries);

/** A contiguous range of the body of a file, which the threads read chunk by chunk. */
typedef struct sp_region {
    sp_text stream;
    int64_t begin;        /**< offset in bytes of the region's first line */
    pthread_mutex_t lock; /**< not an OpenMP lock, which would spin while another thread decompresses a
                               chunk */
    int done;             /**< 1: the region has no more chunks to hand out */
} sp_region;

/** A thread's buffers: a chunk of text and the entries parsed from it. */
typedef struct sp_worker {
    sp_chunk chunk;
    int32_t *I, *J; /**< [room] */
    void *val;      /**< [room] */
    int64_t room;
    sp_entries entries; /**< the entries of the chunk, in I, J and val */
    double fraction;    /**< share of the pass that was done when the chunk was handed out */
} sp_worker;

/** A Matrix Market file being read: the state that all threads share. During a pass, `lock` protects the
 *  members error, first, stop and handed; the lock of each region protects the region's stream. */
typedef struct sp_reading {
    const char *path; /**< NULL: the object is zeroed */
    sp_header header;
    sp_read_options options;
    sp_read_error error; /**< the error with the smallest line number found so far */
    sp_triangles first;  /**< line numbers of the first entries found so far below and above the diagonal */
    int stop;            /**< 1: an error is certain, so that no further chunks are handed out */
    pthread_mutex_t lock;
    sp_region whole;       /**< the whole body */
    sp_region *split;      /**< one region per thread, [splits]; NULL until sp_reading_split() */
    int splits;            /**< number of regions in `split` */
    sp_region *region;     /**< the regions of the current pass, [regions]: `split`, or only `whole` */
    int regions;           /**< number of regions in `region` */
    sp_worker *worker;     /**< the threads' buffers, [options.threads] */
    int64_t bytes, handed; /**< bytes: size of all regions in `split`; handed: bytes handed out in the
                                current pass */
    double progress_from, progress_to; /**< progress to report at the start and at the end of the pass */
    double next_progress;              /**< time of the next progress report, seconds; used by thread 0 */
    double reported;                   /**< the progress reported last; used by thread 0 */
} sp_reading;

/** Opens the file and reads its header. The caller must call sp_reading_end(), even if this function fails.
 *  \param [in] path    must remain valid until sp_reading_end()
 *  \param [in] header  NULL to read the header; else the header to use instead, for example as read by
 *                      another process
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX, _UNSUPPORTED, _MEMORY */
spmm_status sp_reading_begin(sp_reading *r, const char *path, const sp_read_options *options,
                             const sp_header *header);

/** Like sp_reading_begin(), for a file that is already open.
 *  \param [in] fd  what sp_input_descriptor(path) returned; r owns it, also on failure */
spmm_status sp_reading_begin_open(sp_reading *r, const char *path, int fd, const sp_read_options *options,
                                  const sp_header *header);

/** If r->error is set, makes it the error message, with the file and the line in front, and returns
 *  r->error.status. Else returns `status` and leaves the error message as it is. */
spmm_status sp_reading_status(const sp_reading *r, spmm_status status);

/** Closes the file and frees the memory that r owns; accepts zeroed objects. Returns what
 *  sp_reading_status() returns. */
spmm_status sp_reading_end(sp_reading *r, spmm_status status);

/** Returns 1 if the body can be read again from any byte; 0 if the file is compressed: each pass then
 *  decompresses it from the beginning. */
int sp_reading_repeatable(const sp_reading *r);

/** Returns an upper bound on the number of entries in the body: the number in the size line, or fewer if the
 *  file is too short for that number. So a false size line ends in an error message and not in a huge
 *  allocation. */
int64_t sp_reading_capacity(const sp_reading *r);

/** Returns the sizes of the matrix, as sp_read_sizes() does. */
sp_sizes sp_reading_sizes(const sp_reading *r);

/** Returns an sp_parse_output for r's header and options with a capacity of sp_reading_capacity(r) entries.
 *  Its array pointers are NULL; the caller sets them. */
sp_parse_output sp_reading_target(const sp_reading *r);

/** Reads the body with all threads and stores its entries in the arrays of *target.
 *  \return r->error.status */
spmm_status sp_reading_body(sp_reading *r, const sp_parse_output *target);

/** Reads the whole matrix as triplets, as sp_read_coo() does.
 *  \param [out] coo  zeroed by the caller, who destroys it, also on failure
 *  \return SPMM_OK, r->error.status, SPMM_ERR_MEMORY */
spmm_status sp_reading_coo(sp_reading *r, sp_coo *coo);

/** Reads the body of a coordinate file once and passes its entries to `sink`; values have the precision
 *  r->options.precision.
 *
 *  \param [in] wanted    which numbers of a line (indices, value) the sink needs
 *  \param [in] anywhere  0: chunks are read in file order. 1: each thread starts in a region of its own, so
 *                        that threads do not work on the same rows at once; a compressed file is nevertheless
 *                        read in order. With 1, r->error need not be the first error of the file, and
 *                        r->error.line says only whether a line causes the error (0: none does).
 *  \param [in] sink      NULL: the entries are only checked
 *  \param [in] context   passed to the sink
 *  \return r->error.status */
spmm_status sp_reading_pass(sp_reading *r, sp_wanted wanted, int anywhere, sp_read_sink sink, void *context);

/** Finds the first error of a coordinate file. If r->error is already set and no line causes it, leaves
 *  r->error unchanged. Otherwise reads the file once more, without progress reports and in order, because a
 *  pass that is not in file order shows only that there is an error, not which one is first. If this pass
 *  finds no error, the file has changed, and r->error says so. The file must be repeatable:
 *  sp_reading_repeatable(). Returns r->error.status. */
spmm_status sp_reading_explain(sp_reading *r);

/** Reads the whole matrix as CSR, as sp_read_csr() does, from a file of which only the header has been read.
 *  \param [out] a, info, stored, duplicates  as in sp_read_csr(); on failure, *a is zeroed
 *  \return SPMM_OK, r->error.status, SPMM_ERR_MEMORY */
spmm_status sp_reading_csr(sp_reading *r, spmm_csr *a, sp_mtx_info *info, int64_t *stored,
                           int64_t *duplicates);

/** Sets r->error: the file has changed between two passes. Returns r->error.status. */
spmm_status sp_reading_changed(sp_reading *r);

/* ---- reading a part of the body ---- */

/** Splits part number `part` of `parts` equal parts of the body into regions, one per thread, each of which
 *  begins at the beginning of a line. The file must be repeatable: sp_reading_repeatable().
 *  \return SPMM_OK, SPMM_ERR_OPEN, _SYNTAX (a line is too long), _MEMORY, which need not set r->error */
spmm_status sp_reading_split(sp_reading *r, int part, int parts);

/** Begins a pass over the regions of sp_reading_split(). Clears r->error. */
void sp_reading_restart(sp_reading *r);

/** Reads and parses the next chunks of the regions, one per thread. r->worker[t].entries, 0 <= t < r->splits,
 *  are the entries of thread t's chunk, possibly none. They are valid until the next call.
 *  \param [in]  wanted  as for sp_reading_pass()
 *  \param [out] more    0 if nothing was left to read, else 1
 *  \return r->error.status; r->error.line is then meaningless */
spmm_status sp_reading_next(sp_reading *r, sp_wanted wanted, int *more);

/** Returns the number of entries in the regions that the current pass has read so far. */
int64_t sp_reading_entries(const sp_reading *r);

/** Reports that the current pass is complete. */
void sp_reading_report_end(sp_reading *r);

/** Fills *info from the header and from the number of bytes of text; a compressed file must have been read to
 *  its end. */
void sp_reading_describe(const sp_reading *r, sp_mtx_info *info);

#endif
