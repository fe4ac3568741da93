// Signs of sums of short rows: kernels that have nothing else need few registers, so that more of them are resident and gather at once.
#include "tensor/bits_aggregate.cuh"

namespace bg {
/// Signs of rows of at most SHARED_ROW entries, in their order: S groups of LANES lanes share the entries of a row, BLOCK at a time each.
template <u32 VECTOR, u32 LANES, u32 S, u32 BLOCK, bool ALIGNED> BG_DEVICE void bits_rows(const BitsAggregateParams& p) {
    constexpr u32 MOST = bits::SHARED_ROW, TURN = S * BLOCK, TURNS = ((ALIGNED ? MOST + 3 : MOST) + TURN - 1) / TURN;
    constexpr u32 USED = BitsOf<TURNS * BLOCK + 1>::value, PLANES = USED + BitsOf<S>::value - 1;
    const u32 slice = blockIdx.x / p.slice_blocks, block = blockIdx.x - slice * p.slice_blocks;
    const u32 row = (block * blockDim.x + threadIdx.x) / (LANES * S), l = lane() % (LANES * S), part = l / LANES;
    const u32 word = (slice * LANES + l % LANES) * VECTOR, stride = p.epilogue.stride;
    const bool active = row < p.rows && word < stride;
    u32 c[VECTOR][PLANES], degree = p.with_self;
#pragma unroll
    for (u32 v = 0; v < VECTOR; v++)
#pragma unroll
        for (u32 i = 0; i < PLANES; i++) c[v][i] = 0;
    if (active) {
        const u32* x = p.features + word;
        const u32 begin = load_readonly(p.offsets + row), end = load_readonly(p.offsets + row + 1);
        degree += end - begin;
        if (p.with_self && part == 0) {
            u32 own[VECTOR];
            load_words<VECTOR>(own, x + (u64)row * stride);
#pragma unroll
            for (u32 v = 0; v < VECTOR; v++) c[v][0] = own[v];
        }
        count_entries<VECTOR, BLOCK, S, USED, ALIGNED>(p, x, begin, end, part, c);
    }
    warp_sync();
    u32 signs[VECTOR];
#pragma unroll
    for (u32 v = 0; v < VECTOR; v++) {
        join_lanes<USED, LANES, S>(c[v]);
        signs[v] = active && part == 0 ? signs_of(p.epilogue, c[v], degree, word + v) : 0;
    }
    if (active && part == 0) store_words<VECTOR>((u32*)p.epilogue.output + ((u64)row * stride + word), signs);
}

BG_KERNEL(bits_rows_2x1_1, BitsAggregateParams, 256, 1) { bits_rows<2, 1, 1, 4, false>(p); }
BG_KERNEL(bits_rows_2x1_2, BitsAggregateParams, 256, 1) { bits_rows<2, 1, 2, 8, true>(p); }
BG_KERNEL(bits_rows_2x1_4, BitsAggregateParams, 256, 1) { bits_rows<2, 1, 4, 8, true>(p); }
BG_KERNEL(bits_rows_2x1_8, BitsAggregateParams, 256, 1) { bits_rows<2, 1, 8, 8, true>(p); }
BG_KERNEL(bits_rows_4x1_1, BitsAggregateParams, 256, 1) { bits_rows<4, 1, 1, 4, false>(p); }
BG_KERNEL(bits_rows_2x2_2, BitsAggregateParams, 256, 1) { bits_rows<2, 2, 2, 8, true>(p); }
BG_KERNEL(bits_rows_2x2_4, BitsAggregateParams, 256, 1) { bits_rows<2, 2, 4, 8, true>(p); }
BG_KERNEL(bits_rows_4x2_1, BitsAggregateParams, 256, 1) { bits_rows<4, 2, 1, 4, false>(p); }
BG_KERNEL(bits_rows_4x2_2, BitsAggregateParams, 256, 1) { bits_rows<4, 2, 2, 8, true>(p); }
BG_KERNEL(bits_rows_4x4_1, BitsAggregateParams, 256, 1) { bits_rows<4, 4, 1, 4, false>(p); }
BG_KERNEL(bits_rows_4x8_1, BitsAggregateParams, 256, 1) { bits_rows<4, 8, 1, 4, false>(p); }
}  // namespace bg
