// What the passes of attention by two rows share: the kinds of scores.
#pragma once
#include "tensor/attention_gat.cuh"
#include "tensor/attention_lanes.cuh"

namespace bg {
/// factor * query . key; beta * cosine of query and key; vector . leaky(query + key).
constexpr u32 DOT_SCORE = 0, COSINE_SCORE = 1, SUM_SCORE = 2;
/// The norm of a vector is taken as this or more.
constexpr f32 NORM_FLOOR = 1e-12f;

struct PairParams {
    RowTasks rows;
    const void* query;      // rows x columns
    const void* key;        // matrix columns x columns
    const void* values;     // matrix columns x columns
    const f32* parameter;   // of cosines: beta; of sums: the vector, of all columns; else null
    void* output;           // rows x columns
    f32* lse;               // rows x heads; null if it is not wanted
    f32* partial;           // as GatParams::partial
    u32 columns;
    u32 heads;
    u32 head_columns;
    f32 factor;
    f32 slope;
    // In tensor/attention_pair_groups.cuh:
    u32 single;             // blocks whose groups of lanes have one task each
    u32 turns;              // tasks of a group of the others
    u32 unused;
    AttentionEnd end;
    AttentionDropout dropout;
};

/// One over the norm, from a sum of squares.
BG_DEVICE f32 inverse_norm(f32 squares) { return fminf(rsqrt_of(squares), 1 / NORM_FLOOR); }
}  // namespace bg
