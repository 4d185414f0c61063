/** Words for the values of the public enumerations, e.g. "f64" for SPMM_F64, in options, records and
 *  messages. */
#ifndef SP_ENUM_WORDS_H
#define SP_ENUM_WORDS_H

#include "spmm_types.h"

/** The words of each enumeration, in the order of its values, terminated by NULL. The list for devices
 *  begins with "auto", for which spmm_device has no value, so that the word for a value v has index v + 1.
 *  sp_real_words are the words of the real types alone. */
extern const char *const sp_real_words[];
extern const char *const sp_precision_words[], *const sp_device_words[], *const sp_format_words[],
                                                                             *const sp_exchange_words[],
                                                                                 *const sp_transport_words[],
                                                                                     *const sp_reduce_words[];

/** Returns the word for a precision, e.g. "f64". */
static inline const char *sp_precision_word(spmm_precision p) { return sp_precision_words[p]; }
/** Returns the word for a device, "cpu" or "cuda". */
static inline const char *sp_device_word(spmm_device d) { return sp_device_words[1 + (int)d]; }
/** Returns the name of a device's memory in messages, "host" or "GPU". */
static inline const char *sp_memory_word(spmm_device d) { return d == SPMM_CPU ? "host" : "GPU"; }
/** Returns the word for a format, e.g. "csr"; "auto" for SPMM_FORMAT_AUTO. */
static inline const char *sp_format_word(spmm_format f) { return sp_format_words[f]; }
/** Returns the word for an exchange, e.g. "halo". */
static inline const char *sp_exchange_word(spmm_exchange e) { return sp_exchange_words[e]; }
/** Returns the word for a transport, e.g. "staged". */
static inline const char *sp_transport_word(spmm_transport t) { return sp_transport_words[t]; }
/** Returns the word for a reduction, e.g. "tree". */
static inline const char *sp_reduce_word(spmm_reduce r) { return sp_reduce_words[r]; }

#endif
