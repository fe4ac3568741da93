// Breadth-first search of small thin graphs: rows, levels and the queue in the shared memory of one block, and one warp that searches.
//
// Needs: few arcs a row (S or fewer), a graph that fits. Where a level has some tens of vertices, a barrier costs more than the level:
// one warp needs none. Every lane takes V vertices of the queue and looks at all their arcs at once. Lanes that find the same vertex
// write their number to it and read it back: who finds his own has it. Vertices enter the queue once, so that it is the list of all that
// were reached.
#include "common/grid.cuh"
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "graph/bfs_totals.cuh"
#include "tuning/bfs.cuh"

namespace bg {
struct BfsQueueParams {
    const u16* rows;    // S a vertex, filled up with `nodes`; one more row of those
    i32* levels;
    BfsTotals* totals;  // zeroed
    GridState* state;
    HostLink link;
    u32 nodes, source;
    u32 seen_at, queue_at;  // in shared memory, in numbers of 16 bits behind the rows' first
};
struct BfsRowsParams {
    const u32 *offsets, *indices;
    u16* rows;
    u32 nodes, width;
};

constexpr u16 QUEUE_UNSEEN = 0xffff;
constexpr u32 QUEUE_HEAD = 64;

/// Words of shared memory ahead of the rows.
struct QueueFound {
    u32 reached, depth, passes;
};

/// S arcs of V vertices a lane.
template <u32 S, u32 V> BG_DEVICE void queue_search(const BfsQueueParams& p) {
    constexpr u32 E = S * V;
    static_assert((S == 4 || S == 8) && E <= 8, "a row is read at once, and a claim has room for the lane");
    QueueFound* found = (QueueFound*)shared_memory();
    u16* rows = (u16*)(shared_memory() + QUEUE_HEAD);
    u16 *seen = rows + p.seen_at, *queue = rows + p.queue_at;
    const u32 words = ceil_div((p.nodes + 1) * S, 8u);
    for (u32 base = threadIdx.x; base < words; base += 4 * blockDim.x) {
        uint4 x[4];
#pragma unroll
        for (u32 k = 0; k < 4; k++) x[k] = load_readonly((const uint4*)p.rows + min_of(base + k * blockDim.x, words - 1));
#pragma unroll
        for (u32 k = 0; k < 4; k++) if (base + k * blockDim.x < words) ((uint4*)rows)[base + k * blockDim.x] = x[k];
    }
    for (u32 v = threadIdx.x; v <= p.nodes; v += blockDim.x) seen[v] = v == p.source || v == p.nodes ? 0 : QUEUE_UNSEEN;
    if (threadIdx.x == 0) queue[0] = (u16)p.source;
    __syncthreads();

    if (threadIdx.x < WARP) {
        const u32 below = (1u << lane()) - 1, nowhere = p.nodes + 1;
        u32 from = 0, to = 1, level = 0, passes = 0;
        for (;;) {
            u32 end = to;
            level++;
            for (u32 base = from; base < to; base += V * WARP) {
                u32 next[E], was[E], fresh = 0, won = 0;
#pragma unroll
                for (u32 k = 0; k < V; k++) {
                    const u32 i = base + k * WARP + lane(), v = i < to ? (u32)load_volatile(queue + i) : p.nodes;
                    u32 row[S / 2];
                    if constexpr (S == 4) {
                        const uint2 r = *(const uint2*)(rows + v * S);
                        row[0] = r.x, row[1] = r.y;
                    } else {
                        const uint4 r = *(const uint4*)(rows + v * S);
                        row[0] = r.x, row[1] = r.y, row[S / 2 - 2] = r.z, row[S / 2 - 1] = r.w;
                    }
#pragma unroll
                    for (u32 j = 0; j < S; j++) next[k * S + j] = row[j / 2] >> 16 * (j & 1) & 0xffffu;
                }
#pragma unroll
                for (u32 e = 0; e < E; e++) was[e] = load_volatile(seen + next[e]);
                // Threads with nothing to write write where no thread reads: branches would cost more than all the rest.
#pragma unroll
                for (u32 e = 0; e < E; e++) {
                    const bool open = was[e] == QUEUE_UNSEEN;
                    fresh |= open ? 1u << e : 0;
                    store_volatile(seen + (open ? next[e] : nowhere), (u16)(lane() * E + e));
                }
                __syncwarp();
#pragma unroll
                for (u32 e = 0; e < E; e++) was[e] = load_volatile(seen + next[e]);
#pragma unroll
                for (u32 e = 0; e < E; e++) won |= was[e] == lane() * E + e ? 1u << e : 0;
                // A level may equal the number by chance.
                won &= fresh;
                __syncwarp();
#pragma unroll
                for (u32 e = 0; e < E; e++) {
                    const bool own = won >> e & 1u;
                    const u32 mask = ballot(own);
                    store_volatile(queue + (own ? end + __popc(mask & below) : p.nodes), (u16)next[e]);
                    store_volatile(seen + (own ? next[e] : nowhere), (u16)level);
                    end += __popc(mask);
                }
                __syncwarp();
                passes++;
            }
            if (end == to) break;
            from = to;
            to = end;
            if (level % QUEUE_LOOK == 0 && p.link.cancel) {
                u32 stop = 0;
                if (lane() == 0) {
                    stop = load_volatile(p.link.cancel);
                    store_volatile(p.link.progress, level);
                    if (stop) p.state->stopped = 1;
                }
                if (shuffle(stop, 0)) break;
            }
        }
        if (lane() == 0) *found = QueueFound{to, level - 1, passes};
    }
    __syncthreads();

    const u32 reached = found->reached;
    for (u32 v = threadIdx.x; v < p.nodes; v += blockDim.x) p.levels[v] = seen[v] == QUEUE_UNSEEN ? -1 : (i32)seen[v];
    u32 edges = 0;
    for (u32 i = threadIdx.x; i < reached; i += blockDim.x) {
#pragma unroll
        for (u32 j = 0; j < S; j++) edges += rows[queue[i] * S + j] != p.nodes;
    }
    edges = warp_sum(edges);
    if (lane() == 0 && edges) atomicAdd(&p.totals->edges_traversed, (u64)edges);
    if (threadIdx.x == 0) {
        p.totals->reached = reached;
        p.totals->depth = found->depth;
        p.totals->turn = found->passes;
        p.state->steps = found->depth;
    }
}

BG_KERNEL(bfs_queue_4, BfsQueueParams, 1024, 1) { queue_search<4, 2>(p); }
BG_KERNEL(bfs_queue_8, BfsQueueParams, 1024, 1) { queue_search<8, 1>(p); }

/// Rows of `width` neighbours, none longer.
BG_KERNEL(bfs_queue_rows, BfsRowsParams, 256, 4) {
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v <= p.nodes; v += gridDim.x * blockDim.x) {
        const u32 from = v < p.nodes ? p.offsets[v] : 0, degree = v < p.nodes ? p.offsets[v + 1] - from : 0;
        for (u32 j = 0; j < p.width; j++) p.rows[v * p.width + j] = (u16)(j < degree ? p.indices[from + j] : p.nodes);
    }
}
}  // namespace bg
