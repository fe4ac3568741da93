// The cross entropy of rows of floats that lie in words of up to 16 bytes: lanes read their part of a row once and keep it in registers.
#include "tensor/loss.cuh"
#include "tensor/vectors.cuh"

namespace bg {
/// Packs of N neighbours of a row that a lane has at most, and where a gradient is formed, unless rows are too long for that: two rows and more
/// share a warp's instructions then.
constexpr u32 LOSS_PACKS = 4, LOSS_GRADIENT_PACKS = 2;

/// What a lane has of a row of logits, PACKS of N neighbours at most. It is read first, and looked at later.
template <u32 N, u32 PACKS> struct LossRow {
    RowLane at;
    i32 label;
    f32 x[PACKS][N];
    f32 maximum, sum;

    static BG_DEVICE u32 packs(const LossParams& p) { return (p.columns + p.group * N - 1) >> (lanes_log(p) + (N == 4 ? 2 : 3)); }
    BG_DEVICE u32 column(const LossParams& p, u32 j) const { return (at.sub + j * p.group) * N; }
    BG_DEVICE LossRow(const LossParams& p, u64 block) : at(p, block), label(-1), maximum(Limits<f32>::smallest()), sum(0) {
        if (at.valid) label = load_readonly(p.labels + at.row * p.label_stride);
#pragma unroll
        for (u32 j = 0; j < PACKS; j++) {
            if (j >= packs(p)) break;
            if (at.valid && column(p, j) < p.columns) {
                load_floats<N>(p.x, at.row, column(p, j), x[j]);
            } else {
#pragma unroll
                for (u32 i = 0; i < N; i++) x[j][i] = Limits<f32>::smallest();
            }
        }
    }
    /// The row's maximum, and the sum of what `of` gives for each difference to it, by all lanes of a warp together.
    template <class F> BG_DEVICE void add_up(const LossParams& p, const F& of) {
#pragma unroll
        for (u32 j = 0; j < PACKS; j++) {
            if (j >= packs(p)) break;
#pragma unroll
            for (u32 i = 0; i < N; i++) maximum = x[j][i] > maximum ? x[j][i] : maximum;
        }
        for (u32 d = p.group / 2; d; d /= 2) {
            const f32 other = shuffle_xor(maximum, d);
            maximum = other > maximum ? other : maximum;
        }
#pragma unroll
        for (u32 j = 0; j < PACKS; j++) {
            if (j >= packs(p)) break;
            if (!at.valid || column(p, j) >= p.columns) continue;
#pragma unroll
            for (u32 i = 0; i < N; i++) sum += of(j, i);
        }
        warp_sync();
        sum = group_sum(p, sum);
    }
};

template <u32 N> BG_DEVICE void cross_entropy_vectors(const LossParams& p) {
    LossRow<N, LOSS_PACKS> row(p, blockIdx.x);
    row.add_up(p, [&](u32 j, u32 i) { return exponential(row.x[j][i] - row.maximum); });
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

/// The softmax of a row becomes its gradient, after rows were counted, and is stored; the row's loss, by one of its lanes.
template <u32 N, u32 PACKS> BG_DEVICE f64 gradient_of(const LossParams& p, LossRow<N, PACKS>& row, f32 factor) {
    // The logit of the label is in the registers of one lane.
    const u32 label = (u32)row.label;
    f32 logit = 0;
#pragma unroll
    for (u32 j = 0; j < PACKS; j++)
#pragma unroll
        for (u32 i = 0; i < N; i++)
            if (row.column(p, j) + i == label) logit = row.x[j][i];
    // Exponentials stay where logits were.
    row.add_up(p, [&](u32 j, u32 i) { return row.x[j][i] = exponential(row.x[j][i] - row.maximum); });
    if (!row.at.valid) return 0;
    const bool known = row.label < 0 || label < p.columns;
    const f32 share = factor / row.sum;
    f64 loss = !known && row.at.sub == 0 ? no_number() : 0;
#pragma unroll
    for (u32 j = 0; j < PACKS; j++) {
        const u32 first = row.column(p, j);
        if (first >= p.columns) break;
        if (label - first < N && known) loss = -(f64)(logit - row.maximum - logarithm(row.sum));
#pragma unroll
        for (u32 i = 0; i < N; i++) {
            const f32 gradient = row.x[j][i] * share - (first + i == label ? factor : 0.0f);
            row.x[j][i] = row.label < 0 ? 0.0f : known ? gradient : (f32)no_number();
        }
        store_floats<N>(p.y, row.at.row, first, row.x[j]);
    }
    return loss;
}
/// Stores the sums of the gradient's columns over the block's rows, of what its threads have.
template <u32 N, u32 PACKS> BG_DEVICE void store_columns(const LossParams& p, const f32 (&sums)[PACKS][N]) {
    f32* shared = (f32*)shared_memory();
    const u32 width = p.group * N;
#pragma unroll
    for (u32 j = 0; j < PACKS; j++) {
        if (j * width >= p.columns) break;
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < N; i++) shared[threadIdx.x * N + i] = sums[j][i];
        __syncthreads();
        for (u32 c = threadIdx.x; c < width && j * width + c < p.columns; c += blockDim.x) {
            f32 sum = 0;
            for (u32 from = c; from < blockDim.x * N; from += width) sum += shared[from];
            p.column_sums[(u64)blockIdx.x * p.columns + j * width + c] = sum;
        }
    }
    __syncthreads();
}
/// The gradient, the mean loss, and the sums of the gradient's columns, where they are wanted, block by block; blocks take rows in turns, and read
/// the next ones before they work on those that are there.
template <u32 N, u32 PACKS> BG_DEVICE void cross_entropy_gradient_vectors(const LossParams& p) {
    const u64 counted = *p.counted, blocks = ceil_div(p.rows << lanes_log(p), (u64)blockDim.x);
    const f32 factor = (f32)gradient_scale(p) / (f32)(counted > 1 ? counted : 1);
    f64 loss = 0;
    f32 sums[PACKS][N] = {};
    LossRow<N, PACKS> next(p, blockIdx.x);
    for (u64 block = blockIdx.x; block < blocks; block += gridDim.x) {
        LossRow<N, PACKS> row = next;
        next = LossRow<N, PACKS>(p, block + gridDim.x);
        loss += gradient_of(p, row, factor);
        if (!row.at.valid) continue;
#pragma unroll
        for (u32 j = 0; j < PACKS; j++) {
            if (row.column(p, j) >= p.columns) break;
#pragma unroll
            for (u32 i = 0; i < N; i++) sums[j][i] += row.x[j][i];
        }
    }
    if (p.column_sums) store_columns(p, sums);
    store_mean(p, loss);
}
}  // namespace bg

BG_KERNEL(count_labels, bg::LossParams, 1024, 1) { bg::count_labels(p); }
BG_KERNEL(count_many_labels, bg::LossParams, 256, 4) { bg::count_many_labels(p); }
BG_KERNEL(cross_entropy_vectors_4, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<4>(p); }
BG_KERNEL(cross_entropy_vectors_8, bg::LossParams, 256, 4) { bg::cross_entropy_vectors<8>(p); }
BG_KERNEL(cross_entropy_gradient_4, bg::LossParams, 256, 4) { bg::cross_entropy_gradient_vectors<4, bg::LOSS_GRADIENT_PACKS>(p); }
BG_KERNEL(cross_entropy_gradient_8, bg::LossParams, 256, 3) { bg::cross_entropy_gradient_vectors<8, bg::LOSS_GRADIENT_PACKS>(p); }
BG_KERNEL(cross_entropy_gradient_wide_4, bg::LossParams, 256, 2) { bg::cross_entropy_gradient_vectors<4, bg::LOSS_PACKS>(p); }
BG_KERNEL(cross_entropy_gradient_wide_8, bg::LossParams, 256, 1) { bg::cross_entropy_gradient_vectors<8, bg::LOSS_PACKS>(p); }
