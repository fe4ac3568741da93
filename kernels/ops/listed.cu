// The listed instances of generic products, compiled ahead. Written by a test of crates/bitgraph-cuda (src/ops/listed.rs) from the
// expressions of the semirings; do not edit.
#include "ops/mxm.cuh"
#include "ops/mxv_tiles.cuh"

namespace {
struct Semiring_lor_land_bool_bool_bool : bg::Functions<bg::Value<bool>> {
    typedef bool A;
    typedef bool X;
    typedef bool Acc;
    typedef bool Out;
    typedef bg::Value<bool> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a) != lit(0) && num(x) != lit(0)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1) != lit(0) && num(x) != lit(0)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) != lit(0) || num(b) != lit(0)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return num(a) == lit(1); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_lor_land_bool_bool_bool, mxv_csr_lor_land_bool_bool_bool)
BG_MXV_CSR_LONG(Semiring_lor_land_bool_bool_bool, mxv_chunk_csr_lor_land_bool_bool_bool, mxv_finish_csr_lor_land_bool_bool_bool)
BG_MXV_TILES(Semiring_lor_land_bool_bool_bool, 4, mxv_b2sr4_lor_land_bool_bool_bool, mxv_long_b2sr4_lor_land_bool_bool_bool)
BG_MXV_TILES(Semiring_lor_land_bool_bool_bool, 8, mxv_b2sr8_lor_land_bool_bool_bool, mxv_long_b2sr8_lor_land_bool_bool_bool)
BG_MXV_TILES(Semiring_lor_land_bool_bool_bool, 16, mxv_b2sr16_lor_land_bool_bool_bool, mxv_long_b2sr16_lor_land_bool_bool_bool)
BG_MXV_TILES(Semiring_lor_land_bool_bool_bool, 32, mxv_b2sr32_lor_land_bool_bool_bool, mxv_long_b2sr32_lor_land_bool_bool_bool)

namespace {
struct Semiring_plus_second_f32_f32_f32 : bg::Functions<bg::Value<f32>> {
    typedef f32 A;
    typedef f32 X;
    typedef f32 Acc;
    typedef f32 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_second_f32_f32_f32, mxv_csr_plus_second_f32_f32_f32)
BG_MXV_CSR_LONG(Semiring_plus_second_f32_f32_f32, mxv_chunk_csr_plus_second_f32_f32_f32, mxv_finish_csr_plus_second_f32_f32_f32)
BG_MXV_TILES(Semiring_plus_second_f32_f32_f32, 4, mxv_b2sr4_plus_second_f32_f32_f32, mxv_long_b2sr4_plus_second_f32_f32_f32)
BG_MXV_TILES(Semiring_plus_second_f32_f32_f32, 8, mxv_b2sr8_plus_second_f32_f32_f32, mxv_long_b2sr8_plus_second_f32_f32_f32)
BG_MXV_TILES(Semiring_plus_second_f32_f32_f32, 16, mxv_b2sr16_plus_second_f32_f32_f32, mxv_long_b2sr16_plus_second_f32_f32_f32)
BG_MXV_TILES(Semiring_plus_second_f32_f32_f32, 32, mxv_b2sr32_plus_second_f32_f32_f32, mxv_long_b2sr32_plus_second_f32_f32_f32)

namespace {
struct Semiring_plus_second_f64_f64_f64 : bg::Functions<bg::Value<f64>> {
    typedef f64 A;
    typedef f64 X;
    typedef f64 Acc;
    typedef f64 Out;
    typedef bg::Value<f64> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_second_f64_f64_f64, mxv_csr_plus_second_f64_f64_f64)
BG_MXV_CSR_LONG(Semiring_plus_second_f64_f64_f64, mxv_chunk_csr_plus_second_f64_f64_f64, mxv_finish_csr_plus_second_f64_f64_f64)
BG_MXV_TILES(Semiring_plus_second_f64_f64_f64, 4, mxv_b2sr4_plus_second_f64_f64_f64, mxv_long_b2sr4_plus_second_f64_f64_f64)
BG_MXV_TILES(Semiring_plus_second_f64_f64_f64, 8, mxv_b2sr8_plus_second_f64_f64_f64, mxv_long_b2sr8_plus_second_f64_f64_f64)
BG_MXV_TILES(Semiring_plus_second_f64_f64_f64, 16, mxv_b2sr16_plus_second_f64_f64_f64, mxv_long_b2sr16_plus_second_f64_f64_f64)
BG_MXV_TILES(Semiring_plus_second_f64_f64_f64, 32, mxv_b2sr32_plus_second_f64_f64_f64, mxv_long_b2sr32_plus_second_f64_f64_f64)

namespace {
struct Semiring_plus_second_f16_f32_f16 : bg::Functions<bg::Value<f32>> {
    typedef bg::f16 A;
    typedef bg::f16 X;
    typedef f32 Acc;
    typedef bg::f16 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_second_f16_f32_f16, mxv_csr_plus_second_f16_f32_f16)
BG_MXV_CSR_LONG(Semiring_plus_second_f16_f32_f16, mxv_chunk_csr_plus_second_f16_f32_f16, mxv_finish_csr_plus_second_f16_f32_f16)

namespace {
struct Semiring_plus_second_bf16_f32_bf16 : bg::Functions<bg::Value<f32>> {
    typedef bg::bf16 A;
    typedef bg::bf16 X;
    typedef f32 Acc;
    typedef bg::bf16 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_second_bf16_f32_bf16, mxv_csr_plus_second_bf16_f32_bf16)
BG_MXV_CSR_LONG(Semiring_plus_second_bf16_f32_bf16, mxv_chunk_csr_plus_second_bf16_f32_bf16, mxv_finish_csr_plus_second_bf16_f32_bf16)

namespace {
struct Semiring_min_second_u32_u32_u32 : bg::Functions<bg::Value<u32>> {
    typedef u32 A;
    typedef u32 X;
    typedef u32 Acc;
    typedef u32 Out;
    typedef bg::Value<u32> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a).min(num(b))); }
    BG_DEVICE static V identity() { return (V)(num(bg_max_value())); }
    BG_DEVICE static bool terminal(V a) { return num(a) == num(bg_min_value()); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_min_second_u32_u32_u32, mxv_csr_min_second_u32_u32_u32)
BG_MXV_CSR_LONG(Semiring_min_second_u32_u32_u32, mxv_chunk_csr_min_second_u32_u32_u32, mxv_finish_csr_min_second_u32_u32_u32)
BG_MXV_TILES(Semiring_min_second_u32_u32_u32, 4, mxv_b2sr4_min_second_u32_u32_u32, mxv_long_b2sr4_min_second_u32_u32_u32)
BG_MXV_TILES(Semiring_min_second_u32_u32_u32, 8, mxv_b2sr8_min_second_u32_u32_u32, mxv_long_b2sr8_min_second_u32_u32_u32)
BG_MXV_TILES(Semiring_min_second_u32_u32_u32, 16, mxv_b2sr16_min_second_u32_u32_u32, mxv_long_b2sr16_min_second_u32_u32_u32)
BG_MXV_TILES(Semiring_min_second_u32_u32_u32, 32, mxv_b2sr32_min_second_u32_u32_u32, mxv_long_b2sr32_min_second_u32_u32_u32)

namespace {
struct Semiring_any_second_u32_u32_u32 : bg::Functions<bg::Value<u32>> {
    typedef u32 A;
    typedef u32 X;
    typedef u32 Acc;
    typedef u32 Out;
    typedef bg::Value<u32> V;
    static constexpr bool ANY = true, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_any_second_u32_u32_u32, mxv_csr_any_second_u32_u32_u32)
BG_MXV_CSR_LONG(Semiring_any_second_u32_u32_u32, mxv_chunk_csr_any_second_u32_u32_u32, mxv_finish_csr_any_second_u32_u32_u32)
BG_MXV_TILES(Semiring_any_second_u32_u32_u32, 4, mxv_b2sr4_any_second_u32_u32_u32, mxv_long_b2sr4_any_second_u32_u32_u32)
BG_MXV_TILES(Semiring_any_second_u32_u32_u32, 8, mxv_b2sr8_any_second_u32_u32_u32, mxv_long_b2sr8_any_second_u32_u32_u32)
BG_MXV_TILES(Semiring_any_second_u32_u32_u32, 16, mxv_b2sr16_any_second_u32_u32_u32, mxv_long_b2sr16_any_second_u32_u32_u32)
BG_MXV_TILES(Semiring_any_second_u32_u32_u32, 32, mxv_b2sr32_any_second_u32_u32_u32, mxv_long_b2sr32_any_second_u32_u32_u32)

namespace {
struct Semiring_min_plus_u32_u32_u32 : bg::Functions<bg::Value<u32>> {
    typedef u32 A;
    typedef u32 X;
    typedef u32 Acc;
    typedef u32 Out;
    typedef bg::Value<u32> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a).saturating_add(num(x))); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1).saturating_add(num(x))); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a).min(num(b))); }
    BG_DEVICE static V identity() { return (V)(num(bg_max_value())); }
    BG_DEVICE static bool terminal(V a) { return num(a) == num(bg_min_value()); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_min_plus_u32_u32_u32, mxv_csr_min_plus_u32_u32_u32)
BG_MXV_CSR_VALUES(Semiring_min_plus_u32_u32_u32, mxv_values_csr_min_plus_u32_u32_u32)
BG_MXV_CSR_LONG(Semiring_min_plus_u32_u32_u32, mxv_chunk_csr_min_plus_u32_u32_u32, mxv_finish_csr_min_plus_u32_u32_u32)
BG_MXV_TILES(Semiring_min_plus_u32_u32_u32, 4, mxv_b2sr4_min_plus_u32_u32_u32, mxv_long_b2sr4_min_plus_u32_u32_u32)
BG_MXV_TILES(Semiring_min_plus_u32_u32_u32, 8, mxv_b2sr8_min_plus_u32_u32_u32, mxv_long_b2sr8_min_plus_u32_u32_u32)
BG_MXV_TILES(Semiring_min_plus_u32_u32_u32, 16, mxv_b2sr16_min_plus_u32_u32_u32, mxv_long_b2sr16_min_plus_u32_u32_u32)
BG_MXV_TILES(Semiring_min_plus_u32_u32_u32, 32, mxv_b2sr32_min_plus_u32_u32_u32, mxv_long_b2sr32_min_plus_u32_u32_u32)

namespace {
struct Semiring_min_plus_u64_u64_u64 : bg::Functions<bg::Value<u64>> {
    typedef u64 A;
    typedef u64 X;
    typedef u64 Acc;
    typedef u64 Out;
    typedef bg::Value<u64> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a).saturating_add(num(x))); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1).saturating_add(num(x))); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a).min(num(b))); }
    BG_DEVICE static V identity() { return (V)(num(bg_max_value())); }
    BG_DEVICE static bool terminal(V a) { return num(a) == num(bg_min_value()); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_min_plus_u64_u64_u64, mxv_csr_min_plus_u64_u64_u64)
BG_MXV_CSR_VALUES(Semiring_min_plus_u64_u64_u64, mxv_values_csr_min_plus_u64_u64_u64)
BG_MXV_CSR_LONG(Semiring_min_plus_u64_u64_u64, mxv_chunk_csr_min_plus_u64_u64_u64, mxv_finish_csr_min_plus_u64_u64_u64)

namespace {
struct Semiring_min_plus_f32_f32_f32 : bg::Functions<bg::Value<f32>> {
    typedef f32 A;
    typedef f32 X;
    typedef f32 Acc;
    typedef f32 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a).saturating_add(num(x))); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1).saturating_add(num(x))); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a).min(num(b))); }
    BG_DEVICE static V identity() { return (V)(num(bg_max_value())); }
    BG_DEVICE static bool terminal(V a) { return num(a) == num(bg_min_value()); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_min_plus_f32_f32_f32, mxv_csr_min_plus_f32_f32_f32)
BG_MXV_CSR_VALUES(Semiring_min_plus_f32_f32_f32, mxv_values_csr_min_plus_f32_f32_f32)
BG_MXV_CSR_LONG(Semiring_min_plus_f32_f32_f32, mxv_chunk_csr_min_plus_f32_f32_f32, mxv_finish_csr_min_plus_f32_f32_f32)

namespace {
struct Semiring_min_plus_f64_f64_f64 : bg::Functions<bg::Value<f64>> {
    typedef f64 A;
    typedef f64 X;
    typedef f64 Acc;
    typedef f64 Out;
    typedef bg::Value<f64> V;
    static constexpr bool ANY = false, TERMINAL = true, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a).saturating_add(num(x))); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1).saturating_add(num(x))); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a).min(num(b))); }
    BG_DEVICE static V identity() { return (V)(num(bg_max_value())); }
    BG_DEVICE static bool terminal(V a) { return num(a) == num(bg_min_value()); }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_min_plus_f64_f64_f64, mxv_csr_min_plus_f64_f64_f64)
BG_MXV_CSR_VALUES(Semiring_min_plus_f64_f64_f64, mxv_values_csr_min_plus_f64_f64_f64)
BG_MXV_CSR_LONG(Semiring_min_plus_f64_f64_f64, mxv_chunk_csr_min_plus_f64_f64_f64, mxv_finish_csr_min_plus_f64_f64_f64)

namespace {
struct Semiring_plus_times_f32_f32_f32 : bg::Functions<bg::Value<f32>> {
    typedef f32 A;
    typedef f32 X;
    typedef f32 Acc;
    typedef f32 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a) * num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1) * num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_times_f32_f32_f32, mxv_csr_plus_times_f32_f32_f32)
BG_MXV_CSR_VALUES(Semiring_plus_times_f32_f32_f32, mxv_values_csr_plus_times_f32_f32_f32)
BG_MXV_CSR_LONG(Semiring_plus_times_f32_f32_f32, mxv_chunk_csr_plus_times_f32_f32_f32, mxv_finish_csr_plus_times_f32_f32_f32)
BG_MXM(Semiring_plus_times_f32_f32_f32, mxm_sum_csr_plus_times_f32_f32_f32, mxm_entries_csr_plus_times_f32_f32_f32, mxm_dots_csr_plus_times_f32_f32_f32, mxm_products_csr_plus_times_f32_f32_f32, mxm_finish_csr_plus_times_f32_f32_f32)

namespace {
struct Semiring_plus_times_f64_f64_f64 : bg::Functions<bg::Value<f64>> {
    typedef f64 A;
    typedef f64 X;
    typedef f64 Acc;
    typedef f64 Out;
    typedef bg::Value<f64> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a) * num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1) * num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_times_f64_f64_f64, mxv_csr_plus_times_f64_f64_f64)
BG_MXV_CSR_VALUES(Semiring_plus_times_f64_f64_f64, mxv_values_csr_plus_times_f64_f64_f64)
BG_MXV_CSR_LONG(Semiring_plus_times_f64_f64_f64, mxv_chunk_csr_plus_times_f64_f64_f64, mxv_finish_csr_plus_times_f64_f64_f64)

namespace {
struct Semiring_plus_times_f16_f32_f16 : bg::Functions<bg::Value<f32>> {
    typedef bg::f16 A;
    typedef bg::f16 X;
    typedef f32 Acc;
    typedef bg::f16 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a) * num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1) * num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_times_f16_f32_f16, mxv_csr_plus_times_f16_f32_f16)
BG_MXV_CSR_VALUES(Semiring_plus_times_f16_f32_f16, mxv_values_csr_plus_times_f16_f32_f16)
BG_MXV_CSR_LONG(Semiring_plus_times_f16_f32_f16, mxv_chunk_csr_plus_times_f16_f32_f16, mxv_finish_csr_plus_times_f16_f32_f16)

namespace {
struct Semiring_plus_times_bf16_f32_bf16 : bg::Functions<bg::Value<f32>> {
    typedef bg::bf16 A;
    typedef bg::bf16 X;
    typedef f32 Acc;
    typedef bg::bf16 Out;
    typedef bg::Value<f32> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = false;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(num(a) * num(x)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(num(1) * num(x)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXV_CSR(Semiring_plus_times_bf16_f32_bf16, mxv_csr_plus_times_bf16_f32_bf16)
BG_MXV_CSR_VALUES(Semiring_plus_times_bf16_f32_bf16, mxv_values_csr_plus_times_bf16_f32_bf16)
BG_MXV_CSR_LONG(Semiring_plus_times_bf16_f32_bf16, mxv_chunk_csr_plus_times_bf16_f32_bf16, mxv_finish_csr_plus_times_bf16_f32_bf16)

namespace {
struct Semiring_plus_pair_u64_u64_u64 : bg::Functions<bg::Value<u64>> {
    typedef u64 A;
    typedef u64 X;
    typedef u64 Acc;
    typedef u64 Out;
    typedef bg::Value<u64> V;
    static constexpr bool ANY = false, TERMINAL = false, IGNORES_X = true;
    BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) { return (V)(lit(1)); }
    BG_DEVICE static V multiply_pattern(bg::Value<X> x) { return (V)(lit(1)); }
    BG_DEVICE static V add(V a, V b) { return (V)(num(a) + num(b)); }
    BG_DEVICE static V identity() { return (V)(lit(0)); }
    BG_DEVICE static bool terminal(V a) { return false; }
    BG_DEVICE static bg::Value<Out> finish(V acc) { return (bg::Value<Out>)(num(acc)); }
};
}
BG_MXM(Semiring_plus_pair_u64_u64_u64, mxm_sum_csr_plus_pair_u64_u64_u64, mxm_entries_csr_plus_pair_u64_u64_u64, mxm_dots_csr_plus_pair_u64_u64_u64, mxm_products_csr_plus_pair_u64_u64_u64, mxm_finish_csr_plus_pair_u64_u64_u64)
