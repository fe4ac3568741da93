// Builds diagonal slices from the arcs that enter each vertex: how far apart the ends of an arc are at most, the entries of
// every word of 32 vertices, and the entries themselves, ascending by distance. Loops are left out.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct SlicesBuildParams {
    const u32 *offsets, *indices;  // rows ascend
    u32* counts;                   // entries of every word
    const u32* starts;
    uint2* entries;
    u32* farthest;  // zeroed
    u32 nodes, words;
    u32 limit;  // a word's entries are counted up to here
    u32 reserved;
};

/// Goes through the distances of a word's arcs in ascending order; the rows of its 32 vertices are merged.
struct SlicesMerge {
    const u32* indices;
    u32 vertex, at, end;
    i32 next;  // distance of the arc at hand
    static constexpr i32 NONE = 0x7fffffff;

    BG_DEVICE SlicesMerge(const SlicesBuildParams& p, u32 word) : indices(p.indices), vertex(word * WARP + lane()), at(0), end(0) {
        if (vertex < p.nodes) {
            at = load_readonly(p.offsets + vertex);
            end = load_readonly(p.offsets + vertex + 1);
        }
        look();
    }
    BG_DEVICE void look() {
        next = NONE;
        for (; at < end && next == NONE; at++) {
            u32 u = load_readonly(indices + at);
            if (u != vertex) next = (i32)(u - vertex);
        }
    }
    /// The smallest distance left and the vertices that have it; false at the end. All lanes call it.
    BG_DEVICE bool step(i32& delta, u32& mask) {
        delta = (i32)(warp_min((u32)next ^ 0x80000000u) ^ 0x80000000u);
        if (delta == NONE) return false;
        mask = ballot(next == delta);
        if (next == delta) look();
        return true;
    }
};

BG_KERNEL(bfs_bandwidth, SlicesBuildParams, 256, 4) {
    u32 farthest = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 start = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1);
        if (start == end) continue;
        u32 low = load_readonly(p.indices + start), high = load_readonly(p.indices + end - 1);
        if (low < v) farthest = max_of(farthest, v - low);
        if (high > v) farthest = max_of(farthest, high - v);
    }
    farthest = warp_max(farthest);
    if (lane() == 0 && farthest) atomicMax(p.farthest, farthest);
}

BG_KERNEL(bfs_slices_count, SlicesBuildParams, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; w < p.words; w += warps) {
        SlicesMerge merge(p, w);
        u32 count = 0, mask;
        i32 delta;
        while (count < p.limit && merge.step(delta, mask)) count++;
        if (lane() == 0) p.counts[w] = count;
    }
}

BG_KERNEL(bfs_slices_fill, SlicesBuildParams, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; w < p.words; w += warps) {
        SlicesMerge merge(p, w);
        u32 at = load_readonly(p.starts + w), mask;
        i32 delta;
        for (; merge.step(delta, mask); at++) {
            if (lane() == 0) p.entries[at] = make_uint2((u32)delta, mask);
        }
    }
}
}  // namespace bg
