/** The part of CUB that this project uses, on the emulated GPU. As in CUB, a call without temporary memory
 *  only returns how much is needed. */
#ifndef SP_EMULATED_CUB_H
#define SP_EMULATED_CUB_H

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub {

/** Returns whether a call only asks for the number of bytes, and then sets it. */
inline bool asks_bytes(void *temporary, size_t &bytes)
{
    if (!temporary) bytes = 1;
    return !temporary;
}

struct DeviceScan {
    template <class T, class N>
    static cudaError_t ExclusiveSum(void *temporary, size_t &bytes, const T *in, T *out, N n,
                                    cudaStream_t = nullptr)
    {
        T sum{};
        for (N i = 0; !asks_bytes(temporary, bytes) && i < n; i++) {
            const T next = in[i];
            out[i] = sum;
            sum = sum + next;
        }
        return cudaSuccess;
    }
};

struct DeviceRadixSort {
    /** Returns the bits [first, end) of a key. */
    template <class K> static K digits(K key, int first, int end)
    {
        const int bits = end - first;
        return key >> first & (bits < 8 * (int)sizeof key ? ((K)1 << bits) - 1 : ~(K)0);
    }
    template <class K, class V, class N>
    static cudaError_t SortPairs(void *temporary, size_t &bytes, const K *key, K *sorted_key, const V *value,
                                 V *sorted_value, N n, int first = 0, int end = 8 * sizeof(K),
                                 cudaStream_t = nullptr)
    {
        if (asks_bytes(temporary, bytes)) return cudaSuccess;
        std::vector<std::pair<K, V>> pair((size_t)n);
        for (N i = 0; i < n; i++) pair[i] = {key[i], value[i]};
        std::stable_sort(pair.begin(), pair.end(), [=](const auto &a, const auto &b) {
            return digits(a.first, first, end) < digits(b.first, first, end);
        });
        for (N i = 0; i < n; i++) {
            sorted_key[i] = pair[i].first;
            sorted_value[i] = pair[i].second;
        }
        return cudaSuccess;
    }
    template <class K, class N>
    static cudaError_t SortKeys(void *temporary, size_t &bytes, const K *key, K *sorted, N n, int first = 0,
                                int end = 8 * sizeof(K), cudaStream_t stream = nullptr)
    {
        std::vector<char> none((size_t)n);
        return SortPairs(temporary, bytes, key, sorted, none.data(), none.data(), n, first, end, stream);
    }
};

struct DeviceSelect {
    template <class T, class C, class N>
    static cudaError_t Unique(void *temporary, size_t &bytes, const T *in, T *out, C *count, N n,
                              cudaStream_t = nullptr)
    {
        if (!asks_bytes(temporary, bytes)) *count = (C)(std::unique_copy(in, in + n, out) - out);
        return cudaSuccess;
    }
};

} // namespace cub

#endif
