// How a sample of vertices lies to its neighbours, from which the form of the components algorithm is chosen.
#include "graph/cc_forest.cuh"

namespace bg { namespace cc {
struct ProbeParams {
    const u32* offsets;
    const u32* indices;
    u32* result;    // zeros: sampled vertices with neighbours, of them: whose first is near and lower; whose middle one is
    u32 n;
    u32 near;       // at most so far away
};
}}  // namespace bg::cc

/// A thread per sampled vertex.
BG_KERNEL(cc_probe, bg::cc::ProbeParams, 256, 1) {
    using namespace bg;
    using namespace bg::cc;
    u32 v = sampled_vertex(blockIdx.x * blockDim.x + threadIdx.x, p.n);
    u32 begin = load_readonly(p.offsets + v), degree = load_readonly(p.offsets + v + 1) - begin;
    bool first = false, middle = false;
    if (degree > 0) {
        u32 a = load_readonly(p.indices + begin), b = load_readonly(p.indices + begin + (degree - 1) / 2);
        first = a < v && v - a <= p.near;
        middle = b < v && v - b <= p.near;
    }
    u32 with = (u32)__popc(bg::ballot(degree > 0)), firsts = (u32)__popc(bg::ballot(first)), middles = (u32)__popc(bg::ballot(middle));
    if (lane() == 0) {
        atomicAdd(p.result, with);
        atomicAdd(p.result + 1, firsts);
        atomicAdd(p.result + 2, middles);
    }
}
