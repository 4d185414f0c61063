/** Checks and reads the environment variables SPMM_*. */
#include "base/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu_isa.h"
#include "base/words.h"

static spmm_status check_isa(const char *text)
{
    char list[64] = "";
    for (int i = SP_ISA_GENERIC; i <= SP_ISA_AVX512; i++) {
        const char *const name = sp_isa_name((sp_isa)i);
        const size_t n = strlen(list);
        if (strcmp(text, name) == 0 && i > (int)sp_machine_isa())
            return sp_fail(SPMM_ERR_USAGE, "SPMM_ISA=%s: this processor supports at most %s", name,
                           sp_isa_name(sp_machine_isa()));
        if (strcmp(text, name) == 0) return SPMM_OK;
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", name);
    }
    return sp_fail(SPMM_ERR_USAGE, "SPMM_ISA=%s: expected one of %s", SHOWN(text), list);
}

/** Checks the value of SPMM_FAULT: STAGE:RANK, optionally followed by :kill, :stop or :wrong. */
static spmm_status check_fault(const char *text)
{
    static const char *const kinds[] = {"", ":kill", ":stop", ":wrong"};
    const size_t stage = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    const size_t digits = text[stage] == ':' ? strspn(text + stage + 1, "0123456789") : 0;
    for (size_t i = 0; stage > 0 && digits > 0 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text + stage + 1 + digits, kinds[i]) == 0) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE,
                   "SPMM_FAULT=%s: expected STAGE:RANK, optionally followed by :kill, :stop or :wrong",
                   SHOWN(text));
}

/** All environment variables SPMM_*. If `check` is not NULL, that function decides which values are valid. If
 *  `check` is NULL and `most` is 0, any value is valid. Otherwise a value must be a whole number from `least`
 *  to `most`. */
static const struct {
    const char *name;
    int64_t least, most;
    spmm_status (*check)(const char *text);
    int own; /* 1: ranks may have different values */
} rows[] = {
    {"SPMM_CHUNK_BYTES", 1, 1 << 30, NULL, 0}, /* maximum size of a message in bytes: comm.h */
    /* size in bytes of the chunks of text that threads parse: text_chunks.h */
    {"SPMM_READ_CHUNK_BYTES", 1, 1 << 30, NULL, 0},
    {"SPMM_TILE_EDGE", 1, 1 << 20, NULL, 0}, /* edge length of a tile of coefficients: pearson.c */
    {"SPMM_MEMORY_CHECK", 0, 1, NULL, 1},    /* 0: large allocations are not checked: memory.h */
    /* highest instruction set that CPU kernels may use: cpu_isa.h */
    {"SPMM_ISA", 0, 0, check_isa, 1},
    /* GPU memory that is kept for later allocations: device_cuda_memory.c */
    {"SPMM_GPU_KEPT_MB", 0, 1 << 20, NULL, 1},
    {"SPMM_FAULT", 0, 0, check_fault, 1}, /* fault injection for tests: comm.h */
    /* name of the one backend that exchanges of GPUs may use: exchange_backend.h */
    {"SPMM_EXCHANGE_BACKEND", 0, 0, NULL, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int in_range(const char *text, int64_t least, int64_t most, int64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return isdigit((unsigned char)*text) && !*end && !errno && *value >= least && *value <= most;
}

static spmm_status check_value(int row, const char *text)
{
    int64_t value;
    if (rows[row].check) return rows[row].check(text);
    if (rows[row].most == 0 || in_range(text, rows[row].least, rows[row].most, &value)) return SPMM_OK;
    return sp_fail(SPMM_ERR_USAGE, "%s=%s: expected a whole number from %lld to %lld", rows[row].name,
                   SHOWN(text), (long long)rows[row].least, (long long)rows[row].most);
}

spmm_status sp_environment_check(void)
{
    for (int i = 0; i < ROWS; i++) {
        const char *const text = getenv(rows[i].name);
        if (text && *text) TRY(check_value(i, text));
    }
    return SPMM_OK;
}

int64_t sp_environment_number(const char *name, int64_t otherwise)
{
    const char *const text = getenv(name);
    int64_t value;
    for (int i = 0; text && i < ROWS; i++)
        if (strcmp(name, rows[i].name) == 0 && in_range(text, rows[i].least, rows[i].most, &value))
            return value;
    return otherwise;
}

const char *sp_environment_common(int index)
{
    for (int i = 0; i < ROWS; i++)
        if (!rows[i].own && index-- == 0) return rows[i].name;
    return NULL;
}
