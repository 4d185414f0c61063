/** Reads the headers of a tar archive: see tar.h. */
#include "codec/tar.h"

#include <stdio.h>
#include <string.h>

/* Places and lengths of a header's fields in bytes. */
enum { NAME = 0, NAME_BYTES = 100, SIZE = 124, SIZE_BYTES = 12, SUM = 148, SUM_BYTES = 8, TYPE = 156 };
enum { MAGIC = 257, PREFIX = 345, PREFIX_BYTES = 155 };

/** Returns the number in a field: octal digits or, after a byte of 128, a big-endian number (GNU tar, for
 *  sizes from 8 GiB). \return -1: the field holds neither */
static int64_t number_in(const unsigned char *field, int bytes)
{
    const int binary = field[0] == 128;
    int64_t value = 0;
    int i = binary;
    while (!binary && i < bytes && field[i] == ' ') i++;
    for (; i < bytes && (binary || (field[i] >= '0' && field[i] <= '7')); i++) {
        if (value > INT64_MAX >> 9) return -1;
        value = binary ? value << 8 | field[i] : value << 3 | (field[i] - '0');
    }
    return i == bytes || field[i] == ' ' || field[i] == '\0' ? value : -1;
}

int sp_tar_begins(const unsigned char *head)
{
    int64_t sum = 0;
    for (int i = 0; i < SP_TAR_BLOCK; i++) sum += i >= SUM && i < SUM + SUM_BYTES ? ' ' : head[i];
    return memcmp(head + MAGIC, "ustar", 5) == 0 && number_in(head + SUM, SUM_BYTES) == sum;
}

/** Reads past `bytes` bytes. Returns 1; 0: the archive ends before. */
static int tar_skip(const sp_tar *t, int64_t bytes)
{
    enum { PIECE = 4096 };
    char waste[PIECE];
    while (bytes > 0) {
        const int64_t n = t->read(t->source, waste, bytes < PIECE ? bytes : PIECE);
        if (n == 0) return 0;
        bytes -= n;
    }
    return 1;
}

/** Reads the next header, and sets t->left and t->gap. \return 1, 0: the archive ended, -1: it is damaged */
static int next_header(sp_tar *t, unsigned char *head)
{
    static const unsigned char zeros[SP_TAR_BLOCK];
    int64_t got = 0;
    if (!tar_skip(t, t->left + t->gap)) return -1;
    t->left = t->gap = 0;
    for (int64_t n = 1; n > 0 && got < SP_TAR_BLOCK; got += n)
        n = t->read(t->source, (char *)head + got, SP_TAR_BLOCK - got);
    if (got == 0 || (got == SP_TAR_BLOCK && memcmp(head, zeros, SP_TAR_BLOCK) == 0)) return 0;
    if (got < SP_TAR_BLOCK || !sp_tar_begins(head)) return -1;
    t->left = number_in(head + SIZE, SIZE_BYTES);
    t->gap = (SP_TAR_BLOCK - t->left % SP_TAR_BLOCK) % SP_TAR_BLOCK;
    return t->left < 0 ? -1 : 1;
}

/** Returns 1 if the name ends in D/D.mtx; else 0. */
static int is_matrix(const char *name)
{
    const char *const slash = strrchr(name, '/'), *const end = name + strlen(name);
    const int64_t stem = slash ? end - slash - 5 : 0;
    if (stem <= 0 || strcmp(end - 4, ".mtx") != 0 || slash - name < stem) return 0;
    return memcmp(slash - stem, slash + 1, (size_t)stem) == 0 &&
           (slash - name == stem || slash[-stem - 1] == '/');
}

int sp_tar_next(sp_tar *t)
{
    unsigned char head[SP_TAR_BLOCK];
    int found;
    while ((found = next_header(t, head)) == 1) {
        snprintf(t->name, sizeof t->name, "%.*s%s%.*s", PREFIX_BYTES, head + PREFIX, head[PREFIX] ? "/" : "",
                 NAME_BYTES, head + NAME);
        if ((head[TYPE] == '0' || head[TYPE] == '\0') && is_matrix(t->name)) return 1;
    }
    return found;
}

int64_t sp_tar_read(sp_tar *t, char *to, int64_t bytes)
{
    const int64_t n = t->left > 0 ? t->read(t->source, to, bytes < t->left ? bytes : t->left) : 0;
    t->left -= n;
    return n;
}
