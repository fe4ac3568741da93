//! CUDA kernels of bitgraph: which ones exist, the hash of their sources, and their machine code where it was built.
//!
//! The crate carries no behaviour: a GPU backend looks a kernel up here by [`Symbol`] and loads what [`embedded`] holds. This
//! version lists no kernels, so every lookup answers that there is none, and a plain build needs neither nvcc nor CUDA.
//!
//! # Invariants
//! No two entries of [`SYMBOLS`] have the same name; a bundle is used only if its hash equals [`source_hash`].

mod bundle;
mod symbol;

pub use bundle::{Bundle, SOURCES, Source, embedded, source_hash};
pub use symbol::{SYMBOLS, Symbol, find};
