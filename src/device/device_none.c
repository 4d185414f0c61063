/** Implements device.h for builds without CUDA: reports that there is no GPU, and all operations fail. */
#include "device/device.h"

static spmm_status refuse(void) { return sp_fail(SPMM_ERR_NO_DEVICE, "this build was made without CUDA"); }

int sp_device_built(void) { return 0; }

int sp_device_count(const char **why)
{
    if (why) *why = "this build was made without CUDA";
    return 0;
}

spmm_status sp_device_describe(int index, sp_device_info *info)
{
    (void)index;
    *info = (sp_device_info){0};
    return refuse();
}

spmm_status sp_device_properties(int index, sp_device_property *list, int *count)
{
    (void)index, (void)list;
    *count = 0;
    return refuse();
}

spmm_status sp_device_current(sp_device_info *info) { return sp_device_describe(0, info); }

spmm_status sp_device_open(int index)
{
    (void)index;
    return refuse();
}

int sp_device_is_open(void) { return 0; }

void sp_device_close(void) {}

spmm_status sp_device_alloc_exchanged(void **p, int64_t bytes, const char *what)
{
    return sp_device_alloc(p, bytes, what);
}

spmm_status sp_device_alloc_managed(void **p, int64_t bytes, const char *what)
{
    return sp_device_alloc(p, bytes, what);
}

spmm_status sp_device_alloc(void **p, int64_t bytes, const char *what)
{
    (void)bytes, (void)what;
    *p = NULL;
    return refuse();
}

void sp_device_free(void *p) { (void)p; }

sp_reach sp_device_reach(const void *p) { return (void)p, SP_REACH_ANY; }

spmm_status sp_device_zero(void *p, int64_t bytes)
{
    (void)p, (void)bytes;
    return refuse();
}

spmm_status sp_device_zero_2d(void *p, int64_t pitch, int64_t bytes, int64_t rows)
{
    (void)pitch, (void)rows;
    return sp_device_zero(p, bytes);
}

spmm_status sp_device_nan(void *p, int64_t bytes) { return sp_device_zero(p, bytes); }

spmm_status sp_device_upload(void *device, const void *host, int64_t bytes)
{
    (void)device, (void)host, (void)bytes;
    return refuse();
}

spmm_status sp_device_download(void *host, const void *device, int64_t bytes)
{
    (void)host, (void)device, (void)bytes;
    return refuse();
}

spmm_status sp_device_copy(void *to, const void *from, int64_t bytes)
{
    (void)to, (void)from, (void)bytes;
    return refuse();
}

spmm_status sp_device_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, int kind)
{
    (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)bytes, (void)rows, (void)kind;
    return refuse();
}

spmm_status sp_device_sync(void) { return refuse(); }

int sp_device_starts_early(void) { return 0; }

int sp_device_f32_per_f64(void) { return 0; }

void *sp_device_stream(sp_stream stream) { return (void)stream, NULL; }

spmm_status sp_device_take_stream(void *stream)
{
    (void)stream;
    return refuse();
}

spmm_status sp_device_return_stream(void) { return SPMM_OK; }

spmm_status sp_device_captures(void *stream, int *captured)
{
    (void)stream;
    *captured = 0;
    return refuse();
}

spmm_status sp_device_check_stream(void *stream)
{
    (void)stream;
    return refuse();
}

spmm_status sp_stream_wait(sp_stream later, sp_stream earlier)
{
    (void)later, (void)earlier;
    return refuse();
}

spmm_status sp_stream_sync(sp_stream stream)
{
    (void)stream;
    return refuse();
}

spmm_status sp_stream_copy(void *to, const void *from, int64_t bytes, sp_stream stream)
{
    (void)to, (void)from, (void)bytes, (void)stream;
    return refuse();
}

spmm_status sp_stream_copy_2d(void *to, int64_t to_pitch, const void *from, int64_t from_pitch, int64_t bytes,
                              int64_t rows, sp_stream stream)
{
    (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)bytes, (void)rows, (void)stream;
    return refuse();
}

spmm_status sp_device_host_alloc(void **p, int64_t bytes, const char *what)
{
    (void)bytes, (void)what;
    *p = NULL;
    return refuse();
}

void sp_device_host_free(void *p) { (void)p; }

spmm_status sp_event_create(sp_event **event)
{
    *event = NULL;
    return refuse();
}

void sp_event_destroy(sp_event *event) { (void)event; }

spmm_status sp_event_record(sp_event *event, sp_stream stream)
{
    (void)event, (void)stream;
    return refuse();
}

spmm_status sp_event_wait(sp_event *event)
{
    (void)event;
    return refuse();
}

spmm_status sp_stream_wait_event(sp_event *event, sp_stream stream)
{
    (void)event, (void)stream;
    return refuse();
}

spmm_status sp_event_create_shared(sp_event **event, sp_shared *shared)
{
    (void)shared;
    return sp_event_create(event);
}

spmm_status sp_event_attach(const sp_shared *shared, sp_event **event)
{
    (void)shared;
    return sp_event_create(event);
}

spmm_status sp_device_share(void *p, sp_shared *shared)
{
    (void)p, (void)shared;
    return refuse();
}

void sp_device_unshare(void *p) { (void)p; }

int sp_device_reuse(void *p) { return (void)p, 0; }

spmm_status sp_device_attach(const sp_shared *shared, void **p)
{
    (void)shared;
    *p = NULL;
    return refuse();
}

void sp_device_detach(void *p) { (void)p; }

const char *sp_flags_missing(void) { return "this build was made without CUDA"; }

spmm_status sp_stream_flags(const sp_flag_op *op, int count, sp_stream stream)
{
    (void)op, (void)count, (void)stream;
    return refuse();
}

spmm_status sp_flag_set(uint32_t *flag, uint32_t value)
{
    (void)flag, (void)value;
    return refuse();
}

spmm_status sp_stream_done(sp_stream stream, int *done)
{
    (void)stream;
    *done = 0;
    return refuse();
}

spmm_status sp_device_launched(const char *kernel)
{
    (void)kernel;
    return refuse();
}

void sp_device_note_launch(const void *kernel, sp_launch_shape shape) { (void)kernel, (void)shape; }

sp_launch_shape sp_device_last_launch(void) { return (sp_launch_shape){0}; }

spmm_status sp_timer_create(sp_timer **timer)
{
    *timer = NULL;
    return refuse();
}

void sp_timer_destroy(sp_timer *timer) { (void)timer; }

spmm_status sp_timer_start(sp_timer *timer, sp_stream stream)
{
    (void)stream;
    (void)timer;
    return refuse();
}

spmm_status sp_timer_stop(sp_timer *timer, sp_stream stream)
{
    (void)stream;
    (void)timer;
    return refuse();
}

spmm_status sp_timer_seconds(sp_timer *timer, double *seconds)
{
    (void)timer;
    *seconds = 0;
    return refuse();
}
