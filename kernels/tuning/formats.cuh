// Numbers measured, not derived: items of a thread in scans, cuts and conversions. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg {
// formats/scan.cu
/// Rounds of a block of a scan.
constexpr u32 SCAN_ROUNDS = 4;

// formats/tiles.cu
/// Tiles of a thread.
constexpr u32 TILE_ITEMS = 8;

// formats/sgt.cu
/// Entries of a window that a block sorts where a bitmap covers all columns at once, a power of two. Where it takes several parts, that many
/// times as many entries are sorted, as long as they are no more than so many times those of a window in the mean: shared memory that few
/// windows need costs blocks at once.
constexpr u32 SGT_SORTED = 512;
constexpr u32 SGT_SORTED_MEANS = 4;
/// Parts of the columns from which on blocks with a bitmap sort what fits in its place.
constexpr u32 SGT_MANY_PARTS = 5;
/// Threads of a block that takes a window of at most SGT_SORTED entries, and of one that may have more; half as many where a window has
/// no more entries than that in the mean.
constexpr u32 SGT_THREADS = 64;
constexpr u32 SGT_LONG_THREADS = 128;

// formats/tiles.cuh
/// Steps of merging after which the number of tiles is foreseen.
constexpr u32 TRIAL_STEPS = 24;

// formats/csr.cu
/// Entries of a thread where rows of entries are found.
constexpr u32 ROW_ITEMS = 16;

// formats/hybrid.cu
/// Entries of a thread where a hybrid is cut.
constexpr u32 CUT_ITEMS = 8;

// formats/profile.cu
/// Entries of a thread in the sample of distances.
constexpr u32 DISTANCE_ITEMS = 16;
}  // namespace bg
