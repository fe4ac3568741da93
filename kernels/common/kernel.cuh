// What every kernel starts from: the scalar types, how an entry is declared, and the few intrinsics that differ between a
// GPU and the host shim. Includes no system header on the device, so that run-time compilation needs none.
//
// Rules that keep a kernel runnable on both:
//  * an entry is BG_KERNEL(name, Params, threads, blocks) { ... p.field ... }, parameters are one plain struct by value;
//  * grids and blocks have one dimension; block sizes are multiples of 32 and read from blockDim.x;
//  * shared memory is dynamic (shared_memory()); warp functions are called by all 32 lanes;
//  * a loop that waits for another thread calls spin_pause().
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef double f64;

#ifdef BITGRAPH_HOST
#include "host/shim.hpp"
#else

#define BG_DEVICE __device__ __forceinline__
#define BG_KERNEL(name, Params, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Params p)

extern __shared__ __align__(128) unsigned char bg_shared[];

/// The block's dynamic shared memory, aligned to 128 bytes.
BG_DEVICE u8* shared_memory() { return bg_shared; }

/// Called in every turn of a waiting loop; backs off after the first turns.
BG_DEVICE void spin_pause(u32 turn) {
    if (turn > 24) __nanosleep(40);
}

/// Stops what must never happen; on the host it aborts with a message.
BG_DEVICE void trap() { __trap(); }

/// A clock in nanoseconds, the same for all blocks (coarse).
BG_DEVICE u64 clock_ns() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
#endif

namespace bg {
template <class A, class B> struct same_type { static constexpr bool value = false; };
template <class A> struct same_type<A, A> { static constexpr bool value = true; };

/// A number that is part of a type: an argument that stays a constant.
template <u32 V> struct Number { static constexpr u32 value = V; };

template <class T> BG_DEVICE T min_of(T a, T b) { return b < a ? b : a; }
template <class T> BG_DEVICE T max_of(T a, T b) { return a < b ? b : a; }
template <class T> BG_DEVICE T ceil_div(T a, T b) { return (a + b - 1) / b; }
}  // namespace bg
