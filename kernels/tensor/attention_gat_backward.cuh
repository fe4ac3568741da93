// What the forms of the backward pass of additive attention share. With p the softmax, k the factor of dropout, z = left(i) + right(j) and dy
// the gradient of the result: ds = p (k dy(i) . values(j) - dy(i) . y(i)), dz = ds leaky'(z); dvalues(j) is the sum of p k dy(i), dright(j)
// that of dz, both over the entries of column j; dleft(i) is the sum of dz over the entries of row i.
//
// Three launches: a row's scalars are packed; a pass over the transposed matrix reads dy once for dvalues, dright and the dz of every entry;
// a pass over the matrix adds those up. No float is added atomically, so results repeat.
#pragma once
#include "tensor/attention_gat.cuh"

namespace bg {
struct GatBackwardParams {
    RowTasks rows;           // of the transposed matrix
    const float4* packed;    // for each row and head: left and logarithm of the sum to base 2, dy . y
    const f32* right;        // matrix columns x heads
    const void* values;      // matrix columns x columns
    const void* gradient;    // dy: rows x columns
    void* d_values;          // matrix columns x columns
    f32* d_right;            // matrix columns x heads
    f32* d_scores;           // dz: transposed entries x heads
    f32* partial;            // for each piece: sums of columns, then of dz by head
    const u32* positions;    // of each entry of the transpose in the matrix, by which weights are dropped
    u32 columns;
    u32 heads;
    u32 head_columns;
    f32 slope;
    AttentionDropout dropout;
};

/// The probability of an entry by the softmax, from a row's scalars and the entry's score to base 2 before the activation.
BG_DEVICE f32 gat_probability(float4 row, f32 z, f32 slope) { return exp2_of(leaky(z, slope) - row.y); }
/// The gradient of that score, of the probability, dy . values and the factor of dropout.
BG_DEVICE f32 gat_d_score(float4 row, f32 z, f32 slope, f32 probability, f32 dot, f32 kept) {
    const f32 d = probability * (kept * dot - row.z);
    return z > 0 ? d : d * slope;
}
/// The weight of an entry, its probability after dropout, and the gradient of its score before the activation; from a row's scalars, the other
/// score to base 2, dy . values, and the factor of dropout.
struct GatEntry {
    f32 weight, d_score;
};
BG_DEVICE GatEntry gat_entry(float4 row, f32 right, f32 dot, f32 slope, f32 kept) {
    const f32 z = right + row.x, probability = gat_probability(row, z, slope);
    return GatEntry{probability * kept, gat_d_score(row, z, slope, probability, dot, kept)};
}
/// The factor of dropout of an entry of the transpose.
BG_DEVICE f32 kept_of(const GatBackwardParams& p, u32 entry, u32 head) {
    return p.dropout.active ? p.dropout.kept<f32>(load_readonly(p.positions + entry), head) : 1.0f;
}

/// Numbers of a piece in `partial`: even, so that sums are stored by pairs.
BG_DEVICE u32 backward_size(u32 columns, u32 heads) { return (columns + heads + 1) & ~1u; }

/// Adds up the pieces of a transposed row, in their order: what the last of its warps does.
template <class T> BG_DEVICE void add_pieces(const GatBackwardParams& p, const RowPieces& pieces, u32 row) {
    const u32 size = backward_size(p.columns, p.heads);
    const f32* first = p.partial + (u64)pieces.first * size;
    for (u32 c = lane(); c < p.columns + p.heads; c += WARP) {
        f32 sum = 0;
        for (u32 i = 0; i < pieces.count; i++) sum += load_l2(first + (u64)i * size + c);
        if (c < p.columns) ((T*)p.d_values)[(u64)row * p.columns + c] = Narrow<T>::of(sum);
        else p.d_right[(u64)row * p.heads + (c - p.columns)] = sum;
    }
}
}  // namespace bg
