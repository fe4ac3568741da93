// What all forms of PageRank share: their result, the config as the device sees it, and sums that repeat.
//
// An iteration gives every vertex y = mass t + sum of shares(u) over its incoming arcs; its next share is damping y / outdegree.
// t is the teleport distribution, mass = 1 - damping + damping (scores of dangling vertices, if they are spread).
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

/// Two sums an iteration, read after the grid's barrier; three turns, so that one can be cleared while the next is in use.
/// They live in the part of the grid's state that the host clears before every launch.
struct RankSums {
    u64* words;
    BG_DEVICE explicit RankSums(GridState* state) : words((u64*)(state->reserved + 1)) {}
    BG_DEVICE u64* residual(u32 turn) const { return words + turn % 3 * 2; }
    BG_DEVICE u64* lost(u32 turn) const { return words + turn % 3 * 2 + 1; }
};
static_assert(sizeof(GridState) == 128, "the sums must fit in the grid's state");

template <class T> BG_DEVICE T magnitude(T x) { return x < T(0) ? -x : x; }
}  // namespace bg
