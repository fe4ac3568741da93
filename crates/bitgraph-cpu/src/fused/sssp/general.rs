//! Delta-stepping with one worker, for any non-negative weights of `u32`, `u64`, `f32` or `f64` sums.
//!
//! Method: U. Meyer and P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 49 (2003), without
//! the split into light and heavy arcs. A ring of buckets holds what lies within the next `RING` widths, a list the rest.
//!
//! Invariant: a queued entry is valid while its distance is the vertex's; every improvement queues exactly one. Buckets are
//! worked off in ascending order and a bucket until it stays empty, so that distances below the bucket are final.
//!
//! # Memory
//! `size_of::<(D, u32)>()` bytes per queued entry, at most twice that for growth, besides the distances.

use super::distance::Native;
use bitgraph_backend::{Control, Result};
use bitgraph_sparse::{Buffer, Csr};

/// Buckets of the ring; a power of two.
const RING: usize = 512;
/// Entries that an emptied bucket keeps room for.
const KEEP: usize = 1024;

/// A graph with weights in the type that distances are summed in.
#[derive(Debug)]
pub(super) struct General<D> {
    pub out: Csr,
    /// In the pattern's order; none for weight 1 everywhere.
    pub weights: Option<Buffer<D>>,
    /// The default width of a bucket.
    pub delta: f64,
}

/// The distances that wait to be scanned.
struct Queue<D> {
    ring: Vec<Vec<(D, u32)>>,
    /// One bit per bucket of the ring that is not empty.
    occupied: [u64; RING / 64],
    far: Vec<(D, u32)>,
    /// The bucket that the ring starts with.
    base: u64,
    inverse: f64,
}

impl<D: Native> Queue<D> {
    fn new(inverse: f64) -> Self {
        Self { ring: (0..RING).map(|_| Vec::new()).collect(), occupied: [0; RING / 64], far: Vec::new(), base: 0, inverse }
    }
    #[inline(always)]
    fn push(&mut self, distance: D, vertex: u32) {
        let bucket = distance.bucket(self.inverse);
        if bucket - self.base < RING as u64 {
            let slot = (bucket - self.base) as usize;
            self.ring[slot].push((distance, vertex));
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.far.push((distance, vertex));
        }
    }
    /// The first bucket of the ring that is not empty.
    fn first(&self) -> Option<usize> {
        let word = self.occupied.iter().position(|&w| w != 0)?;
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }
    /// Moves the ring to where the nearest valid far entries are; false if there are none.
    fn refill(&mut self, distances: &[D]) -> bool {
        let mut far = std::mem::take(&mut self.far);
        far.retain(|&(d, v)| distances[v as usize] == d);
        let Some(base) = far.iter().map(|(d, _)| d.bucket(self.inverse)).min() else { return false };
        self.base = base;
        for (d, v) in far {
            self.push(d, v);
        }
        true
    }
}

/// Distances from `source`. With a target, distances above the target's are upper bounds. O((n + m) log-free for bounded
/// re-insertion); the worst case over adversarial weights is that of label correcting.
///
/// # Errors
/// [`bitgraph_backend::Error::Cancelled`], asked once per bucket.
pub(super) fn search<D: Native>(graph: &General<D>, source: u32, target: Option<u32>, delta: f64, control: &Control) -> Result<Vec<D>> {
    let mut distances = vec![D::largest(); graph.out.nrows()];
    distances[source as usize] = D::ZERO;
    let mut queue = Queue::new(1.0 / delta);
    queue.push(D::ZERO, source);
    let indices = graph.out.indices();
    let weights = graph.weights.as_deref();
    let mut done = 0u64;
    loop {
        let Some(slot) = queue.first() else {
            if queue.refill(&distances) {
                continue;
            }
            return Ok(distances);
        };
        control.check()?;
        while !queue.ring[slot].is_empty() {
            // Entries that this batch adds to the bucket form the next batch.
            let mut batch = std::mem::take(&mut queue.ring[slot]);
            for &(d, v) in &batch {
                if distances[v as usize] != d {
                    continue;
                }
                let row = graph.out.row_range(v as usize);
                let heads = &indices[row.clone()];
                match weights {
                    Some(w) => heads.iter().zip(&w[row]).for_each(|(&u, &w)| relax(&mut distances, &mut queue, u, d.extend(w))),
                    None => heads.iter().for_each(|&u| relax(&mut distances, &mut queue, u, d.extend(D::ONE))),
                }
            }
            if queue.ring[slot].is_empty() && batch.capacity() <= KEEP {
                batch.clear();
                queue.ring[slot] = batch;
                break;
            }
        }
        queue.occupied[slot / 64] &= !(1 << (slot % 64));
        done += 1;
        control.report(done, None);
        if let Some(t) = target
            && distances[t as usize] != D::largest()
            && distances[t as usize].bucket(queue.inverse) <= queue.base + slot as u64
        {
            return Ok(distances);
        }
    }
}

#[inline(always)]
fn relax<D: Native>(distances: &mut [D], queue: &mut Queue<D>, vertex: u32, distance: D) {
    let known = &mut distances[vertex as usize];
    if distance < *known {
        *known = distance;
        queue.push(distance, vertex);
    }
}
