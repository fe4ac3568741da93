//! Random and mutated bytes: every reader answers with a value or an error, never with a panic, and nothing is
//! allocated by a number in them beyond what is taken on trust.

use bitgraph_io::{Control, Naming, ReadMode, ReadOptions, WriteSource, read, read_vector, write, write_vector};
use bitgraph_sparse::{Coo, Duplicates, Values};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const NAMES: [&str; 10] = ["g.mtx", "g.mtx.gz", "g.el", "w.el", "g.csv", "g.npz", "g.graph", "g.bgr", "s.mtx", "v.npy"];

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
            let plain = matches!(name, "g.graph" | "s.mtx" | "g.el");
            let source = if plain { WriteSource::new(&symmetric) } else { WriteSource::new(&general).with_values(weights.as_ref()) };
            match name {
                "v.npy" => write_vector(&path, &[1.0f64, 2.0, 3.0][..], &Naming::default(), &Control::default()).unwrap(),
                _ => write(&path, &source, &Control::default()).unwrap(),
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..NAMES.len()) {
        let dir = tempfile::tempdir().unwrap();
        attempt(dir.path(), NAMES[which], &bytes);
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
