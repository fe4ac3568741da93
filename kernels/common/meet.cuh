// A barrier over the grid, once in a launch, that the host need not prepare: a word of memory is as good after it as before.
//
// Needs all blocks resident: such kernels are launched cooperatively.
#pragma once
#include "common/arrival.cuh"
#include "common/relaxed.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline u32 fetch_add_release(u32* p, u32 v) { return atomicAdd(p, v); }
#else
/// What this thread, and by a block barrier its block, wrote before is visible to whoever sees the sum by load_acquire().
BG_DEVICE u32 fetch_add_release(u32* p, u32 v) {
    u32 before;
    asm volatile("atom.release.gpu.global.add.u32 %0,[%1],%2;" : "=r"(before) : "l"(p), "r"(v) : "memory");
    return before;
}
#endif

/// All threads of all blocks come here; what they wrote before is visible after to the first thread of each block, and after a barrier of the
/// block to all. What the blocks add to `word` is 2^31 together, whatever their number: its highest bit turns when the last one is there, and the
/// others are again as they were. It is zero before the first launch.
BG_DEVICE void meet_once(u32* word) {
    constexpr u32 ALL = 0x80000000u;
    __syncthreads();
    if (threadIdx.x != 0) return;
    const u32 before = fetch_add_release(word, blockIdx.x == 0 ? ALL - (gridDim.x - 1) : 1u);
    BoundedWait wait;
    while (((before ^ load_acquire(word)) & ALL) == 0) wait.turn();
}
}  // namespace bg
