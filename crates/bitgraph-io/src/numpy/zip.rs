//! As much of the zip format as npz archives need: stored and deflated members, sizes past 4 GiB, checksums.
//!
//! The central directory at the end is what counts; every offset and size in it is held against the bytes there are.
//! Format: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.

use crate::{Error, Result};
use bitgraph_sparse::parallel;
use flate2::read::DeflateDecoder;
use std::io::{self, Read, Write};
use std::path::Path;

const CHECKSUM: &str = "the checksum does not match";

/// A member of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub name: String,
    deflated: bool,
    crc: u32,
    /// Where its bytes are, and how many they are unpacked.
    data: std::ops::Range<usize>,
    size: u64,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    field(bytes, at).map(|b| u16::from_le_bytes(b).into())
}
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// The members of an archive in a file.
pub(crate) fn archive_members(bytes: &[u8], path: &Path) -> Result<Vec<Member>> {
    if bytes.is_empty() {
        return Err(Error::Empty { path: path.to_path_buf() });
    }
    members(bytes).ok_or_else(|| Error::Malformed {
        path: path.to_path_buf(),
        part: "zip directory".into(),
        what: "it is missing, damaged, or names an unknown compression",
    })
}

/// The members of an archive; None if the directory is broken.
pub(crate) fn members(bytes: &[u8]) -> Option<Vec<Member>> {
    // The end record is followed by a comment of at most 65535 bytes.
    let last = bytes.len().checked_sub(22)?;
    let end = (last.saturating_sub(65535)..=last).rev().find(|&at| bytes[at..].starts_with(b"PK\x05\x06"))?;
    let mut count = u16_at(bytes, end + 10)? as u64;
    let mut start = u64::from(u32_at(bytes, end + 16)?);
    if (count == 0xffff || start == 0xffff_ffff)
        && let Some(locator) = end.checked_sub(20).filter(|&at| bytes[at..].starts_with(b"PK\x06\x07"))
    {
        let wide = usize::try_from(u64_at(bytes, locator + 8)?).ok()?;
        if !bytes.get(wide..)?.starts_with(b"PK\x06\x06") {
            return None;
        }
        count = u64_at(bytes, wide + 32)?;
        start = u64_at(bytes, wide + 48)?;
    }
    let mut at = usize::try_from(start).ok()?;
    let mut members = Vec::new();
    for _ in 0..count {
        let (member, next) = member(bytes, at)?;
        members.push(member);
        at = next;
    }
    Some(members)
}

/// The member whose directory record is at `at`, and where the next record is.
fn member(bytes: &[u8], at: usize) -> Option<(Member, usize)> {
    if !bytes.get(at..)?.starts_with(b"PK\x01\x02") {
        return None;
    }
    let (flags, method, crc) = (u16_at(bytes, at + 8)?, u16_at(bytes, at + 10)?, u32_at(bytes, at + 16)?);
    let mut packed = u64::from(u32_at(bytes, at + 20)?);
    let mut size = u64::from(u32_at(bytes, at + 24)?);
    let (name_len, extra_len, comment_len) = (u16_at(bytes, at + 28)?, u16_at(bytes, at + 30)?, u16_at(bytes, at + 32)?);
    let mut local = u64::from(u32_at(bytes, at + 42)?);
    let extra_start = at + 46 + name_len;
    let name = bytes.get(at + 46..extra_start)?;
    let mut extra = bytes.get(extra_start..extra_start + extra_len)?;
    while let (Some(tag), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let body = extra.get(4..4 + len)?;
        if tag == 1 {
            // What does not fit the record stands here, in this order.
            let mut slot = 0;
            for value in [&mut size, &mut packed, &mut local] {
                if *value == 0xffff_ffff {
                    *value = u64_at(body, slot)?;
                    slot += 8;
                }
            }
        }
        extra = &extra[4 + len..];
    }
    let local = usize::try_from(local).ok()?;
    if flags & 1 != 0 || !matches!(method, 0 | 8) || !bytes.get(local..)?.starts_with(b"PK\x03\x04") {
        return None;
    }
    let start = local + 30 + u16_at(bytes, local + 26)? + u16_at(bytes, local + 28)?;
    let end = start.checked_add(usize::try_from(packed).ok()?)?;
    if end > bytes.len() || (method == 0 && packed != size) {
        return None;
    }
    let name = String::from_utf8(name.to_vec()).ok()?;
    Some((Member { name, deflated: method == 8, crc, data: start..end, size }, extra_start + extra_len + comment_len))
}

/// Bytes whose checksum a task takes at once.
const PIECE: usize = 1 << 20;

impl Member {
    /// The bytes if they are stored as they are, their checksum found right; None if they are compressed. Parallel.
    ///
    /// # Errors
    /// As reading past the last byte of [`Member::open`].
    pub(crate) fn stored<'a>(&self, bytes: &'a [u8]) -> Option<io::Result<&'a [u8]>> {
        let data = &bytes[self.data.clone()];
        let sums = || {
            let pieces: Vec<&[u8]> = data.chunks(PIECE).collect();
            parallel::collect(pieces.len(), |k| {
                let mut crc = crc32fast::Hasher::new();
                crc.update(pieces[k]);
                crc
            })
        };
        let total = || {
            sums().iter().fold(crc32fast::Hasher::new(), |mut all, piece| {
                all.combine(piece);
                all
            })
        };
        let right = || if total().finalize() == self.crc { Ok(data) } else { Err(io::Error::new(io::ErrorKind::InvalidData, CHECKSUM)) };
        (!self.deflated).then(right)
    }
    /// The unpacked bytes. Reading past the last one fails if the checksum or the size is not the stored one.
    pub(crate) fn open<'a>(&self, bytes: &'a [u8]) -> Unpack<'a> {
        let data = &bytes[self.data.clone()];
        let inner: Box<dyn Read + 'a> = if self.deflated { Box::new(DeflateDecoder::new(data)) } else { Box::new(data) };
        Unpack { inner, crc: crc32fast::Hasher::new(), wanted: self.crc, left: self.size }
    }
}

/// The bytes of a member, checked on the way.
pub(crate) struct Unpack<'a> {
    inner: Box<dyn Read + 'a>,
    crc: crc32fast::Hasher,
    wanted: u32,
    left: u64,
}

impl Read for Unpack<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let n = self.inner.read(buf)?;
        self.crc.update(&buf[..n]);
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => return damaged("more bytes than the archive's directory says"),
        }
        if n == 0 && self.left > 0 {
            return damaged("fewer bytes than the archive's directory says");
        }
        if n == 0 && self.crc.clone().finalize() != self.wanted {
            return damaged(CHECKSUM);
        }
        Ok(n)
    }
}

/// Writes an archive of stored members.
pub(crate) struct Writer<W> {
    out: W,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

/// The size or offset as the record holds it, and as the extra field does where the record cannot.
fn narrow(value: u64, extra: &mut Vec<u8>) -> [u8; 4] {
    match u32::try_from(value) {
        Ok(v) if v != u32::MAX => v.to_le_bytes(),
        _ => {
            extra.extend_from_slice(&value.to_le_bytes());
            [0xff; 4]
        }
    }
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, at: 0, directory: Vec::new(), count: 0 }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Adds a member that consists of `parts`.
    pub(crate) fn add(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let size: u64 = parts.iter().map(|p| p.len() as u64).sum();
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|p| crc.update(p));
        let crc = crc.finalize().to_le_bytes();
        let start = self.at;
        for (local, record) in [(true, b"PK\x03\x04"), (false, b"PK\x01\x02")] {
            let mut extra = Vec::new();
            let (full, packed) = (narrow(size, &mut extra), narrow(size, &mut extra));
            let offset = if local { [0; 4] } else { narrow(start, &mut extra) };
            if !extra.is_empty() {
                let len = extra.len() as u16;
                extra.splice(0..0, [1u16.to_le_bytes(), len.to_le_bytes()].concat());
            }
            let mut bytes = record.to_vec();
            if !local {
                bytes.extend_from_slice(&45u16.to_le_bytes());
            }
            // Version needed, flags (names are UTF-8), method, time, the first of January 1980.
            for half in [45u16, 1 << 11, 0, 0, 0x21] {
                bytes.extend_from_slice(&half.to_le_bytes());
            }
            bytes.extend_from_slice(&crc);
            bytes.extend_from_slice(&packed);
            bytes.extend_from_slice(&full);
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&(extra.len() as u16).to_le_bytes());
            if !local {
                // Comment, disk, attributes.
                bytes.extend_from_slice(&[0; 10]);
                bytes.extend_from_slice(&offset);
            }
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&extra);
            if local {
                self.put(&bytes)?;
                parts.iter().try_for_each(|p| self.put(p))?;
            } else {
                self.directory.extend_from_slice(&bytes);
            }
        }
        self.count += 1;
        Ok(())
    }

    /// Writes the directory.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let (start, directory) = (self.at, std::mem::take(&mut self.directory));
        let size = directory.len() as u64;
        self.put(&directory)?;
        let wide = start >= u64::from(u32::MAX);
        if wide {
            let record = self.at;
            let mut bytes = b"PK\x06\x06".to_vec();
            bytes.extend_from_slice(&44u64.to_le_bytes());
            bytes.extend_from_slice(&[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            for v in [self.count, self.count, size, start] {
                bytes.extend_from_slice(&v.to_le_bytes());
            }
            bytes.extend_from_slice(b"PK\x06\x07\0\0\0\0");
            bytes.extend_from_slice(&record.to_le_bytes());
            bytes.extend_from_slice(&1u32.to_le_bytes());
            self.put(&bytes)?;
        }
        let mut bytes = b"PK\x05\x06\0\0\0\0".to_vec();
        bytes.extend_from_slice(&(self.count as u16).to_le_bytes());
        bytes.extend_from_slice(&(self.count as u16).to_le_bytes());
        bytes.extend_from_slice(&(size as u32).to_le_bytes());
        bytes.extend_from_slice(&if wide { [0xff; 4] } else { (start as u32).to_le_bytes() });
        bytes.extend_from_slice(&[0, 0]);
        self.put(&bytes)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_the_bytes_and_the_checksum_of_its_record() {
        let read = |left: u64, wanted: u32| {
            let data: &[u8] = b"some bytes";
            let mut all = Vec::new();
            Unpack { inner: Box::new(data), crc: crc32fast::Hasher::new(), wanted, left }.read_to_end(&mut all).map(|_| all)
        };
        let right = crc32fast::hash(b"some bytes");
        assert_eq!(read(10, right).unwrap(), b"some bytes");
        for (left, wanted) in [(9, right), (11, right), (12, right), (10, right ^ 1)] {
            assert_eq!(read(left, wanted).unwrap_err().kind(), io::ErrorKind::InvalidData, "{left} bytes");
        }
    }
}
