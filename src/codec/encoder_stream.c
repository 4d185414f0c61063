/** Compresses what is written to a stdio stream, which fopencookie() connects to an encoder. */
#include "codec/encoder_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

typedef struct encoder_stream {
    const sp_encoder_ops *ops;
    void *state;
    int fd, failed; /* failed: errno of the failure after which nothing more is written; 0: none */
    unsigned char buffer[BUFFER_BYTES];
} encoder_stream;

static void write_all(encoder_stream *s, size_t bytes)
{
    for (size_t done = 0; done < bytes && !s->failed;) {
        const ssize_t n = write(s->fd, s->buffer + done, bytes - done);
        if (n > 0) done += (size_t)n;
        if (n < 0 && errno != EINTR) s->failed = errno;
    }
}

/** Compresses `bytes` bytes of text; if `last` is 1, completes the data. */
static void encode(encoder_stream *s, const char *text, size_t bytes, int last)
{
    sp_codec_buffers b = {.in = (const unsigned char *)text, .in_bytes = (int64_t)bytes};
    sp_codec_result result = SP_CODEC_GOES_ON;
    do {
        b.out = s->buffer;
        b.out_bytes = BUFFER_BYTES;
        result = s->ops->step(s->state, &b, last);
        if (result == SP_CODEC_DAMAGED) s->failed = EIO;
        write_all(s, (size_t)(b.out - s->buffer));
    } while (!s->failed && result != SP_CODEC_ENDS && (last || b.in_bytes > 0 || b.out_bytes == 0));
}

static ssize_t write_text(void *cookie, const char *text, size_t bytes)
{
    encoder_stream *const s = cookie;
    if (!s->failed) encode(s, text, bytes, 0);
    errno = s->failed;
    return s->failed ? 0 : (ssize_t)bytes; /* fopencookie(3): failure is 0, not a negative number */
}

static int finish(void *cookie)
{
    encoder_stream *const s = cookie;
    if (!s->failed) encode(s, NULL, 0, 1);
    const int reason = s->failed;
    s->ops->destroy(s->state);
    free(s);
    errno = reason;
    return reason ? -1 : 0;
}

FILE *sp_encoder_open(const sp_codec *codec, int fd)
{
    const cookie_io_functions_t functions = {.write = write_text, .close = finish};
    encoder_stream *const s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (encoder_stream){.ops = codec->encoder, .state = codec->encoder->create(), .fd = fd};
    FILE *const stream = s->state ? fopencookie(s, "w", functions) : NULL;
    if (stream) {
        setvbuf(stream, NULL, _IOFBF, BUFFER_BYTES);
        return stream;
    }
    if (s->state) s->ops->destroy(s->state);
    free(s);
    errno = ENOMEM;
    return NULL;
}
