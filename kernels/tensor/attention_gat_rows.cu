// Additive attention without tensor cores: LANES lanes hold the sums of a row's columns, VECTOR columns each, 32 / LANES entries side by side
// and four of each in flight; f32 by 16 bytes, and any type element by element. One pass: sums are scaled down when a larger score comes.
#include "tensor/attention_gat.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
template <class T, u32 VECTOR, u32 LANES> BG_DEVICE void gat_rows(const GatParams& p) {
    constexpr u32 DEEP = 4, SIDE = WARP / LANES;
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 l = lane() % LANES, side = lane() / LANES, size = partial_size(p.columns, p.heads);
    const T* values = (const T*)p.values;
    u32 ahead = task.begin + lane() < task.end ? load_readonly(p.rows.indices + task.begin + lane()) : 0;
    for (u32 row = task.row; row < task.row + task.count; row++) {
        const u32 begin = first_entry(p.rows, task, row), end = end_entry(p.rows, task, row);
        for (u32 first = 0; first < p.columns; first += LANES * VECTOR) {
            const u32 column = first + l * VECTOR;
            const bool valid = column < p.columns;
            const u32 head = (valid ? column : first) / p.head_columns;
            const f32 left = load_readonly(p.left + ((u64)row * p.heads + head)) * LOG2_E;
            f32 most = NO_SCORE, power_sum = 0, sums[VECTOR];
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) sums[i] = 0;
            if (first > 0) ahead = begin + lane() < task.end ? load_readonly(p.rows.indices + begin + lane()) : 0;
            for (u32 base = begin; base < end; base += WARP) {
                const u32 mine = ahead, count = min_of(end - base, WARP);
                // Of this row, or of the next one, whose entries follow.
                const u32 following = base + count + lane();
                if (following < task.end) ahead = load_readonly(p.rows.indices + following);
                for (u32 j = 0; j < count; j += DEEP * SIDE) {
                    f32 x[DEEP][VECTOR], scores[DEEP], largest = most;
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        const u32 at = j + u * SIDE + side, c = shuffle(mine, at & 31u);
                        scores[u] = -__uint_as_float(0x7f800000u);
                        if (at < count) {
                            scores[u] = load_readonly(p.right + ((u64)c * p.heads + head));
                            if (valid) load_features<T>(x[u], values + ((u64)c * p.columns + column));
                        }
                        if (at >= count || !valid) {
#pragma unroll
                            for (u32 i = 0; i < VECTOR; i++) x[u][i] = 0;
                        }
                    }
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        if (j + u * SIDE + side < count) scores[u] = gat_score(left, scores[u], p.slope);
                        largest = fmaxf(largest, scores[u]);
                    }
                    const f32 scale = exp2_of(most - largest);
                    most = largest;
                    power_sum *= scale;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[i] *= scale;
#pragma unroll
                    for (u32 u = 0; u < DEEP; u++) {
                        const f32 power = exp2_of(scores[u] - most);
                        power_sum += power;
#pragma unroll
                        for (u32 i = 0; i < VECTOR; i++) sums[i] += power * x[u][i];
                    }
                }
            }
            warp_sync();
            if (SIDE > 1) {
                f32 largest = most;
#pragma unroll
                for (u32 d = LANES; d < WARP; d <<= 1) largest = fmaxf(largest, shuffle_xor(largest, d));
                const f32 scale = exp2_of(most - largest);
                most = largest;
                power_sum *= scale;
#pragma unroll
                for (u32 i = 0; i < VECTOR; i++) sums[i] *= scale;
#pragma unroll
                for (u32 d = LANES; d < WARP; d <<= 1) {
                    power_sum += shuffle_xor(power_sum, d);
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[i] += shuffle_xor(sums[i], d);
                }
            }
            const bool head_start = valid && (column % p.head_columns == 0);
            if (side == 0 && valid) {
                if (task.piece) {
                    f32* partial = p.partial + (u64)index * size;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) partial[column + i] = sums[i];
                    if (head_start) {
                        partial[p.columns + head] = power_sum;
                        partial[p.columns + p.heads + head] = power_sum;
                        partial[p.columns + 2 * p.heads + head] = most;
                    }
                } else {
                    const f32 inverse = power_sum == 0 ? 0.0f : 1.0f / power_sum;
#pragma unroll
                    for (u32 i = 0; i < VECTOR; i++) sums[i] = end_of(p.end, column + i, sums[i] * inverse);
                    store_features<T>((T*)p.output + ((u64)row * p.columns + column), sums);
                    if (head_start && p.lse) p.lse[(u64)row * p.heads + head] = (most + log2_of(power_sum)) * LN_2;
                }
            }
        }
    }
    if (task.piece) {
        const RowPieces row = piece_done(p.rows, task, index);
        if (row.last) join_pieces<T>(row, task.row, p.partial, p.columns, p.heads, p.head_columns, p.end, (T*)p.output, p.lse);
    }
}
BG_KERNEL(attention_gat_rows_f32_32, GatParams, 128, 8) { gat_rows<f32, 4, 8>(p); }
BG_KERNEL(attention_gat_rows_f32_64, GatParams, 128, 8) { gat_rows<f32, 4, 16>(p); }
BG_KERNEL(attention_gat_rows_f32_128, GatParams, 128, 8) { gat_rows<f32, 4, 32>(p); }
BG_KERNEL(attention_gat_plain_f16, GatParams, 128, 8) { gat_rows<f16, 1, 32>(p); }
BG_KERNEL(attention_gat_plain_bf16, GatParams, 128, 8) { gat_rows<bf16, 1, 32>(p); }
BG_KERNEL(attention_gat_plain_f32, GatParams, 128, 8) { gat_rows<f32, 1, 32>(p); }
}  // namespace bg
