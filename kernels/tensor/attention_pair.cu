// Attention whose scores are formed of two rows of features: dot products, cosines, and GATv2's sums. LANES lanes hold a row's query and the
// sums of its result, PARTS vectors of VECTOR columns each, and take the row's entries, 32 / LANES side by side and DEEP of each in flight; or the
// entries of as many short rows as there are sides. One pass: sums are scaled down when a larger score comes. Where the keys are the values, they
// are read once.
//
// Scores are to base 2, as in tensor/attention_gat.cuh.
#include "tensor/attention_pair.cuh"

namespace bg {
/// The vectors of a row as they are; zeros unless `wanted`.
template <class T, u32 VECTOR, u32 LANES, u32 PARTS>
BG_DEVICE void load_raw(const LaneColumns<VECTOR, LANES, PARTS>& lanes, uint4 (&x)[PARTS], const T* row, bool wanted) {
#pragma unroll
    for (u32 k = 0; k < PARTS; k++) x[k] = wanted && lanes.valid[k] ? load_vector<T, VECTOR>(row + lanes.column[k]) : make_uint4(0, 0, 0, 0);
}

/// The rows of a task: one after the other, or APART, a short one for each side.
template <u32 SCORE, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP, bool APART>
BG_DEVICE void pair_task(const PairParams& p, const RowTask& task, u32 index) {
    constexpr u32 SIDE = WARP / LANES, TOGETHER = APART ? LANES : WARP, STEP = APART ? 1 : SIDE;
    // Values are asked for before the scores, since they are as far away as the keys: dot products of halves took 1.4 to 1.9 times as long
    // otherwise (128 columns, H200). Of f32 there is no room for both, and it takes 1.1 times as long.
    constexpr bool EARLY = sizeof(T) == 2 && VECTOR > 1;
    const u32 side = lane() / LANES, first = APART ? side * LANES : 0, own = lane() - first, offset = APART ? 0 : side;
    const bool same = p.key == p.values;
    const LaneColumns<VECTOR, LANES, PARTS> lanes(p.columns, p.heads, p.head_columns);
    // What multiplies the parts of a score.
    f32 weights[PARTS][VECTOR];
    const f32 scale = LOG2_E * (SCORE == COSINE_SCORE ? load_readonly(p.parameter) : p.factor);
#pragma unroll
    for (u32 k = 0; k < PARTS; k++)
#pragma unroll
        for (u32 i = 0; i < VECTOR; i++)
            weights[k][i] = SCORE == SUM_SCORE && lanes.valid[k] ? load_readonly(p.parameter + lanes.column[k] + i) * LOG2_E : 0.0f;
    u32 ahead = !APART && task.begin + lane() < task.end ? load_readonly(p.rows.indices + task.begin + lane()) : 0;
    for (u32 turn = 0; turn < task.count; turn += APART ? SIDE : 1) {
        const bool has = !APART || turn + side < task.count;
        const u32 row = task.row + turn + (APART && has ? side : 0);
        const u32 begin = first_entry(p.rows, task, row), end = has ? end_entry(p.rows, task, row) : begin;
        if (APART) ahead = begin + own < end ? load_readonly(p.rows.indices + begin + own) : 0;
        f32 query[PARTS][VECTOR], sums[PARTS][VECTOR], most[PARTS], power_sums[PARTS];
        lanes.load(query, (const T*)p.query + (u64)row * p.columns, true);
        f32 factors[PARTS];
#pragma unroll
        for (u32 k = 0; k < PARTS; k++) {
            factors[k] = 0;
            most[k] = NO_SCORE;
            power_sums[k] = 0;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) {
                factors[k] += query[k][i] * query[k][i];
                sums[k][i] = 0;
            }
        }
        if (SCORE == COSINE_SCORE) lanes.sum_heads(factors);
#pragma unroll
        for (u32 k = 0; k < PARTS; k++)
            factors[k] = SCORE == COSINE_SCORE ? scale * inverse_norm(factors[k]) : SCORE == DOT_SCORE ? scale : 1.0f;
        for (u32 base = begin; APART ? any(base < end) : base < end; base += TOGETHER) {
            const u32 mine = ahead, count = !APART || base < end ? min_of(end - base, TOGETHER) : 0, following = base + count + own;
            if (following < (APART ? end : task.end)) ahead = load_readonly(p.rows.indices + following);
            // Of one head, an entry for each lane.
            const bool drawn = p.dropout.active && p.heads == 1;
            const f32 own_kept = drawn ? p.dropout.kept<f32>(base + own, 0) : 1.0f;
            const u32 most_count = APART ? warp_max(count) : count;
            for (u32 j = 0; j < most_count; j += DEEP * STEP) {
                u32 columns[DEEP];
                f32 scores[DEEP][PARTS], kept[DEEP];
                // Early, keys and values as they are; else x, which is the keys first and then the values.
                uint4 keys[DEEP][PARTS], values[DEEP][PARTS];
                f32 x[DEEP][PARTS][VECTOR];
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    const u32 at = j + u * STEP + offset;
                    columns[u] = shuffle(mine, (first + at) & 31u);
                    kept[u] = drawn ? shuffle(own_kept, (first + at) & 31u) : 1.0f;
                    const T* key = (const T*)p.key + (u64)columns[u] * p.columns;
                    if constexpr (EARLY) load_raw(lanes, keys[u], key, at < count);
                    else lanes.load(x[u], key, at < count);
                }
                if constexpr (EARLY) {
                    if (!same) {
#pragma unroll
                        for (u32 u = 0; u < DEEP; u++)
                            load_raw(lanes, values[u], (const T*)p.values + (u64)columns[u] * p.columns, j + u * STEP + offset < count);
                    } else {
#pragma unroll
                        for (u32 u = 0; u < DEEP; u++)
#pragma unroll
                            for (u32 k = 0; k < PARTS; k++) values[u][k] = keys[u][k];
                    }
                }
#pragma unroll
                for (u32 u = 0; u < DEEP; u++) {
                    f32 norms[PARTS];
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) {
                        scores[u][k] = 0;
                        norms[k] = 0;
                        if (SCORE == SUM_SCORE) {
#pragma unroll
                            for (u32 i = 0; i < VECTOR; i++) {
                                const f32 key = EARLY ? element<T>(keys[u][k], i) : x[u][k][i];
                                scores[u][k] += weights[k][i] * leaky(query[k][i] + key, p.slope);
                            }
                        } else {
#pragma unroll
                            for (u32 i = 0; i < VECTOR; i++) {
                                const f32 key = EARLY ? element<T>(keys[u][k], i) : x[u][k][i];
                                scores[u][k] += query[k][i] * key;
                                norms[k] += key * key;
                            }
                        }
                    }
                    lanes.sum_heads(scores[u]);
                    if (SCORE == COSINE_SCORE) {
                        lanes.sum_heads(norms);
#pragma unroll
                        for (u32 k = 0; k < PARTS; k++) scores[u][k] *= inverse_norm(norms[k]);
                    }
                    const bool in = j + u * STEP + offset < count;
#pragma unroll
                    for (u32 k = 0; k < PARTS; k++) scores[u][k] = in ? scores[u][k] * factors[k] : -__uint_as_float(0x7f800000u);
                }
                if (!EARLY && !same) {
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++)
                        lanes.load(x[u], (const T*)p.values + (u64)columns[u] * p.columns, j + u * STEP + offset < count);
                }
#pragma unroll
                for (u32 k = 0; k < PARTS; k++) {
                    f32 largest = most[k];
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) largest = fmaxf(largest, scores[u][k]);
                    const f32 less = exp2_of(most[k] - largest);
                    most[k] = largest;
                    power_sums[k] *= less;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[k][i] *= less;
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        const f32 power = exp2_of(scores[u][k] - largest);
                        power_sums[k] += power;
                        f32 weight = power * kept[u];
                        if (p.dropout.active && !drawn) weight *= p.dropout.kept<f32>(base + j + u * STEP + offset, lanes.head[k]);
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) sums[k][i] += weight * (EARLY ? element<T>(values[u][k], i) : x[u][k][i]);
                    }
                }
            }
        }
#pragma unroll
        for (u32 k = 0; k < (APART ? 0 : PARTS); k++) {
            f32 largest = most[k];
#pragma unroll
            for (u32 d = LANES; d < WARP; d <<= 1) largest = fmaxf(largest, shuffle_xor(largest, d));
            const f32 less = exp2_of(most[k] - largest);
            most[k] = largest;
            power_sums[k] *= less;
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[k][i] *= less;
#pragma unroll
            for (u32 d = LANES; d < WARP; d <<= 1) {
                power_sums[k] += shuffle_xor(power_sums[k], d);
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[k][i] += shuffle_xor(sums[k][i], d);
            }
        }
        if (APART ? has : side == 0) {
            f32* const partial = p.partial + (u64)index * partial_size(p.columns, p.heads);
#pragma unroll
            for (u32 k = 0; k < PARTS; k++) {
                if (!lanes.valid[k]) continue;
                const u32 column = lanes.column[k], head = lanes.head[k];
                if (task.piece) {
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) partial[column + i] = sums[k][i];
                    if (lanes.first[k]) {
                        partial[p.columns + head] = power_sums[k];
                        partial[p.columns + p.heads + head] = most[k];
                    }
                } else {
                    const f32 inverse = power_sums[k] == 0 ? 0.0f : 1.0f / power_sums[k];
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[k][i] = end_of(p.end, column + i, sums[k][i] * inverse);
                    store_features<T>((T*)p.output + ((u64)row * p.columns + column), sums[k]);
                    if (lanes.first[k] && p.lse) p.lse[(u64)row * p.heads + head] = (most[k] + log2_of(power_sums[k])) * LN_2;
                }
            }
        }
        warp_sync();
    }
}

/// A warp for each task. SHORT: rows of few entries are taken side by side, since one of them alone would leave most sides idle. Other kernels do
/// without: code for both makes them 3 % slower.
template <u32 SCORE, class T, u32 VECTOR, u32 LANES, u32 PARTS, u32 DEEP, bool SHORT = false> BG_DEVICE void pair_rows(const PairParams& p) {
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    if constexpr (SHORT) {
        // Steps either way, with one for each row that is begun; those of rows side by side take half as long again.
        constexpr u32 SIDE = WARP / LANES;
        u32 length = 0;
        if (lane() < task.count) length = end_entry(p.rows, task, task.row + lane()) - first_entry(p.rows, task, task.row + lane());
        const u32 turns = ceil_div(task.count, SIDE), apart = turns * (1 + ceil_div(warp_max(length), DEEP));
        const u32 together = task.count + warp_sum(ceil_div(length, DEEP * SIDE));
        if (!task.piece && apart * 3 <= together * 2) return pair_task<SCORE, T, VECTOR, LANES, PARTS, DEEP, true>(p, task, index);
    }
    pair_task<SCORE, T, VECTOR, LANES, PARTS, DEEP, false>(p, task, index);
    if (task.piece) {
        const RowPieces pieces = pieces_of(p.rows, task, index);
        const JoinedRow joined{p.partial, p.output, p.lse, p.columns, p.heads, p.head_columns};
        if (is_last_piece(p.rows, pieces)) join_pieces<T, (VECTOR > 1 ? 4 : 1)>(joined, p.end, task.row, pieces.first, pieces.count);
    }
}
BG_KERNEL(attention_dot_f16_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_f16_128, PairParams, 128, 5) { pair_rows<DOT_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_f16_256, PairParams, 128, 5) { pair_rows<DOT_SCORE, f16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_bf16_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_bf16_128, PairParams, 128, 5) { pair_rows<DOT_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_bf16_256, PairParams, 128, 5) { pair_rows<DOT_SCORE, bf16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_f32_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_f32_128, PairParams, 128, 5) { pair_rows<DOT_SCORE, f32, 4, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_f32_256, PairParams, 128, 4) { pair_rows<DOT_SCORE, f32, 4, 32, 2, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_dot_plain_f16, PairParams, 128, 4) { pair_rows<DOT_SCORE, f16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_dot_plain_bf16, PairParams, 128, 4) { pair_rows<DOT_SCORE, bf16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_dot_plain_f32, PairParams, 128, 4) { pair_rows<DOT_SCORE, f32, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_cosine_f16_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_f16_128, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_f16_256, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_bf16_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_bf16_128, PairParams, 128, 5) { pair_rows<COSINE_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_bf16_256, PairParams, 128, 5) { pair_rows<COSINE_SCORE, bf16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_f32_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_f32_128, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f32, 4, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_f32_256, PairParams, 128, 4) { pair_rows<COSINE_SCORE, f32, 4, 32, 2, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_cosine_plain_f16, PairParams, 128, 4) { pair_rows<COSINE_SCORE, f16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_cosine_plain_bf16, PairParams, 128, 4) { pair_rows<COSINE_SCORE, bf16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_cosine_plain_f32, PairParams, 128, 4) { pair_rows<COSINE_SCORE, f32, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_sum_f16_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_f16_128, PairParams, 128, 5) { pair_rows<SUM_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_f16_256, PairParams, 128, 5) { pair_rows<SUM_SCORE, f16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_bf16_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_bf16_128, PairParams, 128, 5) { pair_rows<SUM_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_bf16_256, PairParams, 128, 5) { pair_rows<SUM_SCORE, bf16, 8, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_f32_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_f32_128, PairParams, 128, 5) { pair_rows<SUM_SCORE, f32, 4, 32, 1, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_f32_256, PairParams, 128, 4) { pair_rows<SUM_SCORE, f32, 4, 32, 2, attention::PAIRS_AHEAD>(p); }
BG_KERNEL(attention_sum_plain_f16, PairParams, 128, 4) { pair_rows<SUM_SCORE, f16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_sum_plain_bf16, PairParams, 128, 4) { pair_rows<SUM_SCORE, bf16, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_sum_plain_f32, PairParams, 128, 4) { pair_rows<SUM_SCORE, f32, 1, 32, 8, 2>(p); }
BG_KERNEL(attention_dot_short_f16_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_dot_short_f16_128, PairParams, 128, 5) { pair_rows<DOT_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_dot_short_bf16_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_dot_short_bf16_128, PairParams, 128, 5) { pair_rows<DOT_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_dot_short_f32_64, PairParams, 128, 5) { pair_rows<DOT_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_cosine_short_f16_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_cosine_short_f16_128, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_cosine_short_bf16_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_cosine_short_bf16_128, PairParams, 128, 5) { pair_rows<COSINE_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_cosine_short_f32_64, PairParams, 128, 5) { pair_rows<COSINE_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_sum_short_f16_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, f16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_sum_short_f16_128, PairParams, 128, 5) { pair_rows<SUM_SCORE, f16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_sum_short_bf16_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, bf16, 8, 8, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_sum_short_bf16_128, PairParams, 128, 5) { pair_rows<SUM_SCORE, bf16, 8, 16, 1, attention::PAIRS_AHEAD, true>(p); }
BG_KERNEL(attention_sum_short_f32_64, PairParams, 128, 5) { pair_rows<SUM_SCORE, f32, 4, 16, 1, attention::PAIRS_AHEAD, true>(p); }
}  // namespace bg
