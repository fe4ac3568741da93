// Numbers measured, not derived: how products of a sparse matrix with dense features are shared among lanes. Host code that needs one reads
// it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace spmm {
// tensor/spmm_tasks.cuh
/// Rows of features that a lane has in flight at once, where many warps hide the rest of a load's time, and where few do.
constexpr u32 WIDE_LOADS = 4, DEEP_LOADS = 8;
/// Partial sums of a cut row that a lane has in flight at once.
constexpr u32 PARTIAL_LOADS = 4;

// tensor/spmm_records.cuh
/// Columns of the matrix in a record of 64 bytes.
constexpr u32 RECORD_ENTRIES = 14;
}}  // namespace bg::spmm
