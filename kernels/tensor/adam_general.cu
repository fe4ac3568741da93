// A step of Adam over parameters, element by element: the new parameters and running means go to other arrays than they come from.
#include "tensor/dense.cuh"
#include "tensor/moment.cuh"

namespace bg {
struct AdamParams {
    DenseWork work;
    TensorView parameters;
    TensorView gradients;
    TensorView first;    // the running mean of gradients
    TensorView second;   // that of their squares
    TensorView decay;    // null: 0
    TensorOut parameters_out;
    TensorOut first_out;
    TensorOut second_out;
    f64 rate;
    f64 beta1;
    f64 beta2;
    f64 epsilon;
    f64 gradient_factor;
    f64 correction1;     // 1 - beta1^step
    f64 correction2;
    u32 decoupled;       // decay takes its share of the parameters, not of the gradients
    u32 reserved;
    const Moment* moment;  // rate, factor and corrections where they are not those above; null otherwise
};
/// The numbers of a step.
template <class R> struct AdamNow {
    R rate, factor, correction1, correction2;
    BG_DEVICE explicit AdamNow(const AdamParams& p) {
        const Moment* const now = p.moment;
        rate = (R)(now ? now->rate : p.rate), factor = (R)(now ? now->gradient_factor : p.gradient_factor);
        correction1 = (R)(now ? now->correction1 : p.correction1), correction2 = (R)(now ? now->correction2 : p.correction2);
    }
};
template <class R> BG_DEVICE void adam_element(const AdamParams& p, const AdamNow<R>& now, R decay, R gradient, R& x, R& m, R& v) {
    const R beta1 = (R)p.beta1, beta2 = (R)p.beta2;
    gradient *= now.factor;
    if (p.decoupled) x -= now.rate * decay * x;
    else gradient += decay * x;
    m = beta1 * m + ((R)1 - beta1) * gradient;
    v = beta2 * v + ((R)1 - beta2) * gradient * gradient;
    x -= now.rate * (m / now.correction1) / (root(v / now.correction2) + (R)p.epsilon);
}
template <class R> BG_DEVICE void adam(const AdamParams& p) {
    const DenseTask<1> task(p.work);
    if (!task.valid) return;
    R x[LANE_COLUMNS], g[LANE_COLUMNS], m[LANE_COLUMNS], v[LANE_COLUMNS], decay[LANE_COLUMNS] = {};
    load_columns_as(p.parameters, task.row, task.columns, x);
    load_columns_as(p.gradients, task.row, task.columns, g);
    load_columns_as(p.first, task.row, task.columns, m);
    load_columns_as(p.second, task.row, task.columns, v);
    if (p.decay.data) load_columns_as(p.decay, task.row, task.columns, decay);
    const AdamNow<R> now(p);
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (task.columns.active(i)) adam_element(p, now, decay[i], g[i], x[i], m[i], v[i]);
    }
    store_columns(p.parameters_out, task.row, task.columns, x);
    store_columns(p.first_out, task.row, task.columns, m);
    store_columns(p.second_out, task.row, task.columns, v);
}
/// The same of f32 without gaps, an element a thread: what there is to read is asked for at once.
BG_DEVICE void adam_flat(const AdamParams& p) {
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.work.rows * p.work.columns) return;
    f32 x = ((const f32*)p.parameters.data)[i], gradient = ((const f32*)p.gradients.data)[i];
    f32 m = ((const f32*)p.first.data)[i], v = ((const f32*)p.second.data)[i];
    const f32 decay = p.decay.data ? ((const f32*)p.decay.data)[i] : 0.0f;
    adam_element(p, AdamNow<f32>(p), decay, gradient, x, m, v);
    ((f32*)p.parameters_out.data)[i] = x;
    ((f32*)p.first_out.data)[i] = m;
    ((f32*)p.second_out.data)[i] = v;
}
}  // namespace bg

BG_KERNEL(adam_f32, bg::AdamParams, 256, 2) { bg::adam<f32>(p); }
BG_KERNEL(adam_f64, bg::AdamParams, 256, 2) { bg::adam<f64>(p); }
BG_KERNEL(adam_flat, bg::AdamParams, 256, 4) { bg::adam_flat(p); }
