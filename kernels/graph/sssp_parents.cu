// Parents from distances alone, so that they do not depend on how the distances were found; and checks of distances that may
// have outgrown the type that they were summed in.
//
// The parent of a vertex is the smallest vertex nearer to the source that explains its distance. Where there is none (arcs of
// length zero, or floats that absorb a weight), it is the smallest at the same distance that got its own parent in an earlier
// round, so that no cycle of arcs of length zero can form.
#include "graph/sssp.cuh"

namespace bg {
template <class Bits> struct ParentParams {
    GridState* state;
    HostLink link;
    const u32* offsets;  // of the arcs into each vertex
    const u32* indices;
    const Bits* weights;
    const Bits* distances;
    u32* parents;
    u32* rounds;         // in which a vertex got its parent; NO_VERTEX: not yet
    u32* open;           // vertices without a nearer parent
    u32 nodes, source;
    u32 target;          // farther vertices count as not reached; NO_VERTEX: none
    u32 pad;
};
struct FarthestParams {
    const u32* distances;
    u32* farthest;       // the largest finite distance; zeroed before
    u32 nodes, unreached;
};
template <class Bits> struct StuckParams {
    const u32* offsets;
    const u32* indices;
    const Bits* distances;
    u32* stuck;  // set if a reached vertex has an arc to one that counts as not reached
    u32 nodes, pad;
};

/// The first arc of the row of `v` from a vertex that explains `distance`; rows ascend, so that it is the smallest. All lanes.
template <class Key, class Explains>
BG_DEVICE u32 first_parent(const ParentParams<typename Key::Bits>& p, u32 v, Explains explains) {
    u32 start = p.offsets[v], end = p.offsets[v + 1];
    for (u32 base = start; base < end; base += WARP) {
        u32 k = base + lane(), u = k < end ? p.indices[k] : NO_VERTEX;
        bool fits = k < end && explains(u, p.weights ? p.weights[k] : Key::ONE);
        u32 found = ballot(fits);
        if (found) return shuffle(u, __ffs(found) - 1);
    }
    return NO_VERTEX;
}

template <class Key> BG_DEVICE void find_parents(const ParentParams<typename Key::Bits>& p) {
    typedef typename Key::Bits Bits;
    Grid grid(p.state, p.link, shared_memory());
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, warps = gridDim.x * blockDim.x / WARP;
    Bits end = p.target == NO_VERTEX ? Key::UNREACHED : p.distances[p.target];
    for (u32 v = warp; v < p.nodes; v += warps) {
        Bits distance = p.distances[v];
        bool reached = distance != Key::UNREACHED && distance <= end;
        u32 parent = v == p.source ? v : NO_VERTEX;
        if (reached && v != p.source) {
            parent = first_parent<Key>(p, v, [&](u32 u, Bits w) {
                Bits from = p.distances[u];
                return from < distance && Key::extend(from, w) == distance;
            });
        }
        if (lane() == 0) {
            p.parents[v] = parent;
            p.rounds[v] = parent == NO_VERTEX ? NO_VERTEX : 0;
            if (reached && parent == NO_VERTEX) p.open[atomicAdd(&p.state->slots[grid.turn & 3].a, 1u)] = v;
        }
    }
    Meeting met = grid.meet();
    u32 open = met.a;
    for (u32 round = 1; open && !met.stop; round++) {
        u32 settled = 0;
        for (u32 i = warp; i < open; i += warps) {
            u32 v = load_l2(p.open + i);
            if (load_l2(p.rounds + v) != NO_VERTEX) continue;
            Bits distance = p.distances[v];
            u32 parent = first_parent<Key>(p, v, [&](u32 u, Bits w) {
                return p.distances[u] == distance && Key::extend(distance, w) == distance && load_l2(p.rounds + u) < round;
            });
            if (parent == NO_VERTEX) continue;
            settled++;
            if (lane() == 0) {
                p.parents[v] = parent;
                p.rounds[v] = round;
            }
        }
        if (lane() == 0 && settled) grid.add_a(settled);
        met = grid.meet();
        if (met.a == 0) break;
    }
}
template <class Key> BG_DEVICE void find_stuck(const StuckParams<typename Key::Bits>& p) {
    const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, warps = gridDim.x * blockDim.x / WARP;
    for (u32 v = warp; v < p.nodes; v += warps) {
        if (p.distances[v] == Key::UNREACHED) continue;
        for (u32 k = p.offsets[v] + lane(); k < p.offsets[v + 1]; k += WARP) {
            if (p.distances[p.indices[k]] == Key::UNREACHED) *p.stuck = 1;
        }
    }
}
}  // namespace bg

BG_KERNEL(sssp_parents_u32, bg::ParentParams<u32>, 256, 4) { bg::find_parents<bg::WholeKey>(p); }
BG_KERNEL(sssp_parents_u64, bg::ParentParams<u64>, 256, 4) { bg::find_parents<bg::WideKey>(p); }
BG_KERNEL(sssp_parents_f32, bg::ParentParams<u32>, 256, 4) { bg::find_parents<bg::RealKey>(p); }
BG_KERNEL(sssp_parents_f64, bg::ParentParams<u64>, 256, 4) { bg::find_parents<bg::DoubleKey>(p); }
BG_KERNEL(sssp_stuck_u64, bg::StuckParams<u64>, 256, 4) { bg::find_stuck<bg::WideKey>(p); }

BG_KERNEL(sssp_farthest, bg::FarthestParams, 256, 4) {
    using namespace bg;
    u32 farthest = 0;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 distance = p.distances[v];
        if (distance != p.unreached) farthest = max_of(farthest, distance);
    }
    farthest = warp_max(farthest);
    if (lane() == 0) atomicMax(p.farthest, farthest);
}
