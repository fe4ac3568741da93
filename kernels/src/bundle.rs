//! The machine code built from the sources, where `cargo xtask kernels` was run before the crate was compiled.
//!
//! # Invariants
//! Code is handed out only if it was compiled from the sources that this crate carries and has not changed since. It is embedded packed,
//! and unpacked a module at a time, when that is first used.

use crate::registers;
use crate::source::module_hash;
use std::io;

/// Machine code for one or more architectures, a fat binary for every module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The architectures, such as `sm_90a`, and `compute_80` for portable assembly.
    pub architectures: &'static [&'static str],
    /// The modules.
    pub modules: &'static [Module],
}

/// One compiled source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The name, such as `graph/bfs`.
    pub name: &'static str,
    /// The fat binary as the CUDA driver loads it, packed by [`pack`].
    pub packed: &'static [u8],
    /// What [`module_hash`] was when it was compiled.
    pub source_hash: u64,
}

/// Why a module's code cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The crate was built without a bundle, or the bundle lacks the module.
    Absent,
    /// The code was compiled from other sources.
    Stale,
    /// The code is not what was written.
    Corrupt,
}

static EMBEDDED: Option<Bundle> = include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

/// The bundle built into this crate, or `None` if it was built without one.
#[must_use]
pub fn embedded() -> Option<&'static Bundle> {
    EMBEDDED.as_ref()
}

/// Makes code small: registers by how they relate, then a Zstandard frame of the highest level, with a checksum. A module
/// repeats itself over distances of hundreds of kilobytes, a kernel for each type, so that a compressor with a short window makes twice as
/// much of it. Slow: done once, when kernels are compiled.
///
/// # Errors
/// Out of memory, in words.
pub fn pack(code: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(*zstd::compression_level_range().end())?;
    compressor.include_checksum(true)?;
    compressor.compress(&registers::shorten(code)?)
}

/// The code that was packed. O(bytes).
///
/// # Errors
/// What is not packed code, or not as it was packed.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    registers::expand(&zstd::decode_all(packed)?)
}

impl Module {
    /// The code, if it belongs to the sources at hand and is whole. O(bytes).
    ///
    /// # Errors
    /// [`Unusable::Stale`] or [`Unusable::Corrupt`].
    pub fn checked(&self) -> Result<Vec<u8>, Unusable> {
        if module_hash(self.name) != Some(self.source_hash) {
            return Err(Unusable::Stale);
        }
        unpack(self.packed).map_err(|_| Unusable::Corrupt)
    }
}

/// The embedded code of a module.
///
/// # Errors
/// Says why there is none that may be run.
pub fn code(name: &str) -> Result<Vec<u8>, Unusable> {
    let module = embedded().and_then(|b| b.modules.iter().find(|m| m.name == name)).ok_or(Unusable::Absent)?;
    module.checked()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SYMBOLS, listed_modules};
    use std::collections::HashMap;

    /// How often what stands between `before` and the byte `after` is there, by name.
    fn named<'a>(code: &'a [u8], before: &[u8], after: u8) -> HashMap<&'a [u8], usize> {
        let mut found = HashMap::new();
        let mut rest = code;
        // By its first byte, which is looked for many times as fast as all of them.
        while let Some(at) = rest.iter().position(|byte| *byte == before[0]) {
            rest = &rest[at..];
            let name = rest.strip_prefix(before).and_then(|name| Some(&name[..name.iter().take(200).position(|byte| *byte == after)?]));
            if let Some(name) = name {
                *found.entry(name).or_default() += 1;
            }
            rest = &rest[1..];
        }
        found
    }

    #[test]
    fn stale_and_corrupt_code_is_refused() {
        let Some(name) = listed_modules().next().map(|m| m.name) else { return };
        let hash = module_hash(name).unwrap();
        let packed: &'static [u8] = pack(b"code").unwrap().leak();
        let module = Module { name, packed, source_hash: hash ^ 1 };
        assert_eq!(module.checked(), Err(Unusable::Stale));
        let changed: Vec<Result<Vec<u8>, Unusable>> = (0..packed.len())
            .map(|i| {
                let mut packed = packed.to_vec();
                packed[i] ^= 1;
                Module { source_hash: hash, packed: packed.leak(), ..module }.checked()
            })
            .collect();
        assert!(changed.iter().all(|code| *code == Err(Unusable::Corrupt) || *code == Ok(b"code".to_vec())));
        assert!(changed.iter().filter(|code| code.is_err()).count() > packed.len() / 2);
        assert_eq!(Module { source_hash: hash, packed: &packed[..packed.len() - 3], ..module }.checked(), Err(Unusable::Corrupt));
        assert_eq!(Module { source_hash: hash, packed: b"code", ..module }.checked(), Err(Unusable::Corrupt));
        assert_eq!(Module { source_hash: hash, ..module }.checked().as_deref(), Ok(&b"code"[..]));
        assert_eq!(code("no/such"), Err(Unusable::Absent));
    }

    /// What repeats itself over a megabyte is kept once.
    #[test]
    fn code_that_repeats_itself_gets_small() {
        let mut state = 1u32;
        let next = |state: &mut u32| {
            *state ^= *state << 13;
            *state ^= *state >> 17;
            *state ^= *state << 5;
            (*state >> 24) as u8
        };
        let once: Vec<u8> = (0..1 << 20).map(|_| next(&mut state)).collect();
        let packed = pack(&once.repeat(4)).unwrap();
        assert!(packed.len() < once.len() + once.len() / 50);
        assert_eq!(unpack(&packed).unwrap(), once.repeat(4));
        assert_eq!(unpack(&pack(&[]).unwrap()).unwrap(), []);
    }

    /// Every kernel of the table is in the compiled code of every architecture; needs a bundle, not a GPU.
    #[test]
    fn every_symbol_is_compiled() {
        let Some(bundle) = embedded() else {
            println!("skipped: no kernels were compiled (cargo xtask kernels)");
            return;
        };
        let machine = bundle.architectures.iter().filter(|a| a.starts_with("sm_")).count();
        assert!(machine > 0);
        let listed = listed_modules().map(|m| (m.name, m.kernels.iter().map(ToString::to_string).collect::<Vec<_>>()));
        let generic = (crate::LISTED_MODULE, SYMBOLS.iter().map(ToString::to_string).collect());
        for (module, kernels) in listed.chain([generic]) {
            let code = code(module).unwrap_or_else(|why| panic!("{module}: {why:?}; run cargo xtask kernels again"));
            let (compiled, portable) = (named(&code, b"\0.text.", 0), named(&code, b".entry ", b'('));
            for kernel in kernels {
                let found = compiled.get(kernel.as_bytes()).copied().unwrap_or(0);
                assert!(found >= machine, "{kernel} is compiled for {found} of {machine} architectures in {module}");
                assert!(portable.contains_key(kernel.as_bytes()), "{kernel} has no portable assembly in {module}");
            }
        }
    }
}
