#![doc = include_str!("../README.md")]

mod algorithm;
mod arranged;
mod backend;
mod data;
mod error;
mod fused;
mod graph;
mod matrix;
pub mod ops;
mod plan;
mod resident;
mod ring;
mod same_type;
mod stats;
mod vector;
mod weights;

pub use algorithm::{Algorithm, Definition};
pub use arranged::{Arranged, Renumber};
pub use backend::Backend;
pub use data::{GraphData, Symmetry};
pub use error::{Error, FamilyError, Result};
pub use fused::{Fused, NoLayout};
pub use graph::{BuildTimes, DefaultBackend, Graph, GraphBuilder, Ready, Unnamed};
pub use matrix::{Matrix, Typed};
pub use ops::{MatrixOps, Mxm, Mxv, VectorOps};
pub use plan::{Candidate, Plan, Request, Reuse, StoredCost};
pub use resident::Resident;
pub use ring::{Accum, Accumulate, NoAccum, StorableSemiring};
pub use same_type::same_type;
pub use stats::{Below, Diagonals, Stats};
pub use vector::{Value, Vector};
pub use weights::{Weight, WeightStats};

pub use bitgraph_sparse::{Cancelled, Control, Progress};
