// Dropout of the softmax of attention.
#pragma once
#include "tensor/moment.cuh"
#include "tensor/philox.cuh"

namespace bg {
/// What drops weights of entries and heads: by an entry's position in CSR order and the head.
struct AttentionDropout {
    u64 seed;
    f64 factor;
    u32 threshold, draw;
    u32 active, reserved;
    const Moment* moment;  // null where the draw stays

    template <class R> BG_DEVICE R kept(u64 position, u32 head) const {
        if (!active) return (R)1;
        return philox_at(seed, moved(draw, moment), position, head) >= threshold ? (R)factor : (R)0;
    }
};
}  // namespace bg
