// The schemes of Bit-GraphBLAS over all tile sizes.
#include "ops/bits.cuh"

BG_KERNEL(bits_bin_4, bg::BitsParams, 256, 4) { bg::bits_words<4>(p); }
BG_KERNEL(bits_bin_8, bg::BitsParams, 256, 4) { bg::bits_words<8>(p); }
BG_KERNEL(bits_bin_16, bg::BitsParams, 256, 4) { bg::bits_rows<16>(p); }
BG_KERNEL(bits_bin_32, bg::BitsParams, 256, 4) { bg::bits_rows<32>(p); }
BG_KERNEL(bits_count_4, bg::BitsParams, 256, 4) { bg::bits_count<4>(p); }
BG_KERNEL(bits_count_8, bg::BitsParams, 256, 4) { bg::bits_count<8>(p); }
BG_KERNEL(bits_count_16, bg::BitsParams, 256, 4) { bg::bits_count<16>(p); }
BG_KERNEL(bits_count_32, bg::BitsParams, 256, 4) { bg::bits_count<32>(p); }
BG_KERNEL(bits_sum_4_f32, bg::BitsParams, 256, 4) { bg::bits_sum<f32, 4>(p); }
BG_KERNEL(bits_sum_8_f32, bg::BitsParams, 256, 4) { bg::bits_sum<f32, 8>(p); }
BG_KERNEL(bits_sum_16_f32, bg::BitsParams, 256, 4) { bg::bits_sum<f32, 16>(p); }
BG_KERNEL(bits_sum_32_f32, bg::BitsParams, 256, 4) { bg::bits_sum<f32, 32>(p); }
BG_KERNEL(bits_sum_4_f64, bg::BitsParams, 256, 4) { bg::bits_sum<f64, 4>(p); }
BG_KERNEL(bits_sum_8_f64, bg::BitsParams, 256, 4) { bg::bits_sum<f64, 8>(p); }
BG_KERNEL(bits_sum_16_f64, bg::BitsParams, 256, 4) { bg::bits_sum<f64, 16>(p); }
BG_KERNEL(bits_sum_32_f64, bg::BitsParams, 256, 4) { bg::bits_sum<f64, 32>(p); }
BG_KERNEL(bits_product_4, bg::BitProductParams, 256, 4) { bg::bits_product<4>(p); }
BG_KERNEL(bits_product_8, bg::BitProductParams, 256, 4) { bg::bits_product<8>(p); }
BG_KERNEL(bits_product_16, bg::BitProductParams, 256, 4) { bg::bits_product<16>(p); }
BG_KERNEL(bits_product_32, bg::BitProductParams, 256, 4) { bg::bits_product<32>(p); }
