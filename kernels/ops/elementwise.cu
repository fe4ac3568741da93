// The built-in operators over every element type.
#include "ops/elementwise.cuh"

#define BG_ELEMENTWISE(T, name)                                                                                              \
    BG_KERNEL(binary_##name, bg::BinaryParams, 256, 4) { bg::binary<T, bg::BuiltinBinary<T>>(p); }                           \
    BG_KERNEL(apply_##name, bg::ApplyParams, 256, 4) { bg::apply<T, T, bg::BuiltinUnary<T>>(p); }                            \
    BG_KERNEL(filter_##name, bg::ApplyParams, 256, 4) { bg::filter<T, bg::BuiltinTest<T>>(p); }                              \
    BG_KERNEL(test_##name, bg::ApplyParams, 256, 4) { bg::test<T, bg::BuiltinTest<T>>(p); }                                  \
    BG_KERNEL(reduce_##name, bg::ReduceParams, 256, 4) { bg::reduce<T>(p); }                                                 \
    BG_KERNEL(reduce_finish_##name, bg::ReduceParams, 32, 1) { bg::reduce_finish<T>(p); }                                    \
    BG_KERNEL(row_reduce_##name, bg::RowReduceParams, 256, 4) { bg::row_reduce<T>(p); }

BG_ELEMENTWISE(bool, bool)
BG_ELEMENTWISE(i8, i8)
BG_ELEMENTWISE(i16, i16)
BG_ELEMENTWISE(i32, i32)
BG_ELEMENTWISE(i64, i64)
BG_ELEMENTWISE(u8, u8)
BG_ELEMENTWISE(u16, u16)
BG_ELEMENTWISE(u32, u32)
BG_ELEMENTWISE(u64, u64)
BG_ELEMENTWISE(bg::f16, f16)
BG_ELEMENTWISE(bg::bf16, bf16)
BG_ELEMENTWISE(f32, f32)
BG_ELEMENTWISE(f64, f64)
