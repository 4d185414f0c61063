/** The canonical order of summation: the order in which the products of a row of A with a column of X are
 *  added. It depends only on the number of entries in the row, so that an element of Y has the same bits for
 *  any number of ranks, row blocks and threads, on CPUs and GPUs, and in every storage format whose kernels
 *  are exact (kernels.def).
 *
 *  A row of up to SP_CHAIN entries is one chain of fused multiply-adds, in the order of the entries, that
 *  starts from +0. A longer row is cut, starting at its first entry, into leaves of SP_LEAF entries, each of
 *  which is a chain from +0 (the last leaf may be shorter). Up to SP_LEAVES consecutive leaves form a segment
 *  (of SP_SEGMENT entries), up to SP_SEGMENTS consecutive segments a section (of SP_SECTION entries), up to
 *  SP_SECTIONS consecutive sections a part (of SP_PART entries). The sum of a segment is the sum of its
 *  leaves. Likewise, a section is the sum of its segments, a part the sum of its sections, and the row the
 *  sum of its parts. Each is added from the first to the last: ((s0 + s1) + s2) + ...
 *
 *  A complex entry a takes four fused multiply-adds per column of X, two for each part of the sum s: first
 *  with the real part of a, then with its imaginary part,
 *      re s := fma(-im a, im x, fma(re a, re x, re s)),  im s := fma(im a, re x, fma(re a, im x, im s)),
 *  with conj(a) in the place of a in products with the conjugate of A. Sums are added part by part.
 *
 *  So a GPU can compute the leaves or segments of one long row concurrently. A CPU can keep the whole sum in
 *  registers, and cut a row at multiples of SP_PART for its threads. */
#ifndef SP_SUMMATION_H
#define SP_SUMMATION_H

enum {
    SP_CHAIN = 128,
    SP_LEAF = 32,
    SP_LEAVES = 4,
    SP_SEGMENT = SP_LEAF * SP_LEAVES,
    SP_SEGMENTS = 8,
    SP_SECTION = SP_SEGMENT * SP_SEGMENTS,
    SP_SECTIONS = 32,
    SP_PART = SP_SECTION * SP_SECTIONS
};

/** Number of partial sums of an inner product in the gradient of the values of A. They start as +0. Column c
 *  is added to sum c mod SP_SUMS by one fma, in increasing order. Then sum l + h is added to sum l for all
 *  l < h, with h = SP_SUMS / 2, with half of it, and so on to h = 1. A partial sum without a column stays +0,
 *  so no result is -0 if there are fewer than SP_SUMS columns. */
enum { SP_SUMS = 32 };

#endif
