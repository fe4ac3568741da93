// What a thread knows anyway, asked for anew: what is made of it need not stay in registers until then.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// The thread's place in its block.
BG_DEVICE u32 thread_again() {
#ifdef BITGRAPH_HOST
    return threadIdx.x;
#else
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
#endif
}
}  // namespace bg
