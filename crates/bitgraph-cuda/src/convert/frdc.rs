//! Lists to FRDC: the tiles of B2SR-4, and scales of rows and columns.
//!
//! Invariant: the sections are those of `bitgraph-frdc`, bit for bit. The degrees that a normalisation needs are counted from the lists.

use super::tiles::{self, TileOptions};
use crate::Result;
use crate::device::{Buffer, Device, DevicePtr, parameters};
use crate::layout::{DeviceB2sr, DeviceCsr};
use crate::primitives::{degrees, elementwise, histogram};
use crate::resident::{DeviceFormat, Elements};
use bitgraph_frdc::{Frdc, Normalization};
use bitgraph_sparse::{Format, FormatKind};

parameters! {
    struct ScalesParams = "formats/scales.cu" "bg::ScalesParams" {
        degrees: DevicePtr<u32>,
        scales: DevicePtr<f32>,
        n: u64,
        root: u32,
        unused: u32,
    }
}

/// A binary adjacency matrix in tiles of 4 x 4 on the device, perhaps with scales: the arrays of [`Frdc`].
#[derive(Clone, Debug)]
pub struct DeviceFrdc {
    /// The tiles.
    pub tiles: DeviceB2sr,
    /// The scale of each row; `None` counts as 1 for all.
    pub row_scales: Option<Buffer<f32>>,
    /// The scale of each column; `None` counts as 1 for all.
    pub column_scales: Option<Buffer<f32>>,
}

/// Lays out lists in tiles on the device, with the scales of a normalisation if one is given, as [`Frdc::from_csr`] and
/// [`Frdc::normalized`] do. O(nnz + rows + columns).
///
/// # Errors
/// Out of memory.
pub fn frdc(device: &Device, csr: &DeviceCsr, how: Option<Normalization>) -> Result<DeviceFrdc> {
    let tiles = tiles::build(device, csr, FormatKind::B2sr4, &TileOptions::default())?;
    let (row_scales, column_scales) = match how {
        None => (None, None),
        Some(Normalization::Row) => (Some(scales(device, &degrees(device, csr)?, false)?), None),
        Some(Normalization::Symmetric) => {
            let columns = histogram(device, &csr.indices, csr.columns)?;
            (Some(scales(device, &degrees(device, csr)?, true)?), Some(scales(device, &columns, true)?))
        }
    };
    Ok(DeviceFrdc { tiles, row_scales, column_scales })
}

/// The inverse of each degree, or its root; 0 for 0.
fn scales(device: &Device, degrees: &Buffer<u32>, root: bool) -> Result<Buffer<f32>> {
    let scales = device.alloc::<f32>(degrees.len())?;
    let (n, root) = (degrees.len() as u64, u32::from(root));
    let parameters = ScalesParams { degrees: degrees.ptr(), scales: scales.ptr(), n, root, unused: 0 };
    // SAFETY: both arrays have `n` elements.
    unsafe { elementwise(device, "formats/scales", "scales_of_degrees", n, &parameters) }?;
    Ok(scales)
}

impl DeviceFrdc {
    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.to_form().bytes()
    }
    /// The same arrays by the names of the host's sections, as a [`Definition`](bitgraph_backend::Definition) over [`Frdc`] takes them.
    #[must_use]
    pub fn to_form(&self) -> DeviceFormat {
        let mut sections = vec![
            ("tile_offsets", Elements::from(&self.tiles.tile_offsets)),
            ("tile_columns", Elements::U32(self.tiles.tile_columns.clone())),
            ("tile_words", Elements::U16(self.tiles.tile_words.cast())),
        ];
        for (name, scales) in [("row_scales", &self.row_scales), ("column_scales", &self.column_scales)] {
            sections.extend(scales.iter().map(|scales| (name, Elements::U32(scales.cast()))));
        }
        DeviceFormat::new(Frdc::NAME, (self.tiles.rows, self.tiles.columns), self.tiles.nnz, sections)
    }
}
