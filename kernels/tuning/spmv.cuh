// Numbers measured, not derived: how rows are shared in sums over lists. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg {
// ops/row_bins.cuh
/// Arcs of a chunk; rows with more are cut.
constexpr u32 CHUNK_ARCS = 1024;
/// Rows with more arcs take a warp.
constexpr u32 WARP_ROW_ARCS = 64;
/// Rows with more arcs take eight lanes.
constexpr u32 EIGHT_ROW_ARCS = 6;

// ops/row_bins.cu
/// Rows that one block classes.
constexpr u32 SPAN = 4096;

// ops/spmv.cu
/// Entries of a slice above which the probe takes it to have no diagonals.
constexpr u32 PROBE_ENTRIES = 4096;
}  // namespace bg
