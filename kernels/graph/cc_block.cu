// Connected components of a small symmetric graph in one block: arcs in registers, parents in shared memory.
//
// First every vertex is hooked under its smallest neighbour, then every root under a smaller one next to its tree, by atomic minima that
// wait for nothing and may lose a link; each time trees are made flat. Arcs whose ends are not in one tree by then are few: these are
// joined one by one, and no link is lost.
#include "graph/cc_forest.cuh"
#include "tuning/cc.cuh"

namespace bg { namespace cc {
struct ArcsParams {
    const u32* offsets;
    const u32* indices;
    u32* arcs;      // to be filled: vertex << 16 | smaller neighbour, in any order
    u32* count;     // zero
    u32 n;
    u32 reserved;
};

struct BlockParams {
    const u32* arcs;
    u32* labels;
    u32 n;
    u32 count;      // of arcs
};

/// Joins the trees that `a` and `b` are in: the larger is hooked under the smaller, and what it was hooked under before is joined next
/// (Rem's algorithm).
BG_DEVICE void unite_in_block(u32* parent, u32 a, u32 b) {
    while (a != b) {
        u32 high = max_of(a, b), low = min_of(a, b), above = load_volatile(parent + high);
        if (above > low) {
            above = atomicMin(parent + high, low);
            if (above == high) return;
        }
        a = above;
        b = low;
    }
}

/// The root above `v`; long paths halve for all who follow them. Only while no link is made.
BG_DEVICE u32 root_in_block(u32* parent, u32 v) {
    u32 above = load_volatile(parent + v);
    while (above != v) {
        u32 next = load_volatile(parent + above);
        if (next == above) return above;
        atomicMin(parent + v, next);
        v = above;
        above = next;
    }
    return v;
}

/// Hooks every vertex under its root.
BG_DEVICE void flatten_in_block(u32* parent, u32 n) {
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
        // Others follow the same paths meanwhile.
        atomicMin(parent + i, root_in_block(parent, i));
    }
    __syncthreads();
}

/// The parents of both ends of some arcs, all asked for before any is needed.
BG_DEVICE void parents_of(const u32* parent, const u32 (&arc)[BATCH], u32 (&a)[BATCH], u32 (&b)[BATCH]) {
#pragma unroll
    for (u32 j = 0; j < BATCH; j++) {
        a[j] = load_volatile(parent + (arc[j] >> 16));
        b[j] = load_volatile(parent + (arc[j] & 0xffffu));
    }
}
}}  // namespace bg::cc

/// Shared memory: the parents.
BG_KERNEL(cc_block, bg::cc::BlockParams, 1024, 1) {
    using namespace bg;
    using namespace bg::cc;
    u32* parent = (u32*)shared_memory();
    // What is beyond the last arc is a loop, which changes nothing.
    auto load = [&](u32 base, u32 (&arc)[BATCH]) {
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) {
            u32 i = base + j * blockDim.x + threadIdx.x;
            arc[j] = i < p.count ? load_readonly(p.arcs + i) : 0;
        }
    };
    u32 kept[BATCH];
    load(0, kept);
    auto each_batch = [&](auto visit) {
        visit(kept);
        for (u32 base = BATCH * blockDim.x; base < p.count; base += BATCH * blockDim.x) {
            u32 arc[BATCH];
            load(base, arc);
            visit(arc);
        }
    };
    for (u32 v = threadIdx.x; v < p.n; v += blockDim.x) parent[v] = v;
    __syncthreads();
    each_batch([&](const u32 (&arc)[BATCH]) {
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) atomicMin(parent + (arc[j] >> 16), arc[j] & 0xffffu);
    });
    __syncthreads();
    flatten_in_block(parent, p.n);
    bool apart = false;
    each_batch([&](const u32 (&arc)[BATCH]) {
        u32 a[BATCH], b[BATCH];
        parents_of(parent, arc, a, b);
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) {
            if (a[j] == b[j]) continue;
            apart = true;
            u32 high = max_of(a[j], b[j]), low = min_of(a[j], b[j]);
            if (load_volatile(parent + high) > low) atomicMin(parent + high, low);
        }
    });
    bool joined = !__syncthreads_or(apart);
    if (!joined) {
        flatten_in_block(parent, p.n);
        each_batch([&](const u32 (&arc)[BATCH]) {
            u32 a[BATCH], b[BATCH];
            parents_of(parent, arc, a, b);
#pragma unroll
            for (u32 j = 0; j < BATCH; j++) {
                if (a[j] != b[j]) unite_in_block(parent, a[j], b[j]);
            }
        });
        __syncthreads();
    }
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) p.labels[i] = joined ? parent[i] : root_in_block(parent, i);
}

/// A warp for each vertex.
BG_KERNEL(cc_arcs, bg::cc::ArcsParams, 256, 1) {
    using namespace bg;
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 v = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; v < p.n; v += warps) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1);
        for (u32 base = begin; base < end; base += WARP) {
            u32 neighbour = base + lane() < end ? load_readonly(p.indices + base + lane()) : v;
            u32 taken = bg::ballot(neighbour < v), first = 0;
            if (taken == 0) break;
            if (lane() == 0) first = atomicAdd(p.count, (u32)__popc(taken));
            first = bg::shuffle(first, 0);
            if (neighbour < v) p.arcs[first + (u32)__popc(taken & ((1u << lane()) - 1))] = v << 16 | neighbour;
        }
    }
}
