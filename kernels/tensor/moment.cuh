// What changes from one replay of launches that were written down to the next: their parameters stay as they were.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// The numbers of a replay.
struct Moment {
    f64 rate;             // as in AdamParams and SgdParams
    f64 gradient_factor;
    f64 correction1;      // as in AdamParams
    f64 correction2;
    f64 loss_scale;       // what the gradient of a cross entropy is multiplied by
    u32 draws;            // by how much the draws of dropout have moved on
    u32 reserved;
};
/// A draw at a moment; as it was written down without one.
BG_DEVICE u32 moved(u32 draw, const Moment* moment) { return moment ? draw + moment->draws : draw; }
}  // namespace bg
