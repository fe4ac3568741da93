// How a sample of vertices lies to its neighbours, from which the form of the components algorithm is chosen; and what hooking prepares.
#include "graph/cc_hook.cuh"

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

namespace bg { namespace cc {
struct NearParams {
    const u32* offsets;
    const u32* indices;
    u32* near;      // NEAR of every vertex, all first ones first
    u32 n;
    u32 middle;     // as in CcParams
};
}}  // namespace bg::cc

/// Puts the neighbours that hooking looks at beside each other.
BG_KERNEL(cc_near, bg::cc::NearParams, 256, 4) {
    using namespace bg;
    using namespace bg::cc;
    const u64 n = p.n;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.n; v += gridDim.x * blockDim.x) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1), degree = end - begin;
        p.near[v] = degree > 0 ? load_readonly(p.indices + begin) : ALONE;
        p.near[n + v] = degree > 1 ? load_readonly(p.indices + begin + tried_second(p.middle, degree)) : ALONE;
        p.near[2 * n + v] = degree > 0 ? load_readonly(p.indices + end - 1) : ALONE;
        p.near[3 * n + v] = degree > 0 ? load_readonly(p.indices + end - (degree > 1 ? 2 : 1)) : ALONE;
    }
}
