// Dense products in general: any element type, any strides, either side transposed, any epilogue. For what the vendor's library does not have,
// or where it is not installed.
//
// A block has a tile of the product; where there are few tiles and long sums, several blocks have parts of a tile's sums, which a second
// launch adds in their order.
#pragma once
#include "tensor/dense.cuh"
#include "tensor/epilogue.cuh"

namespace bg {
struct GemmParams {
    TensorView a, b;
    TensorOut y;
    void* partials;     // of parts, rows and columns; null where there is one part
    u64 rows;
    u64 length;         // of a sum
    u64 part;           // of it, for a block
    u32 columns;
    u32 tiles;          // of the columns
    u32 parts;
    u32 transposed;     // 1: the first matrix is stored transposed; 2: the second
    u32 direct, group;  // whether whole numbers are stored as they are; of the second launch
    TensorEpilogue epilogue;
};

constexpr u32 GEMM_THREADS = 128;
/// Rows and columns of a tile, and the terms of its sums that are in shared memory at once.
constexpr u32 GEMM_TILE = 64, GEMM_DEPTH = 16, GEMM_PITCH = 65;
/// Rows and columns of a thread.
constexpr u32 GEMM_ROWS = 8, GEMM_COLUMNS = 4;

/// The columns of a thread in a tile.
struct TileColumns {
    static constexpr u32 PACK = 1, PACKS = GEMM_COLUMNS;
    u32 first, end;
    BG_DEVICE u32 column(u32 i) const { return first + i * (GEMM_TILE / GEMM_COLUMNS); }
    BG_DEVICE bool active(u32 i) const { return column(i) < end; }
};

template <class S, class C, u32 M> BG_DEVICE void store_products(const GemmParams& p, u64 row, const C& columns, const S (&sums)[M]) {
    if constexpr (same_type<S, i32>::value) {
        if (p.direct) return store_columns(p.y, row, columns, sums);
    }
    Real<S> x[M];
#pragma unroll
    for (u32 i = 0; i < M; i++) x[i] = (Real<S>)sums[i];
    finish(p.epilogue, row, columns, x);
    store_columns(p.y, row, columns, x);
}

/// Terms `k` to below `end` of a side's rows, or columns, from `first`: `to[term][line]`, zero outside. `across` says that neighbours in
/// memory are lines, not terms.
template <class T, class S> BG_DEVICE void load_tile(const TensorView& x, bool across, u64 first, u64 lines, u64 k, u64 end, S* to) {
    for (u32 e = threadIdx.x; e < GEMM_TILE * GEMM_DEPTH; e += GEMM_THREADS) {
        const u32 line = across ? e % GEMM_TILE : e / GEMM_DEPTH, term = across ? e / GEMM_TILE : e % GEMM_DEPTH;
        S value = 0;
        if (first + line < lines && k + term < end) {
            const u64 at = across ? (k + term) * x.stride + first + line : (first + line) * x.stride + k + term;
            value = (S)load_value((const T*)x.data + at);
        }
        to[term * GEMM_PITCH + line] = value;
    }
}

template <class T, class S> BG_DEVICE void gemm_tile(const GemmParams& p) {
    S* a = (S*)shared_memory();
    S* b = a + GEMM_DEPTH * GEMM_PITCH;
    const u64 block = blockIdx.x / p.parts, first_row = block / p.tiles * GEMM_TILE;
    const u32 part = blockIdx.x % p.parts, first_column = (u32)(block % p.tiles) * GEMM_TILE;
    const u32 x = threadIdx.x % (GEMM_TILE / GEMM_COLUMNS), y = threadIdx.x / (GEMM_TILE / GEMM_COLUMNS);
    S sums[GEMM_ROWS][GEMM_COLUMNS] = {};
    const u64 end = min_of((part + 1) * p.part, p.length);
    for (u64 k = part * p.part; k < end; k += GEMM_DEPTH) {
        load_tile<T>(p.a, (p.transposed & 1) != 0, first_row, p.rows, k, end, a);
        load_tile<T>(p.b, (p.transposed & 2) == 0, first_column, p.columns, k, end, b);
        __syncthreads();
#pragma unroll 4
        for (u32 term = 0; term < GEMM_DEPTH; term++) {
            S left[GEMM_ROWS], right[GEMM_COLUMNS];
#pragma unroll
            for (u32 r = 0; r < GEMM_ROWS; r++) left[r] = a[term * GEMM_PITCH + y + r * (GEMM_TILE / GEMM_ROWS)];
#pragma unroll
            for (u32 c = 0; c < GEMM_COLUMNS; c++) right[c] = b[term * GEMM_PITCH + x + c * (GEMM_TILE / GEMM_COLUMNS)];
#pragma unroll
            for (u32 r = 0; r < GEMM_ROWS; r++) {
#pragma unroll
                for (u32 c = 0; c < GEMM_COLUMNS; c++) sums[r][c] = add_product(sums[r][c], left[r], right[c]);
            }
        }
        __syncthreads();
    }
    const TileColumns columns{first_column + x, p.columns};
    // Rows are stored in turn, from memory: an epilogue for each of them would be more code than everything else.
    S rows[GEMM_ROWS][GEMM_COLUMNS];
#pragma unroll
    for (u32 r = 0; r < GEMM_ROWS; r++) {
#pragma unroll
        for (u32 c = 0; c < GEMM_COLUMNS; c++) rows[r][c] = sums[r][c];
    }
#pragma unroll 1
    for (u32 r = 0; r < GEMM_ROWS; r++) {
        const u64 row = first_row + y + r * (GEMM_TILE / GEMM_ROWS);
        if (row >= p.rows) break;
        if (!p.partials) {
            store_products(p, row, columns, rows[r]);
            continue;
        }
#pragma unroll
        for (u32 c = 0; c < GEMM_COLUMNS; c++) {
            if (columns.active(c)) ((S*)p.partials)[(part * p.rows + row) * p.columns + columns.column(c)] = rows[r][c];
        }
    }
}

/// The sums of the parts, each in their order.
template <class S> BG_DEVICE void gemm_merge(const GemmParams& p) {
    const DenseTask<1> task(DenseWork{p.rows, p.columns, p.group, ceil_div(p.columns, p.group * LANE_COLUMNS), 0});
    if (!task.valid) return;
    S sums[LANE_COLUMNS] = {};
    for (u32 part = 0; part < p.parts; part++) {
        const S* from = (const S*)p.partials + (part * p.rows + task.row) * p.columns;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (task.columns.active(i)) sums[i] = add(sums[i], from[task.columns.column(i)]);
        }
    }
    store_products(p, task.row, task.columns, sums);
}
}  // namespace bg

#define BG_GEMM(T, S, name) \
    BG_KERNEL(name, bg::GemmParams, 128, 2) { bg::gemm_tile<T, S>(p); }
