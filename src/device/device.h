/** The device interface: plain C without CUDA types. In builds with CUDA, device_cuda*.c are
 *  linked; in builds without, device_none.c, where sp_device_count() returns 0 and operations return
 *  SPMM_ERR_NO_DEVICE.
 *
 *  All functions are local. Unless stated otherwise they return SPMM_OK, SPMM_ERR_NO_DEVICE (no GPU is open)
 *  or SPMM_ERR_DEVICE (CUDA reports an error), and destroy and free functions accept NULL. */
#ifndef SP_DEVICE_H
#define SP_DEVICE_H

#include <stddef.h>
#include "base/status.h"

typedef struct sp_device_info {
    char name[128];   /**< product name, e.g. "NVIDIA H200" */
    char pci[32];     /**< PCI bus id, which identifies a GPU of the node independently of its number */
    int index;        /**< number that CUDA gives the GPU among all visible ones, including unusable ones */
    int major, minor; /**< compute capability, major.minor */
    int multiprocessors;
    int64_t memory_bytes;
    int64_t free_bytes; /**< free memory of the open GPU; 0 for other GPUs: the query would allocate memory on
                             them */
    int64_t l2_bytes;
} sp_device_info;

/** Returns 1 if this build contains GPU support, else 0. */
int sp_device_built(void);

/** Returns the number of usable GPUs. Never fails, prints nothing, and takes no GPU memory. A GPU is not
 *  usable if it is older than all architectures for which this build has code.
 *  \param [out] why  "" if there are usable GPUs, else why there are none, in static or thread-local memory:
 *                    "this build was made without CUDA", "no NVIDIA driver", "the NVIDIA driver supports
 *                    CUDA 12.2, this build needs 13.0"; may be NULL */
int sp_device_count(const char **why);

/** Describes the usable GPU with number `index`, 0 .. sp_device_count() - 1.
 *  \param [out] info  zeroed on failure
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (there is no such GPU), _DEVICE */
spmm_status sp_device_describe(int index, sp_device_info *info);

/** Describes the GPU that is open. \param [out] info  zeroed on failure */
spmm_status sp_device_current(sp_device_info *info);

/** A property of a GPU as text. */
typedef struct sp_device_property {
    const char *name; /**< e.g. "registers per block", in static storage */
    char value
        [72]; /**< value with its unit, e.g. "49152 bytes" or "yes"; "unknown": neither the driver nor the
                   build provides the value */
} sp_device_property;
enum { SP_DEVICE_PROPERTIES = 64 };
/** Lists the properties of the usable GPU with number `index`, which need not be open; uses no GPU memory.
 *  \param [out] list   [SP_DEVICE_PROPERTIES]
 *  \param [out] count  number of properties in the list; 0 on failure
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE (there is no such GPU), _DEVICE */
spmm_status sp_device_properties(int index, sp_device_property *list, int *count);

/** Opens the usable GPU with number `index` as this process's device and creates its streams. The functions
 *  below need an open GPU. Does nothing if that GPU is open already.
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_USAGE (another GPU is open), _DEVICE */
spmm_status sp_device_open(int index);
/** Returns 1 and makes the open GPU the calling thread's current device; returns 0, without a message, if no
 *  GPU is open. */
int sp_device_is_open(void);
/** Waits for the GPU's streams and closes the GPU; does nothing if none is open. Ignores errors. */
void sp_device_close(void);

/** Allocates GPU memory, aligned to 256 bytes and not zeroed. Work queued in SP_STREAM_MAIN after this call
 *  may use it; other streams must wait for SP_STREAM_MAIN first.
 *  \param [out] p     the memory, which the caller frees with sp_device_free(); NULL on failure, never NULL
 *                     on success, even for 0 bytes
 *  \param [in]  what  what the memory is for, in the error message
 *  \return SPMM_OK, SPMM_ERR_MEMORY (the message has the sizes), SPMM_ERR_LIMIT (a negative size),
 *          SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what);
/** Like sp_device_alloc(), for memory that is accessed by other processes, with sp_device_share(), or by MPI
 *  or NCCL, which may not support memory of a memory pool. Slower. */
spmm_status sp_device_alloc_exchanged(void **p, int64_t bytes, const char *what);
/** Like sp_device_alloc(), for unified memory, which the host can also use when the GPU's streams are idle:
 *  its pages move to the processor that accesses them. Fails with SPMM_ERR_DEVICE if the GPU does not support
 *  it. Slower. */
spmm_status sp_device_alloc_managed(void **p, int64_t bytes, const char *what);
/** Frees memory from sp_device_alloc(), sp_device_alloc_exchanged() or sp_device_alloc_managed(). Memory that
 *  is shared (sp_device_share()) is only marked as freed. */
void sp_device_free(void *p);

/** Which processors can access the memory at an address. SP_REACH_ANY also means "unknown", e.g. while no
 *  GPU is open. */
typedef enum sp_reach { SP_REACH_ANY, SP_REACH_HOST, SP_REACH_GPU } sp_reach;
/** Returns which processors can access the memory at p. */
sp_reach sp_device_reach(const void *p);

/** Zeroes GPU memory; the operation is queued in SP_STREAM_MAIN. */
spmm_status sp_device_zero(void *p, int64_t bytes);
/** Zeroes `bytes` bytes from the start of each of `rows` rows, which lie `pitch` bytes apart; otherwise like
 *  sp_device_zero(). */
spmm_status sp_device_zero_2d(void *p, int64_t pitch, int64_t bytes, int64_t rows);
/** Fills GPU memory with bytes 0xff, which are NaNs in either precision; the operation is queued in
 *  SP_STREAM_MAIN. */
spmm_status sp_device_nan(void *p, int64_t bytes);

/** Copies host memory, which may be pageable, to the GPU in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_upload(void *device, const void *host, int64_t bytes);
/** Copies GPU memory to host memory, which may be pageable, in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_download(void *host, const void *device, int64_t bytes);
/** Copies within GPU memory in SP_STREAM_MAIN; complete on return. */
spmm_status sp_device_copy(void *to, const void *from, int64_t bytes);

/** Copies `rows` rows of `bytes` bytes each, in SP_STREAM_MAIN; complete on return.
 *  \param [in] to_pitch, from_pitch  distance in bytes between the starts of consecutive rows
 *  \param [in] kind  0 host to device, 1 device to host, 2 device to device; else SPMM_ERR_INTERNAL */
spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind);

/** Blocks the host until all work queued in SP_STREAM_MAIN is done; reports errors of kernels. */
spmm_status sp_device_sync(void);

/** The GPU's streams. Kernels run in SP_STREAM_MAIN while rows of X are moved in SP_STREAM_MOVE, which has
 *  the higher priority. */
typedef enum sp_stream { SP_STREAM_MAIN, SP_STREAM_MOVE, SP_STREAMS } sp_stream;

/** Makes the open GPU the calling thread's current device.
 *  \return the stream, a cudaStream_t for kernel launches; NULL if no GPU is open */
void *sp_device_stream(sp_stream stream);

/** Makes SP_STREAM_MAIN denote a stream of the caller, a cudaStream_t of the open GPU, until
 *  sp_device_return_stream(). Work that waits for SP_STREAM_MAIN then waits for that stream. */
spmm_status sp_device_take_stream(void *stream);
/** Makes SP_STREAM_MAIN denote the library's own stream again. Work queued there later runs after the work
 *  queued in the caller's stream, unless that stream is being captured. Does nothing if no stream was
 *  taken. */
spmm_status sp_device_return_stream(void);
/** Determines whether work queued in a stream, a cudaStream_t, is captured in a CUDA graph instead of being
 *  run.
 *  \param [out] captured  1 if it is; 0 if not, and on failure */
spmm_status sp_device_captures(void *stream, int *captured);
/** Checks that a cudaStream_t belongs to the open GPU and is not being captured. A pointer that is not a
 *  cudaStream_t may not be detected. \return SPMM_OK, SPMM_ERR_USAGE, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE */
spmm_status sp_device_check_stream(void *stream);

/** Makes work queued in the stream `later` after this call wait for all work queued in `earlier` so far. Does
 *  not block the host. */
spmm_status sp_stream_wait(sp_stream later, sp_stream earlier);

/** Blocks the host until all work queued in the stream is done; reports errors of kernels. */
spmm_status sp_stream_sync(sp_stream stream);

/** Determines whether the stream has completed all queued work; does not wait. Reports errors of kernels.
 *  \param [out] done  1 if it has; 0 if it has not, and on failure */
spmm_status sp_stream_done(sp_stream stream, int *done);

/** Queues a copy in the stream, in any direction between host and GPU memory. Host memory should come from
 *  sp_device_host_alloc(), otherwise the call may block. */
spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream);

/** Queues a copy of `rows` rows of `bytes` bytes each in the stream; otherwise like sp_stream_copy().
 *  \param [in] to_pitch, from_pitch  distance in bytes between the starts of consecutive rows */
spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream);

/** Allocates pinned host memory, which asynchronous copies to and from the GPU need, and which kernels can
 *  access at the same address (zero-copy memory). Not zeroed.
 *  \param [out] p     the memory, which the caller frees with sp_device_host_free(); NULL on failure, never
 *                     NULL on success
 *  \param [in]  what  what the memory is for, in the error message
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_LIMIT (a negative size), SPMM_ERR_NO_DEVICE */
spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what);
/** Frees memory from sp_device_host_alloc(). */
void sp_device_host_free(void *p);

/** An event without timing: it is recorded in a stream, and the host and other streams can wait for it. */
typedef struct sp_event sp_event;
/** Creates an event. \param [out] event  the caller destroys it; NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_event_create(sp_event **event);
/** Destroys an event, no matter which function created or attached it. */
void sp_event_destroy(sp_event *event);
/** Records the event in a stream: the event occurs when all work queued in the stream so far is done. */
spmm_status sp_event_record(sp_event *event, sp_stream stream);
/** Blocks the host until the event occurs (as last recorded); returns at once if the event was never
 *  recorded. */
spmm_status sp_event_wait(sp_event *event);
/** Makes all work queued in the stream from now on wait for the event (as last recorded); has no effect if
 *  the event was never recorded. */
spmm_status sp_stream_wait_event(sp_event *event, sp_stream stream);

/** A CUDA IPC handle to memory or to an event. The owner sends the handle to other processes of the node,
 *  which attach the memory or the event. A process cannot attach its own memory or events. */
typedef struct sp_shared {
    unsigned char handle[64];
} sp_shared;

enum { SP_SHARED_BYTES = 2 << 20 };
/** Makes GPU memory available for other processes to attach. After this call sp_device_free(p) only marks the
 *  memory as freed, because CUDA does not define the effect of freeing memory that others have attached.
 *  sp_device_unshare() frees the memory; call it when no process has the memory attached any more.
 *  \param [in]  p       from sp_device_alloc_exchanged(), at least SP_SHARED_BYTES bytes: CUDA puts smaller
 *                       allocations into a common block of memory and shares only the whole block
 *  \param [out] shared  handle to send to the other processes
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_device_share(void *p, sp_shared *shared);
/** Ends the sharing of the memory p, and frees the memory if sp_device_free() has marked it as freed. */
void sp_device_unshare(void *p);

/** Reuses shared memory that sp_device_free() has marked as freed: removes the mark.
 *  \return 1 if p was marked as freed, else 0 */
int sp_device_reuse(void *p);

/** Maps another process's shared memory into this process.
 *  \param [out] p  the caller detaches it; NULL on failure
 *  \return SPMM_OK, SPMM_ERR_NO_DEVICE, SPMM_ERR_DEVICE (also if the GPUs cannot access each other's
 *          memory) */
spmm_status sp_device_attach(const sp_shared *shared, void **p);
/** Unmaps memory from sp_device_attach(). */
void sp_device_detach(void *p);
/** Creates an event that other processes can attach.
 *  \param [out] event   the caller destroys it, even if the function failed because the handle could not be
 *                       made
 *  \param [out] shared  handle to send to the other processes
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_event_create_shared(sp_event **event, sp_shared *shared);
/** Attaches another process's event. \param [out] event  the caller destroys it; NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_event_attach(const sp_shared *shared, sp_event **event);

/** An operation of a stream on a flag. A flag is a 32-bit number in GPU memory of this process or, attached,
 *  of another process. Flags count up and wrap around: a flag has reached a value if (int32_t)(flag - value)
 *  >= 0. */
typedef struct sp_flag_op {
    uint32_t *flag;
    uint32_t value;
    /** 0: sets the flag to the value. A reader of the flag then also reads the stream's earlier writes, in
     *  the memory of any GPU. 1: work queued later waits until the flag has reached the value. No kernel
     *  polls the flag, so the wait occupies no multiprocessor */
    int waits;
} sp_flag_op;
/** Returns the reason why streams cannot set flags and wait for them, in static storage; NULL: they can. */
const char *sp_flags_missing(void);
/** Queues operations on flags in the stream, one after another. If a stream waits for a flag that no other
 *  rank will set, only sp_flag_set() can end the wait. The host must not wait for the stream before
 *  sp_flag_set() is called, because the host would wait forever.
 *  \param [in] op  [count], copied */
spmm_status sp_stream_flags(const sp_flag_op *op, int count, sp_stream stream);
/** Sets a flag, independently of all streams; done on return. */
spmm_status sp_flag_set(uint32_t *flag, uint32_t value);

/** Returns 1 if kernels can start before the previous kernel of their stream has completed (compute
 *  capability 9.0, and a build with code for it), else 0. */
int sp_device_starts_early(void);

/** Returns the ratio of the f32 rate to the f64 rate of the open GPU; 0 if no GPU is open or CUDA does not
 *  provide it. */
int sp_device_f32_per_f64(void);

/** Checks the kernel launch that was just made. Stores the name of the kernel for the message of an error
 *  that CUDA reports later.
 *  \param [in] kernel  name of the kernel, in static storage */
spmm_status sp_device_launched(const char *kernel);

/** The shape in which a product's CUDA kernel was launched. */
typedef struct sp_launch_shape {
    int64_t blocks;         /**< blocks of the grid */
    int block;              /**< threads per block */
    int subwarp;            /**< lanes that share an element or a row; 0: the kernel has no sub-warps */
    int registers;          /**< registers per thread */
    int64_t static_shared;  /**< bytes of shared memory per block that the kernel declares */
    int64_t dynamic_shared; /**< bytes of shared memory per block that the launch adds */
    int resident;           /**< maximum number of blocks that a multiprocessor can run at the same time */
    double occupancy;       /**< threads of these blocks, divided by the maximum number of threads of a
                                 multiprocessor */
} sp_launch_shape;

/** Records the launch of a product's kernel; costs a few stores.
 *  \param [in] kernel  the function that was launched
 *  \param [in] shape   the members that are known at launch: blocks, block, subwarp, dynamic_shared */
void sp_device_note_launch(const void *kernel, sp_launch_shape shape);

/** Returns the shape of the last recorded launch, and clears it. All members are 0 if none was recorded since
 *  the previous call, e.g. on a CPU or with a kernel of another library. */
sp_launch_shape sp_device_last_launch(void);

/** A timer of work on the GPU: a pair of CUDA events. */
typedef struct sp_timer sp_timer;
/** Creates a timer. \param [out] timer  the caller destroys it; NULL on failure
 *  \return SPMM_OK, SPMM_ERR_MEMORY, SPMM_ERR_NO_DEVICE, _DEVICE */
spmm_status sp_timer_create(sp_timer **timer);
/** Destroys a timer. */
void sp_timer_destroy(sp_timer *timer);
/** Starts the timer: records its first event in the stream. */
spmm_status sp_timer_start(sp_timer *timer, sp_stream stream);
/** Stops the timer: records its second event in the stream. */
spmm_status sp_timer_stop(sp_timer *timer, sp_stream stream);
/** Waits for the second event of the timer.
 *  \param [out] seconds  time between the two events; 0 on failure */
spmm_status sp_timer_seconds(sp_timer *timer, double *seconds);

#endif
