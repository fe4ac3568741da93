// A step of gradient descent with momentum over parameters, element by element: results go to other arrays than operands come from.
#include "tensor/dense.cuh"
#include "tensor/moment.cuh"

namespace bg {
struct SgdParams {
    DenseWork work;
    TensorView parameters;
    TensorView gradients;
    TensorView velocity;
    TensorView decay;      // null: 0
    TensorOut parameters_out;
    TensorOut velocity_out;
    f64 rate;
    f64 momentum;
    f64 gradient_factor;
    const Moment* moment;  // rate and factor where they are not those above; null otherwise
};
/// The numbers of a step.
template <class R> struct SgdNow {
    R rate, factor, momentum;
    BG_DEVICE explicit SgdNow(const SgdParams& p) {
        const Moment* const now = p.moment;
        rate = (R)(now ? now->rate : p.rate), factor = (R)(now ? now->gradient_factor : p.gradient_factor);
        momentum = (R)p.momentum;
    }
};
template <class R> BG_DEVICE void sgd_element(const SgdNow<R>& now, R decay, R gradient, R& x, R& v) {
    v = now.momentum * v + (gradient * now.factor + decay * x);
    x -= now.rate * v;
}
template <class R> BG_DEVICE void sgd(const SgdParams& p) {
    const DenseTask<1> task(p.work);
    if (!task.valid) return;
    R x[LANE_COLUMNS], g[LANE_COLUMNS], v[LANE_COLUMNS], decay[LANE_COLUMNS] = {};
    load_columns_as(p.parameters, task.row, task.columns, x);
    load_columns_as(p.gradients, task.row, task.columns, g);
    load_columns_as(p.velocity, task.row, task.columns, v);
    if (p.decay.data) load_columns_as(p.decay, task.row, task.columns, decay);
    const SgdNow<R> now(p);
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (task.columns.active(i)) sgd_element(now, decay[i], g[i], x[i], v[i]);
    }
    store_columns(p.parameters_out, task.row, task.columns, x);
    store_columns(p.velocity_out, task.row, task.columns, v);
}
/// The same of f32 without gaps, an element a thread: what there is to read is asked for at once.
BG_DEVICE void sgd_flat(const SgdParams& p) {
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.work.rows * p.work.columns) return;
    f32 x = ((const f32*)p.parameters.data)[i], v = ((const f32*)p.velocity.data)[i];
    const f32 gradient = ((const f32*)p.gradients.data)[i], decay = p.decay.data ? ((const f32*)p.decay.data)[i] : 0.0f;
    sgd_element(SgdNow<f32>(p), decay, gradient, x, v);
    ((f32*)p.parameters_out.data)[i] = x;
    ((f32*)p.velocity_out.data)[i] = v;
}
}  // namespace bg

BG_KERNEL(sgd_f32, bg::SgdParams, 256, 2) { bg::sgd<f32>(p); }
BG_KERNEL(sgd_f64, bg::SgdParams, 256, 2) { bg::sgd<f64>(p); }
BG_KERNEL(sgd_flat, bg::SgdParams, 256, 4) { bg::sgd_flat(p); }
