//! The sources of the kernels, their hash, and the bundle of machine code built from them.
//!
//! # Invariants
//! The hash covers names, texts and where each ends, in the order of [`SOURCES`]; it depends on nothing else, so a bundle built
//! on another machine from the same sources carries the same hash.

/// One CUDA C++ file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path below the crate's directory.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Machine code for one or more architectures, with the hash of the sources that it was compiled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The architectures, such as `sm_90a`, and `compute_80` for portable assembly.
    pub architectures: &'static [&'static str],
    /// The fat binary as the CUDA driver loads it.
    pub code: &'static [u8],
    /// What [`source_hash`] was when it was built.
    pub hash: u64,
}

/// The sources of all kernels, headers included. Empty in this version.
pub const SOURCES: &[Source] = &[];

/// The hash of [`SOURCES`]: 64-bit FNV-1a over each path and text, each followed by its length.
#[must_use]
pub const fn source_hash() -> u64 {
    hash_of(SOURCES)
}

/// The bundle built into this crate, or `None` if it was built without one. Always `None` in this version.
#[must_use]
pub const fn embedded() -> Option<&'static Bundle> {
    None
}

const fn hash_of(sources: &[Source]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < sources.len() {
        hash = with_field(hash, sources[i].path.as_bytes());
        hash = with_field(hash, sources[i].text.as_bytes());
        i += 1;
    }
    hash
}

/// The length after the bytes keeps `("ab", "c")` apart from `("a", "bc")`.
const fn with_field(hash: u64, bytes: &[u8]) -> u64 {
    with_bytes(with_bytes(hash, bytes), &(bytes.len() as u64).to_le_bytes())
}

const fn with_bytes(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv_1a() {
        assert_eq!(with_bytes(hash_of(&[]), b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn hash_tells_sources_apart() {
        let one = |path, text| hash_of(&[Source { path, text }]);
        assert_ne!(one("ab", "c"), one("a", "bc"));
        assert_ne!(one("a.cu", ""), one("a.cu", "x"));
        let (a, b) = (Source { path: "a", text: "1" }, Source { path: "b", text: "2" });
        assert_ne!(hash_of(&[a, b]), hash_of(&[b, a]));
    }

    #[test]
    fn a_bundle_matches_the_sources() {
        assert!(embedded().is_none_or(|bundle| bundle.hash == source_hash()));
    }
}
