//! `PageRank` by power iteration in double precision.

use bitgraph_sparse::Csr;

/// What to compute: `next(v) = (1 - damping) p(v) + damping (sum over u -> v of score(u) / outdegree(u) + share(v))`.
#[derive(Clone, Debug)]
pub struct PageRankParameters {
    /// The damping factor.
    pub damping: f64,
    /// Iterate until the L1 change falls below this.
    pub tolerance: f64,
    /// Iterations at most.
    pub max_iterations: u32,
    /// Whether the score of vertices without out-arcs is spread by the teleport distribution, or lost.
    pub spread: bool,
    /// The teleport distribution, summing to 1; even if `None`.
    pub teleport: Option<Vec<f64>>,
}

impl Default for PageRankParameters {
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-10, max_iterations: 1000, spread: true, teleport: None }
    }
}

/// The scores and the number of iterations, from the even distribution. Loops count.
#[must_use]
pub fn pagerank(csr: &Csr, parameters: &PageRankParameters) -> (Vec<f64>, u32) {
    let n = csr.nrows();
    let even = vec![1.0 / n as f64; n];
    let teleport = parameters.teleport.as_ref().unwrap_or(&even);
    let mut score = even.clone();
    for iteration in 1..=parameters.max_iterations {
        let dangling: f64 = (0..n).filter(|&u| csr.degree(u) == 0).map(|u| score[u]).sum();
        let dangling = if parameters.spread { dangling } else { 0.0 };
        let mut incoming = vec![0.0; n];
        for u in 0..n {
            for &v in csr.row(u) {
                incoming[v as usize] += score[u] / csr.degree(u) as f64;
            }
        }
        let d = parameters.damping;
        let next: Vec<f64> = (0..n).map(|v| (1.0 - d) * teleport[v] + d * (incoming[v] + dangling * teleport[v])).collect();
        let change: f64 = next.iter().zip(&score).map(|(a, b)| (a - b).abs()).sum();
        score = next;
        if change < parameters.tolerance {
            return (score, iteration);
        }
    }
    (score, parameters.max_iterations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MimicMatrix;
    use approx::assert_abs_diff_eq;

    #[test]
    fn known_scores() {
        // A cycle is even; a star's centre has (1 + d (n - 1)) / (n (1 + d)).
        let (cycle, _) = MimicMatrix::from_fn(5, 5, |i, j| (j == (i + 1) % 5).then_some(true)).to_csr();
        let (s, _) = pagerank(&cycle, &PageRankParameters::default());
        assert_abs_diff_eq!(&s[..], &[0.2; 5][..], epsilon = 1e-9);
        let (star, _) = MimicMatrix::from_fn(5, 5, |i, j| ((i == 0) != (j == 0)).then_some(true)).to_csr();
        let (s, _) = pagerank(&star, &PageRankParameters::default());
        assert_abs_diff_eq!(s[0], (1.0 + 0.85 * 4.0) / (5.0 * 1.85), epsilon = 1e-9);
        assert_abs_diff_eq!(s.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
    }

    #[test]
    fn dangling_and_personalisation() {
        // 0 -> 1, and 1 has no out-arc.
        let (a, _) = MimicMatrix::from_entries(2, 2, &[(0, 1, true)]).to_csr();
        let (spread, _) = pagerank(&a, &PageRankParameters::default());
        assert_abs_diff_eq!(spread.iter().sum::<f64>(), 1.0, epsilon = 1e-9);
        let (dropped, _) = pagerank(&a, &PageRankParameters { spread: false, ..Default::default() });
        assert_abs_diff_eq!(&dropped[..], &[0.075, 0.075 * 1.85][..], epsilon = 1e-9);
        let personal = PageRankParameters { teleport: Some(vec![0.0, 1.0]), ..Default::default() };
        let (p, _) = pagerank(&a, &personal);
        assert_abs_diff_eq!(&p[..], &[0.0, 1.0][..], epsilon = 1e-9);
    }
}
