//! Matrix times matrix, with a sparse result or reduced to one value.
//!
//! A sparse result is made by listing all products, sorting them by place and summing each place's run: O(products) memory and
//! 24 bytes a product, at most 2^32 of them. A mask drops products before they are sorted. The reduced form stores no product: it
//! intersects two rows for each entry of a mask, or visits all products under a complemented mask or none.
//!
//! Determinism: products of one place are added in the order of the inner index; reduced sums in an order that the sizes decide.

use super::params::{MxmReduceParams, MxmSumParams, Rows, Target, Total};
use super::ring::{MXM, kernel};
use super::schemes::special_sum;
use super::structure::{DeviceMask, Pattern, expand, places};
use super::{matrix::write_back, strided, threads};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape};
use crate::layout::DeviceValues;
use crate::matrix::CudaMatrix;
use crate::vector::CudaValue;
use crate::{Cuda, Error, Result};
use bitgraph_backend::{Accumulate, MatrixMask, Mxm, Ring};
use bitgraph_semiring::Scalar;
use bitgraph_sparse::Descriptor;

fn values(matrix: &CudaMatrix) -> DevicePtr<u8> {
    matrix.values().map_or(DevicePtr::NULL, |v| v.data.ptr())
}

fn operand(matrix: &CudaMatrix, transpose: bool) -> Result<&CudaMatrix> {
    if transpose { matrix.transposed() } else { Ok(matrix) }
}

impl<S: Ring> Mxm<S> for Cuda {
    fn mxm_checked<C: Accumulate<S::Out>>(
        &self,
        c: &mut CudaMatrix,
        mask: Option<MatrixMask<'_, Self>>,
        accum: C,
        a: &CudaMatrix,
        b: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<(), Error> {
        let device = self.device();
        let (a, b) = (operand(a, descriptor.transpose_a)?, operand(b, descriptor.transpose_b)?);
        let mask = DeviceMask::of(device, mask, descriptor.replace)?;
        let products = expand(device, &Pattern::of(device, a.lists()?)?, b.lists()?, &mask)?;
        let places = places(device, &products)?;
        drop(products);
        let nnz = places.csr.nnz;
        let data = device.alloc_for::<u8>(nnz * size_of::<S::Out>(), "matrix values")?;
        let params = MxmSumParams {
            pairs: places.pairs.ptr(),
            starts: places.starts.ptr(),
            places: nnz as u64,
            products: places.products,
            a_values: values(a),
            b_values: values(b),
            out: data.ptr(),
        };
        strided(device, &kernel::<S>(device, &MXM, "mxm_sum_csr")?, params.places, &params)?;
        let t = DeviceValues { dtype: <S::Out as Scalar>::DTYPE, len: nnz, data };
        write_back::<S::Out, C>(device, c, &mask, accum, &places.csr, &t)
    }

    fn mxm_reduce_checked(
        &self,
        mask: Option<MatrixMask<'_, Self>>,
        a: &CudaMatrix,
        b: &CudaMatrix,
        descriptor: Descriptor,
    ) -> Result<CudaValue<S::Out>, Error> {
        let device = self.device();
        let dots = mask.as_ref().is_some_and(|m| !m.mode.complement);
        let a = operand(a, descriptor.transpose_a)?;
        // Columns of b are wanted as rows where the mask's entries are visited.
        let b = operand(b, descriptor.transpose_b != dots)?;
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

fn reduce<S: Ring>(device: &Device, dots: bool, a: &CudaMatrix, b: &CudaMatrix, mask: &DeviceMask) -> Result<CudaValue<S::Out>> {
    let left = Pattern::of(device, a.lists()?)?;
    // Eight lanes for an entry of the mask, a warp for one of a.
    let work = if dots { mask.params.pattern.entries * 8 } else { left.csr.nnz as u64 * 32 };
    let block = threads(device);
    let grid = work.div_ceil(u64::from(block)).min(u64::from(device.properties().sms) * 16) as u32;
    let warps = u64::from(grid * (block / 32));
    let totals: Buffer<Total> = device.alloc(warps as usize)?;
    let out = device.alloc_for::<u8>(size_of::<S::Out>(), "a value")?;
    let params = MxmReduceParams {
        a: left.rows(),
        b: Rows::of(b.lists()?, None),
        a_values: values(a),
        b_values: values(b),
        mask: mask.params,
        totals: totals.ptr(),
        warps,
        out: Target::entries(&out),
    };
    let name = if dots { "mxm_dots_csr" } else { "mxm_products_csr" };
    device.launch(&kernel::<S>(device, &MXM, name)?, Shape { grid, block, shared: 0, mode: Mode::Plain }, &params)?;
    let finish = kernel::<S>(device, &MXM, "mxm_finish_csr")?;
    device.launch(&finish, Shape { grid: 1, block: 32, shared: 0, mode: Mode::Plain }, &params)?;
    Ok(CudaValue::new(out))
}
