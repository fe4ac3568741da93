// Products of 16 x 256 by 256 x 8 bits on tensor cores: the ones of the AND of a row and a column are added to a sum.
//
// Lane l = 4 g + t holds of A word t of the first 128 bits of row g (a0) and of row g + 8 (a1), and word t of the last 128 bits of both (a2,
// a3); of B the same words of column g (b0, b1); of D the columns 2t, 2t+1 of row g (d[0], d[1]) and of row g + 8 (d[2], d[3]). Which bits
// the words stand for is the caller's choice, as long as A and B agree.
//
// There is no exclusive or: Hopper's tensor cores count ANDs alone, and a compiler that is asked for it makes two products of one.
#pragma once
#include "common/warp.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline void mma_bits(i32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    u64 words[3][32];
    const u64 own[3] = {(u64)a1 << 32 | a0, (u64)a3 << 32 | a2, (u64)b1 << 32 | b0};
    for (u32 i = 0; i < 3; i++) memcpy(words[i], host::exchange(own[i]), sizeof words[i]);
    const u32 g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < 4; i++) {
        const u32 shift = (i >> 1) * 32, column = 2 * t + (i & 1);
        for (u32 k = 0; k < 4; k++) {
            const u64 b = words[2][column * 4 + k];
            d[i] += __popc((u32)(words[0][g * 4 + k] >> shift) & (u32)b) + __popc((u32)(words[1][g * 4 + k] >> shift) & (u32)(b >> 32));
        }
    }
}
inline void mma_bits_half(i32 (&d)[4], u32 a0, u32 a1, u32 b0) { mma_bits(d, a0, a1, 0, 0, b0, 0); }
#else
/// d += a b.
BG_DEVICE void mma_bits(i32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/// The same of 128 bits: the first half of the words.
BG_DEVICE void mma_bits_half(i32 (&d)[4], u32 a0, u32 a1, u32 b0) {
    asm volatile("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(b0));
}
#endif
}  // namespace bg
