// Products of 16 x 16 by 16 x 8 on tensor cores, of f16 or bf16 with f32 sums, and the numbers around them.
//
// Lane l = 4 g + t holds of A the columns {2t, 2t+1} of row g (a[0]) and of row g + 8 (a[1]), and the columns {2t+8, 2t+9} of the same rows
// (a[2], a[3]); of B the rows {2t, 2t+1} (b0) and {2t+8, 2t+9} (b1) of column g; of D the columns 2t, 2t+1 of row g (d[0], d[1]) and of
// row g + 8 (d[2], d[3]). A pair lies in one word, the first in its lower half. Which features or entries the numbers stand for is the
// caller's choice, as long as A and B agree.
#pragma once
#include "common/dtype.cuh"
#include "common/warp.cuh"

namespace bg {
/// Two numbers rounded to T in one word.
template <class T> BG_DEVICE u32 pack_pair(f32 low, f32 high);
/// 1 in both halves of a word.
template <class T> struct Ones;
template <> struct Ones<f16> { static constexpr u32 value = 0x3c003c00u; };
template <> struct Ones<bf16> { static constexpr u32 value = 0x3f803f80u; };

#ifdef BITGRAPH_HOST
template <class T> inline u32 pack_pair(f32 low, f32 high) { return (u32)Narrow<T>::of(low).bits | (u32)Narrow<T>::of(high).bits << 16; }
/// d += a b.
template <class T> inline void mma_16x8x16(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    u64 words[3][32];
    const u64 own[3] = {(u64)a[1] << 32 | a[0], (u64)a[3] << 32 | a[2], (u64)b1 << 32 | b0};
    for (int i = 0; i < 3; i++) memcpy(words[i], host::exchange(own[i]), sizeof words[i]);
    auto half = [](u64 word, u32 i) { return widen(T{(u16)(word >> (16 * i))}); };
    const u32 g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < 4; i++) {
        const u32 row = g + (i >> 1) * 8, column = 2 * t + (i & 1);
        for (u32 k = 0; k < 16; k++) {
            const u64 left = words[k >> 3][(row & 7) * 4 + (k >> 1 & 3)], right = words[2][column * 4 + (k >> 1 & 3)];
            d[i] += half(left, (row >> 3) * 2 + (k & 1)) * half(right, (k >> 3) * 2 + (k & 1));
        }
    }
}
inline u32 transpose_pairs(u32 pair) {
    u64 pairs[32];
    memcpy(pairs, host::exchange((u64)pair), sizeof pairs);
    const u32 g = lane() >> 2, t = lane() & 3u;
    auto element = [&](u32 row, u32 column) { return (u32)(pairs[row * 4 + column / 2] >> (column % 2 * 16)) & 0xffffu; };
    return element(2 * t, g) | element(2 * t + 1, g) << 16;
}
inline f32 exp2_of(f32 x) { return exp2f(x); }
inline f32 rounded_product(f32 x, f32 y) { return x * y; }
inline f32 log2_of(f32 x) { return log2f(x); }
inline f32 rsqrt_of(f32 x) { return 1.0f / sqrtf(x); }
#else
template <> BG_DEVICE u32 pack_pair<f16>(f32 low, f32 high) {
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
template <> BG_DEVICE u32 pack_pair<bf16>(f32 low, f32 high) {
    u32 pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
/// d += a b.
template <class T> BG_DEVICE void mma_16x8x16(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    if constexpr (same_type<T, f16>::value)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// An 8 x 8 matrix of 16-bit elements transposed, of which lane 4 g + t holds the elements 2 t and 2 t + 1 of row g: it gets those of column g.
BG_DEVICE u32 transpose_pairs(u32 pair) {
    u32 transposed;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(pair));
    return transposed;
}
/// A product that is rounded, whatever is added to it.
BG_DEVICE f32 rounded_product(f32 x, f32 y) { return __fmul_rn(x, y); }
/// Powers, logarithms and inverse roots by the special-function unit: two units in the last place, or 2^-22 about 1.
BG_DEVICE f32 exp2_of(f32 x) {
    f32 y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
BG_DEVICE f32 log2_of(f32 x) {
    f32 y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
BG_DEVICE f32 rsqrt_of(f32 x) {
    f32 y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif

/// sums += features x weights: piece g (8 columns) of entries 4t to 4t + 3, as they come from memory, and the weights of those entries for
/// slot g, as B. `sums[q]` are of the columns 2q and 2q + 1 of the piece, each for slots 2t and 2t + 1.
template <class T> BG_DEVICE void mma_transposed(f32 (&sums)[4][4], const uint4 (&x)[4], u32 b0, u32 b1) {
    const u32 w0[4] = {x[0].x, x[0].y, x[0].z, x[0].w}, w1[4] = {x[1].x, x[1].y, x[1].z, x[1].w};
    const u32 w2[4] = {x[2].x, x[2].y, x[2].z, x[2].w}, w3[4] = {x[3].x, x[3].y, x[3].z, x[3].w};
#pragma unroll
    for (u32 q = 0; q < 4; q++) {
        const u32 a[4] = {__byte_perm(w0[q], w1[q], 0x5410), __byte_perm(w0[q], w1[q], 0x7632), __byte_perm(w2[q], w3[q], 0x5410),
                          __byte_perm(w2[q], w3[q], 0x7632)};
        mma_16x8x16<T>(sums[q], a, b0, b1);
    }
}

/// Words of four lanes transposed: word i of lane t becomes word t of lane i.
BG_DEVICE void transpose_quad(u32 (&h)[4]) {
    const bool odd = lane() & 1u, upper = lane() & 2u;
    u32 x = shuffle_xor(odd ? h[0] : h[1], 1), y = shuffle_xor(odd ? h[2] : h[3], 1);
    if (odd) {
        h[0] = x;
        h[2] = y;
    } else {
        h[1] = x;
        h[3] = y;
    }
    x = shuffle_xor(upper ? h[0] : h[2], 2);
    y = shuffle_xor(upper ? h[1] : h[3], 2);
    if (upper) {
        h[0] = x;
        h[1] = y;
    } else {
        h[2] = x;
        h[3] = y;
    }
}

/// Columns of four entries that follow each other, `entry` being a multiple of 4; 0 past the end.
BG_DEVICE uint4 load_columns4(const u32* indices, u32 entry, u32 count) {
    if (entry + 4 <= count) return load_readonly((const uint4*)(indices + entry));
    uint4 c = make_uint4(0, 0, 0, 0);
    if (entry < count) c.x = load_readonly(indices + entry);
    if (entry + 1 < count) c.y = load_readonly(indices + entry + 1);
    if (entry + 2 < count) c.z = load_readonly(indices + entry + 2);
    return c;
}
/// Columns of two entries, `entry` being even; 0 past the end.
BG_DEVICE uint2 load_columns2(const u32* indices, u32 entry, u32 count) {
    if (entry + 2 <= count) return load_readonly((const uint2*)(indices + entry));
    return make_uint2(entry < count ? load_readonly(indices + entry) : 0, 0);
}
/// 16 bytes of a row of halves, piece `piece`; zeros unless `wanted`.
BG_DEVICE uint4 load_halves8(const void* features, u32 row, u32 columns, u32 piece, bool wanted) {
    if (!wanted) return make_uint4(0, 0, 0, 0);
    return load_readonly((const uint4*)((const u16*)features + ((u64)row * columns + piece * 8)));
}
}  // namespace bg
