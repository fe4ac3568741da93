// What the passes of attention by two rows share: the kinds of scores.
#pragma once
#include "tensor/attention_gat.cuh"
#include "tensor/attention_lanes.cuh"

namespace bg {
/// factor * query . key; beta * cosine of query and key; vector . leaky(query + key).
constexpr u32 DOT_SCORE = 0, COSINE_SCORE = 1, SUM_SCORE = 2;
/// The norm of a vector is taken as this or more.
constexpr f32 NORM_FLOOR = 1e-12f;

/// One over the norm, from a sum of squares.
BG_DEVICE f32 inverse_norm(f32 squares) { return fminf(rsqrt_of(squares), 1 / NORM_FLOOR); }
}  // namespace bg
