// Functions of whole rows of dense matrices: the logarithm of the softmax, the cross entropy with labels, the column of the maximum. A
// group of lanes has a row.
#include "tensor/loss.cuh"

namespace bg {
/// The maximum of a row and the logarithm of the sum of exp(x - maximum), in all lanes of the group.
template <class R> struct RowSoftmax {
    R maximum, logarithm_of_sum;
    BG_DEVICE RowSoftmax(const LossParams& p, const RowLane& at) {
        maximum = Limits<R>::smallest();
        R sum = 0;
        if (at.valid) {
            for (u32 c = at.sub; c < p.columns; c += p.group) {
                const R x = load_as<R>(p.x, at.row, c);
                maximum = x > maximum ? x : maximum;
            }
        }
        warp_sync();
        for (u32 d = p.group / 2; d; d /= 2) {
            const R other = shuffle_xor(maximum, d);
            maximum = other > maximum ? other : maximum;
        }
        if (at.valid) {
            for (u32 c = at.sub; c < p.columns; c += p.group) sum += exponential(load_as<R>(p.x, at.row, c) - maximum);
        }
        warp_sync();
        logarithm_of_sum = logarithm(group_sum(p, sum));
    }
    BG_DEVICE R of(R x) const { return x - maximum - logarithm_of_sum; }
};

template <class R> BG_DEVICE void log_softmax(const LossParams& p) {
    const RowLane at(p);
    const RowSoftmax<R> softmax(p, at);
    if (!at.valid) return;
    for (u32 c = at.sub; c < p.columns; c += p.group) store_as(p.y, at.row, c, softmax.of(load_as<R>(p.x, at.row, c)));
}
/// dx = dy - exp(y) * (the sum of the row of dy).
template <class R> BG_DEVICE void log_softmax_backward(const LossParams& p) {
    const RowLane at(p);
    R sum = 0;
    if (at.valid) {
        for (u32 c = at.sub; c < p.columns; c += p.group) sum += load_as<R>(p.dy, at.row, c);
    }
    warp_sync();
    sum = group_sum(p, sum);
    if (!at.valid) return;
    for (u32 c = at.sub; c < p.columns; c += p.group) {
        store_as(p.y, at.row, c, load_as<R>(p.dy, at.row, c) - exponential(load_as<R>(p.x, at.row, c)) * sum);
    }
}

/// The loss of each row, and whether it takes part: a label that is no class gives no number.
template <class R> BG_DEVICE void cross_entropy(const LossParams& p) {
    const RowLane at(p);
    const RowSoftmax<R> softmax(p, at);
    if (!at.valid || at.sub != 0) return;
    store_loss<R>(p, at.row, [&](u32 label) { return softmax.of(load_as<R>(p.x, at.row, label)); });
}

/// (softmax - [the column is the label]) / rows that take part, times the scale.
template <class R> BG_DEVICE void cross_entropy_gradient(const LossParams& p) {
    const RowLane at(p);
    const RowSoftmax<R> softmax(p, at);
    if (!at.valid) return;
    const i32 label = load_readonly(p.labels + at.row * p.label_stride);
    const R factor = (R)(gradient_scale(p) / rows_taking_part(p));
    for (u32 c = at.sub; c < p.columns; c += p.group) {
        R gradient = 0;
        if (label >= 0) {
            const R probability = exponential(softmax.of(load_as<R>(p.x, at.row, c)));
            gradient = (u32)label < p.columns ? factor * (probability - (c == (u32)label ? (R)1 : (R)0)) : (R)no_number();
        }
        store_as(p.y, at.row, c, gradient);
    }
}

/// The column of the maximum, the first among equals; a NaN loses against a number. V holds every element exactly.
template <class V> BG_DEVICE void argmax(const LossParams& p) {
    const RowLane at(p);
    V best = 0;
    u32 column = 0xffffffffu;
    const auto offer = [&](V x, u32 c) {
        if (c == 0xffffffffu) return;
        const bool none = best != best, other_none = x != x, tie = x == best || (none && other_none);
        if (column == 0xffffffffu || x > best || (none && !other_none) || (tie && c < column)) {
            best = x;
            column = c;
        }
    };
    if (at.valid) {
        for (u32 c = at.sub; c < p.columns; c += p.group) offer(load_as<V>(p.x, at.row, c), c);
    }
    warp_sync();
    for (u32 d = p.group / 2; d; d /= 2) {
        const V x = shuffle_xor(best, d);
        offer(x, shuffle_xor(column, d));
    }
    if (at.valid && at.sub == 0) p.chosen[at.row * p.chosen_stride] = (i32)column;
}
}  // namespace bg

BG_KERNEL(log_softmax_f32, bg::LossParams, 256, 2) { bg::log_softmax<f32>(p); }
BG_KERNEL(log_softmax_f64, bg::LossParams, 256, 2) { bg::log_softmax<f64>(p); }
BG_KERNEL(log_softmax_backward_f32, bg::LossParams, 256, 2) { bg::log_softmax_backward<f32>(p); }
BG_KERNEL(log_softmax_backward_f64, bg::LossParams, 256, 2) { bg::log_softmax_backward<f64>(p); }
BG_KERNEL(cross_entropy_f32, bg::LossParams, 256, 2) { bg::cross_entropy<f32>(p); }
BG_KERNEL(cross_entropy_f64, bg::LossParams, 256, 2) { bg::cross_entropy<f64>(p); }
BG_KERNEL(cross_entropy_gradient_f32, bg::LossParams, 256, 2) { bg::cross_entropy_gradient<f32>(p); }
BG_KERNEL(cross_entropy_gradient_f64, bg::LossParams, 256, 2) { bg::cross_entropy_gradient<f64>(p); }
/// The mean loss: one thread.
BG_KERNEL(cross_entropy_mean, bg::LossParams, 32, 1) {
    if (threadIdx.x == 0) bg::store_as(p.y, 0, 0, p.totals[0] / bg::rows_taking_part(p));
}
BG_KERNEL(argmax_f32, bg::LossParams, 256, 2) { bg::argmax<f32>(p); }
BG_KERNEL(argmax_f64, bg::LossParams, 256, 2) { bg::argmax<f64>(p); }
