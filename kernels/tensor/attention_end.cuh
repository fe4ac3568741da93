// The end of attention: what is done to the sums of a row before they are rounded and stored. The end of a layer, so that its result is
// written once.
#pragma once
#include "common/mma_halves.cuh"

namespace bg {
struct AttentionEnd {
    const f32* bias;  // one for each column; null: 0
    u32 activation;   // as AttentionActivation
    f32 slope;        // of LeakyReLU, or alpha of ELU
};
enum AttentionActivation : u32 { END_NONE = 0, END_LEAKY_RELU = 1, END_ELU = 2 };

/// e^x - 1 for x below 0, up to 4e-7 of it: the first terms of its series where a difference would cancel.
BG_DEVICE f32 power_less_1(f32 x) {
    const f32 series = x * (1 + x * (1 / 2.0f + x * (1 / 6.0f + x * (1 / 24.0f + x * (1 / 120.0f + x * (1 / 720.0f + x * (1 / 5040.0f)))))));
    return x > -0.5f ? series : exp2_of(x * 1.4426950408889634f) - 1;
}
/// Column `column` of a row's result; a NaN stays one.
BG_DEVICE f32 end_of(const AttentionEnd& end, u32 column, f32 x) {
    if (end.bias) x += load_readonly(end.bias + column);
    if (end.activation != END_NONE && x < 0) {
        // A threshold at 0 is a slope of 0, by which no infinity is multiplied.
        if (end.activation == END_ELU) x = end.slope * power_less_1(x);
        else x = end.slope == 0 ? 0.0f : end.slope * x;
    }
    return x;
}
}  // namespace bg
