// Connected components of a small symmetric graph in one block: parents in shared memory, every edge united once. Every thread
// takes the same number of entries, whatever rows they are in.
#include "graph/cc_forest.cuh"

namespace bg { namespace cc {
struct BlockParams {
    const u32* offsets;
    const u32* indices;
    u32* labels;
    u32 n;
    u32 entries;
};

/// Entries whose loads are in flight at once.
constexpr u32 BATCH = 4;

BG_DEVICE u32 root_in_block(const u32* parent, u32 v) {
    for (u32 above; (above = load_volatile(parent + v)) != v;) v = above;
    return v;
}
}}  // namespace bg::cc

/// Shared memory: the parents, then the offsets.
BG_KERNEL(cc_block, bg::cc::BlockParams, 1024, 1) {
    using namespace bg;
    using namespace bg::cc;
    u32* parent = (u32*)shared_memory();
    u32* offsets = parent + p.n;
    for (u32 v = threadIdx.x; v <= p.n; v += blockDim.x) offsets[v] = load_readonly(p.offsets + v);
    __syncthreads();
    // Hanging under the first neighbour takes no atomics and leaves few trees.
    for (u32 v = threadIdx.x; v < p.n; v += blockDim.x) {
        u32 begin = offsets[v], first = begin < offsets[v + 1] ? load_readonly(p.indices + begin) : v;
        parent[v] = min_of(first, v);
    }
    __syncthreads();
    const u32 share = ceil_div(p.entries, blockDim.x), begin = min_of(threadIdx.x * share, p.entries), end = min_of(begin + share, p.entries);
    u32 v = 0;
    for (u32 high = p.n; high - v > 1;) {
        u32 middle = v + (high - v) / 2;
        if (offsets[middle] <= begin) v = middle;
        else high = middle;
    }
    for (u32 e = begin; e < end; e += BATCH) {
        u32 other[BATCH];
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) other[j] = e + j < end ? load_readonly(p.indices + e + j) : ALONE;
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) {
            if (e + j >= end) break;
            while (offsets[v + 1] <= e + j) v++;
            if (other[j] >= v) continue;
            u32 a = v, b = other[j];
            for (;;) {
                a = root_in_block(parent, a);
                b = root_in_block(parent, b);
                if (a == b) break;
                u32 high = max_of(a, b), low = min_of(a, b), seen = atomicCAS(parent + high, high, low);
                if (seen == high) break;
                a = seen;
                b = low;
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) p.labels[i] = root_in_block(parent, i);
}
