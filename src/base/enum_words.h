/** The words for the values of the public enumerations: what options take, records hold and messages show. */
#ifndef SP_ENUM_WORDS_H
#define SP_ENUM_WORDS_H

#include "spmm_types.h"

/** By value; NULL after the last. Those of devices and formats begin with "auto", which is no value of spmm_device and
 *  -1 of spmm_format: the word of a value v is at v + 1. */
extern const char *const sp_precision_words[], *const sp_device_words[], *const sp_format_words[],
                                                                             *const sp_exchange_words[],
                                                                                 *const sp_transport_words[],
                                                                                     *const sp_reduce_words[];

static inline const char *sp_precision_word(spmm_precision p) { return sp_precision_words[p]; }
static inline const char *sp_device_word(spmm_device d) { return sp_device_words[1 + (int)d]; }
static inline const char *sp_format_word(spmm_format f) { return sp_format_words[1 + (int)f]; }
static inline const char *sp_exchange_word(spmm_exchange e) { return sp_exchange_words[e]; }
static inline const char *sp_transport_word(spmm_transport t) { return sp_transport_words[t]; }
static inline const char *sp_reduce_word(spmm_reduce r) { return sp_reduce_words[r]; }

#endif
