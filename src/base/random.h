/** Counter-based random numbers: a value is a function of a key and two counters only, so that any rank or thread can
 *  compute any of them in any order. The mixer is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable
 *  pseudorandom number generators, OOPSLA 2014). */
#ifndef SP_RANDOM_H
#define SP_RANDOM_H

#include <stdint.h>

/** The mixer: a bijection of the 64-bit integers. */
static inline uint64_t sp_mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/** Returns 64 random bits: element (a, b) of the sequence that `key` selects. */
static inline uint64_t sp_random(uint64_t key, uint64_t a, uint64_t b)
{
    return sp_mix(sp_mix(sp_mix(key) ^ a) ^ b);
}

/** Returns a number uniform on the multiples of 2^-23 in [-1, 1), which are exact in f32. */
static inline double sp_random_unit(uint64_t key, uint64_t a, uint64_t b)
{
    return (double)(sp_random(key, a, b) >> 40) * 0x1p-23 - 1.0;
}

/** Returns a number uniform on 0 .. n-1 for n < 2^32; the multiply-shift changes no value's probability by 2^-32 or
 *  more. */
static inline uint64_t sp_random_below(uint64_t key, uint64_t a, uint64_t b, uint64_t n)
{
    return ((sp_random(key, a, b) >> 32) * n) >> 32;
}

#endif
