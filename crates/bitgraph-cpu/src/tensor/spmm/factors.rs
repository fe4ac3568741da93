//! What the entries of a row multiply features by: edge values, column scales, or both.

use crate::Isa;
use crate::tensor::number::Sum;
use crate::tensor::view::AnyView;
use bitgraph_sparse::Csr;

/// The entries of a matrix as seen, and their factors.
pub struct Entries<'a, S> {
    /// The pattern as seen.
    pub csr: &'a Csr,
    /// Where each entry is in the order that edge values are in; as they come without.
    pub positions: Option<&'a [usize]>,
    /// Edge values: entries x heads.
    pub values: Option<AnyView<'a>>,
    /// A factor of each column.
    pub columns: Option<Vec<S>>,
    /// Heads of the edge values; 1 without.
    pub heads: usize,
    pub isa: Isa,
}

impl<S: Sum> Entries<'_, S> {
    /// Whether every factor is 1.
    pub fn are_ones(&self) -> bool {
        self.values.is_none() && self.columns.is_none()
    }
    /// The factors of a row's entries, `heads` for each entry; for matrices whose factors are not all 1.
    pub fn row<'b>(&'b self, i: usize, scratch: &'b mut Vec<S>) -> &'b [S] {
        let range = self.csr.row_range(i);
        if let (Some(values), None, None) = (&self.values, self.positions, &self.columns)
            && let Some(same) = values.as_view::<S>()
            && same.window.is_contiguous()
        {
            let start = same.window.offset();
            return &same.data[start + range.start * self.heads..start + range.end * self.heads];
        }
        scratch.clear();
        scratch.resize(range.len() * self.heads, S::ONE);
        if let Some(values) = &self.values {
            for (entry, slots) in range.clone().zip(scratch.chunks_exact_mut(self.heads)) {
                values.row_into(self.isa, self.positions.map_or(entry, |p| p[entry]), slots);
            }
        }
        if let Some(scale) = &self.columns {
            for (&j, slots) in self.csr.row(i).iter().zip(scratch.chunks_exact_mut(self.heads)) {
                slots.iter_mut().for_each(|slot| *slot = slot.times(scale[j as usize]));
            }
        }
        scratch
    }
}
