// The search over diagonal slices: see bfs_slices.cuh.
#include "graph/bfs_slices.cuh"

namespace bg {
/// Whether in an epoch that all blocks have done no vertex was found. A full warp calls it.
BG_DEVICE bool slices_quiet(const BfsSlicesParams& p) {
    u32 slowest = FULL, active = 0;
    for (u32 b = lane(); b < gridDim.x; b += WARP) {
        u64 progress = load_volatile(p.progress + b);
        // Tags of earlier runs are below the base.
        u32 epoch = (u32)progress - p.base, found = (u32)(progress >> 32) - p.base;
        slowest = min_of(slowest, epoch < 0x80000000u ? epoch : 0);
        active = max_of(active, found < 0x80000000u ? found : 0);
    }
    return warp_max(active) < warp_min(slowest);
}

/// The levels of the vertices of a word that are found in an era, one bit of the level a plane.
///
/// The step counter of the era has the level's bits. Whenever bit j of it flips, the vertices seen so far are flipped in plane j: a vertex
/// found at step s has then been flipped as often as the bit has since, so that bit j of s is its bit of the plane, exclusive or that of
/// the counter at the end. A step costs two operations in the mean, whatever is found.
struct SlicesLevels {
    u32 plane[SLICES_PLANES];
    u32 before;  // seen when the era began

    BG_DEVICE void begin(u32 seen) {
#pragma unroll
        for (u32 j = 0; j < SLICES_PLANES; j++) plane[j] = 0;
        before = seen;
    }
    /// The counter goes from `step` - 1 to `step`; `seen` are those found before.
    BG_DEVICE void advance(u32 seen, u32 step) {
        plane[0] ^= seen;
        plane[1] ^= step & 1u ? 0 : seen;
        // A branch takes as long as a few planes.
        if (step & 3u) return;
#pragma unroll
        for (u32 j = 2; j < SLICES_PLANES; j++) {
            plane[j] ^= seen;
            if (step >> j & 1u) return;
        }
    }
    /// The planes of the levels, once the counter is at `step`.
    BG_DEVICE void end(u32 step) {
#pragma unroll
        for (u32 j = 0; j < SLICES_PLANES; j++) {
            if (step >> j & 1u) plane[j] = ~plane[j];
        }
    }
    /// The largest level of the vertices `found`, `start` being the level before the era's first; after `end`.
    BG_DEVICE u32 deepest(u32 found, u32 start) const {
        u32 left = found, step = 0;
#pragma unroll
        for (u32 j = SLICES_PLANES; j-- > 0;) {
            u32 high = left & plane[j];
            if (high) {
                left = high;
                step |= 1u << j;
            }
        }
        return left ? start + step : 0;
    }
    /// Writes the levels of the vertices `found` in the words of a warp; after `end`.
    BG_DEVICE void write(const BfsSlicesParams& p, u32 word, u32 found, u32 start) const {
        for (u32 left = ballot(found != 0); left; left &= left - 1) {
            u32 from = __ffs(left) - 1, v = shuffle(word, from) * WARP + lane(), level = start;
#pragma unroll
            for (u32 j = 0; j < SLICES_PLANES; j++) level += (shuffle(plane[j], from) >> lane() & 1u) << j;
            if (shuffle(found, from) >> lane() & 1u) p.levels[p.order ? load_readonly(p.order + v) : v] = (i32)level;
        }
    }
};

/// Words of shared memory ahead of the frontiers. Those with a number for each epoch are cleared in the epoch between.
struct SlicesFlags {
    u32 over;
    u32 found[2];  // by epochs in turn: whether the block found a vertex
    u32 unused;
    u8 live[2][WARP];  // by levels in turn: whether a warp has a frontier
};

/// R entries of a word are kept in registers, the others read as they are needed (4: there are no others); a lane has W words.
template <u32 R, u32 W> BG_DEVICE void slices_search(const BfsSlicesParams& p) {
    // The two frontiers lie a fixed number of words apart, so that a step addresses either by a constant.
    constexpr u32 PITCH = slices_pitch(W);
    // Whether there are registers for the places of the entries beside their shifts.
    constexpr bool PLACED = R * W <= 4 || R == 24;
    SlicesFlags* flags = (SlicesFlags*)shared_memory();
    u32* frontier = (u32*)(shared_memory() + SLICES_HEAD) + p.bandwidth;
    const SharedPlace<u32> frontiers(frontier);
    const u32 warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const SharedPlace<u8> live_of_lane(&flags->live[0][lane()]), live_of_own(&flags->live[0][warp]);
    const i32 origin = (i32)(blockIdx.x * p.own) - (i32)p.halo;

    u32 mask[W][R], at[W][R], rest[W], rest_end[W], visited[W], index[W], word[W], counted[W];
    SharedPlace<u32> from_word[PLACED ? W : 1][PLACED ? R : 1], own_word[W];
    bool exists[W], mine[W];
    SlicesLevels found_levels[W];
    for (u32 i = threadIdx.x; i < p.window + 2 * p.bandwidth + 2; i += blockDim.x) {
        frontier[(i32)i - (i32)p.bandwidth] = 0;
        frontier[(i32)i - (i32)p.bandwidth + (i32)PITCH] = 0;
    }
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
        rest[k] = rest_end[k] = visited[k] = counted[k] = 0;
        found_levels[k].begin(0);
#pragma unroll
        for (u32 r = 0; r < R; r++) {
            mask[k][r] = 0;
            at[k][r] = 32 * min_of(i, p.window - 1);
        }
        if (exists[k]) {
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
                frontier[i] = visited[k];
                flags->live[0][warp] = 1;
            }
        }
        // Threads beyond the window write where no thread reads.
        own_word[k] = frontiers.moved(i < p.window ? (i32)i : (i32)(PITCH - 1 - p.bandwidth));
        if constexpr (PLACED) {
#pragma unroll
            for (u32 r = 0; r < R; r++) from_word[k][r] = frontiers.moved((i32)at[k][r] >> 5);
        }
    }
    for (u32 d = 16; d; d >>= 1) looks_at |= shuffle_xor(looks_at, d);
    __syncthreads();

    u32 level = 0, era = 0, deepest = 0, last_active = p.base, cancel = 0;
    u32 turn = 0;   // of the frontiers and what says who has one, those at hand
    u32 quiet = 0;  // levels in a row at which the warp left both frontiers empty
    // One level, from one frontier into the other.
    auto take_step = [&](auto frontier_at_hand) {
        constexpr u32 FROM = decltype(frontier_at_hand)::value, TO = FROM ^ 1;
        level++;
        // Few entries: asked for at once, whether they are needed or not.
        constexpr bool EAGER = R * W <= 4;
        u32 low[EAGER ? R : 1], high[EAGER ? R : 1];
        const u8 live_there = live_of_lane.template load<FROM * WARP>();
        if constexpr (EAGER) {
#pragma unroll
            for (u32 r = 0; r < R; r++) {
                low[r] = from_word[0][r].template load<FROM * PITCH>();
                high[r] = from_word[0][r].template load<FROM * PITCH + 1>();
            }
        }
#pragma unroll
        for (u32 k = 0; k < W; k++) found_levels[k].advance(visited[k], level - era);
        const u32 live = ballot(live_there != 0);
        if ((live & looks_at) || quiet < 2) {
            bool some = false;
#pragma unroll
            for (u32 k = 0; k < W; k++) {
                u32 fresh = 0;
#pragma unroll
                for (u32 r = 0; r < R; r++) {
                    if constexpr (EAGER) {
                        fresh |= __funnelshift_r(low[r], high[r], at[k][r]) & mask[k][r];
                    } else {
                        const SharedPlace<u32> source = PLACED ? from_word[PLACED ? k : 0][PLACED ? r : 0] : frontiers.moved((i32)at[k][r] >> 5);
                        fresh |= __funnelshift_r(source.template load<FROM * PITCH>(), source.template load<FROM * PITCH + 1>(), at[k][r]) & mask[k][r];
                    }
                }
                for (u32 e = rest[k]; R > 4 && e < rest_end[k]; e++) {
                    const uint2 entry = load_readonly(p.entries + e);
                    const u32 bit = 32 * index[k] + entry.x;
                    const SharedPlace<u32> source = frontiers.moved((i32)bit >> 5);
                    fresh |= __funnelshift_r(source.template load<FROM * PITCH>(), source.template load<FROM * PITCH + 1>(), bit) & entry.y;
                }
                fresh &= ~visited[k];
                visited[k] |= fresh;
                own_word[k].template store<TO * PITCH>(fresh);
                some |= fresh != 0;
            }
            some = any(some);
            quiet = some ? 0 : quiet + 1;
            // All lanes say the same.
            live_of_own.template store<TO * WARP>(some);
        }
        __syncthreads();
    };
    Looks looks;
    for (u32 epoch = 1;; epoch++) {
        const u32 tag = p.base + epoch, parity = epoch & 1;
        if (level - era + p.hops > SLICES_ERA) {
#pragma unroll
            for (u32 k = 0; k < W; k++) {
                const u32 found = mine[k] ? visited[k] & ~found_levels[k].before : 0;
                found_levels[k].end(level - era);
                found_levels[k].write(p, word[k], found, era);
                deepest = max_of(deepest, found_levels[k].deepest(found, era));
                found_levels[k].begin(visited[k]);
            }
            era = level;
        }
        u32 h = 0;
        for (; turn == 0 && h + 2 <= p.hops; h += 2) {
            take_step(Number<0>());
            take_step(Number<1>());
        }
        for (; h < p.hops; h++) {
            if (turn == 0) take_step(Number<0>());
            else take_step(Number<1>());
            turn ^= 1;
        }
        u32* now = frontier + turn * PITCH;

        // The state of own words goes out, that of the margin comes in.
        u32 found = 0;
#pragma unroll
        for (u32 k = 0; k < W; k++) {
            if (mine[k]) {
                store_volatile4(p.messages + (parity * p.words + word[k]), make_uint4(now[index[k]], tag, visited[k], tag));
                u32 seen = __popc(visited[k]);
                found += seen - counted[k];
                counted[k] = seen;
            }
        }
        found = warp_sum(found);
        if (lane() == 0 && found) {
            reduce_add(&p.totals->reached, found);
            flags->found[parity] = 1;
        }
        // Asked for now, looked at after the messages have come.
        u32 over = 0, reached = 0;
        bool end = false;
        if (threadIdx.x == 0) {
            over = load_volatile(p.done);
            flags->found[parity ^ 1] = 0;
            if (blockIdx.x == 0) reached = load_volatile(&p.totals->reached);
        }
        // While the first block is busy the search is not over.
        if (blockIdx.x == 0 && warp == 0 && tag - last_active > 2 && epoch % SLICES_LOOK == 0) end = slices_quiet(p);
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
        if (any(changed) && lane() == 0) store_volatile(flags->live[turn] + warp, 1);
        quiet = 0;
        if (threadIdx.x == 0) {
            if (blockIdx.x == 0) {
                if (p.link.cancel && epoch % SLICES_POLL == 0 && looks.due()) {
                    if (cancel) {
                        p.state->stopped = 1;
                        end = true;
                    }
                    cancel = load_volatile(p.link.cancel);
                    store_volatile(p.link.progress, level);
                }
                p.state->steps = level;
                if (end || reached >= p.connected) {
                    atomicExch(p.done, p.base);
                    over = p.base;
                }
            }
            if (over == p.base) flags->over = 1;
        }
        __syncthreads();
        if (load_volatile(flags->found + parity)) last_active = tag;
        if (threadIdx.x == 0) {
            store_volatile(p.progress + blockIdx.x, (u64)last_active << 32 | tag);
        }
        if (load_volatile(&flags->over)) break;
    }

    u32 missed = 0;
#pragma unroll
    for (u32 k = 0; k < W; k++) {
        const u32 found = mine[k] ? visited[k] & ~found_levels[k].before : 0;
        found_levels[k].end(level - era);
        found_levels[k].write(p, word[k], found, era);
        deepest = max_of(deepest, found_levels[k].deepest(found, era));
        for (u32 open = ballot(mine[k] && visited[k] != FULL); open; open &= open - 1) {
            u32 from = __ffs(open) - 1, v = shuffle(word[k], from) * WARP + lane();
            u32 bits = shuffle(visited[k], from);
            if (v < p.nodes && !(bits >> lane() & 1u)) {
                u32 u = p.order ? load_readonly(p.order + v) : v;
                p.levels[u] = -1;
                missed += load_readonly(p.out_offsets + u + 1) - load_readonly(p.out_offsets + u);
            }
        }
    }
    missed = warp_sum(missed);
    deepest = warp_max(deepest);
    if (lane() == 0) {
        if (missed) atomicAdd(&p.totals->edges_traversed, (u64)0 - missed);
        if (deepest) reduce_max(&p.totals->depth, deepest);
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
