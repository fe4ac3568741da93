//! What is to be computed, and on which graph.

use anyhow::{Context, Result};
use bitgraph::prelude::*;
use bitgraph::{hashed_weights, sparse::Csr};

/// The maximum weight of shortest paths: weights are whole numbers from 1 to it, hashed from the edge's ends.
pub const MAX_WEIGHT: u32 = 255;
/// `PageRank` iterations of a timed run.
pub const ITERATIONS: u32 = 20;
/// `PageRank` iterations of a run whose scores are compared: enough for methods that converge in different ways to meet.
pub const CHECK_ITERATIONS: u32 = 100;
/// Columns of the features that a sparse matrix is multiplied with.
pub const FEATURES: usize = 64;
/// Columns of the signs that are summed over neighbours.
pub const SIGNS: usize = 512;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Task {
    /// Levels from the vertex of maximum degree.
    Bfs,
    /// Distances from the vertex of maximum degree.
    Sssp,
    /// Scores after a fixed number of iterations, in `f32`, dangling mass dropped.
    #[value(name = "pagerank")]
    PageRank,
    /// Components, weak ones on a directed graph.
    Cc,
    /// The number of triangles; undirected graphs only.
    Tc,
    /// The product of the pattern and a float vector.
    Mxv,
    /// The product of the pattern and [`FEATURES`] columns of floats.
    Spmm,
    /// Sums of [`SIGNS`] signs over neighbours, beside the same of floats.
    Signs,
}

impl Task {
    /// Every task.
    pub const ALL: [Self; 8] = [Self::Bfs, Self::Sssp, Self::PageRank, Self::Cc, Self::Tc, Self::Mxv, Self::Spmm, Self::Signs];
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bfs => "bfs",
            Self::Sssp => "sssp",
            Self::PageRank => "pagerank",
            Self::Cc => "cc",
            Self::Tc => "tc",
            Self::Mxv => "mxv",
            Self::Spmm => "spmm",
            Self::Signs => "signs",
        }
    }
    /// Bytes that a run over `n` vertices moves if it reads its matrix and its own layout once an iteration and touches every vector once. A
    /// search that stops looking at rows, or whose layout stays in a cache, gets by with less.
    #[must_use]
    pub fn bytes(self, n: u64, matrix: u64, own: u64) -> u64 {
        match self {
            Self::Bfs => matrix + own + 4 * n,
            Self::Sssp => (if own > 0 { own } else { matrix }) + 4 * n,
            // Scores, shares of the last iteration and of the next.
            Self::PageRank => u64::from(ITERATIONS) * (if own > 0 { own } else { matrix } + 12 * n),
            Self::Cc => matrix + 4 * n,
            Self::Tc => matrix,
            Self::Mxv => matrix + 8 * n,
            Self::Spmm => matrix + 8 * n * FEATURES as u64,
            // A bit of each column in, and 16 bits out.
            Self::Signs => matrix + n * (SIGNS as u64 / 8 + 2 * SIGNS as u64),
        }
    }
    /// The task of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

/// A graph with everything that the tasks need.
pub struct Subject {
    /// The graph.
    pub loaded: LoadedGraph,
    /// Hashed weights in the pattern's order.
    pub weights: Vec<u32>,
    /// The vertex of largest degree, where searches start.
    pub source: u32,
}

impl Subject {
    /// Loads a graph.
    ///
    /// # Errors
    /// If it cannot be loaded, is not square, or has no entries.
    pub fn load(name: &str) -> Result<Self> {
        let loaded = name.parse::<GraphSource>()?.load(&LoadOptions::default())?;
        let csr = &loaded.csr;
        anyhow::ensure!(csr.is_square(), "{name} is {} x {}; graphs are square", csr.nrows(), csr.ncols());
        anyhow::ensure!(csr.nnz() > 0, "{name} has no edges");
        let weights = hashed_weights(csr, MAX_WEIGHT).expect::<u32>()?.to_vec();
        let source = csr.max_degree_row().with_context(|| format!("{name} has no vertices"))?;
        Ok(Self { loaded, weights, source })
    }
    /// The pattern.
    #[must_use]
    pub fn csr(&self) -> &Csr {
        &self.loaded.csr
    }
    /// Every entry with its weight, row by row.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let csr = self.csr();
        (0..csr.nrows()).flat_map(move |u| csr.row_range(u).map(move |k| (u as u32, csr.indices()[k], self.weights[k])))
    }
    /// A number for each row of a product: its columns, weighted by their places, so that columns in another order are told apart. A result
    /// of many columns is not kept for the comparison.
    #[must_use]
    pub fn of_rows(product: &[f32], columns: usize) -> Vec<f64> {
        let of_row = |row: &[f32]| row.iter().zip(1u32..).map(|(&y, place)| f64::from(place) * f64::from(y)).sum();
        product.chunks_exact(columns).map(of_row).collect()
    }
    /// The operand of a product, row-major: a vector, or the features of every vertex. Small whole numbers, so that sums are exact in
    /// any order.
    #[must_use]
    pub fn operand(&self, columns: usize) -> Vec<f32> {
        (0..self.csr().ncols() * columns).map(|k| 1.0 + (k % 7) as f32).collect()
    }
}
