/** Words for the values of the public enumerations, as options take them, records hold them and messages show
 *  them. */
#ifndef SP_ENUM_WORDS_H
#define SP_ENUM_WORDS_H

#include "spmm_types.h"

/** The words in the order of the values, with NULL after the last. The words of devices and formats begin with
 *  "auto", which is not a value of spmm_device and is -1 in spmm_format: there the word of a value v is at v + 1. */
extern const char *const sp_precision_words[], *const sp_device_words[], *const sp_format_words[],
                                                                             *const sp_exchange_words[],
                                                                                 *const sp_transport_words[],
                                                                                     *const sp_reduce_words[];

/** Returns the word of a precision. */
static inline const char *sp_precision_word(spmm_precision p) { return sp_precision_words[p]; }
/** Returns the word of a device. */
static inline const char *sp_device_word(spmm_device d) { return sp_device_words[1 + (int)d]; }
/** Returns the word of a format; SPMM_FORMAT_AUTO has one. */
static inline const char *sp_format_word(spmm_format f) { return sp_format_words[1 + (int)f]; }
/** Returns the word of an exchange. */
static inline const char *sp_exchange_word(spmm_exchange e) { return sp_exchange_words[e]; }
/** Returns the word of a transport. */
static inline const char *sp_transport_word(spmm_transport t) { return sp_transport_words[t]; }
/** Returns the word of a reduction. */
static inline const char *sp_reduce_word(spmm_reduce r) { return sp_reduce_words[r]; }

#endif
