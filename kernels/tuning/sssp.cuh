// Numbers measured, not derived: how shortest paths divide their work. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg {
// graph/sssp_general.cu
/// Arcs that a lane relaxes at once. More would not fit the registers of a full block.
constexpr u32 ARCS = 2;

// graph/sssp_partition.cu
/// Cells that a cell knows as its neighbours.
constexpr u32 CELL_LINKS = 32;
}  // namespace bg
