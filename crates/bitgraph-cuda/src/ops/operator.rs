//! Which kernel runs an operator: one of the built-in ones by its code, or one compiled at first use.
//!
//! Invariant: a built-in operator is known by its name and its expression, so that another's of the same name is not taken for it.

use super::params::{ApplyParams, Arguments, BinaryParams};
use super::source;
use crate::device::{Device, Kernel, Parameters};
use crate::{Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_semiring::{
    Absolute, AdditiveInverse, Any, DType, DeviceMonoid, DeviceOperator, First, Identity, IfNonZero, Land, Lor, Lxor, Max, Min, Minus,
    Monoid, NotEqual, OffDiagonal, One, Operator, Plus, Scalar, Scale, Second, Shift, Times, Tril, Triu, ValueAbove, ValueNonZero,
};
use std::any::TypeId;

pub(crate) const MODULE: &str = "ops/elementwise";

/// A built-in operator: its code in `kernels/common/builtin.cuh`, its name and its expression, and whether it only moves values, so that it
/// does the same for every type that is stored alike.
pub(crate) struct Known {
    pub code: u32,
    pub name: &'static str,
    pub expression: &'static str,
    moves: bool,
}

const fn known<O: Operator>(code: u32) -> Known {
    let Some(expression) = O::DEVICE else { panic!("a built-in operator has a device form") };
    Known { code, name: O::NAME, expression, moves: false }
}
const fn moving<O: Operator>(code: u32) -> Known {
    Known { moves: true, ..known::<O>(code) }
}

/// The binary operators; the monoids are the first eight.
pub(crate) const BINARY: [Known; 12] = [
    known::<Plus>(0),
    known::<Times>(1),
    known::<Min>(2),
    known::<Max>(3),
    moving::<Any>(4),
    known::<Lor>(5),
    known::<Land>(6),
    known::<Lxor>(7),
    moving::<First>(8),
    moving::<Second>(9),
    known::<Minus>(10),
    known::<NotEqual>(11),
];
/// The unary operators whose result is of the operand's type. Formulas do not depend on the type.
pub(crate) const UNARY: [Known; 6] = [
    moving::<Identity>(0),
    known::<AdditiveInverse>(1),
    known::<Absolute>(2),
    known::<One>(3),
    known::<Scale<f32>>(4),
    known::<Shift<f32>>(5),
];
/// The tests of an entry.
pub(crate) const TESTS: [Known; 7] = [
    moving::<Tril>(6),
    moving::<Triu>(7),
    moving::<OffDiagonal>(8),
    known::<ValueNonZero>(9),
    known::<IfNonZero>(9),
    known::<ValueAbove<f32>>(10),
    Known { code: 11, name: "exists", expression: "true", moves: true },
];

/// The built-in operator that this is, if it means the same for values of type T.
fn code<T: Scalar>(table: &[Known], op: &DeviceOperator) -> Option<u32> {
    let found = table.iter().find(|k| k.name == op.name && op.expression == Some(k.expression))?;
    (T::BUILTIN || found.moves).then_some(found.code)
}

/// The expression of an operator over T.
fn expression<T: Scalar>(operation: &'static str, op: &DeviceOperator) -> Result<&'static str> {
    match op.expression {
        None => Err(unsupported(operation, format!("the operator {}, which has no device expression", op.name))),
        Some(_) if op.formula && !T::BUILTIN => {
            let (name, own, stored) = (op.name, std::any::type_name::<T>(), T::DTYPE);
            Err(unsupported(operation, format!("the operator {name} over {own}, which is stored as {stored} and computes in Rust alone")))
        }
        Some(text) => Ok(text),
    }
}

/// Something that runs on the CPU only.
pub(crate) fn unsupported(operation: &'static str, what: String) -> Error {
    let available = "operators and semirings with a DEVICE expression in CUDA C++";
    Error::Base(Base::Unsupported { operation, what, available })
}

/// A kernel of the text that `body` names, with `Op` defined.
fn compiled<P: Parameters>(device: &Device, kind: &str, op: &DeviceOperator, types: &str, text: impl Fn() -> String) -> Result<Kernel<P>> {
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
    if let Some(code) = code::<T>(&BINARY, op) {
        return Ok((device.kernel(MODULE, &format!("ewise_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression::<T>(operation, op)?;
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
        && let Some(code) = code::<T>(&UNARY, op)
    {
        return Ok((device.kernel(MODULE, &format!("apply_{t}"))?, Arguments::new(code, op.parameters)));
    }
    if out == DType::Bool
        && let Some(code) = code::<T>(&TESTS, op)
    {
        return Ok((device.kernel(MODULE, &format!("test_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression::<T>("apply", op)?;
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
    if let Some(code) = code::<T>(&TESTS, op) {
        return Ok((device.kernel(MODULE, &format!("filter_{t}"))?, Arguments::new(code, op.parameters)));
    }
    let text = expression::<T>("select", op)?;
    let kernel = compiled(device, "filter", op, t.name(), || {
        let op = source::filter(t, text, op.parameters);
        let t = source::element(t);
        format!("#include \"ops/elementwise.cuh\"\n{op}BG_KERNEL(entry, bg::ApplyParams, 256, 4) {{ bg::filter<{t}, Op>(p); }}\n")
    })?;
    Ok((kernel, Arguments::new(0, op.parameters)))
}

/// How entries are combined where an operator is a monoid, so that they may be in any order.
pub(crate) fn commutes<T: Scalar>(op: &DeviceOperator) -> Option<Combining> {
    code::<T>(&BINARY, op).filter(|&code| code <= 7 && code != 4).map(Combining::Builtin)
}

/// How a device combines many entries into one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Combining {
    /// By the built-in monoid of this code.
    Builtin(u32),
    /// By a monoid of a user's own.
    Own(DeviceMonoid),
}

impl Combining {
    /// The sum of entries of a built-in type.
    pub const SUM: Self = Self::Builtin(0);
    /// Whether all entries are true.
    pub const ALL: Self = Self::Builtin(6);

    /// By a monoid.
    ///
    /// # Errors
    /// `Unsupported` for a user's own that has no device form.
    pub fn of<T: Scalar, M: Monoid<T>>(operation: &'static str) -> Result<Self> {
        let monoids = [
            TypeId::of::<Plus>(),
            TypeId::of::<Times>(),
            TypeId::of::<Min>(),
            TypeId::of::<Max>(),
            TypeId::of::<Any>(),
            TypeId::of::<Lor>(),
            TypeId::of::<Land>(),
            TypeId::of::<Lxor>(),
        ];
        let builtin = monoids.iter().position(|&id| id == TypeId::of::<M>()).filter(|&k| T::BUILTIN || BINARY[k].moves);
        let found = builtin.map(|k| Self::Builtin(BINARY[k].code)).or(M::DEVICE.map(Self::Own));
        found.ok_or_else(|| unsupported(operation, format!("the monoid {}, which has no device form", M::NAME)))
    }

    /// The kernel `part` (`fold`, `fold_finish` or `fold_rows`) over T.
    pub fn kernel<T: Scalar, P: Parameters>(&self, device: &Device, part: &str) -> Result<(Kernel<P>, Arguments)> {
        let t = T::DTYPE;
        match self {
            Self::Builtin(code) => Ok((device.kernel(MODULE, &format!("{part}_{t}"))?, Arguments::new(*code, [None; 4]))),
            Self::Own(form) => {
                let kernel = device.compiled(&format!("fold {t} {form:?}"), part, || {
                    let (op, t) = (source::monoid(t, form), source::element(t));
                    format!("#include \"ops/elementwise.cuh\"\n{op}BG_FOLD({t}, Op, Op, fold, fold_finish, fold_rows)\n")
                })?;
                Ok((kernel, Arguments::new(0, [None; 4])))
            }
        }
    }
}
