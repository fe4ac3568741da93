// PageRank of small graphs in one block or one cluster, all data in the shared memory of every block, the operand twice; one barrier of
// the blocks an iteration. The layout is that of pagerank_tiles.cuh with one column, rows without entries in slices of their own; f32.
//
// Needs what pagerank_shared.cu needs: even teleport, and dangling vertices that have no arcs at all or drop their score. A warp keeps
// its slices for good, so the lane that sums a row also keeps the vertex' scores of two iterations, and tells its share to those
// blocks alone that read it. With a tolerance, the residual of an iteration is summed during the next and looked at in the one after, so
// that nothing waits for it. It is summed in fixed point; results repeat bit for bit.
#include "common/cluster.cuh"
#include "graph/pagerank_shared.cuh"

namespace bg {
/// Slices of a warp at most, and blocks of a cluster.
constexpr u32 SMALL_TURNS = 4;
constexpr u32 SMALL_BLOCKS = 8;
/// One, in a residual's fixed point. Residuals are 2 at most.
constexpr f64 SMALL_ONE = 1125899906842624.0;  // 2^50

/// What is ahead of x in shared memory.
struct SmallHeader {
    u32 over[2];                        // by iterations in turn: the host asked to stop
    u32 reserved[2];
    u64 known[2][SMALL_BLOCKS];         // by iterations in turn: each block's part of a residual
    u64 partials[2][WARP];              // by iterations in turn: what each warp adds to it
};
static_assert(sizeof(SmallHeader) <= SMALL_HEADER, "the header must fit");

/// The sum over the warp of numbers below 2^52.
BG_DEVICE u64 warp_sum_fixed(u64 value) {
    u32 low = warp_sum((u32)value & 0x3ffffffu), high = warp_sum((u32)(value >> 26));
    return ((u64)high << 26) + low;
}

template <bool CLUSTER> BG_DEVICE void small_rank(const SharedRankParams& p) {
    SmallHeader* header = (SmallHeader*)shared_memory();
    const RankTile tile = p.tiles[blockIdx.x];
    const u32 room = p.x_room + 32, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, blocks = CLUSTER ? gridDim.x : 1;
    f32* x = (f32*)(shared_memory() + SMALL_HEADER);
    u32* data = (u32*)(x + 2 * room);
    const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;
    auto in_block = [](auto* place, u32 rank) {
        if constexpr (CLUSTER) return cluster_map(place, rank);
        else return place;
    };

    for (u32 i = threadIdx.x; i < tile.words / 4; i += blockDim.x) ((uint4*)data)[i] = load_readonly((const uint4*)(p.data + (u64)tile.data_at * 4) + i);
    for (u32 i = threadIdx.x; i < tile.x_count; i += blockDim.x) x[i] = d * even * load_readonly(p.inverse + i);
    if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = x[room + p.x_room + threadIdx.x] = 0;
    for (u32 i = threadIdx.x; i < sizeof(SmallHeader) / 4; i += blockDim.x) ((u32*)header)[i] = 0;
    __syncthreads();
    // The slices of this warp, form << 16 | where their entries are; and the rows of this lane: readers << 16 | position, damping /
    // outdegree, scores of the last iteration and of the one before. Lanes that keep no row have no readers and no vertex.
    u32 slice[SMALL_TURNS], place[SMALL_TURNS], vertex[SMALL_TURNS];
    f32 inverse[SMALL_TURNS], score[SMALL_TURNS], before[SMALL_TURNS];
    u32 turns = 0;
#pragma unroll
    for (u32 k = 0; k < SMALL_TURNS; k++) {
        const u32 s = slice_of_turn(k, warp, warps);
        slice[k] = place[k] = 0;
        vertex[k] = NOBODY;
        inverse[k] = 0;
        score[k] = before[k] = even;
        if (s >= tile.slices) continue;
        turns = k + 1;
        const uint2 descriptor = ((const uint2*)data)[s];
        const u32 t = slice_shift(descriptor);
        slice[k] = (descriptor.y & 0xffff0000u) | (tile.entries_at + descriptor.x);
        if (lane() & ((1u << t) - 1)) continue;
        const u32 row = ((const u16*)(data + tile.ids_at))[(descriptor.y & 0xffffu) + (lane() >> t)];
        if (row >= tile.own_count) continue;
        const u32 position = tile.own_from + row;
        vertex[k] = load_readonly(p.vertex + position);
        inverse[k] = d * load_readonly(p.inverse + position);
        place[k] = (CLUSTER ? load_readonly(p.readers + position) : 1) << 16 | position;
    }
    const bool watch = p.tolerance > 0.0;
    const f64 isolated = (f64)p.lost / p.vertices, apart = (f64)p.isolated_count / p.vertices;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0, mass_two_before = 1.0;
    u32 answer = p.max_iterations - 1;
    bool earlier = false;  // the answer is the iteration before the last
    f64 residual = 0;
    Looks looks;
    // Of an iteration whose blocks have all told their parts.
    auto known = [&](u32 iteration) {
        __syncwarp();
        return (f64)warp_sum_fixed(lane() < blocks ? load_volatile(&header->known[iteration & 1][lane()]) : 0) / SMALL_ONE;
    };
    // Vertices without a position move together with the mass.
    auto moved = [&](f64 now, f64 then) { return (u64)(apart * magnitude(now - then) * SMALL_ONE); };
    auto barrier = [] {
        if constexpr (CLUSTER) cluster_sync();
        else __syncthreads();
    };
    barrier();

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = watch || last;
        if (p.link.cancel && load_volatile(&header->over[~it & 1])) {
            if (blockIdx.x == 0 && threadIdx.x == 0) p.state->stopped = 1;
            barrier();
            return;
        }
        if (watch && it >= 2) {
            residual = known(it);
            if (residual < p.tolerance) {
                answer = it - 2;
                earlier = true;
                mass_before = mass_two_before;
                break;
            }
        }
        const f32 base = (f32)mass * even;
        const f32* now = x + (it & 1) * room;
        f32* next = x + (~it & 1) * room;
        f32 change = 0;
#pragma unroll
        for (u32 k = 0; k < SMALL_TURNS; k++) {
            if (k >= turns) break;
            const uint2 descriptor = make_uint2(0, slice[k]);
            f32 y = lane_sum<true>(data + (slice[k] & 0xffffu), now, slice_quads(descriptor), slice_half(descriptor));
            __syncwarp();
            for (u32 m = (1u << slice_shift(descriptor)) >> 1; m; m >>= 1) y += shuffle_xor(y, m);
            y += base;
            const f32 share = inverse[k] * y;
            const u32 readers = place[k] >> 16;
            f32* told = next + (place[k] & 0xffffu);
            if (readers >> (CLUSTER ? blockIdx.x : 0) & 1) *told = share;
            if constexpr (CLUSTER) {
                const u32 others = readers & ~(1u << blockIdx.x);
                for (u32 rank = 0; rank < blocks; rank++)
                    if (others >> rank & 1) *cluster_map(told, rank) = share;
            }
            if (vertex[k] < p.vertices) {
                change += magnitude(y - score[k]);
                before[k] = score[k];
                score[k] = y;
            }
        }
        if (measure) {
            __syncwarp();
            const u64 sum = warp_sum_fixed((u64)((f64)change * SMALL_ONE));
            if (lane() == 0) header->partials[it & 1][warp] = sum;
            if (watch && it > 0 && warp == warps - 1) {
                u64 part = warp_sum_fixed(header->partials[~it & 1][lane()]);
                if (blockIdx.x == 0) part += moved(mass_before, mass_two_before);
                if (lane() < blocks) *in_block(&header->known[~it & 1][blockIdx.x], lane()) = part;
            }
        }
        if (p.link.cancel && blockIdx.x == 0 && threadIdx.x == 0) {
            u32 cancel = 0;
            if (looks.due()) {
                cancel = load_volatile(p.link.cancel);
                *(volatile u32*)p.link.progress = it;
            }
            for (u32 rank = 0; rank < blocks; rank++) *(volatile u32*)in_block(&header->over[it & 1], rank) = cancel;
        }
        barrier();
        if (last) break;
        mass_two_before = mass_before;
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }

    if (!earlier && watch && answer > 0) {
        residual = known(answer - 1);
        if (residual < p.tolerance) {
            earlier = true;
            answer--;
        }
    }
    if (!earlier && warp == 0) {
        u64 own = 0;
        for (u32 rank = 0; rank < blocks; rank++) own += in_block(header->partials[answer & 1], rank)[lane()];
        __syncwarp();
        residual = (f64)(warp_sum_fixed(own) + moved(mass, mass_before)) / SMALL_ONE;
    }
    if (earlier) mass = mass_before;
#pragma unroll
    for (u32 k = 0; k < SMALL_TURNS; k++) {
        if (vertex[k] < p.vertices) p.scores[vertex[k]] = earlier ? before[k] : score[k];
    }
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.isolated_count; i += gridDim.x * blockDim.x) p.scores[p.isolated[i]] = (f32)mass * even;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        p.result->residual = to_fixed(residual);
        p.result->iterations = answer + 1;
        p.state->steps = answer + 1;
    }
    // Nobody may leave while others still read from its shared memory.
    if constexpr (CLUSTER) cluster_sync();
}

BG_KERNEL(pagerank_block, SharedRankParams, 1024, 1) { small_rank<false>(p); }
BG_KERNEL(pagerank_cluster, SharedRankParams, 1024, 1) { small_rank<true>(p); }
}  // namespace bg
