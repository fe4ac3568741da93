// Numbers measured, not derived: how components are joined. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace cc {
// graph/cc_forest.cuh
/// Rows that a lane walks alone, at most; longer ones go to the warp, and beyond LONG_ROW to the whole grid.
constexpr u32 SHORT_ROW = 48;
constexpr u32 LONG_ROW = 8192;
/// With no more rows than this in a warp, the warp takes all of them.
constexpr u32 FEW_ROWS = 8;
/// Neighbours of a vertex beside each other, so that a warp's loads touch few lines: the first, the one tried second, the last, and the last
/// but one (the last, if there is none). ALONE where there is no such neighbour.
constexpr u32 NEAR = 4;

// graph/cc_hook.cuh
/// Vertices of a lane that are in flight at once: where each takes the same few loads, and where each follows a chain of its own.
constexpr u32 HOOK_IN_FLIGHT = 4;
constexpr u32 IN_FLIGHT = 2;
/// Neighbours of a lane that are in flight at once while joining.
constexpr u32 JOIN_IN_FLIGHT = 4;
/// Steps up from a neighbour before joining.
constexpr u32 HOPS = 2;
/// A block's table of links to be made: one global atomic for each tree and block.
constexpr u32 TABLE = 2048;
/// Slots of it that a link tries.
constexpr u32 TABLE_PROBES = 3;
/// At least one vertex in so many is outside the giant: it pays to join again before the finish.
constexpr u32 OUTSIDE_SHARE = 64;
/// Rounds of joining at most.
constexpr u32 MOST_ROUNDS = 12;
/// With no more vertices a thread than this, time goes by waiting, and a second neighbour costs nothing.
constexpr u32 FEW_VERTICES = 4;

// graph/cc_ascent.cu
/// Rows of the vertices of largest degree that a whole block looks through.
constexpr u32 BLOCK_ROW = 1024;
/// Vertices of a lane whose pointers jump at once.
constexpr u32 CLIMBERS = 4;

// graph/cc_block.cu
/// Arcs of a thread that are in flight at once; so many of each thread stay in registers.
constexpr u32 BATCH = 8;

// graph/cc_general.cu
/// Neighbours of every vertex that are united before the giant is looked for.
constexpr u32 FIRST_NEIGHBOURS = 2;
}}  // namespace bg::cc
