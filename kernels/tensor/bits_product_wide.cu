// Dense products of bits and of codes by groups of four warps, in tiles of 64 x 64, 128 x 128 and 128 x 256, for 1, 2, 4 and 8 planes of the
// second operand; each also for one plane of the first, all of whose parts count.
#include "tensor/bits_product_wide.cuh"

// Groups of a block; one of the shim has 128 threads. No constant, of which host code reads one value alone.
#ifdef BITGRAPH_HOST
#define TWO_GROUPS 1
#else
#define TWO_GROUPS 2
#endif

namespace bg {
BG_KERNEL(bits_product_narrow_1, BitsProductParams, 128, 2) { bits_product_wide<1, 1, 64, bits::NARROW_STAGES, false>(p); }
BG_KERNEL(bits_product_narrow_2, BitsProductParams, 128, 2) { bits_product_wide<2, 1, 64, bits::NARROW_STAGES, false>(p); }
BG_KERNEL(bits_product_narrow_4, BitsProductParams, 128, 2) { bits_product_wide<4, 1, 64, bits::NARROW_STAGES, false>(p); }
BG_KERNEL(bits_product_narrow_8, BitsProductParams, 128, 2) { bits_product_wide<8, 1, 64, bits::NARROW_STAGES, false>(p); }
BG_KERNEL(bits_product_narrow_line_1, BitsProductParams, 128, 2) { bits_product_wide<1, 1, 64, bits::NARROW_STAGES, true>(p); }
BG_KERNEL(bits_product_narrow_line_2, BitsProductParams, 128, 2) { bits_product_wide<2, 1, 64, bits::NARROW_STAGES, true>(p); }
BG_KERNEL(bits_product_narrow_line_4, BitsProductParams, 128, 2) { bits_product_wide<4, 1, 64, bits::NARROW_STAGES, true>(p); }
BG_KERNEL(bits_product_narrow_line_8, BitsProductParams, 128, 2) { bits_product_wide<8, 1, 64, bits::NARROW_STAGES, true>(p); }
BG_KERNEL(bits_product_middle_1, BitsProductParams, 256, 1) { bits_product_wide<1, TWO_GROUPS, 128, bits::MIDDLE_STAGES, false>(p); }
BG_KERNEL(bits_product_middle_2, BitsProductParams, 256, 1) { bits_product_wide<2, TWO_GROUPS, 128, bits::MIDDLE_STAGES, false>(p); }
BG_KERNEL(bits_product_middle_4, BitsProductParams, 256, 1) { bits_product_wide<4, TWO_GROUPS, 128, bits::MIDDLE_STAGES, false>(p); }
BG_KERNEL(bits_product_middle_8, BitsProductParams, 256, 1) { bits_product_wide<8, TWO_GROUPS, 128, bits::MIDDLE_STAGES, false>(p); }
BG_KERNEL(bits_product_middle_line_1, BitsProductParams, 256, 1) { bits_product_wide<1, TWO_GROUPS, 128, bits::MIDDLE_STAGES, true>(p); }
BG_KERNEL(bits_product_middle_line_2, BitsProductParams, 256, 1) { bits_product_wide<2, TWO_GROUPS, 128, bits::MIDDLE_STAGES, true>(p); }
BG_KERNEL(bits_product_middle_line_4, BitsProductParams, 256, 1) { bits_product_wide<4, TWO_GROUPS, 128, bits::MIDDLE_STAGES, true>(p); }
BG_KERNEL(bits_product_middle_line_8, BitsProductParams, 256, 1) { bits_product_wide<8, TWO_GROUPS, 128, bits::MIDDLE_STAGES, true>(p); }
BG_KERNEL(bits_product_wide_1, BitsProductParams, 256, 1) { bits_product_wide<1, TWO_GROUPS, 256, bits::WIDE_STAGES, false>(p); }
BG_KERNEL(bits_product_wide_2, BitsProductParams, 256, 1) { bits_product_wide<2, TWO_GROUPS, 256, bits::WIDE_STAGES, false>(p); }
BG_KERNEL(bits_product_wide_4, BitsProductParams, 256, 1) { bits_product_wide<4, TWO_GROUPS, 256, bits::WIDE_STAGES, false>(p); }
BG_KERNEL(bits_product_wide_8, BitsProductParams, 256, 1) { bits_product_wide<8, TWO_GROUPS, 256, bits::WIDE_STAGES, false>(p); }
BG_KERNEL(bits_product_wide_line_1, BitsProductParams, 256, 1) { bits_product_wide<1, TWO_GROUPS, 256, bits::WIDE_STAGES, true>(p); }
BG_KERNEL(bits_product_wide_line_2, BitsProductParams, 256, 1) { bits_product_wide<2, TWO_GROUPS, 256, bits::WIDE_STAGES, true>(p); }
BG_KERNEL(bits_product_wide_line_4, BitsProductParams, 256, 1) { bits_product_wide<4, TWO_GROUPS, 256, bits::WIDE_STAGES, true>(p); }
BG_KERNEL(bits_product_wide_line_8, BitsProductParams, 256, 1) { bits_product_wide<8, TWO_GROUPS, 256, bits::WIDE_STAGES, true>(p); }
}  // namespace bg
