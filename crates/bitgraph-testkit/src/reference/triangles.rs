//! Triangles by merging neighbour lists.

use bitgraph_sparse::Csr;

/// The triangles of the undirected graph: directions and loops do not count.
///
/// # Panics
/// If the matrix is not square.
#[must_use]
pub fn triangles(csr: &Csr) -> u64 {
    let a = csr.symmetrized().expect("a square matrix");
    let above = |u: usize| a.row(u).iter().copied().filter(move |&v| v as usize > u);
    let mut count = 0;
    for u in 0..a.nrows() {
        for v in above(u) {
            // Common neighbours of u and v above v.
            let (mut x, mut y) = (above(v as usize).peekable(), above(u).filter(|&w| w > v).peekable());
            while let (Some(&i), Some(&j)) = (x.peek(), y.peek()) {
                count += u64::from(i == j);
                if i <= j {
                    x.next();
                }
                if j <= i {
                    y.next();
                }
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    #[test]
    fn agrees_with_all_triples() {
        for seed in 0..8 {
            let m = cases::matrix::<bool>(24, 24, 0.15, seed);
            let joined = |i: usize, j: usize| m.get(i, j).is_some() || m.get(j, i).is_some();
            let mut expected = 0;
            for i in 0..24 {
                for j in 0..i {
                    for k in 0..j {
                        expected += u64::from(joined(i, j) && joined(j, k) && joined(i, k));
                    }
                }
            }
            assert_eq!(triangles(&m.to_csr().0), expected);
        }
    }
}
