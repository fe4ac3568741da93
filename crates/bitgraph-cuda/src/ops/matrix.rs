//! The matrix operations other than products. They work on lists; a tile format is laid out again from its result.
//!
//! Determinism: no operation here adds up anything but the reductions, whose order the sizes decide.

use super::elementwise::{self, Combine, apply_entries, combine_entries, fold, fold_lists, test_entries};
use super::operator::{self, Combining};
use super::params::{ConvertParams, KroneckerParams, Operand, PresenceParams, RelabelKeysParams, Rows, wide};
use super::seen;
use super::structure::{DeviceMask, Merge, Pattern, csr_of_keys, extract, kept, merge, run};
use crate::device::{Buffer, Device};
use crate::layout::{DeviceCsr, DeviceValues, Offsets};
use crate::matrix::CudaMatrix;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Error, Result, primitives};
use bitgraph_backend::ops::{MatrixWrite, Region, VectorWrite, View};
use bitgraph_backend::{Accumulate, MatrixOps, NoAccum};
use bitgraph_semiring::{BinaryOp, DType, Identity, Monoid, Operator, Second, SelectOp, UnaryOp};
use bitgraph_sparse::{Csr, FormatKind, Stored};
use bytemuck::Zeroable;

/// The values of a matrix as an operand: 1 for a pattern.
fn entries<T: Stored>(matrix: &CudaMatrix) -> Operand {
    Operand::entries::<T>(matrix.values())
}

/// A result on its way to an output, as lists: nothing is converted.
pub(super) fn result(device: &Device, csr: DeviceCsr, values: Option<DeviceValues>) -> Result<CudaMatrix> {
    CudaMatrix::from_lists(device, csr, values, FormatKind::Csr)
}

/// `C<mask, replace> = C accum T`, the last step of every operation; the output keeps its format, and stays a pattern if `T` is one and
/// nothing is accumulated.
pub(super) fn write_back<T: Stored, C: Accumulate<T>>(
    device: &Device,
    c: &mut CudaMatrix,
    mask: &DeviceMask,
    accum: C,
    t: CudaMatrix,
) -> Result<()> {
    let op = accum.device();
    if C::ACTIVE && op.is_none() {
        return Err(operator::unsupported("matrix operation", "an accumulator without a device form".into()));
    }
    let pattern = !C::ACTIVE && c.values().is_none() && t.values().is_none();
    if op.is_none() && mask.params.flags == 0 {
        let values = match t.values() {
            None if !pattern => Some(apply_entries::<T, T>(device, &Identity.device(), entries::<T>(&t), t.nvals())?),
            values if c.format() != t.format() => values.cloned(),
            _ => {
                *c = t;
                return Ok(());
            }
        };
        *c = CudaMatrix::from_lists(device, t.lists()?.clone(), values, c.format())?;
        return Ok(());
    }
    let kind = if C::ACTIVE { Merge::Accumulate } else { Merge::Write };
    let merged = merge(device, &Pattern::of(device, c.lists()?)?, &Pattern::of(device, t.lists()?)?, kind, mask)?;
    let values = if pattern {
        None
    } else {
        let (u, v) = (entries::<T>(c).at(&merged.source_a), entries::<T>(&t).at(&merged.source_b));
        // Without an accumulator no entry has two sources.
        let op = op.unwrap_or_else(|| Second.device());
        Some(combine_entries::<T>(device, &op, Combine::Union, u, v, merged.csr.nnz)?)
    };
    *c = CudaMatrix::from_lists(device, merged.csr, values, c.format())?;
    Ok(())
}

/// The values of some entries of a matrix, in their order; none of a pattern.
fn gathered(device: &Device, matrix: &CudaMatrix, positions: &Buffer<u32>) -> Result<Option<DeviceValues>> {
    matrix.values().map(|v| primitives::gather_values(device, v, positions)).transpose()
}

/// Writes a result `t` as an operation says.
fn finish<T: Stored, C: Accumulate<T>>(device: &Device, c: &mut CudaMatrix, write: MatrixWrite<'_, Cuda, C>, t: CudaMatrix) -> Result<()> {
    write_back::<T, C>(device, c, &DeviceMask::of(device, write.mask, write.replace)?, write.accum, t)
}

impl MatrixOps for Cuda {
    fn ewise_matrix<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        union: bool,
        (a, b): (View<'_, Self>, View<'_, Self>),
    ) -> Result<()> {
        let device = self.device();
        let (a, b) = (seen(a)?, seen(b)?);
        let (kind, how) = if union { (Merge::Union, Combine::Union) } else { (Merge::Intersection, Combine::Intersection) };
        let none = DeviceMask::of(device, None, false)?;
        let t = merge(device, &Pattern::of(device, a.lists()?)?, &Pattern::of(device, b.lists()?)?, kind, &none)?;
        let (u, v) = (entries::<T>(a).at(&t.source_a), entries::<T>(b).at(&t.source_b));
        let values = combine_entries::<T>(device, &op.device(), how, u, v, t.csr.nnz)?;
        finish::<T, C>(device, c, write, result(device, t.csr, Some(values))?)
    }

    fn apply_matrix<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<()> {
        let device = self.device();
        let a = seen(a)?;
        let values = apply_entries::<T, Op::Out>(device, &op.device(), entries::<T>(a), a.nvals())?;
        finish::<Op::Out, C>(device, c, write, result(device, a.lists()?.clone(), Some(values))?)
    }

    fn select_matrix<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        a: View<'_, Self>,
    ) -> Result<()> {
        let device = self.device();
        let a = seen(a)?;
        let pattern = Pattern::of(device, a.lists()?)?;
        let flags = test_entries::<T>(device, &op.device(), entries::<T>(a), (&pattern.entry_rows, &pattern.csr.indices))?;
        let (csr, positions) = kept(device, &pattern, &flags)?;
        finish::<T, C>(device, c, write, result(device, csr, gathered(device, a, &positions)?)?)
    }

    fn reduce_matrix<T: Stored, M: Monoid<T>>(&self, _monoid: M, a: View<'_, Self>) -> Result<CudaValue<T>> {
        let (a, by) = (seen(a)?, Combining::of::<T, M>("reduce")?);
        fold(self.device(), by, entries::<T>(a), a.nvals() as u64)
    }

    fn reduce_rows<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        write: VectorWrite<'_, Self, C>,
        _monoid: M,
        a: View<'_, Self>,
    ) -> Result<()> {
        let device = self.device();
        let a = seen(a)?;
        let (csr, by) = (a.lists()?, Combining::of::<T, M>("reduce_rows")?);
        let t = fold_lists::<T>(device, by, (csr.offsets.address(), wide(&csr.offsets)), entries::<T>(a), csr.rows)?;
        elementwise::write_back("reduce_rows", w, write, t)
    }

    fn extract_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        Region { rows, columns }: Region<'_>,
    ) -> Result<()> {
        let device = self.device();
        let a = seen(a)?;
        let (csr, positions) = extract(device, a.lists()?, rows, columns)?;
        finish::<T, C>(device, c, write, result(device, csr, gathered(device, a, &positions)?)?)
    }

    fn assign_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        Region { rows, columns }: Region<'_>,
    ) -> Result<()> {
        let device = self.device();
        // The operand at its places in the output.
        let a = seen(a)?;
        let pattern = Pattern::of(device, a.lists()?)?;
        let (new_rows, new_columns) = (device.upload(rows)?, device.upload(columns)?);
        let (keys, positions) = (device.alloc::<u64>(pattern.csr.nnz)?, device.alloc::<u32>(pattern.csr.nnz)?);
        let column_bits = primitives::id_bits(c.shape().1);
        let params = RelabelKeysParams {
            a: pattern.rows(),
            new_rows: new_rows.ptr(),
            new_columns: new_columns.ptr(),
            keys: keys.ptr(),
            positions: positions.ptr(),
            column_bits,
            reserved: 0,
        };
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { run(device, "relabel_keys", params.a.entries, &params) }?;
        let bits = 0..column_bits + primitives::id_bits(c.shape().0);
        let (keys, positions) = primitives::sort_pairs(device, &keys, &positions, bits)?;
        let placed = result(device, csr_of_keys(device, &keys, c.shape(), column_bits)?, gathered(device, a, &positions)?)?;
        // The output with that part of it assigned, as if there were no mask; then the mask decides where it shows.
        let mut assigned = result(device, c.lists()?.clone(), c.values().cloned())?;
        let region = DeviceMask::region(device, c.shape(), rows, columns)?;
        write_back::<T, C>(device, &mut assigned, &region, write.accum, placed)?;
        let MatrixWrite { mask, replace, .. } = write;
        finish::<T, _>(device, c, MatrixWrite { mask, accum: NoAccum, replace }, assigned)
    }

    fn copy_matrix<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
    ) -> Result<()> {
        let device = self.device();
        finish::<T, C>(device, c, write, seen(a)?.clone())
    }

    fn kronecker<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        op: Op,
        (a, b): (View<'_, Self>, View<'_, Self>),
    ) -> Result<()> {
        let (a, b) = (seen(a)?, seen(b)?);
        let device = self.device();
        let (left, right) = (a.lists()?, b.lists()?);
        let (rows, columns) = c.shape();
        let entries_there = left.nnz as u64 * right.nnz as u64;
        if entries_there >= u64::from(u32::MAX) {
            return Err(primitives::too_large(entries_there));
        }
        let counts = device.alloc::<u32>(rows)?;
        let mut params = KroneckerParams {
            a: Rows::of(left, None),
            b: Rows::of(right, None),
            rows: rows as u64,
            entries: entries_there,
            b_rows: right.rows as u32,
            b_columns: right.columns as u32,
            counts: counts.ptr(),
            ..KroneckerParams::zeroed()
        };
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { run(device, "kronecker_counts", params.rows, &params) }?;
        let starts = primitives::exclusive_scan_wide(device, &counts)?;
        let nnz = entries_there as usize;
        let array = || -> Result<Buffer<u32>> { device.alloc(nnz) };
        let (indices, source_a, source_b) = (array()?, array()?, array()?);
        params.offsets = starts.ptr();
        params.indices = indices.ptr();
        params.source_a = source_a.ptr();
        params.source_b = source_b.ptr();
        // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
        unsafe { run(device, "kronecker_fill", params.entries, &params) }?;
        let values = if a.values().is_none() && b.values().is_none() && op.apply(T::ONE, T::ONE) == T::ONE {
            None
        } else {
            let (u, v) = (entries::<T>(a).at(&source_a), entries::<T>(b).at(&source_b));
            Some(combine_entries::<T>(device, &op.device(), Combine::Intersection, u, v, nnz)?)
        };
        let offsets = Offsets::U32(primitives::exclusive_scan(device, &counts)?);
        finish::<T, C>(device, c, write, result(device, DeviceCsr { rows, columns, nnz, offsets, indices }, values)?)
    }
    fn matrix_diagonal<T: Stored>(&self, v: &CudaVector<T>) -> Result<CudaMatrix> {
        Csr::ids(v.len as u64, v.len as u64).map_err(Error::from)?;
        let device = self.device();
        let (offsets, indices) = match &v.present {
            None => (primitives::iota(device, v.len + 1, 0)?, primitives::iota(device, v.len, 0)?),
            Some(_) => {
                let flags = device.alloc::<u32>(v.len)?;
                let params = PresenceParams { v: Operand::vector(v), flags: flags.ptr(), n: v.len as u64 };
                // SAFETY: the flags were made above for the vector's length.
                unsafe { run(device, "presence_flags", params.n, &params) }?;
                (primitives::exclusive_scan(device, &flags)?, primitives::compact(device, &flags)?)
            }
        };
        let nnz = indices.len();
        let values = apply_entries::<T, T>(device, &Identity.device(), Operand::vector(v).at(&indices), nnz)?;
        let csr = DeviceCsr { rows: v.len, columns: v.len, nnz, offsets: Offsets::U32(offsets), indices };
        result(device, csr, Some(values))
    }

    fn matrix_cast<T: Stored>(&self, matrix: &CudaMatrix) -> Result<CudaMatrix> {
        let Some(values) = matrix.values() else { return Ok(matrix.clone()) };
        let data = self.device().alloc_for::<u8>(values.len * size_of::<T>(), "matrix values")?;
        let code = |dtype| DType::ALL.iter().position(|&d| d == dtype).unwrap_or(0) as u32;
        let n = values.len as u64;
        let params = ConvertParams { values: values.data.ptr(), out: data.ptr(), n, from: code(values.dtype), to: code(T::DTYPE) };
        // SAFETY: the output was made above for as many values.
        unsafe { run(self.device(), "convert_values", n, &params) }?;
        Ok(matrix.with_values(DeviceValues { dtype: T::DTYPE, len: values.len, data }))
    }
}
