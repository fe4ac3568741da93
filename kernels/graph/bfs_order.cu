// A local numbering for graphs of small degrees and many levels: Cuthill-McKee, level by level in one block. And the vertex
// that is farthest from where a search began, to begin it at.
//
// The vertices of a level are ordered by the least and then the largest number among their neighbours of the level before:
// each is listed with its least neighbour, whose list is then sorted. On a grid this follows the diagonals exactly.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct OrderParams {
    const u32 *offsets, *indices;
    u32* rank;          // the new number of every vertex; all ones before
    u32* order;         // the vertex of every new number
    u32 *least, *most;  // of the neighbours' numbers; all ones, zeros
    u32* children;      // for each number, the vertices listed with it; zeros
    u32* places;        // for each number, where its list starts
    u32* listed;        // the lists
    u32* result;        // vertices numbered by levels, levels, widest level
    u32 nodes, start;
};
struct FarthestParams {
    const i32* levels;
    u64* farthest;  // zeroed; level << 32 | ~vertex
    u32 nodes, reserved;
};

BG_KERNEL(bfs_farthest, FarthestParams, 256, 4) {
    u32 level = 0, vertex = FULL;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        i32 l = load_readonly(p.levels + v);
        if (l >= 0 && (vertex == FULL || (u32)l > level)) {
            level = (u32)l;
            vertex = v;
        }
    }
    u32 most = warp_max(vertex == FULL ? 0 : level);
    u32 first = warp_min(vertex != FULL && level == most ? vertex : FULL);
    if (lane() == 0 && first != FULL) atomicMax(p.farthest, (u64)most << 32 | (u32)~first);
}

BG_KERNEL(bfs_order, OrderParams, 1024, 1) {
    u32* shared = (u32*)shared_memory();
    u32* next_count = shared;        // vertices of the next level
    u32* scratch = shared + 16;      // 33 words
    // The next level as it is found, before it is in order; the tail of the order itself serves.
    if (threadIdx.x == 0) {
        p.rank[p.start] = 0;
        p.order[0] = p.start;
    }
    __syncthreads();
    u32 from = 0, to = 1, levels = 0, widest = 1;
    while (from < to) {
        if (threadIdx.x == 0) *next_count = 0;
        __syncthreads();
        // Every unnumbered neighbour hears of its neighbours' numbers; the first to tell it lists it.
        for (u32 r = from + threadIdx.x; r < to; r += blockDim.x) {
            u32 v = load_l2(p.order + r), end = load_readonly(p.offsets + v + 1);
            for (u32 e = load_readonly(p.offsets + v); e < end; e++) {
                u32 u = load_readonly(p.indices + e);
                if (load_l2(p.rank + u) != FULL) continue;
                u32 before = atomicMin(p.least + u, r);
                atomicMax(p.most + u, r);
                if (before == FULL) p.order[to + atomicAdd(next_count, 1u)] = u;
            }
        }
        __syncthreads();
        const u32 count = *(volatile u32*)next_count;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            atomicAdd(p.children + load_l2(p.least + load_l2(p.order + to + i)), 1u);
        }
        __syncthreads();
        // Where each list starts; the counts become cursors.
        u32 running = to;
        for (u32 base = from; base < to; base += blockDim.x) {
            u32 r = base + threadIdx.x, own = r < to ? load_l2(p.children + r) : 0, total;
            u32 before = block_scan_exclusive(own, scratch, total);
            if (r < to) p.places[r] = running + before;
            running += total;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 u = load_l2(p.order + to + i), parent = load_l2(p.least + u);
            // Counts down, so that the count is whole again when all have their place.
            u32 place = load_l2(p.places + parent) + atomicSub(p.children + parent, 1u) - 1;
            p.listed[place] = u;
            p.rank[u] = place;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            u32 u = load_l2(p.listed + to + i), parent = load_l2(p.least + u), own = load_l2(p.most + u);
            u32 first = load_l2(p.places + parent), smaller = 0;
            // A list is a run of vertices with the same least neighbour.
            for (u32 at = first; at < to + count; at++) {
                u32 other = load_l2(p.listed + at);
                if (load_l2(p.least + other) != parent) break;
                u32 key = load_l2(p.most + other);
                smaller += key < own || (key == own && other < u);
            }
            p.order[first + smaller] = u;
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) p.rank[load_l2(p.order + to + i)] = to + i;
        __syncthreads();
        if (count) levels++;
        widest = max_of(widest, count);
        from = to;
        to += count;
    }
    // Vertices out of reach come last, as they are.
    const u32 reached = to;
    u32 running = reached;
    for (u32 base = 0; base < p.nodes && running < p.nodes; base += blockDim.x) {
        u32 v = base + threadIdx.x, own = v < p.nodes && load_l2(p.rank + v) == FULL ? 1 : 0, total;
        u32 before = block_scan_exclusive(own, scratch, total);
        if (own) {
            p.order[running + before] = v;
            p.rank[v] = running + before;
        }
        running += total;
    }
    if (threadIdx.x == 0) {
        p.result[0] = reached;
        p.result[1] = levels;
        p.result[2] = widest;
    }
}
}  // namespace bg
