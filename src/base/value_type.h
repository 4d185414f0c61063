/** The types of values: their properties, and the choice of code by type. All code that differs by type makes
 *  its choice here, so that a line added to value_type.def either reaches that code or fails to compile. */
#ifndef SP_VALUE_TYPE_H
#define SP_VALUE_TYPE_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "base/value_type.def"
#include "spmm_types.h"

/** Properties of a type. */
typedef struct sp_value_type {
    const char *numpy; /**< type of NumPy's arrays without the byte order, e.g. "f8" */
    int64_t bytes;     /**< size of a value */
    int digits;        /**< significant decimal digits that identify every value */
    double unit;       /**< unit roundoff: half the distance from 1 to the next larger value */
    double least;      /**< smallest positive value, subnormal */
    double most;       /**< largest finite value */
} sp_value_type;

/** Number of types. */
#define SP_ONE_(...) +1
enum { SP_TYPES = 0 SP_VALUE_TYPES(SP_ONE_, ) };

/** A value of any type, e.g. a factor, which has the type of the multivectors that it multiplies. */
#define SP_MEMBER_(argument, word, id, T, ...) T word;
typedef union sp_value {
    SP_VALUE_TYPES(SP_MEMBER_, )
} sp_value;

#define SP_PROPERTIES_(argument, word, id, T, parts, digits, numpy, mpi, nccl, LIMIT) \
    {numpy, sizeof(T), digits, LIMIT##_EPSILON / 2, LIMIT##_TRUE_MIN, LIMIT##_MAX},

#define SP_FUNCTION_(name, word, ...) name##_##word,

/** The function for type p among name_f64, name_f32, which have the same parameters. */
#define SP_OF_TYPE(name, p) (((__typeof__(&name##_f64)[]){SP_VALUE_TYPES(SP_FUNCTION_, name)})[p])

#define SP_CASE_(BODY, word, id, T, ...) \
    case id: {                           \
        BODY(T)                          \
    } break;

/** The statement BODY(T), where BODY is a macro and T the C type of values of type p. */
#define SP_BY_TYPE(p, BODY)                \
    do {                                   \
        switch (p) {                       \
            SP_VALUE_TYPES(SP_CASE_, BODY) \
        }                                  \
    } while (0)

#define SP_CASE_ID_(BODY, word, id, ...) \
    case id: {                           \
        BODY(id)                         \
    } break;

/** The statement BODY(p), where p is a constant expression. */
#define SP_BY_ID(p, BODY)                     \
    do {                                      \
        switch (p) {                          \
            SP_VALUE_TYPES(SP_CASE_ID_, BODY) \
        }                                     \
    } while (0)

/** Returns the properties of a type. Local. */
static inline sp_value_type sp_type_of(spmm_precision p)
{
    static const sp_value_type type[] = {SP_VALUE_TYPES(SP_PROPERTIES_, )};
    return type[p];
}

/** Returns 1 if values of type p are rounded when they are converted to type `to`, else 0. Local. */
static inline int sp_rounds(spmm_precision p, spmm_precision to)
{
    return sp_type_of(to).digits < sp_type_of(p).digits;
}

/** Returns the size in bytes of a value. Local. */
static inline int64_t sp_value_size(spmm_precision p) { return sp_type_of(p).bytes; }

/** Returns element i of an array of values of type p in host memory, as a double. Local. */
static inline double sp_value_get(const void *values, spmm_precision p, int64_t i)
{
#define GET(T) return (double)((const T *)values)[i];
    SP_BY_TYPE(p, GET);
#undef GET
    return __builtin_nan("");
}

/** Sets element i of an array of values of type p in host memory, rounded to that type. Local. */
static inline void sp_value_set(void *values, spmm_precision p, int64_t i, double value)
{
#define SET(T) ((T *)values)[i] = (T)value;
    SP_BY_TYPE(p, SET);
#undef SET
}

/** Returns a value rounded to type p; the result may be 0 or infinite. Local. */
static inline double sp_rounded(double value, spmm_precision p)
{
#define ROUND(T) return (double)(T)value;
    SP_BY_TYPE(p, ROUND);
#undef ROUND
    return __builtin_nan("");
}

/** Returns a value rounded to type p. Local. */
static inline sp_value sp_value_of(double value, spmm_precision p)
{
    sp_value v = {0};
    sp_value_set(&v, p, 0, value);
    return v;
}

/** Returns 1 if a value of type p equals `number`, else 0. Local. */
static inline int sp_value_is(sp_value v, spmm_precision p, double number)
{
    return sp_value_get(&v, p, 0) == number;
}

/** Copies elements first, ..., first + n - 1 of `from` to elements at, ..., at + n - 1 of `to`, which may
 *  overlap; both are arrays of values of type p in host memory. Local. */
static inline void sp_values_copy(spmm_precision p, const void *from, int64_t first, int64_t n, void *to,
                                  int64_t at)
{
    const int64_t size = sp_value_size(p);
    memmove((char *)to + at * size, (const char *)from + first * size, (size_t)(n * size));
}

#endif
