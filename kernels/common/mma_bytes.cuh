// Products of 16 x 32 by 32 x 8 numbers of 8 bits without a sign on tensor cores, added to sums of 32 bits.
//
// Lane l = 4 g + t holds of A four numbers of row g from column 4 t on (a0) and from 16 + 4 t on (a2), and the same of row g + 8 (a1, a3); of B
// four numbers of column g from row 4 t on (b0) and from 16 + 4 t on (b1); of D the columns 2t, 2t+1 of row g (d[0], d[1]) and of row g + 8
// (d[2], d[3]).
#pragma once
#include "common/warp.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline void mma_bytes(i32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    u64 words[3][32];
    const u64 own[3] = {(u64)a1 << 32 | a0, (u64)a3 << 32 | a2, (u64)b1 << 32 | b0};
    for (u32 i = 0; i < 3; i++) memcpy(words[i], host::exchange(own[i]), sizeof words[i]);
    const u32 g = lane() >> 2, t = lane() & 3u;
    for (u32 i = 0; i < 4; i++) {
        const u32 shift = (i >> 1) * 32, column = 2 * t + (i & 1);
        for (u32 k = 0; k < 32; k++) {
            const u64 a = words[k / 16][g * 4 + k % 16 / 4] >> shift, b = words[2][column * 4 + k % 16 / 4] >> (k / 16 * 32);
            d[i] += (i32)(a >> (8 * (k % 4)) & 255) * (i32)(b >> (8 * (k % 4)) & 255);
        }
    }
}
#else
/// d += a b.
BG_DEVICE void mma_bytes(i32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#endif
}  // namespace bg
