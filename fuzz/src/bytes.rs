//! Checksums made right, so that mutated bytes get past them.
//!
//! Invariant: nothing here reads beyond its input; what does not hold together is left as it is, or is `None`.

/// The arrays of scipy's npz.
const ARRAYS: [&str; 8] = ["indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy", "row.npy", "col.npy", "other.npy"];

/// An archive of arrays that are stored as they are: each of a byte for the name, two for the length and the array.
pub fn archive(mut data: &[u8]) -> Vec<u8> {
    let (mut out, mut directory, mut count) = (Vec::new(), Vec::new(), 0u16);
    while let [name, low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (array, after) = rest.split_at(length);
        let name = ARRAYS[usize::from(*name) % ARRAYS.len()];
        // Version, flags, method, time, date; then checksum and both sizes; then the lengths of the name and of nothing.
        let mut common = [20u16, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
        common.extend_from_slice(&crc32fast::hash(array).to_le_bytes());
        common.extend((length as u32).to_le_bytes().repeat(2));
        common.extend_from_slice(&(name.len() as u16).to_le_bytes());
        common.extend_from_slice(&[0; 2]);
        let at = out.len() as u32;
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(array);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&common);
        // Comment, disk, attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        count += 1;
        data = after;
    }
    let at = out.len() as u32;
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend(count.to_le_bytes().repeat(2));
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}

/// Bytes of a container's header, of a record of its table, and of what shares a checksum.
const HEADER: usize = 128;
const RECORD: usize = 64;
const BLOCK: usize = 1 << 20;

fn number(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

/// The rows and columns of a container.
pub fn shape(data: &[u8]) -> Option<[u64; 2]> {
    Some([number(data, 24)?, number(data, 32)?])
}

/// A container with its length and checksums made right; none if it is shorter than its own table.
pub fn with_checksums(data: &[u8]) -> Option<Vec<u8>> {
    let mut out = data.to_vec();
    let (sections, sums) = (number(data, 48)? as usize, number(data, 56)? as usize);
    if sections > 64 || sums > 64 {
        return None;
    }
    let list = HEADER + sections * RECORD;
    let end = list + sums * 4;
    data.get(..end)?;
    for record in 0..sections {
        let at = HEADER + record * RECORD;
        let (offset, bytes, first) = (number(data, at + 40)? as usize, number(data, at + 48)? as usize, number(data, at + 56)? as usize);
        let padded = bytes.checked_next_multiple_of(64)?;
        let Some(section) = offset.checked_add(padded).and_then(|end| data.get(offset..end)) else { continue };
        for (block, bytes) in section.chunks(BLOCK).enumerate() {
            let slot = list.checked_add(first.checked_add(block)?.checked_mul(4)?)?;
            if slot + 4 <= end {
                out[slot..slot + 4].copy_from_slice(&crc32fast::hash(bytes).to_le_bytes());
            }
        }
    }
    let length = (out.len() as u64).to_le_bytes();
    out[16..24].copy_from_slice(&length);
    let table = crc32fast::hash(&out[HEADER..end]).to_le_bytes();
    out[HEADER - 8..HEADER - 4].copy_from_slice(&table);
    let head = crc32fast::hash(&out[..HEADER - 4]).to_le_bytes();
    out[HEADER - 4..HEADER].copy_from_slice(&head);
    Some(out)
}
