/** A stdio stream whose text is written to a file as compressed data. */
#ifndef SP_ENCODER_STREAM_H
#define SP_ENCODER_STREAM_H

#include <stdio.h>

#include "codec/codec.h"

/** Opens a stream that compresses what is written to it. fclose() completes the compressed data and fails if
 *  any of them could not be written; it leaves the file descriptor open. Local.
 *  \param [in] codec  a codec that this build can write (encoder->create)
 *  \param [in] fd     file descriptor, open for writing until after fclose()
 *  \return the stream; NULL, with errno: memory is lacking */
FILE *sp_encoder_open(const sp_codec *codec, int fd);

#endif
