#![doc = include_str!("../README.md")]
//!
//! # Invariants
//! No two kernels have the same name; code is handed out only if it belongs to the sources of the same build.

mod bundle;
mod layout;
mod modules;
mod registers;
mod source;
mod symbol;

pub use bundle::{Bundle, Module, Unusable, code, embedded, pack, unpack};
pub use layout::{Field, STRUCTS, Struct, assertions, constant};
pub use modules::{Listed, listed_modules};
pub use source::{Source, fnv, includes, module_hash, source, sources, text_hash};
pub use symbol::{LISTED_MODULE, SYMBOLS, Symbol};
