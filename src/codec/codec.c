/** The kinds of compressed data, and which of them this build can read. */
#include "codec/codec.h"

#include <stdio.h>
#include <string.h>

/** Bounds of the ratios: deflate encodes at most 258 bytes of text in 2 bits. A bzip2 block contains at most
 *  900,000 bytes, 5 of which represent at most 259 bytes of text, and takes at least 24 bytes in the file.
 *  LZMA encodes at most 273 bytes in 14 binary decisions, each with a probability of at most 2017/2048: 7091
 *  bytes of text per byte. A zstd block contains at most 128 KiB of text and takes at least 4 bytes. */
static const sp_codec codecs[] = {
    {"gzip", "\x1F\x8B", 2, "gunzip -k", "zlib (zlib1g-dev)", 1032, &sp_gzip_ops},
    {"bzip2", "BZh", 3, "bzip2 -dk", "libbz2 (libbz2-dev)", 1 << 21, &sp_bzip2_ops},
    {"xz", "\3757zXZ\0", 6, "unxz -k", "liblzma (liblzma-dev)", 8192, &sp_xz_ops},
    {"zstd", "\x28\xB5\x2F\xFD", 4, "unzstd", "libzstd (libzstd-dev)", 32768, &sp_zstd_ops},
};
enum { CODECS = sizeof codecs / sizeof *codecs };

/** Returns 1 if the codec is zstd and a skippable frame can begin with these n bytes: (hexadecimal) 50 to 5F,
 *  2A, 4D, 18. Such frames, in which pzstd stores sizes, may precede and separate the frames with text. */
static int may_skip(const sp_codec *codec, const unsigned char *head, int64_t n)
{
    const int64_t rest = n < 4 ? n - 1 : 3;
    return codec->ops == &sp_zstd_ops && (head[0] & 0xF0) == 0x50 &&
           memcmp(head + 1, "\x2A\x4D\x18", (size_t)rest) == 0;
}

int sp_codec_may_begin(const sp_codec *codec, const unsigned char *head, int64_t n)
{
    const int64_t known = n < codec->magic_bytes ? n : codec->magic_bytes;
    return memcmp(head, codec->magic, (size_t)known) == 0 || may_skip(codec, head, n);
}

const sp_codec *sp_codec_of(const unsigned char *head, int64_t n)
{
    for (int k = 0; k < CODECS; k++)
        if (n >= codecs[k].magic_bytes && sp_codec_may_begin(&codecs[k], head, n)) return &codecs[k];
    return NULL;
}

const char *sp_codec_names(void)
{
    static _Thread_local char text[64];
    int last = 0;
    size_t n = 0;
    for (int k = 0; k < CODECS; k++)
        if (codecs[k].ops->create) last = k;
    for (int k = 0; k <= last; k++)
        if (codecs[k].ops->create)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                                  n == 0      ? ""
                                  : k == last ? " or "
                                              : ", ",
                                  codecs[k].name);
    return text;
}
