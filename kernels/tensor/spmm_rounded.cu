// Products of f32 features at the error of tf32, in half of the bytes: a pass rounds the features, times the scales of columns, to copies of
// f16, and the product gathers those. Half precision has as many bits as tf32, but a smaller range: all copies are multiplied by one power of
// two, after a sample of the features, and a row of features that leaves the range nevertheless is no number in its copy.
//
// Sums that are not finite are formed once more from the features themselves: those of infinities, of NaN, and of rows out of range.
#include "common/mma_halves.cuh"
#include "tensor/spmm_tasks.cuh"

namespace bg {
struct SpmmRoundParams {
    const f32* features;
    const f32* scale_columns;  // one for each row of the features; null: 1
    u16* copies;
    f32* unscale;              // one over the power of two
    u32 rows;
    u32 columns;               // a multiple of 8
    u32 lanes;                 // of a row: a power of two
    u32 unused;
};
/// Elements that a thread adds to the sample, in fours.
constexpr u32 SAMPLES = 4;
/// What the power of two takes the exponent of the largest element of the sample to, and the exponents that the largest of a row may have: its
/// copy is then off by 2^-11 of an element, or by 2^-17 of the row's largest.
constexpr i32 AIM = 8, LOWEST = -8, HIGHEST = 14;
constexpr u32 NO_NUMBERS = 0x7fff7fffu;

/// The bits of a magnitude, which are ordered as it is; 0 if it is not finite.
BG_DEVICE u32 magnitude(f32 x) {
    const u32 bits = __float_as_uint(x) & 0x7fffffffu;
    return bits < 0x7f800000u ? bits : 0;
}
BG_DEVICE u32 magnitude(const float4& x, f32 weight) {
    return max_of(max_of(magnitude(x.x * weight), magnitude(x.y * weight)), max_of(magnitude(x.z * weight), magnitude(x.w * weight)));
}
/// The power of two with which the largest of the sample gets its exponent; the same in all blocks. All threads of the block call it.
BG_DEVICE i32 sampled_exponent(const SpmmRoundParams& p) {
    u32* shared = (u32*)shared_memory();
    u32 most = 0;
#pragma unroll
    for (u32 k = 0; k < SAMPLES; k++) {
        const u32 place = k * blockDim.x + threadIdx.x, row = (u32)((u64)place * p.rows / (SAMPLES * blockDim.x));
        const u32 column = place * 13 % (p.columns / 4) * 4;
        const float4 x = load_readonly((const float4*)(p.features + (u64)row * p.columns + column));
        most = max_of(most, magnitude(x, p.scale_columns ? load_readonly(p.scale_columns + row) : 1.0f));
    }
    most = warp_max(most);
    if (lane() == 0) shared[threadIdx.x / WARP] = most;
    __syncthreads();
    for (u32 w = 0; w < blockDim.x / WARP; w++) most = max_of(most, shared[w]);
    if (most == 0) return 0;
    // Of both signs, the power and one over it are normal numbers.
    const i32 power = AIM - ((i32)(most >> 23) - 127);
    return min_of(max_of(power, -126), 126);
}

BG_KERNEL(spmm_round, SpmmRoundParams, 256, 6) {
    const i32 power = sampled_exponent(p);
    const f32 scale = __uint_as_float((u32)(power + 127) << 23);
    if (blockIdx.x == 0 && threadIdx.x == 0) *p.unscale = __uint_as_float((u32)(127 - power) << 23);
    const u32 across = WARP / p.lanes, l = lane() % p.lanes;
    const u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP, warps = (u64)gridDim.x * blockDim.x / WARP;
    for (u64 base = warp * across; base < p.rows; base += warps * across) {
        const u64 row = base + lane() / p.lanes;
        const u32 end = row < p.rows ? p.columns : 0;
        const f32* from = p.features + row * p.columns;
        const f32 weight = p.scale_columns && end ? load_readonly(p.scale_columns + row) : 1.0f;
        float4 x[2] = {make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0)};
        u32 most = 0;
        for (u32 c = l * 8; c < end; c += p.lanes * 8) {
            x[0] = load_readonly((const float4*)(from + c));
            x[1] = load_readonly((const float4*)(from + c + 4));
            most = max_of(most, max_of(magnitude(x[0], weight), magnitude(x[1], weight)));
        }
        warp_sync();
        for (u32 d = p.lanes / 2; d; d >>= 1) most = max_of(most, shuffle_xor(most, d));
        const i32 exponent = (i32)(most >> 23) - 127 + power;
        const bool within = most == 0 || (exponent >= LOWEST && exponent <= HIGHEST);
        for (u32 c = l * 8; c < end; c += p.lanes * 8) {
            if (end > p.lanes * 8) {
                x[0] = load_readonly((const float4*)(from + c));
                x[1] = load_readonly((const float4*)(from + c + 4));
            }
            uint4 words = make_uint4(NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS);
            if (within)
                words = make_uint4(pack_pair<f16>(x[0].x * weight * scale, x[0].y * weight * scale), pack_pair<f16>(x[0].z * weight * scale, x[0].w * weight * scale),
                                   pack_pair<f16>(x[1].x * weight * scale, x[1].y * weight * scale), pack_pair<f16>(x[1].z * weight * scale, x[1].w * weight * scale));
            *(uint4*)(p.copies + row * p.columns + c) = words;
        }
    }
}

using namespace spmm;
constexpr u32 VECTOR = PerLane<f16>::value;
BG_KERNEL(spmm_rounded_8, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 8, TASK_LOADS, false, true>(p); }
BG_KERNEL(spmm_rounded_16, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 16, TASK_LOADS, false, true>(p); }
BG_KERNEL(spmm_rounded_32, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 32, TASK_LOADS, false, true>(p); }
BG_KERNEL(spmm_rounded_deep_8, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 8, DEEP_LOADS, false, true>(p); }
BG_KERNEL(spmm_rounded_deep_16, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 16, DEEP_LOADS, false, true>(p); }
BG_KERNEL(spmm_rounded_deep_32, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 32, DEEP_LOADS, false, true>(p); }
}  // namespace bg
