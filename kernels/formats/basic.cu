// Whole-array primitives: fill, count up, gather, invert a permutation, compact, reduce, histogram.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct FillParams {
    void* output;
    u64 n;
    u64 value;
};
struct GatherParams {
    const void* input;
    const u32* indices;
    void* output;
    u64 n;
};
struct InvertParams {
    const u32* permutation;
    u32* inverse;
    u64 n;
};
struct CompactParams {
    const u32* flags;
    const u32* places;  // exclusive prefix sums of the flags
    u32* output;        // the positions whose flag is 1
    u64 n;
};
struct ReduceParams {
    const u32* input;
    u64* output;  // sum, maximum, and the complement of the minimum; zeroed
    u64 n;
};
struct HistogramParams {
    const u32* input;
    u32* counts;  // zeroed; values past the last bin are counted there
    u64 n;
    u32 bins;
    u32 shared;  // whether the bins fit into shared memory
};

BG_DEVICE u64 global_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
BG_DEVICE u64 global_threads() { return (u64)gridDim.x * blockDim.x; }

template <class T> BG_DEVICE void gather(const GatherParams& p) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) {
        ((T*)p.output)[i] = load_readonly((const T*)p.input + load_readonly(p.indices + i));
    }
}
}  // namespace bg
using namespace bg;

BG_KERNEL(fill_u32, FillParams, 256, 4) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) ((u32*)p.output)[i] = (u32)p.value;
}
BG_KERNEL(fill_u64, FillParams, 256, 4) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) ((u64*)p.output)[i] = p.value;
}
BG_KERNEL(iota_u32, FillParams, 256, 4) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) ((u32*)p.output)[i] = (u32)(p.value + i);
}
BG_KERNEL(gather_1, GatherParams, 256, 4) { gather<u8>(p); }
BG_KERNEL(gather_2, GatherParams, 256, 4) { gather<u16>(p); }
BG_KERNEL(gather_4, GatherParams, 256, 4) { gather<u32>(p); }
BG_KERNEL(gather_8, GatherParams, 256, 4) { gather<u64>(p); }
BG_KERNEL(invert_u32, InvertParams, 256, 4) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) p.inverse[p.permutation[i]] = (u32)i;
}
BG_KERNEL(compact_u32, CompactParams, 256, 4) {
    for (u64 i = global_thread(); i < p.n; i += global_threads()) {
        if (p.flags[i]) p.output[p.places[i]] = (u32)i;
    }
}
BG_KERNEL(reduce_u32, ReduceParams, 256, 4) {
    u64 sum = 0;
    u32 most = 0, smallest = 0xffffffffu;
    for (u64 i = global_thread(); i < p.n; i += global_threads()) {
        u32 v = load_stream(p.input + i);
        sum += v;
        most = max_of(most, v);
        smallest = min_of(smallest, v);
    }
    sum = butterfly_sum(sum);
    most = warp_max(most);
    smallest = warp_min(smallest);
    if (lane() == 0) {
        atomicAdd(p.output, sum);
        atomicMax(p.output + 1, (u64)most);
        atomicMax(p.output + 2, (u64)(0xffffffffu - smallest));
    }
}
BG_KERNEL(histogram_u32, HistogramParams, 256, 4) {
    u32* own = p.shared ? (u32*)shared_memory() : p.counts;
    if (p.shared) {
        for (u32 i = threadIdx.x; i < p.bins; i += blockDim.x) own[i] = 0;
        __syncthreads();
    }
    for (u64 i = global_thread(); i < p.n; i += global_threads()) atomicAdd(own + min_of(load_stream(p.input + i), p.bins - 1), 1u);
    if (p.shared) {
        __syncthreads();
        for (u32 i = threadIdx.x; i < p.bins; i += blockDim.x) {
            if (own[i]) atomicAdd(p.counts + i, own[i]);
        }
    }
}
