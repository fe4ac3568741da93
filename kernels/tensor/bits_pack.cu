// Packing signs and codes, and the scales of signs, of every type of features; codes of up to 8 and of up to 16 bits.
#include "tensor/bits_pack.cuh"

namespace bg {
BG_KERNEL(bits_pack_rows_f32, BitsPackParams, 256, 4) { bits_pack_rows<f32>(p); }
BG_KERNEL(bits_pack_rows_f16, BitsPackParams, 256, 4) { bits_pack_rows<f16>(p); }
BG_KERNEL(bits_pack_rows_bf16, BitsPackParams, 256, 4) { bits_pack_rows<bf16>(p); }
BG_KERNEL(bits_pack_vectors_signs_f32, BitsPackParams, 256, 3) { bits_pack_sign_vectors<f32>(p); }
BG_KERNEL(bits_pack_vectors_8_f32, BitsPackParams, 256, 3) { bits_pack_vectors<f32, 8>(p); }
BG_KERNEL(bits_pack_vectors_16_f32, BitsPackParams, 256, 3) { bits_pack_vectors<f32, 16>(p); }
BG_KERNEL(bits_pack_columns_signs_f32, BitsPackParams, 256, 4) { bits_pack_columns<f32, 0>(p); }
BG_KERNEL(bits_pack_columns_8_f32, BitsPackParams, 256, 3) { bits_pack_columns<f32, 8>(p); }
BG_KERNEL(bits_pack_columns_16_f32, BitsPackParams, 256, 2) { bits_pack_columns<f32, 16>(p); }
BG_KERNEL(bits_pack_vectors_signs_f16, BitsPackParams, 256, 4) { bits_pack_sign_vectors<f16>(p); }
BG_KERNEL(bits_pack_vectors_8_f16, BitsPackParams, 256, 3) { bits_pack_vectors<f16, 8>(p); }
BG_KERNEL(bits_pack_vectors_16_f16, BitsPackParams, 256, 3) { bits_pack_vectors<f16, 16>(p); }
BG_KERNEL(bits_pack_columns_signs_f16, BitsPackParams, 256, 4) { bits_pack_columns<f16, 0>(p); }
BG_KERNEL(bits_pack_columns_8_f16, BitsPackParams, 256, 3) { bits_pack_columns<f16, 8>(p); }
BG_KERNEL(bits_pack_columns_16_f16, BitsPackParams, 256, 2) { bits_pack_columns<f16, 16>(p); }
BG_KERNEL(bits_pack_vectors_signs_bf16, BitsPackParams, 256, 4) { bits_pack_sign_vectors<bf16>(p); }
BG_KERNEL(bits_pack_vectors_8_bf16, BitsPackParams, 256, 3) { bits_pack_vectors<bf16, 8>(p); }
BG_KERNEL(bits_pack_vectors_16_bf16, BitsPackParams, 256, 3) { bits_pack_vectors<bf16, 16>(p); }
BG_KERNEL(bits_pack_columns_signs_bf16, BitsPackParams, 256, 4) { bits_pack_columns<bf16, 0>(p); }
BG_KERNEL(bits_pack_columns_8_bf16, BitsPackParams, 256, 3) { bits_pack_columns<bf16, 8>(p); }
BG_KERNEL(bits_pack_columns_16_bf16, BitsPackParams, 256, 2) { bits_pack_columns<bf16, 16>(p); }
BG_KERNEL(bits_row_means_f32, BitsPackParams, 256, 4) { bits_row_means<f32>(p); }
BG_KERNEL(bits_row_means_f16, BitsPackParams, 256, 4) { bits_row_means<f16>(p); }
BG_KERNEL(bits_row_means_bf16, BitsPackParams, 256, 4) { bits_row_means<bf16>(p); }
BG_KERNEL(bits_column_means_f32, BitsPackParams, 256, 4) { bits_column_means<f32>(p); }
BG_KERNEL(bits_column_means_f16, BitsPackParams, 256, 4) { bits_column_means<f16>(p); }
BG_KERNEL(bits_column_means_bf16, BitsPackParams, 256, 4) { bits_column_means<bf16>(p); }
}  // namespace bg
