// Scales of rows or columns of a normalised adjacency matrix, from degrees.
//
// Invariant: the bits are those of `bitgraph-frdc`: the quotient and the root are rounded in double precision, then once to f32.
#include "common/memory.cuh"

namespace bg {
struct ScalesParams {
    const u32* degrees;
    f32* scales;
    u64 n;
    u32 root;  // whether degree ^ -1/2, or its inverse
    u32 unused;
};
}  // namespace bg
using namespace bg;

BG_KERNEL(scales_of_degrees, ScalesParams, 256, 4) {
    u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.n; i += threads) {
        u32 degree = load_readonly(p.degrees + i);
        f64 inverse = degree ? 1.0 / (f64)degree : 0.0;
        p.scales[i] = (f32)(p.root ? sqrt(inverse) : inverse);
    }
}
