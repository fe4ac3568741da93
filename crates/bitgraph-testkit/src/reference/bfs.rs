//! Breadth-first search with a queue.

use super::UNREACHED;
use bitgraph_sparse::Csr;
use std::collections::VecDeque;

/// What a search reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Vertices reached, the source included.
    pub reached: u64,
    /// The largest level.
    pub depth: u32,
    /// The sum of levels.
    pub sum_levels: u64,
    /// The sum of the out-degrees of the reached vertices.
    pub edges_traversed: u64,
}

/// The level of every vertex, -1 if unreached.
#[must_use]
pub fn levels(csr: &Csr, source: u32) -> Vec<i32> {
    let mut level = vec![-1; csr.nrows()];
    let mut queue = VecDeque::from([source]);
    level[source as usize] = 0;
    while let Some(u) = queue.pop_front() {
        for &v in csr.row(u as usize) {
            if level[v as usize] < 0 {
                level[v as usize] = level[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    level
}

/// The summary of a search's levels.
#[must_use]
pub fn reach(csr: &Csr, levels: &[i32]) -> Reach {
    let mut r = Reach { reached: 0, depth: 0, sum_levels: 0, edges_traversed: 0 };
    for (v, &level) in levels.iter().enumerate() {
        if let Ok(level) = u32::try_from(level) {
            r.reached += 1;
            r.depth = r.depth.max(level);
            r.sum_levels += u64::from(level);
            r.edges_traversed += csr.degree(v) as u64;
        }
    }
    r
}

/// Checks a parent array: the source is its own parent, exactly the reachable vertices have one, every parent has an arc to
/// its child and lies one level before it.
///
/// # Errors
/// What is wrong, and at which vertex.
pub fn validate_parents(csr: &Csr, source: u32, parents: &[u32]) -> Result<(), String> {
    if parents.len() != csr.nrows() {
        return Err(format!("{} parents for {} vertices", parents.len(), csr.nrows()));
    }
    let level = levels(csr, source);
    for (v, &p) in parents.iter().enumerate() {
        match (level[v], p) {
            (-1, UNREACHED) => {}
            (-1, _) => return Err(format!("vertex {v} has parent {p} but cannot be reached")),
            (l, UNREACHED) => return Err(format!("vertex {v} has no parent but level {l}")),
            (0, _) if p == source => {}
            (0, _) => return Err(format!("the source {source} has parent {p}")),
            (_, _) if p as usize >= csr.nrows() => return Err(format!("vertex {v} has parent {p}, which does not exist")),
            (l, _) if level[p as usize] != l - 1 => {
                return Err(format!("vertex {v} of level {l} has parent {p} of level {}", level[p as usize]));
            }
            _ if csr.position(p as usize, v as u32).is_none() => {
                return Err(format!("vertex {v} has parent {p} without an arc {p} -> {v}"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MimicMatrix;

    #[test]
    fn levels_and_parents() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, 4 alone.
        let (a, _) = MimicMatrix::from_entries(5, 5, &[(0, 1, true), (0, 2, true), (1, 3, true), (2, 3, true)]).to_csr();
        let level = levels(&a, 0);
        assert_eq!(level, [0, 1, 1, 2, -1]);
        assert_eq!(reach(&a, &level), Reach { reached: 4, depth: 2, sum_levels: 4, edges_traversed: 4 });
        const U: u32 = UNREACHED;
        assert!(validate_parents(&a, 0, &[0, 0, 0, 1, U]).is_ok());
        assert!(validate_parents(&a, 0, &[0, 0, 0, 2, U]).is_ok());
        for (wrong, words) in [
            (vec![0, 0, 0, 0, U], "of level 0"),
            (vec![0, 0, 0, U, U], "no parent"),
            (vec![0, 0, 0, 1, 0], "cannot be reached"),
            (vec![1, 0, 0, 1, U], "the source 0"),
            (vec![0, 0, 0, 9, U], "does not exist"),
            (vec![0, 0, 0], "3 parents"),
        ] {
            let error = validate_parents(&a, 0, &wrong).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let (b, _) = MimicMatrix::from_entries(3, 3, &[(0, 1, true), (0, 2, true)]).to_csr();
        assert!(validate_parents(&b, 0, &[0, 0, 1]).is_err());
    }
}
