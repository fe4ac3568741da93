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
/// Threads of a block that takes a window, and entries of a window that it sorts, a power of two.
constexpr u32 SGT_THREADS = 128;
constexpr u32 SGT_SORTED = 2048;

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
