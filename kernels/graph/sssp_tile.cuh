// A part of a graph as it lies in the shared memory of a block: see sssp_tile.cu.
#pragma once
#include "graph/sssp.cuh"

namespace bg {
/// Greater than all distances; every byte the same, so that the host can fill arrays with it.
constexpr u32 TILE_INFINITE = 0x3f3f3f3fu;

struct TileHead {
    u64 blob;         // bytes before the part's
    u32 bytes;
    u32 first;        // of its vertices in the order of the parts
    u32 count;        // vertices
    u32 entrances;    // of them, those that arcs from other parts enter; they come first
    u32 inbox;        // slots before its
    u32 edges;        // bytes in the blob before the quads of arcs; the rows are at its start
    u32 send_starts;  // before the vertices' first sends
    u32 sends;        // before the sends {slot, weight}
    u32 pad[2];
};
}  // namespace bg
