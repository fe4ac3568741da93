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
template <class R> BG_DEVICE void adam(const AdamParams& p) {
    const DenseTask<1> task(p.work);
    if (!task.valid) return;
    R x[LANE_COLUMNS], g[LANE_COLUMNS], m[LANE_COLUMNS], v[LANE_COLUMNS], decay[LANE_COLUMNS] = {};
    load_columns_as(p.parameters, task.row, task.columns, x);
    load_columns_as(p.gradients, task.row, task.columns, g);
    load_columns_as(p.first, task.row, task.columns, m);
    load_columns_as(p.second, task.row, task.columns, v);
    if (p.decay.data) load_columns_as(p.decay, task.row, task.columns, decay);
    const Moment* const now = p.moment;
    const R rate = (R)(now ? now->rate : p.rate), factor = (R)(now ? now->gradient_factor : p.gradient_factor);
    const R correction1 = (R)(now ? now->correction1 : p.correction1), correction2 = (R)(now ? now->correction2 : p.correction2);
    const R beta1 = (R)p.beta1, beta2 = (R)p.beta2;
#pragma unroll
    for (u32 i = 0; i < LANE_COLUMNS; i++) {
        if (!task.columns.active(i)) continue;
        R gradient = g[i] * factor;
        if (p.decoupled) {
            x[i] -= rate * decay[i] * x[i];
        } else {
            gradient += decay[i] * x[i];
        }
        m[i] = beta1 * m[i] + ((R)1 - beta1) * gradient;
        v[i] = beta2 * v[i] + ((R)1 - beta2) * gradient * gradient;
        x[i] -= rate * (m[i] / correction1) / (root(v[i] / correction2) + (R)p.epsilon);
    }
    store_columns(p.parameters_out, task.row, task.columns, x);
    store_columns(p.first_out, task.row, task.columns, m);
    store_columns(p.second_out, task.row, task.columns, v);
}
}  // namespace bg

BG_KERNEL(adam_f32, bg::AdamParams, 256, 2) { bg::adam<f32>(p); }
BG_KERNEL(adam_f64, bg::AdamParams, 256, 2) { bg::adam<f64>(p); }
