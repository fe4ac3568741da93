// The vertex that is farthest from where a search began: an order by levels begins there.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct FarthestParams {
    const i32* levels;
    u64* farthest;  // zeroed; level << 32 | ~vertex
    u32 nodes, reserved;
};

BG_KERNEL(bfs_farthest, FarthestParams, 256, 4) {
    u32 level = 0, vertex = FULL;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        i32 l = load_readonly(p.levels + v);
        if (l >= 0 && (vertex == FULL || (u32)l > level)) {
            level = (u32)l;
            vertex = v;
        }
    }
    u32 most = warp_max(vertex == FULL ? 0 : level);
    u32 first = warp_min(vertex != FULL && level == most ? vertex : FULL);
    if (lane() == 0 && first != FULL) atomicMax(p.farthest, (u64)most << 32 | (u32)~first);
}
}  // namespace bg
