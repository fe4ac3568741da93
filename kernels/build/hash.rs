//! The hash of sources, for the crate and for its build script, which writes down the hash of each module.
//!
//! # Invariants
//! The hash of a text covers that of every header it includes, directly or not, with their paths, and nothing else.

use std::collections::BTreeMap;

/// A source file: its path and its text.
type File<'a> = (&'a str, &'a str);

pub const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on with a 64-bit FNV-1a.
pub fn with_bytes(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The length after the bytes keeps `("ab", "c")` apart from `("a", "bc")`.
fn with_field(hash: u64, bytes: &[u8]) -> u64 {
    with_bytes(with_bytes(hash, bytes), &(bytes.len() as u64).to_le_bytes())
}

/// The files that a text includes, directly or not, by path; `find` gives the file of a path.
pub fn includes<'a>(text: &str, find: &impl Fn(&str) -> Option<File<'a>>) -> BTreeMap<&'a str, &'a str> {
    let mut found = BTreeMap::new();
    visit(text, find, &mut found);
    found
}

fn visit<'a>(text: &str, find: &impl Fn(&str) -> Option<File<'a>>, found: &mut BTreeMap<&'a str, &'a str>) {
    for line in text.lines() {
        let Some(path) = line.trim_start().strip_prefix("#include \"").and_then(|rest| rest.split('"').next()) else { continue };
        if let Some((path, text)) = find(path)
            && found.insert(path, text).is_none()
        {
            visit(text, find, found);
        }
    }
}

/// The hash of a text and of what it includes.
pub fn of_text<'a>(text: &str, find: &impl Fn(&str) -> Option<File<'a>>) -> u64 {
    let start = with_field(FNV_START, text.as_bytes());
    includes(text, find).into_iter().fold(start, |hash, (path, text)| with_field(with_field(hash, path.as_bytes()), text.as_bytes()))
}
