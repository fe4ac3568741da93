// What a search found; written by a kernel, read by the host.
#pragma once
#include "common/kernel.cuh"

namespace bg {
struct BfsTotals {
    u64 edges_traversed;
    u32 reached, depth;
    /// Where block 0, searching alone, left off.
    u32 level, seen, turn, explored;
};
}  // namespace bg
