// What searches of the same graph share: which vertices are isolated, and for each vertex a neighbour that is likely to be
// visited early. And parents from levels, for the searches that find levels alone.
#include "graph/bfs_parents.cuh"
#include "tuning/bfs.cuh"

namespace bg {
struct BfsPrepareParams {
    const u32 *out_offsets, *in_offsets, *in_indices;
    u32* isolated;   // words
    u32* first;      // or null
    u32* connected;  // zeroed: gets the number of vertices with an arc
    u32 nodes, words;
};
struct BfsParentsParams {
    const u32 *in_offsets, *in_indices;
    const i32* levels;
    u32* parents;
    u32 nodes, source;
};

BG_KERNEL(bfs_isolated, BfsPrepareParams, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    u32 connected = 0;
    for (u32 w = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; w < p.words; w += warps) {
        u32 v = w * WARP + lane();
        bool alone = v < p.nodes && p.out_offsets[v] == p.out_offsets[v + 1] && p.in_offsets[v] == p.in_offsets[v + 1];
        u32 bits = ballot(alone);
        connected += __popc(ballot(v < p.nodes) & ~bits);
        if (lane() == 0) p.isolated[w] = bits;
    }
    if (lane() == 0 && connected) atomicAdd(p.connected, connected);
}

BG_KERNEL(bfs_first, BfsPrepareParams, 256, 4) {
    const u32 rows = gridDim.x * (blockDim.x / FIRST_LANES), sub = lane() % FIRST_LANES;
    const u32 rounds = ceil_div(p.nodes, rows);
    for (u32 r = 0; r < rounds; r++) {
        u32 v = r * rows + (blockIdx.x * blockDim.x + threadIdx.x) / FIRST_LANES;
        u32 best = FULL, largest = 0;
        if (v < p.nodes) {
            u32 start = p.in_offsets[v], degree = p.in_offsets[v + 1] - start;
            u32 step = max_of(ceil_div(degree, FIRST_SAMPLE), 1u);
            for (u32 i = sub * step; i < degree; i += FIRST_LANES * step) {
                u32 u = load_stream(p.in_indices + start + i);
                u32 d = load_readonly(p.out_offsets + u + 1) - load_readonly(p.out_offsets + u);
                if (best == FULL || d > largest) {
                    best = u;
                    largest = d;
                }
            }
        }
        for (u32 d = FIRST_LANES / 2; d; d >>= 1) {
            u32 u = shuffle_xor(best, d), size = shuffle_xor(largest, d);
            // Ties by the smaller vertex, so that the result does not depend on the order.
            if (u != FULL && (best == FULL || size > largest || (size == largest && u < best))) {
                best = u;
                largest = size;
            }
        }
        if (sub == 0 && v < p.nodes) p.first[v] = best;
    }
}

BG_KERNEL(bfs_parents_of_levels, BfsParentsParams, 256, 4) {
    smallest_parents(p.in_offsets, p.in_indices, p.levels, p.parents, p.source, p.nodes);
}
}  // namespace bg
