// Additive attention of any type: LANES lanes take a row, or a piece of one, and hold the sums of its columns, VECTOR columns each. Sums are
// scaled down when a larger score comes. Where there are few rows, several groups of lanes share one.
//
// Of one head the lanes work out the scores of as many entries at once, one each, and pass the powers on (SHARED); of several heads each lane
// works out those that it needs.
//
// The longest rows come first, and rows of equal length side by side, so that the groups of a warp end together.
#include "tensor/attention_gat.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
/// A softmax as its sums come in: of a lane's columns and of the powers, both scaled by the largest score so far.
template <u32 VECTOR> struct RunningSums {
    f32 most, total, sums[VECTOR];
    BG_DEVICE RunningSums() : most(NO_SCORE), total(0) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
    }
    template <class T> BG_DEVICE void add(const uint4& raw, f32 power) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] += power * element<T>(raw, i);
    }
    BG_DEVICE void rescale(f32 largest) {
        const f32 scale = exp2_of(most - largest);
        most = largest;
        total *= scale;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] *= scale;
    }
};

/// Entries in flight: of more, fewer warps fit, and it takes longer.
constexpr u32 DEEP = 4;

/// The entries from `begin` on, LANES in every `stride`, of one head: a score for each lane. All lanes of the warp call it.
template <class T, u32 VECTOR, u32 LANES>
BG_DEVICE void walk_shared(const GatParams& p, f32 left, const T* values, bool active, u32 begin, u32 end, u32 stride, RunningSums<VECTOR>& running) {
    const u32 me = lane() % LANES, first = lane() - me;
    // The column and the score of the lane's own entry, one batch ahead.
    u32 next_column = 0;
    f32 next_score = 0;
    auto load_next = [&](u32 entry) {
        if (entry >= end) return;
        next_column = load_readonly(p.rows.indices + entry);
        next_score = load_readonly(p.right + next_column);
    };
    load_next(begin + me);
    for (u32 base = begin; any(base < end); base += stride) {
        const u32 own_column = next_column;
        const f32 score = base + me < end ? gat_score(left, next_score, p.slope) : -__uint_as_float(0x7f800000u);
        load_next(base + stride + me);
        f32 largest = fmaxf(running.most, score);
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) largest = fmaxf(largest, shuffle_xor(largest, d));
        running.rescale(largest);
        const f32 own_power = exp2_of(score - largest);
        running.total += own_power;
        const f32 own_weight = p.dropout.active && base + me < end ? own_power * p.dropout.kept<f32>(base + me, 0) : own_power;
        const u32 count = base < end ? min_of(end - base, LANES) : 0u;
        for (u32 j = 0; any(j < count); j += DEEP) {
            f32 powers[DEEP];
            uint4 found[DEEP];
#pragma unroll
            for (u32 u = 0; u < DEEP; u++) {
                const u32 from = first + ((j + u) & (LANES - 1)), column = shuffle(own_column, from);
                powers[u] = shuffle(own_weight, from);
                found[u] = active && j + u < count ? load_vector<T, VECTOR>(values + (u64)column * p.columns) : make_uint4(0, 0, 0, 0);
            }
#pragma unroll
            for (u32 u = 0; u < DEEP; u++) running.template add<T>(found[u], powers[u]);
        }
    }
#pragma unroll
    for (u32 d = LANES / 2; d; d >>= 1) running.total += shuffle_xor(running.total, d);
}

/// The entries from `begin` on, DEEP in every `stride`: every lane works out the scores of its head.
template <class T, u32 VECTOR>
BG_DEVICE void walk_own(const GatParams& p, f32 left, u32 head, const T* values, u32 begin, u32 end, u32 stride, RunningSums<VECTOR>& running) {
    for (u32 base = begin; base < end; base += stride) {
        u32 columns[DEEP];
        f32 scores[DEEP], largest = running.most;
        uint4 found[DEEP];
#pragma unroll
        for (u32 u = 0; u < DEEP; u++) columns[u] = base + u < end ? load_readonly(p.rows.indices + base + u) : 0;
#pragma unroll
        for (u32 u = 0; u < DEEP; u++) {
            scores[u] = -__uint_as_float(0x7f800000u);
            found[u] = make_uint4(0, 0, 0, 0);
            if (base + u < end) {
                scores[u] = load_readonly(p.right + ((u64)columns[u] * p.heads + head));
                found[u] = load_vector<T, VECTOR>(values + (u64)columns[u] * p.columns);
            }
        }
#pragma unroll
        for (u32 u = 0; u < DEEP; u++) {
            if (base + u < end) scores[u] = gat_score(left, scores[u], p.slope);
            largest = fmaxf(largest, scores[u]);
        }
        running.rescale(largest);
#pragma unroll
        for (u32 u = 0; u < DEEP; u++) {
            const f32 power = exp2_of(scores[u] - largest);
            running.total += power;
            running.template add<T>(found[u], p.dropout.active ? power * p.dropout.kept<f32>(base + u, head) : power);
        }
    }
}

template <class T, u32 VECTOR, u32 LANES, bool SHARED> BG_DEVICE void gat_rows(const GatParams& p) {
    const u32 sides = 1u << p.side_bits, group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, index = group >> p.side_bits, side = group & (sides - 1);
    RowTask task{0, 0, 0, 0, false};
    if (index < p.rows.task_count) task = row_task(p.rows, index);
    const bool valid = task.count != 0, piece = task.piece;
    const u32 size = partial_size(p.columns, p.heads);
    for (u32 slice = 0; slice < p.columns; slice += LANES * VECTOR) {
        const u32 column = slice + lane() % LANES * VECTOR;
        const bool active = valid && column < p.columns;
        const u32 head = SHARED || !active || p.heads == 1 ? 0 : column / p.head_columns;
        const T* values = (const T*)p.values + column;
        const f32 left = valid ? load_readonly(p.left + ((u64)task.row * p.heads + head)) * LOG2_E : 0.0f;
        RunningSums<VECTOR> running;
        if constexpr (SHARED) walk_shared<T, VECTOR, LANES>(p, left, values, active, task.begin + side * LANES, task.end, sides * LANES, running);
        else if (active) walk_own<T, VECTOR>(p, left, head, values, task.begin + side * DEEP, task.end, sides * DEEP, running);
        warp_sync();
        if (sides > 1) {
            f32 largest = running.most;
            for (u32 d = LANES; d < LANES * sides; d <<= 1) largest = fmaxf(largest, shuffle_xor(largest, d));
            running.rescale(largest);
            for (u32 d = LANES; d < LANES * sides; d <<= 1) {
                running.total += shuffle_xor(running.total, d);
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) running.sums[i] += shuffle_xor(running.sums[i], d);
            }
        }
        if (!active || side != 0) continue;
        const bool head_start = column == head * p.head_columns;
        if (piece) {
            f32* partial = p.partial + (u64)index * size;
            if constexpr (VECTOR == 1) {
                partial[column] = running.sums[0];
            } else {
#pragma unroll
                for (u32 i = 0; i < VECTOR; i += 4)
                    *(float4*)(partial + column + i) = make_float4(running.sums[i], running.sums[i + 1], running.sums[i + 2], running.sums[i + 3]);
            }
            if (head_start) {
                partial[p.columns + head] = running.total;
                partial[p.columns + p.heads + head] = running.most;
            }
        } else {
            const f32 inverse = running.total == 0 ? 0.0f : 1.0f / running.total;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) running.sums[i] *= inverse;
            if (p.end.bias || p.end.activation != END_NONE) {
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) running.sums[i] = end_of(p.end, column + i, running.sums[i]);
            }
            store_features<T>((T*)p.output + ((u64)task.row * p.columns + column), running.sums);
            if (head_start && p.lse) p.lse[(u64)task.row * p.heads + head] = (running.most + log2_of(running.total)) * LN_2;
        }
    }
    // Pieces come first: few warps of a launch have any.
    warp_sync();
    if (!any(piece)) return;
    const RowPieces pieces = pieces_of(p.rows, task, index);
    const JoinedRow joined{p.partial, p.output, p.lse, p.columns, p.heads, p.head_columns};
    u32 ready = ballot(last_piece(p.rows, pieces, piece && side == 0 && lane() % LANES == 0));
    while (ready) {
        const u32 source = (u32)__ffs(ready) - 1;
        ready &= ready - 1;
        join_pieces<T, (VECTOR > 1 ? 4 : 1)>(joined, p.end, shuffle(task.row, source), shuffle(pieces.first, source), shuffle(pieces.count, source));
    }
}
BG_KERNEL(attention_gat_rows_f16_8, GatParams, 128, 8) { gat_rows<f16, 8, 8, false>(p); }
BG_KERNEL(attention_gat_shared_f16_8, GatParams, 128, 8) { gat_rows<f16, 8, 8, true>(p); }
BG_KERNEL(attention_gat_rows_f16_16, GatParams, 128, 8) { gat_rows<f16, 8, 16, false>(p); }
BG_KERNEL(attention_gat_shared_f16_16, GatParams, 128, 8) { gat_rows<f16, 8, 16, true>(p); }
BG_KERNEL(attention_gat_rows_f16_32, GatParams, 128, 8) { gat_rows<f16, 8, 32, false>(p); }
BG_KERNEL(attention_gat_shared_f16_32, GatParams, 128, 8) { gat_rows<f16, 8, 32, true>(p); }
BG_KERNEL(attention_gat_rows_bf16_8, GatParams, 128, 8) { gat_rows<bf16, 8, 8, false>(p); }
BG_KERNEL(attention_gat_shared_bf16_8, GatParams, 128, 8) { gat_rows<bf16, 8, 8, true>(p); }
BG_KERNEL(attention_gat_rows_bf16_16, GatParams, 128, 8) { gat_rows<bf16, 8, 16, false>(p); }
BG_KERNEL(attention_gat_shared_bf16_16, GatParams, 128, 8) { gat_rows<bf16, 8, 16, true>(p); }
BG_KERNEL(attention_gat_rows_bf16_32, GatParams, 128, 8) { gat_rows<bf16, 8, 32, false>(p); }
BG_KERNEL(attention_gat_shared_bf16_32, GatParams, 128, 8) { gat_rows<bf16, 8, 32, true>(p); }
BG_KERNEL(attention_gat_rows_f32_8, GatParams, 128, 8) { gat_rows<f32, 4, 8, false>(p); }
BG_KERNEL(attention_gat_shared_f32_8, GatParams, 128, 8) { gat_rows<f32, 4, 8, true>(p); }
BG_KERNEL(attention_gat_rows_f32_16, GatParams, 128, 8) { gat_rows<f32, 4, 16, false>(p); }
BG_KERNEL(attention_gat_shared_f32_16, GatParams, 128, 8) { gat_rows<f32, 4, 16, true>(p); }
BG_KERNEL(attention_gat_rows_f32_32, GatParams, 128, 8) { gat_rows<f32, 4, 32, false>(p); }
BG_KERNEL(attention_gat_shared_f32_32, GatParams, 128, 8) { gat_rows<f32, 4, 32, true>(p); }
BG_KERNEL(attention_gat_plain_f16, GatParams, 128, 6) { gat_rows<f16, 1, 32, false>(p); }
BG_KERNEL(attention_gat_plain_bf16, GatParams, 128, 6) { gat_rows<bf16, 1, 32, false>(p); }
BG_KERNEL(attention_gat_plain_f32, GatParams, 128, 6) { gat_rows<f32, 1, 32, false>(p); }
}  // namespace bg
