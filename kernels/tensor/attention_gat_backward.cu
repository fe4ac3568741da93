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

/// Eight lanes for DEEP pairs of a row and a head that follow each other.
template <class T, u32 VECTOR> BG_DEVICE void gat_pack(const GatPackParams& p) {
    constexpr u32 LANES = 8, DEEP = 4;
    const u64 first = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / LANES * DEEP, count = (u64)p.rows * p.heads;
    const u32 l = lane() % LANES;
    f32 dots[DEEP];
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) dots[k] = 0;
    for (u32 c = l * VECTOR; c < p.head_columns; c += LANES * VECTOR) {
        uint4 y[DEEP], dy[DEEP];
#pragma unroll
        for (u32 k = 0; k < DEEP; k++) {
            // Heads follow each other, too.
            const u64 start = min_of(first + k, count - 1) * p.head_columns + c;
            y[k] = load_vector<T, VECTOR>((const T*)p.output + start);
            dy[k] = load_vector<T, VECTOR>((const T*)p.gradient + start);
        }
#pragma unroll
        for (u32 k = 0; k < DEEP; k++)
#pragma unroll
            for (u32 i = 0; i < VECTOR; i++) dots[k] += element<T>(y[k], i) * element<T>(dy[k], i);
    }
    warp_sync();
#pragma unroll
    for (u32 k = 0; k < DEEP; k++) {
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) dots[k] += shuffle_xor(dots[k], d);
        const u64 place = first + k;
        if (l == k && place < count)
            p.packed[place] = make_float4(load_readonly(p.left + place) * LOG2_E, load_readonly(p.lse + place) * LOG2_E, dots[k], 0);
    }
}
BG_KERNEL(attention_gat_pack_f16_wide, GatPackParams, 128, 6) { gat_pack<f16, 8>(p); }
BG_KERNEL(attention_gat_pack_bf16_wide, GatPackParams, 128, 6) { gat_pack<bf16, 8>(p); }
BG_KERNEL(attention_gat_pack_f32_wide, GatPackParams, 128, 6) { gat_pack<f32, 4>(p); }
BG_KERNEL(attention_gat_pack_f16, GatPackParams, 128, 6) { gat_pack<f16, 1>(p); }
BG_KERNEL(attention_gat_pack_bf16, GatPackParams, 128, 6) { gat_pack<bf16, 1>(p); }
BG_KERNEL(attention_gat_pack_f32, GatPackParams, 128, 6) { gat_pack<f32, 1>(p); }

struct GatLeftParams {
    RowTasks rows;        // of the matrix: single rows and pieces
    const u32* places;    // of each entry in the transposed matrix
    const f32* d_scores;  // transposed entries x heads
    f32* d_left;          // rows x heads
    f32* partial;         // for each piece and head
    u32 heads;
    u32 unused;
};

/// Eight lanes a row.
BG_KERNEL(attention_gat_left, GatLeftParams, 128, 8) {
    constexpr u32 LANES = 8, DEEP = 4;
    const u32 index = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, l = lane() % LANES;
    RowTask task{0, 0, 0, 0, false};
    if (index < p.rows.task_count) task = row_task(p.rows, index);
    const bool valid = task.count != 0, piece = task.piece;
    for (u32 head = 0; head < p.heads; head++) {
        f32 sum = 0;
        for (u32 e = task.begin + l; e < task.end; e += DEEP * LANES) {
            u32 places[DEEP];
#pragma unroll
            for (u32 i = 0; i < DEEP; i++) places[i] = e + i * LANES < task.end ? load_readonly(p.places + e + i * LANES) : 0;
#pragma unroll
            for (u32 i = 0; i < DEEP; i++)
                if (e + i * LANES < task.end) sum += load_readonly(p.d_scores + ((u64)places[i] * p.heads + head));
        }
        warp_sync();
#pragma unroll
        for (u32 d = LANES / 2; d; d >>= 1) sum += shuffle_xor(sum, d);
        if (valid && l == 0) {
            if (piece) p.partial[(u64)index * p.heads + head] = sum;
            else p.d_left[(u64)task.row * p.heads + head] = sum;
        }
    }
    warp_sync();
    if (!any(piece)) return;
    const RowPieces pieces = pieces_of(p.rows, task, index);
    u32 ready = ballot(last_piece(p.rows, pieces, piece && l == 0));
    while (ready) {
        const u32 source = (u32)__ffs(ready) - 1, row = shuffle(task.row, source), first = shuffle(pieces.first, source), count = shuffle(pieces.count, source);
        ready &= ready - 1;
        for (u32 head = 0; head < p.heads; head++) {
            f32 sum = 0;
            for (u32 i = lane(); i < count; i += WARP) sum += load_l2(p.partial + (u64)(first + i) * p.heads + head);
            warp_sync();
            sum = butterfly_sum(sum);
            if (lane() == 0) p.d_left[(u64)row * p.heads + head] = sum;
        }
    }
}
}  // namespace bg
