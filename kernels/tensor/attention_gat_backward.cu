// The first and the last launch of the backward pass of additive attention: the scalars of rows, and the gradients of their scores.
#include "tensor/attention_gat_backward.cuh"
#include "tensor/attention_vector.cuh"

namespace bg {
struct GatPackParams {
    const void* output;    // y: rows x columns
    const void* gradient;  // dy: rows x columns
    const f32* left;       // rows x heads
    const f32* lse;        // rows x heads
    float4* packed;
    u32 rows;
    u32 columns;
    u32 heads;
    u32 head_columns;
};

/// Eight lanes a row and head.
template <class T, u32 VECTOR> BG_DEVICE void gat_pack(const GatPackParams& p) {
    constexpr u32 LANES = 8;
    const u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const u32 row = (u32)(place / p.heads), head = (u32)(place % p.heads), l = lane() % LANES;
    f32 dot = 0;
    if (row < p.rows) {
        const u64 start = (u64)row * p.columns + head * p.head_columns;
        for (u32 c = l * VECTOR; c < p.head_columns; c += LANES * VECTOR) {
            f32 y[VECTOR], dy[VECTOR];
            load_features<T>(y, (const T*)p.output + start + c);
            load_features<T>(dy, (const T*)p.gradient + start + c);
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) dot += y[i] * dy[i];
        }
    }
    warp_sync();
#pragma unroll
    for (u32 d = LANES / 2; d; d >>= 1) dot += shuffle_xor(dot, d);
    if (row < p.rows && l == 0)
        p.packed[place] = make_float4(load_readonly(p.left + place) * LOG2_E, load_readonly(p.lse + place) * LOG2_E, dot, 0);
}
BG_KERNEL(attention_gat_pack_f16_wide, GatPackParams, 128, 8) { gat_pack<f16, 8>(p); }
BG_KERNEL(attention_gat_pack_bf16_wide, GatPackParams, 128, 8) { gat_pack<bf16, 8>(p); }
BG_KERNEL(attention_gat_pack_f32_wide, GatPackParams, 128, 8) { gat_pack<f32, 4>(p); }
BG_KERNEL(attention_gat_pack_f16, GatPackParams, 128, 8) { gat_pack<f16, 1>(p); }
BG_KERNEL(attention_gat_pack_bf16, GatPackParams, 128, 8) { gat_pack<bf16, 1>(p); }
BG_KERNEL(attention_gat_pack_f32, GatPackParams, 128, 8) { gat_pack<f32, 1>(p); }

struct GatLeftParams {
    RowTasks rows;        // of the matrix, windows of at most 8 / heads rows
    const u32* places;    // of each entry in the transposed matrix
    const f32* d_scores;  // transposed entries x heads
    f32* d_left;          // rows x heads
    f32* partial;         // for each piece and head
    u32 heads;
    u32 unused;
};

/// Four lanes a row and head, or all lanes of the head where the task is one row and heads are a power of 2. With more than 8 heads, round
/// after round.
BG_KERNEL(attention_gat_left, GatLeftParams, 128, 8) {
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (index >= p.rows.task_count) return;
    const RowTask task = row_task(p.rows, index);
    const u32 g = lane() >> 2, t = lane() & 3u, slots = task.count * p.heads;
    const bool shared = task.count == 1 && (p.heads & (p.heads - 1)) == 0 && p.heads <= 8;
    for (u32 round = 0; round < slots; round += 8) {
        const u32 slot = round + g, row = task.row + (shared ? 0 : slot / p.heads), head = slot % p.heads;
        u32 from = task.begin, to = task.end, first = t + 4 * (g / p.heads), stride = WARP / p.heads;
        if (!shared) {
            first = t;
            stride = 4;
            if (slot < slots) {
                from = first_entry(p.rows, task, row);
                to = end_entry(p.rows, task, row);
            } else {
                to = from;
            }
        }
        f32 sum = 0;
        for (u32 e = from + first; e < to; e += 4 * stride) {
            u32 places[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) places[i] = load_readonly(p.places + min_of(e + i * stride, to - 1));
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                const f32 d = load_readonly(p.d_scores + ((u64)places[i] * p.heads + head));
                sum += e + i * stride < to ? d : 0.0f;
            }
        }
        warp_sync();
        sum += shuffle_xor(sum, 1);
        sum += shuffle_xor(sum, 2);
        if (shared)
            for (u32 d = 4 * p.heads; d < WARP; d <<= 1) sum += shuffle_xor(sum, d);
        if (t == 0 && slot < slots) {
            if (task.piece) p.partial[(u64)index * p.heads + head] = sum;
            else p.d_left[(u64)row * p.heads + head] = sum;
        }
    }
    if (task.piece) {
        const RowPieces row = pieces_of(p.rows, task, index);
        if (!is_last_piece(p.rows, row)) return;
        for (u32 head = lane(); head < p.heads; head += WARP) {
            f32 sum = 0;
            for (u32 i = 0; i < row.count; i++) sum += load_l2(p.partial + (u64)(row.first + i) * p.heads + head);
            p.d_left[(u64)task.row * p.heads + head] = sum;
        }
    }
}
}  // namespace bg
