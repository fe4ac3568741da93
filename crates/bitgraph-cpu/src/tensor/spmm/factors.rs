//! What the entries of a row multiply features by: edge values, column scales, or both.

use crate::Isa;
use crate::tensor::number::Sum;
use crate::tensor::view::AnyView;
use bitgraph_sparse::Csr;

/// Memory that rows are computed in, one after the other.
pub struct Scratch<S> {
    /// The factors of a row.
    pub factors: Vec<S>,
    /// What else their computation needs.
    pub more: [Vec<S>; 2],
}
impl<S> Default for Scratch<S> {
    fn default() -> Self {
        Self { factors: Vec::new(), more: [Vec::new(), Vec::new()] }
    }
}

/// Sets the factors of a row's entries, `heads` for each; called once for every row.
pub type Computed<'a, S> = &'a (dyn Fn(usize, &mut Scratch<S>) + Sync);

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
    /// What computes the factors, in place of values and columns.
    pub computed: Option<Computed<'a, S>>,
    /// Heads of the edge values; 1 without.
    pub heads: usize,
    pub isa: Isa,
}

impl<S: Sum> Entries<'_, S> {
    /// Whether every factor is 1.
    pub fn are_ones(&self) -> bool {
        self.values.is_none() && self.columns.is_none() && self.computed.is_none()
    }
    /// The factors of a row's entries, `heads` for each entry; for matrices whose factors are not all 1.
    pub fn row<'b>(&'b self, i: usize, scratch: &'b mut Scratch<S>) -> &'b [S] {
        if let Some(compute) = self.computed {
            compute(i, scratch);
            return &scratch.factors;
        }
        let range = self.csr.row_range(i);
        if let (Some(values), None, None) = (&self.values, self.positions, &self.columns)
            && let Some(same) = values.as_view::<S>()
            && same.window.is_contiguous()
        {
            let start = same.window.offset();
            return &same.data[start + range.start * self.heads..start + range.end * self.heads];
        }
        let scratch = &mut scratch.factors;
        scratch.clear();
        if let (None, Some(scale), 1) = (&self.values, &self.columns, self.heads) {
            scratch.extend(self.csr.row(i).iter().map(|&j| scale[j as usize]));
            return scratch;
        }
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
