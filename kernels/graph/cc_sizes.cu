// From the labels of components: how many there are and how large the largest is. Run once after the labels are known.
#include "graph/cc_forest.cuh"

namespace bg { namespace cc {
struct SizesParams {
    const u32* labels;
    u32* sizes;     // n zeros
    u32* result;    // zeros: components, the sampled giant's vertices, the most vertices of any other component
    u32 n;
    u32 reserved;
};
}}  // namespace bg::cc

BG_KERNEL(cc_sizes, bg::cc::SizesParams, 512, 2) {
    using namespace bg;
    using namespace bg::cc;
    const u32 n = p.n;
    // Counted in a register, since all threads would otherwise add to one word of memory.
    const u32 giant = most_frequent(load_readonly(p.labels + sampled_vertex(lane(), n)));
    u32 roots = 0, of_giant = 0, largest = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
        u32 label = load_readonly(p.labels + v);
        roots += label == v;
        if (label == giant) {
            of_giant++;
        } else {
            largest = max_of(largest, atomicAdd(p.sizes + label, 1u) + 1);
        }
    }
    warp_sync();
    roots = warp_sum(roots);
    of_giant = warp_sum(of_giant);
    largest = warp_max(largest);
    if (lane() == 0) {
        if (roots) atomicAdd(p.result, roots);
        if (of_giant) atomicAdd(p.result + 1, of_giant);
        if (largest) atomicMax(p.result + 2, largest);
    }
}
