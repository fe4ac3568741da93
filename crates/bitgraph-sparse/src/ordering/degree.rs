//! Order by falling degree.

use super::Permutation;
use crate::{Csr, OffsetInt, with_offsets};

/// Vertices by falling number of entries in their row, ties by smaller number: a counting sort, O(rows + largest degree).
#[must_use]
pub fn degree(csr: &Csr) -> Permutation {
    let order = with_offsets!(csr.offsets(), o => by_degree(o));
    Permutation::of_valid_order(order)
}

fn by_degree<O: OffsetInt>(offsets: &[O]) -> Vec<u32> {
    let degree = |v: usize| offsets[v + 1].index() - offsets[v].index();
    let n = offsets.len() - 1;
    let largest = (0..n).map(degree).max().unwrap_or(0);
    // `start[d]` is the place of the next vertex of degree d: after all vertices of a larger one.
    let mut start = vec![0u32; largest + 1];
    for v in 0..n {
        start[degree(v)] += 1;
    }
    let mut sum = 0;
    for count in start.iter_mut().rev() {
        sum += std::mem::replace(count, sum);
    }
    let mut order = vec![0u32; n];
    for v in 0..n {
        let place = &mut start[degree(v)];
        order[*place as usize] = v as u32;
        *place += 1;
    }
    order
}
