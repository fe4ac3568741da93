// The search over diagonal slices: see bfs_slices.cuh.
#include "graph/bfs_slices.cuh"

namespace bg {
/// What block 0 looks at between exchanges, read ahead so that nobody waits for it.
struct SlicesWatch {
    static constexpr u32 PER_LANE = SLICES_BLOCKS / WARP;
    uint4 seen[PER_LANE];

    BG_DEVICE void read(const BfsSlicesParams& p) {
#pragma unroll
        for (u32 j = 0; j < PER_LANE; j++) {
            u32 b = j * WARP + lane();
            if (b < gridDim.x) seen[j] = load_volatile4(p.progress + b);
        }
    }
    /// Whether nothing is left to find: every vertex is visited, or in an epoch that all have done nobody found any.
    BG_DEVICE bool over(const BfsSlicesParams& p) const {
        u32 slowest = FULL, active = 0, visited = 0;
#pragma unroll
        for (u32 j = 0; j < PER_LANE; j++) {
            u32 b = j * WARP + lane();
            if (b < gridDim.x) {
                // Tags of earlier runs are below the base.
                u32 epoch = seen[j].x - p.base < 0x80000000u ? seen[j].x - p.base : 0;
                u32 last = seen[j].y - p.base < 0x80000000u ? seen[j].y - p.base : 0;
                slowest = min_of(slowest, epoch);
                active = max_of(active, last);
                if (seen[j].z == p.base) visited += seen[j].w;
            }
        }
        return warp_sum(visited) >= p.connected || warp_max(active) < warp_min(slowest);
    }
};

/// Words of shared memory ahead of the frontiers. Those with a number for each epoch are cleared in the epoch between.
struct SlicesFlags {
    u32 over;
    u32 live[3];    // by levels in turn: a bit for each warp that has a frontier
    u32 seen[2];    // by epochs in turn: vertices visited
    u32 active[2];  // by epochs in turn: whether the block found a vertex
};

/// R entries of a word are kept in registers, the others read as they are needed; a lane has W words.
template <u32 R, u32 W> BG_DEVICE void slices_search(const BfsSlicesParams& p) {
    SlicesFlags* flags = (SlicesFlags*)shared_memory();
    const u32 pitch = p.window + 2 * p.bandwidth + 2;
    u32* now = (u32*)(shared_memory() + SLICES_HEAD) + p.bandwidth;
    u32* next = now + pitch;
    const u32 warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const i32 origin = (i32)(blockIdx.x * p.own) - (i32)p.halo;

    u32 mask[W][R], at[W][R], rest[W], rest_end[W], visited[W], index[W], word[W];
    bool exists[W], mine[W];
    for (u32 i = threadIdx.x; i < 2 * pitch; i += blockDim.x) now[(i32)i - (i32)p.bandwidth] = 0;
    if (threadIdx.x < sizeof(SlicesFlags) / 4) ((u32*)flags)[threadIdx.x] = 0;
    __syncthreads();
    // The warps whose frontier this one's words look at.
    u32 looks_at = 0;
    auto look = [&](u32 bit) {
        for (u32 j = 0; j < 2; j++) {
            i32 i = ((i32)bit >> 5) + (i32)j;
            if (i < 0) continue;
            u32 column = p.lane_step == 1 ? (u32)i / WARP : (u32)i % p.columns;
            looks_at |= 1u << column % warps;
        }
    };
#pragma unroll
    for (u32 k = 0; k < W; k++) {
        const u32 column = warp + k * warps;
        const u32 i = index[k] = column < p.columns ? lane() * p.lane_step + column * p.column_step : p.window;
        const i32 g = origin + (i32)i;
        word[k] = (u32)g;
        exists[k] = i < p.window && g >= 0 && (u32)g < p.words;
        mine[k] = exists[k] && i >= p.halo && i < p.halo + p.own;
        rest[k] = rest_end[k] = visited[k] = 0;
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            mask[k][r] = 0;
            at[k][r] = 32 * min_of(i, p.window - 1);
        }
        if (!exists[k]) continue;
        rest[k] = load_readonly(p.starts + g);
        rest_end[k] = load_readonly(p.starts + g + 1);
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            if (rest[k] < rest_end[k]) {
                uint2 entry = load_readonly(p.entries + rest[k]++);
                at[k][r] = 32 * i + entry.x;
                mask[k][r] = entry.y;
                look(at[k][r]);
            }
        }
        for (u32 e = rest[k]; e < rest_end[k]; e++) look(32 * i + load_readonly(p.entries + e).x);
        if ((u32)g == p.source / WARP) {
            visited[k] = 1u << (p.source & 31u);
            now[i] = visited[k];
            flags->live[0] = 1u << warp;
        }
    }
    for (u32 d = 16; d; d >>= 1) looks_at |= shuffle_xor(looks_at, d);
    i32* levels = p.order ? p.scratch_levels : p.levels;
    const u32 first = blockIdx.x * p.own * WARP, last = min_of(p.nodes, first + p.own * WARP);
    for (u32 v = first + threadIdx.x; v < last; v += blockDim.x) levels[v] = v == p.source ? 0 : -1;
    __syncthreads();

    u32 level = 0, deepest = 0, last_active = p.base, cancel = 0;
    u32 turn = 0;   // of the three live masks, the one of the frontier at hand
    u32 quiet = 0;  // levels in a row at which the warp left both frontiers empty
    SlicesWatch watch;
    for (u32 epoch = 1;; epoch++) {
        const u32 tag = p.base + epoch, parity = epoch & 1;
        u32 over = 0;
        if (blockIdx.x == 0 && warp == 0) watch.read(p);
        if (threadIdx.x == 0) over = load_volatile(p.done);
        for (u32 h = 0; h < p.hops; h++, level++) {
            const u32 live = *(volatile u32*)(flags->live + turn);
            const u32 turn_next = turn == 2 ? 0 : turn + 1, turn_free = turn_next == 2 ? 0 : turn_next + 1;
            if (threadIdx.x == 0) flags->live[turn_free] = 0;
            if ((live & looks_at) || quiet < 2) {
                u32 some = 0;
#pragma unroll
                for (u32 k = 0; k < W; k++) {
                    u32 fresh = 0;
#pragma unroll
                    for (u32 r = 0; r < R; r++) {
                        const u32* source = now + ((i32)at[k][r] >> 5);
                        fresh |= __funnelshift_r(source[0], source[1], at[k][r]) & mask[k][r];
                    }
                    for (u32 e = rest[k]; e < rest_end[k]; e++) {
                        uint2 entry = load_readonly(p.entries + e);
                        u32 bit = 32 * index[k] + entry.x;
                        const u32* source = now + ((i32)bit >> 5);
                        fresh |= __funnelshift_r(source[0], source[1], bit) & entry.y;
                    }
                    fresh &= ~visited[k];
                    visited[k] |= fresh;
                    if (index[k] < p.window) next[index[k]] = fresh;
                    u32 found = ballot(fresh != 0);
                    some |= found;
                    if (found) {
                        for (found &= ballot(mine[k]); found; found &= found - 1) {
                            u32 from = __ffs(found) - 1, bits = shuffle(fresh, from), w = shuffle(word[k], from);
                            if (bits >> lane() & 1u) levels[w * WARP + lane()] = (i32)level + 1;
                            deepest = level + 1;
                            flags->active[parity] = 1;
                        }
                    }
                }
                quiet = some ? 0 : quiet + 1;
                if (some && lane() == 0) atomicOr(flags->live + turn_next, 1u << warp);
            }
            u32* old = now;
            now = next;
            next = old;
            turn = turn_next;
            __syncthreads();
        }

        // The state of own words goes out, that of the margin comes in.
        u32 seen = 0;
#pragma unroll
        for (u32 k = 0; k < W; k++) {
            if (mine[k]) {
                store_volatile4(p.messages + (parity * p.words + word[k]), make_uint4(now[index[k]], tag, visited[k], tag));
                seen += __popc(visited[k]);
            }
        }
        seen = warp_sum(seen);
        if (lane() == 0 && seen) atomicAdd(flags->seen + parity, seen);
        if (blockIdx.x == 0 && warp == 0) {
            bool end = watch.over(p);
            if (threadIdx.x == 0) {
                if (p.link.cancel) {
                    if (cancel) {
                        p.state->stopped = 1;
                        end = true;
                    }
                    cancel = load_volatile(p.link.cancel);
                }
                p.state->steps = level;
                if (p.link.progress) *(volatile u32*)p.link.progress = level;
                if (end) {
                    atomicExch(p.done, p.base);
                    over = p.base;
                }
            }
        }
        if (threadIdx.x == 0) {
            if (over == p.base) flags->over = 1;
            flags->seen[parity ^ 1] = flags->active[parity ^ 1] = 0;
        }
        bool changed = false;
        u64 since = 0;
#pragma unroll
        for (u32 k = 0; k < W; k++) {
            if (!exists[k] || mine[k]) continue;
            const uint4* box = p.messages + (parity * p.words + word[k]);
            for (u32 spin = 0;; spin++) {
                uint4 message = load_volatile4(box);
                if (message.y == tag && message.w == tag) {
                    now[index[k]] = message.x;
                    visited[k] = message.z;
                    changed |= message.x != 0;
                    break;
                }
                if ((spin & 15u) == 15u && load_volatile(p.done) == p.base) {
                    flags->over = 1;
                    break;
                }
                if ((spin & 1023u) == 1023u) {
                    u64 time = clock_ns();
                    if (since == 0) since = time;
                    if (time - since > BARRIER_BOUND_NS) {
                        atomicExch(&p.state->failed, 1u);
                        atomicExch(p.done, p.base);
                    }
                }
                spin_pause(spin);
            }
        }
        if (any(changed) && lane() == 0) atomicOr(flags->live + turn, 1u << warp);
        quiet = 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            if (*(volatile u32*)(flags->active + parity)) last_active = tag;
            u32 visited_here = *(volatile u32*)(flags->seen + parity);
            store_volatile4(p.progress + blockIdx.x, make_uint4(tag, last_active, p.base, visited_here));
        }
        if (*(volatile u32*)&flags->over) break;
    }

    u32 reached = 0, missed = 0;
#pragma unroll
    for (u32 k = 0; k < W; k++) {
        if (mine[k]) reached += __popc(visited[k]);
        for (u32 left = ballot(mine[k] && visited[k] != FULL); left; left &= left - 1) {
            u32 from = __ffs(left) - 1, v = shuffle(word[k], from) * WARP + lane();
            u32 bits = shuffle(visited[k], from);
            if (v < p.nodes && !(bits >> lane() & 1u)) {
                u32 u = p.order ? load_readonly(p.order + v) : v;
                missed += load_readonly(p.out_offsets + u + 1) - load_readonly(p.out_offsets + u);
            }
        }
    }
    if (p.order) {
        for (u32 v = first + threadIdx.x; v < last; v += blockDim.x) p.levels[load_readonly(p.order + v)] = load_l2(levels + v);
    }
    reached = warp_sum(reached);
    missed = warp_sum(missed);
    deepest = warp_max(deepest);
    if (lane() == 0) {
        if (reached) atomicAdd(&p.totals->reached, reached);
        if (missed) atomicAdd(&p.totals->edges_traversed, (u64)0 - missed);
        if (deepest) atomicMax(&p.totals->depth, deepest);
        if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&p.totals->edges_traversed, (u64)p.arcs);
    }
}
}  // namespace bg

using namespace bg;

BG_KERNEL(bfs_slices_4x1, BfsSlicesParams, 1024, 1) { slices_search<4, 1>(p); }
BG_KERNEL(bfs_slices_4x2, BfsSlicesParams, 1024, 1) { slices_search<4, 2>(p); }
BG_KERNEL(bfs_slices_8x1, BfsSlicesParams, 1024, 1) { slices_search<8, 1>(p); }
BG_KERNEL(bfs_slices_8x2, BfsSlicesParams, 1024, 1) { slices_search<8, 2>(p); }
BG_KERNEL(bfs_slices_24x1, BfsSlicesParams, 512, 1) { slices_search<24, 1>(p); }
