// A stretch of memory that a block copies into its shared memory as a whole. From architecture 90 on one thread asks for it and the bytes are
// counted as they come, so that no thread holds an address for each 16 bytes; before, all threads copy.
#pragma once
#include "common/async.cuh"

#if !defined(BITGRAPH_HOST) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BG_COUNTED_COPIES
#endif

namespace bg {
/// Bytes that are asked for at once.
constexpr u32 STRETCH_STEP = 32768;

/// The one stretch of a launch; all threads of the block call each function, in this order.
struct StretchCopy {
    u32 place;  // of a counter of 8 bytes in shared memory
    u32 bytes;  // a multiple of 16

    BG_DEVICE StretchCopy(u64* counter, u32 b) : place(0), bytes(b) {
#ifdef BG_COUNTED_COPIES
        place = (u32)__cvta_generic_to_shared(counter);
        if (threadIdx.x != 0) return;
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(place), "r"(bytes) : "memory");
#endif
    }
    /// Both places are aligned to 16 bytes. The memory may have been written by this launch, if the block's first thread can see it.
    BG_DEVICE void start(void* shared, const void* global) {
#ifdef BG_COUNTED_COPIES
        if (threadIdx.x != 0) return;
        const u32 to = (u32)__cvta_generic_to_shared(shared);
        // Copies of this kind see what plain stores wrote after this alone.
        asm volatile("fence.proxy.async.global;" ::: "memory");
        for (u32 done = 0; done < bytes; done += STRETCH_STEP)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + done),
                         "l"((const u8*)global + done), "r"(min_of(STRETCH_STEP, bytes - done)), "r"(place)
                         : "memory");
#else
        __syncthreads();
        for (u32 done = threadIdx.x * 16; done < bytes; done += blockDim.x * 16) copy_async16((u8*)shared + done, (const u8*)global + done);
        commit_copies();
#endif
    }
    /// All bytes are there.
    BG_DEVICE void wait() {
#ifdef BG_COUNTED_COPIES
        __syncthreads();
        u32 over = 0;
        while (!over)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(over) : "r"(place) : "memory");
#else
        wait_copies();
        __syncthreads();
#endif
    }
};
}  // namespace bg
