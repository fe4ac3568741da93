// Connected components of a small symmetric graph in one block: parents in shared memory, every edge united once. Every thread
// takes the same number of entries, whatever rows they are in.
#include "graph/cc_forest.cuh"

namespace bg { namespace cc {
struct BlockParams {
    const u32* offsets;
    const u32* indices;
    u32* labels;
    u64* trace;     // null, or room for the times of TRACE_MARKS steps
    u32 n;
    u32 entries;
};

/// Entries whose loads are in flight at once.
constexpr u32 BATCH = 12;
/// Vertices of a thread whose first neighbours are.
constexpr u32 FIRST = 4;

/// Joins the trees that `a` and `b` are in: the larger is hung under the smaller, and what it hung under before is joined next
/// (Rem's algorithm).
BG_DEVICE void unite_in_block(u32* parent, u32 a, u32 b) {
    while (a != b) {
        u32 high = max_of(a, b), low = min_of(a, b), above = load_volatile(parent + high);
        if (above > low) {
            above = atomicMin(parent + high, low);
            if (above == high) return;
        }
        a = above;
        b = low;
    }
}

/// Hangs `v` under a neighbour if that is lower; all lanes of a warp together, with vertices in a row.
BG_DEVICE void hang_under(u32* parent, u32 n, u32 v, u32 neighbour) {
    u32 above = min_of(neighbour, v);
    // A run of vertices that each hang under the one before goes to its start at once.
    u32 run = ballot(above == v - 1 && v > 0 && v < n);
    if (run >> lane() & 1) {
        u32 before = ~run & ((1u << lane()) - 1);
        above = before ? v - lane() + 31 - (u32)__clz(before) : v - lane() - 1;
    }
    if (v < n) parent[v] = above;
}

/// The entries from `first` on that are left of the diagonal; ALONE stands for the others. `v` becomes the row of the last.
BG_DEVICE void load_batch(const BlockParams& p, const u32* offsets, u32 first, u32 end, u32& v, u32 (&row)[BATCH], u32 (&other)[BATCH]) {
#pragma unroll
    for (u32 j = 0; j < BATCH; j++) other[j] = first + j < end ? load_readonly(p.indices + first + j) : ALONE;
#pragma unroll
    for (u32 j = 0; j < BATCH; j++) {
        if (first + j < end) {
            while (offsets[v + 1] <= first + j) v++;
        }
        row[j] = v;
        if (other[j] >= v) other[j] = ALONE;
    }
}
}}  // namespace bg::cc

/// Shared memory: the parents, then the offsets.
BG_KERNEL(cc_block, bg::cc::BlockParams, 1024, 1) {
    using namespace bg;
    using namespace bg::cc;
    u32* parent = (u32*)shared_memory();
    u32* offsets = parent + p.n;
    mark(p.trace, 0);
    for (u32 v = threadIdx.x; v <= p.n; v += blockDim.x) offsets[v] = load_readonly(p.offsets + v);
    __syncthreads();
    mark(p.trace, 1);
    // The first neighbours of some vertices, then the thread's share of entries: all asked for before any is needed.
    u32 first[FIRST];
#pragma unroll
    for (u32 k = 0; k < FIRST; k++) {
        u32 v = threadIdx.x + k * blockDim.x;
        first[k] = v < p.n && offsets[v] < offsets[v + 1] ? load_readonly(p.indices + offsets[v]) : ALONE;
    }
    const u32 share = ceil_div(p.entries, blockDim.x), begin = min_of(threadIdx.x * share, p.entries), end = min_of(begin + share, p.entries);
    u32 v = 0, row[BATCH], other[BATCH];
    for (u32 high = p.n; high - v > 1;) {
        u32 middle = v + (high - v) / 2;
        if (offsets[middle] <= begin) v = middle;
        else high = middle;
    }
    load_batch(p, offsets, begin, end, v, row, other);
    // Hanging under the first neighbour takes no atomics and leaves few trees.
#pragma unroll
    for (u32 k = 0; k < FIRST; k++) hang_under(parent, p.n, threadIdx.x + k * blockDim.x, first[k]);
    for (u32 base = FIRST * blockDim.x; base < p.n; base += blockDim.x) {
        u32 i = base + threadIdx.x;
        hang_under(parent, p.n, i, i < p.n && offsets[i] < offsets[i + 1] ? load_readonly(p.indices + offsets[i]) : ALONE);
    }
    __syncthreads();
    mark(p.trace, 2);
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) {
        u32 root = i;
        for (u32 above; (above = load_volatile(parent + root)) != root;) root = above;
        // Others follow the same paths meanwhile.
        atomicMin(parent + i, root);
    }
    __syncthreads();
    mark(p.trace, 3);
    // All threads take the same number of turns, so that warps stay together.
    for (u32 done = 0; done < share; done += BATCH) {
        if (done > 0) load_batch(p, offsets, begin + done, end, v, row, other);
#pragma unroll
        for (u32 j = 0; j < BATCH; j++) {
            if (other[j] != ALONE) unite_in_block(parent, load_volatile(parent + row[j]), load_volatile(parent + other[j]));
            warp_sync();
        }
    }
    __syncthreads();
    mark(p.trace, 4);
    for (u32 i = threadIdx.x; i < p.n; i += blockDim.x) {
        u32 root = i;
        for (u32 above; (above = load_volatile(parent + root)) != root;) root = above;
        p.labels[i] = root;
    }
    mark(p.trace, 5);
}
