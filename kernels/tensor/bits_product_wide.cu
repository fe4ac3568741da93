// Dense products of bits and of codes by groups of four warps, of few columns and of many.
#include "tensor/bits_product_wide.cuh"

namespace bg {
BG_KERNEL(bits_product_wide_64, BitsProductParams, 128, 2) { bits_product_wide<64, bits::NARROW_STAGES>(p); }
BG_KERNEL(bits_product_wide_256, BitsProductParams, 256, 1) { bits_product_wide<256, bits::WIDE_STAGES>(p); }
}  // namespace bg
