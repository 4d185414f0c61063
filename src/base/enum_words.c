/** Lists the words for the values of the public enumerations, e.g. "f64" for SPMM_F64. */
#include "base/enum_words.h"

#include <stddef.h>

#include "base/value_type.def"

#define WORD(argument, word, ...) #word,
const char *const sp_precision_words[] = {SP_VALUE_TYPES(WORD, ) NULL};
const char *const sp_real_words[] = {SP_REAL_TYPES(WORD, ) NULL};
#undef WORD
const char *const sp_device_words[] = {"auto", "cpu", "cuda", NULL};
#define WORD(name, object, word) word,
const char *const sp_format_words[] = {"auto", SPMM_FORMAT_LIST(WORD) NULL};
#undef WORD
const char *const sp_exchange_words[] = {"auto", "halo", "bcast", "joint", NULL};
const char *const sp_transport_words[] = {"auto", "mpi",  "staged", "cuda-aware",
                                          "nccl", "peer", "shared", NULL};
const char *const sp_reduce_words[] = {"auto", "linear", "tree", "butterfly", "mpi", "nccl", NULL};
