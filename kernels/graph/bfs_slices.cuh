// Breadth-first search of graphs whose arcs lie on few diagonals at a time: meshes and grids in a local numbering.
//
// Thirty-two consecutive vertices are a word. All arcs into a word whose ends are `delta` apart are one entry {delta, mask}: one
// shift and one AND follow up to 32 arcs. A block owns consecutive words and keeps them, with a margin of `hops` times the
// bandwidth on both sides, in shared memory and registers, so that `hops` levels need nothing from the others. Then blocks
// exchange the state of their words through messages that carry their own tag: no thread waits for anyone but the blocks within
// the margin, and no barrier of the grid is needed. All blocks must be resident.
#pragma once
#include "common/grid.cuh"
#include "common/memory.cuh"
#include "common/shared.cuh"
#include "common/warp.cuh"
#include "graph/bfs_totals.cuh"
#include "tuning/bfs.cuh"

namespace bg {
struct BfsSlicesParams {
    const u32* starts;     // entries of every word
    const uint2* entries;  // delta, mask
    const u32* order;      // the input's number of every vertex; null: the same
    const u32* out_offsets;
    i32* levels;         // in the input's numbering
    uint4* messages;     // two for every word: frontier, tag, visited, tag
    u64* progress;       // of each block: the tag of the last epoch done, and above it of the last one in which it found a vertex
    u32* done;           // equals `base` once the search is over
    BfsTotals* totals;   // zeroed; `reached` counts as the search goes
    GridState* state;
    HostLink link;
    u32 nodes, words, source, arcs;
    u32 own;        // words of a block
    u32 bandwidth;  // words between the ends of an arc, at most
    u32 hops;       // levels between exchanges
    u32 halo;       // words of the margin: hops * bandwidth, or none if one block has all
    u32 window;     // own + 2 * halo
    u32 base;       // tags of this run are above it
    u32 connected;
    // Word of the window that a lane has: lane * lane_step + column * column_step; the columns are dealt to the warps.
    u32 lane_step, column_step, columns;
};

constexpr u32 SLICES_HEAD = 128;
/// Words between the two frontiers of a block whose threads have W words each: up to 1024 W words of a window, and as many on either
/// side that no arc comes from.
BG_DEVICE constexpr u32 slices_pitch(u32 w) { return 3072 * w + 32; }
constexpr u32 SLICES_ERA = (1u << SLICES_PLANES) - 1;
}  // namespace bg
