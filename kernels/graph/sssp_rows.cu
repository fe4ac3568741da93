// Builds the rows of the sweeps: arcs packed as weight over id, sorted by weight, four to a quad, long rows dealt out to pieces.
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
struct RowShape {
    u32 limit;        // entries of the longest row that stays whole
    u32 piece_quads;  // quads of a piece at most
};
struct RowSizesParams {
    const u32* offsets;
    u32* quads;    // of each row, one that ends it included
    u32* pieces;   // of each row
    u8* lengths;   // quads that hold arcs, of whole rows
    u32 nodes;
    RowShape shape;
    u32 pad;
};
struct RowKeysParams {
    const u32* offsets;
    const u32* indices;
    const u32* weights;  // null: all 1
    const u32* places;   // new number of each vertex; null: its own
    u32* keys;           // new row over weight
    u32* heads;          // new number of the other end
    u32 nodes;
    u32 weight_bits;
};
struct RowPlacesParams {
    const u32* offsets;
    const u32* starts;        // quads before each row; the first quad is the empty row's
    const u32* piece_starts;  // pieces before each row
    u32* first;               // as SweepParams
    uint4* pieces;
    u32 nodes;
    RowShape shape;
    u32 pad;
};
struct RowArcsParams {
    const u32* offsets;
    const u32* starts;
    const u32* keys;     // sorted
    const u32* indices;  // in the order of the keys
    u32* arcs;
    u32 arc_count;
    u32 weight_bits;
    u32 shift;           // bits of an id
    RowShape shape;
    u32 pad;
};

/// A row in pieces: the first `longer` have `longest` entries, the others one less.
struct Pieces {
    u32 count, longer, longest;
    BG_DEVICE Pieces(u32 degree, RowShape shape) {
        count = ceil_div(degree, 4 * shape.piece_quads);
        longest = ceil_div(degree, count);
        longer = degree % count == 0 ? count : degree % count;
    }
    BG_DEVICE u32 quads(u32 piece) const { return ceil_div(piece < longer ? longest : longest - 1, 4u); }
    /// Quads before a piece.
    BG_DEVICE u32 before(u32 piece) const {
        u32 full = min_of(piece, longer);
        return full * ceil_div(longest, 4u) + (piece - full) * ceil_div(longest - 1, 4u);
    }
};
}  // namespace bg

BG_KERNEL(sssp_row_sizes, bg::RowSizesParams, 256, 4) {
    using namespace bg;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 degree = p.offsets[v + 1] - p.offsets[v], quads = 0, pieces = 0, length = 0;
        if (degree > p.shape.limit) {
            Pieces row(degree, p.shape);
            quads = row.before(row.count);
            pieces = row.count;
        } else if (degree) {
            length = ceil_div(degree, 4u);
            quads = degree / 4 + 1;
        }
        p.quads[v] = quads;
        p.pieces[v] = pieces;
        p.lengths[v] = (u8)length;
    }
}

BG_KERNEL(sssp_row_keys, bg::RowKeysParams, 256, 4) {
    using namespace bg;
    u32 warps = gridDim.x * blockDim.x / WARP;
    for (u32 v = (blockIdx.x * blockDim.x + threadIdx.x) / WARP; v < p.nodes; v += warps) {
        u32 row = p.places ? p.places[v] : v;
        for (u32 k = p.offsets[v] + lane(); k < p.offsets[v + 1]; k += WARP) {
            u32 head = p.indices[k];
            p.keys[k] = row << p.weight_bits | (p.weights ? p.weights[k] : 1u);
            p.heads[k] = p.places ? p.places[head] : head;
        }
    }
}

BG_KERNEL(sssp_row_places, bg::RowPlacesParams, 256, 4) {
    using namespace bg;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 degree = p.offsets[v + 1] - p.offsets[v], start = 1 + p.starts[v];
        p.first[v] = degree && degree <= p.shape.limit ? start : 0;
        if (degree <= p.shape.limit) continue;
        Pieces row(degree, p.shape);
        uint4* own = p.pieces + p.piece_starts[v];
        for (u32 j = 0; j < row.count; j++) own[j] = make_uint4(v, start + row.before(j), row.quads(j), 0);
    }
}

BG_KERNEL(sssp_row_arcs, bg::RowArcsParams, 256, 4) {
    using namespace bg;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < p.arc_count; i += gridDim.x * blockDim.x) {
        u32 key = p.keys[i], v = key >> p.weight_bits, weight = key & ((1u << p.weight_bits) - 1);
        u32 offset = p.offsets[v], degree = p.offsets[v + 1] - offset, rank = i - offset, start = 1 + p.starts[v];
        u32 at = 4 * start + rank;
        if (degree > p.shape.limit) {
            // Dealt out like cards, so that every piece starts with light arcs.
            Pieces row(degree, p.shape);
            u32 piece = rank % row.count;
            at = 4 * (start + row.before(piece)) + rank / row.count;
        }
        p.arcs[at] = weight << p.shift | p.indices[i];
    }
}
