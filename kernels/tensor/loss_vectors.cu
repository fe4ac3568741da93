// The cross entropy of rows of floats that lie in words of up to 16 bytes: lanes read their part of a row once and keep it in registers.
#include "tensor/loss.cuh"
#include "tensor/vectors.cuh"

namespace bg {
/// Packs of N neighbours of a row that a lane has at most.
constexpr u32 LOSS_PACKS = 4;

/// What a lane has of a row, and the row's softmax, by all lanes of a warp together. KEEP: of logits their exponentials stay.
template <u32 N, bool KEEP = false> struct LossRow {
    RowLane at;
    u32 packs;  // of a lane
    f32 x[LOSS_PACKS][N];
    f32 maximum, sum;

    BG_DEVICE u32 column(const LossParams& p, u32 j) const { return (at.sub + j * p.group) * N; }
    BG_DEVICE LossRow(const LossParams& p, u64 block) : at(p, block), packs((p.columns + p.group * N - 1) >> (lanes_log(p) + (N == 4 ? 2 : 3))), maximum(Limits<f32>::smallest()), sum(0) {
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
            for (u32 i = 0; i < N; i++) {
                const f32 power = exponential(x[j][i] - maximum);
                sum += power;
                if constexpr (KEEP) x[j][i] = power;
            }
        }
        warp_sync();
        sum = group_sum(p, sum);
    }
};

template <u32 N> BG_DEVICE void cross_entropy_vectors(const LossParams& p) {
    const LossRow<N> row(p, blockIdx.x);
    if (!row.at.valid || row.at.sub != 0) return;
    store_loss<f32>(p, row.at.row, [&](u32 label) { return load_as<f32>(p.x, row.at.row, label) - row.maximum - logarithm(row.sum); });
}

/// Counts the rows that take part, by one block.
BG_DEVICE void count_labels(const LossParams& p) {
    u32* shared = (u32*)shared_memory();
    u32 count = 0;
#pragma unroll 8
    for (u64 i = threadIdx.x; i < p.rows; i += blockDim.x) count += load_readonly(p.labels + i * p.label_stride) >= 0;
    count = warp_sum(count);
    if (lane() == 0) shared[threadIdx.x / WARP] = count;
    __syncthreads();
    if (threadIdx.x != 0) return;
    u64 all = 0;
    for (u32 w = 0; w < blockDim.x / WARP; w++) all += shared[w];
    p.counted[0] = all;
    p.counted[1] = 0;
}
/// The same by any number of blocks, into zeros.
BG_DEVICE void count_many_labels(const LossParams& p) {
    u32 count = 0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows; i += (u64)gridDim.x * blockDim.x)
        count += load_readonly(p.labels + i * p.label_stride) >= 0;
    count = warp_sum(count);
    if (lane() == 0 && count) reduce_add(p.counted, (u64)count);
}

/// The sum of what the threads of a block have, in thread 0; in an order of its own, always the same.
BG_DEVICE f64 block_sum(f64 x, f64* shared) {
    warp_sync();
    for (u32 d = WARP / 2; d; d /= 2) x += shuffle_xor(x, d);
    __syncthreads();
    if (lane() == 0) shared[threadIdx.x / WARP] = x;
    __syncthreads();
    f64 sum = 0;
    if (threadIdx.x == 0)
        for (u32 w = 0; w < blockDim.x / WARP; w++) sum += shared[w];
    return sum;
}
/// Adds up the losses of the block's rows, and by whichever block ends last those of all blocks, in their order.
BG_DEVICE void store_mean(const LossParams& p, f64 loss) {
    f64* shared = (f64*)shared_memory();
    const f64 sum = block_sum(loss, shared);
    u32* last = (u32*)(shared + WARP);
    if (threadIdx.x == 0) {
        p.losses[blockIdx.x] = sum;
        fence_device();
        *last = atomicAdd((u32*)(p.counted + 1), 1u) + 1 == gridDim.x;
    }
    __syncthreads();
    if (!*last) return;
    fence_device();
    f64 all = 0;
#pragma unroll 4
    for (u32 block = threadIdx.x; block < gridDim.x; block += blockDim.x) all += load_l2(p.losses + block);
    all = block_sum(all, shared);
    const u64 counted = p.counted[0];
    if (threadIdx.x == 0) store_as(p.mean, 0, 0, all / (f64)(counted > 1 ? counted : 1));
}

/// The gradient of a row, after rows were counted; its loss, by one lane of the row.
template <u32 N> BG_DEVICE f64 gradient_of(const LossParams& p, LossRow<N, true>& row, f32 factor) {
    if (!row.at.valid) return 0;
    const i32 label = load_readonly(p.labels + row.at.row * p.label_stride);
    const f32 share = factor / row.sum;
    const bool known = label < 0 || (u32)label < p.columns;
    f64 loss = 0;
    if (row.at.sub == 0 && label >= 0) {
        loss = known ? -(f64)(load_as<f32>(p.x, row.at.row, (u32)label) - row.maximum - logarithm(row.sum)) : no_number();
    }
#pragma unroll
    for (u32 j = 0; j < LOSS_PACKS; j++) {
        const u32 first = row.column(p, j);
        if (first >= p.columns) break;
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const f32 gradient = row.x[j][i] * share - (first + i == (u32)label ? factor : 0.0f);
            row.x[j][i] = label < 0 ? 0.0f : known ? gradient : (f32)no_number();
        }
        store_floats<N>(p.y, row.at.row, first, row.x[j]);
    }
    return loss;
}
/// The gradient and the mean loss; blocks take rows in turns.
template <u32 N> BG_DEVICE void cross_entropy_gradient_vectors(const LossParams& p) {
    const u64 counted = *p.counted, blocks = ceil_div(p.rows << lanes_log(p), (u64)blockDim.x);
    const f32 factor = (f32)p.scale / (f32)(counted > 1 ? counted : 1);
    f64 loss = 0;
    for (u64 block = blockIdx.x; block < blocks; block += gridDim.x) {
        LossRow<N, true> row(p, block);
        loss += gradient_of(p, row, factor);
    }
    store_mean(p, loss);
}
}  // namespace bg

BG_KERNEL(count_labels, bg::LossParams, 1024, 1) { bg::count_labels(p); }
BG_KERNEL(count_many_labels, bg::LossParams, 256, 4) { bg::count_many_labels(p); }
BG_KERNEL(cross_entropy_vectors_4, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<4>(p); }
BG_KERNEL(cross_entropy_vectors_8, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<8>(p); }
BG_KERNEL(cross_entropy_gradient_vectors_4, bg::LossParams, 256, 4) { bg::cross_entropy_gradient_vectors<4>(p); }
BG_KERNEL(cross_entropy_gradient_vectors_8, bg::LossParams, 256, 4) { bg::cross_entropy_gradient_vectors<8>(p); }
