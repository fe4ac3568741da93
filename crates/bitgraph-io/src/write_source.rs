//! What is to be written: a pattern, and what is known of it.

use bitgraph_sparse::ordering::Ordering;
use bitgraph_sparse::{Csr, FormatKind, Permutation, Section, Values};

/// What is to be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteSource<'a> {
    /// The pattern.
    pub csr: &'a Csr,
    /// Its values.
    pub values: Option<&'a Values>,
    /// Whether pattern and values equal their transpose. With None it is found out where the format can use it; `Some(true)` is
    /// checked by the text formats, since half of a matrix that is not symmetric would be lost.
    pub symmetric: Option<bool>,
    /// `.bgr`: the renumbering that the matrix is in.
    pub permutation: Option<&'a Permutation>,
    /// `.bgr`: which ordering computed that renumbering; none if it is not known.
    pub ordering: Ordering,
    /// `.bgr`: the vertices' numbers in the file they came from. Edge lists: written instead of 0, 1, 2, ...
    pub original_ids: Option<&'a [u64]>,
    /// `.bgr`: the arrays of another format, written instead of the CSR.
    pub format: Option<(FormatKind, Vec<Section>)>,
}

impl<'a> WriteSource<'a> {
    /// A pattern, nothing else.
    #[must_use]
    pub fn new(csr: &'a Csr) -> Self {
        Self { csr, values: None, symmetric: None, permutation: None, ordering: Ordering::None, original_ids: None, format: None }
    }
    /// With values.
    #[must_use]
    pub fn with_values(mut self, values: Option<&'a Values>) -> Self {
        self.values = values;
        self
    }
    /// With what is known of its symmetry.
    #[must_use]
    pub fn with_symmetric(mut self, symmetric: Option<bool>) -> Self {
        self.symmetric = symmetric;
        self
    }

    /// Whether pattern and values equal their transpose.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric != Some(false) && self.csr.is_symmetric_with(self.values)
    }
}
