// Philox4x32-10 as crates/bitgraph-tensor counts it (src/philox.rs): what dropout drops is a function of seed, draw, row and column.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// The words of the four elements in the columns 4 quad .. 4 quad + 3 of a row.
BG_DEVICE uint4 philox(u64 seed, u32 draw, u64 row, u32 quad) {
    u32 a = quad, b = (u32)row, c = (u32)(row >> 32), d = draw, k = (u32)seed, l = (u32)(seed >> 32);
#pragma unroll
    for (u32 round = 0; round < 10; round++) {
        const u32 high = __umulhi(0xD2511F53u, a), low = 0xD2511F53u * a;
        const u32 other_high = __umulhi(0xCD9E8D57u, c), other_low = 0xCD9E8D57u * c;
        a = other_high ^ b ^ k;
        b = other_low;
        c = high ^ d ^ l;
        d = low;
        k += 0x9E3779B9u;
        l += 0xBB67AE85u;
    }
    return make_uint4(a, b, c, d);
}
/// The word of one element among those of its quad.
BG_DEVICE u32 philox_word(const uint4& words, u32 column) {
    const u32 low = column & 1 ? words.y : words.x, high = column & 1 ? words.w : words.z;
    return column & 2 ? high : low;
}
/// The word of one element.
BG_DEVICE u32 philox_at(u64 seed, u32 draw, u64 row, u32 column) { return philox_word(philox(seed, draw, row, column / 4), column); }
}  // namespace bg
