// Numbers measured, not derived: how breadth-first searches divide their work. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg {
// graph/bfs.cu
/// Levels that block 0 does alone at most before the others, who wait at a barrier, hear of it.
constexpr u32 ALONE_LEVELS = 1024;
/// Small pulled levels in a row after which pushing takes over again.
constexpr u32 SMALL_PULLS = 3;

// graph/bfs_grid.cuh
/// Pieces of a frontier whose arcs a warp has in flight at once.
constexpr u32 PUSH_UNROLL = 4;
/// Words of vertices that a warp pulls at a time at most.
constexpr u32 PULL_WORDS = 8;
/// Arcs that one lane looks at before its warp helps.
constexpr u32 PULL_ALONE = 32;

// graph/bfs_parents.cuh
/// Arcs that one lane looks at before its warp helps.
constexpr u32 PARENT_ALONE = 64;
/// Arcs of each lane that are in flight at once, when a warp looks.
constexpr u32 PARENT_AHEAD = 8;

// graph/bfs_prepare.cu
/// Entries of a row that are looked at for the neighbour of largest degree, at even distances.
constexpr u32 FIRST_SAMPLE = 256;
/// Lanes for a row.
constexpr u32 FIRST_LANES = 8;

// graph/bfs_block.cuh
/// Levels between two looks at whether to stop: a look reads host memory.
constexpr u32 BLOCK_LOOK = 256;

// graph/bfs_queue.cu
/// Levels between two looks at whether to stop: a look reads host memory.
constexpr u32 QUEUE_LOOK = 256;

// graph/bfs_slices.cuh
/// Levels of an era: for so many a vertex's level is kept in bit planes before it is written.
constexpr u32 SLICES_PLANES = 12;
/// Epochs between two looks at how far all blocks are, and at whether the host wants to know or to stop.
constexpr u32 SLICES_LOOK = 4, SLICES_POLL = 16;
}  // namespace bg
