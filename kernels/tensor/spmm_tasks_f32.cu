// Products by tasks of f32 features: as many lanes as a row or a slice of it has 16 bytes.
#include "tensor/spmm_tasks.cuh"

namespace bg {
using namespace spmm;
constexpr u32 VECTOR = PerLane<f32>::value;
// No row is cut: many warps, few loads each.
BG_KERNEL(spmm_rows_f32_2, SpmmTasksParams, 256, 8) { spmm_rows<f32, VECTOR, 2, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f32_4, SpmmTasksParams, 256, 8) { spmm_rows<f32, VECTOR, 4, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f32_8, SpmmTasksParams, 256, 8) { spmm_rows<f32, VECTOR, 8, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f32_16, SpmmTasksParams, 256, 8) { spmm_rows<f32, VECTOR, 16, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f32_32, SpmmTasksParams, 256, 8) { spmm_rows<f32, VECTOR, 32, ROW_LOADS>(p); }
// Rows and pieces of rows.
BG_KERNEL(spmm_tasks_f32_2, SpmmTasksParams, 256, 6) { spmm_tasks<f32, VECTOR, 2, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f32_4, SpmmTasksParams, 256, 6) { spmm_tasks<f32, VECTOR, 4, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f32_8, SpmmTasksParams, 256, 6) { spmm_tasks<f32, VECTOR, 8, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f32_16, SpmmTasksParams, 256, 6) { spmm_tasks<f32, VECTOR, 16, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f32_32, SpmmTasksParams, 256, 6) { spmm_tasks<f32, VECTOR, 32, TASK_LOADS, false>(p); }
// Few warps, many loads each.
BG_KERNEL(spmm_deep_f32_2, SpmmTasksParams, 256, 4) { spmm_tasks<f32, VECTOR, 2, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f32_4, SpmmTasksParams, 256, 4) { spmm_tasks<f32, VECTOR, 4, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f32_8, SpmmTasksParams, 256, 4) { spmm_tasks<f32, VECTOR, 8, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f32_16, SpmmTasksParams, 256, 4) { spmm_tasks<f32, VECTOR, 16, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f32_32, SpmmTasksParams, 256, 4) { spmm_tasks<f32, VECTOR, 32, DEEP_LOADS, false>(p); }
// With values or scales of columns.
BG_KERNEL(spmm_weighted_f32_2, SpmmTasksParams, 256, 5) { spmm_tasks<f32, VECTOR, 2, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f32_4, SpmmTasksParams, 256, 5) { spmm_tasks<f32, VECTOR, 4, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f32_8, SpmmTasksParams, 256, 5) { spmm_tasks<f32, VECTOR, 8, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f32_16, SpmmTasksParams, 256, 5) { spmm_tasks<f32, VECTOR, 16, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f32_32, SpmmTasksParams, 256, 5) { spmm_tasks<f32, VECTOR, 32, WEIGHTED_LOADS, true>(p); }
// Any width, element by element.
BG_KERNEL(spmm_plain_f32, SpmmTasksParams, 256, 5) { spmm_tasks<f32, 1, 32, WEIGHTED_LOADS, true>(p); }
}  // namespace bg
