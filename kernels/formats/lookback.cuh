// A running sum over the blocks of an ordinary launch, each adding to what the blocks before it found (decoupled look-back; Merrill and
// Garland, 2016). Blocks draw their number when they start, so a block only ever waits for blocks that run already.
//
// Invariant: a status word goes 0, PARTIAL | own sum, COMPLETE | sum up to here; flag and sum are one word, so no fence is needed.
#pragma once
#include "common/memory.cuh"
#include "common/warp.cuh"

namespace bg {
constexpr u64 LOOK_PARTIAL = 1ull << 62;
constexpr u64 LOOK_COMPLETE = 2ull << 62;
constexpr u64 LOOK_VALUE = LOOK_PARTIAL - 1;

/// The block's number in the order of starting. `counter` was zeroed before the launch; `word` is a word of shared memory.
BG_DEVICE u32 take_ticket(u32* counter, u32* word) {
    if (threadIdx.x == 0) *word = atomicAdd(counter, 1u);
    __syncthreads();
    return *word;
}

BG_DEVICE void publish(u64* status, u64 word) { store_volatile(status, word); }

/// The sum of the blocks before `block`, in all lanes; one warp calls it with the block's own sum, below 2^62.
BG_DEVICE u64 look_back(u64* status, u32 block, u64 own) {
    if (block == 0) {
        if (lane() == 0) publish(status, LOOK_COMPLETE | own);
        return 0;
    }
    if (lane() == 0) publish(status + block, LOOK_PARTIAL | own);
    u64 before = 0;
    for (i64 nearest = (i64)block - 1;; nearest -= WARP) {
        i64 at = nearest - (i64)lane();
        u64 word = at < 0 ? LOOK_COMPLETE : load_volatile(status + at);
        for (u32 turn = 0; any(word == 0); turn++) {
            spin_pause(turn);
            if (word == 0) word = load_volatile(status + at);
        }
        u32 complete = ballot(word >= LOOK_COMPLETE);
        u32 last = complete ? (u32)__ffs(complete) - 1 : WARP - 1;
        before += butterfly_sum(lane() <= last ? word & LOOK_VALUE : 0ull);
        if (complete) break;
    }
    if (lane() == 0) publish(status + block, LOOK_COMPLETE | (before + own));
    return before;
}

/// Where each flagged element of this block goes among the flagged ones of all blocks. A warp's elements are ordered by index, then by
/// lane. All threads call it; `shared` holds 36 words of 8 bytes.
template <u32 ITEMS> BG_DEVICE void flag_places(const bool (&flag)[ITEMS], u64 (&place)[ITEMS], u64* status, u32 block, u64* shared) {
    u32 count = 0, below = (1u << lane()) - 1, local[ITEMS];
    for (u32 i = 0; i < ITEMS; i++) {
        u32 set = ballot(flag[i]);
        local[i] = count + (u32)__popc(set & below);
        count += (u32)__popc(set);
    }
    u64 total, within = block_scan_exclusive(lane() == 0 ? (u64)count : 0ull, shared, total);
    within = shuffle(within, 0);
    if (threadIdx.x < WARP) {
        u64 before = look_back(status, block, total);
        if (threadIdx.x == 0) shared[34] = before;
    }
    __syncthreads();
    within += shared[34];
    for (u32 i = 0; i < ITEMS; i++) place[i] = within + local[i];
}
}  // namespace bg
