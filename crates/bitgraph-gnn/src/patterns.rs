//! The patterns that layers go over, on a backend from their first use on: most models read one of a graph's two.
//!
//! Invariant: both are of one graph; whoever asks for one gets the same matrix every time.

use bitgraph_backend::Matrix;
use bitgraph_sparse::{Buffer, Csr, FormatKind, Offsets};
use bitgraph_tensor::TensorBackend;
use std::sync::OnceLock;

/// A pattern without loops and the same with a loop in every row, in host memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HostPatterns {
    /// The pattern without loops.
    pub bare: Csr,
    /// That with loops, where it is made ahead.
    pub looped: Option<Csr>,
    /// Whether products with the transpose are those with the pattern itself: it is symmetric, and nothing weighs its entries.
    pub symmetric: bool,
    /// Entries of a row at most, of a graph that is trained on once.
    pub short_lived: Option<u32>,
}

impl HostPatterns {
    fn matrix<B: TensorBackend>(&self, backend: &B, loops: bool) -> Result<Matrix<B>, B::Error> {
        let made = if loops && self.looped.is_none() { Some(with_loops(&self.bare)) } else { None };
        let pattern = if loops { made.as_ref().or(self.looped.as_ref()) } else { None }.unwrap_or(&self.bare);
        let matrix = Matrix::new(backend, pattern, None, FormatKind::Csr)?;
        // With a loop in every row, what is symmetric stays so.
        let matrix = if self.symmetric { matrix.with_symmetric_pattern() } else { matrix };
        Ok(match self.short_lived {
            Some(longest) => matrix.short_lived(longest.saturating_add(u32::from(loops))),
            None => matrix,
        })
    }
}

/// The same on a backend.
pub(crate) struct Patterns<B: TensorBackend> {
    backend: B,
    host: Option<HostPatterns>,
    bare: OnceLock<Matrix<B>>,
    looped: OnceLock<Matrix<B>>,
}

impl<B: TensorBackend> Patterns<B> {
    /// Of host memory.
    pub fn of_host(backend: &B, host: HostPatterns) -> Self {
        Self { backend: backend.clone(), host: Some(host), bare: OnceLock::new(), looped: OnceLock::new() }
    }
    /// Of what is on the backend.
    pub fn there(backend: &B, bare: Matrix<B>, looped: Matrix<B>) -> Self {
        Self { backend: backend.clone(), host: None, bare: OnceLock::from(bare), looped: OnceLock::from(looped) }
    }
    /// That without loops.
    ///
    /// # Errors
    /// Out of memory, at the first use.
    pub fn bare(&self) -> Result<&Matrix<B>, B::Error> {
        self.get(&self.bare, false)
    }
    /// That with a loop in every row.
    ///
    /// # Errors
    /// As [`Patterns::bare`].
    pub fn looped(&self) -> Result<&Matrix<B>, B::Error> {
        self.get(&self.looped, true)
    }
    /// Those that were used, with their names.
    pub fn used(&self) -> impl Iterator<Item = (&'static str, &Matrix<B>)> {
        [("adjacency", &self.bare), ("adjacency with loops", &self.looped)].into_iter().filter_map(|(name, cell)| Some((name, cell.get()?)))
    }
    fn get<'a>(&'a self, cell: &'a OnceLock<Matrix<B>>, loops: bool) -> Result<&'a Matrix<B>, B::Error> {
        if let (None, Some(host)) = (cell.get(), &self.host) {
            // Not under a lock: what is asked of a device may wait for another thread. Which of two equal ones stays is no matter.
            let made = host.matrix(&self.backend, loops)?;
            let _ = cell.set(made);
        }
        match cell.get() {
            Some(matrix) => Ok(matrix),
            None => unreachable!("what is not of host memory is there"),
        }
    }
}

/// A pattern without loops with one in every row.
pub(crate) fn with_loops(bare: &Csr) -> Csr {
    let (mut offsets, mut indices) = (vec![0usize], Vec::with_capacity(bare.nnz() + bare.nrows()));
    for i in 0..bare.nrows() {
        let (row, own) = (bare.row(i), i as u32);
        let at = row.partition_point(|&j| j < own);
        indices.extend_from_slice(&row[..at]);
        indices.push(own);
        indices.extend_from_slice(&row[at..]);
        offsets.push(indices.len());
    }
    Csr::from_valid(bare.nrows(), bare.ncols(), Offsets::from_usizes(&offsets), Buffer::from(indices))
}
