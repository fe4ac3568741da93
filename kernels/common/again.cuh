// What a thread knows anyway, asked for anew: what is made of it need not stay in registers until then. And the contrary, what is to stay there.
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
/// The same pointer, of which the compiler no longer knows what it was made of: a multiple of something is added to it in one instruction then,
/// and not part by part.
template <class T> BG_DEVICE const T* plain(const T* pointer) {
#ifndef BITGRAPH_HOST
    asm volatile("" : "+l"(pointer));
#endif
    return pointer;
}
}  // namespace bg
