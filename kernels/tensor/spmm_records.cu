// Products of small matrices, all columns of the features at once: as many lanes as a row has 16 bytes.
#include "tensor/spmm_records.cuh"

namespace bg {
BG_KERNEL(spmm_records_f16_2, SpmmRecordsParams, 256, 2) { spmm_records<f16, 2, false>(p); }
BG_KERNEL(spmm_records_f16_4, SpmmRecordsParams, 256, 2) { spmm_records<f16, 4, false>(p); }
BG_KERNEL(spmm_records_f16_8, SpmmRecordsParams, 256, 2) { spmm_records<f16, 8, false>(p); }
BG_KERNEL(spmm_records_f16_16, SpmmRecordsParams, 256, 2) { spmm_records<f16, 16, false>(p); }
BG_KERNEL(spmm_records_f16_32, SpmmRecordsParams, 256, 2) { spmm_records<f16, 32, false>(p); }
BG_KERNEL(spmm_records_weighted_f16_2, SpmmRecordsParams, 256, 2) { spmm_records<f16, 2, true>(p); }
BG_KERNEL(spmm_records_weighted_f16_4, SpmmRecordsParams, 256, 2) { spmm_records<f16, 4, true>(p); }
BG_KERNEL(spmm_records_weighted_f16_8, SpmmRecordsParams, 256, 2) { spmm_records<f16, 8, true>(p); }
BG_KERNEL(spmm_records_weighted_f16_16, SpmmRecordsParams, 256, 2) { spmm_records<f16, 16, true>(p); }
BG_KERNEL(spmm_records_weighted_f16_32, SpmmRecordsParams, 256, 2) { spmm_records<f16, 32, true>(p); }
BG_KERNEL(spmm_records_bf16_2, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 2, false>(p); }
BG_KERNEL(spmm_records_bf16_4, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 4, false>(p); }
BG_KERNEL(spmm_records_bf16_8, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 8, false>(p); }
BG_KERNEL(spmm_records_bf16_16, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 16, false>(p); }
BG_KERNEL(spmm_records_bf16_32, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 32, false>(p); }
BG_KERNEL(spmm_records_weighted_bf16_2, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 2, true>(p); }
BG_KERNEL(spmm_records_weighted_bf16_4, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 4, true>(p); }
BG_KERNEL(spmm_records_weighted_bf16_8, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 8, true>(p); }
BG_KERNEL(spmm_records_weighted_bf16_16, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 16, true>(p); }
BG_KERNEL(spmm_records_weighted_bf16_32, SpmmRecordsParams, 256, 2) { spmm_records<bf16, 32, true>(p); }
BG_KERNEL(spmm_records_f32_2, SpmmRecordsParams, 256, 2) { spmm_records<f32, 2, false>(p); }
BG_KERNEL(spmm_records_f32_4, SpmmRecordsParams, 256, 2) { spmm_records<f32, 4, false>(p); }
BG_KERNEL(spmm_records_f32_8, SpmmRecordsParams, 256, 2) { spmm_records<f32, 8, false>(p); }
BG_KERNEL(spmm_records_f32_16, SpmmRecordsParams, 256, 2) { spmm_records<f32, 16, false>(p); }
BG_KERNEL(spmm_records_f32_32, SpmmRecordsParams, 256, 2) { spmm_records<f32, 32, false>(p); }
BG_KERNEL(spmm_records_weighted_f32_2, SpmmRecordsParams, 256, 2) { spmm_records<f32, 2, true>(p); }
BG_KERNEL(spmm_records_weighted_f32_4, SpmmRecordsParams, 256, 2) { spmm_records<f32, 4, true>(p); }
BG_KERNEL(spmm_records_weighted_f32_8, SpmmRecordsParams, 256, 2) { spmm_records<f32, 8, true>(p); }
BG_KERNEL(spmm_records_weighted_f32_16, SpmmRecordsParams, 256, 2) { spmm_records<f32, 16, true>(p); }
BG_KERNEL(spmm_records_weighted_f32_32, SpmmRecordsParams, 256, 2) { spmm_records<f32, 32, true>(p); }
}  // namespace bg
