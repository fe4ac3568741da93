// Connected components of symmetric graphs in which nearly all vertices are near the vertex of maximum degree: every vertex is hooked under its max-degree
// neighbour, and jumping along pointers from there ends at the vertex of maximum degree, but for few.
//
// Vertices are ranked by descending degree. The forest is prepared, one max-degree neighbour a vertex, and never written: `first` by
// vertex, `up` by rank, so that the hubs, through which all jumps go, lie beside each other and stay in L1. A vertex without a heavier
// neighbour is a root. Only roots have a place in `parent`, where trees are joined: the tree of rank 0, the giant, wherever it ends, keeps
// that root. Three steps, with a barrier after each:
//   jump      every vertex outside the giant is noted, and the giant's smallest vertex;
//   unite     those outside with all their neighbours;
//   smallest     their new roots learn of them, so that labels can be written.
#include "graph/cc_forest.cuh"
#include "tuning/cc.cuh"

namespace bg { namespace cc {
struct MaxDegreeParams {
    const u32* offsets;
    const u32* indices;
    const u32* rank;    // of every vertex
    const u32* vertex;  // of every rank
    u32* first;         // to be filled, n: by vertex, the rank of its max-degree neighbour, its own where none is heavier, or ALONE
    u32* up;            // to be filled, n: the same by rank, its own where alone
    u32* roots;         // to be filled, n: by rank, 1 for roots that have neighbours
    u32 n;
    u32 reserved;
};

struct AscentParams {
    const u32* offsets;
    const u32* indices;
    const u32* first;
    const u32* up;
    const u32* roots;   // their ranks
    u32* parent;        // n; used at roots
    u32* smallest;         // n; used at roots
    u32* labels;        // n: the result
    u32* long_rows;     // as in CcParams
    GridState* state;
    HostLink link;
    u32 n;
    u32 root_count;
};

/// Shared memory of a block; after it a bit for every vertex of its range that is in the giant, then one for those outside.
struct AscentShared {
    uint4 barrier;
    u32 outside, smallest, reserved[2];
};

/// The root above a rank.
BG_DEVICE u32 jump(const u32* up, u32 at) {
    while (at != 0) {
        u32 next = load_readonly(up + at);
        if (next == at) break;
        at = next;
    }
    return at;
}

/// Where the search for a vertex' root starts: the root of its tree.
struct Tree {
    const AscentParams& p;
    BG_DEVICE u32 operator()(u32 vertex) const { return jump(p.up, load_readonly(p.first + vertex)); }
};

/// One block's range of vertices.
struct Ascent {
    const AscentParams& p;
    AscentShared* shared;
    u32 low, count;
    u32 *giant, *outside;

    /// Keeps the smallest of a vertex in each lane for the block.
    BG_DEVICE void keep_min(u32 vertex) {
        vertex = warp_min(vertex);
        if (lane() == 0 && vertex != ALONE) atomicMin(&shared->smallest, vertex);
    }
    /// Tells the grid the block's smallest vertex of the giant, as its complement: the state starts as zeros.
    BG_DEVICE void tell_min() {
        __syncthreads();
        if (threadIdx.x == 0 && shared->smallest != ALONE) reduce_max(&p.state->reserved[1], ~shared->smallest);
    }

    BG_DEVICE void jump_all() {
        u32 smallest = ALONE, others = 0;
        for (u32 base = threadIdx.x - lane(); base < count; base += CLIMBERS * blockDim.x) {
            u32 at[CLIMBERS], active = 0;
#pragma unroll
            for (u32 j = 0; j < CLIMBERS; j++) {
                u32 i = base + j * blockDim.x + lane();
                at[j] = i < count ? load_readonly(p.first + low + i) : ALONE;
            }
#pragma unroll
            for (u32 j = 0; j < CLIMBERS; j++) active |= (u32)(at[j] != ALONE && at[j] != 0) << j;
            while (active) {
                u32 next[CLIMBERS];
#pragma unroll
                for (u32 j = 0; j < CLIMBERS; j++) next[j] = active >> j & 1 ? load_readonly(p.up + at[j]) : at[j];
#pragma unroll
                for (u32 j = 0; j < CLIMBERS; j++) {
                    if (next[j] == at[j] || next[j] == 0) active &= ~(1u << j);
                    at[j] = next[j];
                }
            }
            warp_sync();
#pragma unroll
            for (u32 j = 0; j < CLIMBERS; j++) {
                u32 start = base + j * blockDim.x;
                if (start >= count) break;
                u32 in = ballot(at[j] == 0), out = ballot(at[j] != 0 && at[j] != ALONE);
                if (lane() == 0) {
                    giant[start / WARP] = in;
                    outside[start / WARP] = out;
                }
                others += (u32)__popc(out);
                if (at[j] == 0) smallest = min_of(smallest, low + start + lane());
            }
        }
        keep_min(smallest);
        if (lane() == 0 && others) atomicAdd(&shared->outside, others);
        tell_min();
    }

    /// Calls `visit` with the first vertex of every warp's share that has any outside, and the lanes whose vertices are.
    template <class Visit> BG_DEVICE void each_outside(Visit visit) {
        for (u32 start = threadIdx.x - lane(); start < count; start += blockDim.x) {
            u32 lanes = outside[start / WARP];
            if (lanes) visit(low + start, lanes);
        }
    }
};
}}  // namespace bg::cc

/// Finds the max-degree neighbour of every vertex.
BG_KERNEL(cc_max_degree, bg::cc::MaxDegreeParams, 256, 4) {
    using namespace bg;
    using namespace bg::cc;
    u32* scratch = (u32*)shared_memory();
    auto keep = [&](u32 r, u32 v, u32 degree, u32 max_neighbour) {
        u32 above = min_of(max_neighbour, r);
        p.first[v] = degree ? above : ALONE;
        p.up[r] = above;
        p.roots[r] = degree && above == r;
    };
    // The long rows come first.
    for (u32 r = blockIdx.x; r < p.n; r += gridDim.x) {
        u32 v = load_readonly(p.vertex + r), begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), max_neighbour = ALONE;
        if (end - begin <= BLOCK_ROW) break;
        for (u64 e = (u64)begin + threadIdx.x; e < end; e += blockDim.x) max_neighbour = min_of(max_neighbour, load_readonly(p.rank + load_readonly(p.indices + e)));
        max_neighbour = warp_min(max_neighbour);
        if (lane() == 0) scratch[threadIdx.x / WARP] = max_neighbour;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 w = 1; w < blockDim.x / WARP; w++) max_neighbour = min_of(max_neighbour, scratch[w]);
            keep(r, v, end - begin, max_neighbour);
        }
        __syncthreads();
    }
    for (u32 r = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; r < p.n; r += gridDim.x * (blockDim.x / WARP)) {
        u32 v = load_readonly(p.vertex + r), begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), max_neighbour = ALONE;
        if (end - begin > BLOCK_ROW) continue;
        for (u64 e = (u64)begin + lane(); e < end; e += WARP) max_neighbour = min_of(max_neighbour, load_readonly(p.rank + load_readonly(p.indices + e)));
        warp_sync();
        max_neighbour = warp_min(max_neighbour);
        if (lane() == 0) keep(r, v, end - begin, max_neighbour);
    }
}

BG_KERNEL(cc_ascent, bg::cc::AscentParams, 1024, 1) {
    using namespace bg;
    using namespace bg::cc;
    AscentShared* shared = (AscentShared*)shared_memory();
    Grid grid(p.state, p.link, &shared->barrier);
    const u32 n = p.n, range = ceil_div(ceil_div(n, gridDim.x), WARP) * WARP, low = min_of(blockIdx.x * range, n);
    u32* bits = (u32*)(shared + 1);
    Ascent own{p, shared, low, min_of(range, n - low), bits, bits + range / WARP};
    const Tree tree{p};
    u32* queued = &p.state->reserved[0];

    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.root_count; i += gridDim.x * blockDim.x) {
        u32 r = load_readonly(p.roots + i);
        p.parent[r] = r;
        p.smallest[r] = ALONE;
    }
    if (threadIdx.x == 0) {
        shared->outside = 0;
        shared->smallest = ALONE;
    }
    __syncthreads();
    own.jump_all();
    if (threadIdx.x == 0) grid.add_a(shared->outside);
    Meeting seen = grid.meet();
    if (seen.stop) return;
    grid.report(1);

    if (seen.a) {
        own.each_outside([&](u32 start, u32 lanes) {
            u32 v = start + lane(), begin = 0, end = 0;
            if (lanes >> lane() & 1) {
                begin = load_readonly(p.offsets + v);
                end = load_readonly(p.offsets + v + 1);
            }
            unite_rows(p.parent, p.indices, v, begin, end, p.long_rows, queued, tree);
        });
        if (grid.meet().stop) return;
        if (u32 rows = load_volatile(queued)) {
            u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
            unite_long_rows(p.parent, p.offsets, p.indices, p.long_rows, rows, thread, threads, tree);
            if (grid.meet().stop) return;
        }
        grid.report(2);
        u32 smallest = ALONE;
        own.each_outside([&](u32 start, u32 lanes) {
            if (!(lanes >> lane() & 1)) return;
            u32 v = start + lane(), root = find_root_fresh(p.parent, tree(v));
            p.labels[v] = root;
            if (root == 0) smallest = min_of(smallest, v);
            else if (load_volatile(p.smallest + root) > v) reduce_min(p.smallest + root, v);
        });
        warp_sync();
        own.keep_min(smallest);
        own.tell_min();
        if (grid.meet().stop) return;
    }

    const u32 smallest = ~load_volatile(&p.state->reserved[1]);
    for (u32 i = threadIdx.x; i < own.count; i += blockDim.x) {
        u32 v = low + i, label = v;
        if (own.giant[i / WARP] >> lane() & 1) {
            label = smallest;
        } else if (own.outside[i / WARP] >> lane() & 1) {
            u32 root = p.labels[v];
            label = root == 0 ? smallest : load_volatile(p.smallest + root);
        }
        p.labels[v] = label;
    }
}
