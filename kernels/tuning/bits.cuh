// Numbers measured, not derived: how sums and products of sign bits are shared among lanes. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace bits {
// tensor/bits_aggregate.cuh
/// Entries of a piece of a cut row, which a warp takes.
constexpr u32 PIECE = 1024;
/// Entries of a row up to which a few lanes can share it, two lanes can, and one lane can take it alone.
constexpr u32 SHARED_ROW = 128, PAIR_ROW = 32, LANE_ROW = 30;
/// Entries up to which one lane takes a row where rows differ: two end sooner with a longer one.
constexpr u32 SHORT_ROW = 8;
/// Partial counts of a cut row that a lane has in flight at once.
constexpr u32 PARTIAL_LOADS = 8;

// tensor/bits_strips.cuh
/// Index words of a row up to which one lane takes it, those of a lane where more do, and the planes of a lane's counters.
constexpr u32 ALONE_WORDS = 40, LANE_WORDS = 48, STRIP_PLANES = 6;
/// Rows that are sorted by length among themselves.
constexpr u32 WINDOW_ROWS = 8192;
/// Threads of a block.
constexpr u32 STRIP_THREADS = 768;

// tensor/bits_window.cuh
/// Diagonals of 32 rows, at most.
constexpr u32 WINDOW_DIAGONALS = 64;
/// Threads of a multiprocessor.
constexpr u32 WINDOW_THREADS = 1024;

// tensor/bits_product.cuh
/// Rows and columns of the product that a block forms, bits of a line that it takes at a time, and how many of those are under way.
constexpr u32 TILE_ROWS = 64, TILE_COLUMNS = 128, STEP_BITS = 512, STAGES = 4;
/// Steps under way of products by groups of warps, in tiles of 64 x 64, 128 x 128 and 128 x 256.
constexpr u32 NARROW_STAGES = 6, MIDDLE_STAGES = 6, WIDE_STAGES = 4;
/// Tiles of rows under way of signs of short lines, and blocks of a multiprocessor.
constexpr u32 STREAM_STAGES = 4, STREAM_BLOCKS = 4;
/// The same of products by groups of warps.
constexpr u32 WIDE_SIGNS_STAGES = 4, WIDE_SIGNS_BLOCKS = 3;
/// Bits of a line of a tile that is looked up in a map; its lines are TILE_ROWS.
constexpr u32 MAP_BITS = 1024;

// tensor/bits_pack.cuh
/// Words that a warp has in flight.
constexpr u32 PACK_WORDS = 8;
}}  // namespace bg::bits
