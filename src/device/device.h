/** The device: plain C, no vendor type. device_cuda.c or device_none.c is linked, never both;
 *  device_none answers SPMM_ERR_NO_DEVICE to everything but the questions. */
#ifndef SP_DEVICE_H
#define SP_DEVICE_H

#include <stddef.h>
#include "base/status.h"

typedef struct sp_device_info {
    char name[128];   /**< "NVIDIA H200" */
    char pci[32];     /**< PCI bus id: tells GPUs of a node apart whatever their number */
    int index;        /**< as CUDA numbers the visible ones (unusable ones count there) */
    int major, minor; /**< compute capability */
    int multiprocessors;
    int64_t memory_bytes;
    int64_t free_bytes; /**< of the open GPU; 0 for others: asking would take memory there */
    int64_t l2_bytes;
} sp_device_info;

/** 1 when this build can drive a GPU at all. */
int sp_device_built(void);

/** Number of usable GPUs; 0 with the reason in *why (static or thread-local text: "built without
 *  CUDA", "no GPU", "the driver supports CUDA 12.2, this build needs 13.0"); why may be NULL, *why is ""
 *  when there are some. Never fails, prints nothing, and takes no GPU memory. A GPU older than all that
 *  this build has code for is not usable. */
int sp_device_count(const char **why);

/** Data about usable GPU `index`, 0 .. sp_device_count() - 1. */
spmm_status sp_device_describe(int index, sp_device_info *info);

/** The same about the open one. */
spmm_status sp_device_current(sp_device_info *info);

/** Makes usable GPU `index` this process's device and creates its stream. Call before anything below.
 *  Nothing happens when it is open already; a second GPU is refused (SPMM_ERR_USAGE). */
spmm_status sp_device_open(int index);
void sp_device_close(void);

/** *p is 256-byte aligned and never NULL on success, also for 0 bytes; NULL on failure.
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figures), SPMM_ERR_NO_DEVICE (none is open), _DEVICE */
spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what);
void sp_device_free(void *p);

/** Who can use the memory at p: SP_REACH_ANY also where that is not known, as while no GPU is open. */
typedef enum sp_reach { SP_REACH_ANY, SP_REACH_HOST, SP_REACH_GPU } sp_reach;
sp_reach sp_device_reach(const void *p);

/** Queued: kernels and copies that follow find zeros, or NaNs of either precision. */
spmm_status sp_device_zero(void *p, int64_t bytes);
spmm_status sp_device_nan(void *p, int64_t bytes);

/** Copies, complete on return; host memory may be pageable. */
spmm_status sp_device_upload(void *device, const void *host, int64_t bytes);
spmm_status sp_device_download(void *host, const void *device, int64_t bytes);
spmm_status sp_device_copy(void *to, const void *from, int64_t bytes);

/** The same for `rows` rows of `bytes` bytes, whose starts are the given pitches (bytes) apart.
 *  kind: 0 host to device, 1 device to host, 2 device to device. */
spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind);

/** Waits for all that was queued; reports errors of kernels. */
spmm_status sp_device_sync(void);

/** Kernels run in SP_STREAM_MAIN, rows of X move in SP_STREAM_MOVE beside them; where both have work, the latter's goes
 *  first. */
typedef enum sp_stream { SP_STREAM_MAIN, SP_STREAM_MOVE, SP_STREAMS } sp_stream;

/** Where kernels and timers go from now on; SP_STREAM_MAIN until told. */
void sp_device_use(sp_stream stream);

/** That queue as the kernels' files need it (a cudaStream_t); also makes the GPU the calling thread's. */
void *sp_device_stream(void);

/** The queue as launchers need it (a cudaStream_t); also makes the GPU the calling thread's. */
void *sp_device_stream_of(sp_stream stream);

/** What is queued in `later` from now on waits for what is in `earlier` now. */
spmm_status sp_stream_wait(sp_stream later, sp_stream earlier);

/** Waits for one queue. */
spmm_status sp_stream_sync(sp_stream stream);

/** Queues a copy, in any direction; host memory from sp_device_host_alloc(), else it may wait. */
spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream);

/** The same for `rows` rows of `bytes` bytes, whose starts are the given pitches (bytes) apart. */
spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream);

/** Pinned host memory, which copies do not wait for. As sp_device_alloc(). */
spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what);
void sp_device_host_free(void *p);

/** A mark in a stream, for the host to wait for: what was queued before sp_event_record() has ended. */
typedef struct sp_event sp_event;
spmm_status sp_event_create(sp_event **event);
void sp_event_destroy(sp_event *event);
spmm_status sp_event_record(sp_event *event, sp_stream stream);
spmm_status sp_event_wait(sp_event *event);
/** What is queued from now on waits for the mark as it was set last; does nothing before it was. */
spmm_status sp_stream_wait_event(sp_event *event, sp_stream stream);

/** Memory and marks that other processes of the node use, too: the owner passes the handle on, they attach. A process
 *  does not attach its own. */
typedef struct sp_shared {
    unsigned char handle[64];
} sp_shared;

/** Others may attach p from now on, and sp_device_free(p) only takes note: CUDA leaves open what happens when memory is
 *  freed that others are attached to. sp_device_unshare(), when nobody is, frees it then.
 *  \param [in] p  from sp_device_alloc(), of at least SP_SHARED_BYTES: smaller ones lie, and are shared, together */
enum { SP_SHARED_BYTES = 2 << 20 };
spmm_status sp_device_share(void *p, sp_shared *shared);
void sp_device_unshare(void *p);

/** Takes shared memory back that sp_device_free() was called for. \return 1; 0: it was not */
int sp_device_reuse(void *p);

/** \return SPMM_ERR_DEVICE also where the GPUs cannot reach each other's memory */
spmm_status sp_device_attach(const sp_shared *shared, void **p);
void sp_device_detach(void *p);
spmm_status sp_event_create_shared(sp_event **event, sp_shared *shared);
spmm_status sp_event_attach(const sp_shared *shared, sp_event **event);

/** For launchers: checks what was just queued, and remembers the kernel's id (static storage) for the
 *  message of an error that shows up later. */
spmm_status sp_device_launched(const char *kernel);

/** A pair of marks in the queue that kernels go to, for timing. */
typedef struct sp_timer sp_timer;
spmm_status sp_timer_create(sp_timer **timer);
void sp_timer_destroy(sp_timer *timer);
spmm_status sp_timer_start(sp_timer *timer);
spmm_status sp_timer_stop(sp_timer *timer);
/** Seconds between the marks; waits for the second. */
spmm_status sp_timer_seconds(sp_timer *timer, double *seconds);

#endif
