// The general products with features that are compiled ahead: of the usual types. Those of others are compiled at their first use.
#include "tensor/spmm_general.cuh"

namespace bg {
struct CountsParams {
    const void* offsets;
    TensorOut out;  // of one column
    u64 rows;
    u32 wide;
    u32 extra;      // added to every number
};
}  // namespace bg

/// One over the number of entries of each row; 0 for none.
BG_KERNEL(inverse_counts, bg::CountsParams, 256, 4) {
    using namespace bg;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < p.rows; i += (u64)gridDim.x * blockDim.x) {
        const u64 count = row_offset(p.offsets, p.wide, i + 1) - row_offset(p.offsets, p.wide, i) + p.extra;
        store_as(p.out, i, 0, count ? 1.0 / (f64)count : 0.0);
    }
}

BG_SPMM_MERGE(f32, spmm_merge_sum_f32, spmm_merge_choice_f32)
BG_SPMM_MERGE(f64, spmm_merge_sum_f64, spmm_merge_choice_f64)
BG_SPMM_MERGE(i32, spmm_merge_sum_i32, spmm_merge_choice_i32)

BG_SPMM_SUM(f32, f32, 4, spmm_sum_f32_f32_x4)
BG_SPMM_SUM(f32, f32, 1, spmm_sum_f32_f32_x1)
BG_SPMM_CHOICE(f32, f32, 4, spmm_choice_f32_f32_x4)
BG_SPMM_CHOICE(f32, f32, 1, spmm_choice_f32_f32_x1)
BG_SPMM_TAKEN(f32, f32, f32, spmm_taken_f32_f32_f32)

BG_SPMM_SUM(bg::f16, f32, 8, spmm_sum_f16_f32_x8)
BG_SPMM_SUM(bg::f16, f32, 1, spmm_sum_f16_f32_x1)
BG_SPMM_CHOICE(bg::f16, f32, 8, spmm_choice_f16_f32_x8)
BG_SPMM_CHOICE(bg::f16, f32, 1, spmm_choice_f16_f32_x1)
BG_SPMM_TAKEN(bg::f16, f32, bg::f16, spmm_taken_f16_f32_f16)

BG_SPMM_SUM(bg::bf16, f32, 8, spmm_sum_bf16_f32_x8)
BG_SPMM_SUM(bg::bf16, f32, 1, spmm_sum_bf16_f32_x1)
BG_SPMM_CHOICE(bg::bf16, f32, 8, spmm_choice_bf16_f32_x8)
BG_SPMM_CHOICE(bg::bf16, f32, 1, spmm_choice_bf16_f32_x1)
BG_SPMM_TAKEN(bg::bf16, f32, bg::bf16, spmm_taken_bf16_f32_bf16)
