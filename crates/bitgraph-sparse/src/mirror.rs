//! A directed graph made undirected: the union of a matrix and its transpose.

use crate::{Coo, Csr, Duplicates, Error, Permutation, Result, Values, parallel, with_values};

/// The union of a matrix and its transpose; of the values of two opposite entries one is made by `duplicates`, which takes the one whose
/// row comes first for the first. `order` is the renumbering that the matrix is in, if any: rows are taken in the order from before, so
/// that the result does not depend on it. [`Duplicates::Error`] refuses opposite entries of two values. O(nnz log degree), parallel. Peak memory without values is [`Csr::symmetrized`]'s; with them, the
/// entries again, with 4 bytes for each row number, and the result.
///
/// # Errors
/// [`Error::Shape`] for a matrix that is not square; [`Error::Opposite`], by the numbers from before a renumbering.
///
/// # Panics
/// If there are more or fewer values than entries, or the renumbering has another size.
pub fn mirrored(csr: &Csr, values: Option<Values>, order: Option<&Permutation>, duplicates: Duplicates) -> Result<(Csr, Option<Values>)> {
    let Some(values) = values else { return Ok((csr.symmetrized()?, None)) };
    let n = csr.nrows();
    if duplicates == Duplicates::Error
        && let Some((u, v)) = disagreement(csr, &values)
    {
        let old = |x: u32| u64::from(order.map_or(x, |p| p.old_of_new()[x as usize]));
        let (u, v) = (old(u), old(v));
        return Err(Error::Opposite { row: u.min(v), column: u.max(v) });
    }
    let rows = || (0..n).map(|u| order.map_or(u, |p| p.new_of_old()[u] as usize));
    let row_of = rows().flat_map(|u| std::iter::repeat_n(u as u32, csr.degree(u))).collect();
    let (columns, values) = match order {
        None => (csr.indices().to_vec(), values),
        Some(_) => {
            let positions: Vec<usize> = rows().flat_map(|u| csr.row_range(u)).collect();
            (positions.iter().map(|&k| csr.indices()[k]).collect(), values.gather(&positions))
        }
    };
    let entries = Coo { values: Some(values), mirrored: true, ..Coo::pattern(n, csr.ncols(), row_of, columns) };
    entries.into_csr(if duplicates == Duplicates::Error { Duplicates::First } else { duplicates })
}

/// The first entry above the diagonal whose opposite has another value. A matrix that is not square has none here.
fn disagreement(csr: &Csr, values: &Values) -> Option<(u32, u32)> {
    if !csr.is_square() {
        return None;
    }
    with_values!(values, v => parallel::first(csr.nrows(), 1024, |u| {
        csr.row_range(u).zip(csr.row(u)).find_map(|(k, &w)| {
            let opposite = if w as usize > u { csr.position(w as usize, u as u32) } else { None };
            opposite.is_some_and(|o| v[o] != v[k]).then_some((u as u32, w))
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_arcs_in_any_order() {
        let mut coo = Coo::pattern(3, 3, vec![0, 1, 2], vec![1, 0, 0]);
        coo.values = Some(Values::from_vec(vec![4i32, 6, 9]));
        let (csr, values) = coo.into_csr(Duplicates::First).unwrap();
        for (how, kept) in [(Duplicates::First, 4), (Duplicates::Max, 6), (Duplicates::Sum, 10)] {
            let (both, v) = mirrored(&csr, values.clone(), None, how).unwrap();
            assert_eq!((both.row(0), both.row(1), both.row(2)), (&[1u32, 2][..], &[0u32][..], &[0u32][..]));
            assert_eq!(v, Some(Values::from_vec(vec![kept, 9, kept, 9])));
            for order in [vec![2, 1, 0], vec![1, 0, 2], vec![1, 2, 0]] {
                let p = Permutation::from_new_of_old(order).unwrap();
                let (renumbered, w) = p.apply_with(&csr, values.as_ref()).unwrap();
                let back = p.inverse();
                let (other, w) = mirrored(&renumbered, w, Some(&p), how).unwrap();
                let (other, w) = back.apply_with(&other, w.as_ref()).unwrap();
                assert_eq!((&other, &w), (&both, &v));
            }
        }
    }
    #[test]
    fn opposite_entries_may_have_to_agree() {
        let build = |values: Vec<i32>| {
            let mut coo = Coo::pattern(4, 4, vec![0, 1, 1, 2, 3], vec![1, 0, 2, 1, 3]);
            coo.values = Some(Values::from_vec(values));
            coo.into_csr(Duplicates::First).unwrap()
        };
        let (csr, values) = build(vec![4, 4, 5, 6, 7]);
        assert_eq!(mirrored(&csr, values.clone(), None, Duplicates::Error).unwrap_err(), Error::Opposite { row: 1, column: 2 });
        let p = Permutation::from_new_of_old(vec![3, 1, 0, 2]).unwrap();
        let (renumbered, w) = p.apply_with(&csr, values.as_ref()).unwrap();
        assert_eq!(mirrored(&renumbered, w, Some(&p), Duplicates::Error).unwrap_err(), Error::Opposite { row: 1, column: 2 });
        let (csr, values) = build(vec![4, 4, 5, 5, 7]);
        assert_eq!(mirrored(&csr, values.clone(), None, Duplicates::Error).unwrap(), (csr, values));
    }
}
