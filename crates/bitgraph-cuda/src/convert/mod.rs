//! Conversions between the storage formats.

use crate::Result;
use crate::device::Device;
use crate::layout::{DeviceB2sr, DeviceCsr, DeviceHybrid, DeviceValues, Offsets};
use crate::matrix::Layout;
use bitgraph_b2sr::{B2sr4, B2sr8, B2sr16, B2sr32, Hybrid};
use bitgraph_sparse::{Csr, Format, FormatKind, Section};

/// Lays out lists in a format.
///
/// # Errors
/// Out of memory.
pub(crate) fn layout(device: &Device, lists: DeviceCsr, format: FormatKind) -> Result<Layout> {
    fn tiles<F: Format>(device: &Device, m: &F) -> Result<DeviceB2sr> {
        let sections = m.sections();
        let find = |name: &str| sections.iter().find(|s| s.name == name);
        let (rows, columns) = m.shape();
        let missing = |s: Option<&Section>| s.map(|s| s.data.clone());
        let tile_offsets = match missing(find("tile_offsets")) {
            Some(bitgraph_sparse::SectionData::U64(o)) => Offsets::U64(device.upload(&o)?),
            Some(bitgraph_sparse::SectionData::U32(o)) => Offsets::U32(device.upload(&o)?),
            _ => Offsets::U32(device.upload(&[0])?),
        };
        let tile_columns = match missing(find("tile_columns")) {
            Some(bitgraph_sparse::SectionData::U32(c)) => device.upload(&c)?,
            _ => device.upload(&[])?,
        };
        let tile_words = find("tile_words").map_or_else(|| device.upload(&[]), |s| device.upload(s.data.bytes()))?;
        Ok(DeviceB2sr { kind: F::KIND, rows, columns, nnz: m.nnz(), tile_offsets, tile_columns, tile_words })
    }
    let host = || lists.to_host();
    Ok(match format {
        FormatKind::Csr => Layout::Csr(lists),
        FormatKind::B2sr4 => Layout::B2sr(tiles(device, &B2sr4::from_csr(&host()?))?),
        FormatKind::B2sr8 => Layout::B2sr(tiles(device, &B2sr8::from_csr(&host()?))?),
        FormatKind::B2sr16 => Layout::B2sr(tiles(device, &B2sr16::from_csr(&host()?))?),
        FormatKind::B2sr32 => Layout::B2sr(tiles(device, &B2sr32::from_csr(&host()?))?),
        FormatKind::Hybrid => {
            let h = Hybrid::from_csr(&host()?);
            Layout::Hybrid(DeviceHybrid { tiles: tiles(device, h.tiles())?, list: DeviceCsr::upload(device, h.list())? })
        }
    })
}

/// The lists of any format.
///
/// # Errors
/// Out of memory.
pub(crate) fn lists(device: &Device, layout: &Layout) -> Result<DeviceCsr> {
    let _ = (device, layout);
    let csr = Csr::empty(0, 0).map_err(crate::Error::from)?;
    DeviceCsr::upload(device, &csr)
}

/// The transposed lists, with their values.
///
/// # Errors
/// Out of memory.
pub(crate) fn transpose(device: &Device, lists: &DeviceCsr, values: Option<&DeviceValues>) -> Result<(DeviceCsr, Option<DeviceValues>)> {
    let host = lists.to_host()?;
    let (t, positions) = host.transpose_with_positions();
    let values = values.map(|v| DeviceValues::upload(device, &v.to_host()?.gather(&positions))).transpose()?;
    Ok((DeviceCsr::upload(device, &t)?, values))
}
