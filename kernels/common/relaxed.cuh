// Words that blocks hand to each other within a launch, each with a tag of the launch in spare bits, so that no order has to be kept: loads
// and stores that are seen by all blocks and wait for nothing, and waits that end.
#pragma once
#include "common/grid.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
inline uint4 load_relaxed4(const u32* p) { return load_volatile4(p); }
inline uint2 load_relaxed2(const u32* p) { host::perturb(); return *(const uint2*)p; }
inline u32 load_relaxed(const u32* p) { return load_volatile(p); }
inline void store_relaxed4(u32* p, uint4 v) { *(uint4*)p = v; }
inline void store_relaxed(u32* p, u32 v) { store_volatile(p, v); }
inline void store_relaxed(u16* p, u32 v) { store_volatile(p, (u16)v); }
inline void store_relaxed(u8* p, u32 v) { store_volatile(p, (u8)v); }
#else
BG_DEVICE uint4 load_relaxed4(const u32* p) {
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}
BG_DEVICE uint2 load_relaxed2(const u32* p) {
    uint2 v;
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0,%1},[%2];" : "=r"(v.x), "=r"(v.y) : "l"(p) : "memory");
    return v;
}
BG_DEVICE u32 load_relaxed(const u32* p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
/// Each word of four is seen whole.
BG_DEVICE void store_relaxed4(u32* p, uint4 v) {
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
BG_DEVICE void store_relaxed(u32* p, u32 v) { asm volatile("st.relaxed.gpu.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory"); }
BG_DEVICE void store_relaxed(u16* p, u32 v) { asm volatile("st.relaxed.gpu.global.u16 [%0],%1;" ::"l"(p), "h"((u16)v) : "memory"); }
BG_DEVICE void store_relaxed(u8* p, u32 v) { asm volatile("st.relaxed.gpu.global.u8 [%0],%1;" ::"l"(p), "r"(v) : "memory"); }
#endif

/// A wait for another block, which is resident. It cannot last; if it does, the launch fails.
struct BoundedWait {
    u64 since;
    u32 turns;
    BG_DEVICE BoundedWait() : since(0), turns(0) {}
    BG_DEVICE void turn() {
#ifdef BITGRAPH_HOST
        spin_pause(turns);
#endif
        if ((++turns & 1023u) == 0) {
            const u64 now = clock_ns();
            if (since == 0) since = now;
            if (now - since > BARRIER_BOUND_NS) trap();
        }
    }
};

/// All threads of all blocks come here. Says when it is worth to look for what other blocks wrote, not that it is there: that is what tags
/// are for. `arrived` counts from launch to launch, modulo 2^32, and is `target` when all are here.
BG_DEVICE void meet_as_hint(u32* arrived, u32 target) {
    __syncthreads();
    if (threadIdx.x == 0) {
        reduce_add(arrived, 1u);
        BoundedWait wait;
        while ((i32)(load_relaxed(arrived) - target) < 0) wait.turn();
    }
    __syncthreads();
}
}  // namespace bg
