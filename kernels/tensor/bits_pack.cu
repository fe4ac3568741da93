// Packing signs and codes, and the scales of signs, of every type of features.
#include "tensor/bits_pack.cuh"

namespace bg {
BG_KERNEL(bits_pack_rows_f32, BitsPackParams, 256, 4) { bits_pack_rows<f32>(p); }
BG_KERNEL(bits_pack_rows_f16, BitsPackParams, 256, 4) { bits_pack_rows<f16>(p); }
BG_KERNEL(bits_pack_rows_bf16, BitsPackParams, 256, 4) { bits_pack_rows<bf16>(p); }
BG_KERNEL(bits_pack_columns_f32, BitsPackParams, 256, 4) { bits_pack_columns<f32>(p); }
BG_KERNEL(bits_pack_columns_f16, BitsPackParams, 256, 4) { bits_pack_columns<f16>(p); }
BG_KERNEL(bits_pack_columns_bf16, BitsPackParams, 256, 4) { bits_pack_columns<bf16>(p); }
BG_KERNEL(bits_row_means_f32, BitsPackParams, 256, 4) { bits_row_means<f32>(p); }
BG_KERNEL(bits_row_means_f16, BitsPackParams, 256, 4) { bits_row_means<f16>(p); }
BG_KERNEL(bits_row_means_bf16, BitsPackParams, 256, 4) { bits_row_means<bf16>(p); }
BG_KERNEL(bits_column_means_f32, BitsPackParams, 256, 4) { bits_column_means<f32>(p); }
BG_KERNEL(bits_column_means_f16, BitsPackParams, 256, 4) { bits_column_means<f16>(p); }
BG_KERNEL(bits_column_means_bf16, BitsPackParams, 256, 4) { bits_column_means<bf16>(p); }
}  // namespace bg
