// Products by tasks of f16 features: as many lanes as a row or a slice of it has 16 bytes.
#include "tensor/spmm_tasks.cuh"

namespace bg {
using namespace spmm;
constexpr u32 VECTOR = PerLane<f16>::value;
// No row is cut: many warps, few loads each.
BG_KERNEL(spmm_rows_f16_2, SpmmTasksParams, 256, 8) { spmm_rows<f16, VECTOR, 2, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f16_4, SpmmTasksParams, 256, 8) { spmm_rows<f16, VECTOR, 4, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f16_8, SpmmTasksParams, 256, 8) { spmm_rows<f16, VECTOR, 8, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f16_16, SpmmTasksParams, 256, 8) { spmm_rows<f16, VECTOR, 16, ROW_LOADS>(p); }
BG_KERNEL(spmm_rows_f16_32, SpmmTasksParams, 256, 8) { spmm_rows<f16, VECTOR, 32, ROW_LOADS>(p); }
// Rows and pieces of rows.
BG_KERNEL(spmm_tasks_f16_2, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 2, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f16_4, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 4, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f16_8, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 8, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f16_16, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 16, TASK_LOADS, false>(p); }
BG_KERNEL(spmm_tasks_f16_32, SpmmTasksParams, 256, 6) { spmm_tasks<f16, VECTOR, 32, TASK_LOADS, false>(p); }
// Few warps, many loads each.
BG_KERNEL(spmm_deep_f16_2, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 2, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f16_4, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 4, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f16_8, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 8, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f16_16, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 16, DEEP_LOADS, false>(p); }
BG_KERNEL(spmm_deep_f16_32, SpmmTasksParams, 256, 4) { spmm_tasks<f16, VECTOR, 32, DEEP_LOADS, false>(p); }
// With values or scales of columns.
BG_KERNEL(spmm_weighted_f16_2, SpmmTasksParams, 256, 5) { spmm_tasks<f16, VECTOR, 2, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f16_4, SpmmTasksParams, 256, 5) { spmm_tasks<f16, VECTOR, 4, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f16_8, SpmmTasksParams, 256, 5) { spmm_tasks<f16, VECTOR, 8, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f16_16, SpmmTasksParams, 256, 5) { spmm_tasks<f16, VECTOR, 16, WEIGHTED_LOADS, true>(p); }
BG_KERNEL(spmm_weighted_f16_32, SpmmTasksParams, 256, 5) { spmm_tasks<f16, VECTOR, 32, WEIGHTED_LOADS, true>(p); }
// Any width, element by element.
BG_KERNEL(spmm_plain_f16, SpmmTasksParams, 256, 5) { spmm_tasks<f16, 1, 32, WEIGHTED_LOADS, true>(p); }
}  // namespace bg
