/** The device interface: plain C without any vendor type. Either device_cuda.c and device_cuda_ipc.c or device_none.c
 *  is linked; device_none.c answers the queries and returns SPMM_ERR_NO_DEVICE from everything else.
 *
 *  All functions are local. Unless stated otherwise they return SPMM_OK, SPMM_ERR_NO_DEVICE (no GPU is open) or
 *  SPMM_ERR_DEVICE (CUDA reports an error), and destroy and free functions accept NULL. */
#ifndef SP_DEVICE_H
#define SP_DEVICE_H

#include <stddef.h>
#include "base/status.h"

typedef struct sp_device_info {
    char name[128];   /**< "NVIDIA H200" */
    char pci[32];     /**< PCI bus id: identifies a GPU of a node whatever its number */
    int index;        /**< CUDA's number among the visible GPUs, unusable ones included */
    int major, minor; /**< compute capability */
    int multiprocessors;
    int64_t memory_bytes;
    int64_t free_bytes; /**< of the open GPU; 0 for others: asking would take memory there */
    int64_t l2_bytes;
} sp_device_info;

/** Returns 1 if this build can drive a GPU at all, else 0. */
int sp_device_built(void);

/** Returns the number of usable GPUs. Never fails, prints nothing, and takes no GPU memory. A GPU older than every
 *  architecture that this build has code for is not usable.
 *  \param [out] why  "" if there are some, else the reason in static or thread-local text: "this build was made
 *                    without CUDA", "no NVIDIA driver", "the NVIDIA driver supports CUDA 12.2, this build needs
 *                    13.0"; may be NULL */
int sp_device_count(const char **why);

/** Describes usable GPU `index`, 0 .. sp_device_count() - 1. \param [out] info  zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (there is no such GPU), _DEVICE */
spmm_status sp_device_describe(int index, sp_device_info *info);

/** Describes the open GPU. \param [out] info  zeroed on failure */
spmm_status sp_device_current(sp_device_info *info);

/** Makes usable GPU `index` this process's device and creates its streams; must precede everything below. Does
 *  nothing if that GPU is open already.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_USAGE (another GPU is open), _DEVICE */
spmm_status sp_device_open(int index);
/** Waits for the streams and closes the GPU; does nothing if none is open. Errors are ignored. */
void sp_device_close(void);

/** Allocates GPU memory, aligned to 256 bytes and not zeroed.
 *  \param [out] p     the caller frees it by sp_device_free(); never NULL on success, also for 0 bytes; NULL on
 *  failure
 *  \param [in]  what  names the thing in the message
 *  \return SPMM_OK, SPMM_ERR_MEMORY (with the figures), SPMM_ERR_LIMIT (a negative size), SPMM_ERR_NO_DEVICE,
 *  _DEVICE */
spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what);
/** Frees memory from sp_device_alloc(); shared memory is only marked, see sp_device_share(). */
void sp_device_free(void *p);

/** Which processors can access the memory at an address; SP_REACH_ANY also if that is unknown, e.g. while no GPU is
 *  open. */
typedef enum sp_reach { SP_REACH_ANY, SP_REACH_HOST, SP_REACH_GPU } sp_reach;
/** Returns which processors can access the memory at p. */
sp_reach sp_device_reach(const void *p);

/** Queues zeroing of GPU memory in SP_STREAM_MAIN. */
spmm_status sp_device_zero(void *p, int64_t bytes);
/** Queues filling GPU memory in SP_STREAM_MAIN with bytes 0xff, which are NaNs in either precision. */
spmm_status sp_device_nan(void *p, int64_t bytes);

/** Copies host memory, which may be pageable, to the GPU in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_upload(void *device, const void *host, int64_t bytes);
/** Copies GPU memory to host memory, which may be pageable, in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_download(void *host, const void *device, int64_t bytes);
/** Copies within GPU memory in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_copy(void *to, const void *from, int64_t bytes);

/** Copies `rows` rows of `bytes` bytes each, whose starts are the given pitches (bytes) apart, in SP_STREAM_MAIN;
 *  complete on return.
 *  \param [in] kind  0 host to device, 1 device to host, 2 device to device; else SPMM_ERR_INTERNAL */
spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind);

/** Waits for everything queued in SP_STREAM_MAIN; reports errors of kernels. */
spmm_status sp_device_sync(void);

/** Streams of the GPU. Kernels run in SP_STREAM_MAIN while rows of X move in SP_STREAM_MOVE, which has the higher
 *  priority. */
typedef enum sp_stream { SP_STREAM_MAIN, SP_STREAM_MOVE, SP_STREAMS } sp_stream;

/** Selects the stream that kernels and timers go to from now on; initially SP_STREAM_MAIN. */
void sp_device_use(sp_stream stream);

/** Makes the GPU the calling thread's current device. \return the selected stream, a cudaStream_t for kernel
 *  launches; NULL if no GPU is open */
void *sp_device_stream(void);

/** Like sp_device_stream(), for a given stream. */
void *sp_device_stream_of(sp_stream stream);

/** Makes what is queued in `later` from now on wait for what is queued in `earlier` so far; does not block. */
spmm_status sp_stream_wait(sp_stream later, sp_stream earlier);

/** Blocks until everything queued in one stream is done; reports errors of kernels. */
spmm_status sp_stream_sync(sp_stream stream);

/** Queues a copy in any direction. Host memory should come from sp_device_host_alloc(), otherwise the call may
 *  block. */
spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream);

/** The same for `rows` rows of `bytes` bytes each, whose starts are the given pitches (bytes) apart. */
spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream);

/** Allocates pinned host memory, from and to which copies are asynchronous. Not zeroed.
 *  \param [out] p     the caller frees it by sp_device_host_free(); never NULL on success; NULL on failure
 *  \param [in]  what  names the thing in the message
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (a negative size), SPMM_ERR_NO_DEVICE */
spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what);
/** Frees memory from sp_device_host_alloc(). */
void sp_device_host_free(void *p);

/** An event in a stream, without timing, that the host and other streams can wait for. */
typedef struct sp_event sp_event;
/** Creates an event. \param [out] event  the caller destroys it; NULL on failure \return also SPMM_ERR_MEMORY */
spmm_status sp_event_create(sp_event **event);
/** Destroys an event, an attached one too. */
void sp_event_destroy(sp_event *event);
/** Records the event in a stream: it occurs when what is queued there so far is done. */
spmm_status sp_event_record(sp_event *event, sp_stream stream);
/** Blocks the host until the event, as last recorded, occurs; returns at once if it was never recorded. */
spmm_status sp_event_wait(sp_event *event);
/** Makes what is queued in the stream from now on wait for the event as last recorded; no effect if it never was. */
spmm_status sp_stream_wait_event(sp_event *event, sp_stream stream);

/** Handle (CUDA IPC) to memory or an event of one process that other processes of the node use too: the owner passes
 *  it on, the others attach. A process cannot attach its own. */
typedef struct sp_shared {
    unsigned char handle[64];
} sp_shared;

enum { SP_SHARED_BYTES = 2 << 20 };
/** Makes memory available for others to attach. From now on sp_device_free(p) only marks it as freed, because CUDA
 *  does not define what happens when memory is freed that others are attached to; sp_device_unshare(), to be called
 *  when nobody is attached, then frees it.
 *  \param [in]  p       from sp_device_alloc(), of at least SP_SHARED_BYTES: smaller allocations lie in one block of
 *                       memory, and are shared together
 *  \param [out] shared  the handle to pass on
 *  \return also SPMM_ERR_MEMORY */
spmm_status sp_device_share(void *p, sp_shared *shared);
/** Ends the sharing, and frees the memory if sp_device_free() was called for it. */
void sp_device_unshare(void *p);

/** Takes back shared memory for which sp_device_free() was called. \return 1; 0: it was not called for p */
int sp_device_reuse(void *p);

/** Maps another process's shared memory. \param [out] p  the caller detaches it; NULL on failure
 *  \return SPMM_ERR_DEVICE also if the GPUs cannot access each other's memory */
spmm_status sp_device_attach(const sp_shared *shared, void **p);
/** Unmaps memory from sp_device_attach(). */
void sp_device_detach(void *p);
/** Creates an event that other processes can attach. \param [out] event  the caller destroys it, also if only the
 *  handle could not be made \param [out] shared  the handle to pass on \return also SPMM_ERR_MEMORY */
spmm_status sp_event_create_shared(sp_event **event, sp_shared *shared);
/** Opens another process's event. \param [out] event  the caller destroys it; NULL on failure
 *  \return also SPMM_ERR_MEMORY */
spmm_status sp_event_attach(const sp_shared *shared, sp_event **event);

/** For launchers: checks the launch just made, and remembers the kernel's name for the message of an error that shows
 *  up later. \param [in] kernel  static storage */
spmm_status sp_device_launched(const char *kernel);

/** A pair of events in the stream that sp_device_use() selects, for timing. */
typedef struct sp_timer sp_timer;
/** Creates a timer. \param [out] timer  the caller destroys it; NULL on failure \return also SPMM_ERR_MEMORY */
spmm_status sp_timer_create(sp_timer **timer);
/** Destroys a timer. */
void sp_timer_destroy(sp_timer *timer);
/** Records the first event in the selected stream. */
spmm_status sp_timer_start(sp_timer *timer);
/** Records the second event in the selected stream. */
spmm_status sp_timer_stop(sp_timer *timer);
/** Waits for the second event. \param [out] seconds  between the two events; 0 on failure */
spmm_status sp_timer_seconds(sp_timer *timer, double *seconds);

#endif
