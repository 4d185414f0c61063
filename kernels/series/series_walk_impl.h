/* Generates series with values of type T. cpu_series_walk.c includes this file once per type and instruction
 * set. NAME(x) appends a suffix for both to x; TARGET is a function attribute that selects the instruction
 * set; FMA is the fused multiply-add of T. */

/** Generates series m .. m + lanes - 1 of x, one per SIMD lane: a value depends only on the previous value in
 *  its lane. Generates STRETCH values of each series in a buffer that stays in the cache, then copies them to
 *  x in the layout of x. */
TARGET static void NAME(walk)(const sp_series *x, const sp_walk *w, int64_t m, int lanes)
{
    const int64_t along = x->layout == SP_SERIES_MAJOR ? 1 : x->v.ld,
                  across = x->layout == SP_SERIES_MAJOR ? x->v.ld : 1;
    const T scale = (T)w->epsilon * (T)0x1p-31;
    T *const to = (T *)x->v.data + m * across;
    T value[SP_PHILOX_LANES], made[STRETCH][SP_PHILOX_LANES];
    for (int l = 0; l < SP_PHILOX_LANES; l++) value[l] = (T)w->start;
    for (int64_t from = 0; from < x->length; from += STRETCH) {
        for (int i = 0; i < STRETCH; i += 4) {
            uint32_t c[4][SP_PHILOX_LANES];
            const uint64_t block = (uint64_t)(from + i) / 4;
            for (int l = 0; l < SP_PHILOX_LANES; l++) {
                const uint64_t number = (uint64_t)(x->first + m + l);
                c[0][l] = (uint32_t)block;
                c[1][l] = (uint32_t)(block >> 32);
                c[2][l] = (uint32_t)number;
                c[3][l] = (uint32_t)(number >> 32);
            }
            sp_philox(c, (uint32_t)w->seed, (uint32_t)(w->seed >> 32));
            for (int j = 0; j < 4; j++) {
                const T by = from + i + j > 0 ? scale : 0; /* a scale of 0 keeps value 0 at w->start */
#pragma omp simd
                for (int l = 0; l < SP_PHILOX_LANES; l++)
                    made[i + j][l] = value[l] = FMA(value[l], by * (T)(int32_t)c[j][l], value[l]);
            }
        }
        const int values = x->length - from < STRETCH ? (int)(x->length - from) : STRETCH;
        if (along == 1)
            for (int l = 0; l < lanes; l++)
                for (int i = 0; i < values; i++) to[l * across + from + i] = made[i][l];
        else
            for (int i = 0; i < values; i++)
                for (int l = 0; l < lanes; l++) to[(from + i) * along + l] = made[i][l];
    }
}

/** Generates series m as a sequential program would: value after value. The four random words of one counter
 *  are enough for four values. */
TARGET static void NAME(walk_one)(const sp_series *x, const sp_walk *w, int64_t m)
{
    const int64_t along = x->layout == SP_SERIES_MAJOR ? 1 : x->v.ld,
                  across = x->layout == SP_SERIES_MAJOR ? x->v.ld : 1;
    const T scale = (T)w->epsilon * (T)0x1p-31;
    const uint64_t number = (uint64_t)(x->first + m);
    T *const to = (T *)x->v.data + m * across;
    T value = (T)w->start;
    uint32_t random[4];
    for (int64_t i = 0; i < x->length; i++) {
        if (i % 4 == 0) {
            const uint64_t block = (uint64_t)i / 4;
            const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)number,
                                         (uint32_t)(number >> 32)};
            sp_philox_one(counter, (uint32_t)w->seed, (uint32_t)(w->seed >> 32), random);
        }
        if (i > 0) value = FMA(value, scale * (T)(int32_t)random[i % 4], value);
        to[i * along] = value;
    }
}

#undef T
#undef NAME
#undef FMA
#undef TARGET
