//! Rows that share columns, by connected cells of some hundreds, found on the device.
//!
//! Cells about seeds, as `kernels/tensor/spmm_cells.cu` grows them: on a mesh or a grid they are balls.

use super::tasks::elementwise_rows;
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::spmv::Pattern;

parameters! {
    struct CellsParams = "tensor/spmm_cells.cu" "bg::CellsParams" {
        offsets: DevicePtr<u32>,
        indices: DevicePtr<u32>,
        before: DevicePtr<u32>,
        after: DevicePtr<u32>,
        count: DevicePtr<u32>,
        rows: u32,
        unused: u32,
    }
}

const MODULE: &str = "tensor/spmm_cells";
/// Rows of a cell in the mean, at least: seeds are searched in a wider and wider neighbourhood until there are so few.
const CELL_ROWS: usize = 512;
/// Steps of the widest neighbourhood.
const WIDEST: usize = 64;

/// The cell of each row: the number of one of its rows. Of a square pattern. On a grid about 50 launches over the entries; waits.
pub(super) fn of(device: &Device, pattern: &Pattern) -> Result<Buffer<u32>> {
    let rows = pattern.rows();
    let mut words = [device.alloc::<u32>(rows)?, device.alloc::<u32>(rows)?];
    let counts = device.zeroed::<u32>(WIDEST)?;
    let launch = |kernel: &str, before: DevicePtr<u32>, after: &Buffer<u32>, count: DevicePtr<u32>| {
        let parameters = CellsParams {
            offsets: pattern.offsets.ptr(),
            indices: pattern.indices.ptr(),
            before,
            after: after.ptr(),
            count,
            rows: rows as u32,
            unused: 0,
        };
        elementwise_rows(device, MODULE, kernel, rows, &parameters)
    };
    let mut radius = 0;
    while radius < WIDEST {
        let before = if radius == 0 { DevicePtr::NULL } else { words[0].ptr() };
        launch("spmm_cells_spread", before, &words[1], counts.ptr().offset(radius))?;
        words.swap(0, 1);
        radius += 1;
        if counts.get(radius - 1)? as usize <= rows / CELL_ROWS {
            break;
        }
    }
    launch("spmm_cells_seed", words[0].ptr(), &words[1], DevicePtr::NULL)?;
    words.swap(0, 1);
    // Twice the radius reaches every vertex whose smallest hash is a seed's; the rest are few.
    for _ in 0..2 * radius + 1 {
        launch("spmm_cells_grow", words[0].ptr(), &words[1], DevicePtr::NULL)?;
        words.swap(0, 1);
    }
    launch("spmm_cells_finish", words[0].ptr(), &words[1], DevicePtr::NULL)?;
    let [_, cells] = words;
    Ok(cells)
}
