/** The part of cuRAND's device functions that this project uses, for an emulated GPU: Philox4x32-10 (Salmon,
 *  Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011), four words per call. */
#ifndef SP_EMULATED_CURAND_KERNEL_H
#define SP_EMULATED_CURAND_KERNEL_H

#include <cuda_runtime.h>

#define PHILOX_W32_0 0x9E3779B9u
#define PHILOX_W32_1 0xBB67AE85u
#define PHILOX_M4x32_0 0xD2511F53u
#define PHILOX_M4x32_1 0xCD9E8D57u

struct curandStatePhilox4_32_10_t {
    uint64_t block, subsequence; /* the halves of the counter */
    unsigned key[2];
};

/** `offset` is in words; here it must be a multiple of 4. */
inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t *state)
{
    *state = {offset / 4, subsequence, {(unsigned)seed, (unsigned)(seed >> 32)}};
}

inline uint4 curand4(curandStatePhilox4_32_10_t *state)
{
    uint4 c = {(unsigned)state->block, (unsigned)(state->block >> 32), (unsigned)state->subsequence,
               (unsigned)(state->subsequence >> 32)};
    unsigned key[2] = {state->key[0], state->key[1]};
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)c.x * PHILOX_M4x32_0, b = (uint64_t)c.z * PHILOX_M4x32_1;
        c = {(unsigned)(b >> 32) ^ c.y ^ key[0], (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ key[1],
             (unsigned)a};
        key[0] += PHILOX_W32_0;
        key[1] += PHILOX_W32_1;
    }
    state->block++;
    return c;
}

#endif
