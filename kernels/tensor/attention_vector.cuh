// Short vectors of features as f32: VECTOR elements of a row, which one lane loads and stores at once where they fill 16 bytes.
#pragma once
#include "common/dtype.cuh"

namespace bg {
/// Elements of T in 16 bytes.
template <class T> struct Wide { static constexpr u32 value = 16 / sizeof(T); };

/// Elements from `p` on as they are: 16 bytes, to which p is aligned if VECTOR is more than 1, or an element in the lowest bits.
template <class T, u32 VECTOR> BG_DEVICE uint4 load_vector(const T* p) {
    static_assert(VECTOR == 1 || VECTOR == Wide<T>::value, "16 bytes, or one element");
    if constexpr (VECTOR > 1) return load_readonly((const uint4*)p);
    else if constexpr (sizeof(T) == 4) return make_uint4(load_readonly((const u32*)p), 0, 0, 0);
    else return make_uint4(load_readonly((const u16*)p), 0, 0, 0);
}
/// Element `i` of what was loaded; `i` is a constant after unrolling.
template <class T> BG_DEVICE f32 element(const uint4& raw, u32 i) {
    const u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
    if constexpr (sizeof(T) == 4) return __uint_as_float(words[i]);
    else return widen(T{(u16)(words[i / 2] >> (i % 2 * 16))});
}
template <class T, u32 VECTOR> BG_DEVICE void load_features(f32 (&x)[VECTOR], const T* p) {
    const uint4 raw = load_vector<T, VECTOR>(p);
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) x[i] = element<T>(raw, i);
}
/// Rounds elements to T and stores them from `p` on.
template <class T, u32 VECTOR> BG_DEVICE void store_features(T* p, const f32 (&x)[VECTOR]) {
    if constexpr (VECTOR == 1) {
        *p = Narrow<T>::of(x[0]);
    } else {
        u32 words[4];
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            if constexpr (sizeof(T) == 4) words[i] = __float_as_uint(x[i]);
            else words[i] = (u32)Narrow<T>::of(x[2 * i]).bits | (u32)Narrow<T>::of(x[2 * i + 1]).bits << 16;
        }
        *(uint4*)p = make_uint4(words[0], words[1], words[2], words[3]);
    }
}
}  // namespace bg
