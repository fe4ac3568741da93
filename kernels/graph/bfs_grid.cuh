// Breadth-first search of any graph in one cooperative launch: the two directions of a level.
//
// A frontier to push is a queue of pieces {start, length} of adjacency, so that the rows of hubs are spread over warps; a warp
// takes up to 32 pieces and deals their arcs evenly to its lanes. A level that is pulled needs no queue: an unvisited vertex
// looks for any visited neighbour, which is of the level before because every earlier level is complete.
#pragma once
#include "common/grid.cuh"
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "graph/bfs_totals.cuh"
#include "tuning/bfs.cuh"

namespace bg {
struct BfsGridParams {
    const u32 *out_offsets, *out_indices, *in_offsets, *in_indices;
    const u32* first;     // an in-neighbour of large degree of every vertex; null if not prepared
    const u32* isolated;  // bit set: no arc enters or leaves the vertex; null if not prepared
    i32* levels;          // or null
    u32* parents;         // or null
    u32 *visited_a, *visited_b;
    void *queue_a, *queue_b;
    BfsTotals* totals;
    GridState* state;
    HostLink link;
    u32 nodes, words, source, arcs;
    u32 connected;       // vertices that are not isolated, or as many as there are vertices
    u32 queue_capacity;  // pieces
    u32 stage_capacity;  // pieces that a block's half of the staging area holds
    u32 chunk;           // arcs of a piece
    u32 alone_enter, alone_leave;  // arcs of a frontier below which block 0 searches alone, and above which it stops
    u32 alpha;           // pull when alpha * (arcs of the frontier) exceeds the arcs not seen yet
    u32 batch;           // words that a warp pulls at a time, at most PULL_WORDS
    u32 shared_bits;     // pulling copies the visited bits to shared memory
    u32 smallest_parents;  // parents are made from the levels afterwards
    u32 alone_level;       // the level from which block 0 may search alone
    u32 flood;             // a frontier of nodes / flood arcs that grows fourfold is pulled from without a queue; 0: none
};

constexpr u32 NO_VERTEX = 0xffffffffu;

template <bool PARENTS> struct PieceOf { typedef uint2 type; };
template <> struct PieceOf<true> { typedef uint4 type; };  // z: the vertex
BG_DEVICE uint2 make_piece(uint2, u32 start, u32 length, u32) { return make_uint2(start, length); }
BG_DEVICE uint4 make_piece(uint4, u32 start, u32 length, u32 vertex) { return make_uint4(start, length, vertex, 0); }
template <class Piece> struct PieceParents { static constexpr bool value = same_type<Piece, uint4>::value; };
BG_DEVICE u32 piece_vertex(uint2) { return 0; }
BG_DEVICE u32 piece_vertex(uint4 piece) { return piece.z; }

BG_DEVICE bool bit_of(const u32* bits, u32 vertex) { return bits[vertex >> 5] >> (vertex & 31u) & 1u; }

/// Where the pieces found by a block go: to shared memory, and beyond that to the queue of the next level. Pieces that do not
/// fit there either are counted and dropped; the next level is pulled then.
template <class Piece> struct Outbox {
    u32* staged_count;  // shared memory
    Piece* staged;
    u32 stage_capacity;
    Piece* queue;
    u32 queue_capacity;
    u32* queue_count;  // null: the block searches alone, and a piece's place in the queue is its place in the block

    BG_DEVICE void put(u32 at, u32 spilled, Piece piece) const {
        if (at < stage_capacity) {
            staged[at] = piece;
        } else {
            u32 place = queue_count ? spilled + at : at;
            if (place < queue_capacity) queue[place] = piece;
        }
    }
    /// Takes the vertices of a warp: each lane gives `count` of them with their rows. All lanes call it.
    template <u32 N> BG_DEVICE void add(const bool (&fresh)[N], const u32 (&vertex)[N], const u32 (&start)[N], const u32 (&degree)[N], u32 chunk) const {
        u32 pieces[N], own = 0, largest = 0;
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            pieces[k] = fresh[k] ? ceil_div(degree[k], chunk) : 0;
            own += pieces[k];
            largest = max_of(largest, pieces[k]);
        }
        u32 inclusive = scan_inclusive(own);
        u32 total = shuffle(inclusive, 31);
        if (total == 0) return;
        u32 at = 0, spilled = 0;
        if (lane() == 0) {
            at = atomicAdd(staged_count, total);
            // What the staging area does not hold is given consecutive places in the queue: place = spilled + at.
            if (queue_count && at + total > stage_capacity) {
                u32 from = max_of(at, stage_capacity);
                spilled = atomicAdd(queue_count, at + total - from) - from;
            }
        }
        at = shuffle(at, 0) + inclusive - own;
        spilled = shuffle(spilled, 0);
        bool hubs = any(largest > 8);
#pragma unroll
        for (u32 k = 0; k < N; k++) {
            if (pieces[k] <= 8) {
                for (u32 c = 0; c < pieces[k]; c++) put(at + c, spilled, piece_at(vertex[k], start[k], degree[k], c, chunk));
            }
            if (hubs) {
                for (u32 rest = ballot(pieces[k] > 8); rest; rest &= rest - 1) {
                    u32 from = __ffs(rest) - 1;
                    u32 v = shuffle(vertex[k], from), s = shuffle(start[k], from), d = shuffle(degree[k], from);
                    u32 first = shuffle(at, from), n = shuffle(pieces[k], from);
                    for (u32 c = lane(); c < n; c += WARP) put(first + c, spilled, piece_at(v, s, d, c, chunk));
                }
            }
            at += pieces[k];
        }
    }
    static BG_DEVICE Piece piece_at(u32 vertex, u32 start, u32 degree, u32 c, u32 chunk) {
        return make_piece(Piece{}, start + c * chunk, min_of(chunk, degree - c * chunk), vertex);
    }
};

/// Vertices found and the arcs that leave them.
struct BfsTally {
    u32 found, arcs;
};

/// Follows the arcs of `count` pieces, of which the first `staged_count` are in shared memory. ALONE: one block does all.
template <bool ALONE, class Piece>
BG_DEVICE void bfs_push(const BfsGridParams& p, const Piece* staged, u32 staged_count, const Piece* queue, u32 count, u32 level, u32* visited,
                        const Outbox<Piece>& out, BfsTally& tally) {
    const u32 warps = (ALONE ? 1 : gridDim.x) * (blockDim.x / WARP);
    const u32 warp = ALONE ? threadIdx.x / WARP : threadIdx.x / WARP * gridDim.x + blockIdx.x;
    const u32 take = min_of(max_of(ceil_div(count, warps), 1u), WARP);
    for (u32 base = warp * take; base < count; base += warps * take) {
        Piece piece = Piece{};
        u32 mine = base + lane();
        if (lane() < take && mine < count) piece = mine < staged_count ? staged[mine] : load_l2(queue + mine);
        u32 inclusive = scan_inclusive(piece.y);
        u32 exclusive = inclusive - piece.y, total = shuffle(inclusive, 31);
        for (u32 t0 = 0; t0 < total; t0 += WARP * PUSH_UNROLL) {
            u32 target[PUSH_UNROLL], parent[PUSH_UNROLL], start[PUSH_UNROLL], degree[PUSH_UNROLL], word[PUSH_UNROLL];
            bool fresh[PUSH_UNROLL];
#pragma unroll
            for (u32 k = 0; k < PUSH_UNROLL; k++) {
                // The piece that arc t is of: the last one that starts at or before it.
                u32 t = t0 + k * WARP + lane(), owner = 0;
                target[k] = NO_VERTEX;
                parent[k] = 0;
                if (t0 + k * WARP < total) {
#pragma unroll
                    for (u32 d = 16; d; d >>= 1) {
                        if (shuffle(exclusive, owner + d) <= t) owner += d;
                    }
                    u32 arc = shuffle(piece.x, owner) + t - shuffle(exclusive, owner);
                    if (PieceParents<Piece>::value) parent[k] = shuffle(piece_vertex(piece), owner);
                    if (t < total) target[k] = load_readonly(p.out_indices + arc);
                }
            }
#pragma unroll
            for (u32 k = 0; k < PUSH_UNROLL; k++) word[k] = target[k] != NO_VERTEX ? load_l2(visited + (target[k] >> 5)) : FULL;
#pragma unroll
            for (u32 k = 0; k < PUSH_UNROLL; k++) {
                fresh[k] = !(word[k] >> (target[k] & 31u) & 1u);
                start[k] = degree[k] = 0;
                if (fresh[k]) {
                    start[k] = load_readonly(p.out_offsets + target[k]);
                    degree[k] = load_readonly(p.out_offsets + target[k] + 1) - start[k];
                    u32 bit = 1u << (target[k] & 31u);
                    fresh[k] = !(atomicOr(visited + (target[k] >> 5), bit) & bit);
                }
            }
            bool some = false;
#pragma unroll
            for (u32 k = 0; k < PUSH_UNROLL; k++) {
                if (fresh[k]) {
                    some = true;
                    if (p.levels) p.levels[target[k]] = (i32)level + 1;
                    if (PieceParents<Piece>::value) p.parents[target[k]] = parent[k];
                    tally.found++;
                    tally.arcs += degree[k];
                }
            }
            if (any(some)) out.add(fresh, target, start, degree, p.chunk);
        }
    }
}

/// Follows the arcs of a frontier that is about to be pulled from: sets bits and levels and makes no queue. A vertex that several
/// arcs reach gets the same level from each, and one of their parents.
template <class Piece> BG_DEVICE void bfs_flood(const BfsGridParams& p, const Piece* queue, u32 count, u32 level, u32* visited) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), warp = threadIdx.x / WARP * gridDim.x + blockIdx.x;
    for (u32 i = warp; i < count; i += warps) {
        Piece piece = load_l2(queue + i);
        for (u32 x = lane(); x < piece.y; x += WARP) {
            u32 target = load_readonly(p.out_indices + piece.x + x), bit = 1u << (target & 31u);
            if (load_l2(visited + (target >> 5)) & bit) continue;
            reduce_or(visited + (target >> 5), bit);
            if (p.levels) p.levels[target] = (i32)level + 1;
            if (PieceParents<Piece>::value) p.parents[target] = piece_vertex(piece);
        }
    }
}

/// Looks for a visited in-neighbour of every unvisited vertex. `probe` holds the visited bits, in shared memory or not;
/// `todo` is 32 * PULL_WORDS bytes and `words` PULL_WORDS words of shared memory of the warp. Returns the lane's share of the
/// vertices found, and in `known` of the bits set before. `use_first`: most vertices are open, and their candidates worth a look.
BG_DEVICE u32 bfs_pull(const BfsGridParams& p, u32 level, bool use_first, const u32* before, u32* after, const u32* probe, u8* todo, u32* words,
                       u32& known) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), warp = threadIdx.x / WARP * gridDim.x + blockIdx.x, l = lane();
    const bool parents = p.parents && !p.smallest_parents;
    u32 found = 0;
    for (u32 base = warp * p.batch; base < p.words; base += warps * p.batch) {
        const bool holds = l < p.batch && base + l < p.words;
        u32 own = holds ? load_l2(before + base + l) : FULL, fresh = 0;
        if (holds) known += __popc(own);
        if (any(own != FULL)) {
            // The vertex's own candidate first: it decides most vertices without a look at the offsets.
            u32 candidate[PULL_WORDS], left = 0;
            bool open[PULL_WORDS];
            if (l < PULL_WORDS) words[l] = 0;
            warp_sync();
#pragma unroll
            for (u32 k = 0; k < PULL_WORDS; k++) {
                open[k] = !(shuffle(own, k) >> l & 1u);
                candidate[k] = NO_VERTEX;
                if (open[k] && use_first) candidate[k] = load_readonly(p.first + (base + k) * WARP + l);
            }
#pragma unroll
            for (u32 k = 0; k < PULL_WORDS; k++) {
                bool hit = candidate[k] != NO_VERTEX && bit_of(probe, candidate[k]);
                u32 v = (base + k) * WARP + l;
                if (hit) {
                    if (p.levels) p.levels[v] = (i32)level + 1;
                    if (parents) p.parents[v] = candidate[k];
                }
                u32 hits = ballot(hit), rest = ballot(open[k] && !hit);
                if (l == k) fresh = hits;
                if (rest >> l & 1u) todo[left + __popc(rest & ((1u << l) - 1u))] = (u8)(k * WARP + l);
                left += __popc(rest);
            }
            warp_sync();
            for (u32 i = 0; i < left; i += WARP) {
                u32 id = i + l < left ? todo[i + l] : 0, v = base * WARP + id;
                u32 at = 0, end = 0, parent = NO_VERTEX;
                if (i + l < left) {
                    at = load_readonly(p.in_offsets + v);
                    end = load_readonly(p.in_offsets + v + 1);
                    u32 stop = min_of(end, at + PULL_ALONE);
                    while (at < stop && parent == NO_VERTEX) {
                        u32 u[4];
#pragma unroll
                        for (u32 j = 0; j < 4; j++) u[j] = load_readonly(p.in_indices + min_of(at + j, stop - 1));
                        bool seen[4];
#pragma unroll
                        for (u32 j = 0; j < 4; j++) seen[j] = bit_of(probe, u[j]);
#pragma unroll
                        for (u32 j = 0; j < 4; j++) {
                            if (seen[3 - j]) parent = u[3 - j];
                        }
                        at += 4;
                    }
                }
                for (u32 rest = ballot(parent == NO_VERTEX && at < end); rest; rest &= rest - 1) {
                    u32 from = __ffs(rest) - 1, x = shuffle(at, from), stop = shuffle(end, from);
                    for (; x < stop; x += 4 * WARP) {
                        u32 u[4], own = NO_VERTEX;
#pragma unroll
                        for (u32 j = 0; j < 4; j++) u[j] = load_readonly(p.in_indices + min_of(x + j * WARP + l, stop - 1));
#pragma unroll
                        for (u32 j = 0; j < 4; j++) {
                            if (bit_of(probe, u[j])) own = u[j];
                        }
                        u32 hits = ballot(own != NO_VERTEX);
                        if (hits) {
                            own = shuffle(own, __ffs(hits) - 1);
                            if (l == from) parent = own;
                            break;
                        }
                    }
                }
                if (parent != NO_VERTEX) {
                    atomicOr(words + id / WARP, 1u << (id & 31u));
                    if (p.levels) p.levels[v] = (i32)level + 1;
                    if (parents) p.parents[v] = parent;
                }
            }
            warp_sync();
            if (l < PULL_WORDS) fresh |= words[l];
            warp_sync();
        }
        if (holds) {
            after[base + l] = own | fresh;
            found += __popc(fresh);
        }
    }
    return found;
}

/// Puts the vertices found by the last pull into the queue. Counts pieces and arcs at the coming barrier.
template <class Piece> BG_DEVICE void bfs_enqueue(const BfsGridParams& p, Grid& grid, const u32* before, const u32* after, Piece* queue) {
    const u32 warps = gridDim.x * (blockDim.x / WARP), warp = threadIdx.x / WARP * gridDim.x + blockIdx.x, l = lane();
    u32* counter = &grid.state->slots[grid.turn & 3].a;
    for (u32 w = warp; w < p.words; w += warps) {
        u32 fresh = load_l2(after + w) & ~load_l2(before + w);
        if (fresh == 0) continue;
        u32 v = w * WARP + l, start = 0, degree = 0;
        if (fresh >> l & 1u) {
            start = load_readonly(p.out_offsets + v);
            degree = load_readonly(p.out_offsets + v + 1) - start;
        }
        u32 pieces = ceil_div(degree, p.chunk), inclusive = scan_inclusive(pieces);
        u32 total = shuffle(inclusive, 31), arcs = warp_sum(degree), at = 0;
        if (l == 0) {
            at = atomicAdd(counter, total);
            grid.add_c(arcs);
        }
        at = shuffle(at, 0) + inclusive - pieces;
        for (u32 c = 0; c < pieces; c++) {
            if (at + c < p.queue_capacity) queue[at + c] = Outbox<Piece>::piece_at(v, start, degree, c, p.chunk);
        }
    }
}
}  // namespace bg
