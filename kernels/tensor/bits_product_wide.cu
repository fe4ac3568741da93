// Dense products of bits and of codes by groups of four warps, of few columns and of many, for 1, 2, 4 and 8 planes of the second operand.
#include "tensor/bits_product_wide.cuh"
#include "tensor/bits_product_wide_signs.cuh"

namespace bg {
#ifdef BITGRAPH_HOST
constexpr u32 WIDE_GROUPS = 1;  // a block of the shim has 128 threads
#else
constexpr u32 WIDE_GROUPS = 2;
#endif
BG_KERNEL(bits_product_wide_64_1, BitsProductParams, 128, 2) { bits_product_wide<1, 1, 64, bits::NARROW_STAGES>(p); }
BG_KERNEL(bits_product_wide_64_2, BitsProductParams, 128, 2) { bits_product_wide<2, 1, 64, bits::NARROW_STAGES>(p); }
BG_KERNEL(bits_product_wide_64_4, BitsProductParams, 128, 2) { bits_product_wide<4, 1, 64, bits::NARROW_STAGES>(p); }
BG_KERNEL(bits_product_wide_64_8, BitsProductParams, 128, 2) { bits_product_wide<8, 1, 64, bits::NARROW_STAGES>(p); }
BG_KERNEL(bits_product_wide_256_1, BitsProductParams, 256, 1) { bits_product_wide<1, WIDE_GROUPS, 256, bits::WIDE_STAGES>(p); }
BG_KERNEL(bits_product_wide_256_2, BitsProductParams, 256, 1) { bits_product_wide<2, WIDE_GROUPS, 256, bits::WIDE_STAGES>(p); }
BG_KERNEL(bits_product_wide_256_4, BitsProductParams, 256, 1) { bits_product_wide<4, WIDE_GROUPS, 256, bits::WIDE_STAGES>(p); }
BG_KERNEL(bits_product_wide_256_8, BitsProductParams, 256, 1) { bits_product_wide<8, WIDE_GROUPS, 256, bits::WIDE_STAGES>(p); }
BG_KERNEL(bits_product_wide_signs_512, BitsProductParams, 128, 3) { bits_product_wide_signs<256, 2, bits::WIDE_SIGNS_STAGES>(p); }
BG_KERNEL(bits_product_wide_signs_1024, BitsProductParams, 128, 3) { bits_product_wide_signs<256, 4, bits::WIDE_SIGNS_STAGES>(p); }
}  // namespace bg
