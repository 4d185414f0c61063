/** Counter-based random numbers: each number depends only on a key and two counters, so that any rank or
 *  thread can compute any number in any order. sp_mix() is the finalizer of SplitMix64 (Steele, Lea, Flood:
 *  Fast splittable pseudorandom number generators, OOPSLA 2014). */
#ifndef SP_RANDOM_H
#define SP_RANDOM_H

#include <stdint.h>

/** Mixes the bits of z; maps the 64-bit integers one-to-one onto themselves. */
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

/** Returns a random number, uniform on the multiples of 2^-23 in [-1, 1); each of them is exact in f32. */
static inline double sp_random_unit(uint64_t key, uint64_t a, uint64_t b)
{
    return (double)(sp_random(key, a, b) >> 40) * 0x1p-23 - 1.0;
}

/** Returns a random integer, uniform on 0 .. n-1, for n < 2^32. The method (multiply and shift) makes the
 *  probability of each integer differ from 1/n by less than 2^-32. */
static inline uint64_t sp_random_below(uint64_t key, uint64_t a, uint64_t b, uint64_t n)
{
    return ((sp_random(key, a, b) >> 32) * n) >> 32;
}

#endif
