//! The vector operations, and the write-back rule `w<mask, replace> = w accum t`.

use super::indices::{index_list, lists_by_position};
use super::operator::{self, Combining, binary, commutes, filter, unary};
use super::params::{ApplyParams, BinaryParams, Mask, Operand, Partial, ReduceParams, RowReduceParams, SlotsParams, Target};
use super::structure::run;
use super::{strided, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::DeviceValues;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Result};
use bitgraph_backend::ops::{Indices, Source, VectorMask, VectorWrite};
use bitgraph_backend::{Accumulate, VectorOps};
use bitgraph_semiring::{BinaryOp, DType, DeviceOperator, Identity, IfNonZero, Monoid, Operator, SelectOp, UnaryOp, ValueNonZero};
use bitgraph_sparse::Stored;
use bytemuck::Zeroable;

type VMask<'a> = Option<VectorMask<'a, Cuda>>;

/// Where two operands are combined (`Combination`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Intersection = 0,
    Union = 1,
    Override = 2,
    Fold = 3,
}

/// A new vector for a result: full if every position is known to get an entry.
fn result<T: Stored>(device: &Device, w: &CudaVector<T>, mask: VMask<'_>, replace: bool, full: bool) -> Result<CudaVector<T>> {
    let full = full && (mask.is_none() || (!replace && w.present.is_none()));
    CudaVector::uninitialised(device, w.len, !full)
}

/// `w<mask, replace> = u op v`.
fn combine<T: Stored>(
    device: &Device,
    w: &mut CudaVector<T>,
    mask: VMask<'_>,
    replace: bool,
    op: (&'static str, &DeviceOperator),
    how: Combine,
    (u, v): (Operand, Operand),
    full: bool,
    list: Option<&Buffer<u32>>,
) -> Result<()> {
    let (kernel, arguments) = binary::<T>(device, op.0, op.1)?;
    let out = result(device, w, mask, replace, full)?;
    let params = BinaryParams {
        n: w.len as u64,
        u,
        v,
        old: Operand::vector(w),
        mask: Mask::of(mask, replace),
        out: Target::vector(&out),
        list: list.map_or(DevicePtr::NULL, Buffer::ptr),
        combination: how as u64,
        arguments,
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    *w = out;
    Ok(())
}

/// The accumulator's operator.
fn accumulator<T: Stored, C: Accumulate<T>>(operation: &'static str, accum: C) -> Result<Option<DeviceOperator>> {
    if !C::ACTIVE {
        return Ok(None);
    }
    accum.device().map(Some).ok_or_else(|| operator::unsupported(operation, "an accumulator without a device form".into()))
}

/// `w<mask, replace> = w accum t`, for a result that is there already.
pub(crate) fn write_back<T: Stored, C: Accumulate<T>>(
    operation: &'static str,
    w: &mut CudaVector<T>,
    VectorWrite { mask, accum, replace }: VectorWrite<'_, Cuda, C>,
    t: CudaVector<T>,
) -> Result<()> {
    let device = t.device.clone();
    let full = t.present.is_none();
    match accumulator::<T, C>(operation, accum)? {
        Some(op) => {
            let operands = (Operand::vector(w), Operand::vector(&t));
            let full = full || w.present.is_none();
            combine(&device, w, mask, replace, (operation, &op), Combine::Union, operands, full, None)
        }
        None if mask.is_none() => {
            *w = t;
            Ok(())
        }
        None => apply_operand::<T, T>(&device, w, mask, replace, &Identity.device(), Operand::vector(&t), full),
    }
}

/// `w<mask, replace> = op(u)`.
fn apply_operand<T: Stored, Out: Stored>(
    device: &Device,
    w: &mut CudaVector<Out>,
    mask: VMask<'_>,
    replace: bool,
    op: &DeviceOperator,
    u: Operand,
    full: bool,
) -> Result<()> {
    let (kernel, arguments) = unary::<T>(device, Out::DTYPE, op)?;
    let out = result(device, w, mask, replace, full)?;
    let params = ApplyParams {
        n: w.len as u64,
        u,
        old: Operand::vector(w),
        mask: Mask::of(mask, replace),
        out: Target::vector(&out),
        arguments,
        ..ApplyParams::zeroed()
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    *w = out;
    Ok(())
}

/// `w<mask, replace> = w accum u`, for any operand.
fn assign_operand<T: Stored, C: Accumulate<T>>(
    operation: &'static str,
    w: &mut CudaVector<T>,
    VectorWrite { mask, accum, replace }: VectorWrite<'_, Cuda, C>,
    u: Operand,
    full: bool,
) -> Result<()> {
    let device = w.device.clone();
    match accumulator::<T, C>(operation, accum)? {
        Some(op) => {
            let full = full || w.present.is_none();
            let operands = (Operand::vector(w), u);
            combine(&device, w, mask, replace, (operation, &op), Combine::Union, operands, full, None)
        }
        None => apply_operand::<T, T>(&device, w, mask, replace, &Identity.device(), u, full),
    }
}

/// `u op v` for `n` entries of a matrix.
pub(super) fn combine_entries<T: Stored>(
    device: &Device,
    op: &DeviceOperator,
    how: Combine,
    u: Operand,
    v: Operand,
    n: usize,
) -> Result<DeviceValues> {
    let (kernel, arguments) = binary::<T>(device, "matrix operation", op)?;
    let data = device.alloc_for::<u8>(n * size_of::<T>(), "matrix values")?;
    let params =
        BinaryParams { n: n as u64, u, v, out: Target::entries(&data), combination: how as u64, arguments, ..BinaryParams::zeroed() };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    Ok(DeviceValues { dtype: T::DTYPE, len: n, data })
}

/// `op(u)` for `n` entries of a matrix.
pub(super) fn apply_entries<T: Stored, Out: Stored>(device: &Device, op: &DeviceOperator, u: Operand, n: usize) -> Result<DeviceValues> {
    let (kernel, arguments) = unary::<T>(device, Out::DTYPE, op)?;
    let data = device.alloc_for::<u8>(n * size_of::<Out>(), "matrix values")?;
    let params = ApplyParams { n: n as u64, u, out: Target::entries(&data), arguments, ..ApplyParams::zeroed() };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    Ok(DeviceValues { dtype: Out::DTYPE, len: n, data })
}

/// Whether each entry of a matrix, at the places given, passes a test: 0 or 1.
pub(super) fn test_entries<T: Stored>(
    device: &Device,
    op: &DeviceOperator,
    values: Operand,
    places: (&Buffer<u32>, &Buffer<u32>),
) -> Result<Buffer<u32>> {
    let (kernel, arguments) = filter::<T>(device, op)?;
    let n = places.0.len();
    let flags = device.alloc::<u32>(n)?;
    let (rows, columns) = (places.0.ptr(), places.1.ptr());
    let params = ApplyParams { n: n as u64, u: values, rows, columns, flags: flags.ptr(), arguments, ..ApplyParams::zeroed() };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    Ok(flags)
}

/// The bits of `rows` (of all, without) that a mask selects.
pub(super) fn selected(device: &Device, len: usize, rows: Option<&Buffer<u32>>, mask: VectorMask<'_, Cuda>) -> Result<Buffer<u32>> {
    let (kernel, arguments) = unary::<bool>(device, DType::Bool, &Identity.device())?;
    let out = CudaVector::<bool>::uninitialised(device, len, true)?;
    let u = Operand { present: rows.map_or(DevicePtr::NULL, Buffer::ptr), ..Operand::constant(true) };
    let params =
        ApplyParams { n: len as u64, u, mask: Mask::of(Some(mask), true), out: Target::vector(&out), arguments, ..ApplyParams::zeroed() };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.n, &params) }?;
    Ok(out.store.cast())
}

/// Whether each value is not zero.
pub(super) fn flag_entries(device: &Device, values: &DeviceValues) -> Result<Buffer<u32>> {
    fn typed<T: Stored>(device: &Device, values: &DeviceValues) -> Result<Buffer<u32>> {
        let (kernel, arguments) = filter::<T>(device, &ValueNonZero.device())?;
        let flags = device.alloc::<u32>(values.len)?;
        let u = Operand::entries::<T>(Some(values));
        let params = ApplyParams { n: values.len as u64, u, flags: flags.ptr(), arguments, ..ApplyParams::zeroed() };
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { strided(device, &kernel, params.n, &params) }?;
        Ok(flags)
    }
    crate::with_dtype!(values.dtype, T => typed::<T>(device, values))
}

/// Entries at `n` positions combined into one element that is laid out as a matrix's value.
pub(crate) fn fold<T: Stored>(device: &Device, by: Combining, u: Operand, n: u64) -> Result<CudaValue<T>> {
    let out = device.alloc_for::<u8>(size_of::<T>(), "a value")?;
    let block = threads(device);
    // Few blocks, so that their sums are added up soon.
    let most = u64::from(device.properties().sms) * 4;
    let grid = n.div_ceil(u64::from(block) * 4).min(most) as u32;
    let partials = device.alloc::<Partial>(grid as usize)?;
    let (kernel, arguments) = by.kernel::<T, _>(device, "fold")?;
    let params = ReduceParams { n, u, out: Target::entries(&out), partials: partials.ptr(), blocks: grid.into(), arguments };
    let shared = block / 32 * 16;
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &params) }?;
    let (finish, _) = by.kernel::<T, _>(device, "fold_finish")?;
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&finish, Shape { grid: 1, block, shared, mode: Mode::Plain }, &params) }?;
    Ok(CudaValue::new(out))
}

/// The entries of each list combined: offsets, whether they are of 64 bits, and the entries.
pub(super) fn fold_lists<T: Stored>(
    device: &Device,
    by: Combining,
    (offsets, wide): (DevicePtr<u8>, u32),
    entries: Operand,
    lists: usize,
) -> Result<CudaVector<T>> {
    let t = CudaVector::uninitialised(device, lists, true)?;
    let (kernel, arguments) = by.kernel::<T, _>(device, "fold_rows")?;
    let params = RowReduceParams {
        rows: lists as u64,
        offsets,
        wide: u64::from(wide),
        u: entries,
        old: Operand::zeroed(),
        mask: Mask::zeroed(),
        out: Target::vector(&t),
        arguments,
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel, params.rows, &params) }?;
    Ok(t)
}

/// A full vector of one value.
pub(crate) fn filled<T: Stored>(device: &Device, len: usize, value: T) -> Result<CudaVector<T>> {
    let mut w = CudaVector::uninitialised(device, len, false)?;
    apply_operand::<T, T>(device, &mut w, None, false, &Identity.device(), Operand::constant(value), true)?;
    Ok(w)
}

/// The number of entries. Waits.
pub(crate) fn count<T: Stored>(v: &CudaVector<T>) -> Result<usize> {
    match &v.present {
        None => Ok(v.len),
        Some(present) => {
            let ones = Operand { present: present.ptr(), ..Operand::constant(1u64) };
            Ok(fold::<u64>(&v.device, Combining::SUM, ones, v.len as u64)?.read()? as usize)
        }
    }
}

/// Bits that are true where there is an entry, or, unless `structural`, one that is not zero.
pub(crate) fn truth<T: Stored>(v: &CudaVector<T>, structural: bool) -> Result<CudaVector<bool>> {
    let device = &v.device;
    match (&v.present, structural) {
        (None, true) => filled(device, v.len, true),
        (Some(present), true) => Ok(CudaVector::from_parts(device, v.len, present.cast(), None)),
        (_, false) => {
            let mut bits = CudaVector::uninitialised(device, v.len, true)?;
            apply_operand::<T, bool>(device, &mut bits, None, false, &IfNonZero.device(), Operand::vector(v), v.present.is_none())?;
            Ok(bits)
        }
    }
}

impl VectorOps for Cuda {
    fn ewise<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        union: bool,
        (u, v): (&CudaVector<T>, &CudaVector<T>),
    ) -> Result<()> {
        let (how, name, op) = (if union { Combine::Union } else { Combine::Intersection }, "element-wise operation", op.device());
        let full = match how {
            Combine::Union => u.present.is_none() || v.present.is_none(),
            _ => u.present.is_none() && v.present.is_none(),
        };
        let operands = (Operand::vector(u), Operand::vector(v));
        if !C::ACTIVE {
            return combine(self.device(), w, write.mask, write.replace, (name, &op), how, operands, full, None);
        }
        let mut t = w.clone();
        combine(self.device(), &mut t, None, false, (name, &op), how, operands, full, None)?;
        write_back(name, w, write, t)
    }
    fn apply<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut CudaVector<Op::Out>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &CudaVector<T>,
    ) -> Result<()> {
        let (operand, full) = (Operand::vector(u), u.present.is_none());
        if !C::ACTIVE {
            return apply_operand::<T, Op::Out>(self.device(), w, write.mask, write.replace, &op.device(), operand, full);
        }
        let mut t = w.clone();
        apply_operand::<T, Op::Out>(self.device(), &mut t, None, false, &op.device(), operand, full)?;
        write_back("apply", w, write, t)
    }
    fn select<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        write: VectorWrite<'_, Self, C>,
        op: Op,
        u: &CudaVector<T>,
    ) -> Result<()> {
        let device = self.device();
        let (kernel, arguments) = filter::<T>(device, &op.device())?;
        // With an accumulator the mask is for its step.
        let own = if C::ACTIVE { None } else { write.mask };
        let out = CudaVector::uninitialised(device, w.len, true)?;
        let params = ApplyParams {
            n: w.len as u64,
            u: Operand::vector(u),
            old: Operand::vector(w),
            mask: Mask::of(own, write.replace),
            out: Target::vector(&out),
            arguments,
            ..ApplyParams::zeroed()
        };
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { strided(device, &kernel, params.n, &params) }?;
        if C::ACTIVE {
            return write_back("select", w, write, out);
        }
        *w = out;
        Ok(())
    }
    fn reduce<T: Stored, M: Monoid<T>>(&self, _monoid: M, u: &CudaVector<T>) -> Result<CudaValue<T>> {
        fold(self.device(), Combining::of::<T, M>("reduce")?, Operand::vector(u), u.len as u64)
    }
    fn extract<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        write: VectorWrite<'_, Self, C>,
        u: &CudaVector<T>,
        indices: Indices<'_, Self>,
    ) -> Result<()> {
        let (list, complete) = index_list(self.device(), &indices, u.len)?;
        assign_operand("extract", w, write, Operand::vector(u).at(&list), complete && u.present.is_none())
    }
    /// With an accumulator the values of a position are merged by a warp if it is one of the built-in commutative ones; else in the
    /// order of the list by one thread, which is slow where very many values come to one position.
    fn assign<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        write: VectorWrite<'_, Self, C>,
        source: Source<'_, Self, T>,
    ) -> Result<()> {
        let device = self.device();
        let (u, indices) = match source {
            Source::Value(value) => return assign_operand("assign", w, write, Operand::constant(value), true),
            Source::Device(value) => return assign_operand("assign", w, write, Operand::single(value), true),
            Source::At(u, indices) => (u, indices),
        };
        if w.len == 0 {
            return Ok(());
        }
        let (old, values) = (Operand::vector(w), Operand::vector(u));
        let (list, _) = index_list(device, &indices, w.len)?;
        if let Some(op) = accumulator::<T, C>("assign_at", write.accum)? {
            let (starts, places) = lists_by_position(device, &list, w.len)?;
            let values = values.at(&places);
            if let Some(by) = commutes::<T>(&op) {
                let t = fold_lists::<T>(device, by, (starts.ptr().cast(), 0), values, w.len)?;
                return write_back("assign_at", w, write, t);
            }
            let (full, operands) = (w.present.is_none(), (old, values));
            return combine(device, w, write.mask, write.replace, ("assign_at", &op), Combine::Fold, operands, full, Some(&starts));
        }
        let slots = device.alloc::<u32>(w.len)?;
        slots.fill_bytes(0xff)?;
        let params = SlotsParams { indices: list.ptr(), slots: slots.ptr(), n: list.len() as u64 };
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { run(device, "last_slots", params.n, &params) }?;
        let full = w.present.is_none() && u.present.is_none();
        let operands = (old, values.at(&slots));
        // The operator is not called: a position has one value.
        let op = bitgraph_semiring::Second.device();
        combine(device, w, write.mask, write.replace, ("assign_at", &op), Combine::Override, operands, full, None)
    }
}
