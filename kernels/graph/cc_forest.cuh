// Union-find over an array of parents that many blocks share. A parent is never larger than its child, so the root of a tree is its
// smallest vertex, which is the label that components are named by.
//
// Parents only ever get smaller and stay in the component: a stale one costs steps, never the answer. So searches may read through
// L1, and only the compare-and-swap that makes a root a child decides.
#pragma once
#include "common/grid.cuh"
#include "tuning/cc.cuh"

namespace bg { namespace cc {
/// No vertex.
constexpr u32 ALONE = 0xffffffffu;

/// What every form of the algorithm is given. `in_offsets` is null on symmetric graphs.
struct CcParams {
    const u32* offsets;
    const u32* indices;
    const u32* in_offsets;
    const u32* in_indices;
    u32* parent;      // n
    u32* labels;      // n: the result
    u32* long_rows;   // room for entries / LONG_ROW rows of each direction
    u32* local;       // n: scratch of the form that keeps its ranges in memory, else null
    const u32* near;  // hooking: NEAR neighbours of every vertex, all first ones first; null: they are looked up in their rows
    GridState* state;
    HostLink link;
    u32 n;
    u32 middle;       // hooking: the neighbour tried second is the middle one of the row (1), or the second (0)
    u32 loose;        // hooking: links may be lost on the way, and the last step finds them
    u32 reserved;
};

/// The root of `v`; halves the path on its way.
BG_DEVICE u32 find_root(u32* parent, u32 v) {
    u32 current = load_cached(parent + v);
    if (current == v) return v;
    u32 previous = v;
    for (;;) {
        u32 next = load_cached(parent + current);
        if (next >= current) return current;
        parent[previous] = next;
        previous = current;
        current = next;
    }
}

/// As above, past L1: for a thread that lost a race and must see the winner.
BG_DEVICE u32 find_root_fresh(const u32* parent, u32 v) {
    for (;;) {
        u32 next = load_volatile(parent + v);
        if (next >= v) return v;
        v = next;
    }
}

/// Joins the trees of `u` and `v`, the larger root under the smaller.
BG_DEVICE void unite(u32* parent, u32 u, u32 v) {
    u32 a = find_root(parent, u), b = find_root(parent, v);
    while (a != b) {
        u32 high = max_of(a, b), low = min_of(a, b);
        u32 seen = atomicCAS(parent + high, high, low);
        if (seen == high) return;
        a = find_root_fresh(parent, seen);
        b = find_root_fresh(parent, low);
    }
}

/// Vertex number `i` of a sample that is spread over all of them.
BG_DEVICE u32 sampled_vertex(u32 i, u32 n) {
    u32 hash = (i + 1) * 2654435761u;
    return (u32)(((u64)(hash ^ (hash >> 15)) * n) >> 32);
}

/// The value that most lanes hold, the same in all of them.
BG_DEVICE u32 most_frequent(u32 value) {
    u32 count = (u32)__popc(match_any(value));
    u32 best = warp_max(count << 5 | (31 - lane()));
    return shuffle(value, 31 - (best & 31));
}

/// A vertex is where the search for its root starts.
struct Itself {
    BG_DEVICE u32 operator()(u32 vertex) const { return vertex; }
};

/// Unites the vertex of every lane with its neighbours from `begin` to `end`: long rows with the lanes side by side, the longest left
/// in `long_rows` for the grid; `queued` is how many there are. `start` says where in `parent` the search for a vertex' root starts.
template <class Start>
BG_DEVICE void unite_rows(u32* parent, const u32* indices, u32 vertex, u32 begin, u32 end, u32* long_rows, u32* queued, Start start) {
    u32 length = end - begin;
    u32 alone = (u32)__popc(ballot(length > 0)) <= FEW_ROWS ? 1 : SHORT_ROW;
    if (length > LONG_ROW) {
        long_rows[atomicAdd(queued, 1u)] = vertex;
    } else if (length > 0 && length <= alone) {
        u32 from = start(vertex);
        for (u32 e = begin; e < end; e++) unite(parent, from, start(load_readonly(indices + e)));
    }
    for (u32 wide = ballot(length > alone && length <= LONG_ROW); wide; wide &= wide - 1) {
        u32 source = (u32)__ffs(wide) - 1;
        u32 v = shuffle(vertex, source), first = shuffle(begin, source), last = shuffle(end, source), from = start(v);
        for (u32 e = first + lane(); e < last; e += WARP) unite(parent, from, start(load_readonly(indices + e)));
        warp_sync();
    }
}

/// Unites the queued rows, each with all threads of the grid.
template <class Start>
BG_DEVICE void unite_long_rows(
    u32* parent, const u32* offsets, const u32* indices, const u32* long_rows, u32 count, u32 thread, u32 threads, Start start
) {
    for (u32 i = 0; i < count; i++) {
        u32 v = load_l2(long_rows + i), from = start(v);
        for (u64 e = (u64)load_readonly(offsets + v) + thread, end = load_readonly(offsets + v + 1); e < end; e += threads) {
            unite(parent, from, start(load_readonly(indices + e)));
        }
    }
}
}}  // namespace bg::cc
