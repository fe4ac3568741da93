// Numbers measured, not derived: how products of a sparse matrix with dense features are shared among lanes. Host code that needs one reads
// it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg { namespace spmm {
// tensor/spmm_tasks.cuh
/// Rows of features that a lane has in flight at once: of rows that are not cut, eight blocks on a multiprocessor; of rows and pieces, six; the same
/// with weights, five; and where few warps are at work, four. On an H200, F = 64, f16, in a row of launches: `urand:100000:16` 47.0, 48.0 and 51.2
/// us in the first, second and last way, kron:17 -, 47.5 and 53.0.
constexpr u32 ROW_LOADS = 4, TASK_LOADS = 6, WEIGHTED_LOADS = 4, DEEP_LOADS = 8;
/// Partial sums of a cut row that a lane has in flight at once.
constexpr u32 PARTIAL_LOADS = 4;

// tensor/spmm_records.cuh
/// Columns of the matrix in a record of 64 bytes.
constexpr u32 RECORD_ENTRIES = 14;
}}  // namespace bg::spmm
