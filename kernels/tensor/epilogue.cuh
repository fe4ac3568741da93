// What is done to the elements of a result before they are stored: steps that the launch lists, run on the columns that a lane has.
#pragma once
#include "tensor/moment.cuh"
#include "tensor/philox.cuh"
#include "tensor/types.cuh"

namespace bg {
enum ActivationKind : u32 { RELU = 0, LEAKY_RELU = 1, ELU = 2, NO_ACTIVATION = 3 };

enum StepKind : u32 {
    STEP_SCALE_ROWS = 0,
    STEP_SCALE_COLUMNS = 1,
    STEP_SCALE = 2,
    STEP_BIAS = 3,
    STEP_ADD = 4,
    STEP_MULTIPLY = 5,
    STEP_BATCH_NORM = 6,
    STEP_ACTIVATION = 7,
    STEP_ACTIVATION_GRADIENT = 8,
    STEP_DROPOUT = 9,
    STEP_SIGN = 10,
    STEP_QUANTISE = 11,
};

/// One step. Rows and columns of scales, biases and statistics are of the real type of the operation.
struct TensorStep {
    TensorView other;    // a matrix of the result's shape, a column, or a row: the mean of batch norm, the threshold of a sign
    const void* second;  // batch norm: variance, gamma and beta, of one row each; the last two may be null. Dropout: the moment, or null. A
                         // summand: a factor for each column, or null
    const void* third;
    const void* fourth;
    f64 p;               // factor, slope, alpha, epsilon, or the distance of levels
    f64 q;               // the level of zero
    u64 seed;
    u32 kind, activation;
    u32 threshold, draw;
    u32 highest, reserved;
};
/// The steps of a launch; where there are more, the rest are launches of their own.
struct TensorEpilogue {
    TensorStep steps[8];
    u32 count, reserved;
};

template <class R> BG_DEVICE R activate(u32 kind, R p, R x) {
    switch (kind) {
        case RELU: return x < (R)0 ? (R)0 : x;
        case LEAKY_RELU: return x > (R)0 ? x : p * x;
        case ELU: return x > (R)0 ? x : p * exponential_less_1(x);
        default: return x;
    }
}
/// The derivative, from the activation's value.
template <class R> BG_DEVICE R derivative(u32 kind, R p, R value) {
    if (value > (R)0) return (R)1;
    return kind == RELU ? (R)0 : kind == LEAKY_RELU ? p : kind == ELU ? value + p : (R)1;
}

template <class R> BG_DEVICE R real_at(const void* row, u64 column) { return load_readonly((const R*)row + column); }

/// Replaces every element of the lane by `f(element, its number, its column)`.
template <class R, class C, u32 M, class F> BG_DEVICE void each_column(const C& columns, R (&x)[M], const F& f) {
#pragma unroll
    for (u32 i = 0; i < M; i++) {
        if (columns.active(i)) x[i] = f(x[i], i, columns.column(i));
    }
}
/// The same without unrolling, for what is long.
template <class R, class C, u32 M, class F> BG_DEVICE void each_in_turn(const C& columns, R (&x)[M], const F& f) {
#pragma unroll 1
    for (u32 i = 0; i < M; i++) {
        if (columns.active(i)) x[i] = f(x[i], columns.column(i));
    }
}

/// Takes the elements of a row through one step.
template <class R, class C, u32 M> BG_DEVICE void finish_step(const TensorStep& s, u64 row, const C& columns, R (&x)[M]) {
    const R p = (R)s.p;
    switch (s.kind) {
        case STEP_SCALE_ROWS: {
            const R d = scale_of<R>(s.other, row);
            each_column(columns, x, [&](R x, u32, u32) { return x * d; });
            break;
        }
        case STEP_SCALE_COLUMNS: each_column(columns, x, [&](R x, u32, u32 c) { return x * real_at<R>(s.other.data, c); }); break;
        case STEP_SCALE: each_column(columns, x, [&](R x, u32, u32) { return x * p; }); break;
        case STEP_BIAS: each_column(columns, x, [&](R x, u32, u32 c) { return x + real_at<R>(s.other.data, c); }); break;
        case STEP_ADD:
            each_in_turn(columns, x, [&](R x, u32 c) { return x + (s.second ? p * real_at<R>(s.second, c) : p) * load_as<R>(s.other, row, c); });
            break;
        case STEP_MULTIPLY: each_in_turn(columns, x, [&](R x, u32 c) { return x * load_as<R>(s.other, row, c); }); break;
        case STEP_BATCH_NORM:
            each_in_turn(columns, x, [&](R x, u32 c) {
                R y = (x - real_at<R>(s.other.data, c)) / root(real_at<R>(s.second, c) + p);
                if (s.third) y *= real_at<R>(s.third, c);
                if (s.fourth) y += real_at<R>(s.fourth, c);
                return y;
            });
            break;
        case STEP_ACTIVATION:
            if (s.activation == RELU) each_column(columns, x, [&](R x, u32, u32) { return x < (R)0 ? (R)0 : x; });
            else each_in_turn(columns, x, [&](R x, u32) { return activate(s.activation, p, x); });
            break;
        case STEP_ACTIVATION_GRADIENT:
            each_in_turn(columns, x, [&](R x, u32 c) { return x * derivative(s.activation, p, load_as<R>(s.other, row, c)); });
            break;
        case STEP_DROPOUT: {
            // A pack's columns share a quad as far as they go, since it starts at a multiple of their number.
            constexpr u32 SHARED = C::PACK < 4 ? C::PACK : 4;
            uint4 words = make_uint4(0, 0, 0, 0);
            const u32 draw = moved(s.draw, (const Moment*)s.second);
            each_column(columns, x, [&](R x, u32 i, u32 c) {
                if (i % SHARED == 0) words = philox(s.seed, draw, row, c / 4);
                // Not a product: what is dropped is zero, be it infinite or no number.
                return philox_word(words, c) >= s.threshold ? x * p : (R)0;
            });
            break;
        }
        case STEP_SIGN:
            each_column(columns, x, [&](R x, u32, u32 c) { return x >= (s.other.data ? real_at<R>(s.other.data, c) : (R)0) ? (R)1 : (R)-1; });
            break;
        default:
            each_in_turn(columns, x, [&](R x, u32) {
                const R level = round_even(x / p) + (R)s.q;
                return level > (R)0 ? (level < (R)s.highest ? level : (R)s.highest) : (R)0;
            });
            break;
    }
}
/// Takes the elements of a row through all steps.
template <class R, class C, u32 M> BG_DEVICE void finish(const TensorEpilogue& epilogue, u64 row, const C& columns, R (&x)[M]) {
    if (!epilogue.count) return;
    // Steps work on a copy, which is in memory for those that are not unrolled: without steps there is none.
    R y[M];
#pragma unroll
    for (u32 i = 0; i < M; i++) y[i] = x[i];
    for (u32 k = 0; k < epilogue.count; k++) finish_step(epilogue.steps[k], row, columns, y);
#pragma unroll
    for (u32 i = 0; i < M; i++) x[i] = y[i];
}
}  // namespace bg
