//! The C++ text of operators and semirings that are not compiled ahead, written from their expressions.
//!
//! Invariant: a text depends on the operator's types and expressions alone, so that it is compiled once and found in the cache.

use bitgraph_backend::StorableSemiring;
use bitgraph_semiring::{Any, DType, DeviceExpr, DeviceMonoid, Parameters, Scalar, builtin_name};
use std::any::TypeId;
use std::fmt::Write;

/// The type of an element on the device.
pub(crate) fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "bg::f16",
        DType::Bf16 => "bg::bf16",
        other => other.name(),
    }
}

/// The definitions of an operator's fields: under their names, or as `p0`, `p1`, ...
fn parameters(parameters: Parameters) -> String {
    let mut text = String::new();
    for (k, p) in parameters.iter().enumerate() {
        if let Some(p) = p {
            let place = format!("p{k}");
            let name = p.name.unwrap_or(&place);
            let _ = write!(text, "const auto {name} = bg::from_bits<{}>(arguments.p[{k}]); ", element(p.dtype));
        }
    }
    text
}

/// A binary operator over T, under the name `Op`.
pub(crate) fn binary(t: DType, expression: &str, fields: Parameters) -> String {
    let (t, fields) = (element(t), parameters(fields));
    format!(
        "namespace {{\nstruct Op : bg::Functions<bg::Value<{t}>> {{\n    typedef bg::Value<{t}> V;\n    BG_DEVICE static V apply(const bg::Arguments& arguments, V a, V b) {{ {fields}return (V)({expression}); }}\n}};\n}}\n"
    )
}

/// A unary operator from T to Out.
pub(crate) fn unary(t: DType, out: DType, expression: &str, fields: Parameters) -> String {
    let (t, out, fields) = (element(t), element(out), parameters(fields));
    format!(
        "namespace {{\nstruct Op : bg::Functions<bg::Value<{t}>> {{\n    BG_DEVICE static bg::Value<{out}> apply(const bg::Arguments& arguments, bg::Value<{t}> a) {{ {fields}return (bg::Value<{out}>)({expression}); }}\n}};\n}}\n"
    )
}

/// A test of an entry and its place.
pub(crate) fn filter(t: DType, expression: &str, fields: Parameters) -> String {
    let (t, fields) = (element(t), parameters(fields));
    format!(
        "namespace {{\nstruct Op : bg::TestFunctions<bg::Value<{t}>> {{\n    BG_DEVICE static bool keep(const bg::Arguments& arguments, bg::Value<{t}> a, i64 row, i64 column) {{ {fields}return {expression}; }}\n}};\n}}\n"
    )
}

/// A monoid over T, under the name `Op`, for reductions.
pub(crate) fn monoid(t: DType, form: &DeviceMonoid) -> String {
    let t = element(t);
    let DeviceMonoid { combine, identity, terminal } = form;
    format!(
        "namespace {{\nstruct Op : bg::Functions<bg::Value<{t}>> {{\n\
        \x20   typedef bg::Value<{t}> V;\n    static constexpr bool TERMINAL = {};\n\
        \x20   BG_DEVICE static V combine(const bg::Arguments&, V a, V b) {{ return (V)({combine}); }}\n\
        \x20   BG_DEVICE static V identity(const bg::Arguments&) {{ return (V)({identity}); }}\n\
        \x20   BG_DEVICE static bool terminal(V a) {{ return {}; }}\n\
        \x20   BG_DEVICE static bool takes_first(const bg::Arguments&) {{ return false; }}\n}};\n}}\n",
        terminal.is_some(),
        terminal.unwrap_or("false"),
    )
}

/// A semiring as a struct of the given name.
pub(crate) fn ring<S: StorableSemiring>(name: &str, expr: &DeviceExpr, sum: &DeviceMonoid) -> String {
    let [a, x, acc, out] = [S::A::DTYPE, S::X::DTYPE, S::Acc::DTYPE, S::Out::DTYPE].map(element);
    // Which term comes first is known by its column, not by the sum.
    let any = TypeId::of::<S::Add>() == TypeId::of::<Any>();
    let stop = sum.terminal.filter(|_| !any);
    format!(
        "struct {name} : bg::Functions<bg::Value<{acc}>> {{\n\
        \x20   typedef {a} A;\n    typedef {x} X;\n    typedef {acc} Acc;\n    typedef {out} Out;\n    typedef bg::Value<{acc}> V;\n\
        \x20   static constexpr bool ANY = {any}, TERMINAL = {}, IGNORES_X = {};\n\
        \x20   BG_DEVICE static V multiply(bg::Value<A> a, bg::Value<X> x) {{ return (V)({}); }}\n\
        \x20   BG_DEVICE static V multiply_pattern(bg::Value<X> x) {{ return (V)({}); }}\n\
        \x20   BG_DEVICE static V add(V a, V b) {{ return (V)({}); }}\n\
        \x20   BG_DEVICE static V identity() {{ return (V)({}); }}\n\
        \x20   BG_DEVICE static bool terminal(V a) {{ return {}; }}\n\
        \x20   BG_DEVICE static bg::Value<Out> finish(V acc) {{ return (bg::Value<Out>)({}); }}\n}};\n",
        stop.is_some(),
        S::IGNORES_X,
        expr.multiply,
        expr.multiply_pattern,
        sum.combine,
        sum.identity,
        stop.unwrap_or("false"),
        expr.finish,
    )
}

/// The end of a semiring's kernel names: its own and its types'. One of a user's own that is a built-in one has that one's name.
pub(crate) fn ring_tail<S: StorableSemiring>() -> String {
    let (a, x) = (S::A::DTYPE, S::X::DTYPE);
    let input = if a == x { a.name().to_string() } else { format!("{a}{x}") };
    // A user's name may hold what a C++ name may not.
    let name: String = builtin_name::<S>().unwrap_or(S::NAME).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("{name}_{input}_{}_{}", S::Acc::DTYPE, S::Out::DTYPE)
}
