// A barrier over the grid that also carries counters, stops on request and never waits for ever.
//
// Needs all blocks resident: such kernels are launched cooperatively. The barrier's word counts arrivals in its low half; block 0
// adds STOP to it when the host asked to stop, so that every block sees the same answer at the same barrier. A wait past the
// bound raises `failed` for all and ends the kernel with an error value.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
/// One barrier in use: arrivals, and three counters that blocks add to before arriving; or one, and b and c as one of 64 bits.
struct __align__(16) BarrierSlot {
    u32 arrived, a, b, c;
};

/// What the host and a persistent kernel say to each other; device memory but for the two pinned words.
/// Zeroed by the host before every launch.
struct GridState {
    BarrierSlot slots[4];
    u32 failed;    // a wait ran past its bound
    u32 stopped;   // the host asked to stop, and the kernel did
    u32 steps;     // levels or iterations done
    u32 reserved[13];
};

/// The words in pinned host memory; null if there is no listener.
struct HostLink {
    const u32* cancel;  // written by the host
    u32* progress;      // written by the kernel
};

constexpr u32 BARRIER_STOP = 0x10000u;
/// Longest wait at a barrier, in nanoseconds. Long enough for any level of any graph that fits in memory.
constexpr u64 BARRIER_BOUND_NS = 20000000000ull;

/// Nanoseconds between two looks at the host's words. A look costs a microsecond at the next fence, which waits for it.
constexpr u64 LOOK_NS = 50000;

/// When the host's words are to be looked at.
struct Looks {
    u64 last;
    BG_DEVICE Looks() : last(clock_ns()) {}
    BG_DEVICE bool due() {
        u64 now = clock_ns();
        if (now - last < LOOK_NS) return false;
        last = now;
        return true;
    }
};

/// The counters of the phase before a barrier, the same in every thread of the grid.
struct Meeting {
    u32 a, b, c;
    bool stop;  // return at once, everything as it is
    BG_DEVICE u64 bc() const { return (u64)c << 32 | b; }
};

/// The grid's barrier as one thread block sees it. All threads of all blocks construct and call it alike.
struct Grid {
    GridState* state;
    HostLink link;
    uint4* shared;  // 16 bytes of shared memory
    u32 turn;
    u32 cancel;     // asked for at a barrier before
    bool looking;   // whether progress is told after this barrier
    Looks looks;

    BG_DEVICE Grid(GridState* s, HostLink l, void* shared16)
        : state(s), link(l), shared((uint4*)shared16), turn(0), cancel(0), looking(false) {}

    /// Adds to a counter of the coming barrier; one thread per block or warp calls it with a sum.
    BG_DEVICE void add_a(u32 value) { reduce_add(&state->slots[turn & 3].a, value); }
    BG_DEVICE void add_b(u32 value) { reduce_add(&state->slots[turn & 3].b, value); }
    BG_DEVICE void add_c(u32 value) { reduce_add(&state->slots[turn & 3].c, value); }
    BG_DEVICE void add_bc(u64 value) { reduce_add((u64*)&state->slots[turn & 3].b, value); }

    /// Waits for all blocks; what they wrote before is visible after.
    BG_DEVICE Meeting meet() {
        return meet([] {});
    }
    /// The same; `before` is run by the first warp once the whole block is there, so that it can add up what the warps have.
    template <class Before> BG_DEVICE Meeting meet(const Before& before) {
        __syncthreads();
        if (threadIdx.x < WARP) before();
        if (threadIdx.x == 0) {
            BarrierSlot* slot = &state->slots[turn & 3];
            u32 arrival = 1;
            if (blockIdx.x == 0 && link.cancel) {
                if (cancel) arrival += BARRIER_STOP;
                looking = looks.due();
                if (looking) cancel = load_volatile(link.cancel);
            }
            fence_device();
            reduce_add(&slot->arrived, arrival);
            uint4 seen;
            u64 start = 0;
            for (u32 spin = 0;; spin++) {
                seen = load_volatile4(slot);
                if ((seen.x & 0xffffu) == gridDim.x) break;
                if ((spin & 1023u) == 1023u) {
                    u64 now = clock_ns();
                    if (start == 0) start = now;
                    if (now - start > BARRIER_BOUND_NS) atomicExch(&state->failed, 1u);
                    if (load_volatile(&state->failed)) {
                        seen.x = BARRIER_STOP;
                        break;
                    }
                }
                spin_pause(spin);
            }
            fence_device();
            if (blockIdx.x == 0) {
                // No thread is at the slot before any more: all have arrived here.
                BarrierSlot* old = &state->slots[(turn + 3) & 3];
                old->arrived = 0;
                old->a = 0;
                old->b = 0;
                old->c = 0;
                if (seen.x >= BARRIER_STOP) state->stopped = 1;
            }
            *shared = seen;
        }
        __syncthreads();
        turn++;
        uint4 seen = *shared;
        return Meeting{seen.y, seen.z, seen.w, seen.x >= BARRIER_STOP};
    }

    /// Says how far the work is; one store that nothing waits for.
    BG_DEVICE void report(u32 steps) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            state->steps = steps;
            if (looking && link.progress) store_volatile(link.progress, steps);
        }
    }
};

/// For kernels of one block: whether to stop, asked for at a call before.
struct BlockLink {
    HostLink link;
    u32 cancel;
    Looks looks;
    BG_DEVICE explicit BlockLink(HostLink l) : link(l), cancel(0) {}
    /// All threads call it between two of their own barriers; `flag` is a word of shared memory that nothing else uses.
    BG_DEVICE bool stop(GridState* state, u32 steps, u32* flag) {
        if (threadIdx.x == 0) {
            *flag = cancel;
            state->steps = steps;
            if (cancel) state->stopped = 1;
            if (link.cancel && looks.due()) {
                if (link.progress) store_volatile(link.progress, steps);
                cancel = load_volatile(link.cancel);
            }
        }
        __syncthreads();
        return load_volatile(flag) != 0;
    }
};
}  // namespace bg
