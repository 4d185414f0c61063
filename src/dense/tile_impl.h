/** One tile of C += A B (tile.h), for one instruction set and precision. The file that includes this one
 *  defines
 *
 *      TARGET        attribute of the functions
 *      NAME          name of the function
 *      VALUE         double or float
 *      COLUMNS       columns of a tile
 *      LANES         elements of a vector; COLUMNS is a multiple of it
 *      VECTOR        type of a vector of LANES elements
 *      LOAD, STORE   copy a vector from or to memory of any alignment
 *      FILL          a vector whose LANES elements are all equal to the argument
 *      FMA           a * x + c, rounded once */

TARGET static void NAME(int64_t steps, const VALUE *a, int64_t a_line, int64_t a_step, const VALUE *b,
                        int64_t b_step, VALUE *c, int64_t ldc)
{
    enum { VECTORS = COLUMNS / LANES };
    VECTOR sum[SP_TILE_ROWS][VECTORS];
    UNROLL for (int i = 0; i < SP_TILE_ROWS; i++) UNROLL for (int v = 0; v < VECTORS; v++)
        sum[i][v] = LOAD(c + i * ldc + v * LANES);
    for (int64_t t = 0; t < steps; t++, a += a_step, b += b_step) {
        VECTOR row[VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) row[v] = LOAD(b + v * LANES);
        UNROLL for (int i = 0; i < SP_TILE_ROWS; i++)
        {
            const VECTOR factor = FILL(a[i * a_line]);
            UNROLL for (int v = 0; v < VECTORS; v++) sum[i][v] = FMA(factor, row[v], sum[i][v]);
        }
    }
    UNROLL for (int i = 0; i < SP_TILE_ROWS; i++) UNROLL for (int v = 0; v < VECTORS; v++)
        STORE(c + i * ldc + v * LANES, sum[i][v]);
}

#undef TARGET
#undef NAME
#undef VALUE
#undef COLUMNS
#undef LANES
#undef VECTOR
#undef LOAD
#undef STORE
#undef FILL
#undef FMA
