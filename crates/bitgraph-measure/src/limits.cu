// What the hardware does at best: copies, gathers and atomics at random places. Benches hold kernels against these rates.
#include "common/memory.cuh"

struct LimitParams {
    const uint4* from;
    uint4* to;
    const u32* table;   // a power of two of entries
    u32* target;        // the same number
    u32* sums;          // one word a thread
    u64 items;          // of 16 bytes for a copy, of places otherwise
    u32 mask;           // entries of the table less one
    u32 seed;
};

/// Consecutive numbers far apart: a full period over any power of two.
BG_DEVICE u32 scatter(u32 x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

BG_KERNEL(limit_copy, LimitParams, 512, 4) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    // Four loads in flight before the first store.
    for (; i + 3 * stride < p.items; i += 4 * stride) {
        uint4 a = p.from[i], b = p.from[i + stride], c = p.from[i + 2 * stride], d = p.from[i + 3 * stride];
        p.to[i] = a;
        p.to[i + stride] = b;
        p.to[i + 2 * stride] = c;
        p.to[i + 3 * stride] = d;
    }
    for (; i < p.items; i += stride) p.to[i] = p.from[i];
}

BG_KERNEL(limit_gather, LimitParams, 512, 4) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    u32 sum = 0;
    for (u64 i = thread; i < p.items; i += 8ull * threads) {
        u32 value[8];
#pragma unroll
        for (u32 k = 0; k < 8; k++) value[k] = bg::load_readonly(p.table + (scatter((u32)i + k * threads + p.seed) & p.mask));
#pragma unroll
        for (u32 k = 0; k < 8; k++) sum += value[k];
    }
    p.sums[thread] = sum;
}

BG_KERNEL(limit_atomic, LimitParams, 512, 4) {
    u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (u64 i = thread; i < p.items; i += threads) {
        u32 place = scatter((u32)i + p.seed);
        atomicOr(p.target + ((place >> 5) & p.mask), 1u << (place & 31u));
    }
}
