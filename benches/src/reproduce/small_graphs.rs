//! Many small random graphs in one, numbered one after the other: what collections of molecules and proteins look like.
//!
//! Invariant: no edge joins two of the graphs; the same numbers give the same pattern.

use anyhow::{Result, ensure};
use bitgraph::sparse::{Csr, Offsets};
use std::fmt;

/// The seed of all of them.
const SEED: u64 = 0x5eed_0001;

/// How many, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallGraphs {
    /// Vertices of all of them.
    pub vertices: u64,
    /// Graphs.
    pub graphs: u64,
    /// Entries of all of them, before repeated ones are merged.
    pub entries: u64,
}

impl fmt::Display for SmallGraphs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} small graphs of {} vertices", self.graphs, self.vertices)
    }
}

fn below(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ z >> 31) * u128::from(bound)) >> 64) as u64
}

impl SmallGraphs {
    /// Ends of edges are uniform within a graph; an edge is two entries, and loops are left out. O(entries log entries of a graph).
    ///
    /// # Errors
    /// No vertices, more of them than 32 bits hold, or more graphs than vertices.
    pub fn generate(&self) -> Result<Csr> {
        let Self { vertices, graphs, entries } = *self;
        ensure!(vertices > 0 && u32::try_from(vertices).is_ok(), "{vertices} vertices: there are 1 to 4294967295");
        ensure!(graphs > 0 && graphs <= vertices, "{graphs} graphs of {vertices} vertices: each has one at minimum");
        let start = |bound: u64, g: u64| ((u128::from(g) * u128::from(bound)) / u128::from(graphs)) as u64;
        let (mut offsets, mut indices, mut pairs) = (vec![0usize], Vec::<u32>::new(), Vec::<(u32, u32)>::new());
        let mut state = SEED;
        for g in 0..graphs {
            let (from, to) = (start(vertices, g), start(vertices, g + 1));
            let draws = start(entries / 2, g + 1) - start(entries / 2, g);
            pairs.clear();
            for _ in 0..draws {
                let ends = [0; 2].map(|_| (from + below(&mut state, to - from)) as u32);
                if ends[0] != ends[1] {
                    pairs.extend([(ends[0], ends[1]), (ends[1], ends[0])]);
                }
            }
            pairs.sort_unstable();
            pairs.dedup();
            let mut rest = pairs.iter().peekable();
            for row in from..to {
                while let Some(&(_, column)) = rest.next_if(|pair| u64::from(pair.0) == row) {
                    indices.push(column);
                }
                offsets.push(indices.len());
            }
        }
        let n = vertices as usize;
        Ok(Csr::new(n, n, Offsets::from_usizes(&offsets), indices.into())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_stay_inside() {
        let graphs = SmallGraphs { vertices: 100, graphs: 7, entries: 600 };
        let csr = graphs.generate().unwrap();
        assert!(csr.nrows() == 100 && csr.nnz() > 300 && csr.nnz() <= 600, "{}", csr.nnz());
        let graph_of = |v: usize| ((v + 1) * 7 - 1) / 100;
        for u in 0..100 {
            for &v in csr.row(u) {
                assert!(graph_of(u) == graph_of(v as usize) && u != v as usize);
                assert!(csr.row(v as usize).contains(&(u as u32)));
            }
        }
        assert_eq!(graphs.to_string(), "7 small graphs of 100 vertices");
        for (vertices, graphs) in [(0, 1), (5, 0), (5, 6), (1 << 33, 2)] {
            assert!(SmallGraphs { vertices, graphs, entries: 4 }.generate().is_err());
        }
    }
}
