// Neighbours of dense matrices of floats, in words of up to 16 bytes.
#pragma once
#include "tensor/types.cuh"

namespace bg {
/// N neighbours of a matrix of floats, in words of up to 16 bytes.
template <u32 N> BG_DEVICE void load_floats(const TensorView& x, u64 row, u32 column, f32 (&to)[N]) {
    const u64 at = row * x.stride + column;
    if (x.dtype == F32) {
#pragma unroll
        for (u32 i = 0; i < N; i += 4) {
            const Pack<f32, 4> pack = load_pack<f32, 4>((const f32*)x.data + at + i);
#pragma unroll
            for (u32 j = 0; j < 4; j++) to[i + j] = pack.e[j];
        }
    } else if (x.dtype == F16) {
        const Pack<f16, N> pack = load_pack<f16, N>((const f16*)x.data + at);
#pragma unroll
        for (u32 i = 0; i < N; i++) to[i] = widen(pack.e[i]);
    } else {
        const Pack<bf16, N> pack = load_pack<bf16, N>((const bf16*)x.data + at);
#pragma unroll
        for (u32 i = 0; i < N; i++) to[i] = widen(pack.e[i]);
    }
}

/// Stores N neighbours, each rounded once.
template <u32 N> BG_DEVICE void store_floats(const TensorOut& y, u64 row, u32 column, const f32 (&from)[N]) {
    const u64 at = row * y.stride + column;
    if (y.dtype == F32) store_pack<f32, N>((f32*)y.data + at, from);
    else if (y.dtype == F16) store_pack<f16, N>((f16*)y.data + at, from);
    else store_pack<bf16, N>((bf16*)y.data + at, from);
}
}  // namespace bg
