//! Patterns and their mirror images: the union of both, and whether values agree.

use crate::offsets::Width;
use crate::parallel::{self, rows_mut};
use crate::{Csr, Error, Result, Values, with_values};

impl Csr {
    /// Whether pattern and values equal their transpose: the pattern as [`Csr::is_symmetric`], then the values in O(nnz log degree),
    /// parallel. Stops early where they do not.
    ///
    /// # Panics
    /// If there are fewer values than entries.
    #[must_use]
    pub fn is_symmetric_with(&self, values: Option<&Values>) -> bool {
        self.is_symmetric()
            && values.is_none_or(|values| {
                with_values!(values, v => parallel::all(self.nrows(), 1024, |u| {
                    self.row_range(u).zip(self.row(u)).all(|(k, &w)| {
                        (w as usize) <= u || self.position(w as usize, u as u32).is_some_and(|mirror| v[mirror] == v[k])
                    })
                }))
            })
    }

    /// The union of the pattern and its transpose: every entry and its mirror image, once. Itself, shared, if it is symmetric. O(nnz),
    /// parallel; peak memory the transpose and the result, or what [`Csr::transpose`] needs.
    ///
    /// # Errors
    /// [`Error::Shape`] if the matrix is not square.
    pub fn symmetrized(&self) -> Result<Self> {
        if !self.is_square() {
            let (n, m) = (self.nrows() as u64, self.ncols() as u64);
            return Err(Error::Shape { expected_rows: n, expected_columns: n, found_rows: n, found_columns: m });
        }
        if self.is_symmetric() {
            return Ok(self.clone());
        }
        let t = self.transpose();
        Ok(if u32::try_from(2 * self.nnz() as u64).is_ok() { union::<u32>(self, &t) } else { union::<u64>(self, &t) })
    }
}

/// The union of two patterns of one shape.
fn union<O: Width>(a: &Csr, b: &Csr) -> Csr {
    let n = a.nrows();
    let mut offsets = vec![O::default(); n + 1];
    parallel::update(&mut offsets[..n], 1024, |i, count| *count = O::from_index(merge(a.row(i), b.row(i), |_| ())));
    let mut total = 0;
    for offset in &mut offsets {
        let count = offset.index();
        *offset = O::from_index(total);
        total += count;
    }
    let mut indices = vec![0u32; total];
    rows_mut(&offsets, &mut indices, |i, out| {
        let mut slot = 0;
        merge(a.row(i), b.row(i), |c| {
            out[slot] = c;
            slot += 1;
        });
    });
    Csr::from_valid(n, a.ncols(), O::wrap(offsets), indices.into())
}

/// Visits the union of two ascending lists, and counts it.
fn merge(a: &[u32], b: &[u32], mut f: impl FnMut(u32)) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() || j < b.len() {
        let x = a.get(i).copied().unwrap_or(u32::MAX);
        let y = b.get(j).copied().unwrap_or(u32::MAX);
        // Ids are below u32::MAX, so the stand-in for an exhausted list never wins.
        f(x.min(y));
        i += usize::from(x <= y && i < a.len());
        j += usize::from(y <= x && j < b.len());
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use crate::{Coo, Csr, Duplicates, Error, Values};

    fn arcs(n: usize, entries: &[(u32, u32)]) -> Csr {
        let (rows, columns) = entries.iter().copied().unzip();
        Coo::pattern(n, n, rows, columns).into_csr(Duplicates::First).unwrap().0
    }

    #[test]
    fn the_union_with_the_transpose() {
        let a = arcs(5, &[(0, 1), (1, 0), (1, 1), (3, 0), (3, 4), (2, 3)]);
        let both = a.symmetrized().unwrap();
        assert!(both.is_symmetric());
        assert_eq!(both, arcs(5, &[(0, 1), (1, 0), (1, 1), (3, 0), (0, 3), (3, 4), (4, 3), (2, 3), (3, 2)]));
        assert_eq!(both.symmetrized().unwrap(), both);
        assert_eq!(Csr::empty(0, 0).unwrap().symmetrized().unwrap().nnz(), 0);
        let wide = Csr::empty(2, 3).unwrap();
        assert!(matches!(wide.symmetrized(), Err(Error::Shape { .. })));
    }

    #[test]
    fn symmetry_looks_at_values() {
        let mut coo = Coo::pattern(3, 3, vec![0, 1, 1, 2, 2], vec![1, 0, 2, 1, 2]);
        coo.values = Some(Values::from_vec(vec![4i32, 4, 5, 5, 1]));
        let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
        assert!(csr.is_symmetric_with(values.as_ref()) && csr.is_symmetric_with(None));
        assert!(!csr.is_symmetric_with(Some(&Values::from_vec(vec![4i32, 4, 5, 6, 1]))));
        assert!(!arcs(2, &[(0, 1)]).is_symmetric_with(None));
    }
}
