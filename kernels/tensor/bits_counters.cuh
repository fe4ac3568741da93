// Vertical counters: 32 counts side by side, plane p of them holding bit p of each. Words of sign bits are added by full adders on all 32
// columns at once, two logic instructions each, and a count is compared with a number plane by plane: no bit is ever unpacked to be counted.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
/// a + b + c for each of 32 columns: the sums, and the carries, which count twice.
BG_DEVICE void full_add(u32 a, u32 b, u32 c, u32& sum, u32& carry) {
    const u32 s = a ^ b ^ c;
    carry = (a & b) | (a & c) | (b & c);
    sum = s;
}

/// Adds 8 words to a counter, of which the first USED planes may change; the caller keeps the counts below 2^USED.
template <u32 USED, u32 PLANES> BG_DEVICE void count_words(u32 (&c)[PLANES], const u32 (&x)[8]) {
    static_assert(USED >= 4 && USED <= PLANES, "eight words need four planes");
    u32 twos[4], fours[2], carry;
    full_add(c[0], x[0], x[1], c[0], twos[0]);
    full_add(c[0], x[2], x[3], c[0], twos[1]);
    full_add(c[0], x[4], x[5], c[0], twos[2]);
    full_add(c[0], x[6], x[7], c[0], twos[3]);
    full_add(c[1], twos[0], twos[1], c[1], fours[0]);
    full_add(c[1], twos[2], twos[3], c[1], fours[1]);
    full_add(c[2], fours[0], fours[1], c[2], carry);
#pragma unroll
    for (u32 p = 3; p < USED; p++) {
        const u32 next = c[p] & carry;
        c[p] ^= carry;
        carry = next;
    }
}
/// The same of 4 words.
template <u32 USED, u32 PLANES> BG_DEVICE void count_words(u32 (&c)[PLANES], const u32 (&x)[4]) {
    static_assert(USED >= 3 && USED <= PLANES, "four words need three planes");
    u32 twos[2], carry;
    full_add(c[0], x[0], x[1], c[0], twos[0]);
    full_add(c[0], x[2], x[3], c[0], twos[1]);
    full_add(c[1], twos[0], twos[1], c[1], carry);
#pragma unroll
    for (u32 p = 2; p < USED; p++) {
        const u32 next = c[p] & carry;
        c[p] ^= carry;
        carry = next;
    }
}

/// Adds the counters of lanes whose numbers differ in the bits of SPAN to SPAN * LANES / 2, of which the first USED planes hold something:
/// each lane ends with the sum of LANES, in USED + log2 LANES planes. All lanes of the warp call it together.
template <u32 USED, u32 SPAN, u32 LANES, u32 PLANES> BG_DEVICE void join_lanes(u32 (&c)[PLANES]) {
    u32 used = USED;
#pragma unroll
    for (u32 distance = SPAN; distance < SPAN * LANES; distance *= 2, used++) {
        u32 carry = 0;
#pragma unroll
        for (u32 p = 0; p < PLANES; p++) {
            if (p < used) full_add(c[p], shuffle_xor(c[p], distance), carry, c[p], carry);
            else if (p == used) c[p] = carry;
        }
    }
}

/// The columns whose count is at least `lowest`, which is below 2^PLANES.
template <u32 PLANES> BG_DEVICE u32 at_least(const u32 (&c)[PLANES], u32 lowest) {
    u32 result = 0xffffffffu;
#pragma unroll
    for (u32 p = 0; p < PLANES; p++) {
        const u32 wanted = lowest >> p & 1u ? 0xffffffffu : 0u;
        result = (c[p] & result) | (~wanted & (c[p] | result));
    }
    return result;
}
/// The columns where twice the count and `offset` are at least the number in `planes`, of which there are `used`, `stride` words apart, of
/// columns from bit `shift` of them on. Both sides are below 2^used.
template <u32 PLANES>
BG_DEVICE u32 twice_at_least(const u32 (&c)[PLANES], u32 offset, const u32* planes, u32 used, u32 stride, u32 shift = 0) {
    u32 result = 0xffffffffu, carry = 0;
    auto next = [&](u32 p, u32 plane) {
        u32 sum;
        full_add(plane, offset >> p & 1u ? 0xffffffffu : 0u, carry, sum, carry);
        const u32 wanted = load_readonly(planes + (u64)p * stride) >> shift;
        result = (sum & result) | (~wanted & (sum | result));
    };
#pragma unroll
    for (u32 p = 0; p <= PLANES; p++)
        if (p < used) next(p, p == 0 ? 0u : c[p == 0 ? 0 : p - 1]);
    for (u32 p = PLANES + 1; p < used; p++) next(p, 0);
    return result;
}

/// The counts of columns `first` to `first + 3`, `first` being a multiple of 4.
template <u32 PLANES> BG_DEVICE uint4 four_counts(const u32 (&c)[PLANES], u32 first) {
    static_assert(PLANES <= 16, "a count in two bytes");
    u32 low = 0, high = 0;
#pragma unroll
    for (u32 p = 0; p < PLANES; p++) {
        // A bit to the lowest of each byte: the factor moves bit i by 7 i.
        const u32 spread = ((c[p] >> first & 15u) * 0x00204081u) & 0x01010101u;
        if (p < 8) low += spread << p;
        else high += spread << (p - 8);
    }
    return make_uint4((low & 0xffu) | (high & 0xffu) << 8, (low >> 8 & 0xffu) | (high >> 8 & 0xffu) << 8,
                      (low >> 16 & 0xffu) | (high >> 16 & 0xffu) << 8, low >> 24 | high >> 24 << 8);
}

/// The bits of word `word` of a line that belong to a matrix of `columns` columns.
BG_DEVICE u32 bits_within(u32 columns, u32 word) {
    const u32 full = columns / 32;
    return word < full ? 0xffffffffu : word > full ? 0u : (1u << (columns & 31u)) - 1u;
}
}  // namespace bg
