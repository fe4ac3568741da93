// Products of 16 x 8 by 8 x 8 on tensor cores, of numbers of f32 with f32 sums. A tensor core reads the 11 upper bits of a significand: a number
// goes in as two, the second of which is what the first leaves, and a product as three. What is left out of it is below 2^-20 of the product;
// of numbers below 2^-100, whose second ones tensor cores may take for zero, it may be up to 2^-10.
//
// Lane l = 4 g + t holds of A the columns t (a[0], a[1]) and t + 4 (a[2], a[3]) of the rows g (a[0], a[2]) and g + 8 (a[1], a[3]); of B the
// rows t (b0) and t + 4 (b1) of column g; of D the columns 2t, 2t+1 of row g (d[0], d[1]) and of row g + 8 (d[2], d[3]). Which rows and
// columns the numbers stand for is the caller's choice, as long as A and B agree.
#pragma once
#include "common/convert.cuh"
#include "common/warp.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline u32 bits_of(f32 x) {
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
/// A number rounded to 11 bits of its significand, ties away from zero.
inline u32 round_tf32(f32 x) {
    const u32 bits = bits_of(x);
    return (bits >> 23 & 255) == 255 ? bits : (bits + 0x1000u) & 0xffffe000u;
}
inline u32 round_tf32_whole(f32 x) { return (bits_of(x) + 0x1000u) & 0xffffe000u; }
inline f32 read_tf32(u32 bits) {
    f32 x;
    bits &= 0xffffe000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}
inline u32 rest_tf32(f32 x, u32 high) { return bits_of(x - read_tf32(high)); }
/// d += a b.
inline void mma_tf32(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    u64 words[3][32];
    const u64 own[3] = {(u64)a[1] << 32 | a[0], (u64)a[3] << 32 | a[2], (u64)b1 << 32 | b0};
    for (u32 i = 0; i < 3; i++) memcpy(words[i], host::exchange(own[i]), sizeof words[i]);
    const u32 g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < 4; i++) {
        const u32 column = 2 * t + (i & 1);
        for (u32 k = 0; k < 8; k++) {
            const u64 left = words[k >> 2][g * 4 + (k & 3)] >> (i >> 1) * 32, right = words[2][column * 4 + (k & 3)] >> (k >> 2) * 32;
            d[i] += read_tf32((u32)left) * read_tf32((u32)right);
        }
    }
}
#else
BG_DEVICE u32 round_tf32(f32 x) {
    u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}
/// The same by whole-number instructions, of which a multiprocessor does four times as many as of conversions. Only where no products go on: between
/// them, 100 000 rows of 128 terms and columns take 63 us with these, and 50 with conversions (H200). A NaN may come out as zero.
BG_DEVICE u32 round_tf32_whole(f32 x) {
    u32 bits;
    asm("{.reg .u32 t; add.u32 t, %1, 0x1000; and.b32 %0, t, 0xffffe000;}" : "=r"(bits) : "r"(__float_as_uint(x)));
    return bits;
}
/// What a rounded number leaves. Not a formula of the language: the compiler would form it between products that go on, and wait for them.
BG_DEVICE u32 rest_tf32(f32 x, u32 high) {
    u32 bits;
    asm("sub.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(__uint_as_float(high)));
    return bits;
}
BG_DEVICE void mma_tf32(f32 (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif

/// A number as two: rounded, and what that leaves, of which tensor cores read the upper 11 bits: to round it too would take a conversion more, of
/// which a multiprocessor does a quarter as many as of sums. Of what is no finite number, the second is no number.
BG_DEVICE void split_tf32(f32 x, u32& high, u32& low) {
    high = round_tf32(x);
    low = rest_tf32(x, high);
}
/// The same with the first one by whole-number instructions.
BG_DEVICE void split_tf32_whole(f32 x, u32& high, u32& low) {
    high = round_tf32_whole(x);
    low = rest_tf32(x, high);
}

/// The products that stand for one.
constexpr u32 SPLIT_TERMS = 3;
/// One of the products that d += a b is of numbers as two each: the smaller ones first.
BG_DEVICE void mma_split(f32 (&d)[4], const u32 (&high)[4], const u32 (&low)[4], const uint4& b, u32 term) {
    if (term == 0) mma_tf32(d, low, b.x, b.y);
    else if (term == 1) mma_tf32(d, high, b.z, b.w);
    else mma_tf32(d, high, b.x, b.y);
}
}  // namespace bg
