// Dense matrices shared out to lanes: a group of lanes to a row, or to a tile of its columns.
#pragma once
#include "common/warp.cuh"
#include "tensor/types.cuh"

namespace bg {
struct DenseWork {
    u64 rows;
    u32 columns;
    u32 group;  // lanes that have a row's columns: a power of two, at most 32
    u32 tiles;  // of columns
    u32 reserved;
};

/// What a lane works on.
template <u32 N> struct DenseTask {
    u64 row;
    bool valid;
    LaneColumns<N> columns;

    BG_DEVICE explicit DenseTask(const DenseWork& w) {
        const u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
        const u32 tile = (u32)(warp % w.tiles) * w.group * LANE_COLUMNS;
        row = warp / w.tiles * (WARP / w.group) + lane() / w.group;
        valid = row < w.rows;
        columns.step = w.group * N;
        columns.first = tile + lane() % w.group * N;
        columns.end = w.columns;
        columns.packs = min_of(LANE_COLUMNS / N, ceil_div(w.columns - tile, columns.step));
    }
};

/// What a lane has of a row of a matrix of type T, as R.
template <class T, class R, u32 N> BG_DEVICE void load_columns(const TensorView& x, u64 row, const LaneColumns<N>& columns, R (&to)[LANE_COLUMNS]) {
    const T* from = (const T*)x.data + row * x.stride;
#pragma unroll
    for (u32 j = 0; j < LANE_COLUMNS / N; j++) {
        if (!columns.active(j * N)) continue;
        const Pack<T, N> pack = load_pack<T, N>(from + columns.column(j * N));
#pragma unroll
        for (u32 i = 0; i < N; i++) to[j * N + i] = (R)widen(pack.e[i]);
    }
}
/// The same of a type known at run time.
template <class R, u32 N> BG_DEVICE void load_columns_as(const TensorView& x, u64 row, const LaneColumns<N>& columns, R (&to)[LANE_COLUMNS]) {
    with_element(x.dtype, [&](auto element) {
        typedef decltype(element) T;
        const T* from = (const T*)x.data + row * x.stride;
#pragma unroll
        for (u32 i = 0; i < LANE_COLUMNS; i++) {
            if (columns.active(i)) to[i] = (R)load_value(from + columns.column(i));
        }
    });
}
}  // namespace bg
