// Numbers measured, not derived: how the layouts of PageRank are made. Host code that needs one reads it from here.
#pragma once
#include "common/kernel.cuh"

namespace bg {
// graph/pagerank_tiles.cuh
/// Columns at most.
constexpr u32 MOST_COLUMNS = 8;

// graph/pagerank_build.cu
/// Counts of the planning sort; longer rows are not told apart, each is alone in its slice anyway.
constexpr u32 PLAN_KEYS = 2048;
/// Steps that are ordered together.
constexpr u32 ORDER_STEPS = 32;
/// Entries of a lane looked through for a free bank.
constexpr u32 ORDER_REACH = 16;
/// Rounds of bidding, half of them for a bank's second turn.
constexpr u32 ORDER_ROUNDS = 10;
}  // namespace bg
