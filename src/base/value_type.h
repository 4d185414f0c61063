/** The types of values: their properties, and the choice of code by type. All code that differs by type makes
 *  its choice here, so that a line added to value_type.def either reaches that code or fails to compile. */
#ifndef SP_VALUE_TYPE_H
#define SP_VALUE_TYPE_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "base/value_type.def"
#include "spmm_types.h"

/** The C types of complex values. */
typedef spmm_complex sp_c128;
__extension__ typedef float _Complex sp_c64;

/** Properties of a type. */
typedef struct sp_value_type {
    const char *numpy;   /**< type of NumPy's arrays without the byte order, e.g. "f8" */
    spmm_precision real; /**< type of the parts of a value; a real type is its own */
    int parts;           /**< numbers in a value: 1, or 2, the real and the imaginary part */
    int64_t bytes;       /**< size of a value */
    int digits;          /**< significant decimal digits that identify every part */
    double unit;         /**< unit roundoff of a part: half the distance from 1 to the next larger value */
    double least;        /**< smallest positive value of a part, subnormal */
    double most;         /**< largest finite value of a part */
} sp_value_type;

/** Number of types, and of real types. The real types come first. */
#define SP_ONE_(...) +1
enum { SP_TYPES = 0 SP_VALUE_TYPES(SP_ONE_, ), SP_REALS = 0 SP_REAL_TYPES(SP_ONE_, ) };

/** A value of any type, e.g. a factor, which has the type of the multivectors that it multiplies. */
#define SP_MEMBER_(argument, word, id, T, ...) T word;
typedef union sp_value {
    SP_VALUE_TYPES(SP_MEMBER_, )
} sp_value;

#define SP_PROPERTIES_(argument, word, id, T, R, parts, digits, numpy, mpi, nccl, LIMIT) \
    {numpy,                                                                              \
     sizeof(R) == sizeof(double) ? SPMM_F64 : SPMM_F32,                                  \
     parts,                                                                              \
     sizeof(T),                                                                          \
     digits,                                                                             \
     LIMIT##_EPSILON / 2,                                                                \
     LIMIT##_TRUE_MIN,                                                                   \
     LIMIT##_MAX},

#define SP_FUNCTION_(name, word, ...) name##_##word,

/** The function for type p among name_f64, name_f32 and so on, which have the same parameters. */
#define SP_OF_TYPE(name, p) (((__typeof__(&name##_f64)[]){SP_VALUE_TYPES(SP_FUNCTION_, name)})[p])

/** The same for code that exists for real types only; p is one of them. */
#define SP_OF_REAL(name, p) (((__typeof__(&name##_f64)[]){SP_REAL_TYPES(SP_FUNCTION_, name)})[p])

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

/** The same for real types; does nothing for others. */
#define SP_BY_REAL(p, BODY)               \
    do {                                  \
        switch (p) {                      \
            SP_REAL_TYPES(SP_CASE_, BODY) \
        default: break;                   \
        }                                 \
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

/** Returns 1 for the types of complex values, else 0. Local. */
static inline int sp_is_complex(spmm_precision p) { return sp_type_of(p).parts == 2; }

/** Returns 1 if values of type p are rounded when they are converted to type `to`, which is real if and only
 *  if p is real, else 0. Local. */
static inline int sp_rounds(spmm_precision p, spmm_precision to)
{
    return sp_type_of(to).digits < sp_type_of(p).digits;
}

/** Returns the size in bytes of a value. Local. */
static inline int64_t sp_value_size(spmm_precision p) { return sp_type_of(p).bytes; }

/** Returns a number rounded to the parts of type p; the result may be 0 or infinite. Local. */
static inline double sp_rounded(double value, spmm_precision p)
{
    return sp_type_of(p).real == SPMM_F64 ? value : (double)(float)value;
}

#ifndef __cplusplus /* C++ converts no complex numbers */
/** Returns element i of an array of values of type p in host memory, as a double. Returns NaN if p is
 *  complex, so that no caller mistakes the real part for the whole value. Local. */
static inline double sp_value_get(const void *values, spmm_precision p, int64_t i)
{
#define GET(T) return (double)((const T *)values)[i];
    SP_BY_REAL(p, GET);
#undef GET
    return __builtin_nan("");
}

/** Returns element i of an array of values of any type p in host memory. Local. */
static inline sp_c128 sp_value_at(const void *values, spmm_precision p, int64_t i)
{
#define GET(T) return (sp_c128)((const T *)values)[i];
    SP_BY_TYPE(p, GET);
#undef GET
    return (sp_c128)__builtin_nan("");
}

/** Sets element i of an array of values of type p in host memory, rounded to that type; a real type takes the
 *  real part. Local. */
static inline void sp_value_set(void *values, spmm_precision p, int64_t i, sp_c128 value)
{
#define SET(T) ((T *)values)[i] = (T)value;
    SP_BY_TYPE(p, SET);
#undef SET
}

/** Returns a value rounded to type p. Local. */
static inline sp_value sp_value_of(sp_c128 value, spmm_precision p)
{
    sp_value v = {0};
    sp_value_set(&v, p, 0, value);
    return v;
}

/** Returns 1 if a value of type p equals `number`, else 0. Local. */
static inline int sp_value_is(sp_value v, spmm_precision p, double number)
{
    return sp_value_at(&v, p, 0) == (sp_c128)number;
}

/** Returns the modulus of a value. Local. (hypot() would need glibc 2.35, which RHEL 9 lacks.) */
static inline double sp_magnitude(sp_c128 v)
{
    const double re = __builtin_fabs(__real__ v), im = __builtin_fabs(__imag__ v);
    const double more = re > im ? re : im, less = re > im ? im : re, ratio = less / more;
    return less == 0 || __builtin_isinf(more) ? more : more * __builtin_sqrt(1 + ratio * ratio);
}

/** Returns 1 if all parts of a value are finite, else 0. Local. */
static inline int sp_is_finite(sp_c128 v)
{
    return __builtin_isfinite(__real__ v) && __builtin_isfinite(__imag__ v);
}

/** Returns the first part of a value that is not finite; the imaginary part if both are. Local. */
static inline double sp_part_not_finite(sp_c128 v)
{
    return __builtin_isfinite(__real__ v) ? __imag__ v : __real__ v;
}

/** Adds the product of two complex values to a third one by four fused multiply-adds: FMA, which is of their
 *  real type. This order of the four operations is a part of the canonical order (formats/summation.h). */
#define SP_COMPLEX_FMA(FMA, a, x, sum)                                                              \
    __builtin_complex(FMA(-__imag__(a), __imag__(x), FMA(__real__(a), __real__(x), __real__(sum))), \
                      FMA(__imag__(a), __real__(x), FMA(__real__(a), __imag__(x), __imag__(sum))))

/** Defines the functions of the macros below. A factor without an imaginary part multiplies the parts of a
 *  value one by one, as a real factor does, so that it makes no NaN of an infinite part. */
#define SP_REAL_FUNCTIONS_(argument, word, id, T, ...)          \
    static inline T sp_times_##word(T a, T v) { return a * v; } \
    static inline T sp_conjugate_##word(T v) { return v; }
#define SP_COMPLEX_FUNCTIONS_(argument, word, id, T, R, ...)                                        \
    static inline T sp_conjugate_##word(T v) { return __builtin_complex(__real__ v, -__imag__ v); } \
    static inline T sp_times_##word(T a, T v)                                                       \
    {                                                                                               \
        const R re = __real__ a, im = __imag__ a, x = __real__ v, y = __imag__ v;                   \
        return im == 0 ? __builtin_complex(re * x, re * y)                                          \
                       : __builtin_complex(re * x - im * y, re * y + im * x);                       \
    }
SP_REAL_TYPES(SP_REAL_FUNCTIONS_, )
SP_COMPLEX_TYPES(SP_COMPLEX_FUNCTIONS_, )

#define SP_SELECT_(name, v) \
    _Generic((v), sp_c128 : name##_c128, sp_c64 : name##_c64, float : name##_f32, default : name##_f64)

/** The complex conjugate of a value of any type. */
#define SP_CONJUGATE(v) SP_SELECT_(sp_conjugate, v)(v)

/** The product of a factor and a value of the same type. */
#define SP_TIMES(a, v) SP_SELECT_(sp_times, v)(a, v)
#endif

/** Returns the number of floating-point operations of an entry of A times an element of X, added to a sum:
 *  2, or 8 if they are complex. Local. */
static inline double sp_operations(spmm_precision p) { return sp_is_complex(p) ? 8 : 2; }

/** The message for a file of complex values that is read as real ones. */
#define SP_FOUND_COMPLEX "found complex values, expected real ones, or a complex type (--precision c128)"

/** Copies elements first, ..., first + n - 1 of `from` to elements at, ..., at + n - 1 of `to`, which may
 *  overlap; both are arrays of values of type p in host memory. Local. */
static inline void sp_values_copy(spmm_precision p, const void *from, int64_t first, int64_t n, void *to,
                                  int64_t at)
{
    const int64_t size = sp_value_size(p);
    memmove((char *)to + at * size, (const char *)from + first * size, (size_t)(n * size));
}

#endif
