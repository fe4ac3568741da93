// Functions of a full warp: all 32 lanes call them together.
#pragma once
#include "common/kernel.cuh"

namespace bg {
constexpr u32 WARP = 32;
constexpr u32 FULL = 0xffffffffu;

BG_DEVICE u32 lane() { return threadIdx.x & 31u; }
BG_DEVICE u32 ballot(bool predicate) { return __ballot_sync(FULL, predicate); }
BG_DEVICE bool any(bool predicate) { return __any_sync(FULL, predicate) != 0; }
BG_DEVICE bool all(bool predicate) { return __all_sync(FULL, predicate) != 0; }
BG_DEVICE void warp_sync() { __syncwarp(); }
template <class T> BG_DEVICE T shuffle(T value, u32 source) { return __shfl_sync(FULL, value, (int)source); }
template <class T> BG_DEVICE T shuffle_up(T value, u32 delta) { return __shfl_up_sync(FULL, value, delta); }
template <class T> BG_DEVICE T shuffle_down(T value, u32 delta) { return __shfl_down_sync(FULL, value, delta); }
template <class T> BG_DEVICE T shuffle_xor(T value, u32 mask) { return __shfl_xor_sync(FULL, value, (int)mask); }
BG_DEVICE u32 warp_sum(u32 value) { return __reduce_add_sync(FULL, value); }
BG_DEVICE u32 warp_max(u32 value) { return __reduce_max_sync(FULL, value); }
BG_DEVICE u32 warp_min(u32 value) { return __reduce_min_sync(FULL, value); }
/// The lanes that hold the same value as this one.
BG_DEVICE u32 match_any(u32 value) { return __match_any_sync(FULL, value); }

/// The sum over the warp by a butterfly, in a fixed order; for types without a reduction instruction.
template <class T> BG_DEVICE T butterfly_sum(T value) {
    for (u32 d = 16; d; d >>= 1) value += shuffle_xor(value, d);
    return value;
}
/// Inclusive prefix sum over the lanes.
template <class T> BG_DEVICE T scan_inclusive(T value) {
    for (u32 d = 1; d < WARP; d <<= 1) {
        T other = shuffle_up(value, d);
        if (lane() >= d) value += other;
    }
    return value;
}

/// The sum over the block, in every thread; `scratch` holds 33 elements. Fixed order.
template <class T> BG_DEVICE T block_sum(T value, T* scratch) {
    value = butterfly_sum(value);
    __syncthreads();
    if (lane() == 0) scratch[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x < WARP) {
        T v = threadIdx.x < blockDim.x / WARP ? scratch[threadIdx.x] : T(0);
        v = butterfly_sum(v);
        if (threadIdx.x == 0) scratch[32] = v;
    }
    __syncthreads();
    return scratch[32];
}
/// Exclusive prefix sum over the block; `total` gets the sum. `scratch` holds 33 elements.
template <class T> BG_DEVICE T block_scan_exclusive(T value, T* scratch, T& total) {
    T inclusive = scan_inclusive(value);
    __syncthreads();
    if (lane() == WARP - 1) scratch[threadIdx.x / WARP] = inclusive;
    __syncthreads();
    if (threadIdx.x < WARP) {
        T own = threadIdx.x < blockDim.x / WARP ? scratch[threadIdx.x] : T(0);
        T sums = scan_inclusive(own);
        if (threadIdx.x == WARP - 1) scratch[32] = sums;
        scratch[threadIdx.x] = sums - own;
    }
    __syncthreads();
    total = scratch[32];
    return scratch[threadIdx.x / WARP] + inclusive - value;
}
}  // namespace bg
