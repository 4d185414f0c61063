/** Linked in place of zstd_found.c in builds without libzstd. */
#include "codec/codec.h"

const sp_codec_ops sp_zstd_ops = {0};
