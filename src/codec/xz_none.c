/** Linked in place of xz_found.c in builds without liblzma. */
#include "codec/codec.h"

const sp_codec_ops sp_xz_ops = {0};
