// What all forms of additive attention share: y(i) = sum over the entries (i, j) of p(i, j) values(j), head by head, where p is the softmax of
// leaky(left(i) + right(j)) over the entries of row i, of which dropout may take some after the softmax.
//
// Scores are multiplied by the logarithm of e to base 2, so that powers are of 2. The logarithm of the sum of the exponentials that is
// stored is to base e.
#pragma once
#include "tensor/attention_dropout.cuh"
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
    f32* partial;        // `partial_size` numbers for each piece
    u32 columns;
    u32 heads;
    u32 head_columns;    // columns of a head
    u32 side_bits;       // logarithm of the groups of lanes that share a row
    f32 slope;
    u32 unused;
    AttentionEnd end;
    AttentionDropout dropout;
};

BG_DEVICE f32 leaky(f32 z, f32 slope) { return z > 0 ? z : z * slope; }
/// The score of an entry to base 2; `left` comes multiplied by LOG2_E.
BG_DEVICE f32 gat_score(f32 left, f32 right, f32 slope) { return leaky(right * LOG2_E + left, slope); }
/// Probabilities are rounded to halves by this much larger, so that small ones keep their bits: a power of two, and its logarithm.
constexpr f32 PROBABILITY_SCALE = 16384.0f, PROBABILITY_BITS = 14.0f;
/// What stands for the maximum of no scores: below all of them, and finite, so that differences are.
constexpr f32 NO_SCORE = -1e38f;

/// Numbers of a piece in `partial`: sums of columns, then for each head the sum of powers and the maximum; a multiple of 4.
BG_DEVICE u32 partial_size(u32 columns, u32 heads) { return (columns + 2 * heads + 3) & ~3u; }

/// What joining the pieces of a row takes.
struct JoinedRow {
    const f32* partial;
    void* output;
    f32* lse;
    u32 columns, heads, head_columns;
};
/// Joins the `count` pieces of a row from `first` on, in their order; a warp does, WIDE columns a lane, which are of one head.
template <class T, u32 WIDE> BG_DEVICE void join_pieces(const JoinedRow& p, const AttentionEnd& end, u32 row, u32 first, u32 count) {
    constexpr u32 DEEP = 4;
    const u32 across = p.columns >= WARP * WIDE ? WARP : p.columns >= WARP / 2 * WIDE ? WARP / 2 : WARP / 4, sides = WARP / across;
    const u32 size = partial_size(p.columns, p.heads), side = lane() / across;
    const f32* from = p.partial + (u64)first * size;
    for (u32 base = 0; base < p.columns; base += across * WIDE) {
        const u32 column = base + lane() % across * WIDE, head = min_of(column, p.columns - 1) / p.head_columns;
        const bool active = column < p.columns;
        const f32 *totals = from + p.columns + head, *maxima = totals + p.heads;
        f32 most = NO_SCORE, total = 0, sums[WIDE];
#pragma unroll
        for (u32 i = 0; i < WIDE; i++) sums[i] = 0;
        for (u32 k = side; k < count; k += 2 * DEEP * sides) {
            f32 found[2 * DEEP];
#pragma unroll
            for (u32 j = 0; j < 2 * DEEP; j++) found[j] = k + j * sides < count ? load_l2(maxima + (u64)(k + j * sides) * size) : NO_SCORE;
#pragma unroll
            for (u32 j = 0; j < 2 * DEEP; j++) most = fmaxf(most, found[j]);
        }
        warp_sync();
        for (u32 d = across; d < WARP; d <<= 1) most = fmaxf(most, shuffle_xor(most, d));
        for (u32 k = side; k < count; k += DEEP * sides) {
            f32 scales[DEEP], powers[DEEP], x[DEEP][WIDE];
#pragma unroll
            for (u32 j = 0; j < DEEP; j++) {
                const bool in = k + j * sides < count;
                const u64 at = (u64)(k + j * sides) * size;
                scales[j] = in ? load_l2(maxima + at) : NO_SCORE;
                powers[j] = in ? load_l2(totals + at) : 0.0f;
                if constexpr (WIDE == 4) {
                    const float4 four = in && active ? load_l2((const float4*)(from + at + column)) : make_float4(0, 0, 0, 0);
                    x[j][0] = four.x;
                    x[j][1] = four.y;
                    x[j][2] = four.z;
                    x[j][3] = four.w;
                } else {
                    x[j][0] = in && active ? load_l2(from + at + column) : 0.0f;
                }
            }
#pragma unroll
            for (u32 j = 0; j < DEEP; j++) {
                if (k + j * sides >= count) continue;
                const f32 scale = exp2_of(scales[j] - most);
                total += powers[j] * scale;
#pragma unroll
                for (u32 i = 0; i < WIDE; i++) sums[i] += x[j][i] * scale;
            }
        }
        warp_sync();
        for (u32 d = across; d < WARP; d <<= 1) {
            total += shuffle_xor(total, d);
#pragma unroll
            for (u32 i = 0; i < WIDE; i++) sums[i] += shuffle_xor(sums[i], d);
        }
        if (side != 0 || !active) continue;
        const f32 inverse = total == 0 ? 0.0f : 1.0f / total;
#pragma unroll
        for (u32 i = 0; i < WIDE; i++)
            ((T*)p.output)[(u64)row * p.columns + column + i] = Narrow<T>::of(end_of(end, column + i, sums[i] * inverse));
        if (p.lse && column % p.head_columns == 0) p.lse[(u64)row * p.heads + head] = (most + log2_of(total)) * LN_2;
    }
}
}  // namespace bg
