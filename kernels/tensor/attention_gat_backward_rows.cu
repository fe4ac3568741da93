// The middle launch of the backward pass of additive attention, without tensor cores: LANES lanes hold the values of a row of the transposed
// matrix and the sums of their gradient, and take the row's entries, 32 / LANES side by side and DEEP of each in flight.
//
// Of one head (`shared`) a lane works out the scalars of an entry of its own, its draw of dropout among them, and passes the weight on; the dots
// of several entries are summed together. Where every lane worked out every entry's scalars,
// 1.7 million entries of 128 columns took .85 ms for .43 (H200).
#include "tensor/attention_gat_backward.cuh"
#include "tensor/attention_lanes.cuh"

namespace bg {
/// A row's sums over its entries, complete in the lanes that hold the first columns: to the gradients, or of a piece to its partial sums.
template <class T, u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void store_row(const GatBackwardParams& p, const LaneColumns<VECTOR, LANES, PARTS>& lanes, bool piece, u32 index, u32 row, const f32 (&sums)[PARTS][VECTOR], const f32 (&right_sums)[PARTS]) {
    f32* const partial = p.partial + (u64)index * backward_size(p.columns, p.heads);
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) {
        if (!lanes.valid[k]) continue;
        if (piece) {
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) partial[lanes.column[k] + i] = sums[k][i];
            if (lanes.first[k]) partial[p.columns + lanes.head[k]] = right_sums[k];
        } else {
            store_features<T>((T*)p.d_values + ((u64)row * p.columns + lanes.column[k]), sums[k]);
            if (lanes.first[k]) p.d_right[(u64)row * p.heads + lanes.head[k]] = right_sums[k];
        }
    }
}

template <class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void gat_backward_rows(const GatBackwardParams& p) {
    constexpr u32 SIDE = WARP / LANES;
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 side = lane() / LANES;
    const LaneColumns<VECTOR, LANES, PARTS> lanes(p.columns, p.heads, p.head_columns);
    for (u32 row = task.row; row < task.row + task.count; row++) {
        const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
        f32 own[PARTS][VECTOR], sums[PARTS][VECTOR], right[PARTS], right_sums[PARTS];
        lanes.load(own, (const T*)p.values + (u64)row * p.columns, true);
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            right[k] = rounded_product(load_readonly(p.right + ((u64)row * p.heads + lanes.head[k])), LOG2_E);
            right_sums[k] = 0;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[k][i] = 0;
        }
        for (u32 base = begin; base < end; base += DEEP * SIDE) {
            u32 columns[DEEP];
            f32 x[DEEP][PARTS][VECTOR], dots[DEEP][PARTS];
#pragma unroll
            for (u32 u = 0; u < DEEP; u++) {
                const u32 e = base + u * SIDE + side;
                columns[u] = e < end ? load_readonly(p.rows.indices + e) : 0;
            }
#pragma unroll
            for (u32 u = 0; u < DEEP; u++)
                lanes.load(x[u], (const T*)p.gradient + (u64)columns[u] * p.columns, base + u * SIDE + side < end);
#pragma unroll
            for (u32 u = 0; u < DEEP; u++) {
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) {
                    dots[u][k] = 0;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) dots[u][k] += own[k][i] * x[u][k][i];
                }
                lanes.sum_heads(dots[u]);
            }
#pragma unroll
            for (u32 u = 0; u < DEEP; u++) {
                const u32 e = base + u * SIDE + side;
                if (e >= end) continue;
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) {
                    const float4 scalars = load_readonly(p.packed + ((u64)columns[u] * p.heads + lanes.head[k]));
                    const GatEntry found = gat_entry(scalars, right[k], dots[u][k], p.slope, kept_of(p, e, lanes.head[k]));
                    right_sums[k] += found.d_score;
                    if (lanes.first[k]) p.d_scores[(u64)e * p.heads + lanes.head[k]] = found.d_score;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[k][i] += found.weight * x[u][k][i];
                }
            }
            warp_sync();
        }
#pragma unroll
        for (u32 d = LANES; d < WARP; d <<= 1)
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                right_sums[k] += shuffle_xor(right_sums[k], d);
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[k][i] += shuffle_xor(sums[k][i], d);
            }
        if (side == 0) store_row<T>(p, lanes, task.piece, index, row, sums, right_sums);
    }
    if (task.piece) {
        const RowPieces pieces = pieces_of(p.rows, task, index);
        if (is_last_piece(p.rows, pieces)) add_pieces<T>(p, pieces, task.row);
    }
}
/// Of one head: 32 entries at a time, one for each lane.
template <u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void gat_backward_shared(const GatBackwardParams& p) {
    constexpr u32 VECTOR = 4, SIDE = WARP / LANES, STEP = DEEP * SIDE;
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 side = lane() / LANES;
    const LaneColumns<VECTOR, LANES, PARTS> lanes(p.columns, 1, p.columns);
    for (u32 row = task.row; row < task.row + task.count; row++) {
        const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
        // Rounded as the other score is: scores that cancel each other give zero, on whose side the slope changes.
        const f32 right = rounded_product(load_readonly(p.right + row), LOG2_E);
        f32 own[PARTS][VECTOR], sums[PARTS][VECTOR] = {}, right_sum = 0;
        lanes.load(own, (const f32*)p.values + (u64)row * p.columns, true);
        for (u32 base = begin; base < end; base += WARP) {
            const u32 e = base + lane(), count = min_of(end - base, WARP);
            const bool has = e < end;
            u32 column = 0;
            f32 z = 0, probability = 0, kept = 0, dot = 0;
            float4 scalars = make_float4(0, 0, 0, 0);
            if (has) {
                column = load_readonly(p.rows.indices + e);
                scalars = load_readonly(p.packed + column);
                kept = kept_of(p, e, 0);
                z = right + scalars.x;
                probability = gat_probability(scalars, z, p.slope);
            }
            const f32 weight = probability * kept;
            warp_sync();
            for (u32 first = 0; first < count; first += STEP) {
                f32 x[DEEP][PARTS][VECTOR], weights[DEEP], dots[DEEP];
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    const u32 from = first + u * SIDE + side, of = shuffle(column, from);
                    weights[u] = shuffle(weight, from);
                    lanes.load(x[u], (const f32*)p.gradient + (u64)of * p.columns, from < count);
                }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    dots[u] = 0;
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) {
                            dots[u] += own[k][i] * x[u][k][i];
                            sums[k][i] += weights[u] * x[u][k][i];
                        }
                }
                const f32 found = sums_apart<LANES>(dots);
                // Each to the lane whose entry it is.
                const u32 at = lane() - first, from = at % SIDE * LANES + at / SIDE % DEEP * (LANES / DEEP);
                const f32 mine = shuffle(found, from);
                if (at < STEP) dot = mine;
            }
            if (!has) continue;
            const f32 d_score = gat_d_score(scalars, z, p.slope, probability, dot, kept);
            right_sum += d_score;
            p.d_scores[e] = d_score;
        }
        warp_sync();
        f32 right_sums[PARTS];
        right_sum = butterfly_sum(right_sum);
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) right_sums[k] = right_sum;
#pragma unroll
        for (u32 d = LANES; d < WARP; d <<= 1)
#pragma unroll
            for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[k][i] += shuffle_xor(sums[k][i], d);
        if (side == 0) store_row<f32>(p, lanes, task.piece, index, row, sums, right_sums);
    }
    if (task.piece) {
        const RowPieces pieces = pieces_of(p.rows, task, index);
        if (is_last_piece(p.rows, pieces)) add_pieces<f32>(p, pieces, task.row);
    }
}
BG_KERNEL(attention_gat_backward_shared_f32_32, GatBackwardParams, 128, 5) { gat_backward_shared<8, 1, 8>(p); }
BG_KERNEL(attention_gat_backward_shared_f32_64, GatBackwardParams, 128, 5) { gat_backward_shared<16, 1, 8>(p); }
BG_KERNEL(attention_gat_backward_shared_f32_128, GatBackwardParams, 128, 5) { gat_backward_shared<32, 1, 8>(p); }
BG_KERNEL(attention_gat_backward_shared_f32_256, GatBackwardParams, 128, 5) { gat_backward_shared<32, 2, 4>(p); }
BG_KERNEL(attention_gat_backward_rows_f32_32, GatBackwardParams, 128, 8) { gat_backward_rows<f32, 4, 8, 1, 4>(p); }
BG_KERNEL(attention_gat_backward_rows_f32_64, GatBackwardParams, 128, 8) { gat_backward_rows<f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_gat_backward_rows_f32_128, GatBackwardParams, 128, 8) { gat_backward_rows<f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_gat_backward_rows_f32_256, GatBackwardParams, 128, 4) { gat_backward_rows<f32, 4, 32, 2, 4>(p); }
BG_KERNEL(attention_gat_backward_plain_f16, GatBackwardParams, 128, 4) { gat_backward_rows<f16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_gat_backward_plain_bf16, GatBackwardParams, 128, 4) { gat_backward_rows<bf16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_gat_backward_plain_f32, GatBackwardParams, 128, 4) { gat_backward_rows<f32, 1, 32, 8, 2>(p); }
}  // namespace bg
