// Additive attention of any type: LANES lanes take a row, or a piece of one, and hold the sums of its columns, VECTOR columns each. A head's
// lanes work out the scores of as many entries at once, one each, and pass the powers on; sums are scaled down when a larger score comes.
// Where there are few rows, several groups of lanes share one.
//
// The longest rows come first, and rows of equal length side by side, so that the groups of a warp end together.
#include "tensor/attention_gat.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
/// VECTOR elements as they are loaded, and added.
template <class T, u32 VECTOR> BG_DEVICE uint4 load_vector(const T* p) {
    if constexpr (VECTOR > 1) return load_readonly((const uint4*)p);
    else if constexpr (sizeof(T) == 4) return make_uint4(load_readonly((const u32*)p), 0, 0, 0);
    else return make_uint4(load_readonly((const u16*)p), 0, 0, 0);
}
template <class T, u32 VECTOR> BG_DEVICE void add_vector(f32 (&sums)[VECTOR], const uint4& raw, f32 power) {
    const u32 words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (u32 i = 0; i < VECTOR; i++) {
        if constexpr (sizeof(T) == 4) sums[i] += power * __uint_as_float(words[i]);
        else sums[i] += power * widen(T{(u16)(words[i / 2] >> (i % 2 * 16))});
    }
}

/// A softmax as its sums come in: of a lane's columns and of the powers, both scaled by the largest score so far.
template <u32 VECTOR> struct RunningSums {
    f32 most, total, sums[VECTOR];
    BG_DEVICE RunningSums() : most(NO_SCORE), total(0) {
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
    }
    BG_DEVICE void rescale(f32 largest) {
        const f32 scale = exp2_of(most - largest);
        most = largest;
        total *= scale;
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) sums[i] *= scale;
    }
};

template <class T, u32 VECTOR, u32 LANES> BG_DEVICE void gat_rows(const GatParams& p) {
    // Entries whose vectors are in flight: two halves, the second left out by warps that have no use for it.
    constexpr u32 HALF = 4;
    const u32 sides = 1u << p.side_bits, head_lanes = 1u << p.head_bits, group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const u32 index = group >> p.side_bits, side = group & (sides - 1);
    const bool valid = index < p.rows.task_count, piece = index < p.rows.piece_count;
    RowTask task{0, 0, 0, 0, false};
    if (valid) task = row_task(p.rows, index);
    const u32 size = partial_size(p.columns, p.heads), batch = min_of(head_lanes, LANES), me = lane() & (batch - 1), first = lane() & ~(batch - 1);
    const f32 infinity = __uint_as_float(0x7f800000u);
    for (u32 slice = 0; slice < head_lanes * p.heads; slice += LANES) {
        const u32 place = slice + lane() % LANES, head = min_of(place >> p.head_bits, p.heads - 1), within = (place & (head_lanes - 1)) * VECTOR;
        const bool active = valid && place < head_lanes * p.heads && within < p.head_columns;
        const u32 column = head * p.head_columns + within;
        const T* values = (const T*)p.values + column;
        const f32 left = valid ? load_readonly(p.left + ((u64)task.row * p.heads + head)) * LOG2_E : 0.0f;
        RunningSums<VECTOR> running;
        // The column and the score of the lane's own entry, one batch ahead.
        u32 next_column = 0;
        f32 next_score = 0;
        auto load_next = [&](u32 entry) {
            if (entry >= task.end) return;
            next_column = load_readonly(p.rows.indices + entry);
            next_score = load_readonly(p.right + ((u64)next_column * p.heads + head));
        };
        u32 base = task.begin + side * batch;
        load_next(base + me);
        while (any(base < task.end)) {
            const u32 own_column = next_column, count = base < task.end ? min_of(task.end - base, batch) : 0u;
            const f32 score = me < count ? gat_score(left, next_score, p.slope) : -infinity;
            base += sides * batch;
            load_next(base + me);
            f32 largest = fmaxf(running.most, score);
#pragma unroll
            for (u32 d = LANES / 2; d; d >>= 1)
                if (d < batch) largest = fmaxf(largest, shuffle_xor(largest, d));
            running.rescale(largest);
            const f32 own_power = exp2_of(score - largest);
            running.total += own_power;
            for (u32 j = 0; any(j < count); j += 2 * HALF) {
                f32 powers[2 * HALF];
                uint4 found[2 * HALF];
                auto load_half = [&](u32 half) {
#pragma unroll
                    for (u32 u = half; u < half + HALF; u++) {
                        const u32 from = first + ((j + u) & (batch - 1)), c = shuffle(own_column, from);
                        powers[u] = shuffle(own_power, from);
                        found[u] = make_uint4(0, 0, 0, 0);
                        if (active && j + u < count) found[u] = load_vector<T, VECTOR>(values + (u64)c * p.columns);
                        else powers[u] = 0;
                    }
                };
                auto add_half = [&](u32 half) {
#pragma unroll
                    for (u32 u = half; u < half + HALF; u++) add_vector<T, VECTOR>(running.sums, found[u], powers[u]);
                };
                const bool both = any(j + HALF < count);
                load_half(0);
                if (both) load_half(HALF);
                add_half(0);
                if (both) add_half(HALF);
            }
        }
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1)
            if (d < batch) running.total += shuffle_xor(running.total, d);
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
        const f32 total = running.total;
        if (piece) {
            f32* partial = p.partial + (u64)index * size;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) partial[column + i] = running.sums[i];
            if (within == 0) {
                partial[p.columns + head] = total;
                partial[p.columns + p.heads + head] = running.most;
            }
        } else {
            const f32 inverse = total == 0 ? 0.0f : 1.0f / total;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) running.sums[i] = end_of(p.end, column + i, running.sums[i] * inverse);
            store_features<T>((T*)p.output + ((u64)task.row * p.columns + column), running.sums);
            if (within == 0 && p.lse) p.lse[(u64)task.row * p.heads + head] = (running.most + log2_of(total)) * LN_2;
        }
    }
    warp_sync();
    if (!any(piece)) return;
    RowPieces pieces = pieces_of(p.rows, task, index);
    u32 ready = ballot(last_piece(p.rows, pieces, piece && side == 0 && lane() % LANES == 0));
    const JoinedRow joined{p.partial, p.output, p.lse, p.columns, p.heads, p.head_columns};
    while (ready) {
        const u32 source = (u32)__ffs(ready) - 1;
        ready &= ready - 1;
        join_pieces<T, (VECTOR > 1 ? 4 : 1)>(joined, p.end, shuffle(task.row, source), shuffle(pieces.first, source), shuffle(pieces.count, source));
    }
}
BG_KERNEL(attention_gat_rows_f16_8, GatParams, 128, 6) { gat_rows<f16, 8, 8>(p); }
BG_KERNEL(attention_gat_rows_f16_16, GatParams, 128, 6) { gat_rows<f16, 8, 16>(p); }
BG_KERNEL(attention_gat_rows_f16_32, GatParams, 128, 6) { gat_rows<f16, 8, 32>(p); }
BG_KERNEL(attention_gat_rows_bf16_8, GatParams, 128, 6) { gat_rows<bf16, 8, 8>(p); }
BG_KERNEL(attention_gat_rows_bf16_16, GatParams, 128, 6) { gat_rows<bf16, 8, 16>(p); }
BG_KERNEL(attention_gat_rows_bf16_32, GatParams, 128, 6) { gat_rows<bf16, 8, 32>(p); }
BG_KERNEL(attention_gat_rows_f32_8, GatParams, 128, 6) { gat_rows<f32, 4, 8>(p); }
BG_KERNEL(attention_gat_rows_f32_16, GatParams, 128, 6) { gat_rows<f32, 4, 16>(p); }
BG_KERNEL(attention_gat_rows_f32_32, GatParams, 128, 6) { gat_rows<f32, 4, 32>(p); }
BG_KERNEL(attention_gat_plain_f16, GatParams, 128, 6) { gat_rows<f16, 1, 32>(p); }
BG_KERNEL(attention_gat_plain_bf16, GatParams, 128, 6) { gat_rows<bf16, 1, 32>(p); }
BG_KERNEL(attention_gat_plain_f32, GatParams, 128, 6) { gat_rows<f32, 1, 32>(p); }
}  // namespace bg
