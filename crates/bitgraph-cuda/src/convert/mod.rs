//! Conversions between the storage formats, and the counts that decide between them, on the device.
//!
//! # Invariants
//! The sections are those of the host's conversions (`bitgraph-b2sr`, `bitgraph-frdc`, `bitgraph-sgt`), byte for byte, whatever the block size and the order of blocks.
#![allow(unsafe_code)]

mod counts;
mod frdc;
mod hybrid;
mod lists;
mod profile;
mod sgt;
mod tiles;

pub use counts::{TileCountConfig, tile_counts};
pub use frdc::{DeviceFrdc, frdc};
pub use profile::{DeviceProfile, DeviceProfileConfig, profile};
pub use sgt::{DeviceBlocks, DeviceSgt, SgtOptions, sgt};
pub use tiles::TileOptions;

use crate::Result;
use crate::device::Device;
use crate::layout::{DeviceCsr, DeviceValues, Layout};
use crate::primitives;
use bitgraph_b2sr::HybridConfig;
use bitgraph_sparse::FormatKind;

/// Lays out lists in a format.
///
/// # Errors
/// Out of memory.
pub(crate) fn layout(device: &Device, lists: DeviceCsr, format: FormatKind) -> Result<Layout> {
    layout_with(device, lists, format, &TileOptions::default())
}

/// Lays out lists in a format, with the limits of the conversion.
///
/// # Errors
/// Out of memory.
pub fn layout_with(device: &Device, lists: DeviceCsr, format: FormatKind, options: &TileOptions) -> Result<Layout> {
    Ok(match format {
        FormatKind::Csr => Layout::Csr(lists),
        FormatKind::Hybrid => Layout::Hybrid(hybrid::build(device, &lists, &HybridConfig::default(), options)?),
        _ => Layout::B2sr(tiles::build(device, &lists, format, options)?),
    })
}

/// The lists of any format.
///
/// # Errors
/// Out of memory.
pub(crate) fn lists(device: &Device, layout: &Layout) -> Result<DeviceCsr> {
    lists::build(device, layout)
}

/// The transposed lists, with their values.
///
/// # Errors
/// Out of memory.
pub(crate) fn transpose(device: &Device, lists: &DeviceCsr, values: Option<&DeviceValues>) -> Result<(DeviceCsr, Option<DeviceValues>)> {
    primitives::transpose(device, lists, values)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod translation_tests;
