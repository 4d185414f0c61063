/** Linked in place of bzip2_found.c in builds without libbz2. */
#include "codec/codec.h"

const sp_codec_ops sp_bzip2_ops = {0};
