// The first launch of the backward pass of attention by two rows: LANES lanes hold a row's query and the gradient of its result, PARTS vectors
// of VECTOR columns each, and take the row's entries, 32 / LANES side by side and DEEP of each in flight. The gradients of the queries, the
// weights of the second launch, and of every warp its sums of the gradient of the vector or of beta. Where the keys are the values, they are
// read once.
#include "tensor/attention_pair_backward.cuh"

namespace bg {
template <u32 SCORE, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void pair_backward_rows(const PairBackwardParams& p) {
    constexpr u32 SIDE = WARP / LANES;
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, warps = gridDim.x * blockDim.x / WARP, side = lane() / LANES;
    const bool same = p.key == p.values;
    const LaneColumns<VECTOR, LANES, PARTS> lanes(p.columns, p.heads, p.head_columns);
    const f32 scale = SCORE == COSINE_SCORE ? load_readonly(p.parameter) : p.factor;
    f32 vector[PARTS][VECTOR], parameter[PARTS][VECTOR];
#pragma unroll
    for (u32 k = 0; k < PARTS; k++)
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++) {
            vector[k][i] = SCORE == SUM_SCORE && lanes.valid[k] ? load_readonly(p.parameter + lanes.column[k] + i) : 0.0f;
            parameter[k][i] = 0;
        }
    for (u32 index = warp; index < p.rows.task_count; index += warps) {
        const RowTask task = row_task(p.rows, index);
        for (u32 row = task.row; row < task.row + task.count; row++) {
            const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
            f32 query[PARTS][VECTOR], dy[PARTS][VECTOR], sums[PARTS][VECTOR], results[PARTS], norms[PARTS], lse[PARTS];
            // The result's row, until its product with the gradient is there.
            lanes.load(sums, (const T*)p.output + (u64)row * p.columns, true);
            lanes.load(dy, (const T*)p.gradient + (u64)row * p.columns, true);
            lanes.load(query, (const T*)p.query + (u64)row * p.columns, true);
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                results[k] = norms[k] = 0;
                lse[k] = load_readonly(p.lse + ((u64)row * p.heads + lanes.head[k])) * LOG2_E;
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) {
                    results[k] += sums[k][i] * dy[k][i];
                    norms[k] += query[k][i] * query[k][i];
                    sums[k][i] = 0;
                }
            }
            lanes.sum_heads(results);
            if (SCORE == COSINE_SCORE) {
                lanes.sum_heads(norms);
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) norms[k] = inverse_norm(norms[k]);
            }
            for (u32 base = begin; base < end; base += DEEP * SIDE) {
                uint4 keys[DEEP][PARTS], values[DEEP][PARTS];
                u32 columns[DEEP];
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    const u32 e = base + u * SIDE + side;
                    columns[u] = e < end ? load_readonly(p.rows.indices + e) : 0;
                }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        const bool wanted = base + u * SIDE + side < end && lanes.valid[k];
                        const u64 at = (u64)columns[u] * p.columns + lanes.column[k];
                        keys[u][k] = wanted ? load_vector<T, VECTOR>((const T*)p.key + at) : make_uint4(0, 0, 0, 0);
                        values[u][k] = same ? keys[u][k] : wanted ? load_vector<T, VECTOR>((const T*)p.values + at) : make_uint4(0, 0, 0, 0);
                    }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    f32 scores[PARTS], dots[PARTS], others[PARTS];
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        scores[k] = dots[k] = others[k] = 0;
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) {
                            const f32 x = element<T>(keys[u][k], i);
                            dots[k] += dy[k][i] * element<T>(values[u][k], i);
                            if (SCORE == SUM_SCORE) scores[k] += vector[k][i] * leaky(query[k][i] + x, p.slope);
                            else scores[k] += query[k][i] * x;
                            if (SCORE == COSINE_SCORE) others[k] += x * x;
                        }
                    }
                    lanes.sum_heads(scores);
                    lanes.sum_heads(dots);
                    if (SCORE == COSINE_SCORE) lanes.sum_heads(others);
                    const u32 e = base + u * SIDE + side;
                    const bool in = e < end;
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        const f32 other = SCORE == COSINE_SCORE ? inverse_norm(others[k]) : 1.0f;
                        f32 score = scores[k] * LOG2_E;
                        if (SCORE == DOT_SCORE) score *= scale;
                        if (SCORE == COSINE_SCORE) score *= scale * norms[k] * other;
                        const f32 power = exp2_of(score - lse[k]), kept = in ? p.dropout.kept<f32>(e, lanes.head[k]) : 0.0f;
                        f32 ds = in ? power * (kept * dots[k] - results[k]) : 0.0f;
                        // What weighs the query in the gradient of the key.
                        const f32 weight = SCORE == DOT_SCORE ? ds * scale : SCORE == COSINE_SCORE ? ds * norms[k] : ds;
                        if (in && lanes.first[k]) p.entries[(u64)e * p.heads + lanes.head[k]] = make_float2(power * kept, weight);
                        if (SCORE == DOT_SCORE) ds = weight;
                        if (SCORE == COSINE_SCORE) ds *= other;
                        // A row that is not there is not multiplied by 0, or what is no number would spread.
                        if (!in) continue;
                        u32 signs = 0;
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) {
                            const f32 x = element<T>(keys[u][k], i);
                            if (SCORE == SUM_SCORE) {
                                const f32 z = query[k][i] + x, part = z > 0 ? ds : ds * p.slope;
                                signs |= z > 0 ? 1u << i : 0u;
                                sums[k][i] += part;
                                parameter[k][i] += part * z;
                            } else {
                                sums[k][i] += ds * x;
                            }
                        }
                        if (SCORE == SUM_SCORE && lanes.valid[k]) p.signs[((u64)e * p.columns + lanes.column[k]) / VECTOR] = (u8)signs;
                    }
                    warp_sync();
                }
            }
            add_sides<VECTOR, LANES, PARTS>(sums);
            if (task.piece) {
                store_piece(p.partial + (u64)index * p.columns, lanes, sums);
                const RowPieces pieces = pieces_of(p.rows, task, index);
                if (!is_last_piece(p.rows, pieces)) continue;
                add_pieces(p.partial + (u64)pieces.first * p.columns, p.columns, pieces.count, lanes, sums);
            }
            if (SCORE == SUM_SCORE) {
#pragma unroll
                for (u32 k = 0; k < PARTS; k++)
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[k][i] *= vector[k][i];
            }
            if (SCORE == COSINE_SCORE) {
                f32 products[PARTS];
                cosine_side(lanes, scale, query, sums, products);
#pragma unroll
                for (u32 k = 0; k < PARTS; k++)
                    if (lanes.first[k] && side == 0) parameter[k][0] += products[k];
            }
            store_gradient<T>(p.d_query, (u64)row * p.columns, lanes, sums);
            warp_sync();
        }
    }
    if (SCORE == SUM_SCORE) {
        add_sides<VECTOR, LANES, PARTS>(parameter);
        store_piece(p.parameter_sums + (u64)warp * p.columns, lanes, parameter);
    }
    if (SCORE == COSINE_SCORE) {
        f32 sum = 0;
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) sum += parameter[k][0];
        sum = butterfly_sum(sum);
        if (lane() == 0) p.parameter_sums[warp] = sum;
    }
}
BG_KERNEL(attention_dot_backward_f16_64, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f16_128, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f16_256, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_64, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_128, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_256, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_64, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_128, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_256, PairBackwardParams, 128, 4) { pair_backward_rows<DOT_SCORE, f32, 4, 32, 2, 2>(p); }
BG_KERNEL(attention_cosine_backward_f16_64, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_f16_128, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_f16_256, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_bf16_64, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_bf16_128, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_bf16_256, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_f32_64, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_f32_128, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_cosine_backward_f32_256, PairBackwardParams, 128, 4) { pair_backward_rows<COSINE_SCORE, f32, 4, 32, 2, 2>(p); }
BG_KERNEL(attention_sum_backward_f16_64, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_f16_128, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_f16_256, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_bf16_64, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_bf16_128, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_bf16_256, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_f32_64, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_f32_128, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_sum_backward_f32_256, PairBackwardParams, 128, 4) { pair_backward_rows<SUM_SCORE, f32, 4, 32, 2, 2>(p); }
}  // namespace bg
