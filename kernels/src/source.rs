//! The sources of the kernels, and the hash that ties compiled code to them.
//!
//! # Invariants
//! A module's hash covers its own text and that of every header it includes, directly or not, with their paths, and nothing
//! else: code built on another machine from the same sources carries the same hash.

use std::sync::LazyLock;

#[path = "../build/hash.rs"]
mod hash;

/// One source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path below the crate's directory; includes are written relative to that directory.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Paths, lengths and hashes of the sources, in the order of their texts.
const LIST: &[(&str, usize, u64)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The sources of all kernels, headers and the host shim included, by path. Their text is embedded packed: the first call unpacks it.
#[must_use]
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let text = zstd::decode_all(&include_bytes!(concat!(env!("OUT_DIR"), "/sources.zst"))[..])
            .ok()
            .and_then(|text| String::from_utf8(text).ok());
        let mut rest: &'static str = String::leak(text.expect("what the build script packed is there whole"));
        let cut = |&(path, bytes, _): &(&'static str, usize, u64)| {
            let (text, after) = rest.split_at(bytes);
            rest = after;
            Source { path, text }
        };
        LIST.iter().map(cut).collect()
    });
    &SOURCES
}

/// The source of that path.
#[must_use]
pub fn source(path: &str) -> Option<&'static Source> {
    sources().binary_search_by(|s| s.path.cmp(path)).ok().map(|i| &sources()[i])
}

fn find(path: &str) -> Option<(&'static str, &'static str)> {
    source(path).map(|s| (s.path, s.text))
}

/// The files that a text includes from this crate, directly or not, by path.
#[must_use]
pub fn includes(text: &str) -> Vec<Source> {
    hash::includes(text, &find).into_iter().map(|(path, text)| Source { path, text }).collect()
}

/// The hash of a text and of what it includes.
#[must_use]
pub fn text_hash(text: &str) -> u64 {
    hash::of_text(text, &find)
}

/// The hash of a module's sources; `None` if there is no such module. No source is unpacked for it.
#[must_use]
pub fn module_hash(name: &str) -> Option<u64> {
    let path = format!("{name}.cu");
    LIST.binary_search_by(|(other, ..)| (*other).cmp(&path)).ok().map(|i| LIST[i].2)
}

/// 64-bit FNV-1a.
#[must_use]
pub fn fnv(bytes: &[u8]) -> u64 {
    hash::with_bytes(hash::FNV_START, bytes)
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

    /// What the build script wrote down is what the texts give.
    #[test]
    fn modules_have_the_hash_of_their_texts() {
        let modules = sources().iter().filter_map(|s| Some((s.path.strip_suffix(".cu")?, s.text)));
        assert!(modules.map(|(name, text)| assert_eq!(module_hash(name), Some(text_hash(text)), "{name}")).count() > 50);
        assert_eq!(module_hash("no/such"), None);
    }
}
