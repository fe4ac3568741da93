// Breadth-first search from many sources at once: one bit for each source, 128 or 512 to a launch.
//
// A vertex has a row of bits of sources that have seen it and one of those whose level before it is in. Each level pulls: a
// group of lanes ORs the latter rows over the in-neighbours of its vertex, one word a lane, and stops once no bit is missing.
// A bit for each vertex says whether its row holds anything, so that most rows of a thin level are not read, and none is
// cleared. Rows of hubs are split into pieces, whose results are ORed together before a second barrier.
// How many bits each source got is counted in bit planes.
#include "common/grid.cuh"
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct MsBfsParams {
    const u32 *in_offsets, *in_indices;
    const u32* sources;
    const uint4* pieces;  // ordinal of the hub, its vertex, start, end
    const u32* hubs;      // vertices
    u32* pending;         // a row for each hub, zeroed
    u32 *visited, *rows_a, *rows_b;
    u32* active;  // three bitmaps of the vertices
    i32* levels;  // source-major, -1; or null
    u64 *reached, *sums;  // for each source, zeroed
    u32* depths;
    GridState* state;
    HostLink link;
    u32 nodes, words, count, piece_count, hub_count, hub_degree;
};

struct MsBfsPiecesParams {
    const u32* offsets;
    const u32* hubs;
    u32* flags;         // of vertices: 1 for a hub
    u32* counts;        // of hubs: pieces
    const u32* starts;  // of hubs: first piece
    uint4* pieces;
    u32 nodes, hub_count, hub_degree, piece;
};

constexpr u32 COUNT_PLANES = 6;

/// Counts, for each bit of a word, the words that have it, up to 63 of them.
struct BitPlanes {
    u32 plane[COUNT_PLANES];
    u32 added;
    BG_DEVICE BitPlanes() : added(0) {
#pragma unroll
        for (u32 i = 0; i < COUNT_PLANES; i++) plane[i] = 0;
    }
    BG_DEVICE void add(u32 bits) {
#pragma unroll
        for (u32 i = 0; i < COUNT_PLANES; i++) {
            u32 carry = plane[i] & bits;
            plane[i] ^= bits;
            bits = carry;
        }
        added++;
    }
    /// Adds the counts to those of the block: bit b of word w at b * pitch + w.
    BG_DEVICE void flush(u32* counts, u32 pitch, u32 word) {
        u32 some = 0;
#pragma unroll
        for (u32 i = 0; i < COUNT_PLANES; i++) some |= plane[i];
        for (; some; some &= some - 1) {
            u32 b = __ffs(some) - 1, value = 0;
#pragma unroll
            for (u32 i = 0; i < COUNT_PLANES; i++) value |= (plane[i] >> b & 1u) << i;
            atomicAdd(counts + b * pitch + word, value);
        }
#pragma unroll
        for (u32 i = 0; i < COUNT_PLANES; i++) plane[i] = 0;
        added = 0;
    }
};

/// The OR of the rows of in-neighbours `at` to `end`, one word a lane of the group; stops when nothing of `missing` is left in
/// the group. All lanes of the warp call it.
template <u32 LANES> BG_DEVICE u32 gather_rows(const MsBfsParams& p, const u32* rows, const u32* active, u32 at, u32 end, u32 missing) {
    const u32 word = lane() % LANES, group = lane() / LANES * LANES;
    const u32 group_mask = ((1u << LANES) - 1u) << group;
    u32 all = 0;
    u32 wanted = ballot(missing != 0) & group_mask;
    bool busy = at < end && wanted;
    while (any(busy)) {
        if (busy) {
            u32 u[4], row[4];
            bool on[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) u[j] = load_readonly(p.in_indices + min_of(at + j, end - 1));
#pragma unroll
            for (u32 j = 0; j < 4; j++) on[j] = load_l2(active + (u[j] >> 5)) >> (u[j] & 31u) & 1u;
#pragma unroll
            for (u32 j = 0; j < 4; j++) row[j] = on[j] ? load_l2(rows + (u64)u[j] * LANES + word) : 0;
#pragma unroll
            for (u32 j = 0; j < 4; j++) all |= row[j];
            at += 4;
        }
        wanted = ballot((missing & ~all) != 0) & group_mask;
        busy = busy && at < end && wanted;
    }
    return all;
}

/// LANES words of 32 sources each, fewer than a warp's lanes.
template <u32 LANES> BG_DEVICE void ms_search(const MsBfsParams& p) {
    constexpr u32 SOURCES = LANES * 32;
    u32* counts = (u32*)(shared_memory() + 64);
    u64* sums = (u64*)(counts + SOURCES);
    u32* reached = (u32*)(sums + SOURCES);
    u32* depths = reached + SOURCES;
    Grid grid(p.state, p.link, shared_memory());
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const u32 word = lane() % LANES, group = thread / LANES, groups = threads / LANES;
    u32* rows[2] = {p.rows_a, p.rows_b};

    for (u64 i = thread; i < (u64)p.nodes * LANES; i += threads) p.visited[i] = p.rows_a[i] = 0;
    for (u32 i = thread; i < 3 * p.words; i += threads) p.active[i] = 0;
    for (u32 k = threadIdx.x; k < SOURCES; k += blockDim.x) {
        counts[k] = reached[k] = depths[k] = 0;
        sums[k] = 0;
    }
    if (grid.meet().stop) return;
    for (u32 k = thread; k < p.count; k += threads) {
        u32 v = load_readonly(p.sources + k), bit = 1u << (k & 31u);
        atomicOr(p.visited + (u64)v * LANES + k / 32, bit);
        atomicOr(p.rows_a + (u64)v * LANES + k / 32, bit);
        atomicOr(p.active + v / 32, 1u << (v & 31u));
        if (p.levels) p.levels[(u64)k * p.nodes + v] = 0;
    }
    if (grid.meet().stop) return;

    // Bits of sources that there are.
    const u32 used = p.count >= (word + 1) * 32 ? FULL : p.count > word * 32 ? (1u << (p.count - word * 32)) - 1u : 0;
    u32 now = 0, level = 0;
    for (;; level++) {
        const u32 *from = rows[level & 1], *active = p.active + now * p.words;
        u32* to = rows[(level & 1) ^ 1];
        u32* active_next = p.active + (now + 1) % 3 * p.words;
        u32* active_free = p.active + (now + 2) % 3 * p.words;
        if (p.hub_count) {
            for (u32 i = group; i / (WARP / LANES) * (WARP / LANES) < p.piece_count; i += groups) {
                uint4 piece = make_uint4(0, 0, 0, 0);
                u32 missing = 0;
                if (i < p.piece_count) {
                    piece = load_readonly(p.pieces + i);
                    missing = used & ~load_l2(p.visited + (u64)piece.y * LANES + word);
                }
                u32 found = gather_rows<LANES>(p, from, active, piece.z, piece.w, missing) & missing;
                if (found) atomicOr(p.pending + (u64)piece.x * LANES + word, found);
            }
            if (grid.meet().stop) return;
        }
        for (u32 w = thread; w < p.words; w += threads) active_free[w] = 0;
        BitPlanes planes;
        bool some = false;
        const u32 total = p.nodes + p.hub_count;
        for (u32 i = group; i / (WARP / LANES) * (WARP / LANES) < total; i += groups) {
            // Vertices first, whose rows are gathered here, then hubs, whose rows are gathered already.
            u32 v = FULL, at = 0, end = 0, missing = 0, found = 0;
            if (i < p.nodes) {
                u32 first = load_readonly(p.in_offsets + i), last = load_readonly(p.in_offsets + i + 1);
                if (last - first <= p.hub_degree) {
                    v = i;
                    at = first;
                    end = last;
                }
            } else if (i < total) {
                v = load_readonly(p.hubs + i - p.nodes);
                u32* pending = p.pending + (u64)(i - p.nodes) * LANES + word;
                found = load_l2(pending);
                *pending = 0;
            }
            u32 before = 0;
            if (v != FULL) {
                before = load_l2(p.visited + (u64)v * LANES + word);
                missing = used & ~before;
            }
            found |= gather_rows<LANES>(p, from, active, at, end, missing);
            found &= missing;
            const u32 group_mask = ((1u << LANES) - 1u) << lane() / LANES * LANES;
            if (ballot(found != 0) & group_mask) {
                to[(u64)v * LANES + word] = found;
                p.visited[(u64)v * LANES + word] = before | found;
                if (word == 0) atomicOr(active_next + v / 32, 1u << (v & 31u));
                some = true;
                if (p.levels) {
                    for (u32 bits = found; bits; bits &= bits - 1) {
                        p.levels[(u64)(word * 32 + __ffs(bits) - 1) * p.nodes + v] = (i32)level + 1;
                    }
                }
            }
            planes.add(found);
            if (planes.added == (1u << COUNT_PLANES) - 1) planes.flush(counts, LANES, word);
        }
        planes.flush(counts, LANES, word);
        bool found_any = __syncthreads_or(some);
        for (u32 k = threadIdx.x; k < p.count; k += blockDim.x) {
            u32* place = counts + k % 32 * LANES + k / 32;
            u32 fresh = *place;
            *place = 0;
            if (fresh) {
                reached[k] += fresh;
                sums[k] += (u64)fresh * (level + 1);
                depths[k] = level + 1;
            }
        }
        if (found_any && threadIdx.x == 0) grid.add_a(1);
        Meeting m = grid.meet();
        if (m.stop) return;
        if (m.a == 0) break;
        grid.report(level + 1);
        now = (now + 1) % 3;
    }
    for (u32 k = threadIdx.x; k < p.count; k += blockDim.x) {
        u32 own = blockIdx.x == 0 ? 1 : 0;
        if (reached[k] + own) atomicAdd(p.reached + k, (u64)(reached[k] + own));
        if (sums[k]) atomicAdd(p.sums + k, sums[k]);
        if (depths[k]) atomicMax(p.depths + k, depths[k]);
    }
}

BG_KERNEL(msbfs_128, MsBfsParams, 512, 2) { ms_search<4>(p); }
BG_KERNEL(msbfs_512, MsBfsParams, 512, 2) { ms_search<16>(p); }

BG_KERNEL(msbfs_hubs, MsBfsPiecesParams, 256, 4) {
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        p.flags[v] = load_readonly(p.offsets + v + 1) - load_readonly(p.offsets + v) > p.hub_degree;
    }
}
BG_KERNEL(msbfs_count_pieces, MsBfsPiecesParams, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.hub_count; i += gridDim.x * blockDim.x) {
        u32 v = load_readonly(p.hubs + i);
        p.counts[i] = ceil_div(load_readonly(p.offsets + v + 1) - load_readonly(p.offsets + v), p.piece);
    }
}
BG_KERNEL(msbfs_fill_pieces, MsBfsPiecesParams, 256, 4) {
    const u32 warps = gridDim.x * (blockDim.x / WARP);
    for (u32 i = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; i < p.hub_count; i += warps) {
        u32 v = load_readonly(p.hubs + i), start = load_readonly(p.offsets + v), end = load_readonly(p.offsets + v + 1);
        u32 first = load_readonly(p.starts + i), count = ceil_div(end - start, p.piece);
        for (u32 k = lane(); k < count; k += WARP) {
            p.pieces[first + k] = make_uint4(i, v, start + k * p.piece, min_of(end, start + (k + 1) * p.piece));
        }
    }
}
}  // namespace bg
