// The softmax over some terms, a part of them at a time: the maximum so far, and the sum of exponentials below it.
//
// A score of negative infinity adds nothing; one that is no number leaves no number, as it does where all terms are summed at once.
#pragma once
#include "common/warp.cuh"
#include "tensor/types.cuh"

namespace bg {
/// The maximum m of some scores and the sum of exp(score - m).
template <class R> struct SoftmaxCell {
    R maximum = Limits<R>::smallest(), sum = (R)0;

    BG_DEVICE void take(R score) {
        if (score == Limits<R>::smallest()) return;
        const R most = score > maximum ? score : maximum;
        sum = sum * exponential(maximum - most) + exponential(score - most);
        maximum = most;
    }
    /// What the sums so far of this and of another are multiplied by where both are merged; the maximum of both afterwards.
    BG_DEVICE void meet(R other, R& own_factor, R& other_factor) {
        const R lowest = Limits<R>::smallest();
        const R most = other > maximum ? other : maximum;
        // One of them may hold no score yet, and its sum is zero, or no number.
        own_factor = maximum == lowest ? (R)1 : exponential(maximum - most);
        other_factor = other == lowest ? (R)1 : exponential(other - most);
        maximum = most;
    }
    BG_DEVICE void merge(const SoftmaxCell& other) {
        R own_factor, other_factor;
        meet(other.maximum, own_factor, other_factor);
        sum = sum * own_factor + other.sum * other_factor;
    }
    BG_DEVICE SoftmaxCell of_lane(u32 mask) const {
        SoftmaxCell other;
        other.maximum = shuffle_xor(maximum, mask);
        other.sum = shuffle_xor(sum, mask);
        return other;
    }
};
}  // namespace bg
