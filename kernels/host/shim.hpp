// Runs kernels on a CPU, so that they can be checked where there is no GPU: one fibre per CUDA thread, all on one system
// thread. Blocks of a cooperative launch run side by side, the others a few at a time. Fibres change places at barriers, warp
// functions, atomics and marked loads, in an order drawn at random, so that a missing barrier shows.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#define BG_DEVICE inline
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __align__(n) alignas(n)

struct alignas(8) uint2 { u32 x, y; };
struct alignas(8) int2 { i32 x, y; };
struct alignas(8) float2 { f32 x, y; };
struct alignas(16) uint4 { u32 x, y, z, w; };
struct alignas(16) int4 { i32 x, y, z, w; };
struct alignas(16) float4 { f32 x, y, z, w; };
struct alignas(16) double2 { f64 x, y; };
struct alignas(16) ulonglong2 { u64 x, y; };
struct alignas(4) ushort2 { u16 x, y; };
struct alignas(8) ushort4 { u16 x, y, z, w; };
struct alignas(4) uchar4 { u8 x, y, z, w; };
inline uint2 make_uint2(u32 a, u32 b) { return {a, b}; }
inline int2 make_int2(i32 a, i32 b) { return {a, b}; }
inline float2 make_float2(f32 a, f32 b) { return {a, b}; }
inline uint4 make_uint4(u32 a, u32 b, u32 c, u32 d) { return {a, b, c, d}; }
inline int4 make_int4(i32 a, i32 b, i32 c, i32 d) { return {a, b, c, d}; }
inline float4 make_float4(f32 a, f32 b, f32 c, f32 d) { return {a, b, c, d}; }
inline ulonglong2 make_ulonglong2(u64 a, u64 b) { return {a, b}; }

namespace bg { namespace host {
struct Index { u32 x; };
struct Block { u8* shared; u32 arrived; u64 turn; u32 votes; u32 result; };
struct Warp { u64 slots[2][32]; u32 arrived; u64 turn; };
struct Fibre {
    void* stack_pointer;
    Index thread, block;
    Block* its_block;
    Warp* its_warp;
    bool done;
};
extern Fibre* current;
extern Index block_size, grid_size;
extern u32 cluster_size;

/// Lets another fibre go on.
void yield();
/// Now and then, at random: lets another fibre go on.
void perturb();
void sync_block();
/// A barrier of the block that counts the threads whose `vote` is set.
u32 sync_block_count(bool vote);
/// All lanes of the warp give a value and see those of the others.
u64* exchange(u64 value);
/// All blocks of the launch (a cluster, where the launch is one) meet.
void sync_cluster();
/// The shared memory of another block of the cluster, at the same place.
void* map_shared(void* pointer, u32 rank);
/// Where __shared__ memory of the running block starts.
inline u8* shared() { return current->its_block->shared; }
[[noreturn]] void fail(const char* what);

template <class T> inline u64 pack(T value) {
    static_assert(sizeof(T) <= 8, "warp functions take at most 8 bytes");
    u64 bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T> inline T unpack(u64 bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}
}}  // namespace bg::host

#define threadIdx (bg::host::current->thread)
#define blockIdx (bg::host::current->block)
#define blockDim (bg::host::block_size)
#define gridDim (bg::host::grid_size)

#define BG_KERNEL(name, Params, threads, blocks)                                                        \
    static void name##_body(const Params& p);                                                           \
    extern "C" __attribute__((visibility("default"))) const char* const name##_takes = #Params;         \
    extern "C" __attribute__((visibility("default"))) void name(const void* params) {                   \
        name##_body(*static_cast<const Params*>(params));                                               \
    }                                                                                                   \
    static void name##_body(const Params& p)

inline u8* shared_memory() { return bg::host::shared(); }
inline void spin_pause(u32) { bg::host::yield(); }
inline void trap() { bg::host::fail("trap"); }
u64 clock_ns();

inline void __syncthreads() { bg::host::sync_block(); }
inline int __syncthreads_count(int vote) { return (int)bg::host::sync_block_count(vote != 0); }
inline int __syncthreads_or(int vote) { return bg::host::sync_block_count(vote != 0) != 0; }
inline int __syncthreads_and(int vote) { return bg::host::sync_block_count(vote == 0) == 0; }
inline void bg_full(u32 mask) { if (mask != 0xffffffffu) bg::host::fail("a warp function with a partial mask"); }
inline void __syncwarp(u32 mask = 0xffffffffu) { bg_full(mask); bg::host::exchange(0); }
inline u32 __ballot_sync(u32 mask, int vote) {
    bg_full(mask);
    u64* all = bg::host::exchange(vote != 0);
    u32 bits = 0;
    for (int i = 0; i < 32; i++) bits |= (u32)(all[i] & 1) << i;
    return bits;
}
inline int __any_sync(u32 mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(u32 mask, int vote) { return __ballot_sync(mask, vote) == 0xffffffffu; }
template <class T> inline T bg_pick(u32 mask, T value, u32 lane) {
    bg_full(mask);
    return bg::host::unpack<T>(bg::host::exchange(bg::host::pack(value))[lane]);
}
template <class T> inline T __shfl_sync(u32 mask, T value, int lane) { return bg_pick(mask, value, (u32)lane & 31u); }
template <class T> inline T __shfl_up_sync(u32 mask, T value, u32 delta) {
    u32 l = threadIdx.x & 31u;
    return bg_pick(mask, value, l >= delta ? l - delta : l);
}
template <class T> inline T __shfl_down_sync(u32 mask, T value, u32 delta) {
    u32 l = threadIdx.x & 31u;
    return bg_pick(mask, value, l + delta < 32 ? l + delta : l);
}
template <class T> inline T __shfl_xor_sync(u32 mask, T value, int lanes) { return bg_pick(mask, value, (threadIdx.x & 31u) ^ (u32)lanes); }
#define BG_REDUCE(name, T, start, step)                      \
    inline T name(u32 mask, T value) {                       \
        bg_full(mask);                                       \
        u64* all = bg::host::exchange(bg::host::pack(value)); \
        T result = start;                                    \
        for (int i = 0; i < 32; i++) {                       \
            T v = bg::host::unpack<T>(all[i]);               \
            result = step;                                   \
        }                                                    \
        return result;                                       \
    }
BG_REDUCE(__reduce_add_sync, u32, 0u, result + v)
BG_REDUCE(__reduce_min_sync, u32, 0xffffffffu, v < result ? v : result)
BG_REDUCE(__reduce_max_sync, u32, 0u, v > result ? v : result)
BG_REDUCE(__reduce_or_sync, u32, 0u, result | v)
BG_REDUCE(__reduce_and_sync, u32, 0xffffffffu, result & v)
BG_REDUCE(__reduce_xor_sync, u32, 0u, result ^ v)
#undef BG_REDUCE
template <class T> inline u32 __match_any_sync(u32 mask, T value) {
    bg_full(mask);
    u64 own = bg::host::pack(value), *all = bg::host::exchange(own);
    u32 bits = 0;
    for (int i = 0; i < 32; i++) bits |= (u32)(all[i] == own) << i;
    return bits;
}

// The value type is the pointer's, as in CUDA: arguments convert to it.
template <class T> struct bg_plain { typedef T type; };
#define BG_ATOMIC(name, next)                                                            \
    template <class T> inline T name(T* p, typename bg_plain<T>::type v) {               \
        bg::host::perturb();                                                             \
        T old = *p;                                                                      \
        *p = next;                                                                       \
        return old;                                                                      \
    }
BG_ATOMIC(atomicAdd, (T)(old + v))
BG_ATOMIC(atomicSub, (T)(old - v))
BG_ATOMIC(atomicOr, old | v)
BG_ATOMIC(atomicAnd, old& v)
BG_ATOMIC(atomicXor, old ^ v)
BG_ATOMIC(atomicMin, v < old ? v : old)
BG_ATOMIC(atomicMax, v > old ? v : old)
BG_ATOMIC(atomicExch, v)
#undef BG_ATOMIC
template <class T> inline T atomicCAS(T* p, typename bg_plain<T>::type expected, typename bg_plain<T>::type v) {
    bg::host::perturb();
    T old = *p;
    if (old == expected) *p = v;
    return old;
}

inline int __popc(u32 x) { return __builtin_popcount(x); }
inline int __popcll(u64 x) { return __builtin_popcountll(x); }
inline int __ffs(u32 x) { return __builtin_ffs((int)x); }
inline int __ffsll(u64 x) { return __builtin_ffsll((i64)x); }
inline int __clz(u32 x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(u64 x) { return x ? __builtin_clzll(x) : 64; }
inline u32 __brev(u32 x) {
    u32 r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i);
    return r;
}
inline u32 __byte_perm(u32 a, u32 b, u32 selector) {
    u64 bytes = (u64)b << 32 | a;
    u32 r = 0;
    for (int i = 0; i < 4; i++) r |= (u32)(bytes >> (8 * (selector >> (4 * i) & 7u)) & 0xffu) << (8 * i);
    return r;
}
inline u32 __umulhi(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
inline u32 __funnelshift_r(u32 lo, u32 hi, u32 shift) { return (u32)(((u64)hi << 32 | lo) >> (shift & 31u)); }
inline u32 __funnelshift_l(u32 lo, u32 hi, u32 shift) { return (u32)(((u64)hi << 32 | lo) << (shift & 31u) >> 32); }
inline u32 __float_as_uint(f32 x) { return bg::host::unpack<u32>(bg::host::pack(x)); }
inline f32 __uint_as_float(u32 x) { return bg::host::unpack<f32>(x); }
inline i32 __float_as_int(f32 x) { return (i32)__float_as_uint(x); }
inline f32 __int_as_float(i32 x) { return __uint_as_float((u32)x); }
inline i64 __double_as_longlong(f64 x) { return bg::host::unpack<i64>(bg::host::pack(x)); }
inline f64 __longlong_as_double(i64 x) { return bg::host::unpack<f64>((u64)x); }
