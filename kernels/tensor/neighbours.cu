// Batches of sampled neighbours: the draws of rows, the numbers of the nodes that they meet, the rows by these numbers, and rows of features.
// What a batch is says `NeighboursOp` of the crate bitgraph-tensor.
//
// Invariant: a mark is UNMET, or MET with the smallest place at which this hop met its vertex, or the vertex's number in the batch, the smallest of
// the three. Entries lie by the numbers of their rows, then in the order of draws; their places are below 2^31.
#include "formats/lookback.cuh"
#include "formats/rows.cuh"

namespace bg {
constexpr u32 UNMET = 0xffffffffu;
constexpr u32 MET = 0x80000000u;
/// Places of a thread that gives numbers.
constexpr u32 NEIGHBOUR_ITEMS = 4;
/// The first bit of the second of two sums in one word of the look-back.
constexpr u32 SECOND = 31;

/// A batch on its way.
struct NeighbourState {
    RowOffsets graph;
    const u32* columns;
    const u32* order;  // the seeds
    u32* marks;        // of each vertex
    u32* nodes;        // the vertex of each number
    u32* starts;       // where the row of each number starts
    u32* met;          // the vertex of each entry
    u64* sizes;        // nodes and, in the upper half, entries: zeros, with the seeds, after each hop
};
struct NeighbourDrawParams {
    NeighbourState batch;
    u64 key;
    u32 hop, fanout;   // hops count from 1
    u32 room, reserved;  // places of a warp in shared memory, for draws that lanes cannot hold
};
struct NeighbourNumberParams {
    NeighbourState batch;
    u64* status;       // a ticket and one status word for each block, zeroed
    u32 hop, seeds;    // hop 0 numbers so many seeds
    u32 fanout;        // of the nodes that get numbers; 0 in the last hop
    u32 reserved;
};
struct NeighbourRowsParams {
    NeighbourState batch;
    u32* offsets;
    u32* indices;
    u32* looped_offsets;
    u32* looped_indices;
    f32* weights;
    i32* vertices;
    u32 n, entries;
    u32 room, reserved;  // places of a warp in shared memory: the longest row
};
struct NeighbourCloseParams {
    u32* marks;
    const u32* nodes;
    const i32* labels;
    f32* targets;      // n x classes, zeroed
    u32 n, seeds;
    u32 classes, reserved;
};
struct GatherRowsParams {
    const void* from;
    const i32* rows;
    void* to;
    u64 n;             // rows that are taken
    u64 words;         // of a row
    u64 stride;        // words from row to row
    u64 from_rows;
    u32 bytes;         // of a word
    u32 reserved;
};

BG_DEVICE u32 nodes_of(u64 size) { return (u32)size; }
BG_DEVICE u32 entries_of(u64 size) { return (u32)(size >> 32); }

/// `Stream` of bitgraph-generate.
BG_DEVICE u64 mix64(u64 x) {
    u64 z = x + 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
BG_DEVICE u64 stream_of(u64 key, u32 vertex) { return mix64(mix64(key) ^ vertex * 0xd6e8feb86659fd93ull); }
/// Element `i` as a number below `n`, the upper half of a product of 128 bits.
BG_DEVICE u32 stream_below(u64 stream, u32 i, u32 n) {
    u64 bits = mix64(stream + i * 0x9e3779b97f4a7c15ull);
    return (u32)(((bits >> 32) * n + ((bits & 0xffffffffull) * n >> 32)) >> 32);
}

/// Notes an entry, and that its vertex was met.
BG_DEVICE void meet(const NeighbourState& b, u32 place, u32 vertex) {
    b.met[place] = vertex;
    reduce_min(b.marks + vertex, MET | place);
}

/// The row of one number; all lanes call it. `taken` has `room` places of the warp.
BG_DEVICE void draw_row(const NeighbourDrawParams& p, u32 number, u32* taken) {
    const NeighbourState& b = p.batch;
    u32 vertex = load_readonly(b.nodes + number), start = load_readonly(b.starts + number);
    u64 begin = b.graph.at(vertex);
    u32 degree = (u32)(b.graph.at((u64)vertex + 1) - begin);
    const u32* row = b.columns + begin;
    if (degree <= p.fanout) {
        for (u32 k = lane(); k < degree; k += WARP) meet(b, start + k, load_readonly(row + k));
        return;
    }
    u64 stream = stream_of(p.key, vertex);
    u32 first = degree - p.fanout;  // what a draw is that was taken before, less the number of the draw
    if (p.fanout <= WARP) {
        u32 own = lane() < p.fanout ? stream_below(stream, lane(), first + lane() + 1) : UNMET;
        for (u32 i = 1; i < p.fanout; i++) {
            u32 drawn = shuffle(own, i);
            bool seen = any(lane() < i && own == drawn);
            if (seen && lane() == i) own = first + i;
        }
        if (lane() < p.fanout) meet(b, start + lane(), load_readonly(row + own));
        return;
    }
    for (u32 k = lane(); k < p.fanout; k += WARP) taken[k] = stream_below(stream, k, first + k + 1);
    warp_sync();
    for (u32 i = 1; i < p.fanout; i++) {
        u32 own = taken[i];
        bool seen = false;
        for (u32 k = lane(); k < i; k += WARP) seen |= taken[k] == own;
        seen = any(seen);
        if (seen && lane() == 0) taken[i] = first + i;
        warp_sync();
    }
    for (u32 k = lane(); k < p.fanout; k += WARP) meet(b, start + k, load_readonly(row + taken[k]));
    warp_sync();
}

/// A thread for each word; I counts them.
template <class T, class I> BG_DEVICE void gather_words(const GatherRowsParams& p) {
    I all = (I)(p.n * p.words), words = (I)p.words, step = (I)gridDim.x * blockDim.x;
    for (I i = (I)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
        I k = i / words;
        u32 row = (u32)load_readonly(p.rows + k);
        ((T*)p.to)[i] = row < p.from_rows ? load_readonly((const T*)p.from + row * p.stride + (i - k * words)) : T{};
    }
}
template <class T> BG_DEVICE void gather_rows(const GatherRowsParams& p) {
    // A division of 32 bits costs a fraction. So far from its end that a step beyond does not wrap.
    if (p.n * p.words < 1ull << 31) gather_words<T, u32>(p);
    else gather_words<T, u64>(p);
}
}  // namespace bg
using namespace bg;

/// A hop's draws: a warp for each row.
BG_KERNEL(neighbours_draw, NeighbourDrawParams, 256, 4) {
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u32* taken = (u32*)shared_memory() + warp * p.room;
    u32 first = nodes_of(p.batch.sizes[p.hop - 1]), last = nodes_of(p.batch.sizes[p.hop]);
    for (u32 number = first + blockIdx.x * warps + warp; number < last; number += gridDim.x * warps) draw_row(p, number, taken);
}

/// Numbers for the vertices that a hop met, or for the seeds, in the order of the places at which they were; and where their rows start.
BG_KERNEL(neighbours_number, NeighbourNumberParams, 256, 4) {
    const NeighbourState& b = p.batch;
    u64* scratch = (u64*)shared_memory();  // 33 sums of the block's scan, what comes before the block, a ticket
    u32 block = take_ticket((u32*)p.status, (u32*)(scratch + 34));
    u64 before = b.sizes[p.hop];
    u32 first = p.hop ? entries_of(b.sizes[p.hop - 1]) : 0, last = p.hop ? entries_of(before) : p.seeds;
    u32 piece = blockDim.x * NEIGHBOUR_ITEMS;
    // Blocks past the end are not waited for: the grid is as large as the batch may be.
    if (block && (u64)block * piece >= last - first) return;
    const u32* vertices = p.hop ? b.met : b.order;
    u32 place = first + block * piece + threadIdx.x * NEIGHBOUR_ITEMS;
    u32 vertex[NEIGHBOUR_ITEMS];
    u64 own[NEIGHBOUR_ITEMS], sum = 0;
    for (u32 i = 0; i < NEIGHBOUR_ITEMS; i++) {
        own[i] = 0;
        if (place + i >= last) continue;
        vertex[i] = vertices[place + i];
        // Another block may be giving another vertex its number, never this one's: a place belongs to one thread.
        if (p.hop && load_volatile(b.marks + vertex[i]) != (MET | (place + i))) continue;
        u64 degree = b.graph.at((u64)vertex[i] + 1) - b.graph.at(vertex[i]);
        own[i] = min_of(degree, (u64)p.fanout) << SECOND | 1;
        sum += own[i];
    }
    u64 total, within = block_scan_exclusive(sum, scratch, total);
    if (threadIdx.x < WARP) {
        u64 found = look_back(p.status + 1, block, total);
        if (threadIdx.x == 0) scratch[33] = found;
    }
    __syncthreads();
    u64 earlier = scratch[33], nodes_mask = (1ull << SECOND) - 1;
    if (threadIdx.x == 0 && (u64)(block + 1) * piece >= last - first) {
        u64 all = earlier + total;
        b.sizes[p.hop + 1] = (u64)(entries_of(before) + (u32)(all >> SECOND)) << 32 | (nodes_of(before) + (u32)(all & nodes_mask));
    }
    within += earlier;
    for (u32 i = 0; i < NEIGHBOUR_ITEMS; i++) {
        if (!own[i]) continue;
        u32 number = nodes_of(before) + (u32)(within & nodes_mask);
        b.nodes[number] = vertex[i];
        b.starts[number] = entries_of(before) + (u32)(within >> SECOND);
        store_volatile(b.marks + vertex[i], number);
        within += own[i];
    }
}

/// The rows by the numbers of their nodes, with and without loops, and weights: a warp for each row.
BG_KERNEL(neighbours_rows, NeighbourRowsParams, 256, 4) {
    const NeighbourState& b = p.batch;
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u32* row = (u32*)shared_memory() + warp * p.room;
    for (u32 number = blockIdx.x * warps + warp; number < p.n; number += gridDim.x * warps) {
        u32 start = load_readonly(b.starts + number), end = number + 1 < p.n ? load_readonly(b.starts + number + 1) : p.entries;
        u32 taken = end - start, vertex = load_readonly(b.nodes + number);
        u64 degree = b.graph.at((u64)vertex + 1) - b.graph.at(vertex);
        f32 weight = (f32)((f64)degree / (f64)taken);
        for (u32 k = lane(); k < taken; k += WARP) row[k] = load_readonly(b.marks + load_readonly(b.met + start + k));
        warp_sync();
        u32 smaller = 0;  // than the node's own number
        for (u32 k = lane(); k < taken; k += WARP) {
            u32 own = row[k], rank = 0;
            for (u32 j = 0; j < taken; j++) rank += row[j] < own;
            smaller += own < number;
            p.indices[start + rank] = own;
            p.weights[start + k] = weight;
            p.looped_indices[start + number + rank + (own > number)] = own;
        }
        smaller = warp_sum(smaller);
        if (lane() == 0) {
            p.looped_indices[start + number + smaller] = number;
            p.offsets[number] = start;
            p.looped_offsets[number] = start + number;
            p.vertices[number] = (i32)vertex;
            if (number + 1 == p.n) p.offsets[p.n] = p.entries, p.looped_offsets[p.n] = p.entries + p.n;
        }
        warp_sync();
    }
}

/// The classes of the seeds; and marks are as they were before the batch.
BG_KERNEL(neighbours_close, NeighbourCloseParams, 256, 4) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += gridDim.x * blockDim.x) {
        u32 vertex = load_readonly(p.nodes + i);
        p.marks[vertex] = UNMET;
        if (i < p.seeds) {
            u32 label = (u32)load_readonly(p.labels + vertex);
            if (label < p.classes) p.targets[(u64)i * p.classes + label] = 1;
        }
    }
}

BG_KERNEL(gather_rows, GatherRowsParams, 256, 4) {
    switch (p.bytes) {
        case 1: gather_rows<u8>(p); break;
        case 2: gather_rows<u16>(p); break;
        case 4: gather_rows<u32>(p); break;
        case 8: gather_rows<u64>(p); break;
        default: gather_rows<uint4>(p); break;
    }
}
