//! The matrix operations other than products. They work on lists; a tile format is laid out again from its result.
//!
//! Everything runs on the device but for index lists, which are prepared on the host, and monoids without a device form, which are
//! applied there. Determinism: no operation here adds up anything but the reductions, whose order the sizes decide.

use super::elementwise::{self, Combine, apply_entries, combine_entries, fold, fold_lists, test_entries};
use super::operator::{self, Combining};
use super::params::{KroneckerParams, Operand, RelabelKeysParams, Rows, wide};
use super::structure::{DeviceMask, Merge, Pattern, csr_of_keys, extract, kept, merge, run};
use crate::device::{Buffer, Device};
use crate::layout::{DeviceCsr, DeviceValues, Offsets};
use crate::matrix::CudaMatrix;
use crate::vector::{CudaValue, CudaVector};
use crate::{Cuda, Error, Result, primitives};
use bitgraph_backend::{Accumulate, MatrixMask, MatrixOps, NoAccum, VectorMask};
use bitgraph_semiring::{BinaryOp, Identity, Monoid, Operator, Second, SelectOp, UnaryOp};
use bitgraph_sparse::{Csr, Descriptor, FormatKind, Stored, Vector};
use bytemuck::Zeroable;

/// The values of a matrix as an operand: 1 for a pattern.
fn entries<T: Stored>(matrix: &CudaMatrix) -> Operand {
    Operand::entries::<T>(matrix.values())
}

fn operand(matrix: &CudaMatrix, transpose: bool) -> Result<&CudaMatrix> {
    if transpose { matrix.transposed() } else { Ok(matrix) }
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

impl MatrixOps for Cuda {
    fn ewise_matrix_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        union: bool,
        a: &CudaMatrix,
        b: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let (a, b) = (operand(a, descriptor.transpose_a)?, operand(b, descriptor.transpose_b)?);
        let (kind, how) = if union { (Merge::Union, Combine::Union) } else { (Merge::Intersection, Combine::Intersection) };
        let none = DeviceMask::of(device, None, false)?;
        let t = merge(device, &Pattern::of(device, a.lists()?)?, &Pattern::of(device, b.lists()?)?, kind, &none)?;
        let (u, v) = (entries::<T>(a).at(&t.source_a), entries::<T>(b).at(&t.source_b));
        let values = combine_entries::<T>(device, &op.device(), how, u, v, t.csr.nnz)?;
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, C>(device, c, &mask, accum, result(device, t.csr, Some(values))?)
    }

    fn apply_matrix_checked<T: Stored, Op: UnaryOp<T, Out: Stored>, C: Accumulate<Op::Out>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let a = operand(a, descriptor.transpose_a)?;
        let values = apply_entries::<T, Op::Out>(device, &op.device(), entries::<T>(a), a.nvals())?;
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<Op::Out, C>(device, c, &mask, accum, result(device, a.lists()?.clone(), Some(values))?)
    }

    fn select_matrix_checked<T: Stored, Op: SelectOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let a = operand(a, descriptor.transpose_a)?;
        let pattern = Pattern::of(device, a.lists()?)?;
        let flags = test_entries::<T>(device, &op.device(), entries::<T>(a), (&pattern.entry_rows, &pattern.csr.indices))?;
        let (csr, positions) = kept(device, &pattern, &flags)?;
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, C>(device, c, &mask, accum, result(device, csr, gathered(device, a, &positions)?)?)
    }

    fn reduce_matrix_checked<T: Stored, M: Monoid<T>>(&self, _monoid: M, a: &CudaMatrix) -> Result<CudaValue<T>> {
        let device = self.device();
        match Combining::of::<T, M>() {
            Some(by) => fold(device, by, entries::<T>(a), a.nvals() as u64),
            None => {
                let sum = M::fold(host_entries::<T>(a)?.1.into_iter()).map_or_else(M::identity, T::narrow);
                elementwise::value(device, sum)
            }
        }
    }

    fn reduce_rows_checked<T: Stored, M: Monoid<T>, C: Accumulate<T>>(
        &self,
        w: &mut CudaVector<T>,
        mask: Option<VectorMask<'_, Self>>,
        accum: C,
        _monoid: M,
        a: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let a = operand(a, descriptor.transpose_a)?;
        let t = match Combining::of::<T, M>() {
            Some(by) => {
                let csr = a.lists()?;
                fold_lists::<T>(device, by, (csr.offsets.address(), wide(&csr.offsets)), entries::<T>(a), csr.rows)?
            }
            None => {
                let (csr, values) = host_entries::<T>(a)?;
                let row = |i: usize| M::fold(values[csr.row_range(i)].iter().copied()).map(|v| (i as u32, T::narrow(v)));
                let sums = Vector::from_entries(csr.nrows(), (0..csr.nrows()).filter_map(row)).map_err(Error::from)?;
                CudaVector::upload(device, &sums)?
            }
        };
        elementwise::write_back("reduce_rows", w, mask, accum, descriptor.replace, t)
    }

    fn extract_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &CudaMatrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let a = operand(a, descriptor.transpose_a)?;
        let (csr, positions) = extract(device, a.lists()?, rows, columns)?;
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, C>(device, c, &mask, accum, result(device, csr, gathered(device, a, &positions)?)?)
    }

    fn assign_matrix_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &CudaMatrix,
        rows: &[u32],
        columns: &[u32],
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        // The operand at its places in the output.
        let a = operand(a, descriptor.transpose_a)?;
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
        run(device, "relabel_keys", params.a.entries, &params)?;
        let bits = 0..column_bits + primitives::id_bits(c.shape().0);
        let (keys, positions) = primitives::sort_pairs(device, &keys, &positions, bits)?;
        let placed = result(device, csr_of_keys(device, &keys, c.shape(), column_bits)?, gathered(device, a, &positions)?)?;
        // The output with that part of it assigned, as if there were no mask; then the mask decides where it shows.
        let mut assigned = result(device, c.lists()?.clone(), c.values().cloned())?;
        let region = DeviceMask::region(device, c.shape(), rows, columns)?;
        write_back::<T, C>(device, &mut assigned, &region, accum, placed)?;
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, _>(device, c, &mask, NoAccum, assigned)
    }

    fn transpose_checked<T: Stored, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let device = self.device();
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, C>(device, c, &mask, accum, operand(a, !descriptor.transpose_a)?.clone())
    }

    fn kronecker_checked<T: Stored, Op: BinaryOp<T>, C: Accumulate<T>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        op: Op,
        a: &CudaMatrix,
        b: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<()> {
        let (a, b) = (operand(a, descriptor.transpose_a)?, operand(b, descriptor.transpose_b)?);
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
        run(device, "kronecker_counts", params.rows, &params)?;
        let starts = primitives::exclusive_scan_wide(device, &counts)?;
        let nnz = entries_there as usize;
        let array = || -> Result<Buffer<u32>> { device.alloc(nnz) };
        let (indices, source_a, source_b) = (array()?, array()?, array()?);
        params.offsets = starts.ptr();
        params.indices = indices.ptr();
        params.source_a = source_a.ptr();
        params.source_b = source_b.ptr();
        run(device, "kronecker_fill", params.entries, &params)?;
        let values = if a.values().is_none() && b.values().is_none() && op.apply(T::ONE, T::ONE) == T::ONE {
            None
        } else {
            let (u, v) = (entries::<T>(a).at(&source_a), entries::<T>(b).at(&source_b));
            Some(combine_entries::<T>(device, &op.device(), Combine::Intersection, u, v, nnz)?)
        };
        let offsets = Offsets::U32(primitives::exclusive_scan(device, &counts)?);
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        write_back::<T, C>(device, c, &mask, accum, result(device, DeviceCsr { rows, columns, nnz, offsets, indices }, values)?)
    }
}

/// A matrix on the host with typed values.
fn host_entries<T: Stored>(a: &CudaMatrix) -> Result<(Csr, Vec<T>)> {
    let (csr, values) = a.to_host()?;
    let values = match values {
        Some(v) => v.expect::<T>().map_err(Error::from)?.to_vec(),
        None => vec![T::ONE; csr.nnz()],
    };
    Ok((csr, values))
}
