//! Header and section table of a container: to bytes and back, every number held against the file's length.

use crate::{Error, Result};
use bitgraph_semiring::DType;
use std::ops::Range;
use std::path::Path;

/// The first bytes of a container. The first is no ASCII, and a conversion of line ends would show.
pub(super) const MAGIC: [u8; 8] = *b"\x93BGR\r\n\x1a\n";
/// The version written; the last one understood.
pub(super) const VERSION: u32 = 1;
const HEADER: usize = 128;
const RECORD: usize = 64;
/// Sections begin at multiples of this.
pub(super) const ALIGN: u64 = 64;
/// Bytes that share a checksum, as a power of two.
pub(super) const BLOCK_LOG2: u32 = 20;
/// The code for "no format": a container of values or ids alone.
pub(super) const NO_FORMAT: u32 = u32::MAX;

/// What a section is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Format = 0,
    Values = 1,
    Permutation = 2,
    OriginalIds = 3,
}

/// A section of the table.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub name: String,
    pub role: Role,
    pub dtype: DType,
    pub offset: u64,
    /// Bytes without the padding.
    pub bytes: u64,
    /// Its checksums among all.
    pub checksums: Range<usize>,
}

impl Record {
    /// The bytes with the padding, as the checksums see them.
    pub(super) fn padded(&self) -> Range<u64> {
        self.offset..self.offset + self.bytes.next_multiple_of(ALIGN)
    }
}

/// Everything before the sections.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub rows: u64,
    pub columns: u64,
    pub entries: u64,
    pub format: u32,
    pub symmetric: Option<bool>,
    pub records: Vec<Record>,
    pub checksums: Vec<u32>,
}

/// The element types by code.
fn code(dtype: DType) -> u8 {
    DType::ALL.iter().position(|&d| d == dtype).unwrap_or(usize::MAX) as u8
}

/// Where the sections begin.
pub(super) fn data_start(sections: usize, checksums: usize) -> u64 {
    ((HEADER + RECORD * sections + 4 * checksums) as u64).next_multiple_of(ALIGN)
}

impl Head {
    /// The bytes before the sections, padding included.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut table = Vec::new();
        for r in &self.records {
            let mut name = [0u8; 32];
            let len = r.name.len().min(32);
            name[..len].copy_from_slice(&r.name.as_bytes()[..len]);
            table.extend_from_slice(&name);
            table.extend_from_slice(&[r.role as u8, code(r.dtype), 0, 0, 0, 0, 0, 0]);
            for v in [r.offset, r.bytes, r.checksums.start as u64] {
                table.extend_from_slice(&v.to_le_bytes());
            }
        }
        self.checksums.iter().for_each(|c| table.extend_from_slice(&c.to_le_bytes()));
        let start = data_start(self.records.len(), self.checksums.len());
        let end = self.records.last().map_or(start, |r| r.padded().end);
        let flags = match self.symmetric {
            None => 0u32,
            Some(false) => 1,
            Some(true) => 3,
        };
        let mut head = MAGIC.to_vec();
        for v in [VERSION, HEADER as u32] {
            head.extend_from_slice(&v.to_le_bytes());
        }
        for v in [end, self.rows, self.columns, self.entries, self.records.len() as u64, self.checksums.len() as u64] {
            head.extend_from_slice(&v.to_le_bytes());
        }
        for v in [self.format, flags, BLOCK_LOG2] {
            head.extend_from_slice(&v.to_le_bytes());
        }
        head.resize(HEADER - 8, 0);
        head.extend_from_slice(&crc32fast::hash(&table).to_le_bytes());
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        head.extend_from_slice(&table);
        head.resize(start as usize, 0);
        head
    }

    /// Reads and checks what is before the sections.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let malformed = |part: &str, what| Error::Malformed { path: path.to_path_buf(), part: part.to_string(), what };
        let size = |part: &str, expected: u64| Error::Size {
            path: path.to_path_buf(),
            part: part.to_string(),
            expected,
            found: bytes.len() as u64,
        };
        if bytes.is_empty() {
            return Err(Error::Empty { path: path.to_path_buf() });
        }
        if !bytes.starts_with(&MAGIC[..MAGIC.len().min(bytes.len())]) {
            return Err(malformed("header", "the file does not begin as a bitgraph container does"));
        }
        let head = bytes.get(..HEADER).ok_or_else(|| size("header", HEADER as u64))?;
        let u32_at = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        // The version comes first: a later one may have its checksums elsewhere.
        if u32_at(8) > VERSION {
            return Err(Error::Version { path: path.to_path_buf(), found: u32_at(8), supported: VERSION });
        }
        let checksum = |part: &str, expected: u32, found: u32| {
            let (path, part) = (path.to_path_buf(), part.to_string());
            if expected == found { Ok(()) } else { Err(Error::Checksum { path, part, block: 0, expected, found }) }
        };
        checksum("header", u32_at(HEADER - 4), crc32fast::hash(&head[..HEADER - 4]))?;
        if u32_at(8) != VERSION || u32_at(12) as usize != HEADER || u32_at(72) != BLOCK_LOG2 {
            return Err(malformed("header", "version, header size or block size are not those of version 1"));
        }
        let length = u64_at(16);
        if length != bytes.len() as u64 {
            return Err(size("file", length));
        }
        let (sections, checksums) = (u64_at(48), u64_at(56));
        // Neither can be larger than the file, so that the sums below do not overflow.
        let table_bytes = (sections < length && checksums < length).then(|| sections as usize * RECORD + checksums as usize * 4);
        let table = table_bytes
            .and_then(|n| bytes.get(HEADER..HEADER.checked_add(n)?))
            .ok_or_else(|| malformed("section table", "it is longer than the file"))?;
        checksum("section table", u32_at(HEADER - 8), crc32fast::hash(table))?;
        let start = data_start(sections as usize, checksums as usize);
        if bytes.get(HEADER + table.len()..start as usize).is_none_or(|gap| gap.iter().any(|&b| b != 0)) {
            return Err(malformed("section table", "the bytes behind it are not zero"));
        }
        let (records, sums) = table.split_at(sections as usize * RECORD);
        let checksums: Vec<u32> = sums.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        let records = Self::records(records, start, length, checksums.len())
            .ok_or_else(|| malformed("section table", "the sections do not fill the file one after the other"))?;
        let symmetric = match u32_at(68) {
            0 => None,
            1 => Some(false),
            3 => Some(true),
            _ => return Err(malformed("header", "unknown flags")),
        };
        Ok(Self { rows: u64_at(24), columns: u64_at(32), entries: u64_at(40), format: u32_at(64), symmetric, records, checksums })
    }

    fn records(table: &[u8], start: u64, length: u64, checksums: usize) -> Option<Vec<Record>> {
        let (mut at, mut sum) = (start, 0);
        let mut records = Vec::new();
        for r in table.chunks_exact(RECORD) {
            let u64_at = |at: usize| r.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
            let name = r[..32].split(|&b| b == 0).next().unwrap_or_default();
            let role = match r[32] {
                0 => Role::Format,
                1 => Role::Values,
                2 => Role::Permutation,
                3 => Role::OriginalIds,
                _ => return None,
            };
            let dtype = *DType::ALL.get(usize::from(r[33]))?;
            let (offset, bytes) = (u64_at(40)?, u64_at(48)?);
            if offset != at || bytes > length || bytes % dtype.bytes() as u64 != 0 {
                return None;
            }
            at = offset.checked_add(bytes.next_multiple_of(ALIGN))?;
            let blocks = bytes.next_multiple_of(ALIGN).div_ceil(1 << BLOCK_LOG2) as usize;
            if at > length || u64_at(56)? != sum as u64 {
                return None;
            }
            let name = String::from_utf8(name.to_vec()).ok()?;
            records.push(Record { name, role, dtype, offset, bytes, checksums: sum..sum + blocks });
            sum += blocks;
        }
        (at == length && sum == checksums).then_some(records)
    }
}
