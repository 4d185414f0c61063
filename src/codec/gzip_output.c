/** Compresses what is written to a stdio stream by zlib, which every build has. ISA-L would be faster, but
 *  its output is larger. */
#include "codec/gzip_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 16 };

int sp_gzip_name(const char *path)
{
    const size_t n = strlen(path);
    return n > 3 && strcasecmp(path + n - 3, ".gz") == 0;
}

static ssize_t write_text(void *file, const char *text, size_t bytes)
{
    return gzwrite(file, text, (unsigned)bytes); /* 0 if it failed, as the callback must return then */
}

static int gzip_output_finish(void *file) { return gzclose_w(file) == Z_OK ? 0 : -1; }

FILE *sp_gzip_output(int fd)
{
    const cookie_io_functions_t functions = {.write = write_text, .close = gzip_output_finish};
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0) return NULL;
    /* the digits of values hardly compress better at levels above 1, which take several times as long */
    const gzFile file = gzdopen(own, "wb1");
    FILE *const stream = file ? fopencookie(file, "w", functions) : NULL;
    if (stream) {
        gzbuffer(file, BUFFER_BYTES);
        setvbuf(stream, NULL, _IOFBF, BUFFER_BYTES);
        return stream;
    }
    if (file)
        gzclose_w(file);
    else
        close(own);
    errno = ENOMEM;
    return NULL;
}
