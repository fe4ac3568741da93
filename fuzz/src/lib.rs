//! What every reader does with bytes that no one wrote as a graph: a value that keeps the type's invariants, or an error in one line.
//!
//! A target is a function of bytes; `src/bin` gives each to libFuzzer (`cargo xtask fuzz`, or `cargo fuzz run TARGET`), and without that
//! each binary replays the files that it is given. `corpus/TARGET` is where a run starts from; the tests replay it.
//!
//! Invariant: an input that asks for much memory and is allowed it is passed over, so that a run is not spent on clearing memory.

mod bytes;

use bitgraph_b2sr::Layout;
use bitgraph_generate::Generator;
use bitgraph_io::{Loaded, ReadMode, ReadOptions, read, read_vector};
use bitgraph_sparse::{Csr, Duplicates};
use std::path::PathBuf;

/// Numbers of vertices that are trusted, and cost a run its time.
const COSTLY: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 26;

/// Makes a binary of a target: a fuzzer where libFuzzer asks for one, otherwise a program that replays files.
#[macro_export]
macro_rules! target {
    ($target:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $target(data));
        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            $crate::replay($target)
        }
    };
}

/// Calls a target with the contents of every file named on the command line.
///
/// # Errors
/// If a file cannot be read.
pub fn replay(target: fn(&[u8])) -> std::io::Result<()> {
    std::env::args_os().skip(1).try_for_each(|path| std::fs::read(path).map(|bytes| target(&bytes)))
}

/// A file of this process alone, with the bytes in it.
fn file(name: &str, data: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bitgraph-fuzz-{}-{name}", std::process::id()));
    std::fs::write(&path, data).expect("the folder of temporary files can be written to");
    path
}

/// Whether no number in a text is one of the costly.
fn cheap(data: &[u8]) -> bool {
    let digits = data.split(|b| !b.is_ascii_digit());
    digits.filter_map(|d| std::str::from_utf8(d).ok()?.parse().ok()).all(|number: u64| !COSTLY.contains(&number))
}

/// Holds a graph against the invariants of its type.
fn check(loaded: &Loaded) {
    let csr = &loaded.csr;
    let again = Csr::new(csr.nrows(), csr.ncols(), csr.offsets().clone(), csr.indices().to_vec().into());
    assert!(again.is_ok(), "a pattern that is none: {again:?}");
    let entries = loaded.format.as_ref().map_or(csr.nnz() as u64, |stored| stored.entries);
    assert!(loaded.values.as_ref().is_none_or(|v| v.len() as u64 == entries));
    let last = csr.offsets().get(csr.nrows()) as u64;
    assert_eq!(last, csr.nnz() as u64);
    if let Some(ids) = &loaded.original_ids {
        assert!(ids.is_sorted_by(|a, b| a < b));
    }
    if loaded.symmetric == Some(true) && loaded.format.is_none() && loaded.permutation.is_none() {
        assert_eq!(csr.nrows(), csr.ncols());
    }
    if let Some(stored) = &loaded.format {
        // Arrays are checked by the format itself.
        if let Ok(layout) = Layout::from_sections(stored.rows, stored.columns, stored.kind, &stored.sections) {
            assert_eq!(layout.to_csr().nnz(), layout.nnz());
        }
    }
}

/// Reads the bytes as a file of that name, plainly and with the options that take other ways.
fn graph(name: &str, data: &[u8]) {
    let path = file(name, data);
    let plain = ReadOptions { mode: ReadMode::Map, ..ReadOptions::default() };
    let other = ReadOptions {
        mode: ReadMode::Copy,
        symmetrize: true,
        relabel: true,
        one_based: true,
        duplicates: Duplicates::Sum,
        ..ReadOptions::default()
    };
    for options in [plain, other] {
        match read(&path, &options) {
            Ok(loaded) => check(&loaded),
            Err(error) => {
                let sentence = error.to_string();
                assert!(sentence.contains(name) && !sentence.contains('\n'), "{sentence}");
            }
        }
    }
}

/// A Matrix Market file.
pub fn matrix_market(data: &[u8]) {
    if cheap(data) {
        graph("g.mtx", data);
    }
}

/// An edge list, separated by blanks or by commas.
pub fn edge_list(data: &[u8]) {
    if cheap(data) {
        graph("g.el", data);
        graph("g.csv", data);
    }
}

/// A METIS file.
pub fn metis(data: &[u8]) {
    if cheap(data) {
        graph("g.graph", data);
    }
}

/// An npy vector.
pub fn npy(data: &[u8]) {
    if cheap(data) {
        let path = file("v.npy", data);
        for mode in [ReadMode::Map, ReadMode::Copy] {
            if let Err(error) = read_vector(&path, mode) {
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

/// scipy's npz: an archive as it is, or one made of the bytes, whose checksums are right.
pub fn npz(data: &[u8]) {
    if cheap(data) {
        let archive = if data.starts_with(b"PK") { data.to_vec() } else { bytes::archive(data) };
        graph("g.npz", &archive);
    }
}

/// The container: as it is, and with the checksums that its contents ask for, behind which the other checks are.
pub fn container(data: &[u8]) {
    if bytes::shape(data).is_some_and(|shape| shape.iter().any(|n| COSTLY.contains(n))) {
        return;
    }
    graph("g.bgr", data);
    if let Some(mended) = bytes::with_checksums(data) {
        graph("g.bgr", &mended);
    }
}

/// A generator's text, which when it is read and shown is the same text again.
pub fn generator(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Generator>() {
        Ok(generator) => {
            let shown = generator.to_string();
            assert_eq!(shown.parse::<Generator>().as_ref(), Ok(&generator), "{text:?} is shown as {shown:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Target = fn(&[u8]);

    /// Every target by the name of its folder.
    const TARGETS: [(&str, Target); 7] = [
        ("matrix_market", matrix_market),
        ("edge_list", edge_list),
        ("metis", metis),
        ("npy", npy),
        ("npz", npz),
        ("container", container),
        ("generator", generator),
    ];

    #[test]
    fn the_corpus_passes() {
        let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for (name, target) in TARGETS {
            let folder = corpus.join(name);
            let files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
            assert!(!files.is_empty(), "{name} has no corpus");
            files.iter().for_each(|path| target(&std::fs::read(path).unwrap()));
        }
        assert_eq!(corpus.read_dir().unwrap().count(), TARGETS.len(), "a folder of no target");
    }

    #[test]
    fn mended_containers_are_read() {
        // A container with a wrong checksum is refused; mended, it is read again.
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/container");
        for entry in folder.read_dir().unwrap() {
            let good = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(read(&file("good.bgr", &good), &ReadOptions::default()).is_ok());
            let mut damaged = good.clone();
            damaged[124] ^= 1;
            assert!(read(&file("damaged.bgr", &damaged), &ReadOptions::default()).is_err());
            assert_eq!(bytes::with_checksums(&damaged).as_ref(), Some(&good));
        }
    }

    #[test]
    fn archives_are_made() {
        // Two arrays in the form that the target takes, the first of a name that npz has.
        let data = [&[0, 5, 0][..], b"hello", &[3, 200, 0], b"rest"].concat();
        let archive = bytes::archive(&data);
        assert!(archive.starts_with(b"PK\x03\x04") && archive.windows(5).any(|w| w == b"hello"));
    }
}
