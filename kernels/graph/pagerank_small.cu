// PageRank of small graphs in one block or one cluster: entries in registers, the operand twice in the shared memory of every block, one
// barrier an iteration. The layout is that of pagerank_tiles.cuh with one column; f32.
//
// Needs what pagerank_shared.cu needs: even teleport, and dangling vertices that have no arcs at all or drop their score. A row stays
// with its lane; the scores of two iterations are kept in shared memory. With a tolerance the residual of an iteration is summed during the
// next and looked at in the one after, so that nothing waits for it. Results repeat bit for bit.
#include "common/cluster.cuh"
#include "graph/pagerank_shared.cuh"

namespace bg {
/// Slices of a warp at most.
constexpr u32 SMALL_SLICES = 10;
/// Entries of a lane in registers, in fours; more are read from memory.
constexpr u32 SMALL_QUADS = 2;
/// Places of warps in the sums of a block.
constexpr u32 SMALL_WARPS = 16;

/// What a lane keeps of a slice.
struct SmallSlice {
    uint2 quads[SMALL_QUADS];
    u32 half;
    u32 what;        // count of quads (12 bits), shift (4): 2^shift lanes have a row; and the row whose score the lane makes, or NO_ROW
    f32 inverse;     // damping / outdegree of that row

    BG_DEVICE u32 count() const { return what & 0xfffu; }
    BG_DEVICE u32 shift() const { return what >> 12 & 15u; }
    /// From the block's first.
    BG_DEVICE u32 row() const { return what >> 16; }
};
constexpr u32 NO_ROW = 0xffff;

struct SmallRank {
    const SharedRankParams& p;
    RankTile tile;
    u32* over;        // by iterations in turn: the host asked to stop
    f64* known;       // by iterations in turn: residuals
    f64* partials;    // by iterations in turn: what each warp adds to a residual
    f32* x;
    f32* scores;      // by iterations in turn, of own rows; written where they may be asked for
    u32 warp, warps;
    u32 lonely;       // bit k: the k-th row of this thread has no arcs coming in, and is in no slice
    bool longer;      // some slice of the warp has entries that are not in registers
    SmallSlice slices[SMALL_SLICES];

    BG_DEVICE SmallRank(const SharedRankParams& params, u8* memory)
        : p(params), tile(params.tiles[blockIdx.x]), over((u32*)memory), known((f64*)(memory + 16)), partials((f64*)(memory + 128)),
          x((f32*)(memory + RANK_HEADER)), scores(x + 2 * (p.x_room + 32)), warp(threadIdx.x / WARP), warps(blockDim.x / WARP), lonely(0), longer(false) {}

    BG_DEVICE bool is_vertex(u32 row) const { return load_readonly(p.vertex + tile.own_from + row) < p.vertices; }
    BG_DEVICE const uint2* descriptor(u32 j) const {
        // Back and forth, because slices are sorted.
        const u32 s = j * warps + (j & 1 ? warps - 1 - warp : warp);
        return s < tile.slices ? (const uint2*)(p.data + (u64)tile.data_at * 4) + s : nullptr;
    }

    BG_DEVICE void load() {
        const u32* data = p.data + (u64)tile.data_at * 4;
        const u32* entries = data + tile.entries_at;
        const u16* ids = (const u16*)(data + tile.ids_at);
        const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;
        u32* seen = (u32*)(x + p.x_room + 32);  // the second copy is not in use yet
        for (u32 i = threadIdx.x; i < tile.own_count; i += blockDim.x) seen[i] = 0;
        __syncthreads();
#pragma unroll
        for (u32 j = 0; j < SMALL_SLICES; j++) {
            SmallSlice& s = slices[j];
            u32 count = 0, shift = 0, row = NO_ROW;
            s.half = p.x_room << 16 | p.x_room;
            s.inverse = 0;
            if (const uint2* at = descriptor(j)) {
                const uint2 what = load_readonly(at);
                const uint2* q = (const uint2*)(entries + what.x) + lane();
                count = slice_quads(what);
                longer |= count > SMALL_QUADS;
                shift = slice_shift(what);
#pragma unroll
                for (u32 k = 0; k < SMALL_QUADS; k++)
                    if (k < count) s.quads[k] = load_readonly(q + k * WARP);
                if (slice_half(what)) s.half = load_readonly(entries + what.x + count * 64 + lane());
                if ((lane() & ((1u << shift) - 1)) == 0) {
                    const u32 of = load_readonly(ids + (what.y & 0xffffu) + (lane() >> shift));
                    if (of < tile.own_count && is_vertex(of)) {
                        row = of;
                        seen[of] = 1;
                        s.inverse = d * load_readonly(p.inverse + tile.own_from + of);
                    }
                }
            }
            s.what = row << 16 | shift << 12 | count;
        }
        __syncthreads();
        for (u32 k = 0, i = threadIdx.x; i < tile.own_count; i += blockDim.x, k++)
            if (!seen[i] && is_vertex(i)) lonely |= 1u << k;
        for (u32 i = threadIdx.x; i < tile.x_count; i += blockDim.x) x[i] = d * even * p.inverse[tile.x_from + i];
        if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = x[2 * p.x_room + 32 + threadIdx.x] = 0;
        if (threadIdx.x == 0) over[0] = over[1] = 0;
        if (threadIdx.x < 2 * SMALL_WARPS) partials[threadIdx.x] = 0;
    }

    /// The sum of the entries that a lane has of a slice in registers.
    BG_DEVICE f32 sum(u32 j, const f32* now) {
        SmallSlice& s = slices[j];
        f32 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma unroll
        for (u32 k = 0; k < SMALL_QUADS; k++) {
            if (k >= s.count()) continue;
            // Unpacked once for all iterations they would not fit in the registers.
            opaque(s.quads[k].x);
            opaque(s.quads[k].y);
            s0 += now[s.quads[k].x & 0xffffu];
            s1 += now[s.quads[k].x >> 16];
            s2 += now[s.quads[k].y & 0xffffu];
            s3 += now[s.quads[k].y >> 16];
        }
        opaque(s.half);
        s0 += now[s.half & 0xffffu];
        s1 += now[s.half >> 16];
        return (s0 + s1) + (s2 + s3);
    }
    /// Of those that are not.
    BG_DEVICE f32 sum_of_rest(u32 j, const f32* now) const {
        f32 low = 0, high = 0;
        if (slices[j].count() <= SMALL_QUADS) return 0;
        const uint2* q = (const uint2*)(p.data + (u64)tile.data_at * 4 + tile.entries_at + load_readonly(descriptor(j)).x) + lane();
        for (u32 k = SMALL_QUADS; k < slices[j].count(); k++) {
            const uint2 v = load_readonly(q + k * WARP);
            low += now[v.x & 0xffffu] + now[v.y & 0xffffu];
            high += now[v.x >> 16] + now[v.y >> 16];
        }
        return low + high;
    }

    /// What all warps of all blocks left of an iteration, the same in all lanes. One warp calls it.
    template <bool CLUSTER> BG_DEVICE f64 residual(u32 iteration, f64 gap) const {
        const f64* own = partials + (iteration & 1) * SMALL_WARPS;
        f64 total = 0;
        for (u32 rank = 0; rank < (CLUSTER ? gridDim.x : 1); rank++) {
            if (lane() < SMALL_WARPS) total += (CLUSTER ? cluster_map((f64*)own, rank) : own)[lane()];
        }
        __syncwarp();
        // Vertices without a position move together with the mass.
        return butterfly_sum(total) + (f64)p.isolated_count / p.vertices * magnitude(gap);
    }
};

template <bool CLUSTER> BG_DEVICE void small_rank(const SharedRankParams& p) {
    SmallRank r(p, shared_memory());
    r.load();
    auto barrier = [] {
        if (CLUSTER) cluster_sync();
        else __syncthreads();
    };
    const u32 room = p.x_room + 32;
    const bool watch = p.tolerance > 0.0;
    const f32 even = 1.0f / (f32)p.vertices;
    const f64 isolated = (f64)p.lost / p.vertices;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0, mass_two_before = 1.0;
    u32 answer = p.max_iterations - 1;
    f32 base_before = even;
    // A share, to the copies of all blocks.
    auto tell = [&](f32* at, f32 share) {
        if constexpr (CLUSTER) {
            for (u32 rank = 0; rank < gridDim.x; rank++) *cluster_map(at, rank) = share;
        } else {
            *at = share;
        }
    };
    bool before = false;  // the answer is the iteration before the last
    Looks looks;
    barrier();

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = watch || last, keep = measure || it + 2 == p.max_iterations;
        if (p.link.cancel && *(volatile u32*)(r.over + (~it & 1))) {
            if (blockIdx.x == 0 && threadIdx.x == 0) p.state->stopped = 1;
            if (CLUSTER) cluster_sync();
            return;
        }
        if (watch && it >= 2 && r.known[it & 1] < p.tolerance) {
            answer = it - 2;
            before = true;
            mass_before = mass_two_before;
            break;
        }
        const f32 base = (f32)mass * even;
        const f32* now = r.x + (it & 1) * room;
        f32* next = r.x + (~it & 1) * room + (r.tile.own_from - r.tile.x_from);
        f32 y[SMALL_SLICES], change = 0;
#pragma unroll
        for (u32 j = 0; j < SMALL_SLICES; j++) {
            y[j] = 0;
            if (j * r.warps < r.tile.slices) y[j] = r.sum(j, now);
        }
        if (r.longer) {
#pragma unroll
            for (u32 j = 0; j < SMALL_SLICES; j++) y[j] += r.sum_of_rest(j, now);
        }
        __syncwarp();
#pragma unroll
        for (u32 j = 0; j < SMALL_SLICES; j++) {
            SmallSlice& s = r.slices[j];
            for (u32 m = (1u << s.shift()) >> 1; m; m >>= 1) y[j] += shuffle_xor(y[j], m);
            if (s.row() == NO_ROW) continue;
            const f32 score = y[j] + base;
            tell(next + s.row(), s.inverse * score);
            if (keep) {
                f32* scores = r.scores + s.row();
                if (measure) change += magnitude(score - (it ? scores[(~it & 1) * r.tile.own_count] : even));
                scores[(it & 1) * r.tile.own_count] = score;
            }
        }
        for (u32 left = r.lonely; left; left &= left - 1) {
            const u32 row = threadIdx.x + ((u32)__ffs(left) - 1) * blockDim.x;
            tell(next + row, (f32)p.damping * load_readonly(p.inverse + r.tile.own_from + row) * base);
            change += magnitude(base - base_before);
        }
        base_before = base;
        if (measure) {
            __syncwarp();
            const f64 sum = butterfly_sum((f64)change);
            if (lane() == 0) r.partials[(it & 1) * SMALL_WARPS + r.warp] = sum;
            if (watch && it > 0 && r.warp == 0) {
                const f64 found = r.residual<CLUSTER>(it - 1, mass_before - mass_two_before);
                if (lane() == 0) r.known[~it & 1] = found;
            }
        }
        if (p.link.cancel && blockIdx.x == 0 && threadIdx.x == 0) {
            u32 cancel = 0;
            if (looks.due()) {
                cancel = load_volatile(p.link.cancel);
                *(volatile u32*)p.link.progress = it;
            }
            for (u32 rank = 0; rank < gridDim.x; rank++) *(volatile u32*)(CLUSTER ? cluster_map(r.over + (it & 1), rank) : r.over + (it & 1)) = cancel;
        }
        barrier();
        if (last) break;
        mass_two_before = mass_before;
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }

    f64 residual = 0;
    if (before) {
        residual = r.known[answer & 1];
    } else if (watch && answer > 0 && r.known[~answer & 1] < p.tolerance) {
        before = true;
        answer--;
        residual = r.known[answer & 1];
    } else if (r.warp == 0) {
        residual = r.residual<CLUSTER>(answer, mass - mass_before);
    }
    if (before) mass = mass_before;
#pragma unroll
    for (u32 j = 0; j < SMALL_SLICES; j++) {
        const SmallSlice& s = r.slices[j];
        if (s.row() != NO_ROW) p.scores[load_readonly(p.vertex + r.tile.own_from + s.row())] = r.scores[(answer & 1) * r.tile.own_count + s.row()];
    }
    for (u32 left = r.lonely; left; left &= left - 1) {
        const u32 row = threadIdx.x + ((u32)__ffs(left) - 1) * blockDim.x;
        p.scores[load_readonly(p.vertex + r.tile.own_from + row)] = (f32)mass * even;
    }
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.isolated_count; i += gridDim.x * blockDim.x) p.scores[p.isolated[i]] = (f32)mass * even;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        p.result->residual = to_fixed(residual);
        p.result->iterations = answer + 1;
        p.state->steps = answer + 1;
    }
    // Nobody may leave while others still read from its shared memory.
    if (CLUSTER) cluster_sync();
}

BG_KERNEL(pagerank_block, SharedRankParams, 512, 1) { small_rank<false>(p); }
BG_KERNEL(pagerank_cluster, SharedRankParams, 512, 1) { small_rank<true>(p); }
}  // namespace bg
