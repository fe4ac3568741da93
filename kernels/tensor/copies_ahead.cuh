// The order of copies to shared memory and of the work on what has come: a block of threads takes items one after the other, each a block of rows
// (spmm_staged.cuh), and copies its words two items, its rows of features one item ahead.
#pragma once
#include "common/async.cuh"
#include "common/warp.cuh"

namespace bg {
/// Base of `Copies`, which has the blocks `p`, `look_up(k)`, which finds where the words of item k are, and `copy_rows(k)`, to be called when they are
/// there. BUFFERS 2: the rows of the next item are copied while this one is worked on; 1: other blocks of threads work meanwhile.
template <class Copies, u32 BUFFERS, u32 THREADS> struct CopiesAhead {
    static constexpr u32 RECORDS = BUFFERS + 1;
    u32* records;
    u32 count;  // items
    u32 begin, end;

    BG_DEVICE explicit CopiesAhead(void* records) : records((u32*)records), begin(0), end(0) {}
    BG_DEVICE Copies& own() { return *static_cast<Copies*>(this); }
    BG_DEVICE const Copies& own() const { return *static_cast<const Copies*>(this); }
    /// The words of item k.
    BG_DEVICE u32* record(u32 k) const { return records + k % RECORDS * own().p.most_words; }
    BG_DEVICE void copy_record(u32 k) {
        if (k >= count) return;
        u32* to = record(k);
        for (u32 i = threadIdx.x; i < end - begin; i += THREADS) copy_async16(to + i * 4, own().p.words + ((u64)begin + i) * 4);
    }
    BG_DEVICE void copy_next(u32 k) {
        own().copy_rows(k + 1);
        copy_record(k + 2);
        commit_copies();
        own().look_up(k + 3);
    }
    /// Before the first item.
    BG_DEVICE void start() {
        own().look_up(0);
        copy_record(0);
        own().look_up(1);
        commit_copies();
        wait_copies();
        __syncthreads();
        own().copy_rows(0);
        copy_record(1);
        commit_copies();
        own().look_up(2);
    }
    /// Before item k is worked on. Its words, but not its rows, are there before.
    BG_DEVICE void arrive(u32 k) {
        wait_copies();
        __syncthreads();
        if (BUFFERS == 2) copy_next(k);
    }
    /// After it was.
    BG_DEVICE void leave(u32 k) {
        if (BUFFERS == 2) return;
        __syncthreads();
        copy_next(k);
    }
};
}  // namespace bg
