/** What a compressing stream writes is read back, and a file's name says whether it is compressed. */
#include <fcntl.h>

#include "base/random.h"
#include "codec/gzip_output.h"
#include "files.h"
#include "io/input.h"
#include "test.h"

enum { MOST = 1 << 20 };
static char text[MOST], found[MOST + 1];

/** Fills `text` with lines of numbers, or with one letter, which compresses 1000-fold. */
static void fill(int numbers)
{
    memset(text, 'a', sizeof text);
    size_t n = 0;
    for (uint64_t i = 0; numbers && n + 32 < sizeof text; i++)
        n += (size_t)sprintf(text + n, "%.17g\n", (double)sp_random(1, i, 2) * 0x1p-64);
}

/** Writes text[0, bytes) through the stream, `piece` bytes at a time. \return 1; 0: it failed */
static int write_text(size_t bytes, size_t piece)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FILE *const f = sp_gzip_output(fd);
    if (!f) return 0;
    for (size_t at = 0; at < bytes; at += piece)
        fwrite(text + at, 1, bytes - at < piece ? bytes - at : piece, f);
    const int failed = ferror(f) || fclose(f) != 0;
    return close(fd) == 0 && !failed; /* closing the stream has left the descriptor open */
}

/** Returns whether the file at `path` is compressed and its text is text[0, bytes). */
static int reads_back(size_t bytes)
{
    sp_input *in;
    int64_t got = 1, n = 0;
    if (sp_input_open(path, &in) != SPMM_OK) return 0;
    while (got > 0 && sp_input_read(in, found + n, (int64_t)sizeof found - n, &got) == SPMM_OK) n += got;
    const int packed = sp_input_codec(in) != NULL;
    sp_input_close(in);
    return packed && n == (int64_t)bytes && memcmp(found, text, bytes) == 0;
}

static void test_text(void)
{
    static const size_t sizes[] = {1, 2, 65535, 65536, 65537, MOST - 7};
    TEST("what is written is read back, however long and in whatever pieces") {
        for (int numbers = 0; numbers < 2; numbers++) {
            fill(numbers);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                CHECK(write_text(sizes[i], 1 << 20) && reads_back(sizes[i]));
                CHECK(write_text(sizes[i], 4099) && reads_back(sizes[i]));
            }
        }
    }
}

static void test_failure(void)
{
    TEST("a full disk is an error of the stream, at the latest when it is closed") {
        fill(1);
        const int full = open("/dev/full", O_WRONLY);
        FILE *f = sp_gzip_output(full);
        CHECK(f && fwrite(text, 1, 10, f) == 10 && fclose(f) != 0 && errno == ENOSPC);
        f = sp_gzip_output(full);
        fwrite(text, 1, MOST, f);
        CHECK(ferror(f) || fflush(f) != 0);
        CHECK(fclose(f) != 0);
        close(full);
    }
}

static void test_names(void)
{
    TEST("the end of a name says whether it is compressed, in either case, if something is before it") {
        CHECK(sp_gzip_name("Y.mtx.gz") && sp_gzip_name("a/b.GZ"));
        CHECK(!sp_gzip_name(".gz") && !sp_gzip_name("Y.mtx") && !sp_gzip_name(""));
        CHECK(!sp_gzip_name("gz") && !sp_gzip_name("Y.gz.mtx") && !sp_gzip_name("Y.xz"));
    }
}

int main(void)
{
    files_begin("packed");
    test_names();
    test_text();
    test_failure();
    files_end();
    return test_end();
}
