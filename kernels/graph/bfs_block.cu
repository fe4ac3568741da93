// The search of small graphs: see bfs_block.cuh.
#include "graph/bfs_block.cuh"

namespace bg {
struct BfsArcsParams {
    const u32 *offsets, *indices;
    u32* arcs;
    u32 nodes, reserved;
};

/// E arcs a thread. CLUSTER: the blocks of the launch are one cluster, each with a copy of all levels.
template <u32 E, bool CLUSTER> BG_DEVICE void block_search(const BfsBlockParams& p) {
    static_assert(E % 8 == 0 && E <= 32, "a word says which arcs are left");
    u32* flags = (u32*)shared_memory();
    u16* seen = (u16*)(shared_memory() + BLOCK_HEAD);
    const u32 ranks = CLUSTER ? gridDim.x : 1, rank = CLUSTER ? cluster_rank() : 0;
    u32 arc[E], left = 0;
#pragma unroll
    for (u32 e = 0; e < E; e++) {
        u32 i = (e * ranks + rank) * blockDim.x + threadIdx.x;
        arc[e] = 0;
        if (i < p.count) {
            arc[e] = load_readonly(p.arcs + i);
            left |= 1u << e;
        }
    }
    const u32 all = __popc(left);
    for (u32 i = threadIdx.x; i < (p.nodes + 1) / 2; i += blockDim.x) ((u32*)seen)[i] = FULL;
    if (threadIdx.x < 3) flags[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 0) seen[p.source] = 0;
    if (CLUSTER) cluster_sync();
    else __syncthreads();

    u32 level = 0, turn = 0;
    for (;;) {
        bool found = false;
#pragma unroll
        for (u32 e0 = 0; e0 < E; e0 += 8) {
            if ((left >> e0 & 0xffu) == 0) continue;
            u16 from[8];
            u32 fired = 0;
#pragma unroll
            for (u32 e = 0; e < 8; e++) from[e] = load_volatile(seen + (arc[e0 + e] >> 16));
#pragma unroll
            for (u32 e = 0; e < 8; e++) fired |= from[e] == level ? 1u << (e0 + e) : 0;
            fired &= left;
            left &= ~fired;
            if (fired) {
#pragma unroll
                for (u32 e = 0; e < 8; e++) {
                    u32 target = arc[e0 + e] & 0xffffu;
                    if (fired >> (e0 + e) & 1u && load_volatile(seen + target) == BLOCK_UNSEEN) {
                        if (CLUSTER) {
                            for (u32 r = 0; r < ranks; r++) store_volatile(cluster_map(seen, r) + target, (u16)(level + 1));
                        } else {
                            store_volatile(seen + target, (u16)(level + 1));
                        }
                        found = true;
                    }
                }
            }
        }
        bool more;
        if (CLUSTER) {
            // Three flags in turn: the one of the next level is cleared while no thread reads or raises it.
            if (threadIdx.x == 0) store_volatile(flags + (turn == 2 ? 0 : turn + 1), 0);
            if (any(found) && lane() < ranks) store_volatile(cluster_map(flags, lane()) + turn, 1);
            cluster_sync();
            more = load_volatile(flags + turn) != 0;
            turn = turn == 2 ? 0 : turn + 1;
        } else {
            more = __syncthreads_or(found);
        }
        if (!more) break;
        level++;
        if (level % BLOCK_LOOK == 0 && p.link.cancel) {
            // All blocks of a cluster must see the same answer: the first reads it.
            if (rank == 0 && threadIdx.x == 0) {
                u32 stop = load_volatile(p.link.cancel);
                for (u32 r = 0; r < ranks; r++) store_volatile((CLUSTER ? cluster_map(flags, r) : flags) + 4, stop);
                store_volatile(p.link.progress, level);
                if (stop) p.state->stopped = 1;
            }
            if (CLUSTER) cluster_sync();
            else __syncthreads();
            if (load_volatile(flags + 4)) break;
        }
    }

    u32 reached = 0, edges = warp_sum(all - __popc(left));
    const u32 share = ceil_div(p.nodes, ranks), end = min_of(p.nodes, (rank + 1) * share);
    for (u32 v = rank * share + threadIdx.x; v < end; v += blockDim.x) {
        u16 found = seen[v];
        p.levels[v] = found == BLOCK_UNSEEN ? -1 : (i32)found;
        reached += found != BLOCK_UNSEEN;
    }
    reached = warp_sum(reached);
    if (lane() == 0) {
        if (reached) atomicAdd(&p.totals->reached, reached);
        if (edges) atomicAdd(&p.totals->edges_traversed, (u64)edges);
    }
    if (rank == 0 && threadIdx.x == 0) {
        p.totals->depth = level;
        p.state->steps = level;
    }
    // No thread leaves while others may still write into its shared memory.
    if (CLUSTER) cluster_sync();
}

BG_KERNEL(bfs_block_8, BfsBlockParams, 1024, 1) { block_search<8, false>(p); }
BG_KERNEL(bfs_block_16, BfsBlockParams, 1024, 1) { block_search<16, false>(p); }
BG_KERNEL(bfs_block_24, BfsBlockParams, 1024, 1) { block_search<24, false>(p); }
BG_KERNEL(bfs_cluster_8, BfsBlockParams, 1024, 1) { block_search<8, true>(p); }
BG_KERNEL(bfs_cluster_16, BfsBlockParams, 1024, 1) { block_search<16, true>(p); }
BG_KERNEL(bfs_cluster_24, BfsBlockParams, 1024, 1) { block_search<24, true>(p); }

BG_KERNEL(bfs_arcs, BfsArcsParams, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 v = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; v < p.nodes; v += warps) {
        u32 end = load_readonly(p.offsets + v + 1);
        for (u32 i = load_readonly(p.offsets + v) + lane(); i < end; i += WARP) p.arcs[i] = v << 16 | load_readonly(p.indices + i);
    }
}
}  // namespace bg
