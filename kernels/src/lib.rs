//! CUDA kernels of bitgraph: which ones exist, their sources, and their machine code where it was built.
//!
//! The crate carries no behaviour: a GPU backend looks a kernel up here and loads what [`code`] holds, or compiles the
//! [`SOURCES`] at run time. The structs that both sides share are read off the sources ([`STRUCTS`]). A plain build needs neither nvcc nor CUDA; `cargo xtask kernels` compiles ahead of time.
//!
//! # Invariants
//! No two kernels have the same name; code is handed out only if it belongs to the sources of the same build.

mod bundle;
mod layout;
mod modules;
mod source;
mod symbol;

pub use bundle::{Bundle, Module, Unusable, code, embedded, pack, unpack};
pub use layout::{Field, STRUCTS, Struct, assertions, constant};
pub use modules::{Listed, MODULES};
pub use source::{SOURCES, Source, fnv, includes, module_hash, source, text_hash};
pub use symbol::{LISTED_MODULE, SYMBOLS, Symbol};
