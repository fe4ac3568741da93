//! The vector operations, and the write-back rule `w<mask, replace> = w accum t`.

use super::operator::{self, Combining, binary, commutes, filter, unary};
use super::params::{
    ApplyParams, BinaryParams, Mask, NONE, Operand, Partial, ReduceParams, RowReduceParams, SlotsParams, Target,
};
use super::{strided, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::DeviceValues;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Error, Result};
use bitgraph_backend::{Accumulate, VectorMask, VectorOps};
use bitgraph_semiring::{BinaryOp, DType, DeviceOperator, Identity, Monoid, Operator, SelectOp, UnaryOp, ValueNonZero};
use bitgraph_sparse::{Descriptor, Stored};
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
    strided(device, &kernel, params.n, &params)?;
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
    mask: VMask<'_>,
    accum: C,
    replace: bool,
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
    strided(device, &kernel, params.n, &params)?;
    *w = out;
    Ok(())
}

/// `w<mask, replace> = w accum u`, for any operand.
fn assign_operand<T: Stored, C: Accumulate<T>>(
    operation: &'static str,
    w: &mut CudaVector<T>,
    mask: VMask<'_>,
    accum: C,
    replace: bool,
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
    strided(device, &kernel, params.n, &params)?;
    Ok(DeviceValues { dtype: T::DTYPE, len: n, data })
}

/// `op(u)` for `n` entries of a matrix.
pub(super) fn apply_entries<T: Stored, Out: Stored>(device: &Device, op: &DeviceOperator, u: Operand, n: usize) -> Result<DeviceValues> {
    let (kernel, arguments) = unary::<T>(device, Out::DTYPE, op)?;
    let data = device.alloc_for::<u8>(n * size_of::<Out>(), "matrix values")?;
    let params = ApplyParams { n: n as u64, u, out: Target::entries(&data), arguments, ..ApplyParams::zeroed() };
    strided(device, &kernel, params.n, &params)?;
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
    strided(device, &kernel, params.n, &params)?;
    Ok(flags)
}

/// The bits of `rows` (of all, without) that a mask selects.
pub(super) fn selected(device: &Device, len: usize, rows: Option<&Buffer<u32>>, mask: VectorMask<'_, Cuda>) -> Result<Buffer<u32>> {
    let (kernel, arguments) = unary::<bool>(device, DType::Bool, &Identity.device())?;
    let out = CudaVector::<bool>::uninitialised(device, len, true)?;
    let u = Operand { present: rows.map_or(DevicePtr::NULL, Buffer::ptr), ..Operand::constant(true) };
    let params =
        ApplyParams { n: len as u64, u, mask: Mask::of(Some(mask), true), out: Target::vector(&out), arguments, ..ApplyParams::zeroed() };
    strided(device, &kernel, params.n, &params)?;
    Ok(out.store.cast())
}

/// Whether each value is not zero.
pub(super) fn flag_entries(device: &Device, values: &DeviceValues) -> Result<Buffer<u32>> {
    fn typed<T: Stored>(device: &Device, values: &DeviceValues) -> Result<Buffer<u32>> {
        let (kernel, arguments) = filter::<T>(device, &ValueNonZero.device())?;
        let flags = device.alloc::<u32>(values.len)?;
        let u = Operand::entries::<T>(Some(values));
        let params = ApplyParams { n: values.len as u64, u, flags: flags.ptr(), arguments, ..ApplyParams::zeroed() };
        strided(device, &kernel, params.n, &params)?;
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
    let (kernel, arguments) = by.kernel::<T>(device, "fold")?;
    let params = ReduceParams { n, u, out: Target::entries(&out), partials: partials.ptr(), blocks: grid.into(), arguments };
    let shared = block / 32 * 16;
    device.launch(&kernel, Shape { grid, block, shared, mode: Mode::Plain }, &params)?;
    let (finish, _) = by.kernel::<T>(device, "fold_finish")?;
    device.launch(&finish, Shape { grid: 1, block, shared, mode: Mode::Plain }, &params)?;
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
    let (kernel, arguments) = by.kernel::<T>(device, "fold_rows")?;
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
    strided(device, &kernel, params.rows, &params)?;
    Ok(t)
}

/// A value on the device.
pub(crate) fn value<T: Stored>(device: &Device, value: T) -> Result<CudaValue<T>> {
    Ok(CudaValue::new(device.upload(crate::bytes::of(&[value]))?))
}

/// For each position the values that come to it, in order: offsets of lists, and the lists.
pub(super) fn lists_by_position(indices: &[u32], len: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; len + 1];
    indices.iter().for_each(|&i| starts[i as usize + 1] += 1);
    (0..len).for_each(|i| starts[i + 1] += starts[i]);
    let mut next = starts.clone();
    let mut list = vec![0u32; indices.len()];
    for (k, &i) in indices.iter().enumerate() {
        list[next[i as usize] as usize] = k as u32;
        next[i as usize] += 1;
    }
    (starts, list)
}

impl VectorOps for Cuda {
    fn ewise_add_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        op: Op,
        u: &CudaVector<T>,
        v: &CudaVector<T>,
        descriptor: Descriptor,
    ) -> Result<()> {
        ewise(self, w, mask, accum, &op.device(), Combine::Union, u, v, descriptor.replace)
    }
    fn ewise_mult_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        op: Op,
        u: &CudaVector<T>,
        v: &CudaVector<T>,
        descriptor: Descriptor,
    ) -> Result<()> {
        ewise(self, w, mask, accum, &op.device(), Combine::Intersection, u, v, descriptor.replace)
    }
    fn apply_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        w: &mut CudaVector<Op::Out>,
        mask: VMask<'_>,
        accum: C,
        op: Op,
        u: &CudaVector<T>,
        descriptor: Descriptor,
    ) -> Result<()> {
        let (operand, full) = (Operand::vector(u), u.present.is_none());
        if !C::ACTIVE {
            return apply_operand::<T, Op::Out>(self.device(), w, mask, descriptor.replace, &op.device(), operand, full);
        }
        let mut t = w.clone();
        apply_operand::<T, Op::Out>(self.device(), &mut t, None, false, &op.device(), operand, full)?;
        write_back("apply", w, mask, accum, descriptor.replace, t)
    }
    fn select_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        op: Op,
        u: &CudaVector<T>,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let (kernel, arguments) = filter::<T>(device, &op.device())?;
        // With an accumulator the mask is for its step.
        let own = if C::ACTIVE { None } else { mask };
        let out = CudaVector::uninitialised(device, w.len, true)?;
        let params = ApplyParams {
            n: w.len as u64,
            u: Operand::vector(u),
            old: Operand::vector(w),
            mask: Mask::of(own, descriptor.replace),
            out: Target::vector(&out),
            arguments,
            ..ApplyParams::zeroed()
        };
        strided(device, &kernel, params.n, &params)?;
        if C::ACTIVE {
            return write_back("select", w, mask, accum, descriptor.replace, out);
        }
        *w = out;
        Ok(())
    }
    /// A monoid without a device form is applied on the host, to the downloaded vector.
    fn reduce_checked<T: Stored, M: Monoid<T>>(&self, _monoid: M, u: &CudaVector<T>) -> Result<CudaValue<T>> {
        match Combining::of::<T, M>() {
            Some(by) => fold(self.device(), by, Operand::vector(u), u.len as u64),
            None => {
                let host = u.to_host()?;
                let sum = M::fold(host.iter().map(|(_, v)| v)).map_or_else(M::identity, T::narrow);
                value(self.device(), sum)
            }
        }
    }
    fn extract_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        u: &CudaVector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<()> {
        let indices = self.device().upload(indices)?;
        let operand = Operand::vector(u).at(&indices);
        assign_operand("extract", w, mask, accum, descriptor.replace, operand, u.present.is_none())
    }
    /// With an accumulator the values of a position are merged by a warp if it is one of the built-in commutative ones; else in the
    /// order of the list by one thread, which is slow where very many values come to one position.
    fn assign_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        u: &CudaVector<T>,
        indices: &[u32],
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        if u32::try_from(indices.len()).is_ok_and(|n| n != NONE) && w.len == 0 {
            return Ok(());
        }
        let (old, values) = (Operand::vector(w), Operand::vector(u));
        if let Some(op) = accumulator::<T, C>("assign", accum)? {
            let (starts, list) = lists_by_position(indices, w.len);
            let (starts, list) = (device.upload(&starts)?, device.upload(&list)?);
            let values = values.at(&list);
            if let Some(by) = commutes::<T>(&op) {
                let t = fold_lists::<T>(device, by, (starts.ptr().cast(), 0), values, w.len)?;
                return write_back("assign", w, mask, accum, descriptor.replace, t);
            }
            let (full, operands) = (w.present.is_none(), (old, values));
            return combine(device, w, mask, descriptor.replace, ("assign", &op), Combine::Fold, operands, full, Some(&starts));
        }
        let slots = device.alloc::<u32>(w.len)?;
        slots.fill_bytes(0xff)?;
        let list = device.upload(indices)?;
        let params = SlotsParams { indices: list.ptr(), slots: slots.ptr(), n: indices.len() as u64 };
        strided(device, &device.kernel("ops/structure", "last_slots")?, params.n, &params)?;
        let full = w.present.is_none() && u.present.is_none();
        let operands = (old, values.at(&slots));
        // The operator is not called: a position has one value.
        let op = bitgraph_semiring::Second.device();
        combine(device, w, mask, descriptor.replace, ("assign", &op), Combine::Override, operands, full, None)
    }
    fn assign_value_checked<T: Stored, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: VMask<'_>,
        accum: C,
        value: T,
        descriptor: Descriptor,
    ) -> Result<()> {
        assign_operand("assign_value", w, mask, accum, descriptor.replace, Operand::constant(value), true)
    }
}

fn ewise<T: Stored, C: Accumulate<T>>(
    cuda: &Cuda,
    w: &mut CudaVector<T>,
    mask: VMask<'_>,
    accum: C,
    op: &DeviceOperator,
    how: Combine,
    u: &CudaVector<T>,
    v: &CudaVector<T>,
    replace: bool,
) -> Result<(), Error> {
    let device = cuda.device();
    let full = match how {
        Combine::Union => u.present.is_none() || v.present.is_none(),
        _ => u.present.is_none() && v.present.is_none(),
    };
    let (name, operands) = ("element-wise operation", (Operand::vector(u), Operand::vector(v)));
    if !C::ACTIVE {
        return combine(device, w, mask, replace, (name, op), how, operands, full, None);
    }
    let mut t = w.clone();
    combine(device, &mut t, None, false, (name, op), how, operands, full, None)?;
    write_back(name, w, mask, accum, replace, t)
}

#[cfg(test)]
mod tests {
    use super::lists_by_position;

    #[test]
    fn lists_keep_the_order_of_their_values() {
        assert_eq!(lists_by_position(&[2, 0, 2, 2], 4), (vec![0, 1, 1, 4, 4], vec![1, 0, 2, 3]));
    }
}
