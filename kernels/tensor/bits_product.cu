// Dense products of bits and of codes on 1-bit tensor cores, and what they need of their operands.
#include "tensor/bits_product.cuh"
#include "tensor/bits_product_stream.cuh"

namespace bg {
BG_KERNEL(bits_product_codes, BitsProductParams, 128, 3) { bits_product<false, false>(p); }
BG_KERNEL(bits_product_sums, BitsProductParams, 128, 3) { bits_product<true, false>(p); }
BG_KERNEL(bits_product_signs, BitsProductParams, 128, 3) { bits_product<true, true>(p); }

BG_KERNEL(bits_stream_signs, BitsProductParams, 128, 4) { bits_product_stream(p); }

struct BitsLines {
    const u32* lines;
    u32* output;     // a number for each line, or lines of `wide` words
    u32 count;
    u32 stride;
    u32 wide;
    u32 unused;
};

/// The ones of each line, by a warp.
BG_KERNEL(bits_line_ones, BitsLines, 256, 4) {
    const u32 warps = blockDim.x / WARP;
    for (u32 line = blockIdx.x * warps + threadIdx.x / WARP; line < p.count; line += gridDim.x * warps) {
        u32 ones = 0;
        for (u32 word = lane(); word < p.stride; word += WARP) ones += (u32)__popc(load_readonly(p.lines + ((u64)line * p.stride + word)));
        ones = warp_sum(ones);
        if (lane() == 0) p.output[line] = ones;
    }
}

/// Lines with zeros behind them.
BG_KERNEL(bits_line_pad, BitsLines, 256, 4) {
    const u64 all = (u64)p.count * p.wide;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += (u64)gridDim.x * blockDim.x) {
        const u64 line = i / p.wide;
        const u32 word = (u32)(i - line * p.wide);
        p.output[i] = word < p.stride ? load_readonly(p.lines + (line * p.stride + word)) : 0;
    }
}
}  // namespace bg
