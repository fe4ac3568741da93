// PageRank of small graphs in one block or one cluster, all data in the shared memory of every block, the operand twice; one barrier of
// the blocks an iteration. The layout is that of pagerank_tiles.cuh with one column; f32.
//
// Needs what pagerank_shared.cu needs: even teleport, and dangling vertices that have no arcs at all or drop their score. Four vertices
// stay with a thread, which keeps their scores of two iterations. With a tolerance the residual of an iteration is summed during the next
// and looked at in the one after, so that nothing waits for it. Results repeat bit for bit.
#include "common/cluster.cuh"
#include "graph/pagerank_shared.cuh"

namespace bg {
/// Places of warps in the sums of a block.
constexpr u32 SMALL_WARPS = 32;

/// What is ahead of x in shared memory.
struct SmallHeader {
    u32 over[2];                        // by iterations in turn: the host asked to stop
    f64 known[2];                       // by iterations in turn: residuals
    f64 partials[2][SMALL_WARPS];       // by iterations in turn: what each warp adds to a residual
};
static_assert(sizeof(SmallHeader) <= RANK_HEADER, "the header must fit");

/// The sum of what all warps of all blocks left of an iteration, the same in all lanes. One warp calls it.
template <bool CLUSTER> BG_DEVICE f64 small_residual(const SharedRankParams& p, SmallHeader* header, u32 iteration, f64 gap) {
    f64* own = header->partials[iteration & 1];
    f64 total = 0;
    for (u32 rank = 0; rank < (CLUSTER ? gridDim.x : 1); rank++) total += (CLUSTER ? cluster_map(own, rank) : own)[lane()];
    __syncwarp();
    // Vertices without a position move together with the mass.
    return butterfly_sum(total) + (f64)p.isolated_count / p.vertices * magnitude(gap);
}

template <bool CLUSTER> BG_DEVICE void small_rank(const SharedRankParams& p) {
    SmallHeader* header = (SmallHeader*)shared_memory();
    const RankTile tile = p.tiles[blockIdx.x];
    const u32 room = p.x_room + 32, warp = threadIdx.x / WARP, own = 4 * threadIdx.x, position = tile.own_from + own;
    f32* x = (f32*)(shared_memory() + RANK_HEADER);
    f32* sums = x + 2 * room;
    u32* data = (u32*)(sums + p.sum_room + p.own_room);
    const f32 d = (f32)p.damping, even = 1.0f / (f32)p.vertices;

    for (u32 i = threadIdx.x; i < tile.words / 4; i += blockDim.x) ((uint4*)data)[i] = load_readonly((const uint4*)(p.data + (u64)tile.data_at * 4) + i);
    for (u32 i = threadIdx.x; i < p.sum_room; i += blockDim.x) sums[i] = 0;
    for (u32 i = threadIdx.x; i < tile.x_count; i += blockDim.x) x[i] = d * even * p.inverse[tile.x_from + i];
    if (threadIdx.x < 32) x[p.x_room + threadIdx.x] = x[room + p.x_room + threadIdx.x] = 0;
    if (threadIdx.x < sizeof(SmallHeader) / 4) ((u32*)header)[threadIdx.x] = 0;
    // The four vertices of this thread: damping / outdegree, scores of the last iteration and of the one before, and which there are.
    f32 inverse[4], score[4], before[4];
    u32 vertex[4];
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        vertex[k] = own < tile.own_count ? load_readonly(p.vertex + position + k) : NOBODY;
        inverse[k] = own < tile.own_count ? d * load_readonly(p.inverse + position + k) : 0;
        score[k] = before[k] = even;
    }
    const bool watch = p.tolerance > 0.0;
    const f64 isolated = (f64)p.lost / p.vertices;
    f64 mass = 1.0 - p.damping + p.damping * isolated, mass_before = 1.0, mass_two_before = 1.0;
    u32 answer = p.max_iterations - 1;
    bool earlier = false;  // the answer is the iteration before the last
    Looks looks;
    auto barrier = [] {
        if constexpr (CLUSTER) cluster_sync();
        else __syncthreads();
    };
    barrier();

    for (u32 it = 0;; it++) {
        const bool last = it + 1 == p.max_iterations, measure = watch || last;
        if (p.link.cancel && load_volatile(&header->over[~it & 1])) {
            if (blockIdx.x == 0 && threadIdx.x == 0) p.state->stopped = 1;
            if constexpr (CLUSTER) cluster_sync();
            return;
        }
        if (watch && it >= 2 && header->known[it & 1] < p.tolerance) {
            answer = it - 2;
            earlier = true;
            mass_before = mass_two_before;
            break;
        }
        auto keep_sum = [&](u32 row, f32 sum) { sums[row] = sum; };
        sweep_slices<true>(data, tile, x + (it & 1) * room, tile.slices, NOBODY, 0, keep_sum);
        if (p.link.cancel && blockIdx.x == 0 && threadIdx.x == 0) {
            u32 cancel = 0;
            if (looks.due()) {
                cancel = load_volatile(p.link.cancel);
                *(volatile u32*)p.link.progress = it;
            }
            for (u32 rank = 0; rank < gridDim.x; rank++) {
                u32* over = &header->over[it & 1];
                if constexpr (CLUSTER) over = cluster_map(over, rank);
                *(volatile u32*)over = cancel;
            }
        }
        __syncthreads();
        f32 change = 0;
        if (own < tile.own_count) {
            const f32 base = (f32)mass * even;
            const float4 sum = *(const float4*)(sums + own);
            const f32 y[4] = {sum.x + base, sum.y + base, sum.z + base, sum.w + base};
            const float4 share = make_float4(inverse[0] * y[0], inverse[1] * y[1], inverse[2] * y[2], inverse[3] * y[3]);
            f32* next = x + (~it & 1) * room + (position - tile.x_from);
            if constexpr (CLUSTER) {
                for (u32 rank = 0; rank < gridDim.x; rank++) *(float4*)cluster_map(next, rank) = share;
            } else {
                *(float4*)next = share;
            }
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                if (vertex[k] < p.vertices) change += magnitude(y[k] - score[k]);
                before[k] = score[k];
                score[k] = y[k];
            }
        }
        if (measure) {
            // The warps that have vertices; what the others left is zero.
            if (warp * WARP * 4 < tile.own_count) {
                __syncwarp();
                const f64 sum = butterfly_sum((f64)change);
                if (lane() == 0) header->partials[it & 1][warp] = sum;
            }
            if (watch && it > 0 && warp == blockDim.x / WARP - 1) {
                const f64 found = small_residual<CLUSTER>(p, header, it - 1, mass_before - mass_two_before);
                if (lane() == 0) header->known[~it & 1] = found;
            }
        }
        barrier();
        if (last) break;
        mass_two_before = mass_before;
        mass_before = mass;
        mass = 1.0 - p.damping + p.damping * isolated * mass;
    }

    f64 residual = 0;
    if (earlier) {
        residual = header->known[answer & 1];
    } else if (watch && answer > 0 && header->known[~answer & 1] < p.tolerance) {
        earlier = true;
        answer--;
        residual = header->known[answer & 1];
    } else if (warp == 0) {
        residual = small_residual<CLUSTER>(p, header, answer, mass - mass_before);
    }
    if (earlier) mass = mass_before;
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
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
