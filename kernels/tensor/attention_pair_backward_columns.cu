// The second launch of the backward pass of attention by two rows, over the transposed matrix: sums of queries, or of derivatives, and of the
// result's gradients over the entries of a column, by the weights that the first launch left. LANES lanes hold both sums, PARTS vectors of VECTOR columns each, and
// take the entries, 32 / LANES side by side and DEEP of each in flight, whose places are asked for a turn ahead.
#include "tensor/attention_pair_backward.cuh"

namespace bg {
/// SUM: keys are of GATv2's sums.
template <bool SUM, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void pair_backward_columns(const PairBackwardParams& p) {
    constexpr u32 SIDE = WARP / LANES;
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, side = lane() / LANES;
    if (index >= p.rows.task_count) return;
    const LaneColumns<VECTOR, LANES, PARTS> lanes(p.columns, p.heads, p.head_columns);
    const RowTask task = row_task(p.rows, index);
    for (u32 row = task.row; row < task.row + task.count; row++) {
        const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
        f32 key[PARTS][VECTOR], keys[PARTS][VECTOR], values[PARTS][VECTOR];
#pragma unroll
        for (u32 k = 0; k < PARTS; k++)
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) keys[k][i] = values[k][i] = 0;
        u32 columns[DEEP], positions[DEEP];
        load_entries<SIDE>(p.rows.indices, begin + side, end, columns);
        load_entries<SIDE>(p.positions, begin + side, end, positions);
        for (u32 base = begin; base < end; base += DEEP * SIDE) {
            uint4 queries[DEEP][PARTS], gradients[DEEP][PARTS];
            u32 signs[DEEP][PARTS];
            float2 weights[DEEP][PARTS];
#pragma unroll
            for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) {
                    const bool wanted = base + u * SIDE + side < end && lanes.valid[k];
                    const u64 at = (u64)columns[u] * p.columns + lanes.column[k];
                    if (SUM) signs[u][k] = wanted ? load_readonly(p.signs + ((u64)positions[u] * p.columns + lanes.column[k]) / VECTOR) : 0;
                    else queries[u][k] = wanted ? load_vector<T, VECTOR>((const T*)p.query + at) : make_uint4(0, 0, 0, 0);
                    gradients[u][k] = wanted ? load_vector<T, VECTOR>((const T*)p.gradient + at) : make_uint4(0, 0, 0, 0);
                    weights[u][k] = wanted ? load_readonly(p.entries + ((u64)positions[u] * p.heads + lanes.head[k])) : make_float2(0, 0);
                }
            const u32 next = base + DEEP * SIDE + side;
            load_entries<SIDE>(p.rows.indices, next, end, columns);
            load_entries<SIDE>(p.positions, next, end, positions);
#pragma unroll
            for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) {
                        values[k][i] += weights[u][k].x * element<T>(gradients[u][k], i);
                        if (SUM) keys[k][i] += signs[u][k] >> i & 1u ? weights[u][k].y : weights[u][k].y * p.slope;
                        else keys[k][i] += weights[u][k].y * element<T>(queries[u][k], i);
                    }
        }
        warp_sync();
        add_sides<VECTOR, LANES, PARTS>(keys);
        add_sides<VECTOR, LANES, PARTS>(values);
        if (task.piece) {
            f32* const own = p.partial + (u64)index * 2 * p.columns;
            store_piece(own, lanes, keys);
            store_piece(own + p.columns, lanes, values);
            const RowPieces pieces = pieces_of(p.rows, task, index);
            if (!is_last_piece(p.rows, pieces)) continue;
            const f32* const first = p.partial + (u64)pieces.first * 2 * p.columns;
            add_pieces(first, 2 * p.columns, pieces.count, lanes, keys);
            add_pieces(first + p.columns, 2 * p.columns, pieces.count, lanes, values);
        }
        store_gradient<T>(p.d_values, (u64)row * p.columns, lanes, values);
        if (SUM) {
#pragma unroll
            for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++)
                    if (lanes.valid[k]) keys[k][i] *= load_readonly(p.parameter + lanes.column[k] + i);
        } else if (p.cosine) {
            f32 products[PARTS];
            lanes.load(key, (const T*)p.key + (u64)row * p.columns, true);
            cosine_side(lanes, load_readonly(p.parameter), key, keys, products);
        }
        store_gradient<T>(p.d_key, (u64)row * p.columns, lanes, keys);
        warp_sync();
    }
}
BG_KERNEL(attention_product_columns_f16_64, PairBackwardParams, 128, 6) { pair_backward_columns<false, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_product_columns_f16_128, PairBackwardParams, 128, 6) { pair_backward_columns<false, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_product_columns_f16_256, PairBackwardParams, 128, 6) { pair_backward_columns<false, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_product_columns_bf16_64, PairBackwardParams, 128, 6) { pair_backward_columns<false, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_product_columns_bf16_128, PairBackwardParams, 128, 6) { pair_backward_columns<false, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_product_columns_bf16_256, PairBackwardParams, 128, 6) { pair_backward_columns<false, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_product_columns_f32_64, PairBackwardParams, 128, 6) { pair_backward_columns<false, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_product_columns_f32_128, PairBackwardParams, 128, 6) { pair_backward_columns<false, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_product_columns_f32_256, PairBackwardParams, 128, 6) { pair_backward_columns<false, f32, 4, 32, 2, 2>(p); }
BG_KERNEL(attention_sum_columns_f16_64, PairBackwardParams, 128, 8) { pair_backward_columns<true, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_f16_128, PairBackwardParams, 128, 8) { pair_backward_columns<true, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_f16_256, PairBackwardParams, 128, 6) { pair_backward_columns<true, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_bf16_64, PairBackwardParams, 128, 8) { pair_backward_columns<true, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_bf16_128, PairBackwardParams, 128, 8) { pair_backward_columns<true, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_bf16_256, PairBackwardParams, 128, 6) { pair_backward_columns<true, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_f32_64, PairBackwardParams, 128, 8) { pair_backward_columns<true, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_f32_128, PairBackwardParams, 128, 8) { pair_backward_columns<true, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_columns_f32_256, PairBackwardParams, 128, 6) { pair_backward_columns<true, f32, 4, 32, 2, 2>(p); }
}  // namespace bg
