// Numbers of training in one launch, measured on an H200 at the sizes of the citation graphs.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// Entries of a list of features that a warp sums at a time.
constexpr u32 EPOCHS_SEGMENT = 112;
/// Threads of a block.
constexpr u32 EPOCHS_THREADS = 1024;
/// Records of all lists together up to which a run in one launch is worth it: beyond, one launch for an operation fills the device too.
constexpr u32 EPOCHS_RECORDS = 4194304;
/// Names of a row of scores from which on a block's warps share it: one warp would still sum it when all others wait.
constexpr u32 EPOCHS_LONG = 33;
/// Words of shared memory that a warp has to itself.
constexpr u32 EPOCHS_WARP_WORDS = 256;
/// Entries of a list of attention that a warp sums at a time: with their heads they fit its words. Set by that, not measured.
constexpr u32 EPOCHS_NEIGHBOURS = 16;
}  // namespace bg
