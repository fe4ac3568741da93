// The built-in operators over every element type.
#include "ops/elementwise.cuh"

// A kernel's name is its operation's and its type's, written out because that is how it is looked for.
#define BG_ELEMENTWISE(T, ewise_, apply_, filter_, test_, fold_, fold_finish_, fold_rows_)               \
    BG_KERNEL(ewise_, bg::BinaryParams, 256, 4) { bg::binary<T, bg::BuiltinBinary<T>>(p); }              \
    BG_KERNEL(apply_, bg::ApplyParams, 256, 4) { bg::apply<T, T, bg::BuiltinUnary<T>>(p); }               \
    BG_KERNEL(filter_, bg::ApplyParams, 256, 4) { bg::filter<T, bg::BuiltinTest<T>>(p); }                 \
    BG_KERNEL(test_, bg::ApplyParams, 256, 4) { bg::test<T, bg::BuiltinTest<T>>(p); }                     \
    BG_FOLD(T, bg::BuiltinReduction<T>, bg::BuiltinMonoid<T>, fold_, fold_finish_, fold_rows_)

BG_ELEMENTWISE(bool, ewise_bool, apply_bool, filter_bool, test_bool, fold_bool, fold_finish_bool, fold_rows_bool)
BG_ELEMENTWISE(i8, ewise_i8, apply_i8, filter_i8, test_i8, fold_i8, fold_finish_i8, fold_rows_i8)
BG_ELEMENTWISE(i16, ewise_i16, apply_i16, filter_i16, test_i16, fold_i16, fold_finish_i16, fold_rows_i16)
BG_ELEMENTWISE(i32, ewise_i32, apply_i32, filter_i32, test_i32, fold_i32, fold_finish_i32, fold_rows_i32)
BG_ELEMENTWISE(i64, ewise_i64, apply_i64, filter_i64, test_i64, fold_i64, fold_finish_i64, fold_rows_i64)
BG_ELEMENTWISE(u8, ewise_u8, apply_u8, filter_u8, test_u8, fold_u8, fold_finish_u8, fold_rows_u8)
BG_ELEMENTWISE(u16, ewise_u16, apply_u16, filter_u16, test_u16, fold_u16, fold_finish_u16, fold_rows_u16)
BG_ELEMENTWISE(u32, ewise_u32, apply_u32, filter_u32, test_u32, fold_u32, fold_finish_u32, fold_rows_u32)
BG_ELEMENTWISE(u64, ewise_u64, apply_u64, filter_u64, test_u64, fold_u64, fold_finish_u64, fold_rows_u64)
BG_ELEMENTWISE(bg::f16, ewise_f16, apply_f16, filter_f16, test_f16, fold_f16, fold_finish_f16, fold_rows_f16)
BG_ELEMENTWISE(bg::bf16, ewise_bf16, apply_bf16, filter_bf16, test_bf16, fold_bf16, fold_finish_bf16, fold_rows_bf16)
BG_ELEMENTWISE(f32, ewise_f32, apply_f32, filter_f32, test_f32, fold_f32, fold_finish_f32, fold_rows_f32)
BG_ELEMENTWISE(f64, ewise_f64, apply_f64, filter_f64, test_f64, fold_f64, fold_finish_f64, fold_rows_f64)
