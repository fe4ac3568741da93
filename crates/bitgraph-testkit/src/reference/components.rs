//! Weakly connected components by union-find.

use bitgraph_sparse::Csr;

/// The smallest vertex of every vertex's component; directions do not count.
#[must_use]
pub fn components(csr: &Csr) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..csr.nrows() as u32).collect();
    for u in 0..csr.nrows() {
        for &v in csr.row(u) {
            let (a, b) = (root(&mut parent, u as u32), root(&mut parent, v));
            // The smaller root stays a root, so that in the end it is the component's smallest vertex.
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    (0..csr.nrows() as u32).map(|v| root(&mut parent, v)).collect()
}

fn root(parent: &mut [u32], mut v: u32) -> u32 {
    while parent[v as usize] != v {
        parent[v as usize] = parent[parent[v as usize] as usize];
        v = parent[v as usize];
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MimicMatrix;

    #[test]
    fn directions_do_not_count() {
        let (a, _) = MimicMatrix::from_entries(6, 6, &[(5, 1, true), (3, 5, true), (0, 0, true), (4, 2, true)]).to_csr();
        assert_eq!(components(&a), [0, 1, 2, 1, 2, 1]);
    }
}
