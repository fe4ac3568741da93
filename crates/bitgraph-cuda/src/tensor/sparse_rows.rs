//! Rows of a sparse matrix with values, gathered by numbers on the device: `kernels/tensor/sparse_rows.cu`.
//!
//! Two launches: one finds where the rows start and how many entries they have, while the device alone knows how many rows there are; the other
//! copies entries, once the host has read both numbers.

use super::array::CudaArray;
use super::typed::bytes;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::layout::{DeviceCsr, Offsets};
use crate::matrix::CudaMatrix;
use crate::primitives::{self, RowOffsets};
use crate::{Cuda, Result};
use bitgraph_backend::Matrix;
use bitgraph_kernels::constant;
use bitgraph_sparse::FormatKind;
use bitgraph_tensor::ops::SparseRows;
use bitgraph_tensor::{Any, Dense, Element, Window, with_dense};

const MODULE: &str = "tensor/sparse_rows";
/// Rows of a thread that finds where they start.
const ITEMS: u32 = constant("tensor/sparse_rows.cu", "SPARSE_ROWS_ITEMS") as u32;
/// Entries that are counted beside two bits of a status word, and by offsets of 32 bits.
const MOST: u64 = 1 << 31;

parameters! {
    struct StartsParams = "tensor/sparse_rows.cu" "bg::SparseRowsStartsParams" {
        from: RowOffsets,
        rows: DevicePtr<u32>,
        count: DevicePtr<u64>,
        starts: DevicePtr<u32>,
        entries: DevicePtr<u64>,
        status: DevicePtr<u64>,
    }
    struct CopyParams = "tensor/sparse_rows.cu" "bg::SparseRowsCopyParams" {
        from: RowOffsets,
        rows: DevicePtr<u32>,
        starts: DevicePtr<u32>,
        from_columns: DevicePtr<u32>,
        from_values: DevicePtr<u8>,
        offsets: DevicePtr<u32>,
        columns: DevicePtr<u32>,
        values: DevicePtr<u8>,
        n: u32,
        entries: u32,
        bytes: u32,
        reserved: u32,
    }
}

/// A matrix whose rows are gathered.
pub(super) struct Gathered {
    matrix: CudaMatrix,
    values: Any<Cuda>,
    data: Buffer<u8>,
    /// Entries of a row at most.
    longest: u32,
    /// Where the rows of the last gathering start.
    starts: Buffer<u32>,
}

impl Gathered {
    /// For so many rows at most, which differ from each other. The reason in place of it where entries are too many, or values have gaps.
    pub fn new(device: &Device, from: SparseRows<'_, Cuda>, most: u64) -> Result<std::result::Result<Self, String>> {
        let (matrix, values) = (from.pattern.raw().clone(), from.values.clone());
        let lists = matrix.lists()?;
        let Some(data) = with_dense!(&values, x => bytes(x.raw(), x.window())) else {
            return Ok(Err("values of sparse features have gaps".into()));
        };
        let longest = primitives::reduce(device, &primitives::degrees(device, lists)?)?.max;
        let entries = most.saturating_mul(longest.into()).min(lists.nnz as u64);
        if entries >= MOST {
            return Ok(Err(format!("a batch may have {entries} entries of features, and fewer than 2^31 are numbered on the device")));
        }
        let starts = device.alloc_for(most as usize, "rows of sparse features of a sampler")?;
        Ok(Ok(Self { matrix, values, data, longest, starts }))
    }
    /// Status words of a gathering of so many rows at most.
    pub fn status_words(device: &Device, most: u64) -> usize {
        1 + starts_blocks(device, most) as usize
    }
    /// Finds where so many rows start, at most `most`, and leaves the number of their entries; `status` has as many zeros as
    /// [`Gathered::status_words`] says. One launch.
    ///
    /// # Safety
    /// `rows` holds as many numbers of rows of the matrix as the lower half of `count` says.
    pub unsafe fn find(
        &self,
        device: &Device,
        (rows, count, most): (DevicePtr<u32>, DevicePtr<u64>, u64),
        (entries, status): (DevicePtr<u64>, DevicePtr<u64>),
    ) -> Result<()> {
        let from = RowOffsets::of(self.matrix.lists()?);
        let params = StartsParams { from, rows, count, starts: self.starts.ptr(), entries, status };
        let shape = Shape { grid: starts_blocks(device, most), block: threads(device), shared: 36 * 8, mode: Mode::Plain };
        // SAFETY: the caller's promises; there is a place for as many rows as there may be.
        unsafe { device.launch(&device.kernel(MODULE, "sparse_rows_starts")?, shape, &params) }
    }
    /// The rows that were found last, so many of so many entries, as a matrix and its values. One launch.
    ///
    /// # Safety
    /// As of [`Gathered::find`], and nothing was found since.
    pub unsafe fn copy(&self, cuda: &Cuda, rows: DevicePtr<u32>, (n, entries): (u32, u32)) -> Result<(Matrix<Cuda>, Any<Cuda>)> {
        let device = cuda.device();
        let lists = self.matrix.lists()?;
        let (offsets, columns) = (device.alloc::<u32>(n as usize + 1)?, device.alloc::<u32>(entries as usize)?);
        let (values, to) = with_dense!(&self.values, x => like(cuda, x, entries as usize)?);
        let params = CopyParams {
            from: RowOffsets::of(lists),
            rows,
            starts: self.starts.ptr(),
            from_columns: lists.indices.ptr(),
            from_values: self.data.ptr(),
            offsets: offsets.ptr(),
            columns: columns.ptr(),
            values: to,
            n,
            entries,
            bytes: self.values.dtype().bytes() as u32,
            reserved: 0,
        };
        let block = threads(device);
        let most = u64::from(device.properties().sms) * 16;
        let grid = u64::from(n).div_ceil(u64::from(block / 32)).clamp(1, most) as u32;
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: the caller's promises; the arrays were made above for so many rows and entries.
        unsafe { device.launch(&device.kernel(MODULE, "sparse_rows_copy")?, shape, &params) }?;
        let lists =
            DeviceCsr { rows: n as usize, columns: lists.columns, nnz: entries as usize, offsets: Offsets::U32(offsets), indices: columns };
        let matrix = CudaMatrix::from_lists(device, lists, None, FormatKind::Csr)?.short_lived(self.longest);
        Ok((Matrix::from_raw(cuda, matrix), values))
    }
}

fn threads(device: &Device) -> u32 {
    primitives::threads(device, primitives::THREADS)
}
/// Blocks that find where so many rows start at most.
fn starts_blocks(device: &Device, most: u64) -> u32 {
    // Rows are below 2^31.
    most.div_ceil(u64::from(threads(device) * ITEMS)).max(1) as u32
}
/// An array of so many elements of a matrix's type as a column, and where it is.
fn like<T: Element>(cuda: &Cuda, _: &Dense<Cuda, T>, n: usize) -> Result<(Any<Cuda>, DevicePtr<u8>)> {
    let array = CudaArray::<T>::uninitialised(cuda.device(), n)?;
    let at = array.ptr().cast();
    let window = Window::whole(n, 1).map_err(bitgraph_backend::Error::from)?;
    Ok((Dense::from_raw(cuda, array, window).any(), at))
}
