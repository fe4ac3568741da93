//! The invariants of a translation that comes from outside.
//!
//! Invariant: nothing is indexed by a number that has not been checked before.

use super::Sgt;
use bitgraph_sparse::{Csr, Error, Permutation, Result, parallel};
use rayon::prelude::*;

impl Sgt {
    /// Refuses what breaks an invariant, naming the first place found. O(entries + distinct columns), parallel but for the offsets.
    pub(crate) fn check(&self) -> Result<()> {
        let (rows, nnz) = (self.nrows(), self.nnz());
        let invalid = |array, position: usize, what| Err(Error::Invalid { array, position: position as u64, what });
        if self.offsets.len() != rows + 1 {
            return Err(Error::Length { array: "offsets", expected: rows as u64 + 1, found: self.offsets.len() as u64 });
        }
        if self.offsets.get(0) != 0 {
            return invalid("offsets", 0, "the first offset is not 0");
        }
        if let Some(i) = (0..rows).find(|&i| self.offsets.get(i) > self.offsets.get(i + 1)) {
            return invalid("offsets", i + 1, "offsets decrease");
        }
        if self.offsets.last() != nnz {
            return Err(Error::Length { array: "edge_to_col", expected: self.offsets.last() as u64, found: nnz as u64 });
        }
        if let Some(order) = &self.order {
            if order.len() != rows {
                return Err(Error::Length { array: "row_order", expected: rows as u64, found: order.len() as u64 });
            }
            Permutation::from_old_of_new(order.to_vec()).map_err(|e| e.renamed(&[("permutation", "row_order")]))?;
        }
        // The columns of windows are a sparse pattern, whose invariants are those of compressed rows.
        let windows = rows.div_ceil(self.height());
        Csr::new(windows, self.ncols(), self.column_offsets.clone(), self.columns.clone())
            .map_err(|e| e.renamed(&[("offsets", "column_offsets"), ("indices", "columns")]))?;
        (0..windows).into_par_iter().with_min_len(64).try_for_each_init(Vec::new, |used, w| window(self, w, used))
    }
}

/// The entries of one window: in range, ascending in each row, and none of its columns without one.
fn window(sgt: &Sgt, w: usize, used: &mut Vec<bool>) -> Result<()> {
    let count = sgt.window_columns(w).len();
    used.clear();
    used.resize(count, false);
    for row in sgt.places(w).map(|place| sgt.row_at(place)) {
        let range = sgt.row_range(row);
        let entries = &sgt.edge_to_col[range.clone()];
        let invalid = |k: usize, what| Err(Error::Invalid { array: "edge_to_col", position: (range.start + k) as u64, what });
        if let Some(k) = parallel::position(entries, |&c| c as usize >= count) {
            return invalid(k, "a column past the window's last one");
        }
        if let Some(k) = entries.windows(2).position(|pair| pair[0] >= pair[1]) {
            return invalid(k + 1, "columns of a row are not ascending");
        }
        entries.iter().for_each(|&c| used[c as usize] = true);
    }
    match used.iter().position(|&used| !used) {
        Some(k) => {
            let position = (sgt.column_offsets.get(w) + k) as u64;
            Err(Error::Invalid { array: "columns", position, what: "a column that no entry of its window has" })
        }
        None => Ok(()),
    }
}
