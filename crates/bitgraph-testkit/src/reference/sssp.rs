//! Dijkstra's algorithm.
//!
//! Rounded addition of a non-negative number is monotone, so what is computed in `T` is the smallest, over all paths, of
//! the left-to-right sum in `T`: no tolerance is needed, for floats either.

use super::UNREACHED;
use bitgraph_semiring::Scalar;
use bitgraph_sparse::Csr;

/// The distance of every vertex, the largest value of `T` if unreached. Without weights every arc counts one.
///
/// # Panics
/// If a weight is negative, or there is not one for every entry.
#[must_use]
pub fn dijkstra<T: Scalar>(csr: &Csr, weights: Option<&[T]>, source: u32) -> Vec<T> {
    assert!(weights.is_none_or(|w| w.len() == csr.nnz() && w.iter().all(|&x| x >= T::ZERO)), "a weight of 0 or more for every entry");
    let mut distance = vec![T::largest(); csr.nrows()];
    // A heap of (distance, vertex), as a binary tree in a vector: floats have no total order for the standard one.
    let mut heap = vec![(T::ZERO, source)];
    distance[source as usize] = T::ZERO;
    while let Some((d, u)) = pop(&mut heap) {
        if d > distance[u as usize] {
            continue;
        }
        for k in csr.row_range(u as usize) {
            let v = csr.indices()[k] as usize;
            let through = d.plus_saturating(weights.map_or(T::ONE, |w| w[k]));
            if through < distance[v] {
                distance[v] = through;
                push(&mut heap, (through, v as u32));
            }
        }
    }
    distance
}

fn push<T: Scalar>(heap: &mut Vec<(T, u32)>, item: (T, u32)) {
    heap.push(item);
    let mut i = heap.len() - 1;
    while i > 0 && heap[i] < heap[(i - 1) / 2] {
        heap.swap(i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

fn pop<T: Scalar>(heap: &mut Vec<(T, u32)>) -> Option<(T, u32)> {
    if heap.is_empty() {
        return None;
    }
    let top = heap.swap_remove(0);
    let mut i = 0;
    loop {
        let mut smallest = i;
        for child in [2 * i + 1, 2 * i + 2] {
            if child < heap.len() && heap[child] < heap[smallest] {
                smallest = child;
            }
        }
        if smallest == i {
            return Some(top);
        }
        heap.swap(i, smallest);
        i = smallest;
    }
}

/// Checks the parents of shortest paths against distances: the source is its own, exactly the vertices at a distance have
/// one, and the parent's distance plus the arc's weight is the vertex's distance. (Cycles of weight 0 are not looked for.)
///
/// # Errors
/// What is wrong, and at which vertex.
pub fn validate_shortest_parents<T: Scalar>(
    csr: &Csr,
    weights: Option<&[T]>,
    source: u32,
    distances: &[T],
    parents: &[u32],
) -> Result<(), String> {
    if parents.len() != csr.nrows() || distances.len() != csr.nrows() {
        return Err(format!("{} parents and {} distances for {} vertices", parents.len(), distances.len(), csr.nrows()));
    }
    for (v, (&p, &d)) in parents.iter().zip(distances).enumerate() {
        if v as u32 == source {
            if p != source {
                return Err(format!("the source {source} has parent {p}"));
            }
        } else if p == UNREACHED || d == T::largest() {
            if (p == UNREACHED) != (d == T::largest()) {
                return Err(format!("vertex {v} has parent {p} and distance {d:?}"));
            }
        } else {
            let arc = if (p as usize) < csr.nrows() { csr.position(p as usize, v as u32) } else { None };
            let Some(k) = arc else { return Err(format!("vertex {v} has parent {p} without an arc {p} -> {v}")) };
            let through = distances[p as usize].plus_saturating(weights.map_or(T::ONE, |w| w[k]));
            if through != d {
                return Err(format!("vertex {v} has distance {d:?}, through its parent {p} it is {through:?}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MimicMatrix;

    #[test]
    fn shortest_paths() {
        // The direct arc 0 -> 2 is longer than the way through 1.
        let (a, w) = MimicMatrix::from_entries(4, 4, &[(0, 1, 3u32), (0, 2, 9), (1, 2, 4), (2, 0, 0)]).to_csr();
        let w = w.as_slice::<u32>().unwrap();
        let d = dijkstra(&a, Some(w), 0);
        assert_eq!(d, [0, 3, 7, u32::MAX]);
        assert_eq!(dijkstra::<f32>(&a, None, 0), [0.0, 1.0, 1.0, f32::INFINITY]);
        assert!(validate_shortest_parents(&a, Some(w), 0, &d, &[0, 0, 1, UNREACHED]).is_ok());
        for wrong in [[0, 0, 0, UNREACHED], [0, 0, 1, 2], [0, 0, UNREACHED, UNREACHED], [2, 0, 1, UNREACHED], [0, 2, 1, UNREACHED]] {
            assert!(validate_shortest_parents(&a, Some(w), 0, &d, &wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn agrees_with_relaxing_until_nothing_changes() {
        for seed in 0..10 {
            let a = crate::cases::matrix::<u16>(60, 60, 0.06, seed);
            let (csr, w) = a.to_csr();
            let w = w.as_slice::<u16>().unwrap();
            let mut d = vec![u16::MAX; 60];
            d[0] = 0;
            for _ in 0..60 {
                for i in 0..60 {
                    for k in csr.row_range(i) {
                        let j = csr.indices()[k] as usize;
                        d[j] = d[j].min(d[i].plus_saturating(w[k]));
                    }
                }
            }
            assert_eq!(dijkstra(&csr, Some(w), 0), d);
        }
    }
}
