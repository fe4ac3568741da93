// Numbers of the training of a graph convolution in one launch, measured on an H200 at the sizes of the citation graphs.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// Entries of a list that a warp sums at a time.
constexpr u32 GCN_SEGMENT = 112;
/// Threads of a block.
constexpr u32 GCN_THREADS = 1024;
/// Records of all lists together up to which a run in one launch is worth it: beyond, one launch for an operation fills the device too.
constexpr u32 GCN_RECORDS = 4194304;
}  // namespace bg
