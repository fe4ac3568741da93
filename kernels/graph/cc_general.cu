// Connected components of any graph: trees are hooked to the first two neighbours, then only vertices outside the most frequent
// component look at the rest of their edges (Afforest: Sutton, Ben-Nun, Barak, IPDPS 2018). Weak on directed graphs: there such a
// vertex looks along its incoming arcs too, since an arc may leave the giant and not come back.
#include "graph/cc_forest.cuh"
#include "tuning/cc.cuh"

namespace bg { namespace cc {
BG_DEVICE void flatten(u32* parent, u32* labels, u32 n, u32 thread, u32 threads) {
    for (u32 v = thread; v < n; v += threads) labels[v] = find_root_fresh(parent, v);
}
}}  // namespace bg::cc

BG_KERNEL(cc_general, bg::cc::CcParams, 1024, 1) {
    using namespace bg;
    using namespace bg::cc;
    u32* giant_word = (u32*)(shared_memory() + 16);
    Grid grid(p.state, p.link, shared_memory());
    const u32 n = p.n, thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    u32* queued = &p.state->reserved[0];

    for (u32 v = thread; v < n; v += threads) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1);
        u32 first = begin < end ? load_readonly(p.indices + begin) : v;
        p.parent[v] = min_of(first, v);
    }
    if (grid.meet().stop) return;
    grid.report(1);
    for (u32 v = thread; v < n; v += threads) {
        u32 begin = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1);
        // The first neighbour is done already unless it is the larger end.
        for (u32 k = 0; k < FIRST_NEIGHBOURS && k < end - begin; k++) {
            u32 w = load_readonly(p.indices + begin + k);
            if (k > 0 || w > v) unite(p.parent, v, w);
        }
    }
    if (grid.meet().stop) return;
    grid.report(2);
    // No root changes before the next barrier, so all blocks choose the same giant: two that chose differently could both skip an edge.
    if (threadIdx.x < WARP) {
        u32 giant = most_frequent(find_root_fresh(p.parent, sampled_vertex(lane(), n)));
        if (lane() == 0) *giant_word = giant;
    }
    flatten(p.parent, p.parent, n, thread, threads);
    if (grid.meet().stop) return;

    const u32 giant = *giant_word;
    for (u32 base = thread - lane(); base < n; base += threads) {
        u32 v = base + lane(), begin = 0, end = 0, in_begin = 0, in_end = 0;
        if (v < n && load_volatile(p.parent + v) != giant) {
            begin = load_readonly(p.offsets + v);
            end = load_readonly(p.offsets + v + 1);
            begin = min_of(begin + FIRST_NEIGHBOURS, end);
            if (p.in_offsets) {
                in_begin = load_readonly(p.in_offsets + v);
                in_end = load_readonly(p.in_offsets + v + 1);
            }
        }
        unite_rows(p.parent, p.indices, v, begin, end, p.long_rows, queued, Itself{});
        if (p.in_offsets) unite_rows(p.parent, p.in_indices, v, in_begin, in_end, p.long_rows, queued, Itself{});
    }
    if (grid.meet().stop) return;
    grid.report(3);
    u32 rows = load_volatile(queued);
    if (rows) {
        unite_long_rows(p.parent, p.offsets, p.indices, p.long_rows, rows, thread, threads, Itself{});
        if (p.in_offsets) unite_long_rows(p.parent, p.in_offsets, p.in_indices, p.long_rows, rows, thread, threads, Itself{});
        if (grid.meet().stop) return;
    }
    flatten(p.parent, p.labels, n, thread, threads);
}
