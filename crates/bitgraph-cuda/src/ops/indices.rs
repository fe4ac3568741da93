//! Lists of positions, on the device whichever side they come from.
//!
//! Invariant: an index of a list is in range, or [`NONE`] where it names no position.

use super::params::{IndexListParams, NONE};
use super::structure::run;
use crate::device::{Buffer, Device, DevicePtr};
use crate::{Cuda, Result, primitives};
use bitgraph_backend::ops::Indices;

/// The list of positions below `len`, and whether every index names one.
pub(super) fn index_list(device: &Device, indices: &Indices<'_, Cuda>, len: usize) -> Result<(Buffer<u32>, bool)> {
    match indices {
        Indices::Host(list) => Ok((device.upload(list)?, true)),
        Indices::Device(vector) => {
            let vector = vector.raw();
            let list = device.alloc::<u32>(vector.len)?;
            let params = IndexListParams {
                indices: vector.store.ptr().cast(),
                present: vector.present.as_ref().map_or(DevicePtr::NULL, Buffer::ptr),
                list: list.ptr(),
                n: vector.len as u64,
                len: len.min(NONE as usize) as u64,
            };
            // SAFETY: the list was made above for the vector's length.
            unsafe { run(device, "index_list", params.n, &params) }?;
            Ok((list, false))
        }
    }
}

/// For each position the places of a list that name it, in order: offsets of lists, and the lists.
pub(super) fn lists_by_position(device: &Device, list: &Buffer<u32>, len: usize) -> Result<(Buffer<u32>, Buffer<u32>)> {
    let places = primitives::iota(device, list.len(), 0)?;
    let (sorted, places) = primitives::sort_pairs(device, list, &places, 0..u32::BITS)?;
    Ok((primitives::bounds(device, &sorted, len)?, places))
}
