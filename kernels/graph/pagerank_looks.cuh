// In which iterations of PageRank the residual is formed: the rule of `ResidualLooks` of bitgraph-algorithms, which says why.
//
// Every block of a launch, or of a cluster, sees the same residuals, so all of them look at the same iterations.
#pragma once
#include "common/kernel.cuh"

namespace bg {
/// Iterations from a look to the next at most.
constexpr u32 MOST_BETWEEN_LOOKS = 16;

/// The iterations, counted from 0, in which the residual is formed.
struct ResidualLooks {
    f64 tolerance;
    u32 max_iterations;  // at least 1
    u32 next;
    u32 seen;            // the iteration last looked at
    f32 level;           // log2 of its residual

    BG_DEVICE ResidualLooks(f64 tolerance, u32 max_iterations)
        : tolerance(tolerance), max_iterations(max_iterations), next(tolerance > 0.0 ? 0 : max_iterations - 1), seen(0), level(0) {}

    BG_DEVICE bool due(u32 iteration) const { return iteration >= next; }

    /// Notes the residual of an iteration that was looked at.
    BG_DEVICE void saw(u32 iteration, f64 residual) {
        // By how much more than before a residual may fall in an iteration, in powers of two: to 97 %.
        constexpr f32 SLACK = 0.05f;
        const f32 now = log2f((f32)residual);
        u32 ahead = 1;
        if (iteration > 0) {
            const f32 fall = (level - now) / (f32)(iteration - seen);
            const f32 steps = ceilf((now - log2f((f32)tolerance)) / (max_of(fall, 0.0f) + SLACK));
            ahead = steps < 1.0f ? 1 : steps < (f32)MOST_BETWEEN_LOOKS ? (u32)steps : MOST_BETWEEN_LOOKS;
        }
        level = now;
        seen = iteration;
        next = iteration + min_of(ahead, max_iterations - 1 - iteration);
    }
};
}  // namespace bg
