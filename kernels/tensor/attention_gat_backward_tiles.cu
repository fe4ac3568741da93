// The middle launch of the backward pass of additive attention, of halves on tensor cores: a warp takes a window of rows of the transposed
// matrix, 16 entries at a time. A slot is a pair of a transposed row and a head.
//
// First product: A are the values of the slots, zero outside the slot's head, B the gradients of the entries' rows; D, a slot by an entry,
// comes out in the lanes that work out the probabilities of that slot and entry, so that nothing moves. Second product, as in
// tensor/attention_gat_tiles.cu: A are the same gradients, transposed as they come from memory, B the probabilities, scaled by 2^14.
//
// An infinity or NaN in a gradient makes the values' gradients of the whole window NaN: it meets the zeros of other rows.
#include "tensor/attention_gat_backward.cuh"

namespace bg {
constexpr f32 PROBABILITY_SCALE = 16384.0f;

/// BLOCKS times 64 columns at most.
template <class T, u32 BLOCKS> BG_DEVICE void gat_backward_tiles(const GatBackwardParams& p) {
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 g = lane() >> 2, t = lane() & 3u, pieces = p.columns / 8, head_pieces = p.head_columns / 8;
    const u32 slot_row = task.row + g / p.heads, slot_head = g % p.heads;
    const bool active = g < task.count * p.heads;
    u32 from = task.begin, to = task.begin;
    f32 right = 0;
    if (active) {
        from = first_entry(p.rows, task, slot_row);
        to = end_entry(p.rows, task, slot_row);
        right = load_readonly(p.right + ((u64)slot_row * p.heads + slot_head)) * LOG2_E;
    }
    uint4 own[2 * BLOCKS];
#pragma unroll
    for (u32 b = 0; b < 2 * BLOCKS; b++) {
        const u32 piece = 4 * b + t;
        own[b] = load_halves8(p.values, slot_row, p.columns, piece, active && piece < pieces && piece / head_pieces == slot_head);
    }
    f32 sums[BLOCKS][4][4], right_sum = 0;
#pragma unroll
    for (u32 b = 0; b < BLOCKS; b++)
#pragma unroll
        for (u32 q = 0; q < 4; q++)
#pragma unroll
            for (u32 i = 0; i < 4; i++) sums[b][q][i] = 0;
    for (u32 base = task.begin & ~3u; base < task.end; base += 16) {
        // Columns of B are the entries 4 (g / 2) + g % 2 and two further, so that a lane gets the products of its own entries 4t to 4t + 3.
        const u32 entry = base + 4 * t, near = base + 4 * (g >> 1) + (g & 1u);
        const uint4 loaded = load_columns4(p.rows.indices, entry, p.rows.entry_count);
        const u32 columns[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
        f32 dots[2][4];
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            const u32 e = near + 2 * half;
            const bool in = e >= task.begin && e < task.end;
            const u32 column = in ? load_readonly(p.rows.indices + e) : 0;
            uint4 x[2 * BLOCKS];
#pragma unroll
            for (u32 b = 0; b < 2 * BLOCKS; b++) x[b] = load_halves8(p.gradient, column, p.columns, 4 * b + t, in && 4 * b + t < pieces);
#pragma unroll
            for (u32 i = 0; i < 4; i++) dots[half][i] = 0;
#pragma unroll
            for (u32 b = 0; b < 2 * BLOCKS; b++) {
                mma_16x8x16<T>(dots[half], {own[b].x, 0, own[b].y, 0}, x[b].x, x[b].y);
                mma_16x8x16<T>(dots[half], {own[b].z, 0, own[b].w, 0}, x[b].z, x[b].w);
            }
        }
        f32 probabilities[4], d_scores[4];
        bool all_own = p.heads == 1;
#pragma unroll
        for (u32 k = 0; k < 4; k++) {
            const bool mine = entry + k >= from && entry + k < to;
            const float4 row = load_readonly(p.packed + ((u64)columns[k] * p.heads + slot_head));
            const GatEntry found = gat_entry(row, right, dots[k >> 1][k & 1], p.slope);
            probabilities[k] = mine ? found.probability * PROBABILITY_SCALE : 0.0f;
            d_scores[k] = mine ? found.d_score : 0.0f;
            right_sum += d_scores[k];
            all_own = all_own && mine;
        }
        if (all_own) {
            *(float4*)(p.d_scores + entry) = make_float4(d_scores[0], d_scores[1], d_scores[2], d_scores[3]);
        } else {
#pragma unroll
            for (u32 k = 0; k < 4; k++)
                if (entry + k >= from && entry + k < to) p.d_scores[(u64)(entry + k) * p.heads + slot_head] = d_scores[k];
        }
        const u32 b0 = pack_pair<T>(probabilities[0], probabilities[1]), b1 = pack_pair<T>(probabilities[2], probabilities[3]);
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++) {
            uint4 x[4];
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                const bool in = entry + k >= task.begin && entry + k < task.end;
                x[k] = load_halves8(p.gradient, columns[k], p.columns, 8 * b + g, in && 8 * b + g < pieces);
            }
            mma_transposed<T>(sums[b], x, b0, b1);
        }
    }
    warp_sync();
    right_sum += shuffle_xor(right_sum, 1);
    right_sum += shuffle_xor(right_sum, 2);
    f32* const partial = p.partial + (u64)index * backward_size(p.columns, p.heads);
    constexpr f32 SCALE = 1.0f / PROBABILITY_SCALE;
#pragma unroll
    for (u32 j = 0; j < 2; j++) {
        const u32 n = 2 * t + j, row = task.row + n / p.heads, head = n % p.heads;
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++) {
            const u32 piece = 8 * b + g;
            if (n >= task.count * p.heads || piece >= pieces || piece / head_pieces != head) continue;
            if (task.piece) {
#pragma unroll
                for (u32 q = 0; q < 4; q++)
                    *(float2*)(partial + piece * 8 + 2 * q) = make_float2(sums[b][q][j] * SCALE, sums[b][q][2 + j] * SCALE);
            } else {
                u32 words[4];
#pragma unroll
                for (u32 q = 0; q < 4; q++) words[q] = pack_pair<T>(sums[b][q][j] * SCALE, sums[b][q][2 + j] * SCALE);
                *(uint4*)((T*)p.d_values + ((u64)row * p.columns + piece * 8)) = make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
    }
    if (active && t == 0) {
        if (task.piece) partial[p.columns + slot_head] = right_sum;
        else p.d_right[(u64)slot_row * p.heads + slot_head] = right_sum;
    }
    if (task.piece) {
        const RowPieces row = piece_done(p.rows, task, index);
        if (row.last) add_pieces<T>(p, row, task.row);
    }
}
BG_KERNEL(attention_gat_backward_tiles_f16_64, GatBackwardParams, 128, 6) { gat_backward_tiles<f16, 1>(p); }
BG_KERNEL(attention_gat_backward_tiles_f16_128, GatBackwardParams, 128, 4) { gat_backward_tiles<f16, 2>(p); }
BG_KERNEL(attention_gat_backward_tiles_bf16_64, GatBackwardParams, 128, 6) { gat_backward_tiles<bf16, 1>(p); }
BG_KERNEL(attention_gat_backward_tiles_bf16_128, GatBackwardParams, 128, 4) { gat_backward_tiles<bf16, 2>(p); }
}  // namespace bg
