// Builds the parts of the tiles on the device: cells grown around seeds, the graph of cells (which the host divides), and from the part of every
// vertex the packed rows, arcs and sends of each part.
#include "graph/sssp_tile.cuh"
#include "tuning/sssp.cuh"

namespace bg {
struct CellSeedsParams {
    u32* seeds;   // 1 for a seed
    u32 nodes;
    u32 stride;   // one vertex in so many
};
struct CellsParams {
    GridState* state;
    HostLink link;
    const u32* offsets;
    const u32* indices;
    const u32* seeds;
    const u32* numbers;  // seeds before each vertex
    u64* words;          // round over the neighbour that a vertex was reached from, the smallest; all ones: not yet
    u32* cells;          // the result
    u32 nodes;
    u32 cell_count;
    u32 most_rounds;
    u32 pad;
};
struct CellLinksParams {
    const u32* offsets;
    const u32* indices;
    const u32* cells;
    u32* links;    // CELL_LINKS a cell; NO_VERTEX where there is none
    u32* weights;  // bytes of each cell
    u32 nodes;
    u32 is_short;
};
struct TileCountParams {
    const u32* offsets;
    const u32* indices;
    const u32* cells;    // null: one part
    const u32* parts;    // of each cell
    u32* part;           // of each vertex
    u32* entered;        // 1 if an arc from another part enters the vertex; zeroed before
    u32* quads;          // of each vertex
    u32* sends;
    u32 nodes;
    u32 is_short;
};
struct TileKeysParams {
    const u32* part;
    const u32* entered;
    u32* keys;
    u32 nodes, pad;
};
struct TilePlacesParams {
    const u32* order;  // the vertex at each place
    const u32* quads;  // of each vertex
    const u32* sends;
    u32* places;       // of each vertex
    u32* quads_at;     // of each place
    u32* sends_at;
    u32 nodes, pad;
};
struct TileMarksParams {
    const u32* keys;          // ascending
    const u32* quads_before;  // in the order of places
    const u32* sends_before;
    u32* marks;               // {place, quads before it, sends before it} of each key, and of the end
    u32 nodes;
    u32 key_count;
};
struct TileFillParams {
    const u32* offsets;
    const u32* indices;
    const u32* weights;  // null: all 1
    const u32* part;
    const u32* order;
    const u32* places;
    const u32* quads_before;  // in the order of places
    const u32* sends_before;
    const TileHead* heads;
    u8* blobs;
    u32 nodes;
    u32 is_short;
};

BG_DEVICE u64 mix_bits(u64 x) {
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
}  // namespace bg

BG_KERNEL(sssp_cell_seeds, bg::CellSeedsParams, 256, 4) {
    using namespace bg;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        p.seeds[v] = v == 0 || mix_bits(v) % p.stride == 0;
    }
}

BG_KERNEL(sssp_cells, bg::CellsParams, 256, 4) {
    using namespace bg;
    Grid grid(p.state, p.link, shared_memory());
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (u32 v = thread; v < p.nodes; v += threads) {
        p.words[v] = p.seeds[v] ? (u64)v : ~0ull;
        p.cells[v] = p.numbers[v];
    }
    if (grid.meet().stop) return;
    u32 round = 1;
    for (; round < p.most_rounds; round++) {
        u32 grown = 0;
        for (u32 v = thread; v < p.nodes; v += threads) {
            // Of the round before, or cells would stretch along the numbering.
            u64 word = load_l2(p.words + v);
            if ((u32)(word >> 32) != round - 1) continue;
            if (round > 1) p.cells[v] = load_l2(p.cells + (u32)word);
            const u64 own = (u64)round << 32 | v;
            for (u32 k = p.offsets[v], end = p.offsets[v + 1]; k < end; k++) {
                u64* other = p.words + p.indices[k];
                if (load_l2(other) > own && atomicMin(other, own) == ~0ull) grown++;
            }
        }
        grown = warp_sum(grown);
        if (lane() == 0 && grown) grid.add_a(grown);
        Meeting met = grid.meet();
        if (met.stop) return;
        if (met.a == 0) break;
    }
    u32 hops = 0;
    for (u32 v = thread; v < p.nodes; v += threads) {
        u64 word = load_l2(p.words + v);
        if (word == ~0ull) {
            // Components without a seed are cut by the numbering.
            p.cells[v] = (u32)((u64)v * p.cell_count / p.nodes);
            continue;
        }
        hops += (u32)(word >> 32);
        if ((u32)(word >> 32) == round - 1) p.cells[v] = load_l2(p.cells + (u32)word);
    }
    // How wide cells are: the mean distance from the seed.
    hops = warp_sum(hops);
    if (lane() == 0 && hops) grid.add_a(hops);
    Meeting met = grid.meet();
    if (!met.stop) grid.report(met.a / p.nodes);
}

BG_KERNEL(sssp_cell_links, bg::CellLinksParams, 256, 4) {
    using namespace bg;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 cell = p.cells[v], start = p.offsets[v], end = p.offsets[v + 1], before = cell;
        // About what the vertex takes in its part: arcs, word, row, places in the queues and among the sends.
        atomicAdd(p.weights + cell, p.is_short ? 26u : 4 * (end - start) + 22u);
        u32* own = p.links + (u64)cell * CELL_LINKS;
        for (u32 k = start; k < end; k++) {
            u32 other = p.cells[p.indices[k]];
            if (other == cell || other == before) continue;
            before = other;
            u32 slot = other % CELL_LINKS;
            for (u32 tries = 0; tries < CELL_LINKS; tries++, slot = (slot + 1) % CELL_LINKS) {
                u32 found = load_volatile(own + slot);
                if (found == NO_VERTEX) found = atomicCAS(own + slot, NO_VERTEX, other);
                if (found == NO_VERTEX || found == other) break;
            }
        }
    }
}

BG_KERNEL(sssp_tile_count, bg::TileCountParams, 256, 4) {
    using namespace bg;
    auto part_of = [&](u32 v) { return p.cells ? p.parts[p.cells[v]] : 0u; };
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        u32 own = part_of(v), local = 0, sends = 0;
        for (u32 k = p.offsets[v]; k < p.offsets[v + 1]; k++) {
            u32 w = p.indices[k];
            if (part_of(w) == own) {
                local++;
            } else {
                sends++;
                p.entered[w] = 1;
            }
        }
        p.part[v] = own;
        p.quads[v] = p.is_short ? 1 : ceil_div(local, 4u);
        p.sends[v] = sends;
    }
}

BG_KERNEL(sssp_tile_keys, bg::TileKeysParams, 256, 4) {
    using namespace bg;
    for (u32 v = blockIdx.x * blockDim.x + threadIdx.x; v < p.nodes; v += gridDim.x * blockDim.x) {
        p.keys[v] = 2 * p.part[v] + (p.entered[v] ? 0 : 1);
    }
}

BG_KERNEL(sssp_tile_places, bg::TilePlacesParams, 256, 4) {
    using namespace bg;
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.nodes; place += gridDim.x * blockDim.x) {
        u32 v = p.order[place];
        p.places[v] = place;
        p.quads_at[place] = p.quads[v];
        p.sends_at[place] = p.sends[v];
    }
}

BG_KERNEL(sssp_tile_marks, bg::TileMarksParams, 256, 4) {
    using namespace bg;
    for (u32 key = blockIdx.x * blockDim.x + threadIdx.x; key <= p.key_count; key += gridDim.x * blockDim.x) {
        u32 low = 0, high = p.nodes;
        while (low < high) {
            u32 middle = low + (high - low) / 2;
            if (p.keys[middle] < key) low = middle + 1;
            else high = middle;
        }
        p.marks[3 * key] = low;
        p.marks[3 * key + 1] = p.quads_before[low];
        p.marks[3 * key + 2] = p.sends_before[low];
    }
}

BG_KERNEL(sssp_tile_fill, bg::TileFillParams, 256, 4) {
    using namespace bg;
    for (u32 place = blockIdx.x * blockDim.x + threadIdx.x; place < p.nodes; place += gridDim.x * blockDim.x) {
        u32 v = p.order[place], own = p.part[v];
        const TileHead head = p.heads[own];
        u8* blob = p.blobs + head.blob;
        u32 id = place - head.first, quad = p.quads_before[place] - p.quads_before[head.first], quads = p.quads_before[place + 1] - p.quads_before[place];
        u32 send = p.sends_before[place] - p.sends_before[head.first];
        if (!p.is_short) ((u32*)blob)[id] = quad << 10 | quads;
        u16* send_starts = (u16*)(blob + head.send_starts);
        send_starts[id] = (u16)send;
        if (id + 1 == head.count) send_starts[id + 1] = (u16)(p.sends_before[place + 1] - p.sends_before[head.first]);
        u32* arc = (u32*)(blob + head.edges) + 4 * quad;
        u32* arc_end = arc + 4 * quads;
        uint2* sends = (uint2*)(blob + head.sends);
        // Four at once, so that their loads are under way together.
        for (u32 k = p.offsets[v], end = p.offsets[v + 1]; k < end; k += 4) {
            u32 w[4], weight[4], part[4], at[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                u32 from = min_of(k + i, end - 1);
                w[i] = p.indices[from];
                weight[i] = p.weights ? p.weights[from] : 1;
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                part[i] = p.part[w[i]];
                at[i] = p.places[w[i]];
            }
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                if (k + i >= end) break;
                if (part[i] == own) *arc++ = (at[i] - head.first) | weight[i] << 16;
                else sends[send++] = uint2{p.heads[part[i]].inbox + at[i] - p.heads[part[i]].first, weight[i]};
            }
        }
        // Arcs that never improve anything.
        for (; arc < arc_end; arc++) *arc = id | 0xffff0000u;
    }
}
