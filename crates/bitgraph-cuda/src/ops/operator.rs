//! Which kernel runs an operator: one of the built-in ones by its code, or one compiled at first use.
//!
//! Invariant: a built-in operator is known by its name and its expression, so that another's of the same name is not taken for it.

use super::params::{ApplyParams, Arguments, BinaryParams};
use super::source;
use crate::device::{Device, Kernel, Parameters};
use crate::{Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::{Any, DType, DeviceOperator, Land, Lor, Lxor, Max, Min, Monoid, Plus, Scalar, Times};
use std::any::TypeId;

pub(crate) const MODULE: &str = "ops/elementwise";

/// The binary operators by their codes (`BinaryCode` of common/semiring.cuh).
const BINARY: [(&str, &str, u32); 13] = [
    ("plus", "a + b", 0),
    ("times", "a * b", 1),
    ("min", "bg_min(a, b)", 2),
    ("max", "bg_max(a, b)", 3),
    ("any", "a", 4),
    ("lor", "a || b", 5),
    ("land", "a && b", 6),
    ("lxor", "(a != 0) != (b != 0)", 7),
    ("first", "a", 8),
    ("second", "b", 9),
    ("minus", "a - b", 10),
    ("not_equal", "a != b", 11),
    ("multiply", "a * b", 1),
];
/// The unary operators (`UnaryCode`).
const UNARY: [(&str, &str, u32); 6] = [
    ("identity", "a", 0),
    ("ainv", "-a", 1),
    ("abs", "a < 0 ? -a : a", 2),
    ("one", "1", 3),
    ("scale", "a * p0", 4),
    ("shift", "a + p0", 5),
];
/// The tests of an entry.
const TESTS: [(&str, &str, u32); 7] = [
    ("tril", "(long long)column - row <= p0", 6),
    ("triu", "(long long)column - row >= p0", 7),
    ("offdiag", "row != column", 8),
    ("value_non_zero", "a != 0", 9),
    ("if_non_zero", "a != 0", 9),
    ("value_above", "a > p0", 10),
    ("exists", "true", 11),
];

fn code(table: &[(&str, &str, u32)], op: &DeviceOperator) -> Option<u32> {
    table.iter().find(|(name, text, _)| *name == op.name && op.expression == Some(text)).map(|&(_, _, code)| code)
}

fn expression(operation: &'static str, op: &DeviceOperator) -> Result<&'static str> {
    op.expression.ok_or_else(|| unsupported(operation, format!("the operator {}, which has no device expression", op.name)))
}

/// Something that runs on the CPU only.
pub(crate) fn unsupported(operation: &'static str, what: String) -> Error {
    let available = "operators and semirings with a DEVICE expression in CUDA C++";
    Error::Base(Base::Unsupported { operation, what, available })
}

/// A kernel of the text that `body` names, with `Op` defined.
fn compiled<P: Parameters>(
    device: &Device,
    kind: &str,
    op: &DeviceOperator,
    types: &str,
    text: impl FnOnce() -> String,
) -> Result<Kernel<P>> {
    let expression = op.expression.unwrap_or_default();
    let fields: Vec<&str> = op.parameters.iter().flatten().map(|p| p.dtype.name()).collect();
    let name = format!("{kind} {} {types} {} {expression}", op.name, fields.join(","));
    device.compiled(&name, "entry", text)
}

/// `ewise` of a binary operator over T.
pub(crate) fn binary<T: Scalar>(
    device: &Device,
    operation: &'static str,
    op: &DeviceOperator,
) -> Result<(Kernel<BinaryParams>, Arguments)> {
    let t = T::DTYPE;
    if let Some(code) = code(&BINARY, op) {
        return Ok((device.kernel(MODULE, &format!("ewise_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression(operation, op)?;
    let kernel = compiled(device, "ewise", op, t.name(), || {
        let op = source::binary(t, text, op.parameters);
        let t = source::element(t);
        format!("#include \"ops/elementwise.cuh\"\n{op}BG_KERNEL(entry, bg::BinaryParams, 256, 4) {{ bg::binary<{t}, Op>(p); }}\n")
    })?;
    Ok((kernel, Arguments::new(0, op.parameters)))
}

/// `apply` of a unary operator from T to `out`. A test, whose result is bool, is one too.
pub(crate) fn unary<T: Scalar>(device: &Device, out: DType, op: &DeviceOperator) -> Result<(Kernel<ApplyParams>, Arguments)> {
    let t = T::DTYPE;
    if t == out
        && let Some(code) = code(&UNARY, op)
    {
        return Ok((device.kernel(MODULE, &format!("apply_{t}"))?, Arguments::new(code, op.parameters)));
    }
    if out == DType::Bool
        && let Some(code) = code(&TESTS, op)
    {
        return Ok((device.kernel(MODULE, &format!("test_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression("apply", op)?;
    let kernel = compiled(device, "apply", op, &format!("{t} {out}"), || {
        let op = source::unary(t, out, text, op.parameters);
        let (t, out) = (source::element(t), source::element(out));
        format!("#include \"ops/elementwise.cuh\"\n{op}BG_KERNEL(entry, bg::ApplyParams, 256, 4) {{ bg::apply<{t}, {out}, Op>(p); }}\n")
    })?;
    Ok((kernel, Arguments::new(0, op.parameters)))
}

/// `filter` of a test of entries of type T.
pub(crate) fn filter<T: Scalar>(device: &Device, op: &DeviceOperator) -> Result<(Kernel<ApplyParams>, Arguments)> {
    let t = T::DTYPE;
    if let Some(code) = code(&TESTS, op) {
        return Ok((device.kernel(MODULE, &format!("filter_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression("select", op)?;
    let kernel = compiled(device, "filter", op, t.name(), || {
        let op = source::filter(t, text, op.parameters);
        let t = source::element(t);
        format!("#include \"ops/elementwise.cuh\"\n{op}BG_KERNEL(entry, bg::ApplyParams, 256, 4) {{ bg::filter<{t}, Op>(p); }}\n")
    })?;
    Ok((kernel, Arguments::new(0, op.parameters)))
}

/// The code of a binary operator that is a monoid, whose values may be combined in any order.
pub(crate) fn commutes(op: &DeviceOperator) -> Option<u32> {
    code(&BINARY, op).filter(|&code| code <= 7 && code != 4)
}

/// The code of a built-in monoid.
///
/// # Errors
/// `Unsupported` for a user's own, which has no device form.
pub(crate) fn monoid<T: Scalar, M: Monoid<T>>(operation: &'static str) -> Result<u32> {
    let of = TypeId::of::<M>();
    let known = [
        TypeId::of::<Plus>(),
        TypeId::of::<Times>(),
        TypeId::of::<Min>(),
        TypeId::of::<Max>(),
        TypeId::of::<Any>(),
        TypeId::of::<Lor>(),
        TypeId::of::<Land>(),
        TypeId::of::<Lxor>(),
    ];
    let code = known.iter().position(|&k| k == of).map(|k| k as u32);
    code.ok_or_else(|| unsupported(operation, format!("the monoid {}, which is not a built-in one", M::NAME)))
}
