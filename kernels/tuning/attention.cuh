// Numbers measured, not derived: how products sampled at entries and attention are shared among warps. Host code that needs one reads it
// from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace attention {
// tensor/attention_tasks.cu
/// Entries of a window; a window with more is taken row by row.
constexpr u32 WINDOW_ENTRIES = 512;
/// Entries of a piece at most; a row with more is cut. Sums on tensor cores are flushed at the end of a piece, so that they do not drift.
constexpr u32 PIECE_ENTRIES = 512;

// tensor/attention_gat_backward_tiles.cu
/// Steps of 16 entries that a warp has in shared memory.
constexpr u32 BACKWARD_STEPS = 2;

// crates/bitgraph-cuda/src/tensor/forms/attention/select.rs
/// Entries of a row in the mean from which on lanes share the work of scores. Shared over not: grid:1000x1000 (4) 1.22, road-bremen (2) 1.1,
/// delaunay_n16 (6) .92, urand:100000:16 (32) .9.
constexpr u32 SHARED_MEAN = 5;
/// Entries of a piece that lanes take where all entries read PIECE_BYTES of features or less; twice and four times as many where they read
/// more. A piece takes as long as its entries, the whole as long as its bytes: of 128, 256, 512 entries the first is best on ca-AstroPh (50 to
/// 200 MB; the last takes twice as long), the second from kron:16 at 470 MB on, the last on kron:17 at 950 MB (10 % before the first).
constexpr u32 SHORTEST_PIECE = 128;
constexpr u32 PIECE_BYTES = 250000000;

// crates/bitgraph-cuda/src/tensor/select.rs
/// Tasks below which windows are narrowed, so that there is a warp for every place on the device.
constexpr u32 TASKS_ENOUGH = 4096;
}}  // namespace bg::attention
