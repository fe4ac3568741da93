//! Sums of signs that lanes gather themselves: rows in their order or in classes by length, what `kernels/tensor/bits_aggregate.cuh` does, and
//! signs of short rows alone, what `kernels/tensor/bits_rows.cuh` does.
//!
//! Invariant: a form is of one matrix, and has what its kernels need for every row.

use super::DeviceBits;
use super::aggregate::{Epilogue, SIGNS};
use super::select::{self, Gather};
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{self, elementwise, exclusive_scan_total};
use crate::spmv::Pattern;
use crate::{DeviceCsr, Error, Result};
use bitgraph_backend::Error as Base;
use bitgraph_bittensor::BitLayout;
use bitgraph_semiring::DType;

parameters! {
    struct AggregateParams = "tensor/bits_aggregate.cuh" "bg::BitsAggregateParams" {
        epilogue: Epilogue,
        features: DevicePtr<u32>,
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        arrived: DevicePtr<u32>,
        partial: DevicePtr<u16>,
        warp_ends: [u32; 4],
        row_ends: [u32; 4],
        rows: u32,
        entries: u32,
        cut_count: u32,
        pitch: u32,
        slice_blocks: u32,
        with_self: u32,
    }
    struct ClassesParams = "tensor/bits_aggregate.cu" "bg::BitsClasses" {
        offsets: DevicePtr<u32>,
        order: DevicePtr<u32>,
        pieces: DevicePtr<u32>,
        ends: DevicePtr<u32>,
        piece: DevicePtr<[u32; 4]>,
        cut: DevicePtr<[u32; 4]>,
        limits: [u32; 4],
        rows: u32,
        unused: u32,
    }
}

const MODULE: &str = "tensor/bits_aggregate";

/// Rows in classes, and the pieces of those that are cut.
#[derive(Clone, Debug, Default)]
struct Classes {
    order: Option<Buffer<u32>>,
    pieces: Buffer<[u32; 4]>,
    cut: Buffer<[u32; 4]>,
    arrived: Buffer<u32>,
    partial: Buffer<u16>,
    /// Rows that are cut, and where the classes of a warp, of some lanes and of two lanes end.
    row_ends: [u32; 4],
}

/// Rows as lanes gather their lines.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    pattern: Pattern,
    classes: Classes,
    with_self: bool,
}

impl Gathered {
    /// Of classes, a sort of the rows by length; waits.
    pub(super) fn build(
        device: &Device,
        csr: &DeviceCsr,
        pattern: Pattern,
        form: Gather,
        features: &BitLayout,
        with_self: bool,
    ) -> Result<Self> {
        let rows = pattern.rows() as u32;
        let row_ends = |ends| Ok(Classes { row_ends: ends, ..Classes::default() });
        let classes = match form {
            Gather::Rows { lanes: 1 } => row_ends([0; 4]),
            Gather::Rows { lanes: 2 } => row_ends([0, 0, 0, rows]),
            Gather::Rows { .. } => row_ends([0, 0, rows, rows]),
            Gather::Classes => Classes::build(device, csr, &pattern, features),
        }?;
        Ok(Self { pattern, classes, with_self })
    }
    fn parameters(&self, x: &DeviceBits, epilogue: Epilogue, slice_blocks: u64) -> AggregateParams {
        let classes = &self.classes;
        AggregateParams {
            epilogue,
            features: x.words().ptr(),
            offsets: self.pattern.offsets.ptr(),
            indices: self.pattern.indices.ptr(),
            order: classes.order.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
            pieces: classes.pieces.ptr(),
            cut: classes.cut.ptr(),
            arrived: classes.arrived.ptr(),
            partial: classes.partial.ptr(),
            warp_ends: [0; 4],
            row_ends: classes.row_ends,
            rows: self.pattern.rows() as u32,
            entries: self.pattern.entries() as u32,
            cut_count: classes.cut.len() as u32,
            pitch: 32 * epilogue.stride,
            slice_blocks: slice_blocks as u32,
            with_self: u32::from(self.with_self),
        }
    }
    /// Anything of any row; `many`: by kernels of signs alone, if there is one for the lines. One launch.
    pub(super) fn run(&self, device: &Device, x: &DeviceBits, epilogue: Epilogue, many: bool) -> Result<()> {
        let (vector, lanes) = line_shape(epilogue.stride, aligned(x, &epilogue));
        let rows = self.pattern.rows() as u32;
        // Warps of each class: the pieces, then the rows by the lanes of each.
        let shared = if lanes >= 4 { 2 } else { 8 };
        let [cut, whole, some, pair] = self.classes.row_ends;
        let mut warp_ends = [self.classes.pieces.len() as u32; 4];
        warp_ends[1] = warp_ends[0] + (whole - cut);
        warp_ends[2] = warp_ends[1] + (some - whole).div_ceil(32 / (lanes * shared));
        warp_ends[3] = warp_ends[2] + (pair - some).div_ceil(16 / lanes);
        let warps = u64::from(warp_ends[3]) + u64::from((rows - pair).div_ceil(32 / lanes));
        let block = primitives::threads(device, primitives::THREADS);
        let slice_blocks = warps.div_ceil(u64::from(block / 32));
        let slices = epilogue.stride.div_ceil(vector * lanes);
        let grid = primitives::blocks(slice_blocks.saturating_mul(slices.into()), 1)?;
        let parameters = AggregateParams { warp_ends, ..self.parameters(x, epilogue, slice_blocks) };
        let what = if many && vector == 4 && epilogue.kind == SIGNS { "signs" } else { "aggregate" };
        let kernel = device.kernel(MODULE, &format!("bits_{what}_{vector}x{lanes}"))?;
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: the layout was made for this matrix, and the caller compared the operands with it and the features.
        unsafe { device.launch(&kernel, shape, &parameters) }
    }
    /// Signs of rows of at most SHARED_ROW entries, each by `shared` groups of lanes, where there is a kernel for the lines. One launch.
    pub(super) fn run_rows(&self, device: &Device, x: &DeviceBits, epilogue: Epilogue, shared: u32) -> Result<()> {
        let shape = if aligned(x, &epilogue) { row_shape(epilogue.stride, shared) } else { None };
        let Some((vector, lanes, shared)) = shape else { return self.run(device, x, epilogue, false) };
        let block = primitives::threads(device, primitives::THREADS);
        let slice_blocks = (self.pattern.rows() as u64).div_ceil(u64::from(block / (lanes * shared)));
        let slices = epilogue.stride.div_ceil(vector * lanes);
        let grid = primitives::blocks(slice_blocks.saturating_mul(slices.into()), 1)?;
        let kernel = device.kernel("tensor/bits_rows", &format!("bits_rows_{vector}x{lanes}_{shared}"))?;
        let shape = Shape { grid, block, shared: 0, mode: Mode::Plain };
        // SAFETY: as above.
        unsafe { device.launch(&kernel, shape, &self.parameters(x, epilogue, slice_blocks)) }
    }
    /// How the rows are cut.
    pub(super) fn explain(&self) -> String {
        let (rows, [cut, whole, some, pair]) = (self.pattern.rows() as u32, self.classes.row_ends);
        if self.classes.order.is_none() {
            return format!("{rows} rows in their order");
        }
        let pieces = self.classes.pieces.len();
        format!("{cut} rows in {pieces} pieces, then {}, {}, {} and {}", whole - cut, some - whole, pair - some, rows - pair)
    }
    pub(super) fn bytes(&self) -> u64 {
        let c = &self.classes;
        c.order.as_ref().map_or(0, Buffer::bytes) + c.pieces.bytes() + c.cut.bytes() + c.arrived.bytes() + c.partial.bytes()
    }
}

impl Classes {
    /// O(rows) on the device; waits.
    fn build(device: &Device, csr: &DeviceCsr, pattern: &Pattern, features: &BitLayout) -> Result<Self> {
        let order = primitives::degree_order(device, csr)?.old_of_new;
        let rows = csr.rows;
        let counts = device.alloc::<u32>(rows)?;
        let ends = device.zeroed::<u32>(4)?;
        let mut build = ClassesParams {
            offsets: pattern.offsets.ptr(),
            order: order.ptr(),
            pieces: counts.ptr(),
            ends: ends.ptr(),
            piece: DevicePtr::NULL,
            cut: DevicePtr::NULL,
            limits: [select::PIECE, select::SHARED_ROW, select::PAIR_ROW, select::SHORT_ROW],
            rows: rows as u32,
            unused: 0,
        };
        // SAFETY: the arrays are as long as the matrix has rows.
        unsafe { elementwise(device, MODULE, "bits_classes_count", rows as u64, &build) }?;
        let (starts, total) = exclusive_scan_total(device, &counts)?;
        let found = ends.to_vec()?;
        let row_ends = [found[0], found[1], found[2], found[3]];
        let pieces = device.alloc::<[u32; 4]>(total as usize)?;
        let cut = device.alloc::<[u32; 4]>(row_ends[0] as usize)?;
        (build.pieces, build.piece, build.cut) = (starts.ptr(), pieces.ptr(), cut.ptr());
        // SAFETY: as above; as many pieces as were counted.
        unsafe { elementwise(device, MODULE, "bits_classes_fill", rows as u64, &build) }?;
        let overflow = || Error::from(Base::Overflow { what: "the partial counts of cut rows", dtype: DType::U64 });
        let columns = features.stride().checked_mul(32).ok_or_else(overflow)?;
        let partial = device.alloc_for::<u16>(pieces.len().checked_mul(columns).ok_or_else(overflow)?, "partial counts of cut rows")?;
        // Enough for slices of one word.
        let arrived = device.zeroed::<u32>(cut.len().checked_mul(features.stride()).ok_or_else(overflow)?)?;
        Ok(Self { order: Some(order), pieces, cut, arrived, partial, row_ends })
    }
}

pub(super) fn aligned(x: &DeviceBits, epilogue: &Epilogue) -> bool {
    x.words().ptr().address().is_multiple_of(16) && epilogue.output.address().is_multiple_of(16)
}

/// Words of a lane and lanes of a line, or of a slice of it.
fn line_shape(stride: u32, aligned: bool) -> (u32, u32) {
    match (stride, aligned) {
        (1, _) => (1, 1),
        (2, true) => (2, 1),
        (4, true) => (4, 1),
        (8, true) => (4, 2),
        (12 | 16, true) => (4, 4),
        (s, true) if s.is_multiple_of(4) => (4, 8),
        (s, true) if s.is_multiple_of(2) => (2, 8),
        _ => (1, 8),
    }
}

/// Words of a lane, lanes of a line or of a slice of it, and groups of such lanes for a row of which `shared` are wanted: of the kernels that
/// there are, which were the best for some matrix.
fn row_shape(stride: u32, shared: u32) -> Option<(u32, u32, u32)> {
    match stride {
        2 => Some((2, 1, if matches!(shared, 2 | 4 | 8) { shared } else { 1 })),
        4 => Some(if shared == 1 { (4, 1, 1) } else { (2, 2, if shared < 4 { 2 } else { 4 }) }),
        8 => Some((4, 2, if shared < 4 { 1 } else { 2 })),
        12 | 16 => Some((4, 4, 1)),
        s if s > 0 && s.is_multiple_of(4) => Some((4, 8, 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fill_lanes() {
        let shapes = [1, 2, 3, 4, 6, 8, 12, 16, 19, 32].map(|s| line_shape(s, true));
        assert_eq!(shapes, [(1, 1), (2, 1), (1, 8), (4, 1), (2, 8), (4, 2), (4, 4), (4, 4), (1, 8), (4, 8)]);
        assert_eq!(line_shape(8, false), (1, 8));
    }
}
