//! The sources of the kernels, and the hash that ties compiled code to them.
//!
//! # Invariants
//! A module's hash covers its own text and that of every header it includes, directly or not, with their paths, and nothing
//! else: code built on another machine from the same sources carries the same hash.

use crate::bundle::unpack;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path below the crate's directory; includes are written relative to that directory.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Paths and lengths of the sources, in the order of their texts.
const LENGTHS: &[(&str, usize)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The sources of all kernels, headers and the host shim included, by path. Their text is embedded packed: the first call unpacks it.
#[must_use]
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let text = unpack(include_bytes!(concat!(env!("OUT_DIR"), "/sources.zst"))).ok().and_then(|text| String::from_utf8(text).ok());
        let mut rest: &'static str = String::leak(text.expect("what the build script packed is there whole"));
        let cut = |&(path, bytes): &(&'static str, usize)| {
            let (text, after) = rest.split_at(bytes);
            rest = after;
            Source { path, text }
        };
        LENGTHS.iter().map(cut).collect()
    });
    &SOURCES
}

/// The source of that path.
#[must_use]
pub fn source(path: &str) -> Option<&'static Source> {
    sources().binary_search_by(|s| s.path.cmp(path)).ok().map(|i| &sources()[i])
}

/// The files that a text includes from this crate, directly or not, by path.
#[must_use]
pub fn includes(text: &str) -> Vec<&'static Source> {
    let mut found = BTreeMap::new();
    visit(text, &mut found);
    found.into_values().collect()
}

fn visit(text: &str, found: &mut BTreeMap<&'static str, &'static Source>) {
    for line in text.lines() {
        let Some(path) = line.trim_start().strip_prefix("#include \"").and_then(|rest| rest.split('"').next()) else { continue };
        if let Some(header) = source(path)
            && found.insert(header.path, header).is_none()
        {
            visit(header.text, found);
        }
    }
}

/// The hash of a text and of what it includes.
#[must_use]
pub fn text_hash(text: &str) -> u64 {
    let mut hash = with_field(FNV_START, text.as_bytes());
    for header in includes(text) {
        hash = with_field(with_field(hash, header.path.as_bytes()), header.text.as_bytes());
    }
    hash
}

/// The hash of a module's sources; `None` if there is no such module.
#[must_use]
pub fn module_hash(name: &str) -> Option<u64> {
    source(&format!("{name}.cu")).map(|s| text_hash(s.text))
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// 64-bit FNV-1a.
#[must_use]
pub fn fnv(bytes: &[u8]) -> u64 {
    with_bytes(FNV_START, bytes)
}

/// The length after the bytes keeps `("ab", "c")` apart from `("a", "bc")`.
fn with_field(hash: u64, bytes: &[u8]) -> u64 {
    with_bytes(with_bytes(hash, bytes), &(bytes.len() as u64).to_le_bytes())
}

fn with_bytes(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn sources_are_found_by_path_and_follow_their_includes() {
        assert!(sources().windows(2).all(|w| w[0].path < w[1].path));
        let paths: Vec<_> = includes("#include \"common/grid.cuh\"\n").iter().map(|s| s.path).collect();
        assert!(paths.contains(&"common/kernel.cuh") && paths.contains(&"common/warp.cuh"));
        assert_ne!(text_hash("#include \"common/grid.cuh\"\n"), text_hash("#include \"common/warp.cuh\"\n"));
    }
}
