// Loads and fences that say where they read: through L1, past it, or as another block left it a moment ago.
#pragma once
#include "common/kernel.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
template <class T> inline T load_readonly(const T* p) { return *p; }
template <class T> inline T load_cached(const T* p) { host::perturb(); return *p; }
template <class T> inline T load_l2(const T* p) { return *p; }
template <class T> inline T load_stream(const T* p) { return *p; }
template <class T> inline T load_volatile(const T* p) { host::perturb(); return *static_cast<const volatile T*>(p); }
template <class T, class V> inline void store_volatile(T* p, V v) { *static_cast<volatile T*>(p) = (T)v; }
template <class T> inline void store_stream(T* p, T v) { *p = v; }
inline uint4 load_volatile4(const void* p) { host::perturb(); return *static_cast<const uint4*>(p); }
inline void store_volatile4(void* p, uint4 v) { host::perturb(); *static_cast<uint4*>(p) = v; }
inline void fence_device() {}
inline void fence_block() {}
inline void fence_system() {}
inline void prefetch_l2(const void*) {}
inline void reduce_min(u32* p, u32 v) { atomicMin(p, v); }
inline void reduce_max(u32* p, u32 v) { atomicMax(p, v); }
inline void reduce_add(u32* p, u32 v) { atomicAdd(p, v); }
inline void reduce_add(u64* p, u64 v) { atomicAdd(p, v); }
inline void reduce_or(u32* p, u32 v) { atomicOr(p, v); }
inline u32 shared_min_if(bool wanted, u32* p, u32 value, u32 otherwise) { return wanted ? atomicMin(p, value) : otherwise; }
#else
/// Data that no thread writes during the kernel.
template <class T> BG_DEVICE T load_readonly(const T* p) { return __ldg(p); }
BG_DEVICE bool load_readonly(const bool* p) { return __ldg((const unsigned char*)p) != 0; }
/// Through L1: may be stale; for values that only ever improve.
template <class T> BG_DEVICE T load_cached(const T* p) { return __ldca(p); }
/// Past L1.
template <class T> BG_DEVICE T load_l2(const T* p) { return __ldcg(p); }
/// Read once: does not displace what is reused.
template <class T> BG_DEVICE T load_stream(const T* p) { return __ldcs(p); }
#ifdef BITGRAPH_CHECKED
// Where threads race for a word of shared memory by design, they say so by reading and writing it with load_volatile and store_volatile.
// For a checker of races these are atomic: what it still finds is no intended race.
__device__ __noinline__ u64 checked_load(const void* p, u32 bytes) {
    if (bytes == 8) return atomicOr((u64*)p, 0ull);
    const u64 word = atomicOr((u32*)((u64)p & ~3ull), 0u);
    return bytes == 4 ? word : word >> ((u64)p & 3) * 8 & ((1u << bytes * 8) - 1);
}
__device__ __noinline__ void checked_store(void* p, u64 v, u32 bytes) {
    if (bytes == 8) {
        atomicExch((u64*)p, v);
    } else if (bytes == 4) {
        atomicExch((u32*)p, (u32)v);
    } else {
        u32* word = (u32*)((u64)p & ~3ull);
        const u32 shift = ((u32)(u64)p & 3) * 8, mask = ((1u << bytes * 8) - 1) << shift;
        for (u32 seen = atomicOr(word, 0u), now;; seen = now) {
            now = atomicCAS(word, seen, (seen & ~mask) | (u32)v << shift);
            if (now == seen) return;
        }
    }
}
template <class T> BG_DEVICE T load_volatile(const T* p) {
    return __isShared(p) ? (T)checked_load(p, sizeof(T)) : *(const volatile T*)p;
}
template <class T, class V> BG_DEVICE void store_volatile(T* p, V v) {
    if (__isShared(p)) checked_store(p, (u64)v, sizeof(T));
    else *(volatile T*)p = (T)v;
}
#else
template <class T> BG_DEVICE T load_volatile(const T* p) { return *(const volatile T*)p; }
template <class T, class V> BG_DEVICE void store_volatile(T* p, V v) { *(volatile T*)p = (T)v; }
#endif
template <class T> BG_DEVICE void store_stream(T* p, T v) { __stcs(p, v); }
/// 16 bytes at once, as another block left them.
BG_DEVICE uint4 load_volatile4(const void* p) {
    uint4 r;
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3},[%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p) : "memory");
    return r;
}
/// 16 bytes at once; each aligned half of 8 is seen whole.
BG_DEVICE void store_volatile4(void* p, uint4 v) {
    asm volatile("st.volatile.global.v4.u32 [%0],{%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
BG_DEVICE void fence_device() { __threadfence(); }
BG_DEVICE void fence_block() { __threadfence_block(); }
BG_DEVICE void fence_system() { __threadfence_system(); }
/// Atomics on global memory whose old value no thread wants: the compiler turns the plain functions into ones that answer, which
/// cost a way back.
BG_DEVICE void reduce_min(u32* p, u32 v) { asm volatile("red.relaxed.gpu.global.min.u32 [%0],%1;" ::"l"(p), "r"(v)); }
BG_DEVICE void reduce_max(u32* p, u32 v) { asm volatile("red.relaxed.gpu.global.max.u32 [%0],%1;" ::"l"(p), "r"(v)); }
BG_DEVICE void reduce_add(u32* p, u32 v) { asm volatile("red.relaxed.gpu.global.add.u32 [%0],%1;" ::"l"(p), "r"(v)); }
BG_DEVICE void reduce_add(u64* p, u64 v) { asm volatile("red.relaxed.gpu.global.add.u64 [%0],%1;" ::"l"(p), "l"(v)); }
BG_DEVICE void reduce_or(u32* p, u32 v) { asm volatile("red.relaxed.gpu.global.or.b32 [%0],%1;" ::"l"(p), "r"(v)); }
/// An atomic minimum in shared memory under a predicate instead of a branch, so that several are under way at once. The old
/// value, or `otherwise`.
BG_DEVICE u32 shared_min_if(bool wanted, u32* p, u32 value, u32 otherwise) {
    u32 address = (u32)__cvta_generic_to_shared(p);
    asm volatile("{.reg .pred q; setp.ne.u32 q,%3,0; @q atom.shared.min.u32 %0,[%1],%2;}" : "+r"(otherwise) : "r"(address), "r"(value), "r"((u32)wanted) : "memory");
    return otherwise;
}
BG_DEVICE void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
#endif
}  // namespace bg
