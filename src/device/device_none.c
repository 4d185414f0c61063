/** Implements device.h for builds without CUDA: reports that there is no GPU, and all operations fail. */
#include "device/device.h"

#include "base/refuse.h"

static spmm_status refuse(void) { return sp_fail(SPMM_ERR_NO_DEVICE, "this build was made without CUDA"); }

int sp_device_built(void) { return 0; }

int sp_device_count(const char **why)
{
    if (why) *why = "this build was made without CUDA";
    return 0;
}

REFUSE_EMPTY(sp_device_describe, *info = (sp_device_info){0}, int index, sp_device_info *info)
REFUSE_EMPTY(sp_device_properties, *count = 0, int index, sp_device_property *list, int *count)
REFUSE_EMPTY(sp_device_current, *info = (sp_device_info){0}, sp_device_info *info)
REFUSE(sp_device_open, int index)

int sp_device_is_open(void) { return 0; }
void sp_device_close(void) {}

REFUSE_EMPTY(sp_device_alloc_exchanged, *p = NULL, void **p, int64_t bytes, const char *what)
REFUSE_EMPTY(sp_device_alloc_managed, *p = NULL, void **p, int64_t bytes, const char *what)
REFUSE_EMPTY(sp_device_alloc, *p = NULL, void **p, int64_t bytes, const char *what)

void sp_device_free(void *p) {}
sp_reach sp_device_reach(const void *p) { return SP_REACH_ANY; }

REFUSE(sp_device_zero, void *p, int64_t bytes)
REFUSE(sp_device_zero_2d, void *p, int64_t pitch, int64_t bytes, int64_t rows)
REFUSE(sp_device_nan, void *p, int64_t bytes)
REFUSE(sp_device_upload, void *device, const void *host, int64_t bytes)
REFUSE(sp_device_download, void *host, const void *device, int64_t bytes)
REFUSE(sp_device_copy, void *to, const void *from, int64_t bytes)
REFUSE(sp_device_copy_2d, void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
       int64_t rows, int kind)
REFUSE(sp_device_sync, void)

int sp_device_starts_early(void) { return 0; }
int sp_device_f32_per_f64(void) { return 0; }
void *sp_device_stream(sp_stream stream) { return NULL; }

REFUSE(sp_device_take_stream, void *stream)

spmm_status sp_device_return_stream(void) { return SPMM_OK; }

REFUSE_EMPTY(sp_device_captures, *captured = 0, void *stream, int *captured)
REFUSE(sp_device_check_stream, void *stream)
REFUSE(sp_stream_wait, sp_stream later, sp_stream earlier)
REFUSE(sp_stream_sync, sp_stream stream)
REFUSE(sp_stream_copy, void *to, const void *from, int64_t bytes, sp_stream stream)
REFUSE(sp_stream_copy_2d, void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
       int64_t rows, sp_stream stream)
REFUSE_EMPTY(sp_device_host_alloc, *p = NULL, void **p, int64_t bytes, const char *what)

void sp_device_host_free(void *p) {}

REFUSE_EMPTY(sp_event_create, *event = NULL, sp_event **event)

void sp_event_destroy(sp_event *event) {}

REFUSE(sp_event_record, sp_event *event, sp_stream stream)
REFUSE(sp_event_wait, sp_event *event)
REFUSE(sp_stream_wait_event, sp_event *event, sp_stream stream)
REFUSE_EMPTY(sp_event_create_shared, *event = NULL, sp_event **event, sp_shared *shared)
REFUSE_EMPTY(sp_event_attach, *event = NULL, const sp_shared *shared, sp_event **event)
REFUSE(sp_device_share, void *p, sp_shared *shared)

void sp_device_unshare(void *p) {}
int sp_device_reuse(void *p) { return 0; }

REFUSE_EMPTY(sp_device_attach, *p = NULL, const sp_shared *shared, void **p)

void sp_device_detach(void *p) {}
const char *sp_flags_missing(void) { return "this build was made without CUDA"; }

REFUSE(sp_stream_flags, const sp_flag_op *op, int count, sp_stream stream)
REFUSE(sp_flag_set, uint32_t *flag, uint32_t value)
REFUSE_EMPTY(sp_stream_done, *done = 0, sp_stream stream, int *done)
REFUSE(sp_device_launched, const char *kernel)

void sp_device_note_launch(const void *kernel, sp_launch_shape shape) {}
sp_launch_shape sp_device_last_launch(void) { return (sp_launch_shape){0}; }

REFUSE_EMPTY(sp_timer_create, *timer = NULL, sp_timer **timer)

void sp_timer_destroy(sp_timer *timer) {}

REFUSE(sp_timer_start, sp_timer *timer, sp_stream stream)
REFUSE(sp_timer_stop, sp_timer *timer, sp_stream stream)
REFUSE_EMPTY(sp_timer_seconds, *seconds = 0, sp_timer *timer, double *seconds)
