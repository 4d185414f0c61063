/** Implements a part of device.h: events, and the sharing of memory and events among processes of a node
 *  (CUDA IPC). */
#include <stdlib.h>
#include <string.h>

#include "device/device_cuda.h"

struct sp_event {
    cudaEvent_t event;
};

/* ---- events ---- */

/** Creates an event, or attaches another process's event.
 *  \param [in] handle  handle of the other process's event; NULL: create an event */
static spmm_status create_event(unsigned flags, const cudaIpcEventHandle_t *handle, sp_event **event)
{
    *event = NULL;
    TRY(sp_cuda_enter());
    sp_event *m = calloc(1, sizeof *m);
    if (!m) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate an event");
    const cudaError_t error = handle ? cudaIpcOpenEventHandle(&m->event, *handle)
                                     : cudaEventCreateWithFlags(&m->event, flags);
    if (error != cudaSuccess) {
        free(m);
        return sp_cuda_fail(error, handle ? "cannot use another process's event" : "cannot create an event");
    }
    *event = m;
    return SPMM_OK;
}

spmm_status sp_event_create(sp_event **event) { return create_event(cudaEventDisableTiming, NULL, event); }

void sp_event_destroy(sp_event *event)
{
    if (!event) return;
    (void)cudaEventDestroy(event->event);
    (void)cudaGetLastError();
    free(event);
}

spmm_status sp_event_record(sp_event *event, sp_stream stream)
{
    TRY(sp_cuda_enter());
    CUDA(cudaEventRecord(event->event, (cudaStream_t)sp_device_stream(stream)), "cannot record an event");
    return SPMM_OK;
}

spmm_status sp_event_wait(sp_event *event)
{
    TRY(sp_cuda_enter());
    const cudaError_t error = cudaEventSynchronize(event->event);
    return error == cudaSuccess ? SPMM_OK : sp_cuda_wait_fail(error, "waiting");
}

spmm_status sp_stream_wait_event(sp_event *event, sp_stream stream)
{
    TRY(sp_cuda_enter());
    CUDA(cudaStreamWaitEvent((cudaStream_t)sp_device_stream(stream), event->event, 0),
         "cannot order streams");
    return SPMM_OK;
}

/* ---- sharing with other processes ---- */

spmm_status sp_event_create_shared(sp_event **event, sp_shared *shared)
{
    cudaIpcEventHandle_t handle;
    _Static_assert(sizeof handle <= sizeof *shared, "a handle fits");
    TRY(create_event(cudaEventDisableTiming | cudaEventInterprocess, NULL, event));
    CUDA(cudaIpcGetEventHandle(&handle, (*event)->event), "cannot share an event");
    memcpy(shared, &handle, sizeof handle);
    return SPMM_OK;
}

spmm_status sp_event_attach(const sp_shared *shared, sp_event **event)
{
    cudaIpcEventHandle_t handle;
    memcpy(&handle, shared, sizeof handle);
    return create_event(0, &handle, event);
}

/* allocations that this process shares with others; only a few exist at a time */
static struct {
    struct piece {
        void *p;
        int freed;
    } * piece;
    int count;
} kept;

static struct piece *find_kept(const void *p)
{
    for (int i = 0; i < kept.count; i++)
        if (kept.piece[i].p == p) return &kept.piece[i];
    return NULL;
}

int sp_cuda_keeps(void *p)
{
    struct piece *const piece = find_kept(p);
    if (piece) piece->freed = 1;
    return piece != NULL;
}

spmm_status sp_device_share(void *p, sp_shared *shared)
{
    cudaIpcMemHandle_t handle;
    _Static_assert(sizeof handle <= sizeof *shared, "a handle fits");
    TRY(sp_cuda_enter());
    CUDA(cudaIpcGetMemHandle(&handle, p), "cannot share memory");
    memcpy(shared, &handle, sizeof handle);
    struct piece *const more = realloc(kept.piece, (size_t)(kept.count + 1) * sizeof *more);
    if (!more) return sp_fail(SPMM_ERR_MEMORY, "cannot allocate the list of memory that other processes use");
    kept.piece = more;
    kept.piece[kept.count++] = (struct piece){p, 0};
    return SPMM_OK;
}

void sp_device_unshare(void *p)
{
    struct piece *const piece = find_kept(p);
    if (!piece) return;
    const int freed = piece->freed;
    *piece = kept.piece[--kept.count];
    if (kept.count == 0) {
        free(kept.piece);
        kept.piece = NULL;
    }
    if (freed && p && sp_device_is_open()) sp_cuda_free(p);
}

int sp_device_reuse(void *p)
{
    struct piece *const piece = find_kept(p);
    const int freed = piece && piece->freed;
    if (freed) piece->freed = 0;
    return freed;
}

spmm_status sp_device_attach(const sp_shared *shared, void **p)
{
    cudaIpcMemHandle_t handle;
    *p = NULL;
    TRY(sp_cuda_enter());
    memcpy(&handle, shared, sizeof handle);
    CUDA(cudaIpcOpenMemHandle(p, handle, cudaIpcMemLazyEnablePeerAccess),
         "cannot use another process's memory");
    return SPMM_OK;
}

void sp_device_detach(void *p)
{
    if (!p) return;
    (void)cudaIpcCloseMemHandle(p);
    (void)cudaGetLastError();
}
