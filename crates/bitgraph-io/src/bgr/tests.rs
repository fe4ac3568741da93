//! The container: what is written comes back, and every flipped bit is found.

use super::Container;
use super::layout::Head;
use crate::{Error, ReadMode, ReadOptions, WriteOptions, WriteSource, read, write};
use bitgraph_sparse::{Buffer, Coo, Csr, Duplicates, FormatKind, Permutation, Section, SectionData, Values};
use std::path::Path;
use std::sync::Arc;

fn graph() -> (Csr, Values) {
    let mut coo = Coo::pattern(5, 5, vec![0, 1, 1, 3, 4], vec![1, 0, 4, 3, 1]);
    coo.values = Some(Values::from_vec(vec![1.5f32, 2.0, -3.0, 4.0, 5.0]));
    let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
    (csr, values.unwrap())
}

fn written(dir: &Path) -> (std::path::PathBuf, Vec<u8>) {
    let (csr, values) = graph();
    let permutation = Permutation::from_new_of_old(vec![4, 2, 0, 1, 3]).unwrap();
    let mut source = WriteSource::new(&csr).with_values(Some(&values)).with_symmetric(Some(false));
    source.permutation = Some(&permutation);
    source.original_ids = Some(&[10, 20, 30, 40, 50]);
    let path = dir.join("g.bgr");
    write(&path, &source, &WriteOptions::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

fn open(bytes: Vec<u8>) -> crate::Result<Container> {
    Container::from_bytes(Arc::new(bytes), Path::new("g.bgr"))
}

/// Bytes that begin at a multiple of eight, as a mapping's do.
fn check(bytes: &[u8]) -> crate::Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.bgr");
    std::fs::write(&path, bytes).unwrap();
    Container::open(&path, ReadMode::Copy)?.check()
}

#[test]
fn comes_back_mapped_and_copied() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = written(dir.path());
    for mode in [ReadMode::Map, ReadMode::MapUnguarded, ReadMode::Copy] {
        let loaded = read(&path, &ReadOptions { mode, ..ReadOptions::default() }).unwrap();
        let (csr, values) = graph();
        assert_eq!((&loaded.csr, &loaded.values), (&csr, &Some(values)));
        assert_eq!(loaded.permutation.unwrap().new_of_old(), &[4, 2, 0, 1, 3]);
        assert_eq!((loaded.original_ids, loaded.symmetric), (Some(vec![10, 20, 30, 40, 50]), Some(false)));
    }
    let c = Container::open(&path, ReadMode::Map).unwrap();
    assert_eq!((c.shape(), c.entries(), c.format(), c.sections().count()), ((5, 5), 5, Some(FormatKind::Csr), 5));
    c.check().unwrap();
}

#[test]
fn every_flipped_bit_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = written(dir.path());
    check(&bytes).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        // Without alignment the checksums are all that is looked at, which is the point.
        let found = open(damaged).and_then(|c| c.check());
        assert!(found.is_err(), "bit {bit}");
    }
}

#[test]
fn damage_is_found_at_first_use_and_named() {
    let n = 600_000;
    let (csr, _) = Coo::pattern(n, n, (0..n as u32).collect(), (0..n as u32).rev().collect()).into_csr(Duplicates::First).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.bgr");
    write(&path, &WriteSource::new(&csr), &WriteOptions::default()).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 100;
    bytes[last] ^= 4;
    std::fs::write(&path, &bytes).unwrap();
    let c = Container::open(&path, ReadMode::Map).unwrap();
    for _ in 0..2 {
        let e = c.format_sections().unwrap_err();
        assert!(matches!(e, Error::Checksum { ref part, block: 2, .. } if part == "section 'indices'"), "{e}");
    }
}

#[test]
fn wrong_lengths_and_versions() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = written(dir.path());
    for len in 0..bytes.len() {
        assert!(check(&bytes[..len]).is_err(), "{len}");
    }
    let mut long = bytes.clone();
    long.push(0);
    assert!(matches!(check(&long), Err(Error::Size { .. })));
    let mut later = bytes;
    later[8] = 2;
    assert!(matches!(check(&later), Err(Error::Version { found: 2, supported: 1, .. })));
}

#[test]
fn other_formats_and_invalid_contents() {
    let dir = tempfile::tempdir().unwrap();
    let (csr, _) = graph();
    let tiles: Buffer<u64> = vec![1u64, 2, 3].into();
    let mut source = WriteSource::new(&csr);
    source.format = Some((FormatKind::B2sr8, vec![Section { name: "tiles", data: SectionData::U64(tiles.clone()) }]));
    let path = dir.path().join("t.bgr");
    write(&path, &source, &WriteOptions::default()).unwrap();
    let loaded = read(&path, &ReadOptions::default()).unwrap();
    let stored = loaded.format.unwrap();
    assert_eq!((stored.kind, stored.rows, stored.columns, stored.entries), (FormatKind::B2sr8, 5, 5, 5));
    assert_eq!((&stored.sections["tiles"], loaded.csr.nrows()), (&SectionData::U64(tiles), 0));
    // Checksums are right and the contents are not.
    source.original_ids = Some(&[10, 20, 20, 40, 50]);
    write(&path, &source, &WriteOptions::default()).unwrap();
    let e = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(e.ends_with("section 'original_ids': the numbers do not ascend"), "{e}");
    source.original_ids = None;
    source.format = Some((FormatKind::Csr, vec![Section { name: "offsets", data: SectionData::U32(vec![0, 9].into()) }]));
    write(&path, &source, &WriteOptions::default()).unwrap();
    assert!(matches!(read(&path, &ReadOptions::default()), Err(Error::Matrix { .. })));
}

/// The bytes with another head, whose checksums are right.
fn forged(bytes: &[u8], change: impl FnOnce(&mut Head, &mut Vec<u8>)) -> Vec<u8> {
    let mut head = Head::parse(bytes, Path::new("g.bgr")).unwrap();
    let mut bytes = bytes.to_vec();
    change(&mut head, &mut bytes);
    let front = head.to_bytes();
    bytes[..front.len()].copy_from_slice(&front);
    bytes
}

/// The checksum of a section's only block, once its bytes are changed.
fn mend(head: &mut Head, index: usize, bytes: &[u8]) {
    let range = head.records[index].padded();
    let sum = crc32fast::hash(&bytes[range.start as usize..range.end as usize]);
    let slot = head.records[index].checksums.start;
    head.checksums[slot] = sum;
}

/// Every checksum is right, and something else is not.
#[test]
fn forgeries_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = written(dir.path());
    check(&forged(&bytes, |_, _| {})).unwrap();
    // A section that is no whole number of elements.
    for index in 0..4 {
        let bad = forged(&bytes, |head, _| head.records[index].bytes -= 1);
        let error = check(&bad).unwrap_err().to_string();
        assert!(error.ends_with("section table: the sections do not fill the file one after the other"), "{error}");
    }
    // A claim of symmetry, for the pattern and for the values.
    let claim = forged(&bytes, |head, _| head.symmetric = Some(true));
    let error = check(&claim).unwrap_err().to_string();
    assert!(error.ends_with("header: it says that the matrix is symmetric, which it is not"), "{error}");
    let mut coo = Coo::pattern(2, 2, vec![0, 1], vec![1, 0]);
    coo.values = Some(Values::from_vec(vec![true, true]));
    let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
    let path = dir.path().join("b.bgr");
    write(&path, &WriteSource::new(&csr).with_values(values.as_ref()).with_symmetric(Some(true)), &WriteOptions::default()).unwrap();
    let bools = std::fs::read(&path).unwrap();
    check(&bools).unwrap();
    let set = |value: u8| {
        forged(&bools, |head, bytes| {
            let index = head.records.iter().position(|r| r.name == "values").unwrap();
            bytes[head.records[index].offset as usize] = value;
            mend(head, index, bytes);
        })
    };
    assert!(check(&set(0)).unwrap_err().to_string().ends_with("symmetric, which it is not"));
    // A bool is neither.
    for value in [2, 0xff] {
        let error = check(&set(value)).unwrap_err().to_string();
        assert!(error.ends_with("section 'values': a bool is neither 0 nor 1"), "{error}");
    }
}
