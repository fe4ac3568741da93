//! Matrix times matrix, with a sparse result or reduced to one value.
//!
//! A sparse result is made by listing products, sorting them by place and summing each place's run, for as many rows at a time as
//! have 2^28 products together (about 16 GB); one row's may be 2^32. Products that a complemented mask leaves out are sorted to the
//! end. Under a plain mask only the products at its entries are formed, by intersecting two rows for each. The reduced form stores
//! no product: it does the same for the entries of a mask, or visits all products under a complemented mask or none.
//!
//! Determinism: products of one place are added in the order of the inner index; reduced sums in an order that the sizes decide.

use super::matrix::{result, write_back};
use super::operator::unsupported;
use super::params::{MxmReduceParams, MxmSumParams, Rows, Target, Total};
use super::ring::{MXM, kernel};
use super::schemes::special_sum;
use super::structure::{DeviceMask, Pattern, csr_of_places, expand_entries, kept, places, product_blocks};
use super::{seen, strided, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::{DeviceCsr, DeviceValues};
use crate::matrix::CudaMatrix;
use crate::vector::CudaValue;
use crate::{Cuda, Error, Result, primitives};
use bitgraph_backend::ops::{MatrixMask, MatrixWrite, View};
use bitgraph_backend::{Accumulate, Mxm, StorableSemiring};
use bitgraph_semiring::Scalar;
use bytemuck::{Pod, Zeroable};
use std::ops::Range;

fn values(matrix: &CudaMatrix) -> DevicePtr<u8> {
    matrix.values().map_or(DevicePtr::NULL, |v| v.data.ptr())
}

impl<S: StorableSemiring> Mxm<S> for Cuda {
    fn mxm<C: Accumulate<S::Out>>(
        &self,
        c: &mut CudaMatrix,
        write: MatrixWrite<'_, Self, C>,
        a: View<'_, Self>,
        b: View<'_, Self>,
    ) -> Result<(), Error> {
        let device = self.device();
        let (a, accum) = (seen(a)?, write.accum);
        let mask = DeviceMask::of(device, write.mask, write.replace)?;
        if write.mask.as_ref().is_some_and(|m| !m.mode.complement) {
            let (csr, values) = at_mask::<S>(device, a, seen(View { transposed: !b.transposed, ..b })?, &mask)?;
            return write_back::<S::Out, C>(device, c, &mask, accum, result(device, csr, Some(values))?);
        }
        let b = seen(b)?;
        let (left, right) = (Pattern::of(device, a.lists()?)?, b.lists()?);
        let mut parts = Vec::new();
        for entries in product_blocks(device, &left.csr, right)? {
            parts.push(part::<S>(device, a, b, &left, entries, &mask)?);
        }
        let entry_rows = joined(device, parts.iter().map(|p| &p.entry_rows))?;
        let indices = joined(device, parts.iter().map(|p| &p.indices))?;
        let data = joined(device, parts.iter().map(|p| &p.values))?;
        let csr = csr_of_places(device, (left.csr.rows, right.columns), &entry_rows, indices)?;
        let t = DeviceValues { dtype: <S::Out as Scalar>::DTYPE, len: csr.nnz, data };
        write_back::<S::Out, C>(device, c, &mask, accum, result(device, csr, Some(t))?)
    }

    fn mxm_reduce(&self, mask: Option<MatrixMask<'_, Self>>, a: View<'_, Self>, b: View<'_, Self>) -> Result<CudaValue<S::Out>, Error> {
        let device = self.device();
        let dots = mask.as_ref().is_some_and(|m| !m.mode.complement);
        let a = seen(a)?;
        // Columns of b are wanted as rows where the mask's entries are visited.
        let b = seen(View { transposed: b.transposed != dots, ..b })?;
        if let Some(m) = &mask
            && dots
            && (m.mode.structural || m.matrix.values().is_none())
            && let Some(sum) = special_sum::<S>(self, a, b, m.matrix)?
        {
            return Ok(sum);
        }
        let mask = DeviceMask::of(device, mask, false)?;
        reduce::<S>(device, dots, a, b, &mask)
    }
}

/// Some rows of a product: where entries are, and their values.
struct Part {
    entry_rows: Buffer<u32>,
    indices: Buffer<u32>,
    values: Buffer<u8>,
}

/// The rows of a product that some entries of a make.
fn part<S: StorableSemiring>(
    device: &Device,
    a: &CudaMatrix,
    b: &CudaMatrix,
    left: &Pattern,
    entries: Range<usize>,
    mask: &DeviceMask,
) -> Result<Part> {
    let first = entries.start;
    let places = places(device, &expand_entries(device, left, entries, b.lists()?, mask)?)?;
    let nnz = places.indices.len();
    let out = device.alloc_for::<u8>(nnz * size_of::<S::Out>(), "matrix values")?;
    let params = MxmSumParams {
        pairs: places.pairs.ptr(),
        starts: places.starts.ptr(),
        places: nnz as u64,
        products: places.products,
        // Pairs count from the first entry.
        a_values: a.values().map_or(DevicePtr::NULL, |v| v.data.ptr().offset(first * <S::A as Scalar>::DTYPE.bytes())),
        b_values: values(b),
        out: out.ptr(),
    };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel::<S, _>(device, &MXM, "mxm_sum_csr")?, params.places, &params) }?;
    Ok(Part { entry_rows: places.entry_rows, indices: places.indices, values: out })
}

/// Arrays one after the other; a single one as it is.
fn joined<'a, T: Pod>(device: &Device, parts: impl Iterator<Item = &'a Buffer<T>> + Clone) -> Result<Buffer<T>> {
    let mut rest = parts.clone();
    if let (Some(only), None) = (rest.next(), rest.next()) {
        return Ok(only.clone());
    }
    let all = device.alloc(parts.clone().map(Buffer::len).sum())?;
    let mut at = 0;
    for part in parts {
        all.copy_from(at, part)?;
        at += part.len();
    }
    Ok(all)
}

/// What every product under a mask reads; `left` are the lists of `a`.
fn operands(left: &Pattern, a: &CudaMatrix, b: &CudaMatrix, mask: &DeviceMask) -> Result<MxmReduceParams> {
    Ok(MxmReduceParams {
        a: left.rows(),
        b: Rows::of(b.lists()?, None),
        a_values: values(a),
        b_values: values(b),
        mask: mask.params,
        ..MxmReduceParams::zeroed()
    })
}

/// The product at the entries of a mask, `b` transposed: no other product is formed. Waits for the number of its entries.
fn at_mask<S: StorableSemiring>(device: &Device, a: &CudaMatrix, b: &CudaMatrix, mask: &DeviceMask) -> Result<(DeviceCsr, DeviceValues)> {
    let (left, Some(pattern)) = (Pattern::of(device, a.lists()?)?, mask.pattern()) else {
        return Err(unsupported("mxm", "a mask without a pattern".into()));
    };
    let entries = pattern.csr.nnz;
    let found = device.alloc::<u32>(entries)?;
    let all = device.alloc_for::<u8>(entries * size_of::<S::Out>(), "matrix values")?;
    let params = MxmReduceParams { found: found.ptr(), values: all.ptr(), ..operands(&left, a, b, mask)? };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { strided(device, &kernel::<S, _>(device, &MXM, "mxm_entries_csr")?, entries as u64 * 8, &params) }?;
    let (csr, positions) = kept(device, pattern, &found)?;
    let all = DeviceValues { dtype: <S::Out as Scalar>::DTYPE, len: entries, data: all };
    Ok((csr, primitives::gather_values(device, &all, &positions)?))
}

fn reduce<S: StorableSemiring>(
    device: &Device,
    dots: bool,
    a: &CudaMatrix,
    b: &CudaMatrix,
    mask: &DeviceMask,
) -> Result<CudaValue<S::Out>> {
    let left = Pattern::of(device, a.lists()?)?;
    // Eight lanes for an entry of the mask, a warp for one of a.
    let work = if dots { mask.params.pattern.entries * 8 } else { left.csr.nnz as u64 * 32 };
    let block = threads(device);
    let grid = work.div_ceil(u64::from(block)).min(u64::from(device.properties().sms) * 16) as u32;
    let totals: Buffer<Total> = device.alloc(grid as usize)?;
    let out = device.alloc_for::<u8>(size_of::<S::Out>(), "a value")?;
    let params = MxmReduceParams { totals: totals.ptr(), blocks: grid.into(), out: Target::entries(&out), ..operands(&left, a, b, mask)? };
    let shared = block / 32 * 24;
    let name = if dots { "mxm_dots_csr" } else { "mxm_products_csr" };
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&kernel::<S, _>(device, &MXM, name)?, Shape { grid, block, shared, mode: Mode::Plain }, &params) }?;
    let finish = kernel::<S, _>(device, &MXM, "mxm_finish_csr")?;
    // SAFETY: operands fit each other (`bitgraph_backend::ops` checks that), and outputs were made above for their shapes.
    unsafe { device.launch(&finish, Shape { grid: 1, block, shared, mode: Mode::Plain }, &params) }?;
    Ok(CudaValue::new(out))
}
