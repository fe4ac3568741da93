// PageRank of small graphs in one block or one cluster, all data in the shared memory of every block, the operand twice; one barrier of
// the blocks an iteration. The layout is that of pagerank_tiles.cuh with one column, rows without entries in slices of their own; f32.
//
// Issuing instructions is what takes the time, so an entry is a whole address in 32 bits, and slices of usual lengths are summed by code
// without loops.
//
// Needs what pagerank_shared.cu needs: even teleport, and dangling vertices that have no arcs at all or drop their score. A warp keeps
// its slices for good, so the lane that sums a row also keeps the score of the vertex, and tells its share to those
// blocks alone that read it. Every warp adds up the residual of an iteration that is looked at itself, behind the barrier, so that
// no iteration runs for nothing. It is summed in fixed point; results repeat bit for bit.
#include "common/cluster.cuh"
#include "graph/pagerank_looks.cuh"
#include "graph/pagerank_shared.cuh"

namespace bg {
/// Slices of a warp at most, and blocks of a cluster.
constexpr u32 SMALL_TURNS = 4;
constexpr u32 SMALL_BLOCKS = 8;
/// One, in a residual's fixed point: 2^50. Residuals are 2 at most.
constexpr f64 SMALL_ONE = 1125899906842624.0;

/// What is ahead of x in shared memory.
struct SmallHeader {
    u32 over[2];                        // by iterations in turn: the host asked to stop
    u32 reserved[2];
    u64 partials[2][WARP];              // by iterations in turn: what each warp adds to the residual
};
static_assert(sizeof(SmallHeader) <= SMALL_HEADER, "the header must fit");

/// The sum over the warp of numbers from 0 to 2, in fixed point.
BG_DEVICE u64 warp_sum_to_fixed(f32 value) {
    f32 scaled = value * 16777216.0f;
    u32 high = (u32)scaled;
    return warp_sum_fixed(high, (u32)((scaled - (f32)high) * 67108864.0f));
}

/// The sum of a lane's entries, byte offsets from `x`: QUADS times four, and two more.
template <u32 QUADS, bool HALF> BG_DEVICE f32 sum_of(const uint4* entries, const u8* x) {
    auto at = [&](u32 offset) { return *(const f32*)(x + offset); };
    uint2 rest = make_uint2(0, 0);
    if constexpr (HALF) rest = ((const uint2*)(entries + QUADS * WARP))[lane()];
    if constexpr (QUADS == 0) return at(rest.x) + at(rest.y);
    const uint4 a = entries[lane()], b = entries[(QUADS - 1) * WARP + lane()];
    f32 s0 = at(a.x), s1 = at(a.y), s2 = at(a.z), s3 = at(a.w);
    if constexpr (QUADS == 2) {
        s0 += at(b.x);
        s1 += at(b.y);
        s2 += at(b.z);
        s3 += at(b.w);
    }
    if constexpr (HALF) {
        s0 += at(rest.x);
        s1 += at(rest.y);
    }
    return (s0 + s1) + (s2 + s3);
}
/// The same for a slice of any length.
BG_DEVICE f32 sum_of(const uint4* entries, const u8* x, u32 quads, bool half) {
    f32 sum = 0;
    for (; quads > 2; quads -= 2, entries += 2 * WARP) sum += sum_of<2, false>(entries, x);
    if (half) {
        if (quads == 1) return sum + sum_of<1, true>(entries, x);
        return sum + (quads ? sum_of<2, true>(entries, x) : sum_of<0, true>(entries, x));
    }
    if (quads == 2) return sum + sum_of<2, false>(entries, x);
    return quads ? sum + sum_of<1, false>(entries, x) : sum;
}

template <bool CLUSTER> BG_DEVICE void small_rank(const SharedRankParams& p) {
    SmallHeader* header = (SmallHeader*)shared_memory();
    const RankTile tile = p.tiles[blockIdx.x];
    const u32 room = p.x_room + 32, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const u32 blocks = CLUSTER ? gridDim.x : 1, rank = CLUSTER ? blockIdx.x : 0;
    f32* x = (f32*)(shared_memory() + SMALL_HEADER);
    u32* own = (u32*)(x + 2 * room);
    uint4* entries = (uint4*)(own + p.own_room);
    const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;
    auto in_block = [](auto* place, u32 other) {
        if constexpr (CLUSTER) return cluster_map(place, other);
        else return place;
    };

    const u32* data = p.data + (u64)tile.data_at * 4;
    for (u32 i = threadIdx.x; i < (tile.ids_at - tile.entries_at) / 4; i += blockDim.x) {
        const uint4 v = load_readonly((const uint4*)(data + tile.entries_at) + i);
        entries[2 * i] = make_uint4((v.x & 0xffffu) * 4, (v.x >> 16) * 4, (v.y & 0xffffu) * 4, (v.y >> 16) * 4);
        entries[2 * i + 1] = make_uint4((v.z & 0xffffu) * 4, (v.z >> 16) * 4, (v.w & 0xffffu) * 4, (v.w >> 16) * 4);
    }
    const f32 first = d * even;
    for (u32 i = threadIdx.x; i < tile.x_count / 4; i += blockDim.x) {
        const float4 v = load_readonly((const float4*)p.inverse + i);
        ((float4*)x)[i] = make_float4(first * v.x, first * v.y, first * v.z, first * v.w);
    }
    for (u32 i = threadIdx.x; i < tile.own_count / 4; i += blockDim.x) ((uint4*)own)[i] = load_readonly((const uint4*)(p.vertex + tile.own_from) + i);
    if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = x[room + p.x_room + threadIdx.x] = 0;
    for (u32 i = threadIdx.x; i < sizeof(SmallHeader) / 4; i += blockDim.x) ((u32*)header)[i] = 0;
    // The slices of this warp: form << 16, and where their entries are in rows of a warp; with a bit between that says whether this lane
    // keeps the score of a vertex. The rows of this lane: those other blocks that read any of the slice << 24, blocks that read this one
    // << 16, and the position; damping / outdegree; the score.
    constexpr u32 KEEPS = 1u << 15;
    u32 slice[SMALL_TURNS], place[SMALL_TURNS];
    f32 inverse[SMALL_TURNS], score[SMALL_TURNS];
    u32 turns = 0;
#pragma unroll
    for (u32 k = 0; k < SMALL_TURNS; k++) {
        const u32 s = slice_of_turn(k, warp, warps);
        slice[k] = place[k] = 0;
        inverse[k] = 0;
        score[k] = even;
        if (s >= tile.slices) continue;
        turns = k + 1;
        const uint2 descriptor = load_readonly((const uint2*)data + s);
        const u32 t = slice_shift(descriptor);
        u32 row = tile.own_count, readers = 0;
        if ((lane() & ((1u << t) - 1)) == 0) row = load_readonly((const u16*)(data + tile.ids_at) + (descriptor.y & 0xffffu) + (lane() >> t));
        slice[k] = (descriptor.y & 0xffff0000u) | descriptor.x / WARP;
        if (row < tile.own_count) {
            const u32 position = tile.own_from + row;
            if (load_readonly(p.vertex + position) != NO_VERTEX) slice[k] |= KEEPS;
            inverse[k] = d * load_readonly(p.inverse + position);
            readers = CLUSTER ? load_readonly(p.readers + position) : 1;
            place[k] = position;
        }
        __syncwarp();
        place[k] |= readers << 16 | (__reduce_or_sync(FULL, readers) & ~(1u << rank)) << 24;
    }
    const bool listens = p.link.cancel;
    const f64 isolated = (f64)p.lost / p.vertices, apart = (f64)p.isolated_count / p.vertices;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0;
    u32 answer = p.max_iterations - 1;
    ResidualLooks residuals(p.tolerance, p.max_iterations);
    u64 residual = 0;
    Looks looks;
    // Of an iteration, behind the barrier at its end. Vertices without a position move together with the mass.
    auto residual_of = [&](u32 iteration) {
        u64 part = 0;
#pragma unroll
        for (u32 other = 0; other < (CLUSTER ? SMALL_BLOCKS : 1); other++)
            if (other < blocks) part += in_block(header->partials[iteration & 1], other)[lane()];
        __syncwarp();
        return warp_sum_fixed(part) + (u64)(apart * magnitude(mass - mass_before) * SMALL_ONE);
    };
    auto barrier = [] {
        if constexpr (CLUSTER) cluster_sync();
        else __syncthreads();
    };
    barrier();

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations;
        if (listens && load_volatile(&header->over[~it & 1])) {
            if (blockIdx.x == 0 && threadIdx.x == 0) p.state->stopped = 1;
            barrier();
            return;
        }
        const bool measure = residuals.due(it);
        const f32 base = (f32)mass * even;
        const u8* now = (const u8*)(x + (it & 1) * room);
        f32* next = x + (~it & 1) * room;
        f32 change = 0;
#pragma unroll
        for (u32 k = 0; k < SMALL_TURNS; k++) {
            if (k >= turns) break;
            f32 y = sum_of(entries + (slice[k] & (KEEPS - 1)) * (WARP / 2), now, slice[k] >> 16 & 0xfffu, slice[k] >> 28 & 1);
            __syncwarp();
            for (u32 m = (1u << (slice[k] >> 29)) >> 1; m; m >>= 1) y += shuffle_xor(y, m);
            y += base;
            const f32 share = inverse[k] * y;
            f32* told = next + (place[k] & 0xffffu);
            if (place[k] >> (16 + rank) & 1) *told = share;
            if constexpr (CLUSTER) {
                for (u32 others = place[k] >> 24; others; others &= others - 1) {
                    const u32 other = (u32)__ffs((i32)others) - 1;
                    if (place[k] >> (16 + other) & 1) *cluster_map(told, other) = share;
                }
            }
            if (slice[k] & KEEPS) {
                change += magnitude(y - score[k]);
                score[k] = y;
            }
        }
        if (measure) {
            __syncwarp();
            const u64 sum = warp_sum_to_fixed(change);
            if (lane() == 0) header->partials[it & 1][warp] = sum;
        }
        if (listens && blockIdx.x == 0 && threadIdx.x == 0) {
            u32 cancel = 0;
            if (looks.due()) {
                cancel = load_volatile(p.link.cancel);
                store_volatile(p.link.progress, it);
            }
            for (u32 other = 0; other < blocks; other++) store_volatile(in_block(&header->over[it & 1], other), cancel);
        }
        barrier();
        if (measure) {
            residual = residual_of(it);
            const f64 found = (f64)residual / SMALL_ONE;
            if (found < p.tolerance) {
                answer = it;
                break;
            }
            residuals.saw(it, found);
        }
        if (last) break;
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }

#pragma unroll
    for (u32 k = 0; k < SMALL_TURNS; k++) {
        if (slice[k] & KEEPS) p.scores[own[(place[k] & 0xffffu) - tile.own_from]] = score[k];
    }
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.isolated_count; i += gridDim.x * blockDim.x) p.scores[p.isolated[i]] = (f32)mass * even;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        p.result->residual = to_fixed((f64)residual / SMALL_ONE);
        p.result->iterations = answer + 1;
        p.state->steps = answer + 1;
    }
    // No thread may leave while others still read from its shared memory.
    if constexpr (CLUSTER) cluster_sync();
}

BG_KERNEL(pagerank_block, SharedRankParams, 1024, 1) { small_rank<false>(p); }
BG_KERNEL(pagerank_cluster, SharedRankParams, 1024, 1) { small_rank<true>(p); }
}  // namespace bg
