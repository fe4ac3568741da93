// What all forms of PageRank share: their result, the config as the device sees it, and sums that repeat.
//
// An iteration gives every vertex y = mass t + sum of shares(u) over its incoming arcs; its next share is damping y / outdegree.
// t is the teleport distribution, mass = 1 - damping + damping (scores of dangling vertices, if they are spread).
//
// The residual is taken from the shares, old and new, where both are at hand: a change of a share over its weight is the change of
// the score. So scores are not stored for it. A dangling vertex, whose share no thread reads, has the weight 1.
#pragma once
#include "common/grid.cuh"

namespace bg {
/// The answer besides the scores.
struct RankResult {
    u64 residual;    // fixed point, of the last iteration
    u32 iterations;
    u32 reserved;
};

/// Sums over the grid are kept as integers, because integers add to the same sum in any order. Scores sum to 1 at most and a
/// residual to 2, so 61 bits hold either.
constexpr f64 FIXED_ONE = 1152921504606846976.0;  // 2^60
BG_DEVICE u64 to_fixed(f64 x) { return (u64)(x * FIXED_ONE); }
BG_DEVICE f64 from_fixed(u64 x) { return (f64)x / FIXED_ONE; }

/// Sums over the grid, read after its barrier. They live in the part of the grid's state that the host clears before every launch.
struct RankSums {
    u64* words;
    BG_DEVICE explicit RankSums(GridState* state) : words((u64*)(state->reserved + 1)) {}
    /// The scores of dangling vertices; three turns, so that one can be cleared while the next is in use.
    BG_DEVICE u64* lost(u32 turn) const { return words + turn % 3; }
    /// The first scores of vertices without arcs.
    BG_DEVICE u64* isolated() const { return words + 3; }
};
static_assert(sizeof(GridState) == 128, "the sums must fit in the grid's state");

/// A sum over a block: every warp says what it has; after a barrier the first warp knows the sum. No other barrier is needed.
struct BlockTotal {
    u64* parts;  // one for each warp
    BG_DEVICE void tell(f64 value) const {
        value = butterfly_sum(value);
        if (lane() == 0) parts[threadIdx.x / WARP] = to_fixed(value);
    }
    BG_DEVICE u64 sum() const { return butterfly_sum(lane() < blockDim.x / WARP ? parts[lane()] : 0ull); }
};

/// The sum over the warp of numbers of 26 bits each and of others 2^26 times as heavy.
BG_DEVICE u64 warp_sum_fixed(u32 high, u32 low) { return ((u64)warp_sum(high) << 26) + warp_sum(low); }
/// The sum over the warp of numbers that are below 2^58 in all.
BG_DEVICE u64 warp_sum_fixed(u64 value) { return warp_sum_fixed((u32)(value >> 26), (u32)value & 0x3ffffffu); }

template <class T> BG_DEVICE T magnitude(T x) { return x < T(0) ? -x : x; }

/// A change of a share over its weight: of `f32` within two units in the last place, which is enough for a term of a residual.
BG_DEVICE f32 change_of(f32 share, f32 before, f32 weight) {
#ifdef BITGRAPH_HOST
    return magnitude(share - before) / weight;
#else
    return __fdividef(magnitude(share - before), weight);
#endif
}
BG_DEVICE f64 change_of(f64 share, f64 before, f64 weight) { return magnitude(share - before) / weight; }
}  // namespace bg
