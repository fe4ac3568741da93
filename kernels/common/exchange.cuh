// Values that blocks hand to each other through memory, without a flag or a fence: the sign bit of a value that is never negative
// says in which round it was written. Every word carries its own tag, so the order in which words arrive does not matter.
#pragma once
#include "common/grid.cuh"

namespace bg {
/// A barrier of some warps of a block, of all their threads; `word` in shared memory is zero at first.
struct PartBarrier {
    u32* word;
    u32 warps;
    u32 turn;
    BG_DEVICE PartBarrier(u32* w, u32 count) : word(w), warps(count), turn(0) {}
#ifdef BITGRAPH_HOST
    void wait() {
        __syncwarp();
        turn++;
        if (lane() == 0) {
            atomicAdd(word, 1u);
            while (load_volatile(word) < turn * warps) spin_pause(0);
        }
        __syncwarp();
    }
#else
    BG_DEVICE void wait() { asm volatile("bar.sync 1, %0;" ::"r"(warps * 32) : "memory"); }
#endif
};

constexpr u32 TAG = 0x80000000u;
/// The tag of a round.
BG_DEVICE u32 tag_of(u32 round) { return round << 31; }
BG_DEVICE u32 tagged(f32 value, u32 tag) { return (__float_as_uint(value) & ~TAG) | tag; }
BG_DEVICE f32 untagged(u32 word) { return __uint_as_float(word & ~TAG); }
BG_DEVICE bool is_stale(u32 word, u32 tag) { return ((word ^ tag) & TAG) != 0; }
BG_DEVICE bool is_stale(uint4 v, u32 tag) { return (((v.x ^ tag) | (v.y ^ tag) | (v.z ^ tag) | (v.w ^ tag)) & TAG) != 0; }

/// A thread's wait for another block. `over` is a word of shared memory, set once the launch is to end: the host asked for it, or
/// a wait ran past the bound. Whoever sees `more()` false goes on with what it has; the block leaves at its next look at `over`.
struct Wait {
    GridState* state;
    u32* over;
    u64 since;
    u32 turns;
    BG_DEVICE Wait(GridState* s, u32* o) : state(s), over(o), since(0), turns(0) {}
    BG_DEVICE bool more() {
        if ((++turns & 255u) == 0) {
            u64 now = clock_ns();
            if (since == 0) since = now;
            if (now - since > BARRIER_BOUND_NS) atomicExch(&state->failed, 1u);
            if (load_volatile(&state->failed) | load_volatile(&state->stopped)) {
                store_volatile(over, 1);
                return false;
            }
        }
        spin_pause(turns);
        return true;
    }
};
}  // namespace bg
