//! Rows shared out to blocks that share many columns, on the device, as `kernels/tensor/spmm_blocks.cu` grows them within cells.
//!
//! Counted by the columns that blocks of 64 rows own for each row: 3.8 on `mesh:50x50x80` (7.6 in its own order, 3.4 by cubes of four), 1.55 on a
//! grid (3.0, and 1.5 by squares of eight), whatever the numbers of the vertices.
//!
//! Invariant: every row lies in one block.

use super::cells;
use super::select::SHORT_ROWS;
use super::staged::BLOCK_ROWS;
use super::tasks::elementwise_rows;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, Mode, Shape, parameters};
use crate::primitives::{exclusive_scan, exclusive_scan_total, fill_u32, histogram, id_bits, iota, reduce, sort_pairs};
use crate::spmv::Pattern;
use bitgraph_kernels::constant;

parameters! {
    struct BlocksParams = "tensor/spmm_blocks.cu" "bg::BlocksParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        cells: DevicePtr<u32>,
        sizes: DevicePtr<u32>,
        firsts: DevicePtr<u32>,
        begins: DevicePtr<u32>,
        members: DevicePtr<u32>,
        states: DevicePtr<u32>,
        order: DevicePtr<u32>,
        rows: u32,
        by_columns: u32,
    }
}

const MODULE: &str = "tensor/spmm_blocks";
/// Shared memory of a warp that grows: neighbours and rows of a block, candidates and their keys.
const SHARED: usize = BLOCK_ROWS * 12 + constant("tensor/spmm_blocks.cu", "CANDIDATES") as usize * 8;
/// In place of a row where a block has fewer.
const NO_ROW: u32 = constant("tensor/spmm_staged.cuh", "NO_ROW") as u32;
/// Places of blocks over rows, at most, for blocks that end where cells do. The next cell's rows own other columns, and the block with the most
/// columns sets the shared memory of all: 428 on `mesh:50x50x80`, 362 if blocks end.
const MOST_PLACES: f64 = 1.25;

/// Rows of a cell at most: a warp looks at all of them for each of its blocks. A random graph has one cell if enough of its vertices are isolated, since
/// each is the seed of its own; of 630 thousand rows that took minutes.
const LARGEST_CELL: u32 = 1 << 14;

/// The rows of blocks of [`BLOCK_ROWS`], one after the other, [`NO_ROW`] where a block has fewer; None where a cell is too large. Of a square pattern. About 60 launches over the
/// entries, a sort of the rows, and a launch in which a warp grows the blocks of a cell row by row; waits.
pub(super) fn order(device: &Device, pattern: &Pattern) -> Result<Option<Buffer<u32>>> {
    let rows = pattern.rows();
    let long = pattern.entries() as f64 > SHORT_ROWS * rows as f64;
    let cells = cells::of(device, pattern)?;
    let sizes = histogram(device, &cells, rows)?;
    if reduce(device, &sizes)?.max > LARGEST_CELL {
        return Ok(None);
    }
    let firsts = exclusive_scan(device, &sizes)?;
    let members = sort_pairs(device, &cells, &iota(device, rows, 0)?, 0..id_bits(rows))?.1;
    let (counts, states) = (device.alloc::<u32>(rows)?, device.alloc::<u32>(rows)?);
    let mut parameters = BlocksParams {
        offsets: pattern.offsets.ptr(),
        indices: pattern.indices.ptr(),
        cells: cells.ptr(),
        sizes: sizes.ptr(),
        firsts: firsts.ptr(),
        begins: DevicePtr::NULL,
        members: members.ptr(),
        states: states.ptr(),
        order: counts.ptr(),
        rows: rows as u32,
        by_columns: u32::from(!long),
    };
    elementwise_rows(device, MODULE, "spmm_blocks_count", rows, &parameters)?;
    elementwise_rows(device, MODULE, "spmm_blocks_start", rows, &parameters)?;
    let (begins, blocks) = exclusive_scan_total(device, &counts)?;
    // Short rows own few columns, and blocks that are not full cost as much as others: on a grid of a million rows 7 %.
    let apart = long && (blocks as usize * BLOCK_ROWS) as f64 <= MOST_PLACES * rows as f64;
    let blocks = if apart { blocks as usize } else { rows.div_ceil(BLOCK_ROWS) };
    let order = fill_u32(device, blocks * BLOCK_ROWS, NO_ROW)?;
    if apart {
        parameters.begins = begins.ptr();
    }
    parameters.order = order.ptr();
    let grid = rows.div_ceil(32).min(1 << 20) as u32;
    let kernel = device.kernel(MODULE, "spmm_blocks_grow")?;
    // SAFETY: the arrays are of the pattern, one word for each row, and the order has a place for every row of every cell.
    unsafe { device.launch(&kernel, Shape { grid, block: 32, shared: SHARED as u32, mode: Mode::Plain }, &parameters) }?;
    Ok(Some(order))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::testing::device;
    use crate::tensor::forms::testing::{Draw, lists};
    use bitgraph_sparse::{Coo, Csr, Duplicates};
    use std::collections::BTreeSet;

    fn symmetric(rows: usize, edges: impl Iterator<Item = (u32, u32)>) -> Csr {
        let (r, c) = edges.flat_map(|(i, j)| [(i, j), (j, i)]).unzip();
        Coo::pattern(rows, rows, r, c).into_csr(Duplicates::First).unwrap().0
    }

    /// Blocks, and columns that they own for each row.
    fn blocks_of(device: &Device, csr: &Csr) -> (usize, f64) {
        let order = order(device, &Pattern::of(&lists(device, csr)).unwrap()).unwrap().unwrap().to_vec().unwrap();
        let mut rows: Vec<u32> = order.iter().copied().filter(|&row| row != NO_ROW).collect();
        let own = |block: &[u32]| -> usize {
            block.iter().filter(|&&row| row != NO_ROW).flat_map(|&row| csr.row(row as usize)).collect::<BTreeSet<_>>().len()
        };
        let columns: usize = order.chunks(BLOCK_ROWS).map(own).sum();
        rows.sort_unstable();
        assert!(rows.iter().copied().eq(0..csr.nrows() as u32), "every row lies in one block");
        (order.len() / BLOCK_ROWS, columns as f64 / csr.nrows() as f64)
    }

    #[test]
    fn blocks_are_compact_whatever_the_numbers() {
        let Some(device) = device() else { return };
        let side = 90u32;
        // A grid whose vertices have other numbers: 4099 has no divisor with 8100 in common.
        let number = |x: u32, y: u32| (y * side + x) * 4099 % (side * side);
        let across = (0..side).flat_map(|y| (1..side).map(move |x| (number(x - 1, y), number(x, y))));
        let down = (1..side).flat_map(|y| (0..side).map(move |x| (number(x, y - 1), number(x, y))));
        let (blocks, share) = blocks_of(&device, &symmetric((side * side) as usize, across.chain(down)));
        // Squares of 8 x 8 own 1.5.
        assert!(share < 1.65 && blocks == 8100_usize.div_ceil(64), "{share} columns for each row, {blocks} blocks");
    }

    #[test]
    fn small_components_share_blocks() {
        let Some(device) = device() else { return };
        // Paths of three vertices, and vertices without entries.
        let csr = symmetric(1000, (0..300).flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 1, 3 * i + 2)]));
        assert_eq!(blocks_of(&device, &csr).0, 16);
    }

    #[test]
    fn more_candidates_than_are_kept() {
        let Some(device) = device() else { return };
        // A block's rows have about 1900 neighbours in all.
        let mut draw = Draw::new(7);
        let csr = symmetric(4000, (0..60_000).map(|_| (draw.below(4000), draw.below(4000))).collect::<Vec<_>>().into_iter());
        assert!(blocks_of(&device, &csr).0 >= 4000 / 64);
    }

    #[test]
    fn one_large_cell_is_no_order() {
        let Some(device) = device() else { return };
        // A path of points far apart in number, and as many points of their own as make seeds of all neighbourhoods too many.
        let (path, alone) = (17_000u32, 100u32);
        let mut draw = Draw::new(3);
        let near = (1..path).map(|i| (i - 1, i)).chain((0..path).map(|i| (i, draw.below(u64::from(path)))).collect::<Vec<_>>());
        let csr = symmetric((path + alone) as usize, near);
        assert!(order(&device, &Pattern::of(&lists(&device, &csr)).unwrap()).unwrap().is_none());
    }

    #[test]
    fn rows_may_be_named_by_many_and_name_few() {
        let Some(device) = device() else { return };
        // Each row names the next one and the first of its hundred.
        let (r, c) = (0..3000u32).flat_map(|i| [(i, i / 100 * 100), (i, (i + 1) % 3000)]).unzip();
        let csr = Coo::pattern(3000, 3000, r, c).into_csr(Duplicates::First).unwrap().0;
        assert!(blocks_of(&device, &csr).0 >= 3000_usize.div_ceil(BLOCK_ROWS));
    }
}
