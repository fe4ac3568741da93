// What all forms of additive attention share: y(i) = sum over the entries (i, j) of p(i, j) values(j), head by head, where p is the softmax of
// leaky(left(i) + right(j)) over the entries of row i.
//
// Scores are multiplied by the logarithm of e to base 2, so that powers are of 2. The logarithm of the sum of the exponentials that is
// stored is to base e.
#pragma once
#include "tensor/attention_end.cuh"
#include "tensor/attention_tasks.cuh"

namespace bg {
constexpr f32 LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f;

struct GatParams {
    RowTasks rows;
    const f32* left;     // rows x heads
    const f32* right;    // matrix columns x heads
    const void* values;  // matrix columns x columns
    void* output;        // rows x columns
    f32* lse;            // rows x heads; null if it is not wanted
    f32* partial;        // for each piece: sums of columns, then for each head the sum that divides them, the sum of powers, the maximum
    u32 columns;
    u32 heads;
    u32 head_columns;    // columns of a head
    f32 slope;
    AttentionEnd end;
};

BG_DEVICE f32 leaky(f32 z, f32 slope) { return z > 0 ? z : z * slope; }
/// The score of an entry to base 2; `left` comes multiplied by LOG2_E.
BG_DEVICE f32 gat_score(f32 left, f32 right, f32 slope) { return leaky(right * LOG2_E + left, slope); }
/// What stands for the maximum of no scores: below all of them, and finite, so that differences are.
constexpr f32 NO_SCORE = -1e38f;

/// Numbers of a piece in `partial`: even, so that sums are stored by pairs.
BG_DEVICE u32 partial_size(u32 columns, u32 heads) { return (columns + 3 * heads + 1) & ~1u; }

/// Joins the pieces of a row, in their order: what the last of its warps does. Sums of columns are divided by the first kind of sums, the
/// logarithm is of the second.
template <class T>
BG_DEVICE void join_pieces(const RowPieces& pieces, u32 row, const f32* partial, u32 columns, u32 heads, u32 head_columns, const AttentionEnd& end, T* output, f32* lse) {
    const u32 size = partial_size(columns, heads);
    const f32* first = partial + (u64)pieces.first * size;
    for (u32 c = lane(); c < columns; c += WARP) {
        const u32 head = c / head_columns;
        const f32 *maxima = first + columns + 2 * heads + head, *sums = first + columns + head;
        f32 most = NO_SCORE, sum = 0, total = 0;
        for (u32 i = 0; i < pieces.count; i++) most = fmaxf(most, load_l2(maxima + (u64)i * size));
        for (u32 i = 0; i < pieces.count; i++) {
            const f32 scale = exp2_of(load_l2(maxima + (u64)i * size) - most);
            sum += load_l2(first + (u64)i * size + c) * scale;
            total += load_l2(sums + (u64)i * size) * scale;
        }
        output[(u64)row * columns + c] = Narrow<T>::of(end_of(end, c, total == 0 ? 0.0f : sum / total));
    }
    if (!lse) return;
    for (u32 head = lane(); head < heads; head += WARP) {
        const f32 *maxima = first + columns + 2 * heads + head, *sums = first + columns + heads + head;
        f32 most = NO_SCORE, total = 0;
        for (u32 i = 0; i < pieces.count; i++) most = fmaxf(most, load_l2(maxima + (u64)i * size));
        for (u32 i = 0; i < pieces.count; i++) total += load_l2(sums + (u64)i * size) * exp2_of(load_l2(maxima + (u64)i * size) - most);
        lse[(u64)row * heads + head] = (most + log2_of(total)) * LN_2;
    }
}
}  // namespace bg
