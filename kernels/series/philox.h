/** Random number generator Philox4x32-10 on the CPU (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
 *  easy as 1, 2, 3, SC 2011). It turns a counter and a key into four random words, for several counters at a
 *  time. */
#ifndef SP_PHILOX_H
#define SP_PHILOX_H

#include <stdint.h>

enum { SP_PHILOX_LANES = 16, SP_PHILOX_ROUNDS = 10 };

static const uint32_t sp_philox_multiplier[2] = {0xD2511F53u, 0xCD9E8D57u};
/* The fractional parts of the golden ratio and of sqrt(3), times 2^32. */
static const uint32_t sp_philox_weyl[2] = {0x9E3779B9u, 0xBB67AE85u};

/** Computes the random words of SP_PHILOX_LANES counters, one per SIMD lane, in place. On entry, c[w][l] is
 *  word w of the counter in lane l; on return, it is random word w of that lane. */
static inline void sp_philox(uint32_t c[4][SP_PHILOX_LANES], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < SP_PHILOX_ROUNDS; round++) {
#pragma omp simd
        for (int l = 0; l < SP_PHILOX_LANES; l++) {
            const uint64_t a = (uint64_t)c[0][l] * sp_philox_multiplier[0],
                           b = (uint64_t)c[2][l] * sp_philox_multiplier[1];
            c[0][l] = (uint32_t)(b >> 32) ^ c[1][l] ^ key0;
            c[1][l] = (uint32_t)b;
            c[2][l] = (uint32_t)(a >> 32) ^ c[3][l] ^ key1;
            c[3][l] = (uint32_t)a;
        }
        key0 += sp_philox_weyl[0];
        key1 += sp_philox_weyl[1];
    }
}

/** Computes the four random words of a single counter. */
static inline void sp_philox_one(const uint32_t counter[4], uint32_t key0, uint32_t key1, uint32_t random[4])
{
    for (int w = 0; w < 4; w++) random[w] = counter[w];
    for (int round = 0; round < SP_PHILOX_ROUNDS; round++) {
        const uint64_t a = (uint64_t)random[0] * sp_philox_multiplier[0],
                       b = (uint64_t)random[2] * sp_philox_multiplier[1];
        random[0] = (uint32_t)(b >> 32) ^ random[1] ^ key0;
        random[1] = (uint32_t)b;
        random[2] = (uint32_t)(a >> 32) ^ random[3] ^ key1;
        random[3] = (uint32_t)a;
        key0 += sp_philox_weyl[0];
        key1 += sp_philox_weyl[1];
    }
}

#endif
