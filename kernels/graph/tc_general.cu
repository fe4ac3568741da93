// Triangles by intersecting the two lists of every oriented edge: the lanes of a warp take the entries of the shorter list and
// search the longer one. Edges are handed out in chunks, so that long lists spread over the grid. For any graph.
#include "graph/tc_lists.cuh"
#include "tuning/tc.cuh"

BG_KERNEL(tc_general, bg::tc::ListsParams, 512, 2) {
    using namespace bg;
    using namespace bg::tc;
    u64 total = 0;
    for (;;) {
        u32 chunk = 0;
        if (lane() == 0) chunk = atomicAdd(p.ticket, 1u);
        u64 first = (u64)shuffle(chunk, 0) * CHUNK;
        if (first >= p.entries) break;
        u32 edges = (u32)min_of((u64)CHUNK, p.entries - first), e = (u32)first + lane();
        // Every lane looks up one edge; then the warp intersects them one after another.
        u32 own_begin = 0, own_end = 0, other_begin = 0, other_end = 0;
        if (lane() < edges) {
            u32 u = row_of(p.offsets, p.n, e), v = load_readonly(p.indices + e);
            own_begin = load_readonly(p.offsets + u);
            own_end = load_readonly(p.offsets + u + 1);
            other_begin = load_readonly(p.offsets + v);
            other_end = load_readonly(p.offsets + v + 1);
        }
        u32 counted = 0;
        for (u32 i = 0; i < edges; i++) {
            u32 a = shuffle(own_begin, i), a_length = shuffle(own_end, i) - a;
            u32 b = shuffle(other_begin, i), b_length = shuffle(other_end, i) - b;
            u32 shorter = a, s_length = a_length, longer = b, l_length = b_length;
            if (b_length < a_length) {
                shorter = b, s_length = b_length, longer = a, l_length = a_length;
            }
            for (u32 k = lane(); k < s_length; k += WARP) {
                counted += contains(p.indices + longer, l_length, load_readonly(p.indices + shorter + k));
            }
        }
        warp_sync();
        total += counted;
    }
    add_total(p.total, total);
}
