// A cluster: blocks that reach each other's shared memory. Architectures before 90 have none; there the functions trap and the
// backend never launches such a kernel.
#pragma once
#include "common/kernel.cuh"

namespace bg {
#if defined(BITGRAPH_HOST)
inline u32 cluster_rank() { return blockIdx.x; }
inline void cluster_sync() { host::sync_cluster(); }
template <class T> inline T* cluster_map(T* pointer, u32 rank) { return (T*)host::map_shared((void*)pointer, rank); }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
BG_DEVICE u32 cluster_rank() {
    u32 r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
/// A barrier of the cluster; shared memory written before is visible after.
BG_DEVICE void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// The same place in another block's shared memory.
template <class T> BG_DEVICE T* cluster_map(T* pointer, u32 rank) {
    u64 address;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"((u64)pointer), "r"(rank));
    return (T*)address;
}
#else
BG_DEVICE u32 cluster_rank() { return 0; }
BG_DEVICE void cluster_sync() { trap(); }
template <class T> BG_DEVICE T* cluster_map(T* pointer, u32) { return pointer; }
#endif
}  // namespace bg
