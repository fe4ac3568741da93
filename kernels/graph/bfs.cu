// Breadth-first search of any graph: one cooperative launch that changes direction as it goes.
//
// Levels are in step by a barrier of the grid which carries the counts of the level. A small frontier is followed by block 0
// alone, whose barrier is twelve times cheaper. `visited` is two bitmaps: pushing sets bits in one of them, pulling reads one
// and writes the other.
#include "graph/bfs_grid.cuh"
#include "graph/bfs_parents.cuh"
#include "tuning/bfs.cuh"

namespace bg {
/// Shared memory: the barrier's words, counters, two halves of the staging area (or what a pull needs per warp), visited bits.
struct BfsShared {
    uint4* barrier;
    u32* staged_count;
    u32 *found, *arcs, *offset;
    u8* stage;
    BG_DEVICE BfsShared() {
        u8* base = shared_memory();
        barrier = (uint4*)base;
        staged_count = (u32*)(base + 16);
        found = staged_count + 1;
        arcs = staged_count + 2;
        offset = staged_count + 3;
        stage = base + 64;
    }
    BG_DEVICE void clear() {
        if (threadIdx.x == 0) *staged_count = *found = *arcs = 0;
        __syncthreads();
    }
    /// Adds up the tallies of the block.
    BG_DEVICE void sum(BfsTally tally) {
        u32 f = warp_sum(tally.found), a = warp_sum(tally.arcs);
        if (lane() == 0 && (f | a)) {
            atomicAdd(found, f);
            atomicAdd(arcs, a);
        }
        __syncthreads();
    }
};

template <class Piece> BG_DEVICE void bfs_search(const BfsGridParams& p) {
    BfsShared s;
    Grid grid(p.state, p.link, s.barrier);
    Piece* stage = (Piece*)s.stage;
    u8* todo = s.stage + threadIdx.x / WARP * (WARP * PULL_WORDS);
    u32* found_words = (u32*)(s.stage + blockDim.x * PULL_WORDS) + threadIdx.x / WARP * PULL_WORDS;
    u32* shared_bits = (u32*)(s.stage + 2 * p.stage_capacity * sizeof(Piece));
    u32* visited[2] = {p.visited_a, p.visited_b};
    Piece* queues[2] = {(Piece*)p.queue_a, (Piece*)p.queue_b};
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;

    const u32 start = load_readonly(p.out_offsets + p.source), degree = load_readonly(p.out_offsets + p.source + 1) - start;
    for (u32 v = thread; v < p.nodes; v += threads) {
        if (p.levels) p.levels[v] = v == p.source ? 0 : -1;
        if (p.parents && !p.smallest_parents) p.parents[v] = v == p.source ? v : NO_VERTEX;
    }
    for (u32 w = thread; w < p.words; w += threads) {
        u32 bits = p.isolated ? load_readonly(p.isolated + w) : 0;
        if (w == p.source / WARP) bits |= 1u << (p.source & 31u);
        if (w == p.nodes / WARP) bits |= FULL << (p.nodes & 31u);  // past the end
        visited[0][w] = bits;
    }
    u32 count = ceil_div(degree, p.chunk);
    if (blockIdx.x == 0) {
        for (u32 c = threadIdx.x; c < min_of(count, p.queue_capacity); c += blockDim.x) {
            queues[0][c] = Outbox<Piece>::piece_at(p.source, start, degree, c, p.chunk);
        }
        if (threadIdx.x == 0) p.totals->edges_traversed = 0;
    }
    if (grid.meet().stop) return;

    // Once so many are seen there is nothing left to find.
    const u32 all = p.connected + (p.isolated && bit_of(p.isolated, p.source) ? 1 : 0);
    u32 level = 0, seen = 1, frontier = 1, arcs = degree, explored = degree, bits = 0, queue = 0, small = 0;
    u32 arcs_before = 0;  // of the frontier before
    bool pull = false, flooded = false;
    while (frontier) {
        // Searches that have not grown in a few levels are thin.
        if (!pull && level >= p.alone_level && arcs <= p.alone_enter && count <= min_of(p.queue_capacity, p.stage_capacity)) {
            if (blockIdx.x == 0) {
                for (u32 i = threadIdx.x; i < count; i += blockDim.x) stage[i] = load_l2(queues[queue] + i);
                u32 half = 0, last = level + ALONE_LEVELS;
                while (level < last) {
                    s.clear();
                    Outbox<Piece> out{s.staged_count, stage + (half ^ 1) * p.stage_capacity, p.stage_capacity, queues[queue ^ 1], p.queue_capacity, nullptr};
                    BfsTally tally{0, 0};
                    bfs_push<true>(p, stage + half * p.stage_capacity, p.stage_capacity, queues[queue], count, level, visited[bits], out, tally);
                    __syncthreads();
                    s.sum(tally);
                    count = *s.staged_count;
                    frontier = *s.found;
                    arcs = *s.arcs;
                    seen += frontier;
                    explored += arcs;
                    half ^= 1;
                    queue ^= 1;
                    if (frontier) level++;
                    __syncthreads();
                    if (frontier == 0 || arcs > p.alone_leave || count > p.stage_capacity) break;
                }
                for (u32 i = threadIdx.x; i < min_of(count, p.stage_capacity); i += blockDim.x) {
                    if (i < p.queue_capacity) queues[queue][i] = stage[half * p.stage_capacity + i];
                }
                if (threadIdx.x == 0) {
                    grid.add_a(count);
                    grid.add_b(frontier);
                    grid.add_c(arcs);
                    p.totals->level = level;
                    p.totals->seen = seen;
                    p.totals->turn = queue;
                    p.totals->explored = explored;
                }
            }
            Meeting m = grid.meet();
            if (m.stop) return;
            count = m.a;
            frontier = m.b;
            arcs = m.c;
            level = load_l2(&p.totals->level);
            seen = load_l2(&p.totals->seen);
            queue = load_l2(&p.totals->turn);
            explored = load_l2(&p.totals->explored);
            grid.report(level);
            if (seen >= all) break;
            continue;
        }
        if (!pull) {
            // Few vertices may have most of the arcs.
            pull = count > p.queue_capacity || ((frontier > p.nodes / 128 || arcs > p.nodes) && (u64)arcs * p.alpha > p.arcs - explored);
            small = 0;
        }
        if (!pull && p.flood && arcs >= p.nodes / p.flood && arcs / 4 >= arcs_before) {
            // Surely wide enough to pull from: how many vertices it was will be seen then.
            bfs_flood(p, queues[queue], count, level, visited[bits]);
            if (grid.meet().stop) return;
            pull = flooded = true;
            level++;
            continue;
        }
        arcs_before = arcs;
        s.clear();
        BfsTally tally{0, 0};
        if (!pull) {
            Outbox<Piece> out{s.staged_count, stage, 2 * p.stage_capacity, queues[queue ^ 1], p.queue_capacity, &grid.state->slots[grid.turn & 3].a};
            bfs_push<false>(p, (const Piece*)nullptr, 0, queues[queue], count, level, visited[bits], out, tally);
            s.sum(tally);
            u32 held = min_of(*s.staged_count, out.stage_capacity);
            if (threadIdx.x == 0) {
                if (held) *s.offset = atomicAdd(out.queue_count, held);
                if (*s.found) {
                    grid.add_b(*s.found);
                    grid.add_c(*s.arcs);
                }
            }
            __syncthreads();
            u32 offset = *s.offset;
            for (u32 i = threadIdx.x; i < held; i += blockDim.x) {
                if (offset + i < p.queue_capacity) queues[queue ^ 1][offset + i] = stage[i];
            }
            Meeting m = grid.meet();
            if (m.stop) return;
            count = m.a;
            frontier = m.b;
            arcs = m.c;
            explored += arcs;
            queue ^= 1;
        } else {
            const u32* probe = visited[bits];
            if (p.shared_bits) {
                for (u32 w = threadIdx.x; w < p.words; w += blockDim.x) shared_bits[w] = load_l2(visited[bits] + w);
                probe = shared_bits;
                __syncthreads();
            }
            const bool use_first = p.first && (flooded || all - seen > p.nodes / 16);
            tally.found = bfs_pull(p, level, use_first, visited[bits], visited[bits ^ 1], probe, todo, found_words, tally.arcs);
            s.sum(tally);
            if (threadIdx.x == 0) {
                if (*s.found) grid.add_b(*s.found);
                if (flooded) grid.add_c(*s.arcs);
            }
            Meeting m = grid.meet();
            if (m.stop) return;
            frontier = m.b;
            bits ^= 1;
            if (flooded) {
                // Bits that stand for no vertex, or an isolated one, are set from the start.
                u32 before = m.c - (p.words * WARP - all);
                if (before == seen) level--;
                seen = before;
                flooded = false;
            }
            // A thin tail of few vertices is pulled to its end; a long one is pushed.
            if (frontier < p.nodes / 512) small++;
            if (frontier && frontier < p.nodes / 512 && (small >= SMALL_PULLS || all - seen > p.nodes / 8)) {
                bfs_enqueue<Piece>(p, grid, visited[bits ^ 1], visited[bits], queues[queue]);
                Meeting queued = grid.meet();
                if (queued.stop) return;
                if (queued.a <= p.queue_capacity) {
                    pull = false;
                    count = queued.a;
                    arcs = queued.c;
                }
            }
        }
        if (frontier) level++;
        seen += frontier;
        grid.report(level);
        if (seen >= all) break;
    }

    // All arcs but those of the vertices not reached; isolated ones, marked visited, have none.
    const u32 warps = threads / WARP, l = lane(), share = min_of(max_of(p.words / warps, 1u), WARP);
    u32 missed = 0;
    for (u32 base = (threadIdx.x / WARP * gridDim.x + blockIdx.x) * share; base < p.words; base += warps * share) {
        u32 unreached = l < share && base + l < p.words ? ~load_l2(visited[bits] + base + l) : 0;
        for (u32 open = ballot(unreached != 0); open; open &= open - 1) {
            u32 from = __ffs(open) - 1, v = (base + from) * WARP + l;
            u32 word = shuffle(unreached, from);
            if (word >> l & 1u) missed += load_readonly(p.out_offsets + v + 1) - load_readonly(p.out_offsets + v);
        }
    }
    missed = warp_sum(missed);
    if (l == 0 && missed) atomicAdd(&p.totals->edges_traversed, (u64)0 - missed);
    if (thread == 0) {
        atomicAdd(&p.totals->edges_traversed, (u64)p.arcs);
        p.totals->reached = seen;
        p.totals->depth = level;
    }
    if (p.smallest_parents) smallest_parents(p.in_offsets, p.in_indices, p.levels, p.parents, p.source, p.nodes);
}
}  // namespace bg

using namespace bg;

BG_KERNEL(bfs_grid_levels, BfsGridParams, 1024, 1) { bfs_search<uint2>(p); }
BG_KERNEL(bfs_grid_parents, BfsGridParams, 1024, 1) { bfs_search<uint4>(p); }
