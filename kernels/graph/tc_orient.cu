// The oriented graph that triangles are counted on: every edge once, kept at the end of smaller degree (the larger number on ties),
// so that no list is longer than the square root of twice the edges. Loops are left out. Rows stay ascending.
#include "graph/tc_hubs.cuh"

namespace bg { namespace tc {
struct OrientParams {
    const u32* offsets;
    const u32* indices;
    u32* lengths;         // n: how long the lists become (tc_orient_count)
    const u32* starts;    // n + 1: where they start (tc_orient_fill)
    u32* lists;           // the lists (tc_orient_fill)
    u32* longest;         // zero: the longest list (tc_orient_count)
    u32 n;
    u32 reserved;
};

struct ClassesParams {
    const u32* offsets;
    u32* result;   // zeros: lists longer than `whole`, than FEW_LIST, than 1
    u32 n;
    u32 whole;     // at most NARROW_LIST
};

/// Whether the edge belongs into the list of `v`: its other end is the heavier one.
BG_DEVICE bool kept(u32 v, u32 degree, u32 w, const u32* offsets) {
    if (w == v) return false;
    u32 other = load_readonly(offsets + w + 1) - load_readonly(offsets + w);
    return other > degree || (other == degree && w < v);
}
}}  // namespace bg::tc

// A warp per row, several rows in turn.
BG_KERNEL(tc_orient_count, bg::tc::OrientParams, 512, 2) {
    using namespace bg;
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    u32 longest = 0;
    for (u32 v = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; v < p.n; v += warps) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), count = 0;
        for (u32 base = begin; base < end; base += WARP) {
            u32 e = base + lane();
            bool keep = e < end && tc::kept(v, end - begin, load_readonly(p.indices + e), p.offsets);
            count += (u32)__popc(bg::ballot(keep));
        }
        if (lane() == 0) p.lengths[v] = count;
        longest = max_of(longest, count);
    }
    if (lane() == 0 && longest) atomicMax(p.longest, longest);
}

BG_KERNEL(tc_orient_fill, bg::tc::OrientParams, 512, 2) {
    using namespace bg;
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 v = blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; v < p.n; v += warps) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), out = load_readonly(p.starts + v);
        for (u32 base = begin; base < end; base += WARP) {
            u32 e = base + lane(), w = e < end ? load_readonly(p.indices + e) : v;
            bool keep = e < end && tc::kept(v, end - begin, w, p.offsets);
            u32 kept = bg::ballot(keep);
            if (keep) p.lists[out + (u32)__popc(kept & ((1u << lane()) - 1))] = w;
            out += (u32)__popc(kept);
        }
    }
}

/// How many lists each way of taking them gets.
BG_KERNEL(tc_classes, bg::tc::ClassesParams, 512, 2) {
    using namespace bg;
    u32 wide = 0, narrow = 0, few = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.n; v += gridDim.x * blockDim.x) {
        u32 length = load_readonly(p.offsets + v + 1) - load_readonly(p.offsets + v);
        wide += length > p.whole;
        narrow += length > tc::FEW_LIST;
        few += length > 1;
    }
    warp_sync();
    wide = warp_sum(wide);
    narrow = warp_sum(narrow);
    few = warp_sum(few);
    if (lane() == 0 && few) {
        atomicAdd(p.result, wide);
        atomicAdd(p.result + 1, narrow);
        atomicAdd(p.result + 2, few);
    }
}
