// Additive attention of halves on tensor cores. A warp takes a window of rows, 16 entries at a time: their values are the operand A, transposed
// by byte permutations as they come from memory, and the powers of their scores the operand B, with a column for each pair of a row and
// a head (a slot), zero where an entry is of another row. So rows of few entries share a step, and no sum crosses lanes.
//
// Lane l = 4 g + t works out the powers of slot g for entries 4t to 4t + 3 of a step, and loads piece g of their values (8 columns); it ends
// up with the sums of piece g for slots 2t and 2t + 1.
//
// The maximum of the scores of a slot is found in a pass ahead, which reads 4 bytes an entry; powers are scaled by 2^14, so that halves hold
// them down to 2^-38 of the largest. The sums that divide are of the rounded powers, so that weights add up to 1.
//
// NaN and infinity: a value that is neither meets the zeros of other rows of the window, which makes their sums NaN. A warp whose sums are
// not all finite forms them again row by row, without tensor cores, so that they stay in the rows that have such a neighbour.
#include "tensor/attention_gat.cuh"

namespace bg {
constexpr f32 POWER_SHIFT = 14;

/// A pair of a row of the task and a head.
struct GatSlot {
    u32 row, head, from, to;
    f32 left;
    bool active;
};
BG_DEVICE GatSlot gat_slot(const GatParams& p, const RowTask& task, u32 g) {
    GatSlot slot{task.row + g / p.heads, g % p.heads, task.begin, task.begin, 0, g < task.count * p.heads};
    if (slot.active) {
        slot.from = first_entry(p.rows, task, slot.row);
        slot.to = end_entry(p.rows, task, slot.row);
        slot.left = load_readonly(p.left + ((u64)slot.row * p.heads + slot.head)) * LOG2_E;
    }
    return slot;
}

/// The maximum of the scores of slot g: by the slot's four lanes, or by all lanes of the head where the task is one row and heads are a
/// power of 2.
BG_DEVICE f32 slot_maximum(const GatParams& p, const RowTask& task, const GatSlot& slot, u32 g, u32 t) {
    const bool shared = task.count == 1 && (p.heads & (p.heads - 1)) == 0;
    u32 from = slot.from, to = slot.to, first = t, stride = 4;
    f32 left = slot.left;
    if (shared) {
        from = task.begin;
        to = task.end;
        first = t + 4 * (g / p.heads);
        stride = WARP / p.heads;
        left = load_readonly(p.left + ((u64)task.row * p.heads + slot.head)) * LOG2_E;
    }
    f32 most = NO_SCORE;
    constexpr u32 DEEP = 8;
    for (u32 e = from + first; e < to; e += DEEP * stride) {
        u32 columns[DEEP];
#pragma unroll
        for (u32 i = 0; i < DEEP; i++) columns[i] = load_readonly(p.rows.indices + min_of(e + i * stride, to - 1));
#pragma unroll
        for (u32 i = 0; i < DEEP; i++)
            most = fmaxf(most, gat_score(left, load_readonly(p.right + ((u64)columns[i] * p.heads + slot.head)), p.slope));
    }
    warp_sync();
    most = fmaxf(most, shuffle_xor(most, 1));
    most = fmaxf(most, shuffle_xor(most, 2));
    if (shared)
        for (u32 d = 4 * p.heads; d < WARP; d <<= 1) most = fmaxf(most, shuffle_xor(most, d));
    return most;
}

/// The sums of a task again, row by row and head by head without tensor cores, and stored; columns from `first` to `end`.
template <class T> BG_DEVICE void plain_sums(const GatParams& p, const AttentionEnd& last, const RowTask& task, const GatSlot& slot, f32 shift, u32 first, u32 end, f32* partial) {
    for (u32 n = 0; n < task.count * p.heads; n++) {
        const u32 row = task.row + n / p.heads, head = n % p.heads, from = shuffle(slot.from, 4 * n), to = shuffle(slot.to, 4 * n);
        const f32 left = shuffle(slot.left, 4 * n), less = shuffle(shift, 4 * n);
        for (u32 c = first + lane(); c < end; c += WARP) {
            if (c / p.head_columns != head) continue;
            f32 sum = 0, divisor = 0;
            for (u32 e = from; e < to; e++) {
                const u32 column = load_readonly(p.rows.indices + e);
                const f32 score = gat_score(left, load_readonly(p.right + ((u64)column * p.heads + head)), p.slope);
                const f32 power = widen(Narrow<T>::of(exp2_of(score - less)));
                sum += power * load_value((const T*)p.values + ((u64)column * p.columns + c));
                divisor += power;
            }
            if (task.piece) partial[c] = sum;
            else ((T*)p.output)[(u64)row * p.columns + c] = Narrow<T>::of(end_of(last, c, divisor == 0 ? 0.0f : sum / divisor));
        }
        warp_sync();
    }
}

/// BLOCKS times 64 columns at a time, STEPS steps of 16 entries in flight. The end of a layer is compiled apart: its code, once for each of the
/// elements that a lane holds, takes registers that the plain sums have a use for.
template <class T, u32 BLOCKS, u32 STEPS, bool END> BG_DEVICE void gat_tiles(const GatParams& p) {
    const AttentionEnd last = END ? p.end : AttentionEnd{nullptr, END_NONE, 0};
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 g = lane() >> 2, t = lane() & 3u, pieces = p.columns / 8;
    // Columns of the entries 4t to 4t + 3 of the steps from `base` on.
    auto load_next = [&](uint4(&next)[STEPS], u32 base) {
#pragma unroll
        for (u32 s = 0; s < STEPS; s++)
            next[s] = base + 16 * s < task.end ? load_columns4(p.rows.indices, base + 16 * s + 4 * t, p.rows.entry_count) : make_uint4(0, 0, 0, 0);
    };
    const GatSlot slot = gat_slot(p, task, g);
    const f32 most = slot_maximum(p, task, slot, g, t), shift = most - POWER_SHIFT;
    f32* const partial = p.partial + (u64)index * partial_size(p.columns, p.heads);
    for (u32 first = 0; first < pieces; first += 8 * BLOCKS) {
        f32 sums[BLOCKS][4][4], divisors[4] = {0, 0, 0, 0}, power_sum = 0;
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++)
#pragma unroll
            for (u32 q = 0; q < 4; q++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) sums[b][q][i] = 0;
        uint4 next[STEPS];
        load_next(next, task.begin & ~3u);
        for (u32 base = task.begin & ~3u; base < task.end; base += 16 * STEPS) {
            u32 columns[STEPS][4];
            uint4 values[STEPS][BLOCKS][4];
            f32 powers[STEPS][4];
#pragma unroll
            for (u32 s = 0; s < STEPS; s++) {
                columns[s][0] = next[s].x;
                columns[s][1] = next[s].y;
                columns[s][2] = next[s].z;
                columns[s][3] = next[s].w;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    const u32 entry = base + 16 * s + 4 * t + k;
                    const bool in = entry >= task.begin && entry < task.end;
#pragma unroll
                    for (u32 b = 0; b < BLOCKS; b++) {
                        const u32 piece = first + 8 * b + g;
                        values[s][b][k] = load_halves8(p.values, columns[s][k], p.columns, piece, in && piece < pieces);
                    }
                    powers[s][k] = load_readonly(p.right + ((u64)columns[s][k] * p.heads + slot.head));
                }
            }
            load_next(next, base + 16 * STEPS);
#pragma unroll
            for (u32 s = 0; s < STEPS; s++) {
                const u32 entry = base + 16 * s + 4 * t;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    const bool own = entry + k >= slot.from && entry + k < slot.to;
                    powers[s][k] = own ? exp2_of(gat_score(slot.left, powers[s][k], p.slope) - shift) : 0.0f;
                    power_sum += powers[s][k];
                }
                const u32 b0 = pack_pair<T>(powers[s][0], powers[s][1]), b1 = pack_pair<T>(powers[s][2], powers[s][3]);
                const u32 one = Ones<T>::value;
                mma_16x8x16<T>(divisors, {one, one, one, one}, b0, b1);
#pragma unroll
                for (u32 b = 0; b < BLOCKS; b++) mma_transposed<T>(sums[b], values[s][b], b0, b1);
            }
        }
        power_sum += shuffle_xor(power_sum, 1);
        power_sum += shuffle_xor(power_sum, 2);
        // 0 unless a sum is not finite.
        f32 trace = 0;
#pragma unroll
        for (u32 b = 0; b < BLOCKS; b++)
#pragma unroll
            for (u32 q = 0; q < 4; q++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) trace += sums[b][q][i] * 0.0f;
        const bool finite = all(trace == 0);
        // Slots 2t and 2t + 1, piece g.
#pragma unroll
        for (u32 j = 0; j < 2; j++) {
            const u32 n = 2 * t + j, row = task.row + n / p.heads, head = n % p.heads;
            const bool active = n < task.count * p.heads;
            const f32 inverse = divisors[j] == 0 ? 0.0f : 1.0f / divisors[j];
#pragma unroll
            for (u32 b = 0; b < BLOCKS; b++) {
                const u32 piece = first + 8 * b + g;
                if (!finite || !active || piece >= pieces || piece * 8 / p.head_columns != head) continue;
                if (task.piece) {
#pragma unroll
                    for (u32 q = 0; q < 4; q++)
                        *(float2*)(partial + piece * 8 + 2 * q) = make_float2(sums[b][q][j], sums[b][q][2 + j]);
                } else {
                    u32 words[4];
#pragma unroll
                    for (u32 q = 0; q < 4; q++) {
                        const u32 column = piece * 8 + 2 * q;
                        words[q] = pack_pair<T>(end_of(last, column, sums[b][q][j] * inverse),
                                                end_of(last, column + 1, sums[b][q][2 + j] * inverse));
                    }
                    *(uint4*)((T*)p.output + ((u64)row * p.columns + piece * 8)) = make_uint4(words[0], words[1], words[2], words[3]);
                }
            }
            if (task.piece && active && g == 0) partial[p.columns + head] = divisors[j];
        }
        if (!finite) plain_sums<T>(p, last, task, slot, shift, 8 * first, min_of(8 * (first + 8 * BLOCKS), p.columns), partial);
        if (first == 0 && slot.active && t == 0) {
            if (task.piece) {
                partial[p.columns + p.heads + slot.head] = power_sum;
                partial[p.columns + 2 * p.heads + slot.head] = shift;
            } else if (p.lse) {
                p.lse[(u64)slot.row * p.heads + slot.head] = (shift + log2_of(power_sum)) * LN_2;
            }
        }
    }
    if (task.piece) {
        const RowPieces row = piece_done(p.rows, task, index);
        if (row.last) join_pieces<T>(row, task.row, p.partial, p.columns, p.heads, p.head_columns, last, (T*)p.output, p.lse);
    }
}
BG_KERNEL(attention_gat_tiles_f16_64, GatParams, 128, 5) { gat_tiles<f16, 1, 2, false>(p); }
BG_KERNEL(attention_gat_tiles_f16_128, GatParams, 128, 4) { gat_tiles<f16, 2, 1, false>(p); }
BG_KERNEL(attention_gat_tiles_bf16_64, GatParams, 128, 5) { gat_tiles<bf16, 1, 2, false>(p); }
BG_KERNEL(attention_gat_tiles_bf16_128, GatParams, 128, 4) { gat_tiles<bf16, 2, 1, false>(p); }
BG_KERNEL(attention_gat_layer_f16_64, GatParams, 128, 5) { gat_tiles<f16, 1, 2, true>(p); }
BG_KERNEL(attention_gat_layer_f16_128, GatParams, 128, 4) { gat_tiles<f16, 2, 1, true>(p); }
BG_KERNEL(attention_gat_layer_bf16_64, GatParams, 128, 5) { gat_tiles<bf16, 1, 2, true>(p); }
BG_KERNEL(attention_gat_layer_bf16_128, GatParams, 128, 4) { gat_tiles<bf16, 2, 1, true>(p); }
}  // namespace bg
