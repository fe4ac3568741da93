// The cross entropy of rows of floats that lie in words of up to 16 bytes: lanes read their part of a row once and keep it in registers.
#include "tensor/loss.cuh"
#include "tensor/vectors.cuh"

namespace bg {
/// Packs of N neighbours of a row that a lane has at most.
constexpr u32 LOSS_PACKS = 4;

/// What a lane has of a row, and the row's softmax, by all lanes of a warp together.
template <u32 N> struct LossRow {
    RowLane at;
    u32 packs;  // of a lane
    f32 x[LOSS_PACKS][N];
    f32 maximum, sum;

    BG_DEVICE u32 column(const LossParams& p, u32 j) const { return (at.sub + j * p.group) * N; }
    BG_DEVICE explicit LossRow(const LossParams& p) : at(p), packs((p.columns + p.group * N - 1) >> (lanes_log(p) + (N == 4 ? 2 : 3))), maximum(Limits<f32>::smallest()), sum(0) {
#pragma unroll
        for (u32 j = 0; j < LOSS_PACKS; j++) {
            if (j >= packs) break;
            if (at.valid && column(p, j) < p.columns) {
                load_floats<N>(p.x, at.row, column(p, j), x[j]);
            } else {
#pragma unroll
                for (u32 i = 0; i < N; i++) x[j][i] = Limits<f32>::smallest();
            }
        }
#pragma unroll
        for (u32 j = 0; j < LOSS_PACKS; j++) {
            if (j >= packs) break;
#pragma unroll
            for (u32 i = 0; i < N; i++) maximum = x[j][i] > maximum ? x[j][i] : maximum;
        }
        for (u32 d = p.group / 2; d; d /= 2) {
            const f32 other = shuffle_xor(maximum, d);
            maximum = other > maximum ? other : maximum;
        }
#pragma unroll
        for (u32 j = 0; j < LOSS_PACKS; j++) {
            if (j >= packs) break;
            if (!at.valid || column(p, j) >= p.columns) continue;
#pragma unroll
            for (u32 i = 0; i < N; i++) sum += exponential(x[j][i] - maximum);
        }
        warp_sync();
        sum = group_sum(p, sum);
    }
};

template <u32 N> BG_DEVICE void store_loss_of(const LossParams& p, const LossRow<N>& row) {
    if (row.at.sub != 0) return;
    store_loss<f32>(p, row.at.row, [&](u32 label) { return load_as<f32>(p.x, row.at.row, label) - row.maximum - logarithm(row.sum); });
}
template <u32 N> BG_DEVICE void cross_entropy_vectors(const LossParams& p) {
    const LossRow<N> row(p);
    if (row.at.valid) store_loss_of(p, row);
}

/// Counts the rows that take part.
BG_DEVICE void count_labels(const LossParams& p) {
    u32 count = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows; i += (u64)gridDim.x * blockDim.x)
        count += load_readonly(p.labels + i * p.label_stride) >= 0;
    count = warp_sum(count);
    if (lane() == 0 && count) reduce_add(p.counted, (u64)count);
}

/// The gradient, and the losses on the way, after rows were counted.
template <u32 N> BG_DEVICE void cross_entropy_gradient_vectors(const LossParams& p) {
    LossRow<N> row(p);
    if (!row.at.valid) return;
    const i32 label = load_readonly(p.labels + row.at.row * p.label_stride);
    const u64 counted = *p.counted;
    const f32 factor = (f32)p.scale / (f32)(counted > 1 ? counted : 1), share = factor / row.sum;
    const bool known = label < 0 || (u32)label < p.columns;
#pragma unroll
    for (u32 j = 0; j < LOSS_PACKS; j++) {
        const u32 first = row.column(p, j);
        if (first >= p.columns) break;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const f32 gradient = exponential(row.x[j][i] - row.maximum) * share - (first + i == (u32)label ? factor : 0.0f);
            row.x[j][i] = label < 0 ? 0.0f : known ? gradient : (f32)no_number();
        }
        store_floats<N>(p.y, row.at.row, first, row.x[j]);
    }
    store_loss_of(p, row);
}
}  // namespace bg

BG_KERNEL(count_labels, bg::LossParams, 256, 4) { bg::count_labels(p); }
BG_KERNEL(cross_entropy_vectors_4, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<4>(p); }
BG_KERNEL(cross_entropy_vectors_8, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<8>(p); }
BG_KERNEL(cross_entropy_gradient_vectors_4, bg::LossParams, 256, 4) { bg::cross_entropy_gradient_vectors<4>(p); }
BG_KERNEL(cross_entropy_gradient_vectors_8, bg::LossParams, 256, 4) { bg::cross_entropy_gradient_vectors<8>(p); }
