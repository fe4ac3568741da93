// Numbers measured, not derived: how triangles are counted. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace tc {
// graph/tc_lists.cuh
/// Lanes that read one list together: the entries of a sector.
constexpr u32 READERS = 8;

// graph/tc_general.cu
/// Edges a warp takes at a time.
constexpr u32 CHUNK = 32;

// graph/tc_short.cu
/// Members whose lists a group of readers has in flight, and entries of each.
constexpr u32 MEMBERS = 2, DEEP = 2;
/// Numbers that a window spans, and words after its bits: zeros, which keep the next one aligned.
constexpr u32 WINDOW = 8192, WINDOW_PADDING = 4;

// graph/tc_hubs.cuh
/// Vertices of a word of the matrix.
constexpr u32 QUAD = 128;
/// The longest lists that can be asked bit by bit; longer ones are asked by whole rows.
constexpr u32 NARROW_LIST = 64;
/// Lists up to here are taken by a few lanes each.
constexpr u32 FEW_LIST = 8;

// graph/tc_hubs.cu
/// Vertices of a ticket, of the two kinds of shorter lists.
constexpr u32 NARROW_SHARE = 8;
constexpr u32 FEW_SHARE = 64;
/// Pairs of a lane that are asked at once.
constexpr u32 PAIRS = 4;
/// Slots of a warp's table, as bits: four for each entry of a narrow list.
constexpr u32 TABLE_BITS = 8;
}}  // namespace bg::tc
