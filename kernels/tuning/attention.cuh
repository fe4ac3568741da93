// Numbers measured, not derived: how products sampled at entries and attention are shared among warps. Host code that needs one reads it
// from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace attention {
// tensor/attention_tasks.cu
/// Entries of a window; a window with more is taken row by row.
constexpr u32 WINDOW_ENTRIES = 512;
/// Entries of a piece; a row with more is cut. Sums on tensor cores are flushed at the end of a piece, so that they do not drift.
constexpr u32 PIECE_ENTRIES = 512;

// crates/bitgraph-cuda/src/tensor/select.rs
/// Tasks below which windows are narrowed, so that there is a warp for every place on the device.
constexpr u32 TASKS_ENOUGH = 4096;
}}  // namespace bg::attention
