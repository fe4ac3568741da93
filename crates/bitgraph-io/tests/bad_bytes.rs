//! Random and mutated bytes: every reader answers with a value or an error, never with a panic, and nothing is
//! allocated by a number in them beyond what is taken on trust. Damage is refused wherever the format can tell: by a checksum, or by
//! a number of entries.

use bitgraph_io::{FileFormat, Naming, ReadMode, ReadOptions, WriteOptions, WriteSource, read, read_vector, write, write_vector};
use bitgraph_sparse::{Coo, Duplicates, Values};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const NAMES: [&str; 14] =
    ["g.mtx", "g.mtx.gz", "g.el", "w.el", "g.csv", "g.npz", "g.graph", "g.bgr", "s.mtx", "v.npy", "d.gr", "d.sg", "d.wsg", "t.csv"];

/// GAP's arrays of a directed graph: 0 -> 1, 0 -> 2, 1 -> 2, with weights or without.
fn serialized(weights: bool) -> Vec<u8> {
    let mut out = vec![1];
    [3i64, 3].iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
    for (offsets, neighbours) in [([0i64, 2, 3, 3], [1i32, 2, 2]), ([0, 0, 1, 3], [0, 0, 1])] {
        offsets.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        for v in neighbours {
            out.extend_from_slice(&v.to_le_bytes());
            out.extend_from_slice(&7i32.to_le_bytes()[..if weights { 4 } else { 0 }]);
        }
    }
    out
}

/// A good file of every kind.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let mut coo = Coo::pattern(9, 9, vec![0, 1, 4, 8, 3], vec![2, 5, 4, 7, 0]);
    coo.values = Some(Values::from_vec(vec![1.25f64, -2.0, 1e10, 4.0, 0.5]));
    let (general, weights) = coo.clone().into_csr(Duplicates::First).unwrap();
    let mut half = Coo::pattern(9, 9, vec![1, 3, 8], vec![0, 2, 7]);
    half.mirrored = true;
    let (symmetric, _) = half.into_csr(Duplicates::First).unwrap();
    NAMES
        .iter()
        .map(|&name| {
            let path = dir.path().join(name);
            match name {
                "d.gr" => return (name, b"c road\np sp 4 3\na 1 2 5\na 2 3 70\na 4 1 9\n".to_vec()),
                "d.sg" | "d.wsg" => return (name, serialized(name == "d.wsg")),
                "t.csv" => return (name, b"from,to,weight,time\n0,1,5,100\n\"1\",2,.5,200\n".to_vec()),
                _ => {}
            }
            let plain = matches!(name, "g.graph" | "s.mtx" | "g.el");
            let source = if plain { WriteSource::new(&symmetric) } else { WriteSource::new(&general).with_values(weights.as_ref()) };
            match name {
                "v.npy" => write_vector(&path, &[1.0f64, 2.0, 3.0][..], &Naming::default(), &WriteOptions::default()).unwrap(),
                _ => write(&path, &source, &WriteOptions::default()).unwrap(),
            }
            (name, std::fs::read(&path).unwrap())
        })
        .collect()
}

/// The system's allocator, and the largest block that was asked of it.
struct Largest;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system's.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Largest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: by the caller's contract.
        unsafe { System.realloc(block, layout, size) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller's contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Largest = Largest;

/// 64 million vertices are taken on trust, with 8 bytes each.
const TRUSTED: usize = (8 << 26) + 64;

/// Reads the bytes as a file of that name, both ways and with every option that changes the path taken.
fn attempt(dir: &Path, name: &str, bytes: &[u8]) {
    let path: PathBuf = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    if name.ends_with(".npy") {
        let _ = read_vector(&path, ReadMode::Map);
        return;
    }
    for mode in [ReadMode::Map, ReadMode::Copy] {
        for symmetrize in [false, true] {
            let relabel = symmetrize;
            let options =
                ReadOptions { mode, symmetrize, relabel, one_based: symmetrize, duplicates: Duplicates::Sum, ..ReadOptions::default() };
            if let Err(e) = read(&path, &options) {
                let sentence = e.to_string();
                assert!(sentence.contains(name) && !sentence.contains('\n'), "{sentence}");
            }
            let largest = LARGEST.load(Ordering::Relaxed);
            assert!(largest <= TRUSTED, "{name}: a block of {largest} bytes");
        }
    }
}

/// What a file holds, in a form that can be compared.
fn contents(dir: &Path, name: &str, bytes: &[u8]) -> Option<String> {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    let loaded = read(&path, &ReadOptions::default()).ok()?;
    Some(format!("{:?} {:?} {:?}", loaded.csr, loaded.values, loaded.symmetric))
}

/// Formats with checksums refuse every changed byte, but for those that say nothing about the graph (a time, a name that is stored
/// twice): then the graph is the same.
#[test]
fn checksums_find_every_changed_byte() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples().into_iter().filter(|(name, _)| ["g.mtx.gz", "g.npz", "g.bgr"].contains(name)) {
        let good = contents(dir.path(), name, &bytes).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                match contents(dir.path(), name, &damaged) {
                    None => refused += 1,
                    Some(found) => assert!(found == good && name != "g.bgr", "{name}: byte {at} ^ {change:#x}"),
                }
            }
        }
        assert!(refused >= bytes.len() * 2, "{name}: {refused} of {}", bytes.len() * 4);
    }
}

/// Formats that announce what they hold refuse to end early, but for blanks at the end.
#[test]
fn what_is_cut_short_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples() {
        if ["g.el", "w.el", "g.csv", "t.csv", "v.npy"].contains(&name) {
            continue;
        }
        let good = contents(dir.path(), name, &bytes).unwrap();
        for len in 0..bytes.len() {
            // The last line may lack its newline, and the last number a zero behind the point.
            let found = contents(dir.path(), name, &bytes[..len]);
            assert!(found.is_none_or(|found| found == good), "{name}: {len} of {} bytes", bytes.len());
        }
    }
}

/// Lines that are no lines of the format.
#[test]
fn foreign_bytes_in_a_text_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples().into_iter().filter(|(name, _)| !["g.mtx.gz", "g.npz", "g.bgr", "v.npy", "d.sg", "d.wsg"].contains(name))
    {
        let comment = |at: usize| {
            let start = bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |k| k + 1);
            matches!(bytes[start], b'#' | b'%' | b'c' | b'f')
        };
        for at in (0..bytes.len()).filter(|&at| !comment(at)) {
            let mut damaged = bytes.clone();
            damaged[at] = b'~';
            assert_eq!(contents(dir.path(), name, &damaged), None, "{name}: byte {at}");
        }
    }
}

#[test]
fn truncated_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples() {
        for len in 0..bytes.len() {
            attempt(dir.path(), name, &bytes[..len]);
        }
    }
}

#[test]
fn every_byte_changed() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples() {
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
            attempt(dir.path(), name, &damaged);
        }
    }
}

/// Any bytes as any format.
fn attempt_as(dir: &Path, format: FileFormat, bytes: &[u8]) {
    let path: PathBuf = dir.join("bytes");
    std::fs::write(&path, bytes).unwrap();
    if let Err(e) = read(&path, &ReadOptions { format: Some(format), ..ReadOptions::default() }) {
        let sentence = e.to_string();
        assert!(sentence.contains("bytes") && !sentence.contains('\n'), "{sentence}");
    }
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= TRUSTED, "{format}: a block of {largest} bytes");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..NAMES.len()) {
        let dir = tempfile::tempdir().unwrap();
        attempt(dir.path(), NAMES[which], &bytes);
    }

    #[test]
    fn any_bytes_as_any_format(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..NAMES.len(), sample in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let bytes = if sample { samples().swap_remove(which).1 } else { bytes };
        for format in FileFormat::ALL {
            attempt_as(dir.path(), format, &bytes);
        }
    }

    #[test]
    fn random_text(text in "(%%MatrixMarket matrix (coordinate|array) (real|integer|pattern) (general|symmetric)\n)?([-0-9.e%# \t,\r]{0,12}\n){0,8}", which in 0..NAMES.len()) {
        let dir = tempfile::tempdir().unwrap();
        attempt(dir.path(), NAMES[which], text.as_bytes());
    }

    #[test]
    fn splices(which in 0..NAMES.len(), from in any::<prop::sample::Index>(), len in 0usize..40, to in any::<prop::sample::Index>(), other in prop::collection::vec(any::<u8>(), 0..20)) {
        let (name, mut bytes) = samples().swap_remove(which);
        let start = from.index(bytes.len());
        let part: Vec<u8> = bytes[start..(start + len).min(bytes.len())].to_vec();
        let at = to.index(bytes.len());
        bytes.splice(at..at, part.into_iter().chain(other));
        let dir = tempfile::tempdir().unwrap();
        attempt(dir.path(), name, &bytes);
    }
}
