// Functions of whole rows of dense matrices: what a launch gets, and which lanes have a row.
#pragma once
#include "tensor/dense.cuh"
#include "tensor/moment.cuh"

namespace bg {
struct LossParams {
    TensorView x;         // logits; the result of the forward pass in the backward one
    TensorView dy;
    TensorOut y;
    const i32* labels;
    u64 label_stride;
    f64* losses;          // of each row its loss, and whether it takes part
    const f64* totals;    // the sums of both
    u64* counted;         // rows that take part, where they are counted first; then the blocks that are done
    TensorOut mean;       // the loss, where the launch that gives the gradient gives it too
    f32* column_sums;     // those of the gradient's columns, block by block; null: not wanted
    i32* chosen;
    u64 chosen_stride;
    f64 scale;            // of the gradient
    const Moment* moment;  // the scale where it is not that above; null otherwise
    u64 rows;
    u32 columns;
    u32 group;            // lanes of a row: a power of two, at most 32
};

/// The power of two that the lanes of a row are: divisions by their number are shifts.
BG_DEVICE u32 lanes_log(const LossParams& p) { return (u32)__popc(p.group - 1); }

/// The row of a lane, and which of the row's lanes it is.
struct RowLane {
    u64 row;
    u32 sub;
    bool valid;
    BG_DEVICE explicit RowLane(const LossParams& p) : RowLane(p, blockIdx.x) {}
    /// Of a block by its number.
    BG_DEVICE RowLane(const LossParams& p, u64 block) {
        row = (block * blockDim.x + threadIdx.x) >> lanes_log(p);
        sub = threadIdx.x & (p.group - 1);
        valid = row < p.rows;
    }
};
template <class R> BG_DEVICE R group_sum(const LossParams& p, R x) {
    for (u32 d = p.group / 2; d; d /= 2) x += shuffle_xor(x, d);
    return x;
}

/// What the gradient is multiplied by.
BG_DEVICE f64 gradient_scale(const LossParams& p) { return p.moment ? p.moment->loss_scale : p.scale; }

BG_DEVICE f64 no_number() { return Limits<f64>::largest() - Limits<f64>::largest(); }

BG_DEVICE f64 rows_taking_part(const LossParams& p) { return p.totals[1] > 1 ? p.totals[1] : 1; }

/// Stores a row's loss and whether it takes part, by one of its lanes; `of` gives the logarithm of the softmax at a column.
template <class R, class F> BG_DEVICE void store_loss(const LossParams& p, u64 row, const F& of) {
    const i32 label = load_readonly(p.labels + row * p.label_stride);
    f64 loss = 0;
    if (label >= 0) loss = (u32)label < p.columns ? -(f64)of((u32)label) : no_number();
    p.losses[2 * row] = loss;
    p.losses[2 * row + 1] = label >= 0 ? 1 : 0;
}
}  // namespace bg
