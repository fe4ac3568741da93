//! What the tests of bitgraph hold implementations against: dense mimics of every operation, plain reference algorithms,
//! validators, tolerances, a corpus of small graphs with known answers, and a source of test cases. Not published.
//!
//! Everything here is written for being obviously right, and is slow. Nothing here shares code with what it judges, except
//! the semirings themselves. Functions panic on operands whose shapes do not fit: that is a mistake of the test.
//!
//! ```
//! use bitgraph_semiring::MinPlus;
//! use bitgraph_testkit::{MimicMatrix, MimicVector, mimic};
//!
//! let a = MimicMatrix::from_entries(2, 2, &[(0, 1, 5), (1, 0, 7)]);
//! let u = MimicVector(vec![Some(1), None]);
//! let w = mimic::mxv(MinPlus::<i32>::new(), &a, &u);
//! assert_eq!(w.0, vec![None, Some(8)]);
//! ```

pub mod cases;
mod corpus;
pub mod graphs;
pub mod mimic;
pub mod own;
pub mod pairwise;
pub mod reference;
mod share;
pub mod tensor;
mod tolerance;

pub use corpus::{Known, NamedGraph, corpus, rectangular};
pub use mimic::{MimicMask, MimicMatrix, MimicVector};
pub use share::{SHARE_VARIABLE, share, shared};
pub use tolerance::{Mismatches, Tolerance};
