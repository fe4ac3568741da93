// The signs of products of bits by groups of four warps, of lines of up to 512 and of up to 1024 bits.
#include "tensor/bits_product_signs.cuh"

namespace bg {
BG_KERNEL(bits_product_signs_512, BitsProductParams, 128, 3) { bits_signs_wide<256, 2, bits::WIDE_SIGNS_STAGES>(p); }
BG_KERNEL(bits_product_signs_1024, BitsProductParams, 128, 3) { bits_signs_wide<256, 4, bits::WIDE_SIGNS_STAGES>(p); }
}  // namespace bg
