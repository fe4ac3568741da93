//! Writing a container: checksums first, in parallel, then everything in one pass.

use super::layout::{ALIGN, BLOCK_LOG2, Head, Record, Role, data_start};
use crate::sink::Sink;
use crate::{Error, Result, WriteSource};
use bitgraph_semiring::DType;
use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Format, FormatKind, SectionData, parallel, with_values};
use std::path::Path;

/// Writes a container.
pub(crate) fn write(out: &mut Sink<'_>, path: &Path, source: &WriteSource<'_>) -> Result<()> {
    let csr = source.csr;
    let (kind, format) = source.format.clone().unwrap_or_else(|| (FormatKind::Csr, Format::sections(csr)));
    let mut parts: Vec<(&str, Role, DType, &[u8])> = Vec::new();
    for s in &format {
        let dtype = match s.data {
            SectionData::U8(_) => DType::U8,
            SectionData::U16(_) => DType::U16,
            SectionData::U32(_) => DType::U32,
            SectionData::U64(_) => DType::U64,
        };
        if s.name.len() > 32 {
            return Err(Error::Inexpressible { path: path.to_path_buf(), what: "a section's name is longer than 32 bytes" });
        }
        parts.push((s.name, Role::Format, dtype, s.data.bytes()));
    }
    let mut entries = csr.nnz() as u64;
    if let Some(values) = source.values {
        entries = values.len() as u64;
        parts.push(("values", Role::Values, values.dtype(), with_values!(values, v => bytemuck::cast_slice(v))));
    }
    let ordering = format!("permutation.{}", source.ordering);
    if let Some(p) = source.permutation {
        let name = if source.ordering == Ordering::None { "permutation" } else { &ordering };
        parts.push((name, Role::Permutation, DType::U32, bytemuck::cast_slice(p.new_of_old())));
    }
    if let Some(ids) = source.original_ids {
        parts.push(("original_ids", Role::OriginalIds, DType::U64, bytemuck::cast_slice(ids)));
    }
    let mut checksums = Vec::new();
    let mut records = Vec::new();
    for &(name, role, dtype, bytes) in &parts {
        let first = checksums.len();
        checksums.extend(sums(bytes));
        let record =
            Record { name: name.to_string(), role, dtype, offset: 0, bytes: bytes.len() as u64, checksums: first..checksums.len() };
        records.push(record);
    }
    let mut at = data_start(records.len(), checksums.len());
    for record in &mut records {
        record.offset = at;
        at = record.padded().end;
    }
    let head = Head {
        rows: csr.nrows() as u64,
        columns: csr.ncols() as u64,
        entries,
        format: kind as u32,
        symmetric: source.symmetric,
        records,
        checksums,
    };
    out.put(&head.to_bytes())?;
    parts.iter().try_for_each(|(_, _, _, bytes)| {
        out.put(bytes)?;
        out.put(padding(bytes.len()))
    })
}

/// The zeros behind a section.
fn padding(len: usize) -> &'static [u8] {
    const ZEROS: [u8; ALIGN as usize] = [0; ALIGN as usize];
    &ZEROS[..len.next_multiple_of(ALIGN as usize) - len]
}

/// The checksums of a section's blocks; the last one sees the padding too.
fn sums(bytes: &[u8]) -> Vec<u32> {
    // A block is a multiple of the alignment, so padding never begins a block of its own.
    let blocks: Vec<&[u8]> = bytes.chunks(1 << BLOCK_LOG2).collect();
    parallel::collect(blocks.len(), |b| {
        let mut crc = crc32fast::Hasher::new();
        crc.update(blocks[b]);
        crc.update(padding(blocks[b].len()));
        crc.finalize()
    })
}
