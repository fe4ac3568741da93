// A barrier over the grid in two halves: a block that has arrived may do what depends on no other block before it waits.
//
// Needs all blocks resident. The word of the first slot of GridState counts arrivals and is never set back.
#pragma once
#include "common/grid.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline void reduce_add_release(u32* p, u32 v) { atomicAdd(p, v); }
inline u32 load_acquire(const u32* p) { return load_volatile(p); }
#else
/// What this thread, and by a block barrier its block, wrote before is visible to whoever sees the sum by load_acquire().
BG_DEVICE void reduce_add_release(u32* p, u32 v) { asm volatile("red.release.gpu.global.add.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory"); }
BG_DEVICE u32 load_acquire(const u32* p) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
#endif

/// The barrier as one block sees it. All threads of all blocks call it alike.
struct Arrival {
    GridState* state;
    u32* failed;  // a word of shared memory
    u32 target;

    BG_DEVICE Arrival(GridState* s, u32* word) : state(s), failed(word), target(0) {
        if (threadIdx.x == 0) *failed = 0;
    }
    /// The block is there; what it wrote before is visible to those that wait.
    BG_DEVICE void arrive() {
        target += gridDim.x;
        __syncthreads();
        if (threadIdx.x == 0) reduce_add_release(&state->slots[0].arrived, 1);
    }
    /// Waits for all blocks. False if one did not come: the kernel then ends.
    BG_DEVICE bool wait() {
        if (threadIdx.x == 0) {
            u64 start = 0;
            for (u32 spin = 0; (i32)(load_acquire(&state->slots[0].arrived) - target) < 0; spin++) {
                if ((spin & 1023u) == 1023u) {
                    const u64 now = clock_ns();
                    if (start == 0) start = now;
                    if (now - start > BARRIER_BOUND_NS) atomicExch(&state->failed, 1u);
                    if (load_volatile(&state->failed)) {
                        *failed = 1;
                        break;
                    }
                }
#ifdef BITGRAPH_HOST
                spin_pause(spin);
#endif
            }
        }
        __syncthreads();
        return *failed == 0;
    }
};
}  // namespace bg
