// The first launch of the backward pass of attention by two rows: LANES lanes hold a row's query and the gradient of its result, PARTS vectors
// of VECTOR columns each, and take the row's entries, 32 / LANES side by side and DEEP of each in flight, whose columns are asked for a turn ahead.
// Of one head, the scores of these DEEP are summed at once, and the lanes that get a score work out its power. The gradients of the queries, the
// weights of the second launch, and of every warp its sums of the gradient of the vector or of beta. Where the keys are the values, they are
// read once, a turn ahead.
#include "tensor/attention_pair_backward.cuh"
#include "tuning/attention.cuh"

namespace bg {
/// An entry of the matrix and a head, whether it is there, and whether this lane stores what is known of it.
struct PairEntry {
    u32 position, head;
    bool in, stores;
};
/// What of a row and a head its entries share: one over the query's norm, the gradient times the result, the score that the powers are relative
/// to, and the factor of scores.
struct PairHead {
    f32 norm, result, lse, scale;
};
/// Leaves what the second launch needs of an entry, from the sums over its columns; what the query's gradient is a sum with, 0 if it is not there.
template <u32 SCORE> BG_DEVICE f32 entry_weight(const PairBackwardParams& p, const PairEntry& entry, const PairHead& head, f32 score, f32 dot, f32 squares) {
    const f32 other = SCORE == COSINE_SCORE ? inverse_norm(squares) : 1.0f;
    score *= LOG2_E;
    if (SCORE == DOT_SCORE) score *= head.scale;
    if (SCORE == COSINE_SCORE) score *= head.scale * head.norm * other;
    const f32 power = exp2_of(score - head.lse), kept = entry.in ? p.dropout.kept<f32>(entry.position, entry.head) : 0.0f;
    const f32 ds = entry.in ? power * (kept * dot - head.result) : 0.0f;
    // What weighs the query in the gradient of the key.
    const f32 weight = SCORE == DOT_SCORE ? ds * head.scale : SCORE == COSINE_SCORE ? ds * head.norm : ds;
    if (entry.in && entry.stores) p.entries[(u64)entry.position * p.heads + entry.head] = make_float2(power * kept, weight);
    return SCORE == DOT_SCORE ? weight : SCORE == COSINE_SCORE ? ds * other : ds;
}
/// The sum of an entry over groups of LANES lanes: a lane gets that of entry lane / (LANES / DEEP).
template <u32 LANES, u32 DEEP, u32 PARTS> BG_DEVICE f32 entry_sum(const f32 (&x)[DEEP][PARTS]) {
    f32 y[DEEP];
#pragma unroll
    for (u32 u = 0; u < DEEP; u++) {
        y[u] = x[u][0];
#pragma unroll
        for (u32 k = 1; k < PARTS; k++) y[u] += x[u][k];
    }
    return sums_apart<LANES>(y);
}
/// Rows of features for entries SIDE apart from a position on.
template <class T, u32 SIDE, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP>
BG_DEVICE void load_rows(const void* rows, const PairBackwardParams& p, const LaneColumns<VECTOR, LANES, PARTS>& lanes, u32 at, u32 end, const u32 (&columns)[DEEP], uint4 (&x)[DEEP][PARTS]) {
#pragma unroll
    for (u32 u = 0; u < DEEP; u++)
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            const bool wanted = at + u * SIDE < end && lanes.valid[k];
            x[u][k] = wanted ? load_vector<T, VECTOR>((const T*)rows + ((u64)columns[u] * p.columns + lanes.column[k])) : make_uint4(0, 0, 0, 0);
        }
}

/// SAME: the keys are the values.
template <u32 SCORE, bool SAME, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void pair_backward_rows(const PairBackwardParams& p) {
    constexpr u32 SIDE = WARP / LANES, EACH = LANES / DEEP;
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, warps = gridDim.x * blockDim.x / WARP, side = lane() / LANES;
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
            u32 columns[DEEP];
            load_entries<SIDE>(p.rows.indices, begin + side, end, columns);
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
            uint4 ahead[DEEP][PARTS];
            if (SAME) {
                load_rows<T, SIDE>(p.key, p, lanes, begin + side, end, columns, ahead);
                load_entries<SIDE>(p.rows.indices, begin + DEEP * SIDE + side, end, columns);
            }
            for (u32 base = begin; base < end; base += DEEP * SIDE) {
                const u32 next = base + DEEP * SIDE + side;
                uint4 keys[DEEP][PARTS], values[DEEP][PARTS];
                if (SAME) {
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                        for (u32 k = 0; k < PARTS; k++) values[u][k] = keys[u][k] = ahead[u][k];
                    load_rows<T, SIDE>(p.key, p, lanes, next, end, columns, ahead);
                    load_entries<SIDE>(p.rows.indices, next + DEEP * SIDE, end, columns);
                } else {
                    load_rows<T, SIDE>(p.key, p, lanes, base + side, end, columns, keys);
                    load_rows<T, SIDE>(p.values, p, lanes, base + side, end, columns, values);
                    load_entries<SIDE>(p.rows.indices, next, end, columns);
                }
                f32 scores[DEEP][PARTS], dots[DEEP][PARTS], others[DEEP][PARTS], ds[DEEP][PARTS];
#pragma unroll
                for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        scores[u][k] = dots[u][k] = others[u][k] = 0;
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) {
                            const f32 x = element<T>(keys[u][k], i);
                            dots[u][k] += dy[k][i] * element<T>(values[u][k], i);
                            if (SCORE == SUM_SCORE) scores[u][k] += vector[k][i] * leaky(query[k][i] + x, p.slope);
                            else scores[u][k] += query[k][i] * x;
                            if (SCORE == COSINE_SCORE) others[u][k] += x * x;
                        }
                    }
                if (p.heads == 1) {
                    // Each lane ends the sums of one entry.
                    const u32 own = lane() % LANES / EACH, e = base + own * SIDE + side;
                    const PairEntry entry{e, 0, e < end, lane() % EACH == 0};
                    const f32 score = entry_sum<LANES>(scores), dot = entry_sum<LANES>(dots), other = SCORE == COSINE_SCORE ? entry_sum<LANES>(others) : 0.0f;
                    const f32 weight = entry_weight<SCORE>(p, entry, PairHead{norms[0], results[0], lse[0], scale}, score, dot, other);
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        ds[u][0] = shuffle(weight, side * LANES + u * EACH);
#pragma unroll
                        for (u32 k = 1; k < PARTS; k++) ds[u][k] = ds[u][0];
                    }
                } else {
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        const u32 e = base + u * SIDE + side;
                        lanes.sum_heads(scores[u]);
                        lanes.sum_heads(dots[u]);
                        if (SCORE == COSINE_SCORE) lanes.sum_heads(others[u]);
#pragma unroll
                        for (u32 k = 0; k < PARTS; k++) {
                            const PairEntry entry{e, lanes.head[k], e < end, lanes.first[k]};
                            ds[u][k] = entry_weight<SCORE>(p, entry, PairHead{norms[k], results[k], lse[k], scale}, scores[u][k], dots[u][k], others[u][k]);
                        }
                    }
                }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    const u32 e = base + u * SIDE + side;
                    // A row that is not there is not multiplied by 0, or what is no number would spread.
                    if (e >= end) continue;
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        u32 signs = 0;
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) {
                            const f32 x = element<T>(keys[u][k], i);
                            if (SCORE == SUM_SCORE) {
                                const f32 z = query[k][i] + x, part = z > 0 ? ds[u][k] : ds[u][k] * p.slope;
                                signs |= z > 0 ? 1u << i : 0u;
                                sums[k][i] += part;
                                parameter[k][i] += part * z;
                            } else {
                                sums[k][i] += ds[u][k] * x;
                            }
                        }
                        if (SCORE == SUM_SCORE && lanes.valid[k]) p.signs[((u64)e * p.columns + lanes.column[k]) / VECTOR] = (u8)signs;
                    }
                }
                warp_sync();
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
template <u32 SCORE, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP> BG_DEVICE void pair_backward(const PairBackwardParams& p) {
    if (p.key == p.values) pair_backward_rows<SCORE, true, T, VECTOR, LANES, PARTS, DEEP>(p);
    else pair_backward_rows<SCORE, false, T, VECTOR, LANES, PARTS, DEEP>(p);
}
BG_KERNEL(attention_dot_backward_f16_64, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f16_128, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f16_256, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_64, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, bf16, 8, 8, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_128, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, bf16, 8, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_bf16_256, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, bf16, 8, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_64, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f32, 4, 16, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_128, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f32, 4, 32, 1, 4>(p); }
BG_KERNEL(attention_dot_backward_f32_256, PairBackwardParams, 128, 4) { pair_backward<DOT_SCORE, f32, 4, 32, 2, 2>(p); }
BG_KERNEL(attention_cosine_backward_f16_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f16, 8, 8, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_f16_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f16, 8, 16, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_f16_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f16, 8, 32, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_bf16_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, bf16, 8, 8, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_bf16_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, bf16, 8, 16, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_bf16_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, bf16, 8, 32, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_f32_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f32, 4, 16, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_f32_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f32, 4, 32, 1, 2>(p); }
BG_KERNEL(attention_cosine_backward_f32_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<COSINE_SCORE, f32, 4, 32, 2, 1>(p); }
BG_KERNEL(attention_sum_backward_f16_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f16, 8, 8, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_f16_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f16, 8, 16, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_f16_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f16, 8, 32, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_bf16_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, bf16, 8, 8, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_bf16_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, bf16, 8, 16, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_bf16_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, bf16, 8, 32, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_f32_64, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f32, 4, 16, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_f32_128, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f32, 4, 32, 1, 2>(p); }
BG_KERNEL(attention_sum_backward_f32_256, PairBackwardParams, 128, attention::PAIR_SUMMING_BLOCKS) { pair_backward<SUM_SCORE, f32, 4, 32, 2, 1>(p); }
}  // namespace bg
