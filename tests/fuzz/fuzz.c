#include "fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/numparse.h"
#include "faults.h"

static const char *target_name = "";
static int64_t allocated_before, open_before;

void fuzz_fail(const char *format, ...)
{
    va_list args;
    fuzz_fault_off();
    fprintf(stderr, "fuzz %s: ", target_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n  last message: %s\n", spmm_error_message());
    abort();
}

int fuzz_begin(fuzz_input *in, const char *target, const uint8_t *data, size_t size)
{
    static const int64_t chunks[16] = {1,  2,  3,   4,   5,   7,    9,    16,
                                       31, 64, 100, 333, 512, 1000, 4096, FUZZ_WHOLE};
    static const int threads[4] = {1, 2, 3, 1};
    target_name = target;
    sp_numparse_init(); /* what it allocates is never freed, and not counted */
    sp_set_message("");
    if (size < FUZZ_HEAD) return 0;
    *in = (fuzz_input){.data = data + FUZZ_HEAD,
                       .size = size - FUZZ_HEAD,
                       .chunk = chunks[data[0] % 16],
                       .read = {.threads = threads[data[1] & 3],
                                .precision = (spmm_precision)((data[1] >> 2 & 1) | (data[2] >> 3 & 2)),
                                .allow_nonfinite = data[1] >> 3 & 1},
                       .extra = (data[1] >> 4) ^ 3,
                       .fault = data[2] % 16 < 8 ? FUZZ_NO_FAULT : (fuzz_fault)(data[2] % 16),
                       .fault_after = data[3] % 64};
    faults_restart();
    allocated_before = faults_allocated();
    open_before = faults_open();
    return 1;
}

int fuzz_end(void)
{
    const int64_t kept = faults_allocated() - allocated_before, open = faults_open() - open_before;
    if (kept != 0) fuzz_fail("%lld allocations were not freed", (long long)kept);
    if (open != 0) fuzz_fail("%lld files were not closed", (long long)open);
    return 0;
}

void fuzz_fault_on(const fuzz_input *in) { faults_set(in->fault, in->fault_after); }
void fuzz_fault_off(void) { faults_set(FUZZ_NO_FAULT, 0); }

/* ---- files ---- */

const char *fuzz_file(const void *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
        perror("fuzz_file");
        exit(1);
    }
    return path;
}

static char folder[512];

static void remove_folder(void) { (void)rmdir(folder); }

const char *fuzz_folder_file(const char *name)
{
    static char path[600];
    static int made;
    if (!made) {
        const char *const parent = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/spmm-fuzz-XXXXXX", parent ? parent : "/tmp");
        if (!mkdtemp(folder)) {
            perror(folder);
            exit(1);
        }
        made = 1;
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int fuzz_folder_clean(const char *path)
{
    const int there = unlink(path) == 0;
    if (rmdir(folder) != 0 || mkdir(folder, 0700) != 0) fuzz_fail("something is left in %s", folder);
    return there;
}

void fuzz_put(const char *path, const void *data, size_t size)
{
    FILE *const f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

void fuzz_help(void (*help)(int, FILE *))
{
    FILE *const f = fopen("/dev/null", "w");
    if (!f) return;
    help(0, f);
    help(1, f);
    fclose(f);
}

void fuzz_chunk(int64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)bytes);
    setenv("SPMM_READ_CHUNK_BYTES", text, 1);
}

/* ---- what must hold ---- */

/** Returns whether p, the text after "PATH", begins with ":LINE: ". */
static int has_line(const char *p)
{
    if (*p++ != ':' || *p < '1' || *p > '9') return 0;
    while (isdigit((unsigned char)*p)) p++;
    return strncmp(p, ": ", 2) == 0;
}

void fuzz_refused(spmm_status status, const char *path, fuzz_message begins)
{
    const char *const message = spmm_error_message();
    if (status <= SPMM_OK || status >= SPMM_STATUS_COUNT || status == SPMM_ERR_INTERNAL)
        fuzz_fail("refused by status %d", (int)status);
    if (!*message) fuzz_fail("refused without a message");
    for (const char *p = message; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) fuzz_fail("the message is not one printable line");
    const int of_text = status == SPMM_ERR_SYNTAX || status == SPMM_ERR_UNSUPPORTED;
    if (begins == FUZZ_ANY) return;
    const size_t n = strlen(path);
    if (strncmp(message, path, n) != 0 || message[n] != ':')
        fuzz_fail("the message does not begin with the file");
    /* (messages about files that are no text name no line: ": found KIND, expected ..") */
    const char *const found = ": found ";
    const int no_text = strncmp(message + n, found, strlen(found)) == 0;
    if (begins == FUZZ_LINE && of_text && !has_line(message + n) && !no_text)
        fuzz_fail("the message does not name a line");
}

void fuzz_same_csr(const spmm_csr *a, const spmm_csr *b)
{
    FUZZ_CHECK(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->precision == b->precision);
    FUZZ_CHECK(memcmp(a->irp, b->irp, (size_t)(a->rows + 1) * sizeof *a->irp) == 0);
    FUZZ_CHECK(memcmp(a->ja, b->ja, (size_t)a->nnz * sizeof *a->ja) == 0);
    FUZZ_CHECK(memcmp(a->as, b->as, (size_t)a->nnz * sp_value_size(a->precision)) == 0);
}
