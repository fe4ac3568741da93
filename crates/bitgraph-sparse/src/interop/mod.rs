//! Conversions from and to the types of other crates, each behind a feature of that crate's name.
//!
//! Arrays are moved or borrowed where the layouts agree; each function says what it copies. What comes from outside is checked.

#[cfg(feature = "bitvec")]
mod bitvec;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "petgraph")]
mod petgraph;
#[cfg(feature = "sprs")]
mod sprs;
