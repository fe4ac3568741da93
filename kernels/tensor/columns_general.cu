// Statistics of the columns of dense matrices, and batch normalisation's backward pass.
//
// A block sums some rows of up to 32 lanes' columns; a second launch adds the blocks' sums, in an order that the number of parts decides.
#include "tensor/dense.cuh"
#include "tensor/vectors.cuh"

namespace bg {
enum ColumnTerm : u32 {
    TERM_VALUE = 0,      // x
    TERM_SQUARE = 1,     // (x - mean)^2
    TERM_GRADIENT = 2,   // dy (x - mean) / sqrt(variance + epsilon)
    TERM_MAGNITUDE = 3,  // |x|
    TERM_PRODUCT = 4,    // x dy
};

struct ColumnsParams {
    TensorView x;
    TensorView dy;
    TensorView mean;      // of one row, as is the variance
    TensorView variance;
    TensorOut sums;       // of one row
    void* partials;       // a row for each part
    f64 epsilon;
    f64 divisor;          // sums are divided by it
    u64 rows;
    u64 part_rows;        // rows of a part
    u32 columns;
    u32 tile;             // lanes that have a block's columns: a power of two, at most 32
    u32 tiles;
    u32 parts;
    u32 term, reserved;
};

template <class A> BG_DEVICE void column_sums(const ColumnsParams& p) {
    A* shared = (A*)shared_memory();
    const u32 part = blockIdx.x / p.tiles, apart = WARP / p.tile, warps = blockDim.x / WARP;
    const u32 column = blockIdx.x % p.tiles * p.tile + lane() % p.tile;
    const u64 begin = part * p.part_rows, end = min_of(begin + p.part_rows, p.rows), step = (u64)apart * warps;
    A sum = 0;
    if (column < p.columns) {
        const A mean = p.mean.data == nullptr ? (A)0 : load_as<A>(p.mean, 0, column);
        const A deviation = p.term == TERM_GRADIENT ? root(load_as<A>(p.variance, 0, column) + (A)p.epsilon) : (A)1;
        with_element(p.x.dtype, [&](auto element) {
            typedef decltype(element) T;
            for (u64 i = begin + threadIdx.x / WARP * apart + lane() / p.tile; i < end; i += step) {
                const A x = (A)load_value((const T*)p.x.data + i * p.x.stride + column);
                if (p.term == TERM_VALUE) sum += x;
                else if (p.term == TERM_MAGNITUDE) sum += x < (A)0 ? -x : x;
                else if (p.term == TERM_PRODUCT) sum += x * load_as<A>(p.dy, i, column);
                else if (p.term == TERM_SQUARE) sum += (x - mean) * (x - mean);
                else sum += load_as<A>(p.dy, i, column) * ((x - mean) / deviation);
            }
        });
    }
    warp_sync();
    for (u32 d = WARP / 2; d >= p.tile; d /= 2) sum += shuffle_xor(sum, d);
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= p.tile || column >= p.columns) return;
    for (u32 w = 1; w < warps; w++) sum += shared[w * WARP + lane()];
    ((A*)p.partials)[(u64)part * p.columns + column] = sum;
}
/// Adds N neighbours of every `step`-th row, or their products with those of the other matrix.
template <u32 N> BG_DEVICE void add_rows(const ColumnsParams& p, u64 begin, u64 end, u64 step, u32 column, f32 (&sums)[N]) {
    if (p.term == TERM_PRODUCT) {
#pragma unroll 4
        for (u64 i = begin; i < end; i += step) {
            f32 x[N], z[N];
            load_floats<N>(p.x, i, column, x);
            load_floats<N>(p.dy, i, column, z);
#pragma unroll
            for (u32 k = 0; k < N; k++) sums[k] += x[k] * z[k];
        }
        return;
    }
#pragma unroll 4
    for (u64 i = begin; i < end; i += step) {
        f32 x[N];
        load_floats<N>(p.x, i, column, x);
#pragma unroll
        for (u32 k = 0; k < N; k++) sums[k] += x[k];
    }
}
/// The sums of floats that lie in words of up to 16 bytes: a lane has N neighbours of every row that it takes, and a block up to 32 N columns.
template <u32 N> BG_DEVICE void column_sums_vectors(const ColumnsParams& p) {
    f32* shared = (f32*)shared_memory();
    const u32 part = blockIdx.x / p.tiles, apart = WARP / p.tile, warps = blockDim.x / WARP;
    const u32 first = blockIdx.x % p.tiles * p.tile * N, column = first + lane() % p.tile * N;
    const u64 begin = part * p.part_rows, end = min_of(begin + p.part_rows, p.rows), step = (u64)apart * warps;
    f32 sums[N];
#pragma unroll
    for (u32 k = 0; k < N; k++) sums[k] = 0;
    if (column < p.columns) add_rows(p, begin + threadIdx.x / WARP * apart + lane() / p.tile, end, step, column, sums);
    warp_sync();
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        for (u32 d = WARP / 2; d >= p.tile; d /= 2) sums[k] += shuffle_xor(sums[k], d);
        shared[(threadIdx.x / WARP * N + k) * WARP + lane()] = sums[k];
    }
    __syncthreads();
    for (u32 c = threadIdx.x; c < p.tile * N && first + c < p.columns; c += blockDim.x) {
        f32 sum = 0;
        for (u32 w = 0; w < warps; w++) sum += shared[(w * N + c % N) * WARP + c / N];
        ((f32*)p.partials)[(u64)part * p.columns + first + c] = sum;
    }
}
/// The same at once, by a block for what two lanes of N / 2 or one of N neighbours have of a row: for few rows, where a second launch would take
/// longer than these sums.
template <u32 N> BG_DEVICE void column_sums_whole(const ColumnsParams& p) {
    constexpr u32 LANES = 8 / N;
    f32* shared = (f32*)shared_memory();
    const u32 column = blockIdx.x * 8 + threadIdx.x % LANES * N, step = blockDim.x / LANES, warps = blockDim.x / WARP;
    f32 sums[N];
#pragma unroll
    for (u32 k = 0; k < N; k++) sums[k] = 0;
    if (column < p.columns) add_rows(p, threadIdx.x / LANES, p.rows, step, column, sums);
    warp_sync();
#pragma unroll
    for (u32 k = 0; k < N; k++) {
        for (u32 d = WARP / 2; d >= LANES; d /= 2) sums[k] += shuffle_xor(sums[k], d);
        if (lane() < LANES) shared[threadIdx.x / WARP * 8 + lane() * N + k] = sums[k];
    }
    __syncthreads();
    if (threadIdx.x >= 8 || blockIdx.x * 8 + threadIdx.x >= p.columns) return;
    f32 sum = 0;
    for (u32 w = 0; w < warps; w++) sum += shared[w * 8 + threadIdx.x];
    store_as(p.sums, 0, blockIdx.x * 8 + threadIdx.x, sum / (f32)p.divisor);
}
/// A warp's lanes have a column each, and the warps of a block the parts in turns.
template <class A> BG_DEVICE void column_totals(const ColumnsParams& p) {
    A* shared = (A*)shared_memory();
    const u32 column = blockIdx.x * WARP + lane(), warps = blockDim.x / WARP;
    A sum = 0;
    if (column < p.columns) {
#pragma unroll 8
        for (u32 part = threadIdx.x / WARP; part < p.parts; part += warps) sum += ((const A*)p.partials)[(u64)part * p.columns + column];
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP || column >= p.columns) return;
    for (u32 w = 1; w < warps; w++) sum += shared[w * WARP + lane()];
    store_as(p.sums, 0, column, sum / (A)p.divisor);
}

struct BatchNormParams {
    DenseWork work;
    TensorView x;
    TensorView dy;
    TensorView mean;      // these are of one row
    TensorView variance;
    TensorView gamma;     // null: 1
    TensorView dgamma;
    TensorView dbeta;
    TensorOut dx;
    f64 epsilon;
};
template <class R> BG_DEVICE void batch_norm_backward(const BatchNormParams& p) {
    const DenseTask<1> task(p.work);
    if (!task.valid) return;
    R x[LANE_COLUMNS], dy[LANE_COLUMNS];
    load_columns_as(p.x, task.row, task.columns, x);
    load_columns_as(p.dy, task.row, task.columns, dy);
    const R n = (R)p.work.rows;
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (!task.columns.active(i)) continue;
        const u32 c = task.columns.column(i);
        const R deviation = root(load_as<R>(p.variance, 0, c) + (R)p.epsilon), normal = (x[i] - load_as<R>(p.mean, 0, c)) / deviation;
        const R gamma = p.gamma.data ? load_as<R>(p.gamma, 0, c) : (R)1;
        x[i] = gamma / deviation * (dy[i] - load_as<R>(p.dbeta, 0, c) / n - normal * (load_as<R>(p.dgamma, 0, c) / n));
    }
    store_columns(p.dx, task.row, task.columns, x);
}
}  // namespace bg

BG_KERNEL(column_sums_f32, bg::ColumnsParams, 256, 2) { bg::column_sums<f32>(p); }
BG_KERNEL(column_sums_f64, bg::ColumnsParams, 256, 2) { bg::column_sums<f64>(p); }
BG_KERNEL(column_sums_vectors_4, bg::ColumnsParams, 256, 4) { bg::column_sums_vectors<4>(p); }
BG_KERNEL(column_sums_vectors_8, bg::ColumnsParams, 256, 4) { bg::column_sums_vectors<8>(p); }
BG_KERNEL(column_sums_whole_4, bg::ColumnsParams, 1024, 1) { bg::column_sums_whole<4>(p); }
BG_KERNEL(column_sums_whole_8, bg::ColumnsParams, 1024, 1) { bg::column_sums_whole<8>(p); }
BG_KERNEL(column_totals_f32, bg::ColumnsParams, 1024, 1) { bg::column_totals<f32>(p); }
BG_KERNEL(column_totals_f64, bg::ColumnsParams, 1024, 1) { bg::column_totals<f64>(p); }
BG_KERNEL(batch_norm_backward_f32, bg::BatchNormParams, 256, 2) { bg::batch_norm_backward<f32>(p); }
BG_KERNEL(batch_norm_backward_f64, bg::BatchNormParams, 256, 2) { bg::batch_norm_backward<f64>(p); }
