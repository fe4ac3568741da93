// What the kernels of shortest paths share: distances as unsigned keys that order like their values, so that atomic minima on
// integers serve every type, and sums that never fall (integers stick at the largest value, which means "not reached").
#pragma once
#include "common/grid.cuh"

namespace bg {
/// Marks the absence of a vertex.
constexpr u32 NO_VERTEX = 0xffffffffu;
/// In the steps reported at the end: the search took more of them than it was given.
constexpr u32 GAVE_UP = 0x80000000u;

/// Distances summed in u32.
struct WholeKey {
    typedef u32 Bits;
    static constexpr Bits UNREACHED = 0xffffffffu;
    static constexpr Bits ONE = 1;
    static BG_DEVICE Bits extend(Bits distance, Bits weight) {
        Bits sum = distance + weight;
        return sum < distance ? UNREACHED : sum;
    }
};
/// Distances summed in u64.
struct WideKey {
    typedef u64 Bits;
    static constexpr Bits UNREACHED = 0xffffffffffffffffull;
    static constexpr Bits ONE = 1;
    static BG_DEVICE Bits extend(Bits distance, Bits weight) {
        Bits sum = distance + weight;
        return sum < distance ? UNREACHED : sum;
    }
};
/// Distances summed in f32; the bits of non-negative floats order like the floats, and infinity comes last.
struct RealKey {
    typedef u32 Bits;
    static constexpr Bits UNREACHED = 0x7f800000u;
    static constexpr Bits ONE = 0x3f800000u;
    static BG_DEVICE Bits extend(Bits distance, Bits weight) {
        return __float_as_uint(__uint_as_float(distance) + __uint_as_float(weight));
    }
};
/// Distances summed in f64.
struct DoubleKey {
    typedef u64 Bits;
    static constexpr Bits UNREACHED = 0x7ff0000000000000ull;
    static constexpr Bits ONE = 0x3ff0000000000000ull;
    static BG_DEVICE Bits extend(Bits distance, Bits weight) {
        return (Bits)__double_as_longlong(__longlong_as_double((i64)distance) + __longlong_as_double((i64)weight));
    }
};

/// The smallest value over the warp, for keys of either width.
BG_DEVICE u64 warp_min(u64 value) {
    for (u32 d = 16; d; d >>= 1) value = min_of(value, shuffle_xor(value, d));
    return value;
}
}  // namespace bg
