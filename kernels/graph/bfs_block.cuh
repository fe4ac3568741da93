// Breadth-first search of small graphs: one block, or one cluster of blocks, with the whole state in registers and shared memory.
//
// Every thread keeps its arcs in registers, packed as two numbers of 16 bits, and goes through all of them at each level: an arc
// whose source has the level at hand gives its target the next one, and is done with. No queue and no atomics; what threads
// race for, they race to write the same value. A level costs a read of shared memory for each arc and one barrier.
#pragma once
#include "common/cluster.cuh"
#include "common/grid.cuh"
#include "common/memory.cuh"
#include "common/warp.cuh"
#include "graph/bfs_totals.cuh"
#include "tuning/bfs.cuh"

namespace bg {
struct BfsBlockParams {
    const u32* arcs;  // source << 16 | target, sources ascending
    i32* levels;
    BfsTotals* totals;  // zeroed
    GridState* state;
    HostLink link;
    u32 nodes, count, source;
    u32 reserved;
};

constexpr u16 BLOCK_UNSEEN = 0xffff;
constexpr u32 BLOCK_HEAD = 64;
}  // namespace bg
